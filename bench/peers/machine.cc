#include "bench/peers/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace peers {
namespace {

using Clock = std::chrono::steady_clock;

void must(bool ok, std::string_view what) {
  if (ok) return;
  fmt::print(stderr, "peers_load: {}: {}\n", what, std::strerror(errno));
  std::exit(1);
}

template <class Body>
double median_us(int times, const Body& body) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const Clock::time_point before = Clock::now();
    body(i);
    all.push_back(std::chrono::duration<double, std::micro>(Clock::now() - before).count());
  }
  std::nth_element(all.begin(), all.begin() + times / 2, all.end());
  return all[static_cast<std::size_t>(times) / 2];
}

double direct(const std::string& path) {
  constexpr std::size_t block = 4096;
  const std::unique_ptr<void, decltype(&std::free)> bytes(std::aligned_alloc(block, block),
                                                          &std::free);
  std::memset(bytes.get(), 0, block);
  int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  must(fd >= 0, path);
  for (int i = 0; i < 1024; ++i) must(::write(fd, bytes.get(), block) == block, path);
  ::fsync(fd);
  ::close(fd);
  fd = ::open(path.c_str(), O_WRONLY | O_DSYNC | O_DIRECT | O_CLOEXEC);
  if (fd < 0) fd = ::open(path.c_str(), O_WRONLY | O_DSYNC | O_CLOEXEC);
  must(fd >= 0, path);
  const double us = median_us(1000, [&](int i) {
    must(::pwrite(fd, bytes.get(), block, static_cast<off_t>(i) * static_cast<off_t>(block)) ==
             block,
         path);
  });
  ::close(fd);
  ::unlink(path.c_str());
  return us;
}

double append(const std::string& path) {
  const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  must(fd >= 0, path);
  const std::string bytes(300, 'x');
  const double us = median_us(1000, [&](int) {
    must(::write(fd, bytes.data(), bytes.size()) > 0, path);
    must(::fdatasync(fd) == 0, path);
  });
  ::close(fd);
  ::unlink(path.c_str());
  return us;
}

double round_trip() {
  int ends[2];
  must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  std::thread echo([fd = ends[1]] {
    char byte = 0;
    while (::read(fd, &byte, 1) == 1) must(::write(fd, &byte, 1) == 1, "echo");
  });
  const double us = median_us(5000, [&](int) {
    char byte = 'x';
    must(::write(ends[0], &byte, 1) == 1 && ::read(ends[0], &byte, 1) == 1, "round trip");
  });
  ::close(ends[0]);
  echo.join();
  ::close(ends[1]);
  return us;
}

}  // namespace

MachineLimits measure_machine(const std::string& directory) {
  return {direct(directory + "/direct"), append(directory + "/append"), round_trip()};
}

}  // namespace peers
