#include "runbook/shell_names.h"
#include "runbook/shell_scan.h"

#include <algorithm>

// Values that reach a variable, and variables that bash looks into: together they are a mistake, or
// the value must be an integer. Judged at the end, as a declaration counts wherever it stands.
namespace reeve::runbook::shell {
namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Behind the parenthesis that belongs to the one at `at`.
std::size_t after_parentheses(std::string_view text, std::size_t at) {
  int open = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') ++open;
    if (text[at] == ')' && --open == 0) return at + 1;
  }
  return at;
}

bool is_assigned_at(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return text.substr(at).starts_with('=') && !text.substr(at).starts_with("==");
}

}  // namespace

// ── Notes ──

void Scanner::note_assignment(const Word& word, bool declared) {
  if (word.compound) array_names_.insert(*word.assigns);
  const std::size_t value = std::min(word.equals + 1, word.end);
  assignments_.push_back({.name = *word.assigns,
                          .word = word,
                          .value = std::string(text_.substr(value, word.end - value)),
                          .declared = declared});
}

void Scanner::note_fed(const Command& command, std::string_view otherwise) {
  bool named = false;
  for (const Word& word : command.words) {
    array_names_.insert(word.literal);
    if (word.literal.empty() || word.literal.starts_with('-')) continue;
    note_looked_into(word);
    const std::string name = word.literal.substr(0, word.literal.find('['));
    fed_.push_back({name, word.begin});
    for (const Word& each : command.here_strings) {
      if (each.has_holes()) assignments_.push_back({.name = name, .word = each});
    }
    named = true;
  }
  if (!named) fed_.push_back({std::string(otherwise), std::min(at_, end_)});
}

// The names in what is calculated. What a command prints is not looked into.
void Scanner::note_calculated(std::string_view text, const std::string& array) {
  std::set<std::string> assigned;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("$(")) {
      i = after_parentheses(text, i + 1);
    } else if (rest.starts_with('`')) {
      i = std::min(text.find('`', i + 1), text.size() - 1) + 1;
    } else if (rest.starts_with("${#")) {
      i = std::min(text.find('}', i), text.size());
    } else if (rest.starts_with('{') && rest.find('}') != std::string_view::npos &&
               !(i > 0 && text[i - 1] == '$')) {
      i += rest.find('}');  // a placeholder
    } else if (continues_name(text[i])) {
      std::size_t end = i;
      while (end < text.size() && continues_name(text[end])) ++end;
      const std::string name(text.substr(i, end - i));
      if (is_assigned_at(text, end)) assigned.insert(name);
      if (!is_digit(text[i]) && !assigned.contains(name)) calculated_.insert({array, name});
      i = end;
    } else {
      ++i;
    }
  }
}

// The variables whose values become code, or the names of variables.
void Scanner::note_looked_into(std::string_view text) {
  for (std::size_t i = text.find('$'); i != std::string_view::npos; i = text.find('$', i + 1)) {
    if (text.substr(i).starts_with("$(")) {
      i = after_parentheses(text, i + 1) - 1;
      continue;
    }
    const std::size_t begin = i + (text.substr(i).starts_with("${") ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() && continues_name(text[end])) ++end;
    if (end > begin) looked_into_.insert(std::string(text.substr(begin, end - begin)));
  }
}

void Scanner::note_looked_into(const Word& word) {
  note_looked_into(text_.substr(word.begin, word.end - word.begin));
}

// What `eval` and `trap` are given is run. In single quotes it is run as it stands there: no value
// is a part of its text, and its commands say what becomes of a variable.
void Scanner::note_run(const Command& command, const Word& word) {
  const std::string_view text = text_.substr(word.begin, word.end - word.begin);
  const bool is_whole = command.name == "trap" || command.words.size() == 1;
  const bool is_quoted = text.starts_with('\'') && text.find('\'', 1) == text.size() - 1;
  if (!is_whole || !is_quoted || depth_ >= deepest) return note_looked_into(text);
  Scanner scanner(text.substr(1, text.size() - 2));
  scanner.depth_ = depth_ + 1;
  scanner.commands(Until::End);
  for (Assignment& each : scanner.assignments_) {
    if (!each.word.has_holes()) assignments_.push_back(std::move(each));
  }
  for (Fed& each : scanner.fed_) fed_.push_back({std::move(each.name), word.begin});
  learn_from(scanner);
}

// A variable is what it was declared to be, and is used for what it is, wherever that stands.
void Scanner::learn_from(Scanner& inner) {
  integer_names_.merge(inner.integer_names_);
  array_names_.merge(inner.array_names_);
  map_names_.merge(inner.map_names_);
  references_.merge(inner.references_);
  calculated_.merge(inner.calculated_);
  looked_into_.merge(inner.looked_into_);
}

// ${NAME REST}
void Scanner::note_parameter(std::string_view name, std::string_view rest) {
  if (name.starts_with('!') && name.size() > 1) {
    const bool lists = is_one_of(rest, {"@", "*", "[@]", "[*]"});
    name.remove_prefix(1);
    if (!lists) looked_into_.insert(std::string(name));
  }
  if (rest.ends_with("@P")) looked_into_.insert(std::string(name));
  if (rest.starts_with('[')) {
    const std::size_t end = std::min(rest.rfind(']'), rest.size());
    note_calculated(rest.substr(1, end - 1), std::string(name));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (name.empty() && (rest.starts_with('@') || rest.starts_with('*'))) rest.remove_prefix(1);
  if (rest.starts_with(':') && rest.size() > 1 &&
      std::string_view("-=?+").find(rest[1]) == std::string_view::npos) {
    note_calculated(rest.substr(1));
  }
}

// ── Judgement ──

bool Scanner::is_integer(const std::string& name) const {
  return is_number(name) || integer_names_.contains(name);
}

bool Scanner::is_calculated(const std::string& name) const {
  return std::ranges::any_of(calculated_, [&](const Calculated& each) {
    return each.name == name && !map_names_.contains(each.array);
  });
}

// Where b=$a, what becomes of b becomes of a.
void Scanner::follow_assignments() {
  std::size_t known = 0;
  do {
    known = calculated_.size() + looked_into_.size();
    for (const Assignment& each : assignments_) {
      if (is_integer(each.name) || is_calculated(each.name)) note_calculated(each.value);
      const auto reference = references_.find(each.name);
      if (runs_its_value(each.name) || looked_into_.contains(each.name) ||
          (reference != references_.end() && reference->second.empty())) {
        note_looked_into(each.value);
      }
    }
  } while (calculated_.size() + looked_into_.size() > known);
}

void Scanner::judge_assignments() {
  follow_assignments();
  for (const Assignment& each : assignments_) {
    if (each.word.has_holes()) judge_assignment(each);
  }
  judge_fed();
}

void Scanner::judge_assignment(const Assignment& assignment) {
  const Word& word = assignment.word;
  const auto reference = references_.find(assignment.name);
  const bool refers = reference != references_.end();
  const std::string& name =
      refers && !reference->second.empty() ? reference->second : assignment.name;
  if (runs_its_value(name)) refuse(word, "as the value of " + name);
  if (refers && (assignment.loop || reference->second.empty())) {
    refuse(word, "as the name of a variable, which " + assignment.name + " would refer to");
  }
  if (looked_into_.contains(name)) {
    refuse(word,
           "as the value of " + name + ": bash would look into it later, where $" + name +
               " is evaluated or names a variable");
  }
  const bool may_be_integer = refers && name == "?" && !integer_names_.empty();
  if (is_integer(name) || may_be_integer) need_integer(word);
  if (assignment.declared && !word.compound && array_names_.contains(name)) {
    refuse(word, "as the value of an array: bash would look into it; leave `declare` away");
  }
  const bool calculated = is_calculated(name);
  for (std::size_t i = word.holes_from; calculated && i < word.holes_to; ++i) {
    if (depths_[i] == word.depth) holes[i].integer = true;
  }
}

void Scanner::judge_fed() {
  if (holes.empty()) return;
  for (const Fed& each : fed_) {
    const auto reference = references_.find(each.name);
    if (each.name.empty()) {
      mistake(each.offset,
              "bash would run what it reads there: read commands from a file of yours");
    } else if (is_integer(each.name)) {
      mistake(each.offset,
              "bash would calculate what is read into " + each.name + ": declare it without -i");
    } else if (runs_its_value(each.name) ||
               (reference != references_.end() && reference->second.empty())) {
      mistake(each.offset, "bash would look into what is read into " + each.name);
    }
  }
}

}  // namespace reeve::runbook::shell
