#pragma once

#include "base/result.h"
#include "base/time.h"
#include "core/holder.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The processes of this machine, as /proc shows them. An error means that it cannot be told now,
// because there are no descriptors left, say: only who is seen to be gone is gone.
namespace reeve::adapters {

// Of this life of the machine.
std::string boot_id();

struct ProcessStatus {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::int64_t group = 0;
  std::int64_t session = 0;
  std::uint64_t start_time = 0;
  std::uint32_t user = 0;
  bool is_zombie = false;
};

// None: there is no such process.
Result<std::optional<ProcessStatus>> look_up(std::int64_t pid);
// None: there is no such process, or it cannot be told.
std::optional<ProcessStatus> status_of(std::int64_t pid);

// All that /proc shows.
Result<std::vector<ProcessStatus>> all_processes();

// Whether it is a daemon of ours. A command in a step starts one if there is none: it has that step
// among its ancestors then, but is no part of it.
bool is_daemon(std::int64_t pid);

// Whether it is a part of Reeve that belongs to nobody, whoever its ancestors are: a daemon, a hold
// of another run (it comes to the nearest hold above when its daemon is killed), or the tmux server
// of a home, which has `server_mark` in its environment.
bool is_of_reeve(const ProcessStatus& status);
inline constexpr std::string_view server_mark = "REEVE_TMUX_SERVER=1";

// Those of them that this process has started, and they in turn; without what is of Reeve itself,
// and what that has started.
Result<std::vector<ProcessStatus>> descendants_of(std::int64_t pid);

// Those of this user in whose environment stands `variable` ("NAME=value"): all that is left of
// something that was started with it, whoever their parent is by now. Without daemons.
Result<std::vector<ProcessStatus>> marked_with(const std::string& variable);
// The same for all values of a name at once, by value.
using Marked = std::map<std::string, std::vector<ProcessStatus>, std::less<>>;
Result<Marked> marked_by(const std::string& name);

int pidfd_open(std::int64_t pid);
// By a descriptor, so that nobody else is hit who got the number meanwhile.
void send_signal(std::int64_t pid, std::uint64_t start_time, int number);

// Whether this process, or one that it descends from, is the one with this number (or with `group`
// in the group of it), or that is the first process of all: to end it would be our own end.
bool is_our_own_life(std::int64_t pid, bool group);

// The process with this number, or with `group` the group that it leads, if it is this user's; and
// if it could be ended without an end of ours.
std::optional<Process> own_process(std::int64_t pid, bool group, const std::string& boot_id);

// Whether anything of it is left: the process itself, or a member of the group. (A zombie is not:
// it runs no more, and its parent may take its time.)
enum class Life : std::uint8_t { There, Gone, CannotTell };
Life life_of(const Process& process, const std::string& boot_id);
// False: it was seen to be gone.
bool is_alive(const Process& process, const std::string& boot_id);

// By the boot clock, which counts the time that the machine slept, as all of Reeve's limits do.
Duration since_boot();
// When it began, by that clock.
Duration began_at(const Process& process);

// Of a text like /proc/PID/stat; none if it is not one.
std::optional<ProcessStatus> parse_stat(std::string_view text);

}  // namespace reeve::adapters
