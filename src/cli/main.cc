// The program. This version holds the core and the journal and nothing that runs them, so there is
// little to say on the command line yet; what is not here is refused, never pretended.

#include "tools/journal_command.h"

#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

namespace {

constexpr int exit_usage = 2;

constexpr std::string_view help =
    "reeve " REEVE_VERSION
    ", a durable local coordinator\n"
    "\n"
    "usage: reeve journal ...  look into a journal: info, verify, cat, salvage, accept\n"
    "       reeve --version    print the version\n"
    "       reeve --help       print this\n"
    "\n"
    "This version contains the core, the part that decides, and the journal, the part that\n"
    "remembers. It has no daemon yet; `./dev demo` in the source tree shows the core at work.\n";

void print(std::FILE* out, std::string_view text) { std::fwrite(text.data(), 1, text.size(), out); }

int refuse(std::string_view complaint, std::string_view word) {
  print(stderr, "reeve: ");
  print(stderr, complaint);
  print(stderr, word);
  print(stderr, "\nTry 'reeve --help'.\n");
  return exit_usage;
}

// A full disk behind stdout must not look like success.
int finish(int status) { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? status : 1; }

int journal(std::span<char*> arguments) {
  const std::vector<std::string_view> words(arguments.begin(), arguments.end());
  const auto line_to = [](std::FILE* out) {
    return [out](std::string_view line) {
      print(out, line);
      print(out, "\n");
    };
  };
  return finish(reeve::tools::journal_command(
      words, reeve::tools::knowledge_of_core(), line_to(stdout), line_to(stderr)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() < 2) {
    print(stderr, help);
    return exit_usage;
  }

  const std::string_view word = arguments[1];
  if (word == "journal") return journal(arguments.subspan(2));
  const bool version = word == "--version";
  if (!version && word != "--help" && word != "-h") {
    return refuse(word.starts_with('-') ? "unknown option " : "unknown command ", word);
  }
  if (arguments.size() > 2) return refuse("unexpected argument ", arguments[2]);

  print(stdout, version ? "reeve " REEVE_VERSION "\n" : help);
  return finish(0);
}
