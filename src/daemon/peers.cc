#include "daemon/peers.h"

#include "api/limits.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace reeve::daemon {
namespace {

using namespace std::chrono_literals;

constexpr Duration accept_again = 100ms;
constexpr Duration sweep_every = 1s;

Descriptor open_reserve() { return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool has_no_descriptors(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

}  // namespace

Peers::Peers(Poller& poller, api::Desk& desk, Log& log, SessionId first)
    : poller_(poller),
      desk_(desk),
      log_(log),
      first_(first.value),
      most_(most_connections()),
      reserve_(open_reserve()),
      buffer_(api::limits::read_bytes) {}

Peers::~Peers() = default;

std::size_t Peers::most_connections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return api::limits::connections;
  const std::size_t descriptors = limit.rlim_cur;
  constexpr std::size_t others = api::limits::other_descriptors;
  return std::min(descriptors > others ? descriptors - others : 1, api::limits::connections);
}

// ── Coming in ──

void Peers::listen(Descriptor listener, const Listen& how) {
  const auto* const in_folder = std::get_if<UnixAddress>(&how.address);
  poller_.add(listener.get(), {Mark::Kind::Listener, listeners_.size()}, EPOLLIN);
  listeners_.push_back(
      {std::move(listener), how.make, how.no_room, in_folder ? in_folder->path : ""});
}

void Peers::stop_listening() {
  for (const Listener& listener : listeners_) {
    poller_.remove(listener.socket.get());
    if (!listener.path.empty()) unlink(listener.path.c_str());
  }
  listeners_.clear();
  ready_listeners_.clear();
  paused_until_.reset();
}

void Peers::stop_reading() {
  reads_ = false;
  for (auto& [seat, peer] : peers_) poll_for(seat, peer, peer.blocked ? EPOLLOUT : 0U);
}

void Peers::is_ready(const Ready& ready) {
  if (ready.mark.kind == Mark::Kind::Listener) {
    ready_listeners_.push_back(ready.mark.number);
    return;
  }
  const auto found = peers_.find(ready.mark.number);
  if (found == peers_.end()) return;
  found->second.ready = ready.events;
  ready_.push_back(ready.mark.number);
}

std::size_t Peers::serve(Stamp now) {
  if (paused_until_ && now.now >= *paused_until_) resume_listening();
  for (const std::size_t which : std::exchange(ready_listeners_, {})) {
    if (which < listeners_.size() && !paused_until_) accept_from(listeners_[which], now);
  }
  const std::vector<std::uint64_t> all = std::exchange(ready_, {});
  for (const std::uint64_t seat : all) {
    const auto found = peers_.find(seat);
    if (found == peers_.end()) continue;
    Peer& peer = found->second;
    const std::uint32_t ready = std::exchange(peer.ready, 0);
    if (!reads_ && (ready & (EPOLLHUP | EPOLLERR)) != 0) {
      close(seat, now);
    } else if ((ready & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
      peer.ready = ready;
      read_from(seat, peer, now);
    }
    if ((ready & EPOLLOUT) != 0) write_to(seat, now);
  }
  wake_due(now);
  return all.size();
}

void Peers::accept_from(Listener& listener, Stamp now) {
  for (int i = 0; i < api::limits::accepted_a_turn; ++i) {
    Descriptor socket(
        accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (!has_no_descriptors(errno)) return;  // nobody is there, or they left already
      if (!refuse_one(listener)) return pause_listening(now);
      continue;
    }
    if (listener.is_for_own_user() && !is_own_user(socket.get())) {
      log_.say("somebody else's process tried to connect and was turned away");
      continue;
    }
    if (peers_.size() >= most_) {
      send(socket.get(), listener.no_room.data(), listener.no_room.size(), MSG_NOSIGNAL);
      continue;
    }
    add(std::move(socket), listener);
  }
}

// All descriptors are used up: one is kept back to say so.
bool Peers::refuse_one(const Listener& listener) {
  if (!reserve_) return false;
  reserve_.reset();
  {
    const Descriptor socket(
        accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) send(socket.get(), listener.no_room.data(), listener.no_room.size(), MSG_NOSIGNAL);
  }
  reserve_ = open_reserve();
  return static_cast<bool>(reserve_);
}

void Peers::pause_listening(Stamp now) {
  log_.say("no file descriptors are left; nobody is let in for a moment");
  paused_until_ = now.now + accept_again;
  for (const Listener& listener : listeners_) poller_.remove(listener.socket.get());
}

void Peers::resume_listening() {
  paused_until_.reset();
  if (!reserve_) reserve_ = open_reserve();
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    poller_.add(listeners_[i].socket.get(), {Mark::Kind::Listener, i}, EPOLLIN);
  }
}

void Peers::add(Descriptor socket, const Listener& listener) {
  if (!listener.is_for_own_user()) {
    const int yes = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  }
  const std::uint64_t seat = ++last_seat_;
  Peer peer;
  peer.connection = listener.make(SessionId{first_ + seat}, desk_);
  peer.connection->seat = seat;
  peer.socket = std::move(socket);
  peer.events = EPOLLIN | EPOLLRDHUP;
  poller_.add(peer.socket.get(), {Mark::Kind::Peer, seat}, peer.events);
  desk_.add(*peer.connection);
  peers_.emplace(seat, std::move(peer));
}

// ── Reading ──

void Peers::read_from(std::uint64_t seat, Peer& peer, Stamp now) {
  api::Connection& connection = *peer.connection;
  const std::uint32_t ready = std::exchange(peer.ready, 0);
  if (peer.is_ended || !reads_ || !connection.wants_input()) {
    // It reads no more either: nobody is there.
    if ((ready & (EPOLLHUP | EPOLLERR)) != 0) return close(seat, now);
    return settle(seat, peer, now);
  }
  const ssize_t size = recv(peer.socket.get(), buffer_.data(), buffer_.size(), 0);
  if (size > 0) {
    connection.receive({buffer_.data(), static_cast<std::size_t>(size)}, now);
  } else if (size == 0) {
    if ((ready & (EPOLLHUP | EPOLLERR)) != 0) return close(seat, now);
    peer.is_ended = true;
    connection.end_of_input(now);
  } else if (errno != EAGAIN && errno != EINTR) {
    return close(seat, now);
  }
  buffered_ += connection.buffered() - peer.buffered;
  peer.buffered = connection.buffered();
  if (peer.buffered > 0 && buffered_ > api::limits::buffered_bytes) {
    log_.say("closed a connection: too much was begun and not finished");
    return close(seat, now);
  }
  settle(seat, peer, now);
}

// What follows from the state of a connection after anything happened to it.
void Peers::settle(std::uint64_t seat, Peer& peer, Stamp now) {
  api::Connection& connection = *peer.connection;
  if (connection.is_over() && connection.output().empty()) return close(seat, now);
  std::uint32_t events = 0;
  const bool reads = reads_ && !peer.is_ended && connection.wants_input();
  if (reads) events |= EPOLLIN | EPOLLRDHUP;
  if (peer.blocked) events |= EPOLLOUT;
  poll_for(seat, peer, events);
  set_wake(seat, peer);
}

void Peers::poll_for(std::uint64_t seat, Peer& peer, std::uint32_t events) {
  if (peer.events == events) return;
  peer.events = events;
  poller_.change(peer.socket.get(), {Mark::Kind::Peer, seat}, events);
}

void Peers::set_wake(std::uint64_t seat, Peer& peer) {
  const std::optional<Time> wake = peer.connection->next_wake();
  if (wake == peer.wake) return;
  if (peer.wake) wakes_.erase({*peer.wake, seat});
  if (wake) wakes_.insert({*wake, seat});
  peer.wake = wake;
}

void Peers::wake_due(Stamp now) {
  while (!wakes_.empty() && wakes_.begin()->first <= now.now) {
    const std::uint64_t seat = wakes_.begin()->second;
    Peer& peer = peers_.find(seat)->second;
    wakes_.erase(wakes_.begin());
    peer.wake.reset();
    peer.connection->tick(now);
    settle(seat, peer, now);
  }
}

// ── Writing ──

bool Peers::flush(Stamp now) {
  for (const api::Connection* connection : desk_.take_with_output()) {
    write_to(connection->seat, now);
  }
  if (!blocked_.empty() && now.now >= next_sweep_) close_stalled(now);
  return desk_.has_output();
}

void Peers::write_to(std::uint64_t seat, Stamp now) {
  const auto found = peers_.find(seat);
  if (found == peers_.end()) return;
  Peer& peer = found->second;
  api::Connection& connection = *peer.connection;
  const std::string_view output = connection.output();
  if (!output.empty()) {
    const ssize_t size =
        send(peer.socket.get(), output.data(), output.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno != EAGAIN && errno != EINTR) return close(seat, now);
    const std::size_t taken = size > 0 ? static_cast<std::size_t>(size) : 0;
    ++written_;
    connection.written(taken);
    if (connection.output().empty()) {
      peer.blocked.reset();
      blocked_.erase(seat);
      connection.drained(now);
    } else if (taken > 0 || !peer.blocked) {
      if (blocked_.empty()) next_sweep_ = now.now + sweep_every;
      peer.blocked = now.now;
      blocked_.insert(seat);
    }
  }
  settle(seat, peer, now);
}

void Peers::close_stalled(Stamp now) {
  next_sweep_ = now.now + sweep_every;
  const bool crowded = desk_.output_bytes() >= api::limits::undelivered_together;
  const Duration patience = crowded ? api::limits::stalled_in_a_crowd : api::limits::stalled_reader;
  std::vector<std::uint64_t> stalled;
  for (const std::uint64_t seat : blocked_) {
    const Peer& peer = peers_.find(seat)->second;
    if (peer.blocked && now.now - *peer.blocked >= patience) stalled.push_back(seat);
  }
  for (const std::uint64_t seat : stalled) {
    log_.say("closed a connection that has read nothing for {}{}",
             format_duration(patience),
             crowded ? ", for all together are behind with too much" : "");
    close(seat, now);
  }
}

bool Peers::has_output() const {
  for (const auto& [seat, peer] : peers_) {
    if (!peer.connection->output().empty()) return true;
  }
  return false;
}

// ── Leaving ──

void Peers::close(std::uint64_t seat, Stamp now) {
  const auto found = peers_.find(seat);
  if (found == peers_.end()) return;
  Peer peer = std::move(found->second);
  peers_.erase(found);
  if (peer.wake) wakes_.erase({*peer.wake, seat});
  blocked_.erase(seat);
  buffered_ -= peer.buffered;
  poller_.remove(peer.socket.get());
  desk_.remove(*peer.connection, now);
  if (paused_until_) paused_until_ = now.now;  // a descriptor is free
}

std::optional<Time> Peers::next_wake() const {
  std::optional<Time> next;
  const auto consider = [&](Time time) { next = next ? std::min(*next, time) : time; };
  if (!wakes_.empty()) consider(wakes_.begin()->first);
  if (!blocked_.empty()) consider(next_sweep_);
  if (paused_until_) consider(*paused_until_);
  return next;
}

}  // namespace reeve::daemon
