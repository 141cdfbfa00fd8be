#include "api/errors.h"
#include "api/methods.h"
#include "api/rpc.h"

#include <fmt/format.h>

// What can be asked of history: the questions themselves are SQL, put to the file by whoever has
// them (docs/history.md).
namespace reeve::api {
namespace {

void tell_off(Tell& tell, const Steward::HistoryUse& history) {
  const std::string why = history.problem.empty() ? std::string("it is not kept") : history.problem;
  const bool can_be_made = !history.path.empty();
  tell.error(code::history_off,
             fmt::format(
                 "history is off: {}{}", why, can_be_made ? "; try `reeve history rebuild`" : ""))
      .field("problem", why);
}

void tell_synced(Tell& tell, const Reply&) {
  const Steward::HistoryUse history = tell.desk().steward().history();
  if (history.state == "off") return tell_off(tell, history);
  if (!history.problem.empty()) {
    tell.error(code::history_off,
               fmt::format("history cannot be written now: {}; it will try again", history.problem))
        .field("problem", history.problem);
    return;
  }
  tell.result().field("path", history.path).field("history_seq", history.passed);
}

void tell_rebuilt(Tell& tell, const Reply&) {
  const Steward::HistoryUse history = tell.desk().steward().history();
  if (!history.rebuild_problem.empty()) {
    tell.error(code::history_off,
               fmt::format("history could not be rebuilt: {}", history.rebuild_problem))
        .field("problem", history.rebuild_problem);
    return;
  }
  if (history.state == "off") return tell_off(tell, history);
  tell.result().field("path", history.path).field("from_seq", history.rebuilt_from);
  tell.json.field("to_seq", history.rebuilt_to).field("events", history.rebuilt_events);
}

void sync(Asking& ask) { ask.sync_history(); }
void rebuild(Asking& ask) { ask.rebuild_history(); }

constexpr Named methods[] = {
    {"history.sync", sync},
    {"history.rebuild", rebuild},
};

}  // namespace

std::span<const Named> history_methods() { return methods; }

// Whoever asked may be gone by then.
std::function<void()> Asking::answer_later(ShowReply show) {
  const Call call = rpc_.open(opened("history", show, nullptr));
  const SessionId asker = session();
  Desk& at = desk();
  return [asker, call, &at] {
    Connection* connection = at.find(asker);
    if (connection) connection->replied(call, at.engine().durable(), Reply{Ok{}}, at.now());
  };
}

void Asking::sync_history() {
  if (!is_good()) return;
  desk().steward().sync_history(answer_later(tell_synced));
}

void Asking::rebuild_history() {
  if (!is_good()) return;
  desk().steward().rebuild_history(answer_later(tell_rebuilt));
}

}  // namespace reeve::api
