#include "core/event_fields.h"
#include "core/event_name.h"
#include "runbook/section.h"

#include <fmt/format.h>

#include <algorithm>

// [command], [events], [notify].
namespace reeve::runbook {
namespace {

void read_spec(Section& section, Command& command) {
  const auto spec = section.text({"args"});
  if (!spec) return;
  auto arguments = parse_arguments(*spec);
  if (arguments) {
    command.arguments = *std::move(arguments);
    return;
  }
  const Value& value = *section.find({"args"});
  for (const SpecMistake& each : arguments.error()) {
    section.mistake(section.where_in(value, each.offset),
                    fmt::format("`args` in {}: {}", section.label(), each.message));
  }
}

void read_command_run(Section& section, Command& command, std::vector<Asked>& asked) {
  const Value* run = section.find({"run"});
  if (!run) {
    section.missing("run",
                    "what it does: { pipeline = \"...\" }, { queue = \"...\" }, "
                    "{ agent = \"...\" } or a command");
    return;
  }
  if (run->kind == Value::Kind::Text) {
    command.run = RunHere{section.shell_of(*run, "run", asked)};
    return;
  }
  auto inner = section.section({"run"});
  if (!inner) return;
  const int found = (inner->has("pipeline") ? 1 : 0) + (inner->has("queue") ? 1 : 0) +
                    (inner->has("agent") ? 1 : 0);
  const std::string pipeline = inner->reference({"pipeline"}, "pipeline");
  const std::string queue = inner->reference({"queue"}, "queue");
  const std::string agent = inner->reference({"agent"}, "agent");
  StartPipeline start{pipeline, {}};
  for (const auto& [member, text] : inner->map({"inputs"})) {
    if (member->value.kind == Value::Kind::Text) inner->ask(member->value, asked);
    start.inputs.emplace_back(member->key, text);
  }
  inner->finish();
  if (found != 1) {
    inner->mistake(inner->where(),
                   fmt::format("`run` in {} needs exactly one of `pipeline`, "
                               "`queue` and `agent`",
                               section.label()));
    return;
  }
  if (inner->has("pipeline")) command.run = std::move(start);
  if (inner->has("queue")) command.run = PushItem{queue};
  if (inner->has("agent")) command.run = StartAgent{agent};
}

}  // namespace

void read_command(Section& section, const std::string& name) {
  Command command;
  read_spec(section, command);
  std::vector<std::string> known;
  known.reserve(command.arguments.all.size());
  for (const Argument& argument : command.arguments.all) known.push_back(argument.name);
  for (const auto& [member, text] : section.map({"defaults"})) {
    if (std::ranges::find(known, member->key) == known.end()) {
      section.mistake(section.where_of(member->place),
                      fmt::format("`defaults` in {}: `{}` is no argument{}",
                                  section.label(),
                                  member->key,
                                  hint(member->key, known)));
    }
    command.defaults.emplace_back(member->key, text);
  }
  std::vector<Asked> asked;
  read_command_run(section, command, asked);
  known.insert(known.end(), {"name", "project"});
  for (const Asked& each : asked) {
    const bool from_here = each.name.find('.') != std::string::npos;
    if (!from_here && is_known(each.name, known)) continue;
    section.mistake(each.where, unknown_name(each, known, section.label()));
  }
  section.loading().runbook.commands.emplace(name, std::move(command));
}

// A hook sees {id}, {noun}, {verb} and, of a phase, {phase}, and the fields of its event; a custom
// one has what it was emitted with, which nobody can know here.
void read_events(Section& section) {
  definition::Set& set = section.loading().runbook.set;
  for (const Member& member : section.members()) {
    section.find({member.key});
    if (!is_pattern(member.key)) {
      section.mistake(section.where_of(member.place),
                      fmt::format("`{}` in {}: expected the pattern of an event such as "
                                  "\"pipeline:complete\" or \"ci:*:green\"",
                                  member.key,
                                  section.label()));
      continue;
    }
    std::vector<Asked> asked;
    const std::string text = section.shell_of(member.value, member.key, asked);
    const Pattern pattern = parse_pattern(member.key);
    const std::string& noun = pattern.segments.front();
    const bool custom = noun == "*" || noun == "**" || is_custom_name(noun + ":x");
    std::vector<std::string> known = {"id", "noun", "verb", "phase"};
    for (std::string& name : field_names(pattern)) {
      if (!is_known(name, known)) known.push_back(std::move(name));
    }
    for (const Asked& each : asked) {
      if (custom || is_known(each.name, known)) continue;
      section.mistake(each.where, unknown_name(each, known, "the hook of " + member.key));
    }
    set.hooks.push_back({member.key, text});
    section.loading().runbook.defined.emplace(Name{"events", member.key},
                                              section.where_of(member.place));
  }
}

void read_notify(Section& section) {
  Loading& loading = section.loading();
  definition::Notifications notifications;
  std::vector<Asked> asked;
  notifications.on = section.patterns({"on"}, asked);
  notifications.command = section.shell({"command"}, asked);
  for (const Asked& each : asked) {
    section.mistake(each.where,
                    unknown_name(each, {}, section.label()) +
                        ": a notification gets its event as JSON on stdin");
  }
  const auto desktop = section.yes_or_no({"desktop"});
  loading.runbook.desktop = desktop.value_or(!section.has("command"));
  if (!section.has("on")) section.missing("on", "the events to tell of");
  if (desktop && !*desktop && !section.has("command")) {
    section.missing("command", "with `desktop = false` nobody would be told");
  }
  loading.runbook.set.notifications = std::move(notifications);
}

}  // namespace reeve::runbook
