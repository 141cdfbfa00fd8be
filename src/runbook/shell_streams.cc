#include "runbook/shell_names.h"
#include "runbook/shell_scan.h"

#include <algorithm>
#include <utility>

// What one command hands to another: pipes, here-documents, what a substitution says. Who reads
// which of them is not followed: all that reaches a `read` is one stream, and what goes to a
// program of others is none of it.
namespace reeve::runbook::shell {
namespace {

bool is_option(const Word& word) { return word.plain && word.literal.starts_with('-'); }

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// What `tr -cd` leaves: digits, and what stands between them.
bool is_set_of_digits(std::string text) {
  for (const std::string_view part : {"0-9", "[:digit:]", "\\n", " "}) {
    for (std::size_t at = 0; (at = text.find(part)) != std::string::npos;) {
      text.erase(at, part.size());
    }
  }
  return text.empty();
}

}  // namespace

// ── Where something comes from ──

// Programs are small. One that is made to be slow to read is not read to its end.
bool Scanner::spend(std::size_t effort) const {
  effort_ += effort;
  return effort_ <= most_effort;
}

std::string Scanner::text_between(std::size_t begin, std::size_t end) const {
  if (!spend(end - begin + numbers_.size())) return {};
  std::string text(text_.substr(begin, end - begin));
  for (const auto& [from, to] : numbers_) {
    if (from < begin || to > end) continue;
    std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(from - begin), to - from, ' ');
  }
  return text;
}

std::vector<std::size_t> Scanner::holes_between(std::size_t begin, std::size_t end) const {
  std::vector<std::size_t> indices;
  if (!spend(holes.size())) return indices;
  for (std::size_t i = 0; i < holes.size(); ++i) {
    const std::size_t offset = holes[i].offset;
    if (offset >= begin && offset < end && !only_numbers_.contains(i)) indices.push_back(i);
  }
  return indices;
}

Scanner::Flow Scanner::flow_between(std::string into, std::size_t begin, std::size_t end) const {
  return {.into = std::move(into),
          .text = text_between(begin, end),
          .holes = holes_between(begin, end),
          .depth = depth_};
}

Scanner::Flow Scanner::flow_from(std::string into, const Word& word) const {
  Flow flow = flow_between(std::move(into), word.begin, word.end);
  flow.depth = word.depth;
  return flow;
}

// ── Numbers ──

// Whether it says nothing but numbers, whatever the values in its words are. None of them may
// become an option, which could make it say anything.
bool Scanner::says_number(const Command& command) {
  const bool says = can_say_number(command);
  if (says) counting_.insert(command.name);
  return says;
}

bool Scanner::can_say_number(const Command& command) const {
  const std::vector<Word>& words = command.words;
  const std::string& name = command.name;
  if (command.says_elsewhere || words.empty()) return false;
  const auto is_word = [&](std::size_t i, std::initializer_list<std::string_view> texts) {
    return i < words.size() && words[i].plain && is_one_of(words[i].literal, texts);
  };
  const auto is_literal = [&](const Word& word) {
    const std::string_view text = text_.substr(word.begin, word.end - word.begin);
    return !word.has_holes() && text.find_first_of("$`*?[<>") == std::string_view::npos;
  };
  const auto is_no_option = [&](const Word& word) {
    return std::string_view("$\"'`\\{-<>*?[").find(text_[word.begin]) == std::string_view::npos;
  };
  if (name == "wc") {
    return std::ranges::all_of(words, is_option) &&
           std::ranges::none_of(words, [](const Word& each) { return each.literal[1] == '-'; });
  }
  if (name == "tr") {
    return words.size() == 2 && is_word(0, {"-cd", "-dc"}) && !words[1].has_holes() &&
           is_set_of_digits(words[1].literal);
  }
  if (name == "seq") return words[0].plain && is_digits(words[0].literal);
  if (name == "date") return words.size() == 1 && is_word(0, {"+%s"});
  if (name == "grep") {
    return words.size() == 2 && is_word(0, {"-c", "-ci", "-cv", "-ic", "-vc"}) &&
           is_literal(words[1]) && !words[1].literal.starts_with('-');
  }
  if (name == "stat") {
    return words.size() == 4 && is_word(0, {"-c"}) && is_word(2, {"--"}) &&
           is_one_of(words[1].literal, {"%s", "%Y", "%X", "%Z"}) && !words[1].has_holes();
  }
  return name == "git" && words.size() == 3 && is_word(0, {"rev-list"}) &&
         is_word(1, {"--count"}) && is_no_option(words[2]);
}

// What a regular expression found is in BASH_REMATCH. It is harmless if all that is not written
// there can only be digits.
void Scanner::note_matched(const Word& subject, const Word& regex) {
  std::string text(text_.substr(regex.begin, regex.end - regex.begin));
  for (const std::string_view digits : {"[0-9]", "[1-9]", "[[:digit:]]"}) {
    for (std::size_t at = 0; (at = text.find(digits)) != std::string::npos;) {
      text.replace(at, digits.size(), "0");
    }
  }
  bool expands = false;
  for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at + 1)) {
    expands |= at + 1 < text.size() && text[at + 1] != ')' && text[at + 1] != '|';
  }
  if (!regex.has_holes() && !expands && text.find_first_of(".[\\`") == std::string::npos) return;
  Flow flow = flow_from("BASH_REMATCH", subject);
  flow.way = "`=~`";
  flows_.push_back(std::move(flow));
}

void Scanner::note_number(std::size_t begin, std::size_t first_hole) {
  numbers_.emplace_back(begin, at_);
  for (std::size_t i = first_hole; i < holes.size(); ++i) only_numbers_.insert(i);
}

// ── Streams ──

void Scanner::note_streams(const Command& command, bool piped) {
  const std::string by = piped ? "" : command.name;
  const bool keeps_own = is_one_of(command.name, {"read", "mapfile", "readarray"});
  for (const Word& each : command.here_strings) {
    if (!keeps_own) streams_.push_back({flow_from("|", each), command.name});
  }
  for (const Word& each : command.substitutes) {
    streams_.push_back({flow_from("|", each), command.name});
  }
  for (const std::size_t number : command.documents) documents_[number] = by;
}

void Scanner::note_pipe(const Command& left, std::size_t begin, std::size_t bar) {
  if (!left.at_start && says_number(left)) return;
  streams_.push_back({flow_between("|", begin, bar), next_command()});
}

// Where nobody can tell who reads what.
void Scanner::note_everything_read() { everything_is_read_ = true; }

void Scanner::note_function(const std::string& name, std::size_t begin, std::size_t end) {
  functions_.insert(name);
  flows_.push_back(flow_between(name + "()", begin, end));
}

// The name of the command that comes next; empty: it may be one that reads.
std::string Scanner::next_command() const {
  std::size_t begin = at_;
  while (begin < end_ && std::string_view(" \t\n").find(text_[begin]) != std::string_view::npos) {
    ++begin;
  }
  const std::size_t end = std::min(text_.find_first_of(" \t\n;|&()<>", begin), end_);
  const std::string_view name = text_.substr(begin, end - begin);
  if (name.find_first_of("'\"\\$`{=#[!") != std::string_view::npos) return {};
  if (is_one_of(name, {"while", "until", "for", "if", "case", "select", "time"})) return {};
  return std::string(name);
}

bool Scanner::is_read_by(const std::string& command) const {
  return command.empty() || everything_is_read_ || functions_.contains(command) ||
         is_one_of(
             command,
             {"read", "mapfile", "readarray", "source", ".", "eval", "exec", "command", "builtin"});
}

}  // namespace reeve::runbook::shell
