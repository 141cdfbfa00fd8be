#pragma once

#include "base/result.h"
#include "core/time_zone.h"
#include "runbook/mistake.h"
#include "runbook/runbook.h"

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// From files to a Runbook, or to everything that is wrong with them.
//
// All mistakes are found at once; of a file that is no TOML the first. Each says where it is, what
// was expected, and the nearest name that would have been right. With any mistake nothing is
// loaded: what was in force stays in force.
//
// Beyond the form of each value this finds: unknown keys; two definitions of one name, also in two
// files; references to what is not defined; phases that cannot be reached, that do nothing or two
// things; placeholders without a value, in every text and for every user of it; placeholders where
// no value can be made safe (runbook/shell_text); programs that bash cannot read; dead letters in
// a circle; inputs that nobody gives; prompts in files that are not there.
namespace reeve::runbook {

// One file: its name as messages call it, and its bytes.
struct File {
  std::string name;
  std::string text;
};

// What bash says about a program: `bash -n`. None: it can read it.
struct ShellComplaint {
  std::uint32_t line = 1;
  std::string message;
};
// From what `bash -n -c PROGRAM` ended with and printed on stderr.
std::optional<ShellComplaint> complaint_of(int exit_code, std::string_view stderr_text);
using CheckShell = std::function<std::optional<ShellComplaint>(const std::string& program)>;
using ReadZone = std::function<Result<time_zone::Zone>(const std::string& name)>;
using IsFile = std::function<bool(const std::string& path)>;

// What loading needs from outside. Without a check of the shell, programs are taken as they are;
// without a reader of zones those of the system are read; without a look at files they are there.
struct Outside {
  CheckShell check_shell = {};
  ReadZone read_zone = {};
  // How often a source is asked whose queue has no `poll`.
  Duration poll_interval = definition::Source{}.poll;
  IsFile is_file = {};
  // These are all files of the project: what nothing in them uses, nothing uses.
  bool is_all = true;
};

using Mistakes = std::vector<Mistake>;  // in order, none twice

// `root` is the folder of the project. The set's hash stands for the files' names and bytes, for
// the time zones they use and for how often their sources are asked: the same hash, the same set.
std::expected<Runbook, Mistakes> load(std::span<const File> files,
                                      const std::string& root,
                                      const Outside& outside);

// The definitions for the core: what names a queue of the project gets the project's number.
definition::Set set_for(const Runbook& runbook, ProjectNo project);

// The runbooks of a project: .reeve/runbooks/*.toml, by name. None is fine.
std::vector<std::string> discover(const std::string& root);

// Reads them, called as given. One that cannot be read is a mistake like any other.
std::expected<std::vector<File>, Mistakes> read_files(std::span<const std::string> paths);

}  // namespace reeve::runbook
