#pragma once

#include "base/result.h"
#include "base/time.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a command takes is written once, as data: the parser, --help, did-you-mean, the completions
// and the man page all read the same tables. The tables are constants; nothing is built for a
// command that is not called.
//
// Options may stand anywhere before `--`, also between the words of the command; `--name value`,
// `--name=value`, `-n value`, `-nvalue` and grouped flags (`-qf`) are all understood. A word of `-`
// and a digit is an argument: data may be negative.
namespace reeve::cli {

enum class Takes : std::uint8_t {
  Nothing,
  Text,
  Number,         // an integer, perhaps negative
  Duration,       // 500ms, 30s, 1h30m
  MaybeDuration,  // the next word, but only if it is a duration; a bare number is refused
};

// What the shell can offer for a word.
enum class Completes : std::uint8_t {
  Nothing,
  Lock,
  Semaphore,
  Queue,
  Project,
  File,
  Command,
  Pipeline,
  Decision,
  Agent,
  Worker,      // also those of the runbooks that nobody has started
  Cron,        // the same
  RunCommand,  // of the runbooks
  Definition,  // a pipeline of the runbooks
  Monitor,
  Setting,  // a key of the settings
  Task,     // of the board
  Section,
  Runner,
};

struct Option {
  std::string_view name = {};  // without its dashes; empty: it has a letter only
  char letter = 0;             // 0: none
  Takes takes = Takes::Nothing;
  std::string_view value = {};  // what help calls the value: D, N, NAME
  std::string_view help = {};
  std::string_view choices = {};  // separated by |; empty: anything
  Completes completes = Completes::Nothing;
  bool required = false;
};

enum class Count : std::uint8_t { One, Maybe, Some, Any };  // 1, 0..1, 1.., 0..

struct Argument {
  std::string_view name = {};
  Count count = Count::One;
  Completes completes = Completes::Nothing;
};

struct Example {
  std::string_view line = {};
  std::string_view says = {};
};

class Parsed;
class Context;

struct Command {
  std::string_view name = {};  // "lock acquire", "status"
  std::string_view summary = {};
  std::span<const Argument> arguments = {};
  std::span<const Option> options = {};
  std::string_view details = {};
  std::span<const Example> examples = {};
  int (*run)(Context& context, const Parsed& parsed) = nullptr;
  bool takes_command = false;  // `-- CMD…` at the end, which is required
  bool hidden = false;
  bool passes_options = false;  // those it does not know are arguments; so is --
};

// Commands that share their first word, or (with an empty word) have only one.
struct Group {
  std::string_view word = {};
  std::string_view summary = {};
  std::span<const Command> commands = {};
};

extern const std::span<const Option> global_options;

// What was said on the command line.
class Parsed {
 public:
  const Command* command = nullptr;
  std::vector<std::string> words;  // the arguments
  std::vector<std::string> tail;   // after --, of a command that takes one

  bool has(std::string_view option) const;
  // The last one given wins.
  std::optional<std::string_view> text(std::string_view option) const;
  std::vector<std::string_view> texts(std::string_view option) const;  // all that were given
  std::optional<std::int64_t> number(std::string_view option) const;
  // Of a MaybeDuration: none if it was given without one.
  std::optional<Duration> duration(std::string_view option) const;

  void add(const Option& option, std::string value, bool has_value);
  // The same with other texts: of the arguments and the options.
  Parsed with(const std::function<std::string(std::string_view)>& other) const;

 private:
  struct Given {
    std::string_view name;
    std::string value;
    bool has_value = false;
  };
  std::vector<Given> given_;
};

// Which command the words call, and where help stops short of one.
struct Found {
  const Group* group = nullptr;      // its first word was understood
  const Command* command = nullptr;  // all of it
  std::size_t words = 0;             // how many words named it
};

// Looks at the words that are no options, and at two at most.
Found find_command(std::span<const Group> groups, std::span<const std::string_view> words);

// Everything. The error is a usage error, told in a sentence.
Result<Parsed> parse(const Command& command,
                     std::size_t command_words,
                     std::span<const std::string_view> words);

// Only the global options, wherever they stand: for --help and for errors before a command is
// known.
Parsed parse_globals(std::span<const std::string_view> words);

// The candidate that somebody who typed this may have meant; empty: none is near.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> candidates);

// "reeve lock acquire NAME… [--wait [D]]".
std::string usage_line(const Command& command);

}  // namespace reeve::cli
