#include "daemon/poller.h"

#include "base/check.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace reeve::daemon {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

constexpr auto longest_look = 50us;
constexpr unsigned short_gaps_before = 4;

std::uint64_t pack(Mark mark) { return static_cast<std::uint64_t>(mark.kind) << 56U | mark.number; }
Mark unpack(std::uint64_t packed) {
  return {static_cast<Mark::Kind>(packed >> 56U), packed & ((std::uint64_t{1} << 56U) - 1)};
}

std::chrono::milliseconds read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::duration_cast<std::chrono::milliseconds>(
                                                std::chrono::nanoseconds(now.tv_nsec));
}

void swallow(int descriptor) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t ignored = read(descriptor, &count, sizeof count);
}

}  // namespace

engine::Reading read_clocks() {
  engine::Reading reading;
  reading.boot = read_clock(CLOCK_BOOTTIME);
  reading.monotonic = read_clock(CLOCK_MONOTONIC);
  reading.wall = Wall(read_clock(CLOCK_REALTIME));
  return reading;
}

Poller::Poller()
    : all_(epoll_create1(EPOLL_CLOEXEC)),
      inner_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
      clock_set_(timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  CHECK(all_ && inner_ && wake_ && timer_ && clock_set_);
  // Each wake is an edge: nobody has to read the counter.
  add(wake_.get(), {Mark::Kind::Wake}, EPOLLIN | EPOLLET, true);
  add(timer_.get(), {Mark::Kind::Timer}, EPOLLIN, true);
  // Never due; it only tells when somebody sets the clock.
  itimerspec never{};
  never.it_value.tv_sec = std::int64_t{1} << 40U;
  timerfd_settime(clock_set_.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, nullptr);
  add(clock_set_.get(), {Mark::Kind::ClockSet}, EPOLLIN, true);
}

void Poller::add(int descriptor, Mark mark, std::uint32_t events, bool inner) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = pack(mark);
  CHECK(epoll_ctl(all_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0);
  if (inner) CHECK(epoll_ctl(inner_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0);
}

void Poller::change(int descriptor, Mark mark, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = pack(mark);
  CHECK(epoll_ctl(all_.get(), EPOLL_CTL_MOD, descriptor, &event) == 0);
}

void Poller::remove(int descriptor) { epoll_ctl(all_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

void Poller::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = write(wake_.get(), &one, sizeof one);
}

// A timer that is set for an earlier moment stays: waking once too often is cheaper than setting it
// whenever a lease moves.
void Poller::wake_at(std::optional<std::chrono::milliseconds> boot) {
  if (!boot || (armed_ && *armed_ <= *boot)) return;
  armed_ = boot;
  itimerspec when{};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*boot);
  when.it_value.tv_sec = seconds.count();
  when.it_value.tv_nsec = std::chrono::nanoseconds(*boot - seconds).count();
  if (when.it_value.tv_sec == 0 && when.it_value.tv_nsec == 0) when.it_value.tv_nsec = 1;
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

int Poller::look(int poll, int timeout) {
  const int count = epoll_wait(poll, events_.data(), static_cast<int>(events_.size()), timeout);
  CHECK(count >= 0 || errno == EINTR);
  return count < 0 ? 0 : count;
}

std::span<const Ready> Poller::wait_on(int poll, bool idle) {
  int count = 0;
  if (!idle) {
    count = look(poll, 0);
  } else {
    const Steady::time_point begin = Steady::now();
    const bool looks = short_gaps_ >= short_gaps_before;
    while (looks && count == 0 && Steady::now() - begin < longest_look) count = look(poll, 0);
    if (count == 0) count = look(poll, -1);
    const bool was_short = Steady::now() - begin < longest_look;
    short_gaps_ = was_short ? std::min(short_gaps_ + 1, short_gaps_before) : 0;
  }
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ready_[at] = {unpack(events_[at].data.u64), events_[at].events};
    if (ready_[at].mark.kind == Mark::Kind::Timer) {
      swallow(timer_.get());
      armed_.reset();
    } else if (ready_[at].mark.kind == Mark::Kind::ClockSet) {
      swallow(clock_set_.get());
    }
  }
  return {ready_.data(), static_cast<std::size_t>(count)};
}

std::span<const Ready> Poller::wait(bool idle) { return wait_on(all_.get(), idle); }
std::span<const Ready> Poller::wait_inside(bool idle) { return wait_on(inner_.get(), idle); }

}  // namespace reeve::daemon
