#include "runbook/shell_names.h"
#include "runbook/shell_scan.h"

// The places where bash looks into the text of a word: what may stand there, and what may not.
namespace reeve::runbook::shell {
namespace {

bool is_option_with(const Word& word, std::string_view letters) {
  return word.literal.size() > 1 && word.literal.front() == '-' &&
         word.literal.find_first_of(letters) != std::string::npos;
}

}  // namespace

void Scanner::need_integer(const Word& word) {
  for (std::size_t i = word.holes_from; i < word.holes_to; ++i) {
    holes[i].integer |= !only_numbers_.contains(i);
  }
}

void Scanner::refuse(const Word& word, std::string_view why) {
  const Hole& hole = holes[word.holes_from];
  mistake(hole.offset, "{" + hole.name + "} cannot stand here " + std::string(why));
}

void Scanner::judge(const Command& command) {
  const std::string& name = command.name;
  for (const Word& word : command.words) {
    if (command.loops.empty()) break;
    Flow flow = flow_from(command.loops, word);
    flow.loop = true;
    flow.way = word.has_holes() ? "" : "a loop";
    flows_.push_back(std::move(flow));
  }
  if (is_one_of(name, {"declare", "typeset", "local", "export", "readonly"})) {
    return judge_declaration(command);
  }
  if (name == "mapfile" || name == "readarray") {
    note_fed(command, "MAPFILE");
    return judge_names(command, "dnOstuc");
  }
  if (name == "read") {
    note_fed(command, "REPLY");
    return judge_names(command, "pdtnNui");
  }
  if (name == "[" || name == "test") return judge_test(command);
  if (name == "printf") return judge_printf(command);
  if (name == "source" || name == ".") return judge_source(command);
  if (name == "eval" || name == "trap") note_run(command);
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const Word& word = command.words[i];
    const Word before = i > 0 ? command.words[i - 1] : Word{};
    const std::string variable = word.literal.substr(0, word.literal.find('='));
    if (is_one_of(name,
                  {"unset", "alias", "bind", "complete", "compgen", "fc", "enable", "jobs"}) ||
        (name == "hash" && is_option_with(command.words[0], "p")) ||
        (name == "wait" && (is_option_with(before, "p") || is_option_with(word, "p"))) ||
        (runs_its_value(variable) && variable != word.literal)) {
      note_looked_into(word);
    }
    if (name == "getopts") {
      Flow flow = flow_from("OPTARG", word);
      flow.way = "`getopts`";
      flows_.push_back(std::move(flow));
    }
    if (!word.has_holes()) continue;
    if (is_one_of(
            name,
            {"eval", "trap", "alias", "bind", "complete", "compgen", "fc", "enable", "jobs"})) {
      refuse(word, "after `" + name + "`: bash would run what it says");
    } else if (name == "let") {
      need_integer(word);
    } else if (is_one_of(name, {"unset", "getopts"})) {
      refuse(word, "after `" + name + "`: bash would look into it");
    } else if (name == "wait" && (is_option_with(before, "p") || is_option_with(word, "p"))) {
      refuse(word, "as the name of a variable");
    } else if (name == "hash" && is_option_with(command.words[0], "p")) {
      refuse(word, "as the name of a command");
    } else if (runs_its_value(variable) && variable != word.literal) {
      refuse(word, "as the value of " + variable);
    } else if (name == "seq") {
      for (std::size_t hole = word.holes_from; hole < word.holes_to; ++hole) {
        if (depths_[hole] == word.depth) only_integers_.insert(hole);
      }
    }
  }
  for (const Word& word : command.words) {
    if (name == "let") note_calculated(text_between(word.begin, word.end));
  }
}

void Scanner::judge_printf(const Command& command) {
  std::string variable;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const Word& word = command.words[i];
    const bool names =
        i == 0 ? word.literal.starts_with("-v") : command.words[i - 1].literal == "-v";
    if (names && i < 2) {
      variable = i == 0 ? word.literal.substr(2) : word.literal;
      note_looked_into(word);
      if (word.has_holes()) refuse(word, "as the name of a variable");
    } else if (!variable.empty()) {
      flows_.push_back(flow_from(variable.substr(0, variable.find('[')), word));
    } else if (i == 0 && word.hole_first) {
      refuse(word, "as the format of printf: write printf '%s' and then the placeholder");
    }
  }
}

// What comes out of /dev/stdin is run: it may be anything that stands in the program. Of <( ) it is
// what is written there.
void Scanner::judge_source(const Command& command) {
  if (command.words.empty()) return;
  const Word& file = command.words[command.words[0].literal == "--" && command.words.size() > 1];
  if (file.has_holes() && file.literal.find('/') == std::string::npos) {
    refuse(file, "as the file to read commands from; say where it lies, as in ./lib/");
  }
  if (text_.substr(file.begin).starts_with("<(")) note_looked_into(file);
  if (is_one_of(file.literal.substr(0, file.literal.find('/', 1)), {"/dev", "/proc"}) ||
      file.literal.find("/dev/stdin") != std::string::npos ||
      file.literal.find("/dev/fd/") != std::string::npos) {
    fed_.push_back({"", file.begin});
    looked_into_.insert("|");
  }
}

// What is no number after `>&` is a file, and bash expands its name once more.
void Scanner::judge_duplication(const std::string& redirection, const Word& word) {
  note_looked_into(word);
  if (!word.has_holes()) return;
  refuse(word,
         "after `" + redirection + "`: bash would look into it; write " +
             (redirection == ">&" ? "&>" : "<") + " before the name of a file");
}

// declare, typeset, local, export, readonly.
void Scanner::judge_declaration(const Command& command) {
  bool integer = false;
  bool array = false;
  bool reference = false;
  bool map = false;
  for (const Word& word : command.words) {
    if (word.assigns || !word.literal.starts_with('-')) continue;
    integer |= is_option_with(word, "i");
    array |= is_option_with(word, "aA");
    reference |= is_option_with(word, "n") && command.name != "export";
    map |= is_option_with(word, "A");
  }
  for (const Word& word : command.words) {
    const std::string name = word.assigns.value_or(word.literal);
    if (integer) integer_names_.insert(name);
    if (array || word.compound) array_names_.insert(name);
    if (map) map_names_.insert(name);
    if (reference) {
      references_[name] = word.assigns ? word.literal.substr(word.literal.find('=') + 1) : "";
      const bool is_known =
          text_between(word.begin, word.end).find_first_of("$`") == std::string::npos;
      if (word.assigns && (!is_known || word.has_holes() || references_[name].empty())) {
        references_[name] = "?";
      }
    }
    if (!word.assigns || reference) note_looked_into(word);
    if (!word.has_holes()) {
      if (word.assigns && !reference) note_assignment(word, true);
      continue;
    }
    const bool in_name = !word.assigns || holes[word.holes_from].offset < word.equals;
    if (in_name || reference) {
      refuse(word, "as the name of a variable");
    } else if (array && !word.compound) {
      refuse(word, "as the value of an array: bash would look into it; write NAME=( ... )");
    } else if (integer) {
      need_integer(word);
    } else {
      note_assignment(word, command.name != "export" && command.name != "readonly");
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
    if (is_one_of(before.literal, {"-v", "-R"})) note_looked_into(word);
    if (!word.has_holes()) continue;
    if (is_one_of(before.literal, {"-v", "-R"})) {
      refuse(word, "as the name of a variable");
    } else if (before.hole_first) {
      refuse(word, "straight after another placeholder: an operator belongs between them");
    }
  }
}

}  // namespace reeve::runbook::shell
