#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/text.h"
#include "config/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace reeve::cli {

namespace {

// Each calls `reeve __complete -- WORDS…` with the words so far, the last one unfinished; the
// answer is a candidate a line, with its description behind a tab.
// A name may be anything that is no control character, so each script unquotes what stands on the
// command line before it asks, and what it inserts is quoted: by the script in bash, by the shell
// itself in zsh and fish.
constexpr std::string_view bash_script = R"(# bash completion of reeve
_reeve() {
  local line=${COMP_LINE:0:COMP_POINT} word='' quote='' char name rest
  local -a words=()
  local -i at from=0 begun=0
  COMPREPLY=()
  # The words as they are meant. What bash replaces of the last one begins behind an open quote, or
  # behind the last of its own breaks.
  for ((at = 0; at < ${#line}; at++)); do
    char=${line:at:1}
    case $quote$char in
      "''" | '""') quote='' ;;
      [\'\"]?)
        if [[ $quote$char == '"\' && ${line:at+1:1} == ['"$`\'] ]]; then
          char=${line:$((++at)):1}
        fi
        word+=$char ;;
      [\'\"]) quote=$char from=${#word} begun=1 ;;
      \\) word+=${line:$((++at)):1} begun=1 ;;
      ' ')
        if ((begun)); then words+=("$word"); fi
        word='' from=0 begun=0 ;;
      [:=])
        word+=$char begun=1
        if [[ $COMP_WORDBREAKS == *"$char"* ]]; then from=${#word}; fi ;;
      *) word+=$char begun=1 ;;
    esac
  done
  words+=("$word")
  while IFS= read -r name; do
    name=${name%%$'\t'*}
    rest=${name:from}
    case $quote in
      "'") rest=${rest//\'/\'\\\'\'} ;;
      '"')
        if [[ $rest == *'!'* ]]; then continue; fi
        rest=${rest//\\/\\\\} rest=${rest//\"/\\\"} rest=${rest//\$/\\\$} rest=${rest//\`/\\\`} ;;
      *) if [[ $rest ]]; then printf -v rest %q "$rest"; fi ;;
    esac
    COMPREPLY+=("$rest")
  done < <(reeve __complete -- "${words[@]:1}" 2>/dev/null)
  if ((${#COMPREPLY[@]} == 0)); then compopt -o default; fi
}
complete -F _reeve reeve
)";

constexpr std::string_view zsh_script = R"(#compdef reeve
# zsh completion of reeve
_reeve() {
  local -a names shown
  local line
  while IFS= read -r line; do
    names+=("${line%%$'\t'*}")
    shown+=("${line%%$'\t'*}  ${line#*$'\t'}")
  done < <(reeve __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
  if ((${#names})); then
    compadd -l -d shown -a names
  else
    _files
  fi
}
if [[ $funcstack[1] == _reeve ]]; then _reeve "$@"; else compdef _reeve reeve; fi
)";

constexpr std::string_view fish_script = R"(# fish completion of reeve
function __reeve_complete
    set -l current (commandline -ct)
    set -l plain (string unescape -- "$current")
    or set plain "$current"
    set -l words (commandline -opc)
    reeve __complete -- $words[2..-1] "$plain" 2>/dev/null
end
complete -c reeve -f -n 'count (__reeve_complete) >/dev/null' -a '(__reeve_complete)'
complete -c reeve -F -n 'not count (__reeve_complete) >/dev/null'
)";

class Completer {
 public:
  Completer(Context& context, std::span<const std::string> words)
      : context_(context), current_(words.empty() ? "" : words.back()) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) before_.emplace_back(words[i]);
  }

  void run() {
    if (std::find(before_.begin(), before_.end(), "--") != before_.end()) return;  // a command line
    const Found found = find_command(all_groups(), before_);
    if (offer_value(found.command)) return;
    if (current_.starts_with('-')) return offer_options(found.command);
    if (found.command != nullptr && found.command->name != "help") {
      return offer_argument(*found.command, found.words);
    }
    std::vector<std::string_view> words;
    for (const std::string_view word : before_) {
      if (!word.starts_with('-') && word != "help") words.push_back(word);
    }
    for (const Group& group : all_groups()) {
      if (group.word.empty() && words.empty()) {
        for (const Command& command : group.commands) {
          if (!command.hidden) offer(command.name, command.summary);
        }
      } else if (words.empty()) {
        offer(group.word, group.summary);
      } else if (words[0] == group.word && words.size() == 1) {
        for (const Command& command : group.commands) {
          offer(command.name.substr(group.word.size() + 1), command.summary);
        }
      }
    }
  }

 private:
  void offer(std::string_view word, std::string_view says) {
    if (word.starts_with(current_)) context_.output.line(fmt::format("{}\t{}", word, says));
  }

  // What somebody else has named: it must not come out as two candidates, nor as an option.
  void offer_name(std::string_view name, std::string_view says) {
    const bool is_clean = std::none_of(name.begin(), name.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (is_clean && !name.starts_with('-')) offer(name, says);
  }

  // The value of the option just before, if it wants one.
  bool offer_value(const Command* command) {
    if (before_.empty() || !before_.back().starts_with('-')) return false;
    const std::string_view last = before_.back();
    const auto look = [&](std::span<const Option> options) -> const Option* {
      for (const Option& option : options) {
        const bool named = last.starts_with("--") ? last.substr(2) == option.name
                                                  : last.size() == 2 && last[1] == option.letter;
        if (named) return &option;
      }
      return nullptr;
    };
    const Option* option = command == nullptr ? nullptr : look(command->options);
    if (option == nullptr) option = look(global_options);
    if (option == nullptr || option->takes == Takes::Nothing) return false;
    if (option->takes == Takes::MaybeDuration) return false;
    std::string_view choices = option->choices;
    while (!choices.empty()) {
      const std::size_t bar = std::min(choices.find('|'), choices.size());
      offer(choices.substr(0, bar), "");
      choices.remove_prefix(std::min(choices.size(), bar + 1));
    }
    offer_names(option->completes);
    return true;
  }

  void offer_options(const Command* command) {
    if (command != nullptr) {
      for (const Option& option : command->options) {
        offer(option.name.empty() ? fmt::format("-{}", option.letter)
                                  : fmt::format("--{}", option.name),
              option.help);
      }
      if (command->takes_command) offer("--", "the command to run");
    }
    const auto is_own = [&](const Option& option) {
      return command != nullptr &&
             std::ranges::find(command->options, option.name, &Option::name) !=
                 command->options.end();
    };
    for (const Option& option : global_options) {
      if (!is_own(option)) offer(fmt::format("--{}", option.name), option.help);
    }
  }

  void offer_argument(const Command& command, std::size_t command_words) {
    if (command.name == "completion") {
      for (const std::string_view shell : {"bash", "zsh", "fish"}) offer(shell, "");
      return;
    }
    std::size_t place = 0;
    if (const auto parsed = parse(command, command_words, before_)) {
      place = parsed->words.size();
    } else {
      place = parse_globals(before_).words.size() - command_words;
    }
    if (command.arguments.empty()) return;
    const Argument& last = command.arguments.back();
    const bool many = last.count == Count::Some || last.count == Count::Any;
    if (place >= command.arguments.size() && !many) return;
    const std::size_t index = std::min(place, command.arguments.size() - 1);
    const Argument& argument = command.arguments[index];
    if (command.name == "config set" && index > 0) return offer_setting_value(command_words);
    if (argument.name == "NAME|ID") {
      for (const Completes kind : {Completes::Lock,
                                   Completes::Semaphore,
                                   Completes::Queue,
                                   Completes::Worker,
                                   Completes::Cron,
                                   Completes::Pipeline,
                                   Completes::Decision,
                                   Completes::Task,
                                   Completes::Section}) {
        offer_names(kind);
      }
      return;
    }
    offer_names(argument.completes);
  }

  // Of the key that stands before it.
  void offer_setting_value(std::size_t command_words) {
    const std::vector<std::string> words = parse_globals(before_).words;
    if (words.size() <= command_words) return;
    const config::Key* const key = config::find_key(words[command_words]);
    if (key == nullptr) return;
    for (const std::string_view choice : config::choices_of(*key)) offer(choice, "");
  }

  // Live, from the daemon that runs; none is started for it.
  void offer_names(Completes completes) {
    std::string_view kind;
    switch (completes) {
      case Completes::Lock:
        kind = "lock";
        break;
      case Completes::Semaphore:
        kind = "sem";
        break;
      case Completes::Queue:
        kind = "queue";
        break;
      case Completes::Project:
        kind = "project";
        break;
      case Completes::Pipeline:
        kind = "pipeline";
        break;
      case Completes::Decision:
        kind = "decision";
        break;
      case Completes::Agent:
        kind = "agent";
        break;
      case Completes::Worker:
        offer_defined("worker");
        kind = "worker";
        break;
      case Completes::Cron:
        offer_defined("cron");
        kind = "cron";
        break;
      case Completes::Task:
        kind = "task";
        break;
      case Completes::Section:
        kind = "section";
        break;
      case Completes::Runner:
        kind = "runner";
        break;
      case Completes::RunCommand:
        return offer_defined("command");
      case Completes::Monitor:
        return offer_defined("monitor");
      case Completes::Definition:
        return offer_defined("pipeline");
      case Completes::Setting:
        for (const config::Key& key : config::keys()) offer(key.name, key.says);
        return;
      case Completes::Nothing:
      case Completes::File:
      case Completes::Command:
        return;
    }
    const Answer answer = context_.client_without_start().ask(
        "names.list",
        json_of({{"kind", kind}, {"prefix", current_.empty() ? Json() : Json(current_)}}));
    if (!answer) return;
    for (const Json& name : (*answer)["names"].items()) {
      if (offered_.insert(name.text()).second) offer_name(name.text(), kind);
    }
  }

  // From the runbooks of the project, if it has any.
  void offer_defined(std::string_view kind) {
    context_.client_without_start();
    const auto place = context_.place();
    if (!place || context_.runbooks == nullptr) return;
    for (const auto& [name, says] : context_.runbooks->names(kind, *place)) {
      if (offered_.insert(name).second) offer_name(name, says);
    }
  }

  Context& context_;
  std::string current_;
  std::vector<std::string_view> before_;
  std::set<std::string> offered_;
};

}  // namespace

int completion_command(Context& context, const Parsed& parsed) {
  const std::string& shell = parsed.words[0];
  std::string_view script;
  if (shell == "bash") script = bash_script;
  if (shell == "zsh") script = zsh_script;
  if (shell == "fish") script = fish_script;
  if (script.empty()) {
    return context.misuse(
        fmt::format("completion knows bash, zsh and fish, not \"{}\"", printable(shell)));
  }
  if (context.json()) {
    return context.output.succeed(json_of({{"shell", shell}, {"script", script}}));
  }
  context.output.out(script);
  return context.output.done();
}

int complete_command(Context& context, const Parsed& parsed) {
  Completer(context, parsed.words).run();
  return context.output.done();
}

}  // namespace reeve::cli
