#include "api/errors.h"
#include "api/limits.h"
#include "api/methods.h"
#include "api/rpc.h"
#include "api/show.h"
#include "base/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace reeve::api {
namespace {

// `match` is a pattern or an array of them.
std::vector<Pattern> read_patterns(Asking& ask) {
  std::vector<Pattern> patterns;
  const auto add = [&](std::string_view text) {
    if (is_pattern(text)) {
      patterns.push_back(parse_pattern(text));
    } else {
      ask.params.refuse(
          "match",
          fmt::format("has {}, which is no pattern; write noun:verb or "
                      "noun:subject:verb, with * for any one of them and ** for all the "
                      "rest, as in \"lock:*\"",
                      quoted(text)));
    }
  };
  const Raw* raw = ask.params.raw("match");
  if (raw && raw->kind == JsonKind::Array) {
    ask.params.each_text("match", limits::follow_patterns, add);
  } else if (const std::optional<std::string_view> one = ask.params.text("match")) {
    add(*one);
  }
  return patterns;
}

engine::Filter read_filter(Asking& ask) {
  engine::Filter filter;
  filter.patterns = read_patterns(ask);
  if (!ask.params.flag("all_projects")) filter.project = ask.project();
  return filter;
}

void tell_gone(Asking& ask, const engine::Gone& gone) {
  ask.answer([&](Tell& tell) {
    tell.error(code::gone, fmt::format("events before {} are no longer in memory", gone.oldest))
        .field("oldest", gone.oldest);
  });
}

std::optional<Sequence> read_since(Asking& ask) {
  const std::optional<std::int64_t> since = ask.params.integer("since_seq");
  return since ? std::optional(static_cast<Sequence>(*since)) : std::nullopt;
}

void follow(Asking& ask) {
  engine::Filter filter = read_filter(ask);
  const std::optional<Sequence> since = read_since(ask);
  const engine::EventLog& events = ask.desk().engine().events();
  engine::Cursor cursor = events.end();
  if (since) {
    const std::variant<engine::Cursor, engine::Gone> found = events.since(*since);
    if (const engine::Gone* gone = std::get_if<engine::Gone>(&found)) return tell_gone(ask, *gone);
    cursor = std::get<engine::Cursor>(found);
  }
  if (ask.id().empty()) return;  // nobody to tell
  if (ask.params.is_good() && !ask.may_wait_more()) {
    return ask.answer([&](Tell& tell) {
      tell.error(code::too_much, "this connection follows or waits for too much already")
          .field("limit", limits::waiting_requests);
    });
  }
  if (!ask.is_good()) return;
  ask.answer([](Tell& tell) { tell.result(); });
  ask.follow(std::move(filter), cursor);
}

// The last `limit` of those that are still in memory.
void list(Asking& ask) {
  const engine::Filter filter = read_filter(ask);
  const std::optional<Sequence> since = read_since(ask);
  const std::size_t limit = static_cast<std::size_t>(
      ask.params.integer("limit", 1, limits::list_entries).value_or(limits::list_default));
  const engine::EventLog& events = ask.desk().engine().events();
  Sequence oldest = 0;
  std::variant<engine::Cursor, engine::Gone> from = events.since(since.value_or(0));
  if (const engine::Gone* gone = std::get_if<engine::Gone>(&from)) {
    if (since) return tell_gone(ask, *gone);
    oldest = gone->oldest;
    from = events.since(oldest == 0 ? 0 : oldest - 1);
  }
  const engine::Cursor* begin = std::get_if<engine::Cursor>(&from);
  engine::Cursor cursor = begin ? *begin : events.end();
  std::deque<Event> last;
  for (bool more = true; more;) {
    engine::Slice slice = events.read(cursor, filter);
    for (Event& event : slice.events) {
      last.push_back(std::move(event));
      if (last.size() > limit) last.pop_front();
    }
    more = slice.more;
  }
  ask.answer([&](Tell& tell) {
    JsonWriter& json = tell.result().key("events").begin_array();
    for (const Event& event : last) {
      json.begin_object();
      show_event(tell, ask.state(), event);
      json.end_object();
    }
    json.end_array().field("oldest_seq", oldest);
  });
}

// What an event is called is said in words: only its subject may have spaces.
bool is_spoken(std::string_view name) {
  const EventName event = custom_name(name);
  const auto is_control = [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte < 0x20 || byte == 0x7f;
  };
  return event.noun.find(' ') == std::string::npos && event.verb.find(' ') == std::string::npos &&
         std::ranges::none_of(name, is_control);
}

void tell_emitted(Tell& tell, const Reply&) { tell.result().field("name", tell.kept().name); }

void emit(Asking& ask) {
  EmitCustom command;
  command.name = ask.params.need_text("name");
  ask.kept.name = command.name;
  if (command.name.contains(':') && !is_spoken(command.name)) {
    ask.params.refuse("name",
                      fmt::format("is {}, which has a space or a control character; an event is "
                                  "called category:action, as in ci:green",
                                  quoted(command.name)));
  }
  if (const Raw* raw = ask.params.raw("data"); raw && raw->kind != JsonKind::Null) {
    JsonReader reader(raw->text);
    Raw name;
    Raw value;
    std::string name_scratch;
    std::string value_scratch;
    if (raw->kind != JsonKind::Object) ask.params.refuse("data", "must be an object of strings");
    reader.enter('{');
    while (ask.params.is_good() && reader.next('}') && reader.name(name) && reader.value(value)) {
      const auto key = text_of(name, name_scratch);
      const auto text = text_of(value, value_scratch);
      if (!key || !text) {
        ask.params.refuse("data", "must be an object of strings");
        break;
      }
      command.data.emplace_back(*key, *text);
    }
  }
  ask.submit("event", std::move(command), tell_emitted);
}

constexpr Named methods[] = {
    {"events.follow", follow},
    {"events.list", list},
    {"events.emit", emit},
};

}  // namespace

std::span<const Named> event_methods() { return methods; }

void Asking::follow(engine::Filter filter, engine::Cursor cursor) {
  rpc_.follows_.push_back({std::string(id_), project_, std::move(filter), cursor});
  desk().follow(rpc_, true);
  rpc_.tell_events(now_);
}

// As many as there is room for; the rest when what is there has been read.
void Rpc::tell_events(Stamp now) {
  const engine::EventLog& events = desk_.engine().events();
  const State& state = desk_.engine().state();
  for (Follow& follow : follows_) {
    bool more = true;
    while (more && undelivered() < limits::undelivered_bytes / 2 && !is_stuffed()) {
      const engine::Slice slice =
          events.read(follow.cursor, follow.filter, limits::undelivered_bytes / 4);
      more = slice.more;
      std::string& to = output_buffer();
      if (slice.lagged) {
        fmt::format_to(
            std::back_inserter(to),
            R"({{"jsonrpc":"2.0","method":"lagged","params":{{"follow":{},"from":{},"to":{}}}}})"
            "\n",
            follow.id,
            slice.lagged->from,
            slice.lagged->to);
      }
      for (const Event& event : slice.events) {
        to += R"({"jsonrpc":"2.0","method":"event","params":{"follow":)";
        to += follow.id;
        Tell tell(to, {}, event.sequence, now, follow.project, Tell::Part{});
        tell.json.after_value();
        show_event(tell, state, event);
        to += "}}\n";
      }
      if (slice.lagged || !slice.events.empty()) touched();
    }
  }
}

}  // namespace reeve::api
