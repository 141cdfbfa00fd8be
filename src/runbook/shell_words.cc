#include "runbook/shell_scan.h"

#include <utility>

// Words, and the assignments among them.
namespace reeve::runbook::shell {
namespace {

bool is_blank(char letter) { return letter == ' ' || letter == '\t'; }

bool ends_word(char letter) {
  return is_blank(letter) || letter == '\n' || letter == ';' || letter == '&' || letter == '|' ||
         letter == '(' || letter == ')' || letter == '<' || letter == '>';
}

}  // namespace

Word Scanner::word(bool may_assign, bool regex) {
  Word word;
  word.begin = at_;
  word.holes_from = holes.size();
  if (may_assign) find_assignment(word);
  const std::size_t index_end = word.assigns ? word.equals : word.begin;
  int open = 0;  // parentheses of a regular expression
  bool first = true;
  word.depth = depth_;
  while (more()) {
    const char letter = here();
    const std::size_t before = at_;
    // NAME[index]=: an index is calculated.
    const bool in_index = at_ < index_end;
    integers_ += in_index ? 1 : 0;
    const bool substitutes = starts("<(") || starts(">(");
    if (regex && (letter == '(' || letter == ')' || letter == '|')) {
      if (letter == ')' && open == 0) break;  // never in an index
      open += letter == '(' ? 1 : letter == ')' ? -1 : 0;
      ++at_;
    } else if (regex && open > 0 && is_blank(letter)) {
      ++at_;
    } else if (letter == '(' && at_ > word.begin && !in_index &&
               text_.substr(after_blanks(at_ + 1), 1) != ")" &&
               std::string_view("?*+@!").find(text_[at_ - 1]) != std::string_view::npos) {
      word.plain = false;
      extended_glob();
    } else if (letter == '(' && word.assigns && at_ == word.equals + 1) {
      word.compound = true;
      word.plain = false;
      compound_assignment();
    } else if (substitutes && depth_ < deepest) {
      word.plain = false;
      if (letter == '>') note_everything_read();
      ++depth_;
      at_ += 2;
      const std::size_t first_hole = holes.size();
      const bool only_numbers = commands(Until::Parenthesis);
      if (more()) ++at_;
      if (only_numbers) note_number(before, first_hole);
      --depth_;
    } else if (ends_word(letter) && !in_index) {
      break;
    } else if (starts("\\\n")) {
      at_ += 2;  // a broken line quotes nothing
    } else if (letter == '\\') {
      word.plain = false;
      if (at_ + 1 < end_) word.literal += text_[at_ + 1];
      take_backslash(Quotes::None);
    } else if (letter == '\'') {
      word.plain = false;
      single_quoted(&word);
    } else if (letter == '"') {
      word.plain = false;
      double_quoted(&word);
    } else if (letter == '`') {
      word.plain = false;
      backticks(false);
    } else if (letter == '$') {
      dollar(in_index ? Quotes::Arithmetic : Quotes::None, &word);
    } else {
      if (starts("#{")) leave_alone_hash_brace();
      const bool taken = here() == '{' && take_hole(in_index ? Quotes::Arithmetic : Quotes::None);
      if (taken) {
        word.plain = false;
      } else {
        word.literal += letter;
        ++at_;
      }
    }
    integers_ -= in_index ? 1 : 0;
    if (first) {
      word.hole_first =
          holes.size() > word.holes_from && holes[word.holes_from].offset <= before + 1;
      word.hole_only = word.hole_first;
    } else {
      word.hole_only = false;
    }
    first = false;
  }
  word.end = at_;
  if (const std::size_t index = word.begin + (word.assigns ? word.assigns->size() : 0);
      index < index_end) {
    note_calculated(text_between(index, index_end), word.assigns.value_or(""));
  }
  word.holes_to = holes.size();
  return word;
}

// NAME= NAME+= NAME[...]= at the beginning of a word; or [...]= within an array.
void Scanner::find_assignment(Word& word) {
  std::size_t i = at_;
  const auto letter = [&] {
    while (text_.substr(i, end_ - i).starts_with("\\\n")) i += 2;
    return i < end_ ? text_[i] : '\0';
  };
  if (letter() >= '0' && letter() <= '9') return;
  std::string name;
  for (; continues_name(letter()); ++i) name += text_[i];
  if (letter() == '[') {
    i = after_index(i);
    if (i == end_) return;
  } else if (name.empty()) {
    return;
  }
  if (letter() == '+') ++i;
  if (letter() != '=') return;
  word.assigns = std::move(name);
  word.equals = i;
}

// Behind the `]` that belongs to the `[` at `at`: a bracket that is quoted, or in an expansion,
// does not count. At the end of everything: there is none.
std::size_t Scanner::after_index(std::size_t at) const {
  std::string closing;  // what the open ones wait for
  for (; at < end_; ++at) {
    const char letter = text_[at];
    const char awaited = closing.empty() ? '\0' : closing.back();
    if (letter == '\\' && awaited != '\'') {
      ++at;
    } else if (letter == awaited) {
      closing.pop_back();
      if (closing.empty()) return at + 1;
    } else if (awaited == '\'') {
      continue;
    } else if (letter == '$' && at + 1 < end_ && (text_[at + 1] == '(' || text_[at + 1] == '{')) {
      closing += text_[++at] == '(' ? ')' : '}';
    } else if (letter == '"' || letter == '`' || (letter == '\'' && awaited != '"')) {
      closing += letter;
    } else if (letter == '(' && awaited == ')') {
      closing += ')';
    } else if (letter == '[' && (awaited == ']' || awaited == '\0')) {
      closing += ']';
    }
  }
  return end_;
}

void Scanner::extended_glob() {
  ++at_;
  while (more() && here() != ')') {
    if (here() == '|' || is_blank(here()) || here() == '\n') {
      ++at_;
      continue;
    }
    const std::size_t before = at_;
    word(false);
    if (at_ == before) ++at_;
  }
  if (more()) ++at_;
}

void Scanner::compound_assignment() {
  ++at_;
  while (more() && here() != ')') {
    if (is_blank(here()) || here() == '\n') {
      ++at_;
    } else if (starts("\\\n")) {
      at_ += 2;
    } else if (here() == '#') {
      while (more() && here() != '\n') ++at_;
    } else {
      const std::size_t before = at_;
      word(here() == '[');
      if (at_ == before) ++at_;
    }
  }
  if (more()) ++at_;
}

}  // namespace reeve::runbook::shell
