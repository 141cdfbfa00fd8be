#include "core/pattern.h"
#include "runbook/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

// [agent], [guard], [strategy].
namespace reeve::runbook {
namespace {

// `nudge:2`: the word and how often, 1 if nothing is said.
std::optional<std::pair<std::string, std::uint32_t>> counted(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string word(text.substr(0, colon));
  if (colon == std::string_view::npos) return {{word, 1}};
  const std::string_view digits = text.substr(colon + 1);
  std::uint32_t times = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), times);
  if (error != std::errc{} || end != digits.end() || times == 0) return std::nullopt;
  return {{word, times}};
}

std::optional<definition::Response> response_of(std::string_view text) {
  const auto said = counted(text);
  if (!said) return std::nullopt;
  const auto& [word, times] = *said;
  if (word == "nudge") return definition::DoNudge{times};
  if (word == "restart") return definition::DoRestart{times};
  if (text == "escalate") return definition::DoEscalate{};
  if (text == "done") return definition::DoDone{};
  if (text == "fail") return definition::DoFail{};
  return std::nullopt;
}

// "nudge, … or fail, not `nuge:2`; did you mean `nudge:2`?" Whoever is gone cannot be nudged.
std::string no_response(std::string_view text, bool is_there = true) {
  std::vector<std::string> words = {"restart", "escalate", "done", "fail"};
  if (is_there) words.insert(words.begin(), "nudge");
  const std::size_t colon = std::min(text.find(':'), text.size());
  std::string meant = nearest(text.substr(0, colon), words);
  const bool has_times = meant == "nudge" || meant == "restart";
  if (has_times && counted(text)) meant += text.substr(colon);
  // What is right but for how often is no slip of the fingers.
  if (meant == text.substr(0, colon)) meant.clear();
  return fmt::format("{}restart, restart:N, escalate, done or fail, not `{}`{}",
                     is_there ? "nudge, nudge:N, " : "",
                     text,
                     meant.empty() ? "" : fmt::format("; did you mean `{}`?", meant));
}

void read_response(Section& section,
                   std::string_view key,
                   definition::Response& response,
                   bool is_there) {
  const auto text = section.text({key});
  if (!text) return;
  const auto parsed = response_of(*text);
  if (parsed && (is_there || !std::holds_alternative<definition::DoNudge>(*parsed))) {
    response = *parsed;
  } else {
    section.expected(*section.find({key}), key, no_response(*text, is_there));
  }
}

}  // namespace

void read_agent(Section& section, const std::string& name) {
  Loading& loading = section.loading();
  std::vector<Asked>& asked = loading.asked[{"agent", name}];
  definition::Agent agent;
  constexpr std::array<std::string_view, 5> agent_kinds = {
      "claude", "codex", "gemini", "opencode", "generic"};
  if (const auto kind =
          section.choice({"kind"}, {"claude", "codex", "gemini", "opencode", "generic"})) {
    agent.kind = agent_kinds.at(*kind);
  }
  agent.env = environment_in(section, asked).variables;
  agent.command = section.shell({"command"}, asked);
  if (!section.has("command")) {
    if (agent.kind == "generic") section.missing("command", "the program that is the agent");
    agent.command = agent.kind;
  }
  if (const auto mode = section.choice({"mode"}, {"session", "print"})) agent.session = *mode == 0;
  agent.prompt = section.filled({"prompt"}, asked);
  agent.prompt_file = section.filled({"prompt_file"}, asked);
  if (!agent.prompt_file.empty()) {
    loading.prompt_files.emplace(name, section.where_of(*section.find({"prompt_file"})));
  }
  if (section.has("prompt") && section.has("prompt_file")) {
    section.expected(*section.find({"prompt_file"}), "prompt_file", "either this or `prompt`");
  }
  agent.cwd = section.filled({"cwd"}, asked);
  // A program that is run to completion may be silent all the while, unless somebody says
  // otherwise.
  if (!agent.session) agent.idle_timeout = Duration::max();
  if (const auto idle = section.duration({"idle_timeout"})) agent.idle_timeout = *idle;
  agent.progress_timeout = section.duration({"progress_timeout"});
  agent.timeout = section.duration({"timeout"});
  for (const Value* text : section.texts({"on_idle"})) {
    if (const auto response = response_of(text->text)) {
      agent.on_idle.push_back(*response);
    } else {
      section.expected(*text, "on_idle", no_response(text->text));
    }
  }
  read_response(section, "on_exit", agent.on_exit, false);
  read_response(section, "on_error", agent.on_error, false);
  read_response(section, "on_permission", agent.on_permission, true);
  agent.asks_on_error =
      section.has("on_error") && std::holds_alternative<definition::DoEscalate>(agent.on_error);
  if (auto checkpoint = section.section({"checkpoint"})) {
    agent.checkpoint_every = checkpoint->duration({"every"}, std::chrono::seconds{1});
    agent.checkpoint_run = checkpoint->shell({"run"}, asked);
    if (!checkpoint->has("every")) checkpoint->missing("every", "how often, as in every = \"10m\"");
    if (!checkpoint->has("run")) checkpoint->missing("run", "the command that keeps the work");
    checkpoint->finish();
  }
  loading.runbook.set.agents.set(name, std::move(agent));
}

void read_guard(Section& section, const std::string& name) {
  Loading& loading = section.loading();
  std::vector<Asked>& asked = loading.asked[{"guard", name}];
  definition::Guard guard;
  guard.condition = section.shell({"condition"}, asked);
  if (!section.has("condition")) {
    section.missing("condition", "a command; the guard passes when it exits with 0");
  }
  if (auto retry = section.section({"retry"})) {
    definition::Poll poll;
    if (const auto max = retry->number({"max"})) poll.max = *max;
    if (!retry->has("max")) retry->missing("max", "how often it is checked again");
    if (const auto interval = retry->duration({"interval"})) poll.interval = *interval;
    retry->finish();
    guard.retry = poll;
  }
  guard.timeout = section.duration({"timeout"});
  if (const auto word = section.choice({"on_timeout"}, {"escalate", "block", "fail"})) {
    guard.on_timeout = static_cast<definition::OnTimeout>(*word);
    if (!section.has("timeout")) {
      section.expected(*section.find({"on_timeout"}), "on_timeout", "a `timeout` beside it");
    }
  }
  guard.wake_on = section.patterns({"wake_on"}, asked);
  loading.runbook.set.guards.set(name, std::move(guard));
}

// ── Strategy ──

namespace {

definition::Approach read_attempt(Section& section, std::vector<Asked>& asked) {
  definition::Approach approach;
  approach.name = section.text({"name"}).value_or("");
  if (!section.has("name")) section.missing("name", "what this attempt is called");
  const int actions = (section.has("merge") ? 1 : 0) + (section.has("run") ? 1 : 0) +
                      (section.has("agent") ? 1 : 0);
  if (actions != 1) {
    section.mistake(section.where(),
                    fmt::format("{} needs exactly one of `merge`, `run` and "
                                "`agent`, and has {}",
                                section.label(),
                                actions == 0 ? "none" : "several"));
  }
  const std::string run = section.shell({"run"}, asked);
  if (section.has("run")) approach.action = definition::RunShell{run};
  const std::string agent = section.reference({"agent"}, "agent");
  if (section.has("agent")) approach.action = definition::RunAgent{agent};
  const auto kind = section.choice({"merge"}, {"ff", "rebase", "squash", "merge"});
  definition::RunMerge merge;
  merge.branch = section.filled({"branch"}, asked);
  merge.into = section.filled({"into"}, asked);
  if (section.has("merge")) {
    if (kind) merge.kind = static_cast<definition::MergeKind>(*kind);
    if (!section.has("into")) section.missing("into", "the branch that is merged into");
    // Without `branch` it is {branch} that is merged.
    if (merge.branch.empty()) {
      asked.push_back({"branch", section.where_of(*section.find({"merge"}))});
    }
    approach.action = merge;
  } else {
    for (const std::string_view key : {"branch", "into"}) {
      if (!section.has(key)) continue;
      section.expected(*section.find({key}), key, "a `merge` beside it");
    }
  }
  approach.timeout = section.duration({"timeout"});
  approach.rollback = section.shell({"rollback"}, asked);
  for (const Value* text : section.texts({"fallback_on"})) {
    if (!pattern::is_valid(text->text)) {
      section.expected(*text,
                       "fallback_on",
                       fmt::format("a part of the message, `any`, `timeout`, or a regular "
                                   "expression between slashes that works, not `{}`",
                                   text->text));
    }
    approach.fallback_on.push_back(text->text);
  }
  if (!pattern::fits_together(approach.fallback_on)) {
    section.expected(*section.find({"fallback_on"}),
                     "fallback_on",
                     fmt::format("at most {} patterns, and regular expressions that are smaller "
                                 "together (every character, class and choice counts, as often as "
                                 "it is repeated: up to {})",
                                 pattern::max_patterns,
                                 pattern::max_together));
  }
  section.finish();
  return approach;
}

}  // namespace

void read_strategy(Section& section, const std::string& name) {
  Loading& loading = section.loading();
  std::vector<Asked>& asked = loading.asked[{"strategy", name}];
  definition::Strategy strategy;
  std::vector<Asked> checkpoint_asked;
  strategy.checkpoint = section.shell({"checkpoint"}, checkpoint_asked);
  std::vector<Asked> attempts_asked;
  for (Section& attempt : section.sections("attempt")) {
    const Where where = attempt.where();
    strategy.approaches.push_back(read_attempt(attempt, attempts_asked));
    const std::string& called = strategy.approaches.back().name;
    const auto same = std::ranges::count(strategy.approaches, called, &definition::Approach::name);
    if (same > 1 && !called.empty()) {
      section.mistake(where,
                      fmt::format("{} has two attempts called `{}`", section.label(), called));
    }
  }
  if (!section.has("attempt")) {
    section.missing("attempt", fmt::format("at least one [[strategy.{}.attempt]]", name));
  }
  // {checkpoint} is what the checkpoint printed: only after it, and only if there is one.
  for (const Asked& each : attempts_asked) {
    if (each.name == "checkpoint" && section.has("checkpoint")) continue;
    asked.push_back(each);
  }
  asked.insert(asked.end(), checkpoint_asked.begin(), checkpoint_asked.end());
  if (const auto text = section.text({"on_exhaust"})) {
    strategy.on_exhaust = on_fail_of(*text);
    if (std::holds_alternative<definition::GoTo>(strategy.on_exhaust)) {
      section.refer(*section.find({"on_exhaust"}), "strategy phase", name + "\n" + *text);
    }
  }
  loading.runbook.set.strategies.set(name, std::move(strategy));
}

// ── Monitor, action ──

void read_action(Section& section, const std::string& name) {
  std::vector<Asked> asked;  // the fields of whatever item: known when it runs
  Action action;
  action.run = section.shell({"run"}, asked);
  if (!section.has("run")) section.missing("run", "the command that it is");
  if (const auto cooldown = section.duration({"cooldown"}, Duration{0})) {
    action.cooldown = *cooldown;
  }
  if (const auto attempts = section.number({"max_attempts"}, 1)) action.max_attempts = *attempts;
  section.loading().runbook.actions.emplace(name, std::move(action));
}

void read_monitor(Section& section, const std::string& name) {
  std::vector<Asked> of_source;
  std::vector<Asked> of_items;
  Monitor monitor;
  monitor.source = section.shell({"source"}, of_source);
  for (const Asked& each : of_source) {
    section.mistake(each.where, unknown_name(each, {}, section.label()) + ": a source knows none");
  }
  if (!section.has("source")) {
    section.missing("source", "a command that prints the items to look at");
  }
  monitor.condition = section.shell({"condition"}, of_items);
  monitor.run = section.shell({"run"}, of_items);
  for (const Value* text : section.texts({"response"})) {
    if (const auto said = counted(text->text)) {
      const bool has_times = said->first != text->text;
      monitor.response.push_back(
          {said->first, has_times ? std::optional(said->second) : std::nullopt});
      section.refer(*text, "reaction", said->first);
    } else {
      section.expected(*text,
                       "response",
                       fmt::format("the name of an action, or NAME:TIMES, not `{}`", text->text));
    }
  }
  if (section.has("run") == section.has("response")) {
    section.mistake(section.where(),
                    fmt::format("{} needs exactly one of `response` and `run`", section.label()));
  }
  section.loading().runbook.monitors.emplace(name, std::move(monitor));
}

}  // namespace reeve::runbook
