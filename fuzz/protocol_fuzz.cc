// Links: api
//
// Whatever bytes come over a connection: it answers in whole lines of JSON, each request at most
// once, keeps what it buffers within its bounds, and leaves a state whose invariants hold.
//
// The bytes are cut into pieces: the first byte of each says what happens (mostly: the next piece
// is received by one of two connections), the second how long the piece is.

#include "api/limits.h"
#include "api/rpc.h"
#include "codec/json_text.h"
#include "core/invariants.h"
#include "engine/engine.h"
#include "engine/recovery.h"
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
using fuzz::require;

namespace {

class House final : public api::Steward, public engine::Hands {
 public:
  House() : desk_(*this), engine_(engine::nothing_remembered(), engine::Ports{*this, desk_}) {
    about_.boot_id = "boot";
    desk_.serve(engine_);
    desk_.at(stamp_);
    engine_.begin(stamp_);
    settle();
    for (std::size_t i = 0; i < connections_.size(); ++i) open(i);
  }

  void receive(std::size_t which, std::string_view bytes) {
    api::Rpc& rpc = *connections_[which];
    if (rpc.is_over()) return;
    rpc.receive(bytes, stamp_);
    require(rpc.buffered() <= api::limits::line_bytes, "a line is bounded");
  }

  void close(std::size_t which) {
    desk_.remove(*connections_[which], stamp_);
    open(which);
  }

  void end(std::size_t which) { connections_[which]->end_of_input(stamp_); }

  void pass(Duration duration) {
    stamp_ = {stamp_.now + duration, stamp_.wall + duration};
    desk_.at(stamp_);
    while (engine_.tick(stamp_)) settle();
  }

  void settle() {
    do {
      engine_.deliver();
    } while (desk_.catch_up(stamp_) || commit());
    engine_.deliver();
  }

  // What a client would read.
  void read(std::size_t which) {
    api::Rpc& rpc = *connections_[which];
    std::string text;
    while (!rpc.output().empty()) {
      text += rpc.output();
      rpc.written(rpc.output().size());
      rpc.drained(stamp_);
    }
    require(text.empty() || text.back() == '\n', "answers are whole lines");
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string line = text.substr(0, end);
      codec::JsonCursor cursor(line);
      require(cursor.skip_value(80) && cursor.is_at_end(), "an answer is JSON");
      text.erase(0, end + 1);
    }
  }

  void check() {
    settle();
    for (std::size_t i = 0; i < connections_.size(); ++i) read(i);
    require(check_state(engine_.state()).empty(), "the invariants");
  }

  const api::About& about() const override { return about_; }
  void stop(bool) override {}
  void checkpoint(std::function<void(Result<api::Sequence>)> done) override { done(0); }
  std::size_t connections() const override { return 2; }
  std::optional<Process> process(std::int64_t pid, bool group) const override {
    return Process{pid, 1, about_.boot_id, group};
  }
  JournalUse journal_use() const override { return {}; }
  void start(const Start&) override {}
  void observe(const Start&) override {}
  void watch(const Process&) override {}
  void forget(const Process&) override {}

 private:
  void open(std::size_t which) {
    connections_[which] = std::make_unique<api::Rpc>(SessionId{next_session_++}, desk_);
    desk_.add(*connections_[which]);
  }

  bool commit() {
    std::optional<engine::Batch> batch = engine_.take_batch();
    if (batch) engine_.committed(batch->last);
    return batch.has_value();
  }

  api::About about_;
  Stamp stamp_{Time{std::chrono::hours{1}}, Wall{std::chrono::hours{24 * 365 * 50}}};
  std::uint64_t next_session_ = 1;
  api::Desk desk_;
  engine::Engine engine_;
  std::array<std::unique_ptr<api::Rpc>, 2> connections_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  House house;
  while (!input.empty()) {
    const auto what = input.take<std::uint8_t>();
    const std::size_t which = what & 1U;
    const std::string_view piece = input.take(std::size_t{input.take<std::uint8_t>()} * 2);
    house.receive(which, piece);
    switch (what >> 4U) {
      case 0:
        house.receive(which, "\n");
        break;
      case 1:
        house.receive(which, "\n");
        house.settle();
        break;
      case 2:
        house.settle();
        house.read(which);
        break;
      case 3:
        house.pass(std::chrono::milliseconds{what} * 50);
        break;
      case 4:
        house.end(which);
        break;
      case 5:
        house.close(which);
        break;
      default:
        break;
    }
  }
  house.check();
  return 0;
}
