#include "api/beanstalk/options.h"
#include "daemon/run.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

namespace reeve::daemon {
namespace {

void print(std::FILE* out, std::string_view text) { std::fwrite(text.data(), 1, text.size(), out); }

}  // namespace

int run_as_beanstalkd(std::span<const std::string_view> arguments, std::string_view version) {
  const Result<api::beanstalk::Options> options = api::beanstalk::parse_options(arguments);
  if (!options) {
    print(stderr, fmt::format("reeve beanstalkd: {}\n", options.error().message));
    return 2;
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
  if (options->home) words.insert(words.end(), {"--home", *options->home});
  return run(words, version);
}

}  // namespace reeve::daemon
