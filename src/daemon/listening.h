#pragma once

#include "adapters/descriptor.h"
#include "api/connection.h"
#include "api/desk.h"
#include "base/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

// Where the daemon listens, and what is spoken there.
namespace reeve::daemon {

using adapters::Descriptor;

struct UnixAddress {
  std::string path;
};
struct TcpAddress {
  std::string host;
  std::uint16_t port = 0;
};
using Address = std::variant<UnixAddress, TcpAddress>;

// `unix:PATH` or `HOST:PORT`; `[::1]:PORT` for a host with colons.
Result<Address> parse_address(std::string_view text);
std::string to_text(const Address& address);

using MakeConnection =
    std::function<std::unique_ptr<api::Connection>(SessionId session, api::Desk& desk)>;

struct Listen {
  Address address;
  MakeConnection make;
  // What somebody hears whom there is no room for, in the language that is spoken there.
  std::string no_room;
};

// A socket that listens. Of a unix one: in a folder that is this user's, mode 0600; a path of any
// length; in the place of a dead one, never of one that somebody answers on. `named_by` is where
// its address was said, for whoever has to say another.
Result<Descriptor> open_listener(const Address& address, std::string_view named_by);

// Whether the other side is a process of this user.
bool is_own_user(int socket);

}  // namespace reeve::daemon
