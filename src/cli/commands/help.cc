#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace reeve::cli {

namespace {

constexpr std::size_t text_width = 78;

std::string option_text(const Option& option) {
  std::string text = option.name.empty()  ? fmt::format("-{}", option.letter)
                     : option.letter != 0 ? fmt::format("-{}, --{}", option.letter, option.name)
                                          : fmt::format("    --{}", option.name);
  if (option.takes == Takes::MaybeDuration) {
    text += fmt::format(" [{}]", option.value);
  } else if (option.takes != Takes::Nothing) {
    text += fmt::format(" {}", option.value);
  }
  return text;
}

std::string options_text(std::span<const Option> options) {
  constexpr std::size_t column = 28;
  std::string text;
  for (const Option& option : options) {
    std::string help(option.help);
    if (!option.choices.empty() && option.help.find(option.choices.substr(
                                       0, option.choices.find('|'))) == std::string_view::npos) {
      std::string choices(option.choices);
      for (std::size_t at = 0; (at = choices.find('|', at)) != std::string::npos;) {
        choices.replace(at, 1, ", ");
      }
      help += fmt::format(": {}", choices);
    }
    const std::string name = "  " + option_text(option);
    const std::size_t used = display_width(name);
    text += name;
    text += used + 2 > column ? "\n" + std::string(column, ' ') : std::string(column - used, ' ');
    text += wrapped(help, text_width - column, column);
    text += '\n';
  }
  return text;
}

std::string commands_text(const Output& output, std::span<const Command> commands) {
  std::string text;
  for (const Command& command : commands) {
    if (command.hidden) continue;
    std::string usage(command.name);
    for (const Argument& argument : command.arguments) {
      const bool optional = argument.count == Count::Maybe || argument.count == Count::Any;
      const bool many = argument.count == Count::Some || argument.count == Count::Any;
      usage += fmt::format(
          " {}{}{}{}", optional ? "[" : "", argument.name, many ? "…" : "", optional ? "]" : "");
    }
    if (command.takes_command) usage += " -- CMD…";
    const std::size_t cells = display_width(usage);
    constexpr std::size_t column = 30;
    text += fmt::format("  {}{}{}\n",
                        usage,
                        std::string(cells + 2 > column ? 2 : column - cells, ' '),
                        output.styled(Style::Dim, command.summary));
  }
  return text;
}

std::string example_text(const Output& output, const Example& example) {
  return fmt::format("  {}\n      {}\n", example.line, output.styled(Style::Dim, example.says));
}

std::string help_of_all(const Output& output, std::string_view version) {
  std::string text = fmt::format(
      "{} {}, a durable local coordinator\n\nusage: reeve COMMAND [ARGUMENT…] [OPTION…]\n",
      output.styled(Style::Bold, "reeve"),
      version);
  for (const Group& group : all_groups()) {
    if (group.word.empty()) {
      text += fmt::format("\n{}\n", output.styled(Style::Bold, group.summary));
      text += commands_text(output, group.commands);
    }
  }
  text += fmt::format("\n{}\n", output.styled(Style::Bold, "Groups (`reeve GROUP --help`)"));
  for (const Group& group : all_groups()) {
    if (group.word.empty()) continue;
    std::string verbs;
    for (const Command& command : group.commands) {
      if (!verbs.empty()) verbs += ' ';
      verbs += command.name.substr(group.word.size() + 1);
    }
    text += fmt::format("  {:<10}{}\n", group.word, group.summary);
    text += fmt::format("            {}\n",
                        output.styled(Style::Dim, wrapped(verbs, text_width - 12, 12)));
  }
  text += fmt::format("\n{}\n", output.styled(Style::Bold, "Everywhere"));
  text += options_text(global_options);
  text +=
      "\nExit: 0 ok, 1 failed, 2 usage, 3 not found, 4 cancelled, 5 not allowed,\n"
      "6 not obtained, 7 no daemon, 124 --timeout of run, wait and ask, 125 lease lost,\n"
      "130 interrupted.\n";
  return text;
}

// ── The same as data ──

Json option_json(const Option& option) {
  Json json = json_of({{"name", option.name}, {"help", option.help}});
  if (option.letter != 0) json.set("letter", std::string(1, option.letter));
  if (option.takes != Takes::Nothing) json.set("value", option.value);
  if (option.takes == Takes::MaybeDuration) json.set("value_is_optional", true);
  if (!option.choices.empty()) json.set("choices", option.choices);
  if (option.required) json.set("required", true);
  return json;
}

Json options_json(std::span<const Option> options) {
  Json list = Json::array();
  for (const Option& option : options) list.push(option_json(option));
  return list;
}

Json command_json(const Command& command) {
  Json json = json_of({{"name", command.name},
                       {"summary", command.summary},
                       {"usage", usage_line(command)},
                       {"details", command.details}});
  json.set("options", options_json(command.options));
  Json examples = Json::array();
  for (const Example& example : command.examples) {
    examples.push(json_of({{"line", example.line}, {"says", example.says}}));
  }
  json.set("examples", std::move(examples));
  return json;
}

void add_commands(Json& list, const Group& group) {
  for (const Command& command : group.commands) {
    if (!command.hidden) list.push(command_json(command));
  }
}

}  // namespace

std::string help_of_group(const Output& output, const Group& group) {
  std::string text =
      fmt::format("{}: {}\n\n", output.styled(Style::Bold, group.word), group.summary);
  text += commands_text(output, group.commands);
  // The first of each, up to three: enough to begin with.
  constexpr std::size_t shown = 3;
  std::size_t examples = 0;
  for (const Command& command : group.commands) {
    if (command.hidden || command.examples.empty() || examples == shown) continue;
    if (examples++ == 0) text += fmt::format("\n{}\n", output.styled(Style::Bold, "Examples"));
    text += example_text(output, command.examples[0]);
  }
  text += fmt::format("\n`reeve {} VERB --help` tells more.\n", group.word);
  return text;
}

std::string help_of_command(const Output& output, const Command& command) {
  std::string text =
      fmt::format("{}: {}\n", output.styled(Style::Bold, command.name), command.summary);
  text += fmt::format("\nusage: {}\n", wrapped(usage_line(command), text_width - 7, 9));
  if (!command.details.empty()) {
    text += fmt::format("\n{}\n", wrapped(command.details, text_width, 0));
  }
  if (!command.options.empty()) {
    text += fmt::format("\n{}\n", output.styled(Style::Bold, "Options"));
    text += options_text(command.options);
  }
  if (!command.examples.empty()) {
    text += fmt::format("\n{}\n", output.styled(Style::Bold, "Examples"));
    for (const Example& example : command.examples) text += example_text(output, example);
  }
  text += "\nAlso --json, -q, --project P and what else `reeve --help` lists.\n";
  return text;
}

int tell_help(Context& context, const Group* group, const Command* command) {
  Output& output = context.output;
  if (!context.json()) {
    output.out(command != nullptr ? help_of_command(output, *command)
               : group != nullptr ? help_of_group(output, *group)
                                  : help_of_all(output, context.version()));
    return output.done();
  }
  output.command = "help";
  if (command != nullptr) return output.succeed(command_json(*command));
  Json data = Json::object();
  Json commands = Json::array();
  if (group != nullptr) {
    data.set("group", group->word).set("summary", group->summary);
    add_commands(commands, *group);
  } else {
    data.set("version", context.version()).set("options", options_json(global_options));
    for (const Group& each : all_groups()) add_commands(commands, each);
  }
  data.set("commands", std::move(commands));
  return output.succeed(data);
}

int tell_version(Context& context) {
  if (!context.json()) {
    context.output.line(fmt::format("reeve {}", context.version()));
    return context.output.done();
  }
  context.output.command = "version";
  return context.output.succeed(json_of({{"version", context.version()}}));
}

int help_command(Context& context, const Parsed& parsed) {
  std::vector<std::string_view> words(parsed.words.begin(), parsed.words.end());
  const Found found = find_command(all_groups(), words);
  const bool is_known =
      words.empty() || found.command != nullptr || (found.group != nullptr && words.size() == 1);
  if (!is_known) return context.misuse(no_such_command(found, words));
  return tell_help(context, found.group, found.command);
}

// roff, for packaging/reeve.1.
int man_command(Context& context, const Parsed&) {
  Output& output = context.output;
  const auto escaped = [](std::string_view text) {
    std::string safe;
    for (const char letter : text) {
      if (letter == '\\') {
        safe += "\\e";
      } else if (letter == '-') {
        safe += "\\-";
      } else if (letter == '"') {
        safe += "\\(dq";  // of a request it would group words, and not be seen
      } else if (letter == '\'' && safe.empty()) {
        safe += "\\(aq";
      } else if (letter == '.' && safe.empty()) {
        safe += "\\&.";
      } else {
        safe += letter;
      }
    }
    return safe;
  };
  output.line(fmt::format(".TH REEVE 1 \"\" \"reeve {}\" \"User Commands\"", context.version()));
  output.line(".SH NAME\nreeve \\- a durable local coordinator");
  output.line(".SH SYNOPSIS\n.B reeve\nCOMMAND [ARGUMENT...] [OPTION...]");
  output.line(
      ".SH DESCRIPTION\nLocks with fair lines and fencing tokens, semaphores and durable queues "
      "for the programs of one user on one machine; and runs of what a project's runbooks "
      "describe: "
      "pipelines, workers, crons, monitors and agents. A daemon remembers; it is started when it "
      "is "
      "needed. What a command has acknowledged is on disk.");
  output.line(".SH OPTIONS");
  const auto options = [&](std::span<const Option> list) {
    for (const Option& option : list) {
      std::string name = option_text(option);
      name.erase(0, name.find_first_not_of(' '));
      output.line(fmt::format(".TP\n.B {}\n{}", escaped(name), escaped(option.help)));
    }
  };
  options(global_options);
  output.line(".SH COMMANDS");
  for (const Group& group : all_groups()) {
    if (!group.word.empty()) {
      output.line(fmt::format(".SS {}\n{}", group.word, escaped(group.summary)));
    }
    for (const Command& command : group.commands) {
      if (command.hidden) continue;
      output.line(
          fmt::format(".TP\n.B {}\n{}.", escaped(usage_line(command)), escaped(command.summary)));
      if (!command.details.empty()) output.line(escaped(command.details));
      if (!command.options.empty() || !command.examples.empty()) output.line(".RS");
      options(command.options);
      for (const Example& example : command.examples) {
        output.line(
            fmt::format(".PP\n.nf\n.B {}\n.fi\n{}", escaped(example.line), escaped(example.says)));
      }
      if (!command.options.empty() || !command.examples.empty()) output.line(".RE");
    }
  }
  output.line(
      ".SH EXIT STATUS\n0 ok, 1 failed, 2 usage, 3 not found, 4 cancelled, 5 needs permission, 6 "
      "not "
      "obtained, 7 daemon unavailable, 124 --timeout of run, wait and ask, 125 the lease was lost, "
      "126 and 127 as in a "
      "shell, 130 interrupted.");
  output.line(
      ".SH ENVIRONMENT\n.TP\n.B REEVE_HOME\nwhere the state is\n.TP\n.B REEVE_PROJECT\nthe "
      "project\n.TP\n"
      ".B REEVE_SOCKET\nthe socket of the daemon\n.TP\n.B REEVE_HOLDER\nwho holds what acquire and "
      "take "
      "take\n.TP\n.B NO_COLOR\nno colours");
  return output.done();
}

}  // namespace reeve::cli
