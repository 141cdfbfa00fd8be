#pragma once

#include "base/result.h"
#include "cli/runbooks.h"
#include "tools/history_query.h"
#include "tools/journal_command.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The command line, from its words to its exit code.
namespace reeve::cli {

// `reeve beanstalkd`: its own words as they were typed, and of what every command understands that
// which was said.
struct BeanstalkdAsk {
  std::vector<std::string_view> words;
  std::optional<std::string> home = {};
  std::optional<std::string> project = {};  // a name, or the path of its folder
  bool json = false;
};

// What the program is made of besides: whoever links it in hands it over, so that the command line
// itself leans on nobody's inside.
struct Parts {
  std::string_view version;
  // The words behind `daemon run`.
  std::function<int(std::span<const std::string_view>)> daemon_run;
  std::function<int(const BeanstalkdAsk&)> beanstalkd;
  // `journal`, `backup`, `restore`: tools::journal_command().
  std::function<Result<bool>(
      const tools::JournalAsk&, const tools::Sink& out, const tools::Sink& notes)>
      journal;
  Runbooks runbooks = {};
  // What history is asked: tools::history_query().
  std::function<Result<void>(const tools::HistoryAsk&, const tools::RowSink&)> history = {};
};

int run(std::span<const std::string_view> words, const Parts& parts);

}  // namespace reeve::cli
