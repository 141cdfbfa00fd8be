#include "base/match.h"
#include "core/json_object.h"
#include "core/limits.h"
#include "core/pipeline_course.h"
#include "core/worker.h"

#include <algorithm>
#include <limits>

// Phases that are pipelines: one, several side by side, or one for each value of a list. A child
// tells its parent by noting its end there; the parent attends to that with the next tick.
namespace reeve::pipeline {
namespace {

constexpr std::uint32_t no_limit = std::numeric_limits<std::uint32_t>::max();

const std::string* find_in(const definition::Map& map, const std::string& name) {
  const auto found = std::ranges::find(map, name, &definition::Map::value_type::first);
  return found == map.end() ? nullptr : &found->second;
}

// What the children are to be, or what is wrong with it.
std::variant<Children, Failure> planned(const definition::Action& action, Filler& fill) {
  Children children;
  children.at_once = no_limit;
  if (const auto* parallel = std::get_if<definition::RunParallel>(&action)) {
    children.total =
        static_cast<std::uint32_t>(std::min<std::size_t>(parallel->pipelines.size(), no_limit));
    children.join = parallel->join;
  } else if (const auto* each = std::get_if<definition::RunForEach>(&action)) {
    const std::string list = fill(each->values);
    if (fill.unknown()) return unknown_name(fill);
    std::optional<std::vector<std::string>> values = json::read_array(list);
    if (!values) return Failure{"for_each needs a JSON array", Cause::Ordinary, list};
    children.total = static_cast<std::uint32_t>(std::min<std::size_t>(values->size(), no_limit));
    children.values = Boxed<std::vector<std::string>>(*std::move(values));
    children.join = each->join;
    children.at_once = std::max<std::uint32_t>(each->max, 1);
  } else {
    // What its inputs need is known now or not at all.
    if (const auto* run = std::get_if<definition::RunPipeline>(&action)) (void)fill(run->inputs);
    if (fill.unknown()) return unknown_name(fill);
    children.total = 1;
  }
  return children;
}

// Its own inputs, else those of the parent by the same name.
void inherit(definition::Map& inputs, const Pipeline& parent, const definition::Pipeline* child) {
  if (!child) return;
  for (const std::string& name : child->inputs) {
    const std::string* value = find_in(parent.origin->inputs, name);
    if (value && !find_in(inputs, name)) inputs.emplace_back(name, *value);
  }
}

Begin child_of(const Turn& turn, const Pipeline& parent, const Children& children) {
  const Plan plan = plan_of(turn, parent);
  Begin begin;
  begin.set = parent.origin->set;
  begin.environment = parent.origin->environment;
  begin.starter = ByParent{parent.id, parent.entry, children.next};
  match(
      plan.phase->action,
      [](const definition::RunShell&) {},
      [](const definition::RunAgent&) {},
      [](const definition::RunStrategy&) {},
      [&](const definition::RunPipeline& run) {
        Filler fill(turn, parent);
        begin.name = run.pipeline;
        begin.inputs = fill(run.inputs);
      },
      [&](const definition::RunParallel& run) { begin.name = run.pipelines[children.next]; },
      [&](const definition::RunForEach& run) {
        begin.name = run.pipeline;
        // As with the items of a queue: what an object says, else all of it for the first input.
        if (const definition::Pipeline* child = plan.set->pipelines.find(run.pipeline)) {
          begin.inputs =
              worker::inputs_from(child->inputs, (*children.values)[children.next], true);
        }
      });
  inherit(begin.inputs, parent, plan.set->pipelines.find(begin.name));
  return begin;
}

const Children* children_of(const Pipeline& pipeline) {
  if (const Acting* acting = std::get_if<Acting>(&pipeline.course)) {
    return std::get_if<Children>(&acting->what);
  }
  if (const Leaving* leaving = std::get_if<Leaving>(&pipeline.course)) {
    return std::get_if<Children>(&leaving->still);
  }
  return nullptr;
}

Children* edit_children(Turn& turn, PipelineId id) {
  Pipeline& pipeline = edit(turn, id);
  if (Acting* acting = std::get_if<Acting>(&pipeline.course)) {
    return std::get_if<Children>(&acting->what);
  }
  Leaving* leaving = std::get_if<Leaving>(&pipeline.course);
  return leaving ? std::get_if<Children>(&leaving->still) : nullptr;
}

void note_failed(Children& children, const std::string& error) {
  ++children.failed;
  if (children.error.empty()) children.error = error;
}

bool wants_more(const Children& children) {
  const bool decided = (children.join == definition::Join::Any && children.done > 0) ||
                       (children.join == definition::Join::FirstFailure && children.failed > 0);
  return !decided && children.next < children.total && children.open < children.at_once;
}

// `looks`: how many may still be looked at.
bool has_news(const Turn& turn, PipelineId id, std::size_t& looks) {
  const Pipeline* pipeline = find(turn, id);
  if (!pipeline || !children_of(*pipeline)) return false;
  if (deadline_of(turn.state().timers, Due{id, Timer::Attend})) return true;
  const auto& open = turn.state().pipelines.children;
  for (auto at = open.lower_bound({id, 0}); at != open.end(); ++at) {
    const auto& [key, child] = *at;
    if (key.parent != id || looks == 0) break;
    --looks;
    if (has_news(turn, child, looks)) return true;
  }
  return false;
}

void start_next(Turn& turn, PipelineId id) {
  const Children children = *children_of(*find(turn, id));
  const auto started = begin(turn, child_of(turn, *find(turn, id), children));
  // The child may have ended already: then it has been counted, and is not among the open.
  Children& now = *edit_children(turn, id);
  const PipelineId* child = std::get_if<PipelineId>(&started);
  // One that entered its phase was touched there.
  if (!child || is_blocked_by(*find(turn, *child), Reason::Dependency)) turn.touch();
  if (const Refused* refused = std::get_if<Refused>(&started)) {
    note_failed(now, "could not be started: " + refused->subject);
  }
  ++now.next;
}

}  // namespace

void act_by_children(Turn& turn, PipelineId id) {
  const Pipeline& pipeline = *find(turn, id);
  Filler fill(turn, pipeline);
  std::variant<Children, Failure> children = planned(plan_of(turn, pipeline).phase->action, fill);
  if (const Failure* failure = std::get_if<Failure>(&children)) {
    return fail_phase(turn, id, *failure);
  }
  edit(turn, id).course = Acting{std::get<Children>(std::move(children))};
  attend_children(turn, id);
}

// `all`: done when all are done, failed when all ended and one failed. `any`: the first success
// wins. `first_failure`: the first failure loses. Those that are left are cancelled, observed.
void attend_children(Turn& turn, PipelineId id) {
  while (wants_more(*children_of(*find(turn, id)))) {
    if (!turn.may_touch()) return attend_soon(turn, id);
    start_next(turn, id);
  }
  const Children& children = *children_of(*find(turn, id));
  const Failure failure{children.error};
  const bool all_ended = children.open == 0 && children.next == children.total;
  switch (children.join) {
    case definition::Join::All:
      break;
    case definition::Join::Any:
      if (children.done > 0) return wind_down(turn, id, GoOn{});
      break;
    case definition::Join::FirstFailure:
      if (children.failed > 0) return wind_down(turn, id, FailWith{failure});
      break;
  }
  if (!all_ended) return;
  if (children.failed > 0) return fail_phase(turn, id, failure);
  acted(turn, id);
}

// They are being cancelled, as many as the step has room for.
void cancel_children(Turn& turn, PipelineId id) {
  while (true) {
    const Children& children = *children_of(*find(turn, id));
    const auto& open = turn.state().pipelines.children;
    const auto at = open.lower_bound({id, children.told});
    if (at == open.end() || (*at).first.parent != id) break;
    if (!turn.may_touch()) return attend_soon(turn, id);
    turn.touch();
    const auto [key, child] = std::pair<ChildKey, PipelineId>((*at).first, (*at).second);
    edit_children(turn, id)->told = key.index + 1;
    cancel(turn, child);
  }
  if (children_of(*find(turn, id))->open == 0) take_exit(turn, id);
}

bool has_news(const Turn& turn, PipelineId id) {
  std::size_t looks = limits::touched_a_step;
  return has_news(turn, id, looks);
}

void child_began(Turn& turn, PipelineId child, const ByParent& by) {
  turn.change().pipelines.children.set({by.pipeline, by.index}, child);
  if (Children* children = edit_children(turn, by.pipeline)) ++children->open;
}

void child_ended(
    Turn& turn, PipelineId child, const ByParent& by, Ending ending, const std::string& error) {
  if (!find(turn, by.pipeline)) return;
  const ChildKey key{by.pipeline, by.index};
  const PipelineId* open = turn.state().pipelines.children.find(key);
  if (!open || *open != child) return;
  turn.change().pipelines.children.erase(key);
  Children* children = edit_children(turn, by.pipeline);
  if (!children) return;
  --children->open;
  switch (ending) {
    case Ending::Done:
      ++children->done;
      break;
    case Ending::Failed:
      note_failed(*children, to_text(child) + ": " + error);
      break;
    case Ending::Cancelled:
      note_failed(*children, to_text(child) + " was cancelled");
      break;
  }
  attend_soon(turn, by.pipeline);
}

}  // namespace reeve::pipeline
