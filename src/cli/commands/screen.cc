#include "cli/commands/screen.h"

#include "cli/commands/program.h"
#include "cli/text.h"

#include <string_view>

namespace reeve::cli {

std::optional<std::vector<std::string>> read_screen(const std::string& home,
                                                    const std::string& session) {
  // The address of a socket is short, and the path of a home may not be.
  const Ran ran = run_program(
      "cd \"$P_HOME\" && exec tmux -S tmux.sock -f /dev/null capture-pane -p -t \"=$P_SESSION:\" "
      "2>&1",
      {{"P_HOME", home}, {"P_SESSION", session}},
      true);
  if (ran.code != 0) return std::nullopt;
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(ran.output)) lines.push_back(printable(line));
  while (!lines.empty() && lines.back().find_first_not_of(" \r") == std::string::npos) {
    lines.pop_back();
  }
  return lines;
}

}  // namespace reeve::cli
