#include "cli/commands/groups.h"
#include "cli/commands/monitor_memory.h"
#include "cli/commands/program.h"
#include "cli/context.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sys/stat.h>
#include <unistd.h>

// `reeve monitor run`: one look of a monitor, as its cron makes it. What was done about an item,
// how often and when is kept in the home, in monitors/, so that the next look goes on from there;
// an item that is gone, or no longer in need, begins anew, and a question about it is taken back.
namespace reeve::cli {

namespace {

using Values = std::vector<std::pair<std::string, std::string>>;
// A JSON array; the first array in the `data` of an answer of ours; or one JSON object a line.
std::optional<Json::Array> items_in(const std::string& text) {
  if (const auto whole = parse_json(text)) {
    if (whole->is_array()) return whole->items();
    const Json& data = (*whole)["data"];
    for (const auto& member : data.members()) {
      if (member.second.is_array()) return member.second.items();
    }
    return Json::Array{*whole};
  }
  Json::Array items;
  for (const std::string_view line : split_lines(text)) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto item = parse_json(line);
    if (!item) return std::nullopt;
    items.push_back(*item);
  }
  return items;
}

std::string text_of_value(const Json& value) {
  return value.is_string() ? value.text() : value.write();
}

class Look {
 public:
  Look(Context& context, std::string name, const tools::MonitorPlan& plan)
      : context_(context), name_(std::move(name)), plan_(plan) {}

  int run(MonitorMemory& memory) {
    const Ran source = run_program(plan_.source, {}, true);
    if (source.code != 0) {
      return failed(fmt::format("the source of monitor {} ended with {}", name_, source.code));
    }
    const auto items = items_in(source.output);
    if (!items) {
      return failed(
          fmt::format("the source of monitor {} printed something that is no JSON", name_));
    }
    Json next = Json::object();
    for (const Json& item : *items) {
      const std::string id = item.is_object() ? text_of_value(item["id"]) : text_of_value(item);
      if (id.empty() || id == "null") {
        context_.output.note(
            fmt::format("monitor {}: an item without an id is passed over", name_));
        continue;
      }
      if (!needs_care(item, id)) continue;
      if (!respond(item, id, memory)) {
        return failed("what is to be done could not be remembered, so it was not done");
      }
      if (memory.of(id).is_object()) next.set(id, memory.of(id));
    }
    for (const auto& [id, record] : memory.known().members()) {
      if (!next.has(id)) take_back(record);
    }
    if (!memory.remember_only(std::move(next))) return failed("what was done cannot be remembered");
    if (context_.json()) return context_.output.succeed(json_of({{"done", Json(done_)}}));
    return context_.output.done();
  }

 private:
  int failed(std::string message) { return context_.fail(Failure{"FAILED", std::move(message)}); }

  Values values_of(const Json& item, const std::string& id) const {
    Values values{{context_.runbooks->variable("id"), id}};
    for (const auto& [key, value] : item.members()) {
      if (key != "id") values.emplace_back(context_.runbooks->variable(key), text_of_value(value));
    }
    return values;
  }

  bool needs_care(const Json& item, const std::string& id) const {
    return plan_.condition.empty() ||
           run_program(plan_.condition, values_of(item, id), false).code == 0;
  }

  // The first response that has something left. All used up: it was done what could be. False: it
  // could not be noted, and so was not done.
  bool respond(const Json& item, const std::string& id, MonitorMemory& memory) {
    const std::int64_t now = wall_now();
    Json record = memory.of(id).is_object() ? memory.of(id) : Json::object();
    for (const auto& response : plan_.responses) {
      const std::int64_t count = record[response.name]["count"].number();
      const std::int64_t last = record[response.name]["at"].number();
      // It still has its time, and what comes after it has to wait for that.
      if (last > 0 && now - last < response.cooldown_ms) return true;
      if (count >= static_cast<std::int64_t>(response.times)) continue;
      record.set(response.name, json_of({{"count", count + 1}, {"at", now}}));
      if (!memory.remember(id, record)) return false;
      const bool well = act(response, item, id, record);
      if (record != memory.of(id)) memory.remember(id, record);
      done_.push_back(json_of({{"id", id}, {"action", response.name}, {"ok", well}}));
      if (!context_.json()) {
        context_.output.line(fmt::format(
            "{} {}{}", printable(id), response.name, well ? "" : ", which did not work"));
      }
      return true;
    }
    return true;
  }

  bool act(const tools::MonitorPlan::Response& response,
           const Json& item,
           const std::string& id,
           Json& record) {
    if (!response.program.empty()) {
      return run_program(response.program, values_of(item, id), false).code == 0;
    }
    if (response.name == "escalate") return escalate(id, record);
    Client& client = context_.client();
    const std::string method = "agent." + response.name;  // nudge, restart
    return client.change(method, json_of({{"id", id}})).has_value();
  }

  // Somebody is asked, and the question stays until it is answered or the item is well again.
  bool escalate(const std::string& id, Json& record) {
    Client& client = context_.client();
    Json options = Json::array();
    options.push(seen);
    const std::string question =
        fmt::format("monitor {}: {} needs somebody, for nothing helped", name_, id);
    const Answer asked = client.change(
        "decision.ask", json_of({{"question", question}, {"options", std::move(options)}}));
    if (asked) record.set("decision", (*asked)["id"]);
    const Json data = json_of({{"monitor", name_}, {"id", id}});
    const Answer told =
        client.change("events.emit", json_of({{"name", "monitor:escalate"}, {"data", data}}));
    return asked && told;
  }

  void take_back(const Json& record) {
    if (!record.has("decision")) return;
    // It may be answered already, or forgotten.
    [[maybe_unused]] const Answer answer =
        context_.client().change("decision.resolve",
                                 json_of({{"id", record["decision"]},
                                          {"choice", seen},
                                          {"text", "it is well again"},
                                          {"by", "monitor " + name_}}));
  }

  static constexpr std::string_view seen = "seen";

  Context& context_;
  std::string name_;
  const tools::MonitorPlan& plan_;
  Json::Array done_;
};

std::string safe(std::string text) {
  std::ranges::replace(text, '/', '_');
  return text;
}

// Two projects may have one name; a folder has one project. (FNV-1a)
std::string folder_mark(std::string_view root) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : root) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  const std::string_view name = root.substr(root.rfind('/') + 1);
  return fmt::format("{}-{:016x}", safe(std::string(name.substr(0, 100))), hash);
}

// What the cron was enabled with, if it handed it over: the files may be others by now, or wrong.
std::optional<tools::MonitorPlan> pinned(const Parsed& parsed, const std::string& name) {
  const auto text = parsed.text("plan");
  const auto plans = text ? parse_json(*text) : std::nullopt;
  if (!plans || !plans->has(name)) return std::nullopt;
  const Json& given = (*plans)[name];
  tools::MonitorPlan plan{given["source"].text(), given["condition"].text(), {}};
  for (const Json& each : given["responses"].items()) {
    plan.responses.push_back({each["name"].text(),
                              static_cast<std::uint32_t>(each["times"].natural()),
                              each["program"].text(),
                              each["cooldown_ms"].number()});
  }
  return plan;
}

int run(Context& context, const Parsed& parsed) {
  const auto place = context.place();
  if (!place) return context.fail(place.error());
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  const std::string folder = home->path + "/monitors";
  ::mkdir(home->path.c_str(), 0700);
  ::mkdir(folder.c_str(), 0700);
  if (::chdir(place->root.c_str()) != 0) {
    return context.fail(Failure{"IO", fmt::format("cannot go to {}", place->root)});
  }
  int code = 0;
  for (const std::string& name : parsed.words) {
    auto plan = pinned(parsed, name);
    if (!plan) {
      const auto current = context.runbooks->plan_monitor(name, *place);
      if (!current) return context.cannot_run(current.error());
      plan = *current;
    }
    MonitorMemory memory(
        fmt::format("{}/{}.{}.json", folder, folder_mark(place->root), safe(name)));
    if (!memory.is_locked()) {
      context.output.note(fmt::format("monitor {} is being run already", name));
      continue;
    }
    const int one = Look(context, name, *plan).run(memory);
    if (one != 0) code = one;
  }
  return code;
}

int list(Context& context, const Parsed&) {
  const auto place = context.place();
  if (!place) return context.fail(place.error());
  const auto names = context.runbooks->names("monitor", *place);
  if (context.json()) {
    Json all = Json::array();
    for (const auto& [name, file] : names) all.push(json_of({{"name", name}, {"file", file}}));
    return context.output.succeed(json_of({{"monitors", all}}));
  }
  for (const auto& [name, file] : names) {
    context.output.line(context.quiet() ? name : fmt::format("{:<20} {}", name, file));
  }
  if (names.empty()) context.output.note("no monitors; `reeve runbook example watchdog` has one");
  return context.output.done();
}

constexpr std::array<Argument, 1> some_monitors{
    {{.name = "NAME", .count = Count::Some, .completes = Completes::Monitor}}};
constexpr std::array<Option, 1> run_options{
    {{.name = "plan",
      .takes = Takes::Text,
      .value = "JSON",
      .help = "what its cron was enabled with, instead of what the runbooks say now"}}};
constexpr std::array<Example, 1> run_examples{
    {{"reeve monitor run idle_agents", "one look, as its cron makes it"}}};
constexpr std::array<Example, 1> list_examples{{{"reeve monitor list", "those of the runbooks"}}};

constexpr std::array<Command, 2> commands{{
    {.name = "monitor list",
     .summary = "the monitors of the runbooks",
     .examples = list_examples,
     .run = list},
    {.name = "monitor run",
     .summary = "look once, and do what is to be done",
     .arguments = some_monitors,
     .options = run_options,
     .details =
         "Runs its source, its condition for every item, and of its responses the first that has "
         "attempts left. `escalate` opens a decision, and announces monitor:escalate.",
     .examples = run_examples,
     .run = run},
}};

}  // namespace

const Group monitor_group{
    .word = "monitor", .summary = "look after things again and again", .commands = commands};

}  // namespace reeve::cli
