#pragma once

#include "tools/run_plan.h"

#include <cstdint>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the command line asks of whoever can read runbooks. It is handed over by the program, so
// that the command line itself does not lean on them.
namespace reeve::cli {

struct Runbooks {
  using Sink = std::function<void(std::string_view line)>;
  using Place = tools::RunbookPlace;
  using Cannot = tools::CannotRun;
  template <class T>
  using Or = std::expected<T, Cannot>;

  // The words behind `runbook`, and those behind `run` with --dry-run: to the exit code.
  std::function<int(
      std::span<const std::string_view>, const Place&, const Sink& out, const Sink& err)>
      command = {};
  std::function<int(
      std::span<const std::string_view>, const Place&, const Sink& out, const Sink& err)>
      dry_run = {};

  std::function<Or<tools::RunPlan>(std::span<const std::string>, const Place&)> plan_run = {};
  std::function<Or<tools::RunPlan>(const std::string&, const tools::Words&, const Place&)>
      plan_pipeline = {};
  std::function<Or<tools::Definitions>(std::string_view, const std::string&, const Place&)>
      plan_start = {};
  std::function<Or<tools::Definitions>(const Place&)> plan_load = {};
  std::function<std::vector<std::pair<std::string, std::string>>(std::string_view, const Place&)>
      names = {};
  std::function<Or<std::string>(const std::string&, const Place&)> usage = {};
  std::function<Or<tools::MonitorPlan>(const std::string&, const Place&)> plan_monitor = {};
  std::function<std::string(std::string_view)> variable = {};
  std::function<std::string(const std::string&, std::string_view)> without_secrets = {};
  std::function<Or<std::vector<std::int64_t>>(
      const std::string&, const Place&, std::int64_t now_ms, std::size_t count)>
      next_fires = {};
  std::function<std::vector<std::string>(const Place&)> mistakes = {};

  // The text of `reeve init`.
  std::string_view first_runbook = {};
};

}  // namespace reeve::cli
