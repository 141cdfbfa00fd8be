#include "cli/commands/runs.h"
#include "cli/commands/said.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

// Watching runs: `run --wait`, `run --follow`, `wait`.
namespace reeve::cli {

namespace {

bool is_over(const Json& run) {
  const std::string& state = run["state"].text();
  return state == "done" || state == "failed" || state == "cancelled";
}

// Of an agent one sees more than that it runs, and says that instead.
bool is_at_work(const Json& run) {
  if (is_agent(run["id"].text())) return run.has("started_at");
  return run["state"].text() == "running";
}

}  // namespace

bool is_reached(const Json& run, Until until) {
  return is_over(run) || (until == Until::Running && is_at_work(run));
}

namespace {

// One event of a pipeline as a line; `within`: which of the runs within it, if it is of one.
std::string event_line(const Output& output, const Json& event, const std::string& within) {
  const Json& data = event["data"];
  const std::string name = event["name"].text();
  std::string words;
  const auto add = [&](const std::string& key, const Json& value) {
    const std::string text = value.is_string() ? value.text() : value.write();
    if (text.empty() || text == "false" || text == "null") return;
    words += fmt::format("{}{}={}", words.empty() ? "" : " ", key, text);
  };
  for (const auto& [key, value] : data.members()) {
    if (key == "pipeline" || key == "work" || (key == "name" && data.has("phase"))) continue;
    if (key != "what") {
      add(key, value);
      continue;
    }
    // {"has_passed":{"checks":1}}: what it was stands in the event's name already.
    for (const auto& [kind, facts] : value.members()) {
      for (const auto& [fact, of] : facts.members()) add(fact, of);
    }
  }
  const auto at = parse_moment(event["at"].text());
  const std::string time =
      output.iso() || !at ? event["at"].text() : format_moment(*at).substr(11, 8);
  return fmt::format("{} {:<22} {}{}",
                     output.styled(Style::Dim, time),
                     name,
                     within.empty() ? "" : within + ": ",
                     printable(words));
}

class Watch {
 public:
  Watch(Context& context, const WatchPlan& plan)
      : context_(context), client_(context.client()), plan_(plan) {
    if (!plan_.tells_changes) return;
    for (const std::string& id : plan_.ids) {
      said_.try_emplace(id, context_, client_.where().home.path, id, Wanted{});
    }
  }

  Watched run() {
    const Signals signals{SIGINT, SIGTERM};
    const std::int64_t end = plan_.limit < 0 ? -1 : steady_now() + plan_.limit;
    // Heard from before the first look, so nothing is missed between.
    Json patterns = Json::array();
    constexpr std::size_t most_patterns = 60;
    // Who follows hears of the runs within as well, whose names nobody knows yet.
    if (plan_.tells_changes || plan_.ids.size() > most_patterns) {
      patterns.push("pipeline:**");
      if (std::ranges::any_of(plan_.ids, is_agent)) patterns.push("task:**");
    } else {
      for (const std::string& id : plan_.ids) {
        patterns.push(fmt::format("{}:{}:**", is_agent(id) ? "task" : "pipeline", id));
      }
    }
    if (plan_.tells_changes) {
      for (const char* pattern : {"guard:**", "strategy:**", "decision:**"}) patterns.push(pattern);
    } else {
      patterns.push("decision:opened");
    }
    Json params = json_of({{"match", patterns}, {"all_projects", true}});
    if (plan_.since > 0) params.set("since_seq", plan_.since - 1);
    const auto follow = client_.begin("events.follow", params, Client::Kind::Wait);
    // However much there is to hear: who waits goes when it is time, and when told to.
    const auto must_stop = [&] {
      if (signals.next()) watched_.interrupted = true;
      if (end >= 0 && steady_now() >= end) watched_.timed_out = true;
      return watched_.interrupted || watched_.timed_out;
    };
    for (const std::string& id : plan_.ids) {
      look_at(id);
      if (!plan_.tells_changes) tell_question(id);
    }
    for (;;) {
      if (const auto answer = client_.take(follow); answer && !*answer) {
        watched_.failure = answer->error();
      }
      if (watched_.failure || must_stop()) break;
      if (const auto event = client_.next_event()) {
        heard(*event);
        continue;
      }
      if (is_enough()) break;
      read_along();
      if (plan_.tells_changes && !context_.output.flush()) break;
      std::array<pollfd, 1> others{signals.readable()};
      client_.pump(patience(end), others);
      for (const std::string& id : ending()) look_at(id);
    }
    // What was reached in time counts, whatever else came.
    if (is_enough()) watched_.timed_out = watched_.interrupted = false;
    client_.cancel(follow);
    for (auto& [id, said] : said_) {
      said.read();
      said.interrupt();
    }
    for (const std::string& id : plan_.ids) watched_.runs.push_back(seen_[id]);
    return watched_;
  }

 private:
  // There may be a thousand files, and an event every millisecond.
  void read_along() {
    if (said_.empty() || steady_now() < read_next_) return;
    for (auto& [id, said] : said_) said.read();
    read_next_ = steady_now() + look_for_more / 4;
  }

  // Agents of which it was announced how their work ended, and of which something is left: that
  // nothing is any more is announced to whoever began them, and to nobody else.
  std::vector<std::string> ending() const {
    std::vector<std::string> ids;
    for (const auto& [id, run] : seen_) {
      if (is_ours(id) && run["state"].text() == "ending") ids.push_back(id);
    }
    return ids;
  }

  // Until when nothing need be looked at; files tell nobody that they grow.
  std::int64_t patience(std::int64_t end) const {
    const bool looks = !said_.empty() || !ending().empty();
    const std::int64_t most = looks ? look_for_more : -1;
    if (end < 0) return most;
    const std::int64_t left = std::max<std::int64_t>(0, end - steady_now());
    return most < 0 ? left : std::min(most, left);
  }

  // Of a run that is followed, or one within it: which that is, and what this one is called there.
  struct Place {
    std::string root;
    std::string within;
  };

  bool is_ours(const std::string& id) const {
    return std::ranges::find(plan_.ids, id) != plan_.ids.end();
  }

  std::optional<Place> place_of(const std::string& id) const {
    if (is_ours(id)) return Place{id, {}};
    const auto found = within_.find(id);
    return found == within_.end() ? std::nullopt : std::optional(found->second);
  }

  void look_at(const std::string& id) {
    const Answer answer = show_run(client_, id);
    if (!answer) {
      if (is_ours(id)) watched_.failure = answer.error();
      return;
    }
    know(id, *answer);
  }

  // Of the runs within, who follows knows all; who waits only has to know of those that ask, and
  // hears of those to come.
  void know(const std::string& id, const Json& shown) {
    seen_[id] = shown;
    const Place place = *place_of(id);
    if (plan_.tells_changes) said_.at(place.root).know(shown, place.within);
    for (const Json& child : shown["children"].items()) {
      const std::string& inner = child["id"].text();
      if (!plan_.tells_changes && child["state"].text() != "blocked") continue;
      if (!place_within(inner, id, child["name"].text())) continue;
      look_at(inner);
      if (!plan_.tells_changes) tell_question(inner);
    }
  }

  // Whether it was not known before. Of several of one name the second is `c1 (2)`.
  bool place_within(const std::string& id, const std::string& parent, const std::string& name) {
    if (place_of(id)) return false;
    const Place outer = *place_of(parent);
    std::string label = outer.within.empty() ? printable(name)
                                             : fmt::format("{}/{}", outer.within, printable(name));
    const std::size_t number = ++names_[parent][label];
    if (number > 1) label += fmt::format(" ({})", number);
    within_.emplace(id, Place{outer.root, std::move(label)});
    return true;
  }

  // Somebody's run: perhaps one within those that are watched. It is asked once and not its family,
  // which may be large.
  bool find_place(const std::string& id) {
    if (place_of(id)) return true;
    const Answer answer = client_.ask("pipeline.show", json_of({{"id", id}}));
    if (!answer || !answer->has("parent")) return false;
    const std::string parent = (*answer)["parent"].text();
    if (!find_place(parent)) return false;
    place_within(id, parent, (*answer)["name"].text());
    know(id, *answer);
    return true;
  }

  // Who waits without looking should know that it is somebody else who has to move.
  void tell_question(const std::string& id) {
    const Json& on = seen_[id]["blocked_on"];
    const bool asks = on["kind"].text() == "decision" && on.has("name");
    if (!asks || !asked_.insert(on["name"].text()).second) return;
    if (!context_.output.flush()) return;
    const auto place = place_of(id);
    const bool inner = place && !place->within.empty();
    context_.output.note(
        fmt::format("{}{} asks: {}",
                    id,
                    inner ? fmt::format(" ({})", place->within) : "",
                    Output::brief(printable(on["detail"].text()), 7, Output::err_width())));
  }

  // Somebody is asked something: perhaps by a run within those that are waited for, of whose events
  // nothing is heard.
  void hear_question(const std::string& decision) {
    const Answer answer = client_.ask("decision.show", json_of({{"id", decision}}));
    if (!answer) return;
    const std::string& subject = (*answer)["subject"].text();
    const std::string id = is_ours(subject) ? subject : (*answer)["pipeline"].text();
    if (id.empty() || !find_place(id)) return;
    look_at(id);
    tell_question(id);
  }

  void heard(const Json& event) {
    if (event.has("lagged")) {
      for (const std::string& id : plan_.ids) look_at(id);
      return;
    }
    if (!plan_.tells_changes && event["name"].text() == "decision:opened") {
      return hear_question(event["subject"].text());
    }
    const std::string& subject = event["subject"].text();
    const std::string& of = event["data"]["pipeline"].text();
    const std::string id = place_of(of) ? of : subject;
    if (plan_.tells_changes && event["name"].text() == "pipeline:started") find_place(id);
    const auto place = place_of(id);
    if (!place) return;
    // That it is alive is no news to who watches it.
    if (event["name"].text() == "task:heartbeat") return;
    if (plan_.tells_changes) {
      // First what it said before that happened.
      Said& said = said_.at(place->root);
      said.read(event["seq"].natural(), id);
      said.interrupt();
      context_.output.line(context_.json() ? event.write()
                                           : event_line(context_.output, event, place->within));
    }
    look_at(id);
    tell_question(id);
  }

  bool is_enough() const {
    const auto reached = [&](const std::string& id) {
      const auto found = seen_.find(id);
      return found != seen_.end() && is_reached(found->second, plan_.until);
    };
    return plan_.any ? std::ranges::any_of(plan_.ids, reached)
                     : std::ranges::all_of(plan_.ids, reached);
  }

  Context& context_;
  Client& client_;
  const WatchPlan& plan_;
  std::map<std::string, Json> seen_;
  std::map<std::string, Said> said_;                                 // --follow
  std::map<std::string, Place> within_;                              // the runs within them
  std::map<std::string, std::map<std::string, std::size_t>> names_;  // how many, by run and label
  std::set<std::string> asked_;
  std::int64_t read_next_ = 0;
  Watched watched_;
};

}  // namespace

Watched watch(Context& context, const WatchPlan& plan) { return Watch(context, plan).run(); }

}  // namespace reeve::cli
