#pragma once

#include "api/connection.h"
#include "api/desk.h"
#include "api/rpc.h"
#include "engine/engine.h"
#include "engine/testing.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A counter for tests: a desk on a real engine on a journal in memory, and clients who speak lines
// of text with it. Time moves only when a test says so.
namespace reeve::api::testing {

using namespace std::chrono_literals;

class Counter final : public Steward, public engine::Hands {
 public:
  // What the disk has is remembered; the disk outlives this.
  explicit Counter(engine::testing::MemoryDisk& disk, SessionId first = SessionId{1000});
  ~Counter() override;

  // A new connection; the number stands for it below.
  std::size_t connect();
  Rpc& connection(std::size_t client) { return *clients_.at(client); }

  // The connection is closed, whatever it had not read.
  void disconnect(std::size_t client);

  // Sends a line; it is not yet durable.
  void send(std::size_t client, std::string_view line);
  // All that has been answered so far, a line each, and taken out of the output.
  std::vector<std::string> read(std::size_t client);
  // Sends a request, makes it durable, and gives what was answered: all of it in one text.
  std::string ask(std::size_t client, std::string_view method, std::string_view params = "{}");

  // Everything is committed and delivered.
  void settle();
  bool commit();
  void pass(Duration duration);

  engine::Engine& engine() { return *engine_; }
  Desk& desk() { return desk_; }
  Stamp stamp{reeve::testing::start, Wall{std::chrono::hours{24 * 365 * 50}}};

  // ── Steward ──
  const About& about() const override { return about_; }
  void stop(bool kill) override { stopped = kill ? 2 : 1; }
  void checkpoint(std::function<void(Result<Sequence>)> done) override;
  std::size_t connections() const override { return clients_.size(); }
  std::optional<Process> process(std::int64_t pid, bool group) const override;
  JournalUse journal_use() const override { return {4096, 1, 0}; }
  int stopped = 0;

  // ── Hands ──
  void start(const Start&) override {}
  void observe(const Start& effect) override { to_observe_.push_back(effect.id); }
  void watch(const Process&) override {}
  void forget(const Process&) override {}

 private:
  About about_;
  Desk desk_;
  std::unique_ptr<journal::Recovery> recovery_;
  std::unique_ptr<journal::Journal> journal_;
  std::unique_ptr<engine::Engine> engine_;
  std::map<std::size_t, std::unique_ptr<Rpc>> clients_;
  std::size_t last_client_ = 0;
  std::uint64_t next_session_;
  std::vector<EffectId> to_observe_;
};

// Whether all of these stand in the text; says what does not.
::testing::AssertionResult has(const std::string& text, const std::vector<std::string>& parts);

}  // namespace reeve::api::testing
