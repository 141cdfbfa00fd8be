#include "api/errors.h"
#include "api/methods.h"
#include "api/paging.h"
#include "api/rpc.h"
#include "api/show.h"
#include "base/match.h"
#include "codec/shell_word.h"
#include "core/names.h"

#include <fmt/format.h>

namespace reeve::api {
namespace {

// ── Changes ──

void tell_granted(Tell& tell, const grant::Granted& granted) {
  JsonWriter& json = tell.result().key("locks").begin_array();
  const Holder* previous = nullptr;
  std::optional<Time> expires_at;
  for (const grant::Given& given : granted.given) {
    json.begin_object().field("name", tell.shown(given.project, given.name));
    json.field("token", given.token.value).end_object();
    if (given.previous) previous = &*given.previous;
    if (given.expires_at && (!expires_at || *given.expires_at < *expires_at)) {
      expires_at = given.expires_at;
    }
  }
  json.end_array();
  switch (granted.how) {
    case grant::How::Acquired:
      json.field("outcome", "acquired");
      break;
    case grant::How::Extended:
      json.field("outcome", "extended");
      break;
    case grant::How::Reclaimed:
      json.field("outcome", "reclaimed");
      break;
  }
  json.field("holder", granted.holder.name);
  tell.moment("expires_at", expires_at);
  if (previous) json.field("previous", previous->name);
}

void tell_acquired(Tell& tell, const Reply& reply) {
  const grant::Reply* of_grant = std::get_if<grant::Reply>(&reply.value);
  if (!of_grant) return;
  match(
      *of_grant,
      [&](const grant::Granted& granted) { tell_granted(tell, granted); },
      [&](const grant::Busy& busy) { tell_busy(tell, busy, false); },
      [&](const grant::Full& full) { tell_full(tell, full, false); },
      [&](const grant::WouldDeadlock& deadlock) { tell_deadlock(tell, deadlock); },
      [&](const grant::NotGranted& not_granted) { tell_not_granted(tell, not_granted); });
}

void tell_lost(Tell& tell, const lock::Lost& lost) {
  const std::string& name = tell.kept().name;
  const std::string who = lost.current ? "is held by " + lost.current->name : "is held by nobody";
  JsonWriter& json =
      tell.error(code::lost,
                 fmt::format("the lease is over: lock {} {}; try `reeve lock acquire {}`",
                             quoted(name),
                             who,
                             codec::shell_word(name)));
  json.field("name", name);
  if (lost.current) json.field("holder", lost.current->name);
}

// All of a lock's answers that are not about asking for it.
void tell_lock(Tell& tell, const Reply& reply) {
  const lock::Reply* of_lock = std::get_if<lock::Reply>(&reply.value);
  if (!of_lock) return;
  const std::string& name = tell.kept().name;
  match(
      *of_lock,
      [&](const lock::Released&) {
        tell.result().field("name", name).field("outcome", "released");
      },
      [&](const lock::NotOwner& not_owner) {
        tell.error(code::not_owner,
                   fmt::format(
                       "lock {} is held by {}, not under this name and token; try `reeve why {}`",
                       quoted(name),
                       not_owner.holder.name,
                       codec::shell_word(name)))
            .field("name", name)
            .field("holder", not_owner.holder.name);
      },
      [&](const lock::AlreadyFree&) {
        tell.result().field("name", name).field("outcome", "already_free");
      },
      [&](const lock::Alive& alive) {
        tell.result().field("name", name);
        tell.moment("expires_at", alive.expires_at);
      },
      [&](const lock::Lost& lost) { tell_lost(tell, lost); },
      [&](const lock::Valid&) { tell.result().field("name", name).field("valid", true); },
      [&](const lock::Superseded& superseded) {
        JsonWriter& json =
            tell.error(code::superseded,
                       fmt::format("this token of lock {} is over; try `reeve lock show {}`",
                                   quoted(name),
                                   codec::shell_word(name)));
        json.field("name", name);
        if (superseded.current) json.field("token", superseded.current->value);
      },
      [&](const lock::Cleaned& cleaned) {
        JsonWriter& json = tell.result().key("names").begin_array();
        for (const LockName& cleaned_name : cleaned.names) json.text(tell.name(cleaned_name));
        json.end_array();
      });
}

// Released, or its process is being ended first.
void tell_forced(Tell& tell, const Reply& reply) {
  const lock::Reply* of_lock = std::get_if<lock::Reply>(&reply.value);
  if (!of_lock || !std::holds_alternative<lock::Released>(*of_lock)) return tell_lock(tell, reply);
  const std::string& name = tell.kept().name;
  const bool shared = name.starts_with("//");
  const LockName lock_name{shared ? shared_project : tell.project(), name.substr(shared ? 2 : 0)};
  const lock::Lock* lock = tell.state().locks.locks.find(lock_name);
  const bool ending = lock && state_of(lock_name, *lock, tell.state(), tell.now().now) == "ending";
  tell.result().field("name", name).field("outcome", ending ? "ending" : "released");
}

void acquire(Asking& ask) {
  lock::Acquire command;
  command.names = ask.need_names<LockName>("names");
  if (command.names.size() == 1) ask.kept.name = command.names.front().name;
  command.holder = ask.maybe_holder();
  command.timeout = ask.params.some_duration("timeout_ms");
  command.max_hold = ask.params.some_duration("max_hold_ms");
  command.wait = ask.wait();
  command.meta = ask.meta();
  ask.submit("lock", std::move(command), tell_acquired);
}

void release(Asking& ask) {
  lock::Release command{ask.need_name<LockName>(), ask.need_holder(), ask.token()};
  ask.submit("lock", std::move(command), tell_lock);
}

void heartbeat(Asking& ask) {
  lock::Heartbeat command{ask.need_name<LockName>(), ask.need_holder(), ask.need_token()};
  ask.submit("lock", std::move(command), tell_lock);
}

void check(Asking& ask) {
  lock::Check command{ask.need_name<LockName>(), ask.need_token()};
  ask.submit("lock", std::move(command), tell_lock);
}

void force_release(Asking& ask) {
  lock::ForceRelease command;
  command.name = ask.need_name<LockName>();
  command.reason = ask.params.need_text("reason");
  command.by = ask.params.text("by").value_or(ask.desk().steward().about().user);
  command.now = ask.params.flag("now");
  ask.submit_and_look("lock", std::move(command), tell_forced);
}

void cleanup(Asking& ask) { ask.submit("lock", lock::Cleanup{ask.project()}, tell_lock); }

// ── Questions ──

void show_locks(Tell& tell, const State& state) {
  tell.result();
  page_of_names(
      tell, state.locks.locks, "locks", [&](const LockName& name, const lock::Lock& lock) {
        show_lock(tell, state, name, lock);
      });
}

void list(Asking& ask) {
  keep_page(ask);
  ask.look(show_locks);
}

// A free lock need not be known: it is the same as one that nobody has asked for.
void show_one(Tell& tell, const State& state) {
  const LockName name = name_of<LockName>(tell);
  const lock::Lock* lock = state.locks.locks.find(name);
  tell.result();
  show_lock(tell, state, name, lock ? *lock : lock::Lock{});
}

void show(Asking& ask) {
  const LockName name = ask.need_name<LockName>();
  if (!is_good_name(name.name)) ask.params.refuse("name", "cannot be a name");
  ask.look(show_one);
}

constexpr Named methods[] = {
    {"lock.acquire", acquire},
    {"lock.release", release},
    {"lock.heartbeat", heartbeat},
    {"lock.check", check},
    {"lock.force_release", force_release},
    {"lock.cleanup", cleanup},
    {"lock.list", list},
    {"lock.show", show},
};

}  // namespace

std::span<const Named> lock_methods() { return methods; }

}  // namespace reeve::api
