#include "api/testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reeve::api::testing {

Counter::Counter(engine::testing::MemoryDisk& disk, SessionId first)
    : desk_(*this), next_session_(first.value) {
  about_ = {.version = "9.9",
            .pid = 4242,
            .socket = "/home/ana/reeve.sock",
            .home = "/home/ana",
            .host = "shed",
            .user = "ana",
            .boot_id = "boot",
            .started = stamp.now};
  recovery_ = engine::testing::open_memory_journal(disk);
  Result<engine::Remembered> remembered = engine::remember(*recovery_);
  CHECK(remembered);
  stamp.now = std::max(stamp.now, remembered->state.now);
  journal_ = *recovery_->begin();
  engine_ = std::make_unique<engine::Engine>(*std::move(remembered), engine::Ports{*this, desk_});
  desk_.serve(*engine_);
  desk_.at(stamp);
  engine_->begin(stamp);
  settle();
}

Counter::~Counter() = default;

std::size_t Counter::connect() {
  auto rpc = std::make_unique<Rpc>(SessionId{next_session_++}, desk_);
  desk_.add(*rpc);
  clients_.emplace(++last_client_, std::move(rpc));
  return last_client_;
}

void Counter::disconnect(std::size_t client) {
  desk_.remove(*clients_.at(client), stamp);
  clients_.erase(client);
}

void Counter::send(std::size_t client, std::string_view line) {
  clients_.at(client)->receive(std::string(line) + "\n", stamp);
}

std::vector<std::string> Counter::read(std::size_t client) {
  Rpc& rpc = *clients_.at(client);
  std::vector<std::string> lines;
  while (!rpc.output().empty()) {
    std::string text(rpc.output());
    rpc.written(text.size());
    rpc.drained(stamp);
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      lines.push_back(text.substr(0, end));
      text.erase(0, end + 1);
    }
    EXPECT_TRUE(text.empty()) << "half a line: " << text;
  }
  return lines;
}

std::string Counter::ask(std::size_t client, std::string_view method, std::string_view params) {
  send(client, fmt::format(R"({{"id":1,"method":"{}","params":{}}})", method, params));
  settle();
  std::string all;
  for (const std::string& line : read(client)) all += line;
  return all;
}

bool Counter::commit() {
  std::optional<engine::Batch> batch = engine_->take_batch();
  if (!batch) return false;
  const Result<Sequence> last = journal_->commit(batch->entries());
  if (last) {
    engine_->committed(*last);
  } else {
    engine_->commit_failed(last.error());
  }
  return true;
}

void Counter::settle() {
  desk_.at(stamp);
  do {
    engine_->deliver();
    for (const EffectId id : std::exchange(to_observe_, {})) {
      engine_->observed(id, engine::NeverStarted{}, stamp);
    }
  } while (desk_.catch_up(stamp) || commit());
  engine_->deliver();
}

void Counter::pass(Duration duration) {
  const Time end = stamp.now + duration;
  while (true) {
    while (engine_->tick(stamp)) settle();
    settle();
    if (stamp.now >= end) return;
    const auto sleep = engine::Clock::until(engine_->next_wake(), stamp);
    const Duration step =
        std::max(std::min(sleep.value_or(duration), Duration(end - stamp.now)), Duration{1});
    stamp = {stamp.now + step, stamp.wall + step};
    desk_.at(stamp);
  }
}

void Counter::checkpoint(std::function<void(Result<Sequence>)> done) { done(engine_->durable()); }

std::optional<Process> Counter::process(std::int64_t pid, bool group) const {
  if (pid != 77) return std::nullopt;
  return Process{pid, 5, about_.boot_id, group};
}

::testing::AssertionResult has(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos) {
      return ::testing::AssertionFailure() << "no " << part << " in " << text;
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace reeve::api::testing
