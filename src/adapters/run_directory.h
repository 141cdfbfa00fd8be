#pragma once

#include "adapters/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "core/effect.h"
#include "core/holder.h"
#include "core/outcome.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// A run is one program in the custody of one `reeve hold`. All that is known of it lies in a folder
// of its own, `runs/<effect id>/` in the home, so that whoever comes later can tell what became of
// it:
//
//     spec      what hold is to do: written by the daemon, before it starts hold
//     lock      flocked by hold from before it begins until after it has ended
//     started   who holds it (pid, start time, boot id): made with O_EXCL and synced, folder and
//               all, before anything runs
//     stdin     what the program reads, if it reads anything
//     output    what it publishes: the file of $REEVE_OUTPUT
//     stdout    what it said there, if that alone is wanted; at most 4 MiB of it
//     exit      how it ended: written aside, synced, renamed
//
// The lock decides. While somebody has it, the run is under way. When nobody has:
//
//     exit                    it ended, and this is how
//     started, but no exit    its hold was killed, or the machine died: nobody knows
//     neither                 it never began, and never will: whoever finds this takes `spec` away
//                             while it has the lock, and a hold that comes too late finds nothing
//                             to do
//
// `spec` is not synced: the effect stands in the journal, and is written again. A second hold for
// the same run finds the lock taken, or `started`, and leaves.
namespace reeve::adapters {

// `<sequence>-<index>`.
std::string to_text(EffectId id);
std::optional<EffectId> parse_effect_id(std::string_view text);

inline constexpr std::uint64_t log_limit = std::uint64_t{16} << 20U;
inline constexpr std::size_t output_kept = std::size_t{64} * 1024;

struct RunSpec {
  std::string text;  // for bash; no value is in it
  bool strict = false;
  std::string directory;             // empty: /
  Variables environment;             // all of it
  std::vector<std::string> secrets;  // what is not to be seen in what it says
  std::optional<Duration> timeout;
  Duration grace{5000};  // between TERM and KILL
  std::string log;       // where what it says is kept; empty: nowhere
  std::uint64_t log_bytes = log_limit;
  std::uint32_t mask = 022;       // of the files it makes
  std::uint64_t descriptors = 0;  // how many it may have; 0: as many as hold
  bool has_stdin = false;         // from the file, else there is nothing to read
  bool only_stdout = false;       // is the output of its outcome if it succeeds; the log has all
  bool in_pane = false;           // of tmux: it talks to its terminal, and the pane is logged
  bool leaves_others = false;     // what it leaves behind is not its own, and may stay
  bool synced = true;             // false: to do it once more after a power loss does no harm

  bool operator==(const RunSpec&) const = default;
};

std::string to_text(const RunSpec& spec);
Result<RunSpec> parse_spec(std::string_view text);

// Outcome as hold writes it. `ended` is Done for what ran to its end, whatever its exit code, and
// Failed for what could not be started, was ended at its limit, or ended on request.
std::string to_text(const Outcome& outcome);
Result<Outcome> parse_outcome(std::string_view text);

// `key=value` lines, in order, at most 1,000. An error names the first line that is none.
Result<Variables> parse_output(std::string_view text);

// With U+FFFD for what is not UTF-8, and for NUL: what a program said is shown to people as JSON.
std::string clean_text(std::string_view bytes);
// The last of it, from the beginning of a letter.
std::string_view last_of(std::string_view text, std::size_t most);

class RunDirectory {
 public:
  explicit RunDirectory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  // The daemon's side. prepare() makes the folder anew: for what never began.
  Result<void> prepare(const RunSpec& spec, std::string_view stdin_text = {}) const;
  void remove() const;

  struct Running {
    std::optional<Process> hold;  // none: it has only just begun; look again soon
  };
  struct Ended {
    Outcome outcome;
  };
  struct Lost {
    Process hold;  // the one that is gone
  };
  struct Never {};
  struct Unreadable {
    std::string why;
    bool may_pass = false;  // there are no descriptors left, say: look again
  };
  using Seen = std::variant<Running, Ended, Lost, Never, Unreadable>;
  // Never changes the folder, but for the last of the rules above.
  Seen look() const;

  // hold's side.
  Result<Descriptor> take_lock() const;  // Conflict: another has it; NotFound: no such run
  Result<RunSpec> read_spec() const;
  bool has_started() const;
  Result<void> write_started(const Process& self, bool synced) const;
  Result<void> write_exit(const Outcome& outcome, bool synced) const;

 private:
  std::string path_;
};

// ── Small files ──

std::optional<std::string> read_whole(const std::string& path,
                                      std::size_t most = std::size_t{64} << 20U);
// The same; NotFound only if there is no such file.
Result<std::string> try_read_whole(const std::string& path,
                                   std::size_t most = std::size_t{64} << 20U);
// Made anew, mode 0600.
Result<void> write_whole(const std::string& path, std::string_view text, bool synced);
Result<void> make_folders(const std::string& path);  // mode 0700, and those above it
bool sync_folder(const std::string& path);
std::string error_text(int number);
// Of an error number: NotFound, Full (there is no room), Timeout (no descriptors or no memory now:
// look again), or Io.
Error::Code code_of(int number);

}  // namespace reeve::adapters
