#include "api/beanstalk/options.h"
#include "daemon/run.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace reeve::daemon {
namespace {

void print(std::FILE* out, std::string_view text) { std::fwrite(text.data(), 1, text.size(), out); }

std::optional<std::string> usual_project() {
  const char* name = std::getenv("REEVE_PROJECT");  // NOLINT(concurrency-mt-unsafe): one thread
  return name && *name != '\0' ? std::optional<std::string>(name) : std::nullopt;
}

}  // namespace

int run_as_beanstalkd(const AsBeanstalkd& ask, std::string_view version) {
  constexpr std::string_view command = "beanstalkd";
  Result<api::beanstalk::Options> options = api::beanstalk::parse_options(ask.words);
  if (!options) {
    Error error = options.error();
    if (!ask.json) error.message.insert(0, "beanstalkd: ");
    return complain(error, ask.json, command);
  }
  if (options->help || options->version) {
    const std::string told = fmt::format("beanstalkd 1.12 (reeve {})\n", version);
    print(stdout, options->help ? api::beanstalk::options_help : told);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  for (const std::string& note : options->notes) {
    print(stderr, fmt::format("reeve beanstalkd: {}\n", note));
  }
  const std::string bytes = fmt::format("{}", options->job_bytes);
  std::vector<std::string_view> words{
      "--foreground-log", "--beanstalk", options->address, "--beanstalk-job-bytes", bytes};
  if (options->is_public) words.emplace_back("--beanstalk-public");
  const std::optional<std::string> home = options->home ? options->home : ask.home;
  if (home) words.insert(words.end(), {"--home", *home});
  const std::optional<std::string> project = ask.project ? ask.project : usual_project();
  if (project) words.insert(words.end(), {"--project", *project});
  if (ask.json) words.emplace_back("--json");
  return run(words, version, command);
}

}  // namespace reeve::daemon
