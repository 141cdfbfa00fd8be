#include "daemon/listening.h"

#include "api/limits.h"
#include "base/match.h"
#include "daemon/home.h"

#include <fmt/format.h>
#include <netdb.h>

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace reeve::daemon {
namespace {

const sockaddr* as_address(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

std::unexpected<Error> cannot(const std::string& where) {
  const int error = errno;
  return fail(
      Error::Code::Io,
      fmt::format("cannot listen on {}: {}", where, std::generic_category().message(error)));
}

// A path is at most 107 bytes for the kernel; through the descriptor of its folder it is short.
sockaddr_un address_in(const Descriptor& folder, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", folder.get(), name);
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return address;
}

// Only what nobody answers on is removed.
Result<void> remove_dead(const Descriptor& folder,
                         const std::string& name,
                         const std::string& path) {
  struct stat about{};
  if (fstatat(folder.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (!S_ISSOCK(about.st_mode)) {
    return fail(Error::Code::Conflict, fmt::format("{} is there and is no socket", path));
  }
  const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = address_in(folder, name);
  if (connect(probe.get(), as_address(address), sizeof address) == 0 || errno != ECONNREFUSED) {
    return fail(Error::Code::Conflict, fmt::format("somebody listens on {} already", path));
  }
  unlinkat(folder.get(), name.c_str(), 0);
  return {};
}

Result<Descriptor> listen_unix(const UnixAddress& where, std::string_view named_by) {
  const std::size_t slash = where.path.rfind('/');
  const std::string name = where.path.substr(slash + 1);
  const std::string parent = slash == 0 ? "/" : where.path.substr(0, slash);
  if (slash == std::string::npos || name.empty() || name.size() > 80) {
    return fail(Error::Code::BadRequest,
                fmt::format("unix:{} cannot be a socket's path", where.path));
  }
  const std::string otherwise = fmt::format("name a socket in another folder with {}", named_by);
  Result<Descriptor> folder = open_private_folder(parent, true, otherwise);
  if (!folder) return fail(folder.error());
  if (auto removed = remove_dead(*folder, name, where.path); !removed) return fail(removed.error());
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = address_in(*folder, name);
  const mode_t before = umask(0177);
  const int bound = bind(listener.get(), as_address(address), sizeof address);
  umask(before);
  if (bound != 0 || listen(listener.get(), api::limits::waiting_to_connect) != 0)
    return cannot(where.path);
  return listener;
}

Result<Descriptor> listen_tcp(const TcpAddress& where) {
  const std::string text = to_text(Address(where));
  sockaddr_in six_less{};
  sockaddr_in6 six{};
  const std::string host =
      where.host.empty() || where.host == "localhost" ? "127.0.0.1" : where.host;
  const bool is_four = inet_pton(AF_INET, host.c_str(), &six_less.sin_addr) == 1;
  if (!is_four && inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) != 1) {
    return fail(Error::Code::BadRequest, fmt::format("{} is no address of an interface", host));
  }
  six_less.sin_family = AF_INET;
  six_less.sin_port = htons(where.port);
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(where.port);
  Descriptor listener(
      socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const int bound =
      is_four ? bind(listener.get(), reinterpret_cast<const sockaddr*>(&six_less), sizeof six_less)
              : bind(listener.get(), reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (bound != 0 || listen(listener.get(), api::limits::waiting_to_connect) != 0)
    return cannot(text);
  return listener;
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  if (text.starts_with("unix:")) return UnixAddress{std::string(text.substr(5))};
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) {
    return fail(Error::Code::BadRequest,
                fmt::format("\"{}\" is no address; write unix:PATH or HOST:PORT", text));
  }
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return TcpAddress{std::string(host), port};
}

std::string to_text(const Address& address) {
  return match(
      address,
      [](const UnixAddress& where) { return where.path; },
      [](const TcpAddress& where) { return fmt::format("{}:{}", where.host, where.port); });
}

Result<Descriptor> open_listener(const Address& address, std::string_view named_by) {
  return match(
      address,
      [&](const UnixAddress& where) { return listen_unix(where, named_by); },
      [](const TcpAddress& where) { return listen_tcp(where); });
}

bool is_own_user(int socket) {
  ucred other{};
  socklen_t size = sizeof other;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) return false;
  return other.uid == geteuid();
}

}  // namespace reeve::daemon
