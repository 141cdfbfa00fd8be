#include "cli/commands/config_change.h"
#include "cli/commands/groups.h"
#include "cli/commands/settings.h"
#include "cli/context.h"
#include "cli/text.h"
#include "config/files.h"

#include <fmt/format.h>

#include <array>

namespace reeve::cli {

namespace {

// A key as a program sees it, with what it is set to.
Json json_of_setting(const config::Key& key, const config::InForce& in_force) {
  Json setting = json_of({{"key", key.name}, {"value", json_of_value(in_force)}});
  if (const Duration* duration = std::get_if<Duration>(&in_force.value)) {
    setting.set("value_ms", static_cast<std::int64_t>(duration->count()));
  }
  if (const config::Size* size = std::get_if<config::Size>(&in_force.value)) {
    setting.set("value_bytes", size->bytes);
  }
  setting.set("from", config::name_of(in_force.origin));
  if (in_force.place.line != 0) {
    setting.set("file", in_force.file).set("line", std::int64_t{in_force.place.line});
  }
  return setting;
}

int list(Context& context, const Parsed& parsed) {
  const auto files = context.settings_files();
  if (!files) return context.fail(files.error());
  const auto settings = context.settings();
  if (!settings) return context.fail(settings.error());
  Json all = Json::array();
  Table table({{"KEY"}, {"VALUE", Table::Align::Left, true}, {"FROM", Table::Align::Left, true}});
  for (const config::Key& key : config::keys()) {
    if (context.quiet()) context.output.line(key.name);
    std::vector<config::InForce> found = (*settings)->all_of(key);
    if (!parsed.has("all")) found.resize(1);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const config::InForce& one = found[i];
      Json setting = json_of_setting(key, one);
      if (i > 0) setting.set("overridden", true);
      all.push(std::move(setting));
      const Style style = i > 0 ? Style::Dim : Style::Plain;
      table.add({{std::string(key.name), style},
                 {one.text.empty() ? "-" : printable(one.text), style},
                 {where_of(one) + (i > 0 ? " (overridden)" : ""),
                  one.origin == config::Origin::Default ? Style::Dim : style}});
    }
  }
  if (context.json()) {
    return context.output.succeed(
        json_of({{"settings", all},
                 {"user_file", files->user.empty() ? Json() : Json(files->user)},
                 {"project_file", files->project.empty() ? Json() : Json(files->project)}}));
  }
  if (!context.quiet()) context.output.out(table.write(Output::out_width(), context.output));
  return context.output.done();
}

int get(Context& context, const Parsed& parsed) {
  const config::Key* const key = config::find_key(parsed.words[0]);
  if (key == nullptr) return context.fail(no_such_key(parsed.words[0]));
  const auto settings = context.settings();
  if (!settings) return context.fail(settings.error());
  const config::InForce in_force = (*settings)->look_up(*key);
  if (context.json()) return context.output.succeed(json_of_setting(*key, in_force));
  if (const auto* all = std::get_if<std::vector<std::string>>(&in_force.value)) {
    for (const std::string& each : *all) context.output.line(each);
  } else {
    context.output.line(in_force.text);
  }
  return context.output.done();
}

Json json_of_key(const config::Key& key) {
  Json described = json_of(
      {{"key", key.name},
       {"type", config::name_of(key.kind)},
       {"default",
        json_of_value({.value = config::standard_of(key), .text = std::string(key.standard)})},
       {"description", key.says},
       {"expected", config::expected_of(key)},
       {"where", config::name_of(key.stands)},
       {"effect", config::name_of(key.effect)}});
  const auto choices = config::choices_of(key);
  if (choices.empty()) return described;
  Json all = Json::array();
  for (const std::string_view choice : choices) all.push(choice);
  described.set("choices", all);
  return described;
}

int describe(Context& context, const Parsed& parsed) {
  std::span<const config::Key> keys = config::keys();
  if (!parsed.words.empty()) {
    const config::Key* const key = config::find_key(parsed.words[0]);
    if (key == nullptr) return context.fail(no_such_key(parsed.words[0]));
    keys = std::span(key, 1);
  }
  Output& output = context.output;
  if (context.json()) {
    Json all = Json::array();
    for (const config::Key& key : keys) all.push(json_of_key(key));
    return output.succeed(json_of({{"keys", all}}));
  }
  for (const config::Key& key : keys) {
    if (context.quiet()) {
      output.line(key.name);
      continue;
    }
    if (&key != keys.data()) output.line("");
    output.line(output.styled(Style::Bold, key.name));
    output.sentence(fmt::format("  {}", key.says), 2);
    output.sentence(
        fmt::format("  value:    {}{}",
                    config::expected_of(key),
                    key.standard.empty() ? "" : fmt::format("; default: {}", key.standard)),
        12);
    output.sentence(fmt::format("  stands:   in {}", config::sentence_of(key.stands)), 12);
    output.sentence(fmt::format("  effect:   {}", context.here(config::sentence_of(key.effect))),
                    12);
  }
  return output.done();
}

constexpr std::array<Argument, 1> one_key{{{.name = "KEY", .completes = Completes::Setting}}};
constexpr std::array<Argument, 1> maybe_key{
    {{.name = "KEY", .count = Count::Maybe, .completes = Completes::Setting}}};
constexpr std::array<Argument, 2> key_and_value{
    {{.name = "KEY", .completes = Completes::Setting}, {.name = "VALUE", .count = Count::Some}}};
constexpr std::array<Option, 1> list_options{
    {{.name = "all", .help = "also what is set and does not count here"}}};
// `--project P` is global: a project's file is the default wherever a key may stand in one.
constexpr std::array<Option, 1> change_options{
    {{.name = "user", .help = "in the user's file; default: the project's, in a project"}}};
constexpr std::array<Example, 2> list_examples{
    {{"reeve config list", "every key, what it is set to, and where"},
     {"reeve config list --all", "also what the project's file overrides"}}};
constexpr std::array<Example, 1> get_examples{
    {{"reeve config get locking.task_timeout", "what is in force here"}}};
constexpr std::array<Example, 3> set_examples{
    {{"reeve config set locking.task_timeout 90m", "for this project"},
     {"reeve config set --user ui.time iso", "for this user"},
     {"reeve config set notify.on pipeline:failed decision:opened", "several, of a list"}}};
constexpr std::array<Example, 1> unset_examples{
    {{"reeve config unset locking.task_timeout", "back to the user's, or the default"}}};
constexpr std::array<Example, 2> describe_examples{
    {{"reeve config describe", "all keys"},
     {"reeve config describe locking.task_timeout", "one of them"}}};

constexpr std::array<Command, 5> commands{{
    {.name = "config list",
     .summary = "every key, what it is set to, and where",
     .options = list_options,
     .details = "What the project's .reeve/config.toml says counts more than the user's "
                "~/.config/reeve/config.toml, and that more than the default. A file with a "
                "mistake counts for nothing: each is told with its line.",
     .examples = list_examples,
     .run = list},
    {.name = "config get",
     .summary = "what a key is set to",
     .arguments = one_key,
     .examples = get_examples,
     .run = get},
    {.name = "config set",
     .summary = "set a key",
     .arguments = key_and_value,
     .options = change_options,
     .details = "In the project's file, if the key may stand there and this is a project, else in "
                "the user's. Comments and order of the file stay as they are. A daemon that runs "
                "is told.",
     .examples = set_examples,
     .run = config_set},
    {.name = "config unset",
     .summary = "take a key out of a file",
     .arguments = one_key,
     .options = change_options,
     .details = "Of the project's file, if it is set there, else of the user's.",
     .examples = unset_examples,
     .run = config_unset},
    {.name = "config describe",
     .summary = "what can be set, and what it does",
     .arguments = maybe_key,
     .examples = describe_examples,
     .run = describe},
}};

}  // namespace

const Group config_group{
    .word = "config", .summary = "settings of the user and of the project", .commands = commands};

}  // namespace reeve::cli
