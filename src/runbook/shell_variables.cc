#include "runbook/shell_names.h"
#include "runbook/shell_scan.h"

#include <algorithm>
#include <utility>

// Values that reach a variable, and variables that bash looks into. They are judged together at the
// end (shell_flows.cc), as a declaration counts wherever it stands.
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

void Scanner::note_assignment(const Word& word, bool declared) {
  const std::string_view target = text_.substr(word.begin, word.equals - word.begin);
  if (word.compound || target.ends_with(']') || target.ends_with("]+")) {
    array_names_.insert(*word.assigns);
  }
  Flow flow = flow_between(*word.assigns, std::min(word.equals + 1, word.end), word.end);
  flow.depth = word.depth;
  flow.declared = declared;
  flow.compound = word.compound;
  flows_.push_back(std::move(flow));
}

void Scanner::note_fed(const Command& command, std::string_view otherwise) {
  const auto feed = [&](const std::string& name, std::size_t offset) {
    fed_.push_back({name, offset});
    for (const Word& each : command.here_strings) flows_.push_back(flow_from(name, each));
    if (!command.here_strings.empty()) return;
    flows_.push_back({.into = name, .way = "`" + command.name + "`", .reads = true});
  };
  bool named = false;
  for (const Word& word : command.words) {
    array_names_.insert(word.literal);
    if (word.literal.empty() || word.literal.starts_with('-')) continue;
    note_looked_into(word);
    feed(word.literal.substr(0, word.literal.find('[')), word.begin);
    named = true;
  }
  if (!named) feed(std::string(otherwise), std::min(at_, end_));
}

// The names in what is calculated, and the commands. In `for ((` a name that the part before the
// first `;` begins by assigning is, behind that, what was assigned.
void Scanner::note_calculated(std::string_view text,
                              const std::string& array,
                              const std::string& into) {
  std::set<std::string> assigned;
  std::string pending;  // is assigned as soon as its part is over
  bool part_begins = true;
  int open = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const bool begins = part_begins;
    part_begins &= std::string_view(" \t\n").find(text[i]) != std::string_view::npos;
    if (rest.starts_with("$(") || rest.starts_with("<(")) {
      const std::size_t begin = std::exchange(i, after_parentheses(text, i + 1));
      through_.insert({array, std::string(text.substr(begin, i - begin)), into});
    } else if (rest.starts_with('`')) {
      const std::size_t begin =
          std::exchange(i, std::min(text.find('`', i + 1), text.size() - 1) + 1);
      through_.insert({array, std::string(text.substr(begin, i - begin)), into});
    } else if (rest.starts_with("${#")) {
      i = std::min(text.find('}', i), text.size() - 1) + 1;
    } else if (rest.starts_with('{') && rest.find('}') != std::string_view::npos &&
               !(i > 0 && text[i - 1] == '$')) {
      i += rest.find('}') + 1;  // a placeholder
    } else if (continues_name(text[i])) {
      std::size_t end = i;
      while (end < text.size() && continues_name(text[end])) ++end;
      const std::string name(text.substr(i, end - i));
      const bool is_assigned = is_assigned_at(text, end);
      if (is_assigned && begins) pending = name;
      if (!is_digit(text[i]) && !is_assigned && !assigned.contains(name)) {
        calculated_.insert({array, name});
      }
      i = end;
    } else {
      if (is_one_of(rest.substr(0, 1), {"(", "[", "{"})) ++open;
      if (is_one_of(rest.substr(0, 1), {")", "]", "}"})) --open;
      if (text[i] == ';' && open == 0) {
        assigned.insert(std::exchange(pending, {}));
        part_begins = true;
      }
      ++i;
    }
  }
}

// What becomes code, or the name of a variable.
void Scanner::note_looked_into(const Word& word) {
  std::string text = text_between(word.begin, word.end);
  note_indices(text);
  looked_into_texts_.insert(std::move(text));
}

// Each NAME[index] in what bash looks into: with the index it calculates.
void Scanner::note_indices(std::string_view text) {
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
    std::size_t name = at;
    while (name > 0 && continues_name(text[name - 1])) --name;
    if (name == at) continue;
    if (!spend(text.size() - at)) return;
    int open = 0;
    std::size_t end = at;
    for (; end < text.size(); ++end) {
      if (text[end] == '[') ++open;
      if (text[end] == ']' && --open == 0) break;
    }
    note_calculated(text.substr(at + 1, end - at - 1), std::string(text.substr(name, at - name)));
  }
}

// What `eval` and `trap` are given is run. Where nothing of it is expanded before, it is read as
// the program that it is: no value is a part of its text, and its commands say what becomes of a
// variable.
void Scanner::note_run(const Command& command) {
  std::span<const Word> words = command.words;
  if (!words.empty() && words.front().literal == "--") words = words.subspan(1);
  if (command.name == "trap" && words.size() > 1) words = words.first(1);  // the rest is signals
  if (words.empty()) return;
  std::string program;
  bool is_known = depth_ < deepest;
  for (const Word& word : words) {
    const std::string_view text = text_.substr(word.begin, word.end - word.begin);
    const bool is_quoted = text.starts_with('\'') && text.find('\'', 1) == text.size() - 1;
    is_known &= !word.has_holes() && (is_quoted || text.find_first_of("$`") == text.npos);
    program += without_quotes(text) + ' ';
  }
  if (!is_known) {
    for (const Word& word : words) note_looked_into(word);
    return;
  }
  Scanner scanner(program);
  scanner.depth_ = depth_ + 1;
  scanner.commands(Until::End);
  for (Flow& each : scanner.flows_) {
    if (each.holes.empty()) flows_.push_back(std::move(each));
  }
  for (Stream& each : scanner.streams_) {
    if (each.flow.holes.empty()) streams_.push_back(std::move(each));
  }
  for (Fed& each : scanner.fed_) fed_.push_back({std::move(each.name), words.front().begin});
  if (!scanner.doubtful_.empty()) doubtful_.push_back(words.front().begin);
  learn_from(scanner);
}

// A variable is what it was declared to be, and is used for what it is, wherever that stands.
void Scanner::learn_from(Scanner& inner) {
  integer_names_.merge(inner.integer_names_);
  array_names_.merge(inner.array_names_);
  map_names_.merge(inner.map_names_);
  references_.merge(inner.references_);
  calculated_.merge(inner.calculated_);
  through_.merge(inner.through_);
  functions_.merge(inner.functions_);
  counting_.merge(inner.counting_);
  everything_is_read_ |= inner.everything_is_read_;
  effort_ += inner.effort_;
  looked_into_.merge(inner.looked_into_);
  looked_into_texts_.merge(inner.looked_into_texts_);
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
  const std::size_t colon = rest.starts_with(':') ? 1 : 0;
  if (rest.substr(colon).starts_with('=')) {  // ${NAME:=...}
    flows_.push_back(
        {.into = std::string(name), .text = std::string(rest.substr(colon + 1)), .depth = depth_});
  }
  if (name.empty() && (rest.starts_with('@') || rest.starts_with('*'))) rest.remove_prefix(1);
  if (rest.starts_with(':') && rest.size() > 1 &&
      std::string_view("-=?+").find(rest[1]) == std::string_view::npos) {
    note_calculated(rest.substr(1));
  }
}

}  // namespace reeve::runbook::shell
