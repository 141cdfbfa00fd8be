#pragma once

#include "adapters/history/buffer.h"
#include "adapters/history/file.h"
#include "adapters/history/settings.h"
#include "base/result.h"
#include "engine/ports.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

// Everything that happened, in a file that anybody can ask with SQL: `history.db` in the home.
//
//     loop:     project() ──▶ Buffer                     never waits
//                                │
//     writer:                    └──▶ File, in transactions ──▶ passed ──▶ Engine::projected()
//
// Two threads write, one at a time: a patient one of the lowest priority, so that nobody is slowed
// by what can wait; and another, of the usual one, that helps only if somebody waits for it
// (hurry()) or the first does not get on: on a machine that is busy with other things the lowest
// priority may mean never.
//
// A file that is not there yet is made when the daemon serves, or when the first asks for it.
//
// What cannot be written for the moment (no room on the disk) waits in the buffer and is tried
// again. When that is full, or the engine has left us behind, we miss something; when all of it is
// written we go on, and what was missed is a gap. A file that is damaged, foreign or newer is left
// alone: history is off until it is rebuilt.
namespace reeve::history {

class History final : public engine::Projector {
 public:
  enum class State : std::uint8_t { Off, On, Rebuilding };

  struct Status {
    State state = State::Off;
    bool is_made = false;  // there is a file that can be asked
    Sequence passed = 0;
    std::uint64_t events = 0;
    std::uint64_t waiting_bytes = 0;
    std::string problem = {};  // why it is off, or what it is trying again
  };

  struct Rebuilt {
    Sequence from = 0;  // the first sequence it could have
    Sequence to = 0;
    std::uint64_t events = 0;
  };
  using Sink = std::function<void(const Event& event, Time now, const reeve::State& state)>;
  // Shows every event that the journal still has, and returns the first sequence whose events it
  // could show. `anew` is called before it begins, and again if it has to begin from later on.
  using Replay =
      std::function<Result<Sequence>(const Sink& sink, const std::function<void()>& anew)>;

  // Never fails: what is wrong with the file is in status().
  History(std::string path, const Settings& settings);
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  ~History() override;

  // What it has made durable: for the engine's port, and where recovery may begin from. When it is
  // off it holds nobody back.
  Sequence passed() const;
  // The same, when it was opened.
  Sequence had() const { return is_off() ? passed() : had_; }

  // The journal ends before what the file has: it is another's, and left alone.
  void turn_off(std::string why);

  // From now on what comes is written.
  void begin();
  // Called on another thread when take_passed(), take_rebuilt() or take_problem() has something.
  // None: nobody listens any more.
  void wake_with(std::function<void()> wake);
  // While the journal is read again, and nobody is served yet: until there is room.
  void wait_for_room();
  // Writes what is there, for so long at most.
  void stop(Duration at_most);

  // ── engine::Projector, on the loop's thread ──
  void project(const Event& event, Time now, const reeve::State& state) override;
  void reached(Sequence sequence) override;

  // ── The loop ──

  // What is durable there since the last time.
  std::optional<Sequence> take_passed();
  // Something was missed (`was_left`: the engine went on without us), all before it is written, and
  // there is room: the first sequence of the gap. The loop then tells the engine and calls go_on().
  std::optional<Sequence> wants_to_go_on(bool was_left) const;
  void go_on(Sequence durable);

  // Somebody waits for what is there now.
  void hurry();
  // A sentence for the log, when what is wrong has changed; empty: nothing any more.
  std::optional<std::string> take_problem();

  // Makes the file anew from the journal; `durable`: what comes later is shown by project() as
  // ever. The answer comes by take_rebuilt(). False: it is at it already.
  bool rebuild(Sequence durable, Replay replay);
  std::optional<Result<Rebuilt>> take_rebuilt();

  Status status() const;
  bool is_off() const;
  bool is_wanted() const { return settings_.enabled; }
  bool is_in_trouble() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    Sequence durable = 0;
    Replay replay;
  };

  void run(bool patient);
  bool may_write(bool patient, Clock::time_point now) const;
  Clock::time_point next_look(bool patient) const;
  void write(bool patient);
  Result<bool> write_taken(bool yields);
  Result<void> commit(Sequence reached);
  void failed(const Error& error);
  void wake() const;
  void settled();
  void trim();
  void carry_out(const Job& job);
  Result<Rebuilt> make_anew(const Job& job);

  const std::string path_;
  const Settings settings_;
  Buffer buffer_;
  Sequence had_ = 0;
  std::atomic<State> state_ = State::Off;
  std::atomic<bool> has_work_ = false;  // something came since the last look
  std::atomic<bool> hurry_ = false;
  std::atomic<bool> stop_ = false;

  // Of whoever writes.
  std::mutex writing_;
  std::unique_ptr<File> file_;
  Buffer::Taken taken_;
  std::size_t committed_ = 0;  // bytes of the first chunk that are in the file
  std::size_t chunk_ = 0;      // where the next record is
  std::size_t offset_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable work_;  // for the threads
  std::condition_variable done_;
  bool is_made_ = false;
  Sequence passed_ = 0;
  bool told_ = true;
  std::uint64_t events_ = 0;
  std::string problem_;
  bool problem_told_ = true;
  Clock::time_point since_{};       // that something waits
  Clock::time_point not_before_{};  // what failed is not tried again earlier
  Clock::time_point trim_at_{};
  std::optional<Job> job_;
  std::optional<Result<Rebuilt>> rebuilt_;
  std::function<void()> wake_;

  std::thread patient_;
  std::thread helper_;
};

}  // namespace reeve::history
