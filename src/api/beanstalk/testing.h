#pragma once

#include "api/beanstalk/connection.h"
#include "api/beanstalk/ledger.h"
#include "api/desk.h"
#include "engine/testing.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A door for tests: connections on a desk, on an engine, on a journal in memory, and a clock that
// only the test moves.
namespace reeve::api::beanstalk::testing {

using namespace std::chrono_literals;

class NoHands final : public engine::Hands {
 public:
  void start(const Start&) override {}
  void observe(const Start&) override {}
  void watch(const Process&) override {}
  void forget(const Process&) override {}
};

class Doorkeeper final : public Steward {
 public:
  const About& about() const override { return about_; }
  void stop(bool) override {}
  void checkpoint(std::function<void(Result<Sequence>)>) override {}
  std::size_t connections() const override { return 0; }
  std::optional<Process> process(std::int64_t, bool) const override { return std::nullopt; }
  JournalUse journal_use() const override { return {}; }

 private:
  About about_{"0", 42, "", "", "here", "", "", reeve::testing::start};
};

class Door {
 public:
  explicit Door(engine::testing::MemoryDisk& on, Settings settings = {})
      : ledger(settings), disk(on) {
    start();
  }

  // The daemon starts; before that it was killed. No connection survives that.
  void start() {
    ends.clear();
    recovery_ = engine::testing::open_memory_journal(disk);
    Result<engine::Remembered> remembered =
        engine::remember(*recovery_, [](const Event&, Time, const State&) {});
    ASSERT_TRUE(remembered);
    auto journal = recovery_->begin();
    ASSERT_TRUE(journal);
    journal_ = *std::move(journal);
    stamp.now = std::max(stamp.now, remembered->state.now);
    desk = std::make_unique<Desk>(keeper);
    engine = std::make_unique<engine::Engine>(*std::move(remembered), engine::Ports{hands, *desk});
    desk->serve(*engine);
    engine->begin(stamp);
    settle();
  }

  Connection& connect() {
    ends.push_back(std::make_unique<Connection>(SessionId{++last_session}, *desk, ledger, machine));
    desk->add(*ends.back());
    return *ends.back();
  }

  void close(Connection& connection) {
    desk->remove(connection, stamp);
    std::erase_if(ends, [&](const auto& end) { return end.get() == &connection; });
    settle();
  }

  // What comes back at once.
  std::string say(Connection& connection, std::string_view bytes) {
    connection.receive(bytes, stamp);
    settle();
    return hear(connection);
  }

  static std::string hear(Connection& connection) {
    std::string heard(connection.output());
    connection.written(heard.size());
    return heard;
  }

  // As the daemon's loop does: decide, commit, deliver, and serve those that can go on.
  void settle() {
    do {
      desk->at(stamp);
      engine->room(journal_->room());
      engine->deliver();
      desk->catch_up(stamp);
      for (const auto& end : ends) {
        if (end->next_wake() && *end->next_wake() <= stamp.now) end->tick(stamp);
      }
    } while (commit());
    engine->deliver();
  }

  // Time passes; whoever wants to be woken is.
  void pass(Duration duration) {
    const Time until = stamp.now + duration;
    while (true) {
      while (engine->tick(stamp)) settle();
      settle();
      if (stamp.now == until) return;
      Time next = until;
      if (const auto due = engine->next_wake().engine) next = std::min(next, *due);
      for (const auto& end : ends) next = std::min(next, end->next_wake().value_or(until));
      next = std::max(next, stamp.now + 1ms);
      stamp = {next, stamp.wall + (next - stamp.now)};
    }
  }

  // Of something else than beanstalkd's protocol.
  Reply ask(Command command) {
    Asker asker(SessionId{++last_session});
    desk->add(asker);
    desk->submit(asker, Call{1}, Request{.command = std::move(command)}, stamp);
    settle();
    desk->remove(asker, stamp);
    return asker.reply;
  }

  Ledger ledger;
  Machine machine{"0123456789abcdef", "#1 SMP", "x86_64"};
  engine::testing::MemoryDisk& disk;
  Doorkeeper keeper;
  NoHands hands;
  Stamp stamp{reeve::testing::start, Wall{std::chrono::hours{24 * 365 * 50}}};
  std::uint64_t last_session = 0;
  std::unique_ptr<Desk> desk;

 private:
  struct Asker final : api::Connection {
    using api::Connection::Connection;
    void receive(std::string_view, Stamp) override {}
    void end_of_input(Stamp) override {}
    bool wants_input() const override { return true; }
    void waits(Call, WaiterId) override {}
    void replied(Call, Sequence, const Reply& said, Stamp) override { reply = said; }
    void queried(Call, const State&, Stamp) override {}
    void taken_over(Call) override {}
    void unavailable(Call, const Error&) override {}
    Reply reply;
  };

  bool commit() {
    std::optional<engine::Batch> batch = engine->take_batch();
    if (!batch) return false;
    const Result<Sequence> last = journal_->commit(batch->entries());
    if (last) {
      engine->committed(*last);
    } else {
      engine->commit_failed(last.error());
    }
    return true;
  }

  std::unique_ptr<journal::Recovery> recovery_;
  std::unique_ptr<journal::Journal> journal_;

 public:
  std::unique_ptr<engine::Engine> engine;
  std::vector<std::unique_ptr<Connection>> ends;
};

}  // namespace reeve::api::beanstalk::testing
