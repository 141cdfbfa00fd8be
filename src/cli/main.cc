// The program: the command line, the daemon and the tools for a journal in one.

#include "adapters/hold.h"
#include "cli/cli.h"
#include "daemon/run.h"
#include "tools/history_query.h"
#include "tools/journal_command.h"
#include "tools/run_plan.h"
#include "tools/runbook_command.h"
#include "tools/runbook_examples.h"

#include <span>
#include <string_view>
#include <vector>

namespace {

reeve::Result<bool> journal(const reeve::tools::JournalAsk& ask,
                            const reeve::tools::Sink& out,
                            const reeve::tools::Sink& notes) {
  return reeve::tools::journal_command(ask, reeve::tools::knowledge_of_core(), out, notes);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 0 ? argv[0] : "";
  const bool as_beanstalkd = name.ends_with("beanstalkd");
  const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  // First, and with nothing else of the house: steps are many.
  if (!words.empty() && words.front() == "hold") {
    return reeve::adapters::hold(std::span(words).subspan(1));
  }
  if (as_beanstalkd) return reeve::daemon::run_as_beanstalkd({.words = words}, REEVE_VERSION);
  const auto daemon_run = [](std::span<const std::string_view> rest) {
    return reeve::daemon::run(rest, REEVE_VERSION);
  };
  const auto beanstalkd = [](const reeve::cli::BeanstalkdAsk& ask) {
    return reeve::daemon::run_as_beanstalkd({ask.words, ask.home, ask.project, ask.json},
                                            REEVE_VERSION);
  };
  const reeve::cli::Runbooks runbooks{.command = reeve::tools::runbook_command,
                                      .dry_run = reeve::tools::dry_run_command,
                                      .plan_run = reeve::tools::plan_run,
                                      .plan_pipeline = reeve::tools::plan_pipeline,
                                      .plan_start = reeve::tools::plan_start,
                                      .plan_load = reeve::tools::plan_load,
                                      .names = reeve::tools::names_in_runbooks,
                                      .usage = reeve::tools::usage_of_command,
                                      .plan_monitor = reeve::tools::plan_monitor,
                                      .variable = reeve::tools::variable_of,
                                      .without_secrets = reeve::tools::without_secrets,
                                      .next_fires = reeve::tools::next_fires,
                                      .mistakes = reeve::tools::mistakes_in,
                                      .first_runbook = reeve::tools::first_runbook()};
  return reeve::cli::run(words,
                         {.version = REEVE_VERSION,
                          .daemon_run = daemon_run,
                          .beanstalkd = beanstalkd,
                          .journal = journal,
                          .runbooks = runbooks,
                          .history = reeve::tools::history_query});
}
