#pragma once

#include "adapters/descriptor.h"
#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>

// The folder that belongs to one daemon: its journal, its socket, its log.
//
// It must be this user's alone: owned by them, without any access for others, and itself no link to
// somewhere else. Else the daemon refuses to start and says what to do.
namespace reeve::daemon {

using adapters::Descriptor;

// What was given, else $REEVE_HOME, else $XDG_STATE_HOME/reeve if that is absolute, else
// ~/.local/state/reeve; absolute.
Result<std::string> find_home(const std::optional<std::string>& given);

// $REEVE_SOCKET, else reeve.sock in the home.
std::string find_socket(const std::string& home);

// Makes the folder with mode 0700 if it is not there, and verifies it.
Result<Descriptor> open_home(const std::string& path);

// That a folder (of a socket, say) is fit: this user's, and nobody else may write to it.
// `otherwise` is what to do if it is not: where another one can be named.
Result<Descriptor> open_private_folder(const std::string& path,
                                       bool others_may_look,
                                       std::string_view otherwise);

// One daemon a home: a lock on the file daemon.lock, held as long as this object lives, with who
// holds it written in the file as one line of JSON: {"pid","version","socket"}.
class Instance {
 public:
  // Conflict: another daemon has it, and the message says which.
  static Result<Instance> claim(const Descriptor& home, const std::string& path);

  void write(std::string_view version, std::string_view socket) const;

 private:
  explicit Instance(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace reeve::daemon
