#include "adapters/agent_plan.h"
#include "adapters/runner.h"

#include <array>
#include <cerrno>
#include <dirent.h>
#include <unistd.h>

// Sessions of agents. The link `agents/<work id>` is there from before a session can be until its
// end is durable: so one is found again that no effect speaks of any more.
namespace reeve::adapters {
namespace {

std::string last_line_of(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

}  // namespace

std::string Runner::link_of(WorkId work) const { return around_.home + "/agents/" + to_text(work); }

void Runner::begin_session(const Start& start, const Spawn& spawn) {
  const std::string path = run_path(around_, start.id);
  const std::string beside = start_path(around_, start.id);
  const auto fails = [&](const Error& error) {
    unlink(link_of(spawn.work).c_str());
    done(start.id, {.ended = Ended::Failed, .error = error.message}, {path, beside});
  };
  const Result<SessionPlan> plan = session_plan(start.id, spawn, around_);
  if (!plan) return fails(plan.error());
  const std::string& log = plan->pane.spec.log;
  if (auto made = make_folders(log.substr(0, log.rfind('/'))); !made) return fails(made.error());
  if (auto made = make_folders(around_.home + "/agents"); !made) return fails(made.error());
  const RunDirectory pane(path);
  if (auto made = prepare(pane, plan->pane); !made) return fails(made.error());
  const std::string link = link_of(spawn.work);
  unlink(link.c_str());
  if (symlink(("../runs/" + to_text(start.id)).c_str(), link.c_str()) != 0) {
    return fails({Error::Code::Io, "cannot make " + link + ": " + error_text(errno)});
  }
  Run run = run_for(start, beside);
  run.starts = true;
  if (auto launched = launch(std::move(run), plan->start); !launched) {
    return fails(launched.error());
  }
  arm();
}

// One look at the starter: what it shows is what is judged.
std::optional<engine::Observation> Runner::observe_session(const Start& start, const Spawn& spawn) {
  Run starter = run_for(start, start_path(around_, start.id));
  starter.starts = true;
  const std::string folder = starter.folder.path();
  const RunDirectory pane(run_path(around_, start.id));
  const RunDirectory::Seen seen = starter.folder.look();
  std::optional<engine::Observation> shown = adopt(std::move(starter), seen);
  if (!shown || std::holds_alternative<engine::StillRunning>(*shown)) return shown;
  const auto* finished = std::get_if<engine::Finished>(&*shown);
  const bool is_never = std::holds_alternative<RunDirectory::Never>(pane.look());
  if (is_never && !finished) return engine::NeverStarted{};
  Outcome outcome{.ended = Ended::Unknown, .error = "nobody knows what became of its start"};
  if (finished) outcome = finished->outcome;
  if (const auto* cannot = std::get_if<engine::CannotKnow>(&*shown)) {
    outcome.error = cannot->evidence;
  }
  outcome = outcome_of_start(start.id, spawn.work, std::move(outcome));
  finished_[start.id] = {folder};
  if (outcome.ended == Ended::Failed) {
    finished_[start.id].push_back(pane.path());
  } else {
    adopt_session(start.id, start.effect, spawn.work);
  }
  return engine::Finished{std::move(outcome)};
}

// What is told of a session's start, by what became of its starter. Failed: there is none. Unknown:
// there is one, but not all went well, and nobody knows in what state: then the core ends it.
Outcome Runner::outcome_of_start(EffectId effect, WorkId work, Outcome starter) const {
  const RunDirectory pane(run_path(around_, effect));
  if (!pane.has_started() && std::holds_alternative<RunDirectory::Never>(pane.look())) {
    unlink(link_of(work).c_str());
    if (starter.error.empty()) {
      starter.error = "its session could not be started";
      const std::string said = last_line_of(starter.output);
      if (!said.empty()) starter.error += ": " + said;
    }
    starter.ended = Ended::Failed;
    return starter;
  }
  if (starter.ended == Ended::Done && starter.exit_code == 0) return {};
  return {.ended = Ended::Unknown, .output = starter.output, .error = starter.error};
}

// What became of it comes as the end of the session, if it has ended.
void Runner::adopt_session(EffectId effect, const Outgoing& what, WorkId work) {
  const auto pane = [&] {
    Run run = run_for({effect, what}, run_path(around_, effect));
    run.session = work;
    run.log = log_path(around_, to_text(work), "agent", effect);
    return run;
  };
  const std::optional<engine::Observation> seen = adopt(pane(), pane().folder.look());
  if (!seen) {
    add(pane());  // and looked at again
  } else if (const auto* finished = std::get_if<engine::Finished>(&*seen)) {
    session_ended(pane(), finished->outcome);
  } else if (const auto* cannot = std::get_if<engine::CannotKnow>(&*seen)) {
    session_ended(pane(), {.ended = Ended::Unknown, .error = cannot->evidence});
  } else if (std::holds_alternative<engine::NeverStarted>(*seen)) {
    unlink(link_of(work).c_str());
  }
}

void Runner::adopt_sessions() {
  const std::string path = around_.home + "/agents";
  DIR* const folder = opendir(path.c_str());
  if (!folder) return;
  // The stream is this call's own.
  while (const dirent* entry = readdir(folder)) {  // NOLINT(concurrency-mt-unsafe)
    const std::optional<WorkId> work = parse_id<WorkId>(entry->d_name);
    std::array<char, 256> target{};
    const std::string link = path + "/" + entry->d_name;
    const ssize_t size = readlink(link.c_str(), target.data(), target.size());
    if (!work || size <= 0) continue;
    const std::string_view text(target.data(), static_cast<std::size_t>(size));
    const auto effect = parse_effect_id(text.substr(text.rfind('/') + 1));
    // One whose start has no outcome yet is observed with that.
    if (!effect || around_.state().outbox.contains(*effect)) continue;
    Spawn spawn;
    spawn.work = *work;
    adopt_session(*effect, {std::move(spawn), ToNobody{}}, *work);
  }
  closedir(folder);
}

void Runner::session_started(Run run, Outcome outcome) {
  const Spawn spawn = std::get<Spawn>(run.what.what);
  const Outcome told = outcome_of_start(run.effect, spawn.work, std::move(outcome));
  if (told.ended == Ended::Failed) {
    done(run.effect, told, {run.folder.path(), run_path(around_, run.effect)});
    for (const EffectId killer : run.killers) done(killer, {});
    return;
  }
  done(run.effect, told, {run.folder.path()});
  adopt_session(run.effect, run.what, spawn.work);
  if (run.killers.empty()) return;
  for (auto& [number, pane] : runs_) {
    if (pane.session != spawn.work) continue;
    pane.killers = std::move(run.killers);
    return begin_kill(pane, run.grace.value_or(Duration{5000}));
  }
  for (const EffectId killer : run.killers) done(killer, {});
}

void Runner::session_ended(const Run& run, const Outcome& outcome) {
  gone_[run.session] = run.folder.path();
  reports_.emplace_back(AgentGone{run.session, outcome});
}

}  // namespace reeve::adapters
