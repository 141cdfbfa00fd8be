#include "api/tell.h"

#include "api/board.h"
#include "api/errors.h"
#include "api/limits.h"
#include "api/nearest.h"
#include "base/match.h"
#include "codec/shell_word.h"
#include "codec/text_forms.h"
#include "core/limits.h"

#include <fmt/format.h>

#include <limits>

namespace reeve::api {

// ── The line ──

Tell::~Tell() {
  switch (said_) {
    case Said::Nothing:
      result();
      [[fallthrough]];
    case Said::Result:
      to_ += "}}\n";
      break;
    case Said::Error:
      json.end_object();
      // What never came before the core has no place in the order.
      if (sequence_ != 0) json.field("seq", sequence_);
      to_ += "}}}\n";
      break;
    case Said::Part:
      break;
  }
}

JsonWriter& Tell::result() {
  if (said_ != Said::Nothing) return json;
  said_ = Said::Result;
  to_ += R"({"jsonrpc":"2.0","id":)";
  to_ += id_;
  to_ += R"(,"result":)";
  json.start();
  return json.begin_object().field("seq", sequence_);
}

JsonWriter& Tell::error(std::string_view code, std::string_view message) {
  return error(refused_code, code, message);
}

JsonWriter& Tell::error(int number, std::string_view code, std::string_view message) {
  if (said_ != Said::Nothing) return json;
  said_ = Said::Error;
  to_ += R"({"jsonrpc":"2.0","id":)";
  to_ += id_;
  to_ += R"(,"error":)";
  json.start();
  json.begin_object().field("code", number).field("message", message);
  json.key("data").begin_object().field("code", code);
  return json.key("details").begin_object();
}

// ── Moments and names ──

void Tell::moment(std::string_view field, Wall wall) {
  const std::optional<std::string> text = codec::format_wall(wall.time_since_epoch().count());
  if (text) json.key(field).plain(*text);
}

void Tell::moment(std::string_view field, Time time) {
  const std::int64_t wall = now_.wall.time_since_epoch().count();
  const std::int64_t now = now_.now.time_since_epoch().count();
  const std::int64_t then = time.time_since_epoch().count();
  std::int64_t away = 0;
  std::int64_t shown = 0;
  if (__builtin_sub_overflow(then, now, &away)) return;
  if (__builtin_add_overflow(wall, away, &shown)) return;
  moment(field, Wall(Duration(shown)));
}

void Tell::moment(std::string_view field, std::optional<Time> time) {
  if (time) moment(field, *time);
}

std::string Tell::shown(ProjectNo project, const std::string& name) const {
  if (project == shared_project && project_ != shared_project) return "//" + name;
  return name;
}

std::string quoted(std::string_view name) { return fmt::format("\"{}\"", name); }

// ── What was refused ──

namespace {

// The name of that kind (or of any, if none was said) that may have been meant. There may be many,
// and so only the first are looked at.
std::string_view nearest_name(const Tell& tell, std::string_view kind, std::string_view name) {
  std::vector<std::string_view> names;
  const auto add = [&](const auto& map) {
    using Name = std::remove_cvref_t<decltype(map.begin()->first)>;
    for (auto at = map.lower_bound(Name{tell.project(), ""}); at != map.end(); ++at) {
      if (at->first.project != tell.project() || names.size() >= limits::list_entries) break;
      names.push_back(at->first.name);
    }
  };
  const bool semaphores = kind == "semaphore" || kind == "sem";
  const bool any = kind.empty();  // none was said
  if (any || kind == "lock") add(tell.state().locks.locks);
  if (any || semaphores) add(tell.state().semaphores.semaphores);
  if (any || kind == "queue") add(tell.state().queues.names);
  if (any || kind == "worker") add(tell.state().workers.workers);
  if (any || kind == "cron") add(tell.state().crons.crons);
  if (any || kind == "section") add(tell.state().board.sections);
  if (kind == "runner") add(tell.state().board.runners);
  if (any || kind == "task") {
    const PersistentSet<board::TitleKey>& titles = tell.state().board.titles;
    for (auto at = titles.lower_bound({tell.project(), "", {}}); at != titles.end(); ++at) {
      if (at->project != tell.project() || names.size() >= limits::list_entries) break;
      names.push_back(at->title);
    }
  }
  return nearest(name, names);
}

}  // namespace

void tell_not_found(Tell& tell,
                    std::string_view kind,
                    std::string_view name,
                    std::string_view nearest) {
  if (nearest.empty() && tell.has_state()) nearest = nearest_name(tell, kind, name);
  std::string message =
      fmt::format("there is no {} {}", kind.empty() ? "thing called" : kind, quoted(name));
  if (!nearest.empty()) {
    message += fmt::format("; did you mean {}?", quoted(nearest));
  } else if (kind == "semaphore") {
    message += fmt::format("; try `reeve sem create {} --capacity N`", codec::shell_word(name));
  } else if (kind == "queue") {
    message += "; try `reeve queue stats`";
  } else if (kind == "pipeline" || kind == "worker" || kind == "cron" || kind == "decision" ||
             kind == "task" || kind == "section" || kind == "runner") {
    message += fmt::format("; try `reeve {} list`", kind);
  } else if (kind == "project") {
    message += "; try `reeve project list`";
  }
  JsonWriter& json = tell.error(code::not_found, message);
  if (!kind.empty()) json.field("kind", kind);
  json.field("name", name);
  if (!nearest.empty()) json.field("nearest", nearest);
}

namespace {

// What does not go as things are, and what would help.
std::string not_allowed(const Tell& tell,
                        std::string_view thing,
                        std::string_view kind,
                        std::string_view state) {
  const Kept& kept = tell.kept();
  if (kind == "queue" && state.starts_with("item-")) {
    return fmt::format(
        "{} is not dead; try `reeve queue show {} {}`", state, codec::shell_word(kept.name), state);
  }
  if (kind == "queue" && state == "processing" && !kept.second.empty()) {
    return fmt::format(
        "{} is being worked on; try again when its claim is over, see `reeve why {}`",
        kept.second,
        codec::shell_word(kept.second));
  }
  if (kind == "queue" && state == "processing") {
    return fmt::format("{}: items of it are being worked on; try again when they are done", thing);
  }
  if (kind == "queue" && (state == "pending" || state == "purge it first")) {
    return fmt::format(
        "{} still has items; try `reeve queue purge {} --state pending`, and dead, and completed",
        thing,
        codec::shell_word(kept.name));
  }
  if (kind == "queue" && state == "takers") {
    return fmt::format("{}: somebody waits for its items, see `reeve why {}`",
                       thing,
                       codec::shell_word(kept.name));
  }
  if (kind == "section" && state == "it has open tasks") {
    return fmt::format("{} has open tasks; see `reeve task list --section {}`",
                       thing,
                       codec::shell_word(kept.name));
  }
  if (kind == "section" || kind == "runner") {
    return fmt::format(
        "{}: {}; see `reeve {} show {}`", thing, state, kind, codec::shell_word(kept.name));
  }
  // A run has more to say than a word: "pipe-4f7kq2 has ended".
  const bool is_word = kind == "lock" || kind == "semaphore" || kind == "queue" ||
                       state.find(' ') == std::string_view::npos;
  if (!is_word && state.starts_with("a ")) return fmt::format("{} is {}", kept.name, state);
  if (!is_word && state.ends_with(" is not recoverable")) {
    return fmt::format("{}; `reeve resume {} --force` tries again all the same",
                       state,
                       state.substr(0, state.find(' ')));
  }
  if (!is_word) return std::string(state);
  return fmt::format("{}: not while it is {}", thing, state);
}

std::string bad_name(std::string_view kind, std::string_view name) {
  if (kind == "event") {
    return fmt::format(
        "{} cannot be an event of your own: one is called category:action, and "
        "the category is none of Reeve's (such as lock or queue)",
        quoted(name));
  }
  constexpr std::string_view rule =
      "one has 1 to 200 bytes without control characters and not all blanks, does not begin with - "
      "and has no .. in it";
  // Which of the names it was; as a name it would be a good one.
  if (name == "holder" || name == "within") {
    return fmt::format("{} is not a name: {}", name, rule);
  }
  return fmt::format("{} cannot be a name: {}", quoted(name), rule);
}

// The core says which name it was, or which field: of those that are asked for by name it is known
// where the name stood.
std::string field_of_name(const Kept& kept, std::string_view kind, const std::string& subject) {
  if (subject == "holder" || subject == "within") return subject;
  if (kind == "event") return "name";
  const bool is_named = kind == "lock" || kind == "semaphore" || kind == "queue";
  if (!is_named || kept.field.empty()) return subject;
  const bool is_other = kind == "queue" && kept.field == "queue" && kept.name != subject &&
                        kept.name != "//" + subject;
  return is_other ? "dead_letter" : std::string(kept.field);
}

std::string bad_value(const Tell& tell,
                      std::string_view kind,
                      std::string_view thing,
                      std::string_view field) {
  if (field == "weight" && tell.has_state()) {
    const semaphore::Semaphore* found =
        tell.state().semaphores.semaphores.find({tell.project(), tell.kept().name});
    if (found) {
      return fmt::format(
          "{}: a weight is between 1 and its capacity, {}", thing, found->config.capacity);
    }
  }
  if (field == "title") {
    return fmt::format("a title has 1 to {} bytes and is not all blanks",
                       reeve::limits::title_bytes);
  }
  if (kind == "pipeline" && field != "choice") {
    return fmt::format(
        "{}: {} cannot have this value: one has at most {} KiB and no NUL, and must "
        "be given if there is no default",
        thing,
        field,
        reeve::limits::value_bytes >> 10U);
  }
  return fmt::format("{}: {} cannot have this value", thing, field);
}

std::string over_limit(std::string_view thing, std::string_view subject) {
  if (subject == "data") {
    return fmt::format("{}: the data of an item has at most {} MiB ({} bytes)",
                       thing,
                       reeve::limits::item_bytes >> 20U,
                       reeve::limits::item_bytes);
  }
  if (subject == "dead_letter") {
    return fmt::format("{}: at most {} queues may stand behind one another by `dead_letter`",
                       thing,
                       reeve::limits::queues_a_chain);
  }
  return fmt::format("{}: more {} than there may be, see docs/protocol.md, Limits", thing, subject);
}

std::string who_waits(std::uint64_t count) {
  if (count == 0) return {};
  return fmt::format(", and {} {} for it", count, count == 1 ? "waits" : "wait");
}

}  // namespace

void tell_refused(Tell& tell, const Refused& refused, std::string_view kind) {
  const std::string& subject = refused.subject;
  const std::string thing = tell.kept().name.empty()
                                ? std::string(kind)
                                : fmt::format("{} {}", kind, quoted(tell.kept().name));
  switch (refused.why) {
    case Why::NotFound: {
      const bool is_item = subject.starts_with("item-");
      const bool is_other = subject == "project" || subject == "session" || subject == "request";
      const std::string& started = tell.kept().name;
      const bool is_start = kind == "pipeline" && !started.empty() && !started.starts_with("pipe-");
      if (is_start && subject != started && subject != "runbook") {
        // One of those in its `after`.
        tell.error(code::not_found,
                   fmt::format("{}: there is no run {} that it could come after; try `reeve "
                               "pipeline list`",
                               thing,
                               quoted(subject)))
            .field("kind", kind)
            .field("name", subject);
      } else if (kind == "pipeline" && !subject.starts_with("pipe-")) {
        // Of the runbooks, where a run would have an id.
        tell.error(code::not_found, fmt::format("there is no {}; try `reeve runbook list`", thing))
            .field("kind", kind)
            .field("name", subject);
      } else if (is_other) {
        tell.error(code::not_found, fmt::format("there is no such {}", subject))
            .field("kind", subject)
            .field("name", kind == subject ? tell.kept().name : subject);
      } else {
        tell_not_found(tell, is_item ? "item" : kind, subject);
      }
      return;
    }
    case Why::BadName:
      tell.error(code::bad_name, bad_name(kind, subject))
          .field("field", field_of_name(tell.kept(), kind, subject));
      return;
    case Why::BadValue:
      tell.error(code::bad_value, bad_value(tell, kind, thing, subject)).field("field", subject);
      return;
    case Why::OverLimit:
      tell.error(code::over_limit, over_limit(thing, subject)).field("field", subject);
      return;
    case Why::Full:
      if (subject == "disk") {
        tell.error(
            code::disk_full,
            fmt::format("{}: the disk is full, so nothing new is taken; make room, or finish "
                        "something",
                        thing));
      } else {
        tell.error(code::full,
                   fmt::format("{}: the state is full, so nothing new is taken; finish or drop "
                               "something first, see `reeve queue stats`",
                               thing));
      }
      return;
    case Why::KeyReused:
      tell.error(code::key_reused, "this key came with another request before; use a fresh one");
      return;
    case Why::NotAllowed:
      tell.error(code::not_allowed, not_allowed(tell, thing, kind, subject))
          .field("name", tell.kept().name)
          .field("state", subject);
      return;
    case Why::Exists:
      tell.error(code::exists, fmt::format("{} is there already", thing)).field("name", subject);
      return;
    case Why::Loop:
      tell.error(code::loop, fmt::format("{}: by {} it would come back to itself", thing, subject))
          .field("name", subject);
      return;
    case Why::Ambiguous:
      // Of all names only the titles of the board are not one thing's own.
      tell_same_title(tell, subject);
      return;
  }
}

// ── What was not granted ──

void tell_busy(Tell& tell, const grant::Busy& busy, bool waited) {
  const std::string name = tell.name(busy.name);
  // It may be free, and kept for the first in line, who waits for something else as well.
  const lock::Lock* lock = tell.desk().engine().state().locks.locks.find(busy.name);
  const lock::Tenure* tenure = lock ? lock::tenure_of(*lock) : nullptr;
  const bool is_kept = !busy.expires_at && !tenure;
  std::string message = fmt::format("lock {} is {} {}{}",
                                    quoted(name),
                                    is_kept ? "kept for" : "held by",
                                    busy.holder.name,
                                    is_kept ? ", who waits for more than that" : "");
  message += who_waits(busy.ahead);
  message += waited ? fmt::format("; the wait ended, try `reeve why {}`", codec::shell_word(name))
                    : fmt::format("; try `reeve lock acquire {} --wait`", codec::shell_word(name));
  JsonWriter& json = tell.error(code::locked, message);
  json.field("name", name).field("holder", busy.holder.name);
  tell.moment("since", busy.since);
  tell.moment("expires_at", busy.expires_at);
  json.field("waiters", busy.ahead);
  if (waited) json.field("waited", true);
}

void tell_full(Tell& tell, const grant::Full& full, bool waited) {
  const std::string name = tell.name(full.name);
  std::string message =
      fmt::format("semaphore {} has {} of {} left", quoted(name), full.available, full.capacity);
  message += who_waits(full.ahead);
  message += waited ? fmt::format("; the wait ended, try `reeve why {}`", codec::shell_word(name))
                    : fmt::format("; try `reeve sem acquire {} --wait`", codec::shell_word(name));
  JsonWriter& json = tell.error(code::full, message);
  json.field("name", name).field("available", full.available).field("capacity", full.capacity);
  json.field("waiters", full.ahead);
  if (waited) json.field("waited", true);
}

void tell_deadlock(Tell& tell, const grant::WouldDeadlock& deadlock) {
  std::string circle;
  for (const Holder& holder : deadlock.cycle) circle += holder.name + " waits for ";
  if (!deadlock.cycle.empty()) circle += deadlock.cycle.front().name;
  JsonWriter& json =
      tell.error(code::would_deadlock,
                 fmt::format("waiting would never end: {}; let something go first", circle));
  json.key("cycle").begin_array();
  for (const Holder& holder : deadlock.cycle) {
    json.begin_object().field("holder", holder.name).end_object();
  }
  json.end_array();
}

void tell_cancelled(Tell& tell) {
  tell.error(code::cancelled, "the wait was cancelled, and nothing was taken");
}

void tell_not_granted(Tell& tell, const grant::NotGranted& not_granted) {
  switch (not_granted.left) {
    case Left::TimedOut:
      return match(
          not_granted.in_the_way,
          [&](const grant::Busy& busy) { tell_busy(tell, busy, true); },
          [&](const grant::Full& full) { tell_full(tell, full, true); });
    case Left::Cancelled:
    case Left::SessionEnded:
      return tell_cancelled(tell);
    case Left::Unfit:
      tell.error(code::bad_value, "the capacity was lowered below the weight that was asked for")
          .field("field", "weight");
      return;
  }
}

}  // namespace reeve::api
