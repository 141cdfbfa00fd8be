#include "cli/cli.h"

#include "cli/args.h"
#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace reeve::cli {

namespace {

using Words = std::vector<std::string_view>;

}  // namespace

std::string no_such_command(const Found& found, std::span<const std::string_view> words) {
  const std::string typed = printable(found.group == nullptr ? words[0] : words[1]);
  std::vector<std::string_view> candidates;
  if (found.group == nullptr) candidates.push_back("--version");
  for (const Group& group : all_groups()) {
    if (found.group == nullptr && !group.word.empty()) candidates.push_back(group.word);
    if (found.group == nullptr ? !group.word.empty() : group.word != found.group->word) continue;
    for (const Command& command : group.commands) {
      if (command.hidden) continue;
      candidates.push_back(group.word.empty() ? command.name
                                              : command.name.substr(group.word.size() + 1));
    }
  }
  const std::string before = found.group == nullptr ? "" : fmt::format("{} ", found.group->word);
  // There is one: it was not looked for behind `--`.
  if (std::ranges::find(candidates, typed) != candidates.end()) {
    return fmt::format("write -- behind the command: `reeve {}{} … -- …`", before, typed);
  }
  const std::string_view meant = nearest(typed, candidates);
  return meant.empty()
             ? fmt::format(
                   "there is no command {}{}; `reeve {}--help` lists them", before, typed, before)
             : fmt::format("there is no command {}{}; did you mean `reeve {}{}`?",
                           before,
                           typed,
                           before,
                           meant);
}

namespace {

// A descriptor that was closed (`>&-`) would be given to the socket, and what is printed be sent to
// the daemon. So it is open, for the other direction: who uses it fails, and says so.
void keep_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest that is free is this one.
    [[maybe_unused]] const int opened =
        ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int run(std::span<const std::string_view> words, const Parts& parts) {
  keep_standard_descriptors();
  // A reader that has gone is found by writing, and ends us there; not while a lock is held.
  std::signal(SIGPIPE, SIG_IGN);
  const Found found = find_command(all_groups(), words);
  if (found.command == nullptr) {
    const Parsed globals = parse_globals(words);
    Context context(globals, std::string(parts.version));
    context.runbooks = &parts.runbooks;
    if (found.group == nullptr && globals.words.empty()) {
      if (globals.has("version")) return tell_version(context);
      if (globals.has("help")) return tell_help(context, nullptr, nullptr);
      static constexpr Command bare{.name = "status"};
      const Result<Parsed> parsed = parse(bare, 0, words);
      if (!parsed) return context.misuse(parsed.error().message);
      context.output.command = "status";
      return overview(context);
    }
    // As it was typed: there is none whose name could stand here.
    context.output.command = std::string(globals.words.front());
    if (found.group != nullptr && globals.words.size() > 1) {
      context.output.command += fmt::format(" {}", globals.words[1]);
    }
    if (found.group != nullptr && globals.words.size() < 2) {
      if (globals.has("help")) return tell_help(context, found.group, nullptr);
      if (context.json()) {
        const std::string_view word = found.group->word;
        return context.misuse(fmt::format("which one? `reeve {} --help` lists them", word));
      }
      context.output.err(help_of_group(context.output, *found.group));
      return static_cast<int>(Exit::Usage);
    }
    const Words typed(globals.words.begin(), globals.words.end());
    return context.misuse(no_such_command(found, typed));
  }

  const Result<Parsed> parsed = parse(*found.command, found.words, words);
  if (!parsed) {
    Parsed globals = parse_globals(words);
    globals.command = found.command;
    Context context(globals, std::string(parts.version));
    context.runbooks = &parts.runbooks;
    return context.misuse(
        fmt::format("{}; see `reeve {} --help`", parsed.error().message, found.command->name));
  }
  Context context(*parsed, std::string(parts.version));
  context.runbooks = &parts.runbooks;
  if (parsed->has("version")) return tell_version(context);
  // A command of a runbook has a usage of its own.
  const bool tells_itself = found.command->passes_options && !parsed->words.empty();
  if (parsed->has("help") && !tells_itself) return tell_help(context, found.group, found.command);
  context.parts = &parts;
  if (std::string wrong = context.wrong_in_environment(); !wrong.empty()) {
    return context.misuse(std::move(wrong));
  }
  return found.command->run(context, *parsed);
}

}  // namespace reeve::cli
