#include "runbook/shell_scan.h"

#include <algorithm>
#include <initializer_list>

// The places where bash looks into the text of a word: what may stand there, and what may not.
namespace reeve::runbook::shell {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_option_with(const Word& word, std::string_view letters) {
  return word.literal.size() > 1 && word.literal.front() == '-' &&
         word.literal.find_first_of(letters) != std::string::npos;
}

// Bash expands or runs what these say, now or later.
bool runs_its_value(std::string_view name) {
  return is_one_of(name, {"PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "BASH_ENV", "ENV"});
}

// An assignment to these is calculated.
bool is_number(std::string_view name) {
  return is_one_of(name,
                   {"RANDOM",
                    "SRANDOM",
                    "SECONDS",
                    "OPTIND",
                    "LINENO",
                    "HISTCMD",
                    "EPOCHSECONDS",
                    "BASHPID",
                    "COLUMNS",
                    "LINES"});
}

}  // namespace

void Scanner::need_integer(const Word& word) {
  for (std::size_t i = word.holes_from; i < word.holes_to; ++i) holes[i].integer = true;
}

void Scanner::refuse(const Word& word, std::string_view why) {
  const Hole& hole = holes[word.holes_from];
  mistake(hole.offset, "{" + hole.name + "} cannot stand here " + std::string(why));
}

void Scanner::judge(const Command& command) {
  const std::string& name = command.name;
  if (is_one_of(name, {"declare", "typeset", "local", "export", "readonly"})) {
    return judge_declaration(command);
  }
  if (name == "mapfile" || name == "readarray") {
    for (const Word& word : command.words) array_names_.insert(word.literal);
    return judge_names(command, "dnOstuc");
  }
  if (name == "read") {
    for (const Word& word : command.words) array_names_.insert(word.literal);
    return judge_names(command, "pdtnNui");
  }
  if (name == "[" || name == "test") return judge_test(command);
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const Word& word = command.words[i];
    if (!word.has_holes()) continue;
    const std::string before = i > 0 ? command.words[i - 1].literal : "";
    if (is_one_of(
            name,
            {"eval", "trap", "alias", "bind", "complete", "compgen", "fc", "enable", "jobs"})) {
      refuse(word, "after `" + name + "`: bash would run what it says");
    } else if (name == "let") {
      need_integer(word);
    } else if (is_one_of(name, {"unset", "getopts"})) {
      refuse(word, "after `" + name + "`: bash would look into it");
    } else if ((name == "printf" &&
                (before == "-v" || (i == 0 && word.literal.starts_with("-v")))) ||
               (name == "wait" && (before == "-p" || word.literal.starts_with("-p")))) {
      refuse(word, "as the name of a variable");
    } else if (name == "printf" && i == 0 && word.hole_first) {
      refuse(word, "as the format of printf: write printf '%s' and then the placeholder");
    } else if (is_one_of(name, {"source", "."}) && i == 0 &&
               word.literal.find('/') == std::string::npos) {
      refuse(word, "as the file to read commands from; say where it lies, as in ./lib/");
    }
  }
}

// declare, typeset, local, export, readonly.
void Scanner::judge_declaration(const Command& command) {
  bool integer = false;
  bool array = false;
  bool reference = false;
  for (const Word& word : command.words) {
    if (word.assigns || !word.literal.starts_with('-')) continue;
    integer |= is_option_with(word, "i");
    array |= is_option_with(word, "aA");
    reference |= is_option_with(word, "n");
  }
  for (const Word& word : command.words) {
    const std::string name = word.assigns.value_or(word.literal);
    if (integer) integer_names_.insert(name);
    if (array || word.compound) array_names_.insert(name);
    if (!word.has_holes()) continue;
    const bool in_name = !word.assigns || holes[word.holes_from].offset < word.equals;
    if (in_name || reference) {
      refuse(word, "as the name of a variable");
    } else if (array && !word.compound) {
      refuse(word, "as the value of an array: bash would look into it; write NAME=( ... )");
    } else if (integer) {
      need_integer(word);
    } else {
      assignments_.push_back({name, word, command.name != "export" && command.name != "readonly"});
    }
  }
}

// Commands that take the names of variables: a placeholder may only be the value of an option.
void Scanner::judge_names(const Command& command, std::string_view options_with_values) {
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const Word& word = command.words[i];
    if (!word.has_holes()) continue;
    const std::string before = i > 0 ? command.words[i - 1].literal : "";
    const bool is_value = before.size() > 1 && before.front() == '-' &&
                          options_with_values.find(before.back()) != std::string_view::npos;
    if (!is_value) refuse(word, "as the name of a variable");
  }
}

// `[` and `test` calculate nothing, but -v looks into the name it is given; and that -v may itself
// be the value of a placeholder.
void Scanner::judge_test(const Command& command) {
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const Word& word = command.words[i];
    const Word& before = command.words[i - 1];
    if (!word.has_holes()) continue;
    if (is_one_of(before.literal, {"-v", "-R"})) {
      refuse(word, "as the name of a variable");
    } else if (before.hole_first) {
      refuse(word, "straight after another placeholder: an operator belongs between them");
    }
  }
}

// ── Assignments ──

void Scanner::note_assignment(const Word& word) {
  if (word.compound) array_names_.insert(*word.assigns);
  if (word.has_holes()) assignments_.push_back({*word.assigns, word, false});
}

// At the end: a declaration counts wherever it stands.
void Scanner::judge_assignments() {
  for (const Assignment& each : assignments_) {
    const Word& word = each.word;
    if (runs_its_value(each.name)) refuse(word, "as the value of " + each.name);
    if (is_number(each.name) || integer_names_.contains(each.name)) need_integer(word);
    if (each.declared && !word.compound && array_names_.contains(each.name)) {
      refuse(word, "as the value of an array: bash would look into it; leave `declare` away");
    }
  }
}

}  // namespace reeve::runbook::shell
