#include "sim/clients.h"
#include "sim/words.h"

#include <chrono>

// What clients do on the board, as runners of their own names, and with a cron.
namespace reeve::sim {

using namespace std::chrono_literals;

namespace {

// Three of the project's own, and one that is shared.
SectionName section_name(std::uint64_t i) {
  return {i == 3 ? shared_project : default_project, "b" + std::to_string(i)};
}

}  // namespace

board::Command Clients::locking() const {
  return board::SetLocking{default_project, {8s, 16s, 20s}};
}

Command Clients::board_command(Client& client, const State& state) {
  const board::RunnerName runner{default_project, client.name};
  const auto wait = [&]() -> std::optional<board::Wait> {
    if (client.waits.size() >= plan_.waits || dice_.percent(60)) return std::nullopt;
    return board::Wait{dice_.one_in(3) ? std::nullopt : std::optional<Duration>(3s)};
  };
  const auto& tasks = state.board.tasks;
  const bool is_crowded = tasks.size() > plan_.items;
  const std::uint64_t choice = dice_.below(20);
  if (tasks.empty() || (choice < 4 && !is_crowded)) {
    board::Add add;
    add.title = "t" + std::to_string(++last_data_);
    if (!dice_.one_in(4)) add.section = section_name(dice_.below(4));
    add.priority = static_cast<std::int32_t>(dice_.below(3));
    return add;
  }
  if (choice < 9) {
    board::NextTask next{{}, dice_.one_in(4), true};
    if (dice_.one_in(3)) next.section = section_name(dice_.below(4));
    return board::Next{runner, next, wait()};
  }
  if (choice < 15 && !client.tasks.empty()) {
    const Client::Work work = dice_.any_of(client.tasks);
    const auto token = dice_.one_in(3) ? std::nullopt : std::optional(work.token);
    if (choice < 12) return board::Finish{work.task, runner, token, board::Status::Completed, ""};
    if (choice == 12) return board::PutBack{work.task, runner, token};
    return board::Heartbeat{work.task, runner, token};
  }
  const auto task =
      (*std::next(tasks.begin(), static_cast<std::ptrdiff_t>(dice_.below(tasks.size())))).first;
  if (choice < 17) return board::Start{task, runner, wait()};
  if (choice == 17) return board::RunnerHeartbeat{runner};
  switch (dice_.below(6)) {
    case 0:
      return board::LetGo{section_name(dice_.below(4)), runner};
    case 1:
      return board::ForceRelease{task, "ana", "why not"};
    case 2:
      return board::Cleanup{default_project, dice_.one_in(2)};
    case 3:
      return board::RemoveTask{task};
    case 4:
      return board::Finish{task, runner, {}, board::Status::Review, ""};
    default:
      return board::AddNote{task, client.name, "so far"};
  }
}

// Runs one pipeline after the other, and mostly overlaps.
Command Clients::cron_command() {
  const CronName name{default_project, "often"};
  if (dice_.one_in(4)) return cron::Disable{name};
  using enum cron::Overlap;
  cron::Definition often{cron::Interval{25s},
                         {},
                         dice_.any_of(std::vector{Skip, BufferOne, CancelOther}),
                         cron::CatchUp::Latest,
                         1h,
                         cron::RunPipeline{"fix", {}}};
  cron::Plan plan{{default_project, "one"}, Boxed<cron::Definition>(std::move(often)), {}};
  if (dice_.one_in(3)) return cron::RunNow{name, std::move(plan)};
  return cron::Enable{name, std::move(plan)};
}

bool Clients::is_tidy(const State& state) {
  for (const auto& [name, cron] : state.crons.crons) {
    if (cron.enabled || !cron.running.empty() || cron.buffered > 0) return false;
  }
  for (const auto& [number, project] : state.board.projects) {
    if (project.open > 0) return false;
  }
  return state.board.waiters.empty();
}

std::optional<Command> Clients::no_more_cron(const State& state) {
  for (const auto& [name, cron] : state.crons.crons) {
    if (cron.enabled) return cron::Disable{name};
  }
  return std::nullopt;
}

std::optional<Command> Clients::tidy_up(const State& state) {
  Client& client = clients_.front();
  const board::RunnerName runner{default_project, client.name};
  if (!client.tasks.empty()) {
    const Client::Work work = client.tasks.back();
    client.tasks.pop_back();
    return board::Finish{work.task, runner, {}, board::Status::Completed, ""};
  }
  if (is_tidy(state)) return std::nullopt;
  return board::Next{runner, board::NextTask{{}, false, true}, std::nullopt};
}

void Clients::note_task(Client& client, const Reply& reply) {
  const auto* started = word<board::Started>(reply);
  if (!started) return;
  client.tasks.push_back({started->task, started->token});
  if (client.tasks.size() > 6) client.tasks.erase(client.tasks.begin());
}

}  // namespace reeve::sim
