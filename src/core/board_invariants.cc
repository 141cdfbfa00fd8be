#include "base/match.h"
#include "core/board_detail.h"
#include "core/invariants.h"

namespace reeve::board {
namespace {

class Checker {
 public:
  Checker(const State& state, Violations& violations)
      : state_(state), table_(state.board), violations_(violations) {}

  void tasks();
  void sections();
  void runners();
  void waiters();
  void sizes();
  void deadlines();
  void timers();

 private:
  void must(bool truth, const std::string& who, const char* words) {
    if (!truth) violations_.push_back("board " + who + ": " + words);
  }
  bool is_expected(ProjectNo project, Time due, decltype(DueKey::what) what) const {
    return table_.due.contains({project, due, std::move(what)});
  }
  bool has_section(const RunnerName& runner, const SectionName& name) const {
    const Section* section = table_.sections.find(name);
    return section && section->lock && section->lock->runner == runner &&
           state_.now <= *section_limit(table_, name, state_.leases_from);
  }
  bool could_start(const Waiter& waiter) const;
  // For the runners of every project.
  bool has_shared_work() const {
    const auto first = table_.open_sections.lower_bound({shared_project, 0, {}});
    return first != table_.open_sections.end() && (*first).project == shared_project;
  }

  const State& state_;
  const Table& table_;
  Violations& violations_;
  std::size_t ready_ = 0;
  std::size_t held_ = 0;
  std::size_t held_in_section_ = 0;
  std::size_t ended_ = 0;
  std::size_t open_sections_ = 0;
  PersistentMap<SectionName, std::uint64_t> open_in_section_;
  PersistentMap<ProjectNo, Project> counts_;
};

void Checker::tasks() {
  for (const auto& [id, task] : table_.tasks) {
    const std::string who = to_text(id);
    must(table_.titles.contains({task.project, task.title, id}), who, "not found by its title");
    must((task.status == Status::InProgress) == task.lock.has_value(),
         who,
         "in progress and locked are not the same");
    must(is_open(task.status) != task.ended_at.has_value(), who, "open and ended at once");
    const std::int64_t below = std::int64_t{INT32_MAX} - task.priority;
    const SectionName place = task.section.value_or(SectionName{task.project, ""});
    const bool is_ready = table_.ready.contains({place, static_cast<std::uint32_t>(below), id});
    must(is_ready == (task.status == Status::Pending || (task.lock && task.lock->expired)),
         who,
         "ready and free are not the same");
    ready_ += is_ready ? 1 : 0;
    if (task.lock) {
      ++held_;
      must(table_.held.contains({task.lock->runner, id}), who, "not among what its runner holds");
      must(table_.runners.contains(task.lock->runner), who, "held by an unknown runner");
      must(task.lock->expired || is_expected(task.project, task.lock->due, TaskLease{id}),
           who,
           "nothing looks at its lease");
      const auto over = over_at(task.lock->lease, state_.leases_from);
      must(task.lock->expired || task.lock->due <= over, who, "its lease is looked at too late");
      if (task.section) {
        ++held_in_section_;
        must(table_.held_in_section.contains({*task.section, id}),
             who,
             "not among what is held in its section");
      }
    }
    if (task.ended_at) {
      ++ended_;
      ++counts_.edit_or_insert(task.project).finished;
      must(table_.ended.contains({task.project, *task.ended_at, id}), who, "never forgotten");
      must(is_expected(
               task.project, saturating_add(*task.ended_at, limits::finished_kept_for), Forget{id}),
           who,
           "nothing forgets it");
    } else {
      ++counts_.edit_or_insert(task.project).open;
      if (task.section) ++open_in_section_.edit_or_insert(*task.section);
    }
  }
}

// In a section works one runner at a time.
void Checker::sections() {
  for (const auto& [name, section] : table_.sections) {
    must(table_.section_order.contains({name.project, section.order, name.name}),
         name.name,
         "without a place among the sections");
    must(table_.open_sections.contains({name.project, section.order, name.name}) ==
             (section.open > 0),
         name.name,
         "open and among the open ones are not the same");
    open_sections_ += section.open > 0 ? 1 : 0;
    const std::uint64_t* open = open_in_section_.find(name);
    must(section.open == (open ? *open : 0), name.name, "open tasks miscounted");
    if (section.lock) {
      ++held_;
      must(section.open > 0, name.name, "held without an open task");
      must(table_.held.contains({section.lock->runner, name}),
           name.name,
           "not among what its runner holds");
      must(
          section.lock->expired || is_expected(name.project, section.lock->due, SectionLease{name}),
          name.name,
          "nothing looks at its lease");
      const Time limit = *section_limit(table_, name, state_.leases_from);
      must(section.lock->expired || section.lock->due <= saturating_add(limit, Duration{1}),
           name.name,
           "its lease is looked at too late");
      must(table_.runners.contains(section.lock->runner), name.name, "held by an unknown runner");
    }
    for (auto at = table_.held_in_section.lower_bound({name, {}});
         at != table_.held_in_section.end() && (*at).section == name;
         ++at) {
      const BoardTask* task = table_.tasks.find((*at).task);
      if (!task || !task->lock || task->lock->expired) continue;
      const bool over = is_over(task->lock->lease, state_.leases_from, state_.now);
      must(over || (section.lock && section.lock->runner == task->lock->runner),
           name.name,
           "two runners at once");
    }
  }
  for (const auto& [name, open] : open_in_section_) {
    must(table_.sections.contains(name), name.name, "tasks of a section that does not exist");
  }
}

void Checker::runners() {
  for (const auto& [name, runner] : table_.runners) {
    ++counts_.edit_or_insert(name.project).runners;
    must(is_expected(name.project, runner.due, RunnerSilence{name}),
         name.name,
         "nothing notices its silence");
  }
  for (const auto& [number, project] : table_.projects) {
    const Project* counted = counts_.find(number);
    const Project none;
    const Project& count = counted ? *counted : none;
    must(project.open == count.open && project.finished == count.finished &&
             project.runners == count.runners,
         "project",
         "tasks or runners miscounted");
    must(project.finished <= limits::finished_kept, "project", "too many finished tasks kept");
  }
  for (const auto& [number, count] : counts_) {
    must(table_.projects.contains(number), "project", "with tasks or runners, and not known");
  }
  std::optional<RunnerName> holder;
  std::size_t holds = 0;
  for (const HeldKey& key : table_.held) {
    holds = holder == key.runner ? holds + 1 : 1;
    holder = key.runner;
    must(holds <= most_held, key.runner.name, "holds more than it may");
  }
  must(table_.waiters.size() <= limits::waiters_a_line, "lines", "more wait than may");
}

// Whether what its own runner has is all that it waits for. (One that is over, or away, is not
// served: it is told by its own deadline, or when it comes back.)
bool Checker::could_start(const Waiter& waiter) const {
  const RunnerName& runner = waiter.runner;
  if (waiter.until <= state_.now || !session::is_here(state_, waiter.session)) return false;
  if (const ThisTask* wanted = std::get_if<ThisTask>(&waiter.wanted)) {
    const BoardTask* task = table_.tasks.find(wanted->task);
    if (!task || !is_open(task->status)) return false;
    const bool is_locked = task->lock && !task->lock->expired;
    const bool is_its_own = is_locked && task->lock->runner == runner;
    if (!task->section)
      return is_its_own && !is_over(task->lock->lease, state_.leases_from, state_.now);
    return (!is_locked || is_its_own) && has_section(runner, *task->section);
  }
  if (const auto& section = std::get<NextTask>(waiter.wanted).section) {
    return has_section(runner, *section);
  }
  for (auto at = table_.held.lower_bound({runner, SectionName{}});
       at != table_.held.end() && (*at).runner == runner;
       ++at) {
    const SectionName* section = std::get_if<SectionName>(&(*at).what);
    if (!section || !has_section(runner, *section)) continue;
    const auto ready = table_.ready.lower_bound({*section, 0, {}});
    if (ready != table_.ready.end() && (*ready).place == *section) return true;
  }
  return false;
}

void Checker::waiters() {
  std::size_t for_task = 0;
  std::size_t in_order = 0;
  for (const auto& [id, waiter] : table_.waiters) {
    const std::string& who = waiter.runner.name;
    must(table_.lines.contains({waiter.line, id}), who, "waits in no line");
    must(table_.runner_waiters.contains({waiter.runner, id}), who, "waits for nobody");
    must(is_expected(waiter.runner.project, waiter.until, WaitEnd{id}), who, "waits for ever");
    if (const ThisTask* wanted = std::get_if<ThisTask>(&waiter.wanted)) {
      ++for_task;
      must(table_.task_waiters.contains({wanted->task, id}), who, "is not told of its task's end");
    } else if (std::get<NextTask>(waiter.wanted).in_order) {
      ++in_order;
      must(table_.order_waiters.contains({waiter.runner.project, id}),
           who,
           "is not told of new tasks");
    }
    if (waiter.session) {
      must(state_.sessions.bound.contains({waiter.session, session::WaiterPlace{id}}),
           who,
           "waits for a connection that does not know");
    }
    // Somebody has what it waits for, or the line is about to be served.
    const bool held = std::visit(
        [&](const auto& line) {
          using Kind = std::decay_t<decltype(line)>;
          if constexpr (std::is_same_v<Kind, SectionName>) {
            // Any task will do, and others have all that are open.
            const Project* project = table_.projects.find(line.project);
            if (line.name.empty()) return has_shared_work() || (project && project->open > 0);
            const Section* section = table_.sections.find(line);
            return section && section->lock && !section->lock->expired;
          } else {
            const BoardTask* task = table_.tasks.find(line);
            return task && task->lock && !task->lock->expired;
          }
        },
        waiter.line);
    bool served = false;
    for (const DueKey& key : table_.due) {
      const ServeLine* serve = std::get_if<ServeLine>(&key.what);
      served |= serve && serve->line == waiter.line;
      served |= std::holds_alternative<TellWaiters>(key.what);
    }
    must(held || served, who, "waits for what nobody has");
    for (const DueKey& key : table_.due) {
      const ServeRunner* serve = std::get_if<ServeRunner>(&key.what);
      served |= serve && serve->runner == waiter.runner && serve->after < id;
    }
    must(served || !could_start(waiter), who, "waits for what its own runner has");
  }
  must(table_.lines.size() == table_.waiters.size(), "lines", "somebody who does not wait");
  must(table_.runner_waiters.size() == table_.waiters.size(), "lines", "a waiter too many");
  must(table_.task_waiters.size() == for_task, "lines", "a waiter for a task too many");
  must(table_.order_waiters.size() == in_order, "lines", "a waiter in order too many");
}

void Checker::sizes() {
  must(table_.titles.size() == table_.tasks.size(), "titles", "one too many");
  must(table_.ready.size() == ready_, "ready", "one too many");
  must(table_.held.size() == held_, "held", "one too many");
  must(table_.held_in_section.size() == held_in_section_, "held in sections", "one too many");
  must(table_.ended.size() == ended_, "ended", "one too many");
  must(table_.section_order.size() == table_.sections.size(), "sections", "one too many");
  must(table_.open_sections.size() == open_sections_, "open sections", "one too many");
}

// Time does nothing to what is not there: every deadline is the one its subject knows.
void Checker::deadlines() {
  const auto is_of = [](const std::optional<Tenure>& lock, Time due) {
    return lock && !lock->expired && lock->due == due;
  };
  for (const DueKey& key : table_.due) {
    const bool is_known = match(
        key.what,
        [&](const TaskLease& it) {
          const BoardTask* task = table_.tasks.find(it.task);
          return task && task->project == key.project && is_of(task->lock, key.due);
        },
        [&](const SectionLease& it) {
          const Section* section = table_.sections.find(it.section);
          return section && it.section.project == key.project && is_of(section->lock, key.due);
        },
        [&](const WaitEnd& it) {
          const Waiter* waiter = table_.waiters.find(it.waiter);
          return waiter && waiter->runner.project == key.project && waiter->until == key.due;
        },
        [&](const RunnerSilence& it) {
          const Runner* runner = table_.runners.find(it.runner);
          return runner && it.runner.project == key.project && runner->due == key.due;
        },
        [&](const Forget& it) {
          const BoardTask* task = table_.tasks.find(it.task);
          return task && task->project == key.project && task->ended_at &&
                 saturating_add(*task->ended_at, limits::finished_kept_for) == key.due;
        },
        // What these find nothing to do for is no harm.
        [](const ServeLine&) { return true; },
        [](const TellWaiters&) { return true; },
        [](const ServeRunner&) { return true; });
    must(is_known, "deadline", "of what is not there, or not at its time");
  }
}

void Checker::timers() {
  PersistentMap<ProjectNo, Time> first;
  for (const DueKey& key : table_.due) {
    if (!first.contains(key.project)) first.set(key.project, key.due);
  }
  for (const auto& [project, due] : first) {
    must(deadline_of(state_.timers, Due{project}) == due, "timer", "not at the first deadline");
  }
  for (const auto& [subject, key] : state_.timers.armed) {
    const Due* due = std::get_if<Due>(&subject);
    must(!due || first.contains(due->project), "timer", "for nothing");
  }
}

}  // namespace

void check(const State& state, Violations& violations) {
  Checker checker(state, violations);
  checker.tasks();
  checker.sections();
  checker.runners();
  checker.waiters();
  checker.sizes();
  checker.deadlines();
  checker.timers();
}

}  // namespace reeve::board
