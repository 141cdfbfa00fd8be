#pragma once

#include <optional>
#include <string>
#include <string_view>

// Where the state and the socket are: `--home`, else $REEVE_HOME, else $XDG_STATE_HOME/reeve if
// that is absolute, else ~/.local/state/reeve; the socket is $REEVE_SOCKET, else `reeve.sock` in
// the home. Absolute. A home that is named counts for more than the socket: the daemon of another
// home is not asked. If none is, it is the home of whoever listens on $REEVE_SOCKET.
namespace reeve::cli {

struct Home {
  std::string path;
  std::string socket;
  // By --home or $REEVE_HOME: then the daemon must be that of this home, wherever it listens.
  bool is_named = false;
  // $REEVE_SOCKET says so, and it is not the home's own place.
  bool is_elsewhere = false;
};

// None: nothing says where (no $HOME either).
std::optional<Home> find_home(std::optional<std::string_view> given);

// Who has the home, as `daemon.lock` says: a daemon holds that file locked for as long as it lives.
// Nothing is locked for the question, so a daemon that starts just now is not in the way of it.
struct DaemonMark {
  int pid = 0;  // 0: nobody
  std::string socket;
};
DaemonMark daemon_of(const std::string& home);

// Of a variable that is set and not empty.
std::optional<std::string> environment(const char* name);

std::string working_directory();

// Sixteen random characters: for keys and for holders that nobody has named.
std::string random_word(std::size_t length);

}  // namespace reeve::cli
