// Links: runbook
//
// Runbooks: any bytes are loaded or told what is wrong with them, each mistake once, in order and
// at a place that the file has; and the same bytes are always the same runbook.

#include "fuzz/input.h"
#include "runbook/load.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace reeve;
using fuzz::require;

namespace {

// Nothing is asked of the machine: there is one zone, and no bash.
runbook::Outside nowhere() {
  return {.check_shell = {}, .read_zone = [](const std::string& name) -> Result<time_zone::Zone> {
            if (name == "UTC") return time_zone::Zone{};
            return fail(Error::Code::NotFound, "there is no zone " + name);
          }};
}

}  // namespace

// A zero byte begins the next file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  std::string_view rest = input.rest();
  std::vector<runbook::File> files;
  while (files.size() < 4) {
    const std::size_t end = files.size() < 3 ? rest.find('\0') : std::string_view::npos;
    files.push_back(
        {"file" + std::to_string(files.size()) + ".toml", std::string(rest.substr(0, end))});
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }

  const auto loaded = runbook::load(files, "/project", nowhere());
  const auto again = runbook::load(files, "/project", nowhere());
  require(loaded.has_value() == again.has_value(), "the same bytes, the same answer");
  if (loaded) {
    require(loaded->set == again->set, "the same bytes, the same definitions");
    require(loaded->set.hash == again->set.hash && !loaded->set.hash.empty(), "and the same hash");
    (void)runbook::set_for(*loaded, ProjectNo{7});
    return 0;
  }
  const runbook::Mistakes& mistakes = loaded.error();
  require(mistakes == again.error(), "the same bytes, the same mistakes");
  require(!mistakes.empty(), "what is refused has a mistake");
  require(std::ranges::is_sorted(mistakes), "mistakes are in order");
  require(std::ranges::adjacent_find(mistakes) == mistakes.end(), "no mistake is told twice");
  for (const runbook::Mistake& mistake : mistakes) {
    const auto file = std::ranges::find(files, mistake.file, &runbook::File::name);
    require(file != files.end(), "a mistake is in a file");
    const auto lines = std::ranges::count(file->text, '\n') + 1;
    require(mistake.place.line >= 1 && mistake.place.line <= lines, "at a line that it has");
    require(mistake.place.column >= 1, "and at a column");
    require(!mistake.message.empty(), "and has words");
  }
  return 0;
}
