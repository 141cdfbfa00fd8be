#include "base/match.h"
#include "runbook/arguments.h"
#include "runbook/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

// [pipeline] and its phases.
namespace reeve::runbook {
namespace {

using definition::Phase;
using definition::Pipeline;

// What the single phase needs beside its value, until all of them are there.
struct PhaseNotes {
  Where where;  // of its name
  std::optional<Where> next;
  std::optional<Where> on_fail;
  std::vector<Asked> asked;
  std::vector<Carrier> carriers;
};

std::vector<std::string> names_of(const std::vector<const Value*>& texts) {
  std::vector<std::string> names;
  names.reserve(texts.size());
  for (const Value* text : texts) names.push_back(text->text);
  return names;
}

std::vector<std::string> references(Section& section, Keys keys, std::string_view kind) {
  const std::vector<const Value*> texts = section.texts(keys);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    section.refer(*texts[i], kind, texts[i]->text);
    for (std::size_t j = 0; j < i; ++j) {
      if (texts[i]->text != texts[j]->text) continue;
      section.expected(*texts[i], *keys.begin(), fmt::format("`{}` only once", texts[i]->text));
    }
  }
  return names_of(texts);
}

definition::Map inputs_in(Section& section, std::vector<Asked>& asked) {
  definition::Map map;
  for (const auto& [member, text] : section.map({"inputs"})) {
    if (member->value.kind == Value::Kind::Text) section.ask(member->value, asked);
    map.emplace_back(member->key, text);
  }
  return map;
}

// ── What a phase does ──

void read_children(Section& section, Phase& phase, PhaseNotes& notes) {
  auto join = definition::Join::All;
  if (const auto word = section.choice({"join"}, {"all", "any", "first_failure"})) {
    join = static_cast<definition::Join>(*word);
  }
  const std::string pipeline = section.reference({"pipeline"}, "pipeline");
  const definition::Map inputs = inputs_in(section, notes.asked);
  const std::string values = section.filled({"for_each"}, notes.asked);
  const auto max = section.number({"max"}, 1);
  const std::vector<const Value*> several = section.texts({"parallel"});
  for (const Value* each : several) section.refer(*each, "pipeline", each->text);
  const bool fans_out = section.has("for_each");

  if (fans_out) {
    if (!section.has("pipeline")) section.missing("pipeline", "what runs for each value");
    phase.action = definition::RunForEach{values, pipeline, max.value_or(8), join};
  } else if (section.has("pipeline")) {
    phase.action = definition::RunPipeline{pipeline, inputs};
  } else if (section.has("parallel")) {
    if (several.empty())
      section.expected(*section.find({"parallel"}), "parallel", "some pipelines");
    phase.action = definition::RunParallel{names_of(several), join};
  }
  const auto only_with = [&](std::string_view key, bool fits, std::string_view other) {
    if (!section.has(key) || fits) return;
    section.expected(*section.find({key}), key, fmt::format("{} beside it", other));
  };
  only_with("join", fans_out || section.has("parallel"), "`parallel` or `for_each`");
  only_with("max", fans_out, "`for_each`");
  only_with("inputs", section.has("pipeline") && !fans_out, "`pipeline` without `for_each`");
}

void read_action_of(Section& section, Phase& phase, PhaseNotes& notes) {
  const std::string run = section.shell({"run"}, notes.asked);
  const std::string agent = section.reference({"agent", "task"}, "agent");
  const std::string strategy = section.reference({"strategy"}, "strategy");
  std::vector<std::string_view> found;
  for (const std::string_view key : {"run", "agent", "task", "strategy", "pipeline", "parallel"}) {
    if (section.has(key)) found.push_back(key);
  }
  const bool both_names = section.has("agent") && section.has("task");  // told already
  if (found.empty() && !section.has("for_each")) {
    section.mistake(section.where(),
                    fmt::format("{} does nothing: it needs one of `run`, `agent`, `strategy`, "
                                "`pipeline` and `parallel`",
                                section.label()));
  } else if (found.size() > 1 && !both_names) {
    section.mistake(section.where_of(*section.find({found[1]})),
                    fmt::format("{} has both `{}` and `{}`: a phase does exactly one thing",
                                section.label(),
                                found[0],
                                found[1]));
  }
  if (section.has("run")) phase.action = definition::RunShell{run};
  if (section.has("agent") || section.has("task")) phase.action = definition::RunAgent{agent};
  if (section.has("strategy")) phase.action = definition::RunStrategy{strategy};
  read_children(section, phase, notes);
  if (const auto strict = section.yes_or_no({"strict"})) {
    phase.strict = *strict;
    if (!section.has("run")) {
      section.expected(*section.find({"strict"}), "strict", "`run` beside it");
    }
  }
}

// ── What it holds ──

void read_slot(Section& section, const Value& value, Phase& phase) {
  if (value.kind == Value::Kind::Text) {
    section.refer(value, "semaphore", value.text);
    phase.slots.push_back({value.text, 1});
    return;
  }
  if (!section.expect(value, Value::Kind::Table, "semaphore")) return;
  Section inner = section.within(value, "semaphore");
  definition::SlotUse slot;
  slot.name = inner.reference({"name"}, "semaphore");
  if (!inner.has("name")) inner.missing("name", "which semaphore");
  slot.weight = inner.number({"weight"}, 1).value_or(1);
  if (!slot.name.empty()) {
    section.loading().slots.push_back({slot, section.where_of(value)});
  }
  inner.finish();
  phase.slots.push_back(slot);
}

void read_holdings(Section& section, Phase& phase) {
  phase.locks = references(section, {"lock"}, "lock");
  const Value* slots = section.find({"semaphore"});
  if (!slots) return;
  if (slots->kind != Value::Kind::List) return read_slot(section, *slots, phase);
  for (const Value& each : slots->items) read_slot(section, each, phase);
}

// ── When it fails ──

// "retry:2:30s"
std::optional<definition::Retry> retry_of(std::string_view text) {
  text.remove_prefix(6);
  const std::size_t colon = text.find(':');
  const std::string_view digits = text.substr(0, colon);
  definition::Retry retry;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), retry.max);
  if (error != std::errc{} || end != digits.end()) return std::nullopt;
  if (colon == std::string_view::npos) return retry;
  const Result<Duration> delay = parse_duration(text.substr(colon + 1));
  if (!delay) return std::nullopt;
  retry.delay = *delay;
  return retry;
}

void read_failure(Section& section, Phase& phase, PhaseNotes& notes) {
  if (auto retry = section.section({"retry"})) {
    phase.retry.max = retry->number({"max"}).value_or(0);
    if (!retry->has("max")) retry->missing("max", "how often it is tried again");
    phase.retry.delay = retry->duration({"delay"}, Duration{0}).value_or(Duration{0});
    retry->finish();
  }
  if (const auto text = section.text({"on_fail"})) {
    const Value& value = *section.find({"on_fail"});
    if (text->starts_with("retry:")) {
      const auto retry = retry_of(*text);
      if (!retry) {
        section.expected(value, "on_fail", "\"retry:TIMES:DELAY\" such as \"retry:2:30s\"");
      } else if (section.has("retry")) {
        section.expected(value, "on_fail", "no second `retry`");
      } else {
        phase.retry = *retry;
      }
    } else {
      phase.on_fail = on_fail_of(*text);
      notes.on_fail = section.where_of(value);
    }
  }
  if (const auto word = section.choice({"on_unknown"}, {"ask", "retry", "fail"})) {
    phase.on_unknown = static_cast<definition::OnUnknown>(*word);
  }
  if (const auto next = section.text({"next"})) {
    phase.ends = true;
    if (*next != "end") phase.next = *next;
    notes.next = section.where_of(*section.find({"next"}));
  }
  if (const auto visits = section.number({"max_visits"}, 1)) phase.max_visits = *visits;
}

Phase read_phase(Section& section, PhaseNotes& notes) {
  Phase phase;
  notes.where = section.where();
  if (const auto name = section.text({"name"})) {
    phase.name = *name;
    notes.where = section.where_of(*section.find({"name"}));
    if (*name == "escalate" || *name == "fail" || *name == "end" || name->starts_with("retry:") ||
        name->empty() || name->find('\n') != std::string::npos) {
      section.expected(*section.find({"name"}),
                       "name",
                       fmt::format("another name than `{}`, which means something else", *name));
    }
  } else if (!section.has("name")) {
    section.missing("name", "what the phase is called");
  }
  Environment env = environment_in(section, notes.asked);
  phase.env = std::move(env.variables);
  notes.carriers = std::move(env.carriers);
  read_action_of(section, phase, notes);
  phase.pre = references(section, {"pre"}, "guard");
  phase.post = references(section, {"post"}, "guard");
  read_holdings(section, phase);
  phase.timeout = section.duration({"timeout"});
  read_failure(section, phase, notes);
  phase.cwd = section.filled({"cwd"}, notes.asked);
  section.finish();
  return phase;
}

// ── The pipeline as a whole ──

class PipelineReader {
 public:
  PipelineReader(Section& section, std::string name) : section_(section), name_(std::move(name)) {}

  Pipeline read() {
    read_inputs();
    read_workspace();
    for (Section& phase : section_.sections("phase")) {
      PhaseNotes notes;
      pipeline_.phases.push_back(read_phase(phase, notes));
      notes_.push_back(std::move(notes));
    }
    if (!section_.has("phase")) {
      section_.missing("phase", fmt::format("at least one [[pipeline.{}.phase]]", name_));
    }
    read_rest();
    check_phases();
    check_names();
    return std::move(pipeline_);
  }

 private:
  const Phase* phase_named(std::string_view name) const {
    const auto found = std::ranges::find(pipeline_.phases, name, &Phase::name);
    return found == pipeline_.phases.end() ? nullptr : &*found;
  }
  std::vector<std::string> phase_names() const {
    std::vector<std::string> names;
    names.reserve(pipeline_.phases.size());
    for (const Phase& phase : pipeline_.phases) {
      if (!phase.name.empty()) names.push_back(phase.name);
    }
    return names;
  }

  void read_inputs() {
    for (const Value* input : section_.texts({"inputs"})) {
      if (!is_placeholder_name(input->text)) {
        section_.expected(*input,
                          "inputs",
                          fmt::format("names that can be placeholders (a small letter, then "
                                      "letters, digits and _), not `{}`",
                                      input->text));
      }
      if (std::ranges::find(pipeline_.inputs, input->text) != pipeline_.inputs.end()) {
        section_.expected(*input, "inputs", fmt::format("`{}` only once", input->text));
      }
      pipeline_.inputs.push_back(input->text);
    }
    for (const auto& [member, text] : section_.map({"defaults"})) {
      if (std::ranges::find(pipeline_.inputs, member->key) == pipeline_.inputs.end()) {
        section_.mistake(section_.where_of(member->place),
                         fmt::format("`defaults` in {}: `{}` is no input{}",
                                     section_.label(),
                                     member->key,
                                     hint(member->key, pipeline_.inputs)));
      }
      defaults_.push_back({member->key, {}});
      if (member->value.kind == Value::Kind::Text) {
        section_.ask(member->value, defaults_.back().second);
      }
      pipeline_.defaults.emplace_back(member->key, text);
    }
  }

  void read_workspace() {
    const Value* value = section_.find({"workspace"});
    if (!value) return;
    definition::Workspace workspace;
    if (value->kind == Value::Kind::Text) {
      // "folder": one of its own, wherever Reeve keeps them. Anything else is where it is.
      section_.ask(*value, early_);
      if (value->text != "folder") workspace.folder = value->text;
    } else if (auto inner = section_.section({"workspace"})) {
      workspace.git = inner->yes_or_no({"git"}).value_or(false);
      workspace.branch = inner->filled({"branch"}, early_);
      workspace.base = inner->filled({"base"}, early_);
      workspace.folder = inner->filled({"folder"}, early_);
      for (const std::string_view key : {"branch", "base"}) {
        if (inner->has(key) && !workspace.git) {
          inner->expected(*inner->find({key}), key, "`git = true` beside it");
        }
      }
      if (workspace.git && !inner->has("branch")) {
        inner->missing("branch", "the branch that is checked out there");
      }
      inner->finish();
    } else {
      return;
    }
    pipeline_.workspace = workspace;
  }

  void read_rest() {
    if (const auto text = section_.text({"on_fail"})) {
      const Value& value = *section_.find({"on_fail"});
      pipeline_.on_fail = on_fail_of(*text);
      if (text->starts_with("retry:")) {
        section_.expected(
            value, "on_fail", "escalate, fail or a phase; `retry` belongs to a phase");
      } else if (std::holds_alternative<definition::GoTo>(pipeline_.on_fail)) {
        check_target(*text, section_.where_of(value), "on_fail");
      }
    }
    if (const auto text = section_.text({"on_cancel"})) {
      pipeline_.on_cancel = *text;
      check_target(*text, section_.where_of(*section_.find({"on_cancel"})), "on_cancel");
    }
    for (const Value* text : section_.texts({"after"})) {
      section_.ask(*text, after_);
      pipeline_.after.push_back(text->text);
    }
    for (auto [key, names] :
         {std::pair{"pass_env", &pipeline_.pass_env}, std::pair{"secret", &pipeline_.secret}}) {
      for (const Value* text : section_.texts({key})) {
        if (!is_variable_name(text->text)) {
          section_.expected(*text, key, "the name of an environment variable");
        }
        names->push_back(text->text);
      }
    }
  }

  void check_target(const std::string& phase, const Where& where, std::string_view key) {
    if (phase_named(phase)) return;
    std::vector<std::string> valid = phase_names();
    if (key == "on_fail") valid.insert(valid.end(), {"escalate", "fail"});
    if (key == "next") valid.emplace_back("end");
    section_.mistake(where,
                     fmt::format("`{}` in {}: there is no phase `{}`{}",
                                 key,
                                 section_.label(),
                                 phase,
                                 hint(phase, valid)));
  }

  void check_phases() {
    for (std::size_t i = 0; i < notes_.size(); ++i) {
      const Phase& phase = pipeline_.phases[i];
      const PhaseNotes& notes = notes_[i];
      if (phase_named(phase.name) != &phase && !phase.name.empty()) {
        section_.mistake(
            notes.where,
            fmt::format("{} has two phases called `{}`", section_.label(), phase.name));
      }
      if (std::ranges::find(pipeline_.inputs, phase.name) != pipeline_.inputs.end()) {
        section_.mistake(notes.where,
                         fmt::format("`{0}` is an input and a phase of {1}: {{{0}}} could mean "
                                     "either",
                                     phase.name,
                                     section_.label()));
      }
      if (notes.next && !phase.next.empty()) check_target(phase.next, *notes.next, "next");
      if (const auto* to =
              phase.on_fail ? std::get_if<definition::GoTo>(&*phase.on_fail) : nullptr) {
        check_target(to->phase, *notes.on_fail, "on_fail");
      }
    }
    PipelineNotes notes{name_, section_.label(), phase_places(), {}};
    for (const PhaseNotes& each : notes_) notes.carriers.push_back(each.carriers);
    section_.loading().pipelines.push_back(std::move(notes));
  }

  std::vector<Where> phase_places() const {
    std::vector<Where> places;
    places.reserve(notes_.size());
    for (const PhaseNotes& notes : notes_) places.push_back(notes.where);
    return places;
  }

  void complain(const std::vector<Asked>& asked, const std::vector<std::string>& known) {
    for (const Asked& each : asked) {
      if (is_known(each.name, known)) continue;
      section_.mistake(each.where, unknown_name(each, known, section_.label()));
    }
  }

  // Defaults come first, one after the other; then the workspace; then the phases.
  void check_names() {
    std::vector<std::string> known = {"id", "name", "project"};
    const auto add_input = [&](const std::string& name) {
      known.push_back(name);
      known.push_back(name + ".*");
    };
    const auto has_default = [&](const std::string& name) {
      return std::ranges::find(
                 defaults_, name, &std::pair<std::string, std::vector<Asked>>::first) !=
             defaults_.end();
    };
    for (const std::string& name : pipeline_.inputs) {
      if (!has_default(name)) add_input(name);
    }
    for (const auto& [name, asked] : defaults_) {
      complain(asked, known);
      add_input(name);
    }
    std::vector<std::string> inputs;
    for (const std::string& name : pipeline_.inputs) {
      inputs.insert(inputs.end(), {name, name + ".*"});
    }
    complain(after_, inputs);
    known.insert(known.end(), {"phase", "attempt"});
    complain(early_, known);
    const std::vector<std::string> all = names_in(pipeline_);
    for (const PhaseNotes& notes : notes_) complain(notes.asked, all);
  }

  Section& section_;
  std::string name_;
  Pipeline pipeline_;
  std::vector<PhaseNotes> notes_;
  std::vector<std::pair<std::string, std::vector<Asked>>> defaults_;
  std::vector<Asked> after_;
  std::vector<Asked> early_;  // of the workspace
};

}  // namespace

// What other pipelines publish is theirs: of a phase that runs some there is only what a person
// answered.
static bool publishes(const Phase& phase) {
  return match(
      phase.action,
      [](const definition::RunShell&) { return true; },
      [](const definition::RunAgent&) { return true; },
      [](const definition::RunStrategy&) { return true; },
      [](const definition::RunPipeline&) { return false; },
      [](const definition::RunParallel&) { return false; },
      [](const definition::RunForEach&) { return false; });
}

std::vector<std::string> names_in(const definition::Pipeline& pipeline) {
  std::vector<std::string> names;
  for (const std::string& name : pipeline.inputs) names.insert(names.end(), {name, name + ".*"});
  names.insert(names.end(), {"id", "name", "phase", "attempt", "project"});
  if (pipeline.workspace) names.emplace_back("workspace");
  if (pipeline.workspace && pipeline.workspace->git) names.emplace_back("branch");
  for (const Phase& phase : pipeline.phases) {
    names.push_back(phase.name + (publishes(phase) ? ".*" : ".answer"));
  }
  return names;
}

void read_pipeline(Section& section, const std::string& name) {
  Pipeline pipeline = PipelineReader(section, name).read();
  section.loading().runbook.set.pipelines.set(name, std::move(pipeline));
}

}  // namespace reeve::runbook
