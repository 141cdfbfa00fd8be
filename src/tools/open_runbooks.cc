#include "tools/open_runbooks.h"

#include "runbook/document.h"
#include "tools/bash_check.h"
#include "tools/json.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>

namespace reeve::tools {
namespace {

// Nobody knows what a file defines that cannot be read, so what the others refer to is not looked
// for; but whether they are TOML can be told.
runbook::Mistakes with_syntax_mistakes(runbook::Mistakes mistakes,
                                       const std::vector<std::string>& paths) {
  if (mistakes.size() < paths.size()) {
    mistakes.front().message += "; until it can be, only the syntax of the other files is checked";
  }
  for (const std::string& path : paths) {
    auto read = runbook::read_files(std::span(&path, 1));
    if (!read) continue;
    auto document = runbook::parse_document(path, std::move(read->front().text));
    if (!document) mistakes.push_back(std::move(document.error()));
  }
  return mistakes;
}

}  // namespace

std::expected<OpenRunbooks, runbook::Mistakes> open_runbooks(const RunbookPlace& place,
                                                             std::vector<std::string> paths,
                                                             Shell shell) {
  const bool is_all = paths.empty();
  if (is_all) paths = runbook::discover(place.files());
  auto files = runbook::read_files(paths);
  if (!files) return std::unexpected(with_syntax_mistakes(std::move(files.error()), paths));
  for (runbook::File& file : *files) {
    const std::string below = place.files() + "/";
    if (file.name.starts_with(below)) file.name.erase(0, below.size());
  }
  runbook::Outside outside{.poll_interval = Duration{place.poll_interval_ms}, .is_all = is_all};
  if (shell == Shell::Checked) {
    outside.check_shell = bash_check;
    outside.is_file = [](const std::string& path) {
      std::error_code error;
      return std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error);
    };
  }
  auto runbook = runbook::load(*files, place.root, outside);
  if (!runbook) return std::unexpected(runbook.error());
  return OpenRunbooks{*std::move(files), *std::move(runbook)};
}

std::string mistakes_json(const runbook::Mistakes& mistakes) {
  std::string list;
  for (const runbook::Mistake& mistake : mistakes) {
    list += fmt::format(R"({}{{"file":{},"line":{},"column":{},"message":{}}})",
                        list.empty() ? "" : ",",
                        json(mistake.file),
                        mistake.place.line,
                        mistake.place.column,
                        json(mistake.message));
  }
  return "[" + list + "]";
}

}  // namespace reeve::tools
