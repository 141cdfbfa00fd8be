#pragma once

#include "base/match.h"
#include "core/apply.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

// A stage for the core: who says what and when, what it answers, what it announces. Everything
// that was put in is kept, so that the whole story can be played again.
namespace reeve::demo {

struct Line {
  Input input;
  Stamp stamp;
};

class Stage {
 public:
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  Stage() : colours_(isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR")) {}

  void act(std::string_view title) {
    fmt::print("\n{}\n\n", styled("1", fmt::format("{}. {}", ++acts_, title)));
  }

  void tells(std::string_view what) { fmt::print("           {}\n", styled("2;3", what)); }

  // A client's request, and its answer.
  Reply says(std::string_view who, std::string_view what, Command command) {
    fmt::print("{} {:<9} {}\n", clock(), who, what);
    Applied applied = play(Request{.command = std::move(command)});
    fmt::print("           {} {}\n", styled("32", "->"), answer(applied.reply));
    announce(applied);
    return applied.reply;
  }

  // The outcome of work that was asked of the outside.
  void happens(std::string_view what, EffectId effect, Outcome outcome) {
    fmt::print("{} {:<9} {}\n", clock(), "outside", what);
    announce(play(EffectEnded{effect, std::move(outcome)}));
  }

  // Time passes; a tick comes when something is due, as from the engine.
  void passes(Duration duration) {
    const Time goal = stamp_.now + duration;
    fmt::print("{} {:<9} {}\n", clock(), "", styled("2", format_duration(duration) + " pass"));
    for (int ticks = 0; ticks < 10'000; ++ticks) {
      const std::optional<Time> due = next_deadline(state_).engine;
      if (!due || *due > goal) break;
      advance_to(std::max(*due, stamp_.now));
      announce(play(Tick{}));
    }
    advance_to(goal);
  }

  // The effects that nobody has given an outcome yet, oldest first.
  std::vector<Start> asked_for() const {
    std::vector<Start> result;
    for (const auto& [id, started] : state_.outbox) result.push_back({id, started.effect});
    return result;
  }

  const State& state() const { return state_; }
  const std::vector<Line>& script() const { return script_; }
  std::string styled(std::string_view code, std::string_view text) const {
    return colours_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }

 private:
  Applied play(const Input& input) {
    script_.push_back({input, stamp_});
    Applied applied = apply(std::move(state_), input, stamp_);
    state_ = applied.state;
    return applied;
  }

  void advance_to(Time now) { stamp_ = {now, stamp_.wall + (now - stamp_.now)}; }

  std::string clock() const {
    const std::int64_t ms = (stamp_.now - Time{}).count();
    return styled("2", fmt::format("{:02}:{:02}.{:03}", ms / 60'000, ms / 1000 % 60, ms % 1000));
  }

  void announce(const Applied& applied) {
    for (const Event& event : applied.events) {
      const EventName name = name_of(event.body);
      std::string text = name.verb.empty() ? name.noun : name.noun + ":" + name.verb;
      if (!name.detail.empty()) text += "(" + name.detail + ")";
      fmt::print("{} {:<9} {} {}\n", clock(), "", styled("36", text), name.subject);
    }
    for (const Answer& waiter : applied.answers) {
      fmt::print("           {} {}\n", styled("32", "=> who waited:"), answer(waiter.reply));
    }
  }

  static std::string answer(const Reply& reply) {
    return match(
        reply.value,
        [](const Ok&) { return std::string("ok"); },
        [](const Refused& refused) { return "refused: " + refused.subject; },
        [](const Waiting&) { return std::string("waits in line"); },
        [](const grant::Reply& of) { return answer(of); },
        [](const lock::Reply& of) { return answer(of); },
        [](const semaphore::Reply&) { return std::string("done"); },
        [](const queue::Reply& of) { return answer(of); },
        [](const task::Reply&) { return std::string("done"); },
        [](const pipeline::Reply& of) { return answer(of); },
        [](const dispatch::Reply&) { return std::string("done"); },
        [](const worker::Reply&) { return std::string("done"); },
        [](const cron::Reply&) { return std::string("done"); },
        [](const board::Reply&) { return std::string("done"); },
        [](const decision::Reply&) { return std::string("heard; the work goes on"); },
        [](const mailbox::Reply&) { return std::string("done"); },
        [](const project::Reply&) { return std::string("done"); });
  }

  static std::string answer(const grant::Reply& reply) {
    return match(
        reply,
        [](const grant::Granted& granted) {
          std::string text = granted.holder.name + " has";
          for (const grant::Given& given : granted.given) {
            text += fmt::format(" {} under token {}", given.name, given.token.value);
            if (given.previous) text += ", reclaimed from " + given.previous->name;
          }
          return text;
        },
        [](const grant::Busy& busy) { return "busy: " + busy.holder.name + " has it"; },
        [](const grant::Full& full) { return fmt::format("full: {} left", full.available); },
        [](const grant::WouldDeadlock&) { return std::string("refused: would deadlock"); },
        [](const grant::NotGranted&) { return std::string("gave up"); });
  }

  static std::string answer(const lock::Reply& reply) {
    return match(
        reply,
        [](const lock::Released&) { return std::string("released"); },
        [](const lock::NotOwner& not_owner) { return "not yours: " + not_owner.holder.name; },
        [](const lock::AlreadyFree&) { return std::string("was free already"); },
        [](const lock::Alive&) { return std::string("alive, its lease counts from now"); },
        [](const lock::Lost&) { return std::string("lost"); },
        [](const lock::Valid&) { return std::string("valid"); },
        [](const lock::Superseded& by) {
          return fmt::format("superseded by token {}: the write is refused",
                             by.current ? by.current->value : 0);
        },
        [](const lock::Cleaned&) { return std::string("cleaned"); });
  }

  static std::string answer(const queue::Reply& reply) {
    return match(
        reply,
        [](const queue::Pushed& pushed) { return fmt::format("{} pushed", pushed.ids.size()); },
        [](const queue::Taken& taken) {
          if (taken.items.empty()) return std::string("nothing there");
          const queue::TakenItem& item = taken.items.front();
          return fmt::format(
              "{}, attempt {}, claim {}", item.data.view(), item.attempts, item.claim.value);
        },
        [](const queue::Settled& settled) {
          const bool stale = std::holds_alternative<queue::StaleClaim>(settled.items.front());
          return std::string(stale ? "stale claim: the item is another's now" : "completed");
        },
        [](const queue::StaleClaim&) { return std::string("stale claim"); },
        [](const queue::Extended&) { return std::string("extended"); },
        [](const queue::Counted& counted) {
          return fmt::format("{} {}", counted.items, counted.items == 1 ? "item" : "items");
        });
  }

  static std::string answer(const pipeline::Reply&) { return "started"; }

  State state_ = initial_state(Time{});
  Stamp stamp_{Time{}, Wall{std::chrono::hours{24 * 365 * 50}}};
  std::vector<Line> script_;
  int acts_ = 0;
  bool colours_;
};

}  // namespace reeve::demo
