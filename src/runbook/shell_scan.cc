#include "runbook/shell_scan.h"

#include <algorithm>
#include <utility>

// Quotes and expansions. The words made of them: shell_words.cc; commands: shell_commands.cc.
namespace reeve::runbook::shell {
namespace {

bool begins_name(char letter) { return (letter >= 'a' && letter <= 'z') || letter == '_'; }

struct Braces {
  std::string_view name;
  bool twice = false;
  std::size_t length = 0;
};

// What core/interpolate takes for a placeholder, or for one that is printed.
std::optional<Braces> braces_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '{') return std::nullopt;
  const bool twice = text.substr(at).starts_with("{{");
  const std::size_t begin = at + (twice ? 2 : 1);
  std::size_t end = begin;
  while (end < text.size() && begins_name(text[end])) {
    while (end < text.size() && continues_name(text[end])) ++end;
    if (end + 1 >= text.size() || text[end] != '.' || !begins_name(text[end + 1])) break;
    ++end;
  }
  if (end == begin || !text.substr(end).starts_with(twice ? "}}" : "}")) return std::nullopt;
  return Braces{text.substr(begin, end - begin), twice, end - at + (twice ? 2U : 1U)};
}

}  // namespace

std::string reference_to(const std::string& name, Quotes quotes) {
  std::string bare = "${" + variable_name(name) + "}";
  switch (quotes) {
    case Quotes::None:
      return "\"" + bare + "\"";
    case Quotes::Single:
      return "'\"" + bare + "\"'";
    case Quotes::Ansi:
      return "'\"" + bare + "\"$'";
    case Quotes::Double:
    case Quotes::Arithmetic:
    case Quotes::HereDocument:
      return bare;
  }
  return bare;
}

bool continues_name(char letter) {
  return begins_name(letter) || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

std::size_t Scanner::after_blanks(std::size_t at) const {
  while (at < end_ && (text_[at] == ' ' || text_[at] == '\t')) ++at;
  return at;
}

void Scanner::mistake(std::size_t offset, std::string message) {
  mistakes.push_back({offset, std::move(message)});
}

// ── Placeholders ──

bool Scanner::take_hole(Quotes quotes) {
  const auto braces = braces_at(text_.substr(0, end_), at_);
  if (!braces) return false;
  if (at_ < left_alone_until_) return false;
  const std::size_t offset = std::exchange(at_, at_ + braces->length);
  if (braces->twice) {
    edits.push_back({offset, braces->length, "{" + std::string(braces->name) + "}"});
    return true;
  }
  const std::string name(braces->name);
  edits.push_back({offset, braces->length, writer_(name, quotes)});
  holes.push_back({name, offset, integers_ > 0});
  depths_.push_back(depth_);
  return true;
}

// A backslash and the letter it protects. Before a placeholder it would protect our `$` or quote.
void Scanner::take_backslash(Quotes quotes) {
  const std::size_t next = at_ + 1;
  const auto braces = next < end_ ? braces_at(text_.substr(0, end_), next) : std::nullopt;
  if (braces && next >= left_alone_until_) {
    mistake(at_,
            "a backslash before {" + std::string(braces->name) + "} cannot be kept: write {{" +
                std::string(braces->name) +
                "}} for the text itself, or put the backslash in quotes of its own");
  }
  at_ = std::min(end_, at_ + 2);
  // \cX takes one letter more.
  if (quotes == Quotes::Ansi && text_[next < end_ ? next : at_ - 1] == 'c' && more()) {
    if (at_ >= left_alone_until_ && braces_at(text_.substr(0, end_), at_)) {
      mistake(at_, "a placeholder cannot stand after \\c");
    }
    ++at_;
  }
}

// `#{...}` belongs to others (tmux, for one), with all that is in it.
void Scanner::leave_alone_hash_brace() {
  int open = 0;
  for (std::size_t i = at_ + 1; i < end_; ++i) {
    if (text_[i] == '{') ++open;
    if (text_[i] == '}' && --open == 0) {
      left_alone_until_ = std::max(left_alone_until_, i + 1);
      return;
    }
  }
  left_alone_until_ = std::max(left_alone_until_, at_ + 2);
}

// ── Quotes ──

void Scanner::single_quoted(Word* word) {
  ++at_;
  while (more() && here() != '\'') {
    if (starts("#{")) leave_alone_hash_brace();
    if (here() == '{') {
      const std::size_t before = holes.size();
      if (take_hole(Quotes::Single)) {
        if (integers_ > 0 && holes.size() > before) {
          mistake(holes.back().offset, "a placeholder cannot stand between single quotes here");
        }
        continue;
      }
    }
    if (word) word->literal += here();
    ++at_;
  }
  if (more()) ++at_;
}

void Scanner::ansi_quoted(Word* word) {
  at_ += 2;
  while (more() && here() != '\'') {
    if (here() == '\\') {
      take_backslash(Quotes::Ansi);
      continue;
    }
    if (starts("#{")) leave_alone_hash_brace();
    if (here() == '{' && take_hole(Quotes::Ansi)) continue;
    if (word) word->literal += here();
    ++at_;
  }
  if (more()) ++at_;
}

void Scanner::double_quoted(Word* word) {
  ++at_;
  while (more() && here() != '"') {
    if (here() == '\\') {
      take_backslash(Quotes::Double);
    } else if (here() == '$') {
      dollar(Quotes::Double, word);
    } else if (here() == '`') {
      if (word) word->plain = false;
      backticks(true);
    } else {
      if (starts("#{")) leave_alone_hash_brace();
      if (here() == '{' && take_hole(Quotes::Double)) continue;
      if (word) word->literal += here();
      ++at_;
    }
  }
  if (more()) ++at_;
}

// Between backticks a backslash is taken off first ($, `, \, and " between double quotes), then
// the rest is read as a program of its own. If that has placeholders the whole is written anew.
void Scanner::backticks(bool in_double_quotes) {
  const std::size_t begin = at_++;
  std::string inner;
  std::vector<std::size_t> offsets;
  bool clean = true;
  while (more() && here() != '`') {
    const char next = at_ + 1 < end_ ? text_[at_ + 1] : '\0';
    const bool taken_off = here() == '\\' && (next == '$' || next == '`' || next == '\\' ||
                                              (next == '"' && in_double_quotes));
    if (taken_off) ++at_;
    clean &= at_ >= left_alone_until_;
    inner += here();
    offsets.push_back(at_++);
  }
  const bool closed = more();
  if (closed) ++at_;
  if (!clean || depth_ >= deepest) return;

  Scanner scanner(inner);
  scanner.writer_ = writer_;
  scanner.depth_ = depth_ + 1;
  const bool only_numbers = scanner.commands(Until::End);
  const auto outer = [&](std::size_t offset) {
    return offset < offsets.size() ? offsets[offset] : begin;
  };
  for (ShellMistake& each : scanner.mistakes) mistake(outer(each.offset), std::move(each.message));
  // A variable is what it was declared to be, on whichever side of the backticks: judged with the
  // rest.
  const std::size_t first = holes.size();
  for (Flow& each : scanner.flows_) {
    for (std::size_t& hole : each.holes) hole += first;
    flows_.push_back(std::move(each));
  }
  for (Stream& each : scanner.streams_) {
    for (std::size_t& hole : each.flow.holes) hole += first;
    streams_.push_back(std::move(each));
  }
  for (const std::size_t hole : scanner.only_numbers_) only_numbers_.insert(hole + first);
  for (const std::size_t hole : scanner.only_integers_) only_integers_.insert(hole + first);
  for (Fed& each : scanner.fed_) fed_.push_back({std::move(each.name), outer(each.offset)});
  for (const std::size_t each : scanner.doubtful_) doubtful_.push_back(outer(each));
  learn_from(scanner);
  if (only_numbers) note_number(begin, holes.size());
  if (scanner.edits.empty()) return;
  depths_.insert(depths_.end(), scanner.depths_.begin(), scanner.depths_.end());
  for (Hole& hole : scanner.holes) {
    hole.offset = outer(hole.offset);
    hole.integer |= integers_ > 0 && !only_numbers;
    holes.push_back(std::move(hole));
  }
  if (only_numbers) note_number(begin, first);
  std::string program;
  std::size_t done = 0;
  for (const Edit& edit : scanner.edits) {
    program += inner.substr(done, edit.offset - done) + edit.text;
    done = edit.offset + edit.length;
  }
  program += inner.substr(done);
  std::string text = "`";
  for (const char letter : program) {
    if (letter == '\\' || letter == '`') text += '\\';
    text += letter;
  }
  if (closed) text += '`';
  edits.push_back({begin, at_ - begin, std::move(text)});
}

// ── Expansions ──

void Scanner::dollar(Quotes quotes, Word* word) {
  if (word) word->plain = false;
  if (depth_ >= deepest) {
    mistake(at_, "nested too deeply");
    at_ = end_;
    return;
  }
  ++depth_;
  std::size_t after = at_ + 1;
  while (text_.substr(after, end_ - after).starts_with("\\\n")) after += 2;
  if (after > at_ + 1 && after < end_ &&
      std::string_view("([{'\"").find(text_[after]) != std::string_view::npos) {
    mistake(at_, "a line cannot be broken between `$` and what belongs to it");
  }
  if (starts("$((") && is_arithmetic(at_ + 3)) {
    at_ += 3;
    arithmetic("))");
  } else if (starts("$(")) {
    const std::size_t begin = std::exchange(at_, at_ + 2);
    const std::size_t first = holes.size();
    const int outer = std::exchange(integers_, 0);
    const bool only_numbers = commands(Until::Parenthesis);
    integers_ = outer;
    if (more()) ++at_;
    if (only_numbers) note_number(begin, first);
    for (std::size_t i = first; outer > 0 && !only_numbers && i < holes.size(); ++i) {
      holes[i].integer = true;
    }
  } else if (starts("$[")) {
    at_ += 2;
    arithmetic("]");
  } else if (starts("${")) {
    parameter(quotes != Quotes::None);
  } else if (starts("$'") && quotes == Quotes::None) {
    ansi_quoted(word);
  } else if (starts("$\"") && quotes == Quotes::None) {
    ++at_;
    double_quoted(word);
  } else {
    ++at_;
  }
  --depth_;
}

// ${...}: left alone, whatever is in it, up to its own end.
void Scanner::parameter(bool in_double_quotes) {
  const std::size_t left_alone = std::exchange(left_alone_until_, end_);
  at_ += 2;
  const std::size_t begin = at_;
  const auto is_one = [&](std::size_t at, std::string_view letters) {
    return at < end_ && letters.find(text_[at]) != std::string_view::npos;
  };
  if (is_one(at_, "!#")) ++at_;
  while (more() && continues_name(here())) ++at_;
  const std::size_t name_end = at_;
  std::size_t operation = at_;
  if (name_end == begin && is_one(operation, "@*?-$")) ++operation;
  if (is_one(operation, "[")) operation = after_index(operation);
  const bool removes = is_one(operation, "#%/^,");
  while (more() && here() != '}') {
    if (here() == '\\') {
      at_ = std::min(end_, at_ + 2);
    } else if (here() == '\'' && (!in_double_quotes || removes)) {
      single_quoted(nullptr);
    } else if (here() == '"') {
      double_quoted(nullptr);
    } else if (here() == '`') {
      backticks(in_double_quotes);
    } else if (here() == '$') {
      dollar(in_double_quotes ? Quotes::Double : Quotes::None, nullptr);
    } else {
      ++at_;
    }
  }
  note_parameter(text_.substr(begin, name_end - begin), text_between(name_end, at_));
  if (more()) ++at_;
  left_alone_until_ = std::max(left_alone, at_);
}

// Whether what begins with `((` before `after` also ends with `))`. What stands in a command in it
// is read no further than its quotes: where that can mislead, it cannot be told.
bool Scanner::is_arithmetic(std::size_t after) {
  int open = 2;
  int inner = 0;  // parentheses of a command between double quotes
  char quote = '\0';
  bool escapes = true;
  bool is_doubtful = false;
  bool ends = false;
  for (std::size_t i = after; i < end_ && !ends; ++i) {
    const char letter = text_[i];
    const bool begins_word =
        std::string_view(" \t\n(;").find(text_[i - 1]) != std::string_view::npos;
    if (letter == '\\' && escapes) {
      ++i;
    } else if (quote != '\0') {
      if (inner > 0 && (letter == '"' || letter == '\'')) is_doubtful = true;
      if (quote == '"' && letter == '(' && (inner > 0 || text_[i - 1] == '$')) ++inner;
      if (letter == ')' && inner > 0) --inner;
      if (letter != quote) continue;
      quote = '\0';
      escapes = true;
    } else if (letter == '"' || letter == '\'') {
      quote = letter;
      escapes = letter == '"' || text_[i - 1] == '$';
    } else if (letter == '(') {
      ++open;
    } else if (letter == ')' && --open == 1) {
      if (i + 1 < end_ && text_[i + 1] == ')') return true;
      ends = true;
    } else if (begins_word && (letter == '#' || text_.substr(i, end_ - i).starts_with("case "))) {
      is_doubtful = true;
    }
  }
  if (is_doubtful) doubtful_.push_back(at_);
  return false;
}

void Scanner::arithmetic(std::string_view closing) {
  ++integers_;
  int open = 0;
  const std::size_t begin = at_;
  while (more()) {
    if (open == 0 && starts(closing)) break;
    const char letter = here();
    if (letter == '(' || letter == '[') ++open;
    if (letter == ')' || letter == ']') --open;
    if (letter == '\\') {
      take_backslash(Quotes::Arithmetic);
    } else if (letter == '\'') {
      single_quoted(nullptr);
    } else if (letter == '"') {
      double_quoted(nullptr);
    } else if (letter == '`') {
      backticks(false);
    } else if (letter == '$') {
      dollar(Quotes::Arithmetic, nullptr);
    } else if (letter != '{' || !take_hole(Quotes::Arithmetic)) {
      ++at_;
    }
  }
  note_calculated(text_between(begin, at_));
  at_ = std::min(end_, at_ + closing.size());
  const std::size_t opening = begin >= 3 && closing == "))" && text_[begin - 3] == '$' ? 3 : 2;
  numbers_.emplace_back(begin - opening, at_);
  --integers_;
}

// As between double quotes, but that a double quote is a letter like any other.
void Scanner::here_document_body(std::size_t end) {
  const std::size_t outer_end = std::exchange(end_, end);
  while (more()) {
    if (here() == '\\') {
      take_backslash(Quotes::HereDocument);
    } else if (here() == '$') {
      dollar(Quotes::HereDocument, nullptr);
    } else if (here() == '`') {
      backticks(true);
    } else {
      if (starts("#{")) leave_alone_hash_brace();
      if (here() != '{' || !take_hole(Quotes::HereDocument)) ++at_;
    }
  }
  end_ = outer_end;
}

}  // namespace reeve::runbook::shell
