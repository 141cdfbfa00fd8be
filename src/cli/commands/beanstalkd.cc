#include "cli/commands/beanstalkd.h"

#include "cli/cli.h"
#include "cli/context.h"
#include "cli/project.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>

namespace reeve::cli {

namespace {

// By its name, or by its folder: that of the project a path is in.
std::string folder_or_name(const std::string& project) {
  std::array<char, PATH_MAX> real{};
  if (project.find('/') == std::string::npos) return project;
  if (::realpath(project.c_str(), real.data()) == nullptr) return project;
  const auto root = find_project(real.data());
  return root ? root->path : project;
}

}  // namespace

int beanstalkd_command(Context& context, const Parsed& parsed) {
  if (parsed.has("help")) return tell_help(context, nullptr, parsed.command);
  if (const auto home = context.home(); !home) return context.fail(home.error());
  for (const std::string& word : parsed.words) {
    if (word.starts_with("--")) {
      return context.misuse(
          fmt::format("unknown option {}; see `reeve beanstalkd --help`", word.substr(0, 64)));
    }
  }
  BeanstalkdAsk ask{.words = {parsed.words.begin(), parsed.words.end()}, .json = context.json()};
  if (const auto home = parsed.text("home")) ask.home = *home;
  if (const auto project = parsed.text("project")) {
    ask.project = folder_or_name(std::string(*project));
  } else if (const auto usual = environment("REEVE_PROJECT")) {
    ask.project = folder_or_name(*usual);
  }
  return context.parts->beanstalkd(ask);
}

}  // namespace reeve::cli
