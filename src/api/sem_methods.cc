#include "api/errors.h"
#include "api/methods.h"
#include "api/paging.h"
#include "api/rpc.h"
#include "api/show.h"
#include "base/match.h"
#include "codec/shell_word.h"

#include <fmt/format.h>

#include <limits>

namespace reeve::api {
namespace {

constexpr std::int64_t most_capacity = std::numeric_limits<std::uint32_t>::max();

const semaphore::Semaphore* find(const Tell& tell, const State& state) {
  return state.semaphores.semaphores.find(name_of<SemaphoreName>(tell));
}

void tell_available(Tell& tell) {
  const semaphore::Semaphore* found = find(tell, tell.state());
  tell.json.field("available", found ? semaphore::available(*found) : 0);
}

// ── Changes ──

void tell_granted(Tell& tell, const grant::Granted& granted) {
  const grant::Given& given = granted.given.front();
  const bool already = granted.how == grant::How::Extended;
  JsonWriter& json = tell.result();
  json.field("name", tell.kept().name).field("outcome", already ? "already_held" : "acquired");
  json.field("holder", granted.holder.name).field("weight", given.weight);
  json.field("token", given.token.value);
  tell_available(tell);
  tell.moment("expires_at", given.expires_at);
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

void tell_semaphore(Tell& tell, const Reply& reply) {
  const semaphore::Reply* of_semaphore = std::get_if<semaphore::Reply>(&reply.value);
  if (!of_semaphore) return;
  const std::string& name = tell.kept().name;
  match(
      *of_semaphore,
      [&](const semaphore::Released&) {
        tell.result().field("name", name).field("outcome", "released");
        tell_available(tell);
      },
      [&](const semaphore::NotHolder&) {
        if (tell.has_state() && !find(tell, tell.state())) {
          return tell_not_found(tell, "semaphore", name);
        }
        tell.error(
                code::not_holder,
                fmt::format("nobody holds semaphore {} under this name and token; try `reeve sem "
                            "show {}`",
                            quoted(name),
                            codec::shell_word(name)))
            .field("name", name);
      },
      [&](const semaphore::Alive& alive) {
        tell.result().field("name", name);
        tell.moment("expires_at", alive.expires_at);
      },
      [&](const semaphore::Lost&) {
        tell.error(code::lost,
                   fmt::format("the lease of semaphore {} is over; try `reeve sem acquire {}`",
                               quoted(name),
                               codec::shell_word(name)))
            .field("name", name);
      });
}

// It is as it was asked for now.
void tell_shown(Tell& tell, const Reply&) {
  tell.result();
  const semaphore::Semaphore* found = find(tell, tell.state());
  if (!found) return;
  show_semaphore(tell, tell.state(), name_of<SemaphoreName>(tell), *found);
  if (tell.kept().number != 0) tell.json.field("outcome", tell.kept().flag ? "exists" : "created");
}

void tell_removed(Tell& tell, const Reply&) { tell.result().field("name", tell.kept().name); }

// To create one that is there with another capacity would be to resize it by accident.
void create(Asking& ask) {
  semaphore::Create command;
  command.name = ask.need_name<SemaphoreName>();
  command.config.capacity =
      static_cast<std::uint32_t>(ask.params.need_integer("capacity", 1, most_capacity));
  ask.kept.number = 1;
  const semaphore::Semaphore* found = ask.state().semaphores.semaphores.find(command.name);
  ask.kept.flag = found != nullptr;
  if (found && found->config.capacity != command.config.capacity) {
    const std::uint32_t capacity = found->config.capacity;
    const std::string name = ask.kept.name;
    return ask.answer([&](Tell& tell) {
      tell.error(
              code::exists,
              fmt::format("semaphore {} is there already, with capacity {}; try `reeve sem resize "
                          "{} {}`",
                          quoted(name),
                          capacity,
                          codec::shell_word(name),
                          command.config.capacity))
          .field("name", name)
          .field("capacity", capacity);
    });
  }
  if (found) command.config = found->config;
  ask.submit_and_look("semaphore", std::move(command), tell_shown);
}

void resize(Asking& ask) {
  semaphore::Resize command;
  command.name = ask.need_name<SemaphoreName>();
  command.capacity =
      static_cast<std::uint32_t>(ask.params.need_integer("capacity", 1, most_capacity));
  ask.submit_and_look("semaphore", std::move(command), tell_shown);
}

void remove(Asking& ask) {
  ask.submit("semaphore", semaphore::Remove{ask.need_name<SemaphoreName>()}, tell_removed);
}

void acquire(Asking& ask) {
  semaphore::Acquire command;
  command.name = ask.need_name<SemaphoreName>();
  command.holder = ask.maybe_holder();
  command.weight =
      static_cast<std::uint32_t>(ask.params.integer("weight", 1, most_capacity).value_or(1));
  command.timeout = ask.params.some_duration("timeout_ms");
  command.max_hold = ask.params.some_duration("max_hold_ms");
  command.wait = ask.wait();
  command.meta = ask.meta();
  ask.submit_and_look("semaphore", std::move(command), tell_acquired);
}

void release(Asking& ask) {
  semaphore::Release command{ask.need_name<SemaphoreName>(), ask.need_holder(), ask.token()};
  ask.submit_and_look("semaphore", std::move(command), tell_semaphore);
}

void heartbeat(Asking& ask) {
  semaphore::Heartbeat command{ask.need_name<SemaphoreName>(), ask.need_holder(), ask.need_token()};
  if (ask.params.is_good() && !ask.state().semaphores.semaphores.contains(command.name)) {
    const std::string name = ask.kept.name;
    return ask.answer([&](Tell& tell) { tell_not_found(tell, "semaphore", name); });
  }
  ask.submit("semaphore", std::move(command), tell_semaphore);
}

// ── Questions ──

void show_all(Tell& tell, const State& state) {
  tell.result();
  page_of_names(tell,
                state.semaphores.semaphores,
                "semaphores",
                [&](const SemaphoreName& name, const semaphore::Semaphore& semaphore) {
                  show_semaphore(tell, state, name, semaphore);
                });
}

void list(Asking& ask) {
  keep_page(ask);
  ask.look(show_all);
}

void show_one(Tell& tell, const State& state) {
  const semaphore::Semaphore* found = find(tell, state);
  if (!found) return tell_not_found(tell, "semaphore", tell.kept().name);
  tell.result();
  show_semaphore(tell, state, name_of<SemaphoreName>(tell), *found);
}

void show(Asking& ask) {
  ask.need_name<SemaphoreName>();
  ask.look(show_one);
}

constexpr Named methods[] = {
    {"sem.create", create},
    {"sem.acquire", acquire},
    {"sem.release", release},
    {"sem.heartbeat", heartbeat},
    {"sem.resize", resize},
    {"sem.remove", remove},
    {"sem.list", list},
    {"sem.show", show},
};

}  // namespace

std::span<const Named> sem_methods() { return methods; }

}  // namespace reeve::api
