#include "base/match.h"
#include "runbook/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

// What can be said only when everything was read: do the definitions fit together?
namespace reeve::runbook {
namespace {

using definition::Phase;
using definition::Pipeline;
using definition::Set;

std::vector<std::string> names_of_kind(const Loading& loading, std::string_view kind) {
  std::vector<std::string> names;
  for (const auto& [name, where] : loading.runbook.defined) {
    if (name.kind == kind) names.push_back(name.name);
  }
  return names;
}

bool is_defined(const Loading& loading, const std::string& kind, const std::string& name) {
  return loading.runbook.defined.contains({kind, name});
}

// Whether a file that is not TOML may define something of that name: the word is in it.
bool may_be_unread(const Loading& loading, std::string_view name) {
  const auto is_part = [](char each) {
    return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_' || each == '-';
  };
  for (const File& file : loading.unread) {
    const std::string_view text = file.text;
    for (std::size_t at = text.find(name); at != std::string_view::npos;
         at = text.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool begins = at == 0 || !is_part(text[at - 1]);
      if (begins && (end == text.size() || !is_part(text[end]))) return true;
    }
  }
  return false;
}

// `//name` is shared by all projects: its definition may lie in another.
bool may_be_elsewhere(const Name& to) {
  const bool shared_kind = to.kind == "lock" || to.kind == "semaphore" || to.kind == "queue";
  return shared_kind && to.name.starts_with("//") && to.name.size() > 2;
}

void check_reaction(Loading& loading, const Reference& reference) {
  if (is_defined(loading, "action", reference.to.name)) return;
  std::vector<std::string> valid = names_of_kind(loading, "action");
  for (const char* own : {"nudge", "restart", "escalate"}) {
    if (reference.to.name == own || may_be_unread(loading, reference.to.name)) return;
    if (std::ranges::find(valid, own) == valid.end()) valid.emplace_back(own);
  }
  loading.mistake(
      reference.where,
      fmt::format("there is no action `{}`{}", reference.to.name, hint(reference.to.name, valid)));
}

const Phase* phase_named(const Pipeline& pipeline, std::string_view name) {
  const auto found = std::ranges::find(pipeline.phases, name, &Phase::name);
  return found == pipeline.phases.end() ? nullptr : &*found;
}

template <class Use>
void for_each_strategy(const Set& set, const Use& use) {
  for (const auto& [name, pipeline] : set.pipelines) {
    for (const Phase& phase : pipeline.phases) {
      if (const auto* run = std::get_if<definition::RunStrategy>(&phase.action)) {
        use(name, pipeline, run->strategy);
      }
    }
  }
}

// The phase that a strategy goes on with has to be there in every pipeline that uses it.
void check_strategy_phase(Loading& loading, const Reference& reference) {
  const std::size_t newline = reference.to.name.find('\n');
  const std::string strategy = reference.to.name.substr(0, newline);
  const std::string phase = reference.to.name.substr(newline + 1);
  for_each_strategy(
      loading.runbook.set,
      [&](const std::string& name, const Pipeline& pipeline, const std::string& used) {
        if (used != strategy || phase_named(pipeline, phase)) return;
        std::vector<std::string> valid = {"escalate", "fail"};
        for (const Phase& each : pipeline.phases) {
          if (!each.name.empty()) valid.push_back(each.name);
        }
        loading.mistake(
            reference.where,
            fmt::format("`on_exhaust` in [strategy.{}]: [pipeline.{}], which uses it, has "
                        "no phase `{}`{}",
                        strategy,
                        name,
                        phase,
                        hint(phase, valid)));
      });
}

}  // namespace

void check_references(Loading& loading) {
  for (const Reference& reference : std::vector(loading.references)) {
    if (reference.to.kind == "reaction") {
      check_reaction(loading, reference);
    } else if (reference.to.kind == "strategy phase") {
      check_strategy_phase(loading, reference);
    } else if (!may_be_elsewhere(reference.to) &&
               !is_defined(loading, reference.to.kind, reference.to.name) &&
               !may_be_unread(loading, reference.to.name)) {
      const auto& [kind, name] = reference.to;
      const std::vector<std::string> valid = names_of_kind(loading, kind);
      const std::string what =
          valid.empty() ? fmt::format("; define it as [{}.{}]", kind, name) : hint(name, valid);
      loading.mistake(reference.where, fmt::format("there is no {} `{}`{}", kind, name, what));
    }
  }
  for (const auto& [slot, where] : loading.slots) {
    const semaphore::Config* config = loading.runbook.set.semaphores.find(slot.name);
    if (!config || slot.weight <= config->capacity) continue;
    loading.mistake(where,
                    fmt::format("weight {} is more than semaphore `{}` has: its capacity is "
                                "{}",
                                slot.weight,
                                slot.name,
                                config->capacity));
  }
}

// From the first phase by `next`, by failing, by giving up a strategy, and by being cancelled.
void check_reachable(Loading& loading) {
  for (const PipelineNotes& notes : loading.pipelines) {
    const Pipeline* pipeline = loading.runbook.set.pipelines.find(notes.name);
    if (!pipeline || pipeline->phases.empty()) continue;
    std::set<std::string> reached;
    bool all_there = true;  // else something else has to be put right first
    std::vector<std::string> ahead = {pipeline->phases.front().name};
    if (!pipeline->on_cancel.empty()) ahead.push_back(pipeline->on_cancel);
    const auto go = [&](const definition::OnFail& where) {
      if (const auto* to = std::get_if<definition::GoTo>(&where)) ahead.push_back(to->phase);
    };
    while (!ahead.empty()) {
      const std::string name = ahead.back();
      ahead.pop_back();
      const Phase* phase = phase_named(*pipeline, name);
      all_there &= phase != nullptr;
      if (!phase || !reached.insert(name).second) continue;
      if (!phase->next.empty()) {
        ahead.push_back(phase->next);
      } else if (!phase->ends && phase != &pipeline->phases.back()) {
        ahead.push_back((phase + 1)->name);
      }
      go(phase->on_fail.value_or(pipeline->on_fail));
      if (const auto* run = std::get_if<definition::RunStrategy>(&phase->action)) {
        const definition::Strategy* strategy = loading.runbook.set.strategies.find(run->strategy);
        if (strategy) go(strategy->on_exhaust);
      }
    }
    for (std::size_t i = 0; i < pipeline->phases.size() && all_there; ++i) {
      const std::string& name = pipeline->phases[i].name;
      if (reached.contains(name) || name.empty()) continue;
      loading.mistake(
          notes.phases[i],
          fmt::format("phase `{}` of {} cannot be reached: no phase has it as `next` or "
                      "`on_fail`",
                      name,
                      notes.label));
    }
  }
}

// A circle is told once, at the queue of it that comes first by name.
void check_dead_letters(Loading& loading) {
  for (const auto& [start, where] : loading.dead_letters) {
    std::vector<std::string> chain = {start.name};
    while (chain.size() == 1 || chain.back() != start.name) {
      const queue::Config* config = loading.runbook.set.queues.find(chain.back());
      const std::string next = config && config->dead_letter ? config->dead_letter->name : "";
      const bool seen = next != start.name && std::ranges::find(chain, next) != chain.end();
      if (next.empty() || seen || next < start.name) break;
      chain.push_back(next);
    }
    if (chain.size() == 1 || chain.back() != start.name) continue;
    loading.mistake(
        where, fmt::format("dead letters would go round for ever: {}", fmt::join(chain, " -> ")));
  }
}

namespace {

// What a pipeline starts in any case: by its first phase, unless a guard stands before that.
std::vector<std::string> started_at_once(const Set& set, const std::string& name) {
  const Pipeline* pipeline = set.pipelines.find(name);
  if (!pipeline || pipeline->phases.empty() || !pipeline->phases.front().pre.empty()) return {};
  const definition::Action& action = pipeline->phases.front().action;
  if (const auto* run = std::get_if<definition::RunPipeline>(&action)) return {run->pipeline};
  if (const auto* run = std::get_if<definition::RunParallel>(&action)) return run->pipelines;
  return {};
}

// From the last of the chain back to its first, by way of none that comes before that by name.
bool goes_round(const Set& set, std::vector<std::string>& chain, std::set<std::string>& seen) {
  for (const std::string& next : started_at_once(set, chain.back())) {
    chain.push_back(next);
    if (next == chain.front()) return true;
    if (next > chain.front() && seen.insert(next).second && goes_round(set, chain, seen)) {
      return true;
    }
    chain.pop_back();
  }
  return false;
}

}  // namespace

// Nothing else could happen: something that may fail before would end it. A circle is told once.
void check_circles(Loading& loading) {
  for (const PipelineNotes& notes : std::vector(loading.pipelines)) {
    std::vector<std::string> chain = {notes.name};
    std::set<std::string> seen;
    if (!goes_round(loading.runbook.set, chain, seen)) continue;
    loading.mistake(notes.phases.front(),
                    fmt::format("{} would start itself again and again, before anything else: {}",
                                notes.label,
                                fmt::join(chain, " -> ")));
  }
}

// ── Placeholders of what several may use ──

namespace {

void check_owner(Loading& loading,
                 const Name& owner,
                 const std::vector<std::string>& known,
                 const std::string& user) {
  const auto asked = loading.asked.find(owner);
  if (asked == loading.asked.end()) return;
  for (const Asked& each : asked->second) {
    if (is_known(each.name, known)) continue;
    const std::string where = fmt::format("[{}.{}] as {} uses it", owner.kind, owner.name, user);
    loading.mistake(each.where, unknown_name(each, known, where));
  }
}

void check_names_of(Loading& loading, const std::string& name, const Pipeline& pipeline) {
  const std::vector<std::string> known = names_in(pipeline);
  const std::string user = fmt::format("[pipeline.{}]", name);
  for (const Phase& phase : pipeline.phases) {
    for (const std::string& guard : phase.pre) check_owner(loading, {"guard", guard}, known, user);
    for (const std::string& guard : phase.post) check_owner(loading, {"guard", guard}, known, user);
    if (const auto* run = std::get_if<definition::RunAgent>(&phase.action)) {
      check_owner(loading, {"agent", run->agent}, known, user);
    }
    const auto* run = std::get_if<definition::RunStrategy>(&phase.action);
    if (!run) continue;
    check_owner(loading, {"strategy", run->strategy}, known, user);
    const definition::Strategy* strategy = loading.runbook.set.strategies.find(run->strategy);
    if (!strategy) continue;
    std::vector<std::string> more = known;
    if (!strategy->checkpoint.empty()) more.emplace_back("checkpoint");
    for (const definition::Approach& approach : strategy->approaches) {
      if (const auto* agent = std::get_if<definition::RunAgent>(&approach.action)) {
        check_owner(loading, {"agent", agent->agent}, more, user);
      }
    }
  }
}

}  // namespace

namespace {

// The guards and strategies that pipelines name. (An agent may be run by itself, with any values.)
std::set<Name> used_by_pipelines(const Set& set) {
  std::set<Name> used;
  for (const auto& [name, pipeline] : set.pipelines) {
    for (const Phase& phase : pipeline.phases) {
      for (const std::string& guard : phase.pre) used.insert({"guard", guard});
      for (const std::string& guard : phase.post) used.insert({"guard", guard});
    }
  }
  for_each_strategy(set, [&](const std::string&, const Pipeline&, const std::string& strategy) {
    used.insert({"strategy", strategy});
  });
  return used;
}

// Of what no pipeline uses: a name that none of them knows has no value, whoever will use it.
void check_unused(Loading& loading) {
  if (!loading.outside->is_all || !loading.unread.empty()) return;
  const Set& set = loading.runbook.set;
  std::vector<std::string> known = {
      "id", "name", "phase", "attempt", "project", "workspace", "branch"};
  for (const auto& [name, pipeline] : set.pipelines) {
    for (std::string& each : names_in(pipeline)) {
      if (std::ranges::find(known, each) == known.end()) known.push_back(std::move(each));
    }
  }
  const std::set<Name> used = used_by_pipelines(set);
  for (const auto& [owner, asked] : std::map(loading.asked)) {
    if (owner.kind == "agent" || used.contains(owner)) continue;
    const std::string where =
        fmt::format("[{}.{}], which no pipeline uses", owner.kind, owner.name);
    for (const Asked& each : asked) {
      if (!is_known(each.name, known))
        loading.mistake(each.where, unknown_name(each, known, where));
    }
  }
}

}  // namespace

void check_names(Loading& loading) {
  check_unused(loading);
  for (const auto& [name, pipeline] : loading.runbook.set.pipelines) {
    check_names_of(loading, name, pipeline);
  }
  for (const auto& [name, command] : loading.runbook.commands) {
    const auto* start = std::get_if<StartAgent>(&command.run);
    if (!start) continue;
    std::vector<std::string> known = {"id", "name", "workspace", "project"};
    for (const Argument& argument : command.arguments.all) known.push_back(argument.name);
    check_owner(loading, {"agent", start->agent}, known, fmt::format("[command.{}]", name));
  }
}

// ── Inputs ──

namespace {

bool has(const definition::Map& map, std::string_view name) {
  return std::ranges::find(map, name, &definition::Map::value_type::first) != map.end();
}

// Whether whoever runs the command leaves it with a value, whatever he types.
bool always_has(const Command& command, std::string_view name) {
  const auto found = std::ranges::find(command.arguments.all, name, &Argument::name);
  if (found == command.arguments.all.end()) return false;
  const bool by_itself =
      found->required || found->kind == Argument::Kind::Flag || found->kind == Argument::Kind::Rest;
  return by_itself || has(command.defaults, name);
}

template <class Given>
void check_given(Loading& loading,
                 const std::string& pipeline,
                 const definition::Map& inputs,
                 const Name& by,
                 const Given& given) {
  const Pipeline* definition = loading.runbook.set.pipelines.find(pipeline);
  if (!definition) return;
  const Where where = loading.runbook.defined[by];
  for (const auto& [name, value] : inputs) {
    if (std::ranges::find(definition->inputs, name) != definition->inputs.end()) continue;
    loading.mistake(where,
                    fmt::format("[{}.{}] gives `{}`, which is no input of [pipeline.{}]{}",
                                by.kind,
                                by.name,
                                name,
                                pipeline,
                                hint(name, definition->inputs)));
  }
  for (const std::string& name : definition->inputs) {
    if (has(definition->defaults, name) || has(inputs, name) || given(name)) continue;
    loading.mistake(where,
                    fmt::format("input `{}` of [pipeline.{}] may be left without a value by "
                                "[{}.{}]: give it there, or a default",
                                name,
                                pipeline,
                                by.kind,
                                by.name));
  }
}

}  // namespace

void check_inputs(Loading& loading) {
  const Set set = loading.runbook.set;
  const auto nobody = [](const std::string&) { return false; };
  for (const auto& [name, command] : std::map(loading.runbook.commands)) {
    if (const auto* start = std::get_if<StartPipeline>(&command.run)) {
      check_given(loading,
                  start->pipeline,
                  start->inputs,
                  {"command", name},
                  [&](const std::string& input) { return always_has(command, input); });
    }
  }
  for (const auto& [name, cron] : set.crons) {
    if (const auto* run = std::get_if<cron::RunPipeline>(&cron.run)) {
      check_given(loading, run->pipeline, run->inputs, {"cron", name}, nobody);
    }
  }
  for (const auto& [name, pipeline] : set.pipelines) {
    const auto inherits = [&](const std::string& input) {
      return std::ranges::find(pipeline.inputs, input) != pipeline.inputs.end();
    };
    const Name by{"pipeline", name};
    for (const Phase& phase : pipeline.phases) {
      match(
          phase.action,
          [](const definition::RunShell&) {},
          [](const definition::RunAgent&) {},
          [](const definition::RunStrategy&) {},
          [&](const definition::RunPipeline& run) {
            check_given(loading, run.pipeline, run.inputs, by, inherits);
          },
          [&](const definition::RunParallel& run) {
            for (const std::string& child : run.pipelines) {
              check_given(loading, child, {}, by, inherits);
            }
          },
          [&](const definition::RunForEach& run) {
            const Pipeline* child = set.pipelines.find(run.pipeline);
            if (!child || !child->inputs.empty()) return;
            loading.mistake(loading.runbook.defined[by],
                            fmt::format("[pipeline.{}] has no input, so `for_each` in "
                                        "[pipeline.{}] has nothing to give it",
                                        run.pipeline,
                                        name));
          });
    }
  }
}

}  // namespace reeve::runbook
