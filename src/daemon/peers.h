#pragma once

#include "adapters/descriptor.h"
#include "api/connection.h"
#include "api/desk.h"
#include "base/time.h"
#include "daemon/listening.h"
#include "daemon/log.h"
#include "daemon/poller.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

// The sockets, each with the connection that speaks on it. A turn of the loop reads each ready one
// once and writes each that has something once; nobody can keep the others waiting.
//
// Bounded: by the number of connections, by what is undelivered to one (it is read no further, and
// closed after 30 s without progress), by what all have begun and not finished. Whoever finds no
// room is told so.
namespace reeve::daemon {

class Peers {
 public:
  Peers(Poller& poller, api::Desk& desk, Log& log, SessionId first);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  void listen(Descriptor listener, const Listen& how);
  // For good: a socket in a folder is gone from it.
  void stop_listening();
  bool is_listening() const { return !listeners_.empty(); }
  // What has been read is all there will be.
  void stop_reading();

  // Something is ready; what to do about it happens below.
  void is_ready(const Ready& ready);

  // New ones come in, ready ones are read and decided about, those whose time has come are woken.
  // How many were ready.
  std::size_t serve(Stamp now);

  // What there is to be written, as far as the sockets take it. True: somebody has more already.
  bool flush(Stamp now);
  bool has_output() const;
  // To how many something was written since the last time.
  std::size_t take_written() { return std::exchange(written_, 0); }

  // When serve() or flush() have something to do without anybody being ready.
  std::optional<Time> next_wake() const;

  std::size_t size() const { return peers_.size(); }

  // As many as may be, but the journal and the watched processes need descriptors, too.
  static std::size_t most_connections();

 private:
  struct Listener {
    Descriptor socket;
    MakeConnection make;
    std::string no_room;
    std::string path;  // of a socket in a folder; empty: it is in none

    bool is_for_own_user() const { return !path.empty(); }
  };
  struct Peer {
    Descriptor socket;
    std::unique_ptr<api::Connection> connection;
    std::uint32_t events = 0;     // what is polled for
    std::uint32_t ready = 0;      // what was found
    bool is_ended = false;        // sends nothing more
    std::optional<Time> blocked;  // since when it has taken nothing
    std::optional<Time> wake;     // its place among the wakes
    std::size_t buffered = 0;
  };

  void accept_from(Listener& listener, Stamp now);
  bool refuse_one(const Listener& listener);
  void add(Descriptor socket, const Listener& listener);
  void read_from(std::uint64_t seat, Peer& peer, Stamp now);
  void write_to(std::uint64_t seat, Stamp now);
  void settle(std::uint64_t seat, Peer& peer, Stamp now);
  void set_wake(std::uint64_t seat, Peer& peer);
  void poll_for(std::uint64_t seat, Peer& peer, std::uint32_t events);
  void close(std::uint64_t seat, Stamp now);
  void pause_listening(Stamp now);
  void resume_listening();
  void close_stalled(Stamp now);
  void wake_due(Stamp now);

  Poller& poller_;
  api::Desk& desk_;
  Log& log_;
  std::vector<Listener> listeners_;
  std::vector<std::size_t> ready_listeners_;
  std::unordered_map<std::uint64_t, Peer> peers_;  // by seat: never used twice
  std::vector<std::uint64_t> ready_;
  std::uint64_t first_;
  std::size_t most_;
  std::uint64_t last_seat_ = 0;
  std::set<std::pair<Time, std::uint64_t>> wakes_;
  std::set<std::uint64_t> blocked_;
  std::optional<Time> paused_until_;  // there are no descriptors left
  Time next_sweep_;
  std::size_t buffered_ = 0;
  std::size_t written_ = 0;
  bool reads_ = true;
  Descriptor reserve_;  // given up for a moment to tell somebody that there is no room
  std::vector<char> buffer_;
};

}  // namespace reeve::daemon
