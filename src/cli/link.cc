#include "cli/link.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace reeve::cli {

namespace {

std::string_view why(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENAMETOOLONG:
      return "the path is too long";
    case EAGAIN:
      return "too many are waiting to connect";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    default:
      return "it failed";
  }
}

Failure unavailable(std::string message) { return Failure{"UNAVAILABLE", std::move(message)}; }

}  // namespace

Link::Link(Link&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      received_(std::move(other.received_)),
      taken_(std::exchange(other.taken_, 0)) {}

Link& Link::operator=(Link&& other) noexcept {
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  received_ = std::move(other.received_);
  taken_ = std::exchange(other.taken_, 0);
  return *this;
}

void Link::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  received_.clear();
  taken_ = 0;
}

std::expected<Link, Failure> Link::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string reachable = path;
  int folder = -1;
  if (path.size() >= sizeof address.sun_path) {
    const std::size_t slash = path.rfind('/');
    folder = ::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 && errno != ENOENT) {
      return std::unexpected(unavailable(fmt::format("cannot reach {}: {}", path, why(errno))));
    }
    reachable = fmt::format("/proc/self/fd/{}{}", folder, path.substr(slash));
    if (folder < 0 || reachable.size() >= sizeof address.sun_path) {
      if (folder >= 0) ::close(folder);
      return std::unexpected(Failure{"NO_DAEMON", fmt::format("nothing listens on {}", path)});
    }
  }
  std::memcpy(address.sun_path, reachable.data(), reachable.size());
  Link link(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int failed = link.is_open() ? 0 : errno;
  if (failed == 0) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): so the call is defined
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    while (::connect(link.descriptor_, generic, sizeof address) != 0) {
      if (errno == EINTR) continue;
      failed = errno;
      break;
    }
  }
  if (folder >= 0) ::close(folder);
  if (failed == ENOENT || failed == ECONNREFUSED || failed == ENOTDIR) {
    return std::unexpected(Failure{"NO_DAEMON", fmt::format("nothing listens on {}", path)});
  }
  if (failed != 0) {
    return std::unexpected(unavailable(fmt::format("cannot connect to {}: {}", path, why(failed))));
  }
  ucred server{};
  socklen_t size = sizeof server;
  if (::getsockopt(link.descriptor_, SOL_SOCKET, SO_PEERCRED, &server, &size) != 0 ||
      server.uid != ::geteuid()) {
    return std::unexpected(unavailable(
        fmt::format("{} belongs to user {}, not to you; nothing was sent", path, server.uid)));
  }
  return link;
}

int Link::peer() const {
  ucred server{};
  socklen_t size = sizeof server;
  const bool known = ::getsockopt(descriptor_, SOL_SOCKET, SO_PEERCRED, &server, &size) == 0;
  return known ? server.pid : 0;
}

bool Link::send(std::string_view line) {
  while (!line.empty()) {
    const ssize_t sent = ::send(descriptor_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      line.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    pollfd ready{.fd = descriptor_, .events = POLLIN | POLLOUT, .revents = 0};
    ::poll(&ready, 1, -1);
    if ((ready.revents & POLLIN) != 0 && !receive()) return false;
  }
  return true;
}

bool Link::receive() {
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
  for (;;) {
    const ssize_t got = ::recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    received_.append(buffer.data(), static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < buffer.size()) return true;
  }
}

std::optional<std::string> Link::next_line() {
  const std::size_t end = received_.find('\n', taken_);
  if (end == std::string::npos) {
    received_.erase(0, std::exchange(taken_, 0));
    return std::nullopt;
  }
  std::string line = received_.substr(taken_, end - taken_);
  taken_ = end + 1;
  return line;
}

}  // namespace reeve::cli
