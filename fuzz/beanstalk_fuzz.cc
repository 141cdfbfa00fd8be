// Links: api
//
// Whatever a client of beanstalkd sends, in whatever pieces and at whatever time: nothing breaks,
// what was answered is whole lines, and the state keeps its invariants.
//
// An input is a list of events: a byte that says who (two connections) and what (bytes, time, the
// end of the connection), two for a length or an amount of time, the bytes.

#include "api/beanstalk/connection.h"
#include "core/apply.h"
#include "core/invariants.h"
#include "engine/engine.h"
#include "fuzz/input.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

using namespace reeve;
using namespace std::chrono_literals;
using fuzz::require;

namespace {

class NoHands final : public engine::Hands {
 public:
  void start(const Start&) override {}
  void observe(const Start&) override {}
  void watch(const Process&) override {}
  void forget(const Process&) override {}
};

class Doorkeeper final : public api::Steward {
 public:
  const api::About& about() const override { return about_; }
  void stop(bool) override {}
  void checkpoint(std::function<void(Result<api::Sequence>)>) override {}
  std::size_t connections() const override { return 2; }
  std::optional<Process> process(std::int64_t, bool) const override { return std::nullopt; }
  JournalUse journal_use() const override { return {}; }

 private:
  api::About about_;
};

class House {
 public:
  House() : engine_(start(), engine::Ports{hands_, desk_}) {
    desk_.serve(engine_);
    engine_.begin(stamp_);
    settle();
    for (auto& end : ends_) connect(end);
  }
  ~House() {
    for (auto& end : ends_) close(end);
  }

  void say(std::size_t who, std::string_view bytes) {
    if (ends_[who]->wants_input()) ends_[who]->receive(bytes, stamp_);
    settle();
  }
  void hear(std::size_t who) {
    const std::string_view output = ends_[who]->output();
    require(output.empty() || output.ends_with("\r\n"), "an answer is whole");
    ends_[who]->written(output.size());
    if (ends_[who]->is_over()) again(who);
  }
  void end(std::size_t who) {
    ends_[who]->end_of_input(stamp_);
    settle();
    again(who);
  }
  void again(std::size_t who) {
    close(ends_[who]);
    connect(ends_[who]);
  }
  void pass(Duration duration) {
    stamp_ = {stamp_.now + duration, stamp_.wall + duration};
    for (int i = 0; i < 100 && engine_.tick(stamp_); ++i) settle();
    settle();
  }
  void check() {
    const Violations violations = check_state(engine_.state());
    for (const std::string& violation : violations) std::fprintf(stderr, "%s\n", violation.c_str());
    require(violations.empty(), "the invariants");
  }

 private:
  using End = std::unique_ptr<api::beanstalk::Connection>;

  engine::Remembered start() {
    engine::Remembered remembered;
    remembered.state = initial_state(stamp_.now);
    return remembered;
  }
  void connect(End& end) {
    const SessionId session{++last_session_};
    end = std::make_unique<api::beanstalk::Connection>(session, desk_, ledger_, machine_);
    desk_.add(*end);
  }
  void close(End& end) {
    desk_.remove(*end, stamp_);
    end.reset();
    settle();
  }
  // A disk that takes everything at once.
  void settle() {
    for (bool more = true; more;) {
      desk_.at(stamp_);
      engine_.deliver();
      desk_.catch_up(stamp_);
      for (const End& end : ends_) {
        if (end && end->next_wake() && *end->next_wake() <= stamp_.now) end->tick(stamp_);
      }
      const std::optional<engine::Batch> batch = engine_.take_batch();
      more = batch.has_value();
      if (batch) engine_.committed(batch->last);
    }
    engine_.deliver();
  }

  Stamp stamp_{Time{} + 1h, Wall{} + std::chrono::hours{24 * 365 * 50}};
  NoHands hands_;
  Doorkeeper keeper_;
  api::Desk desk_{keeper_};
  engine::Engine engine_;
  api::beanstalk::Ledger ledger_{{default_project, 1000}};
  api::beanstalk::Machine machine_;
  std::uint64_t last_session_ = 0;
  std::array<End, 2> ends_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  House house;
  while (!input.empty()) {
    const auto what = input.take<std::uint8_t>();
    const auto amount = input.take<std::uint16_t>();
    const std::size_t who = what & 1U;
    if ((what & 0xf0U) == 0xf0U) {
      house.end(who);
    } else if ((what & 0xf0U) == 0xe0U) {
      house.pass(Duration{amount});
    } else {
      house.say(who, input.take(amount));
    }
    house.hear(0);
    house.hear(1);
  }
  house.check();
  return 0;
}
