#include "runbook/shell_names.h"
#include "runbook/shell_scan.h"

#include <algorithm>
#include <array>
#include <utility>

// Lists of commands: what separates them, which word of one is its name, and where the parentheses
// of a `case` and the bodies of here-documents end.
namespace reeve::runbook::shell {

struct Scanner::List {
  Command command;
  std::vector<Case> cases;
  bool target = false;          // the next word is that of a redirection
  std::string redirects;        // ... of this one
  bool names_loop = false;      // `for`, `select`, `function`: a name comes next
  bool after_loop = false;      // `for NAME`: the words after `in` are words
  bool after_compound = false;  // `]]`, `))`, `)`, `}`, `fi`: `then` and its like need no `;`
  bool after_time = false;
  bool after_coproc = false;

  struct Opened {
    std::string keyword;
    std::size_t begin = 0;
    std::string function = {};
  };
  std::size_t start = 0;
  std::size_t begin = 0;       // of the pipeline
  bool piped = false;          // it goes on after a newline
  std::vector<Opened> opened;  // if, while, {, ...
  std::string function;        // its body comes next
  bool only_numbers = true;    // is what its commands have said so far
};

std::string without_quotes(std::string_view raw) {
  std::string text;
  char quote = '\0';
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const char letter = raw[i];
    if (letter == quote) {
      quote = '\0';
    } else if (quote == '\0' && (letter == '\'' || letter == '"')) {
      quote = letter;
    } else if (letter == '\\' && quote != '\'' && i + 1 < raw.size()) {
      if (raw[++i] != '\n') text += raw[i];
    } else {
      text += letter;
    }
  }
  return text;
}

void Scanner::run() {
  commands(Until::End);
  judge_flows();
}

bool Scanner::commands(Until until) {
  List list;
  list.start = list.begin = at_;
  // A document that is awaited outside has its body behind the end of that line, not of one in
  // here; one that is still awaited at the end of this has it out there.
  std::vector<HereDocument> awaited_outside = std::exchange(awaited_, {});
  const auto in_pattern = [&] { return !list.cases.empty() && list.cases.back() == Case::Pattern; };
  while (more()) {
    const char letter = here();
    if (letter == ' ' || letter == '\t') {
      ++at_;
    } else if (starts("\\\n")) {
      at_ += 2;
    } else if (letter == '\n') {
      ++at_;
      end_command(list);
      if (!list.piped) list.begin = at_;
      read_here_documents();
    } else if (letter == '#') {
      while (more() && here() != '\n') ++at_;
    } else if (letter == ';' || letter == '|' || (letter == '&' && !starts("&>"))) {
      const bool ends_clause = starts(";;") || starts(";&");
      const bool is_pipe = letter == '|' && !starts("||");
      const std::size_t bar = at_;
      while (more() && std::string_view(";&|").find(here()) != std::string_view::npos) {
        if (starts("&>")) break;
        ++at_;
      }
      if (in_pattern()) continue;
      if (is_pipe) note_pipe(list.command, list.begin, bar);
      end_command(list, is_pipe);
      list.piped = is_pipe;
      if (!is_pipe) list.begin = at_;
      if (ends_clause && !list.cases.empty()) list.cases.back() = Case::Pattern;
    } else if (letter == ')') {
      if (in_pattern()) {
        list.cases.back() = Case::Body;
        list.command = {};
        list.begin = ++at_;
        continue;
      }
      if (until == Until::Parenthesis) break;
      end_command(list);
      ++at_;
    } else if (letter == '(') {
      if (in_pattern()) {
        ++at_;
      } else if (starts("((") && (list.command.at_start || list.names_loop) &&
                 is_arithmetic(at_ + 2)) {
        at_ += 2;
        arithmetic("))");
        list.names_loop = false;
        list.command.at_start = false;
        list.after_compound = true;
      } else if (starts("()") || !list.command.at_start) {
        list.function = list.command.name;
        ++at_;  // NAME (): what follows is its body
        while (more() && (here() == ' ' || here() == '\t')) ++at_;
        if (here() == ')') ++at_;
        list.command = {};
      } else if (++depth_; depth_ < 100) {
        const std::size_t begin = at_++;
        commands(Until::Parenthesis);
        if (more()) ++at_;
        if (!list.function.empty()) note_function(std::exchange(list.function, {}), begin, at_);
        --depth_;
        list.command.at_start = false;
        list.after_compound = true;
      } else {
        mistake(at_, "nested too deeply");
        at_ = end_;
        --depth_;
      }
    } else if ((letter == '<' || letter == '>' || starts("&>")) && !starts("<(") && !starts(">(")) {
      redirection(list);
    } else if (starts("!(") && list.command.at_start && !list.target && !list.names_loop &&
               (list.cases.empty() || list.cases.back() == Case::Body)) {
      // No pattern: bash reads those only where `extglob` is on, and in a script it is off.
      Word negation{.begin = at_, .end = at_ + 1, .literal = "!"};
      ++at_;
      handle(list, negation);
    } else {
      const bool may_assign =
          list.command.at_start ||
          is_one_of(list.command.name,
                    {"declare", "typeset", "local", "export", "readonly", "alias"});
      const std::size_t before = at_;
      const Word next = word(may_assign && !list.target);
      if (at_ == before) ++at_;
      handle(list, next);
    }
  }
  end_command(list);
  close(list, {});
  if (!list.function.empty()) note_function(list.function, list.start, at_);
  awaited_.insert(awaited_.begin(), awaited_outside.begin(), awaited_outside.end());
  return list.only_numbers;
}

// A pipeline has in it what its compound commands have in them, and so has a function.
void Scanner::open(List& list, std::string_view keyword) {
  list.opened.push_back({std::string(keyword), list.begin, std::exchange(list.function, {})});
}

void Scanner::close(List& list, std::initializer_list<std::string_view> keywords) {
  bool found = false;
  while (!found && !list.opened.empty()) {
    const List::Opened last = list.opened.back();
    list.opened.pop_back();
    found = is_one_of(last.keyword, keywords);
    list.begin = found ? last.begin : list.start;
    if (!last.function.empty()) note_function(last.function, last.begin, at_);
  }
}

// ── Redirections ──

void Scanner::redirection(List& list) {
  if (starts("<<") && !starts("<<<")) {
    here_document_operator(list);
    return;
  }
  std::string text;
  const std::size_t begin = at_;
  while (more() && std::string_view("<>&|").find(here()) != std::string_view::npos &&
         !((starts("<(") || starts(">(")))) {
    text += text_[at_++];
    if (starts("\\\n")) {
      mistake(begin, "a line cannot be broken between `" + text + "` and what belongs to it");
    }
  }
  list.target = true;
  list.redirects = std::move(text);
}

// 2>file, {{fd}}>file: no word of the command.
bool Scanner::names_descriptor(const Word& word) const {
  if (word.has_holes() || (here() != '<' && here() != '>')) return false;
  const std::string_view text = text_.substr(word.begin, word.end - word.begin);
  return text.find_first_not_of("0123456789") == std::string_view::npos ||
         (text.starts_with("{{") && text.ends_with("}}"));
}

void Scanner::here_document_operator(List& list) {
  at_ += 2;
  HereDocument document;
  if (here() == '-') {
    document.strips_tabs = true;
    ++at_;
  }
  while (more() && (here() == ' ' || here() == '\t')) ++at_;
  const std::size_t holes_before = holes.size();
  const Word delimiter = word(false);
  const std::string_view raw = text_.substr(delimiter.begin, delimiter.end - delimiter.begin);
  document.delimiter = without_quotes(raw);
  document.quoted = raw.find_first_of("'\"\\") != std::string_view::npos;
  if (holes.size() > holes_before) {
    mistake(delimiter.begin, "a placeholder cannot be the end mark of a here-document");
  }
  document.number = ++last_document_;
  list.command.documents.push_back(document.number);
  list.command.redirected = true;
  awaited_.push_back(std::move(document));
}

void Scanner::read_here_documents() {
  const std::vector<HereDocument> documents = std::exchange(awaited_, {});
  for (const HereDocument& document : documents) {
    const std::size_t begin = at_;
    std::size_t line = at_;
    std::size_t body_end = end_;
    std::size_t after = end_;
    bool joined = false;  // to the line before, by a backslash
    while (line < end_) {
      const std::size_t newline = std::min(text_.find('\n', line), end_);
      std::string_view content = text_.substr(line, newline - line);
      std::string_view compared = content;
      while (document.strips_tabs && compared.starts_with('\t')) compared.remove_prefix(1);
      if (!joined && compared == document.delimiter) {
        body_end = line;
        after = std::min(end_, newline + 1);
        break;
      }
      std::size_t slashes = 0;
      while (content.ends_with('\\')) {
        content.remove_suffix(1);
        ++slashes;
      }
      joined = !document.quoted && slashes % 2 == 1;
      line = newline + 1;
    }
    if (!document.quoted) {
      here_document_body(body_end);
      streams_.push_back({flow_between("|", begin, body_end), documents_[document.number]});
    } else {
      // What stands there is taken as it stands; a reference would be, too.
      for (at_ = begin; at_ < body_end;) {
        if (starts("#{") || starts("${")) leave_alone_hash_brace();
        const std::size_t before = holes.size();
        if (here() == '{' && take_hole(Quotes::HereDocument)) {
          if (holes.size() == before) continue;
          mistake(holes.back().offset,
                  "{" + holes.back().name +
                      "} stands in a here-document whose end mark is "
                      "quoted: nothing is filled in there; write <<" +
                      document.delimiter + " without quotes");
        } else {
          ++at_;
        }
      }
    }
    at_ = std::max(at_, after);
  }
}

// ── Commands ──

void Scanner::end_command(List& list, bool piped) {
  const Command& command = list.command;
  if (!command.at_start) judge(command);
  note_streams(command, piped);
  const bool says = !command.at_start || !command.prefix.empty() || command.redirected;
  if (says && !piped) list.only_numbers &= says_number(command);
  if (says) list.piped = false;
  list.command = {};
  list.target = false;
  list.names_loop = false;
  list.after_loop = false;
  list.after_compound = false;
  list.after_time = false;
  list.after_coproc = false;
}

void Scanner::handle(List& list, const Word& word) {
  if (list.target) {
    list.target = false;
    const std::string_view text = text_.substr(word.begin, word.end - word.begin);
    list.command.redirected = true;
    list.command.says_elsewhere |= list.redirects.find('>') != std::string::npos &&
                                   !(word.plain && word.literal == "/dev/null");
    if (list.redirects == "<<<") list.command.here_strings.push_back(word);
    if (text.starts_with("<(")) list.command.substitutes.push_back(word);
    if (list.redirects == ">&" || list.redirects == "<&") judge_duplication(list.redirects, word);
    return;
  }
  if (names_descriptor(word) && (list.cases.empty() || list.cases.back() == Case::Body)) return;
  if (!list.cases.empty()) {
    Case& state = list.cases.back();
    if (state == Case::Subject) {
      state = Case::In;
      return;
    }
    if (state == Case::In) {
      state = Case::Pattern;
      return;
    }
    if (state == Case::Pattern) {
      if (word.plain && word.literal == "esac") {
        close(list, {"case"});
        list.cases.pop_back();
        list.command = {};
        list.command.at_start = false;
        list.after_compound = true;
      }
      return;
    }
  }
  if (list.names_loop) {
    if (word.has_holes()) refuse(word, "as the name of a variable or function");
    list.names_loop = false;
    list.command.at_start = !list.after_loop;
    if (list.after_loop) {
      list.command.loops = word.literal;
    } else {
      list.function = word.literal;
    }
    list.after_compound = list.after_loop;  // `for NAME do`
    const std::size_t open = after_blanks(at_);
    if (!list.after_loop && open < end_ && text_[open] == '(') {  // `function NAME ( )`
      const std::size_t close = after_blanks(open + 1);
      if (close < end_ && text_[close] == ')') at_ = close + 1;
    }
    return;
  }
  if (std::exchange(list.after_compound, false) && word.plain &&
      is_one_of(word.literal, {"then", "do", "else", "elif", "fi", "done", "esac", "{", "}"})) {
    list.command = {};
  }
  if (!list.command.at_start) {
    list.command.words.push_back(word);
    return;
  }
  if (keyword(list, word)) return;
  if (word.assigns) {
    note_assignment(word);
    return;
  }
  command_name(list, word);
}

// Whether the word at the beginning of a command is one of the shell's own.
bool Scanner::keyword(List& list, const Word& word) {
  if (!word.plain || !list.command.prefix.empty()) return false;
  const std::string& text = word.literal;
  if (list.after_time && is_one_of(text, {"-p", "--"})) return true;
  if (std::exchange(list.after_coproc, false) && names_coprocess()) return true;
  list.after_time = text == "time";
  list.after_coproc = text == "coproc";
  if (text == "coproc") note_everything_read();
  if (is_one_of(text, {"if", "while", "until", "{", "for", "select", "case"})) open(list, text);
  if (is_one_of(
          text,
          {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "coproc"})) {
    return true;
  }
  if (is_one_of(text, {"fi", "done", "}"})) {
    if (text == "fi") close(list, {"if"});
    if (text == "done") close(list, {"while", "until", "for", "select"});
    if (text == "}") close(list, {"{"});
    list.command = {};
    list.command.at_start = false;
    list.after_compound = true;
  } else if (text == "for" || text == "select" || text == "function") {
    list.names_loop = true;
    list.after_loop = text != "function";
    if (text == "select") flows_.push_back({.into = "REPLY", .way = "`select`", .reads = true});
  } else if (text == "case") {
    list.cases.push_back(Case::Subject);
  } else if (text == "esac" && !list.cases.empty()) {
    close(list, {"case"});
    list.cases.pop_back();
    list.command.at_start = false;
    list.after_compound = true;
  } else if (text == "[[") {
    condition();
    list.command.at_start = false;
    list.after_compound = true;
  } else {
    return false;
  }
  return true;
}

// `coproc NAME {`: a name only if what follows is no simple command.
bool Scanner::names_coprocess() const {
  const std::size_t begin = after_blanks(at_);
  if (begin < end_ && text_[begin] == '(') return true;
  const std::size_t end = std::min(text_.find_first_of(" \t\n;", begin), end_);
  return is_one_of(text_.substr(begin, end - begin),
                   {"{", "[[", "if", "for", "while", "until", "case", "select"});
}

void Scanner::command_name(List& list, const Word& word) {
  Command& command = list.command;
  if (std::exchange(command.value_next, false)) return;
  if (!command.prefix.empty() && word.literal.starts_with('-')) {
    command.value_next = command.prefix == "exec" && word.literal.ends_with('a');
    return;
  }
  const bool is_prefix = is_one_of(word.literal, {"command", "builtin", "exec"});
  if (word.has_holes() && word.literal.find('/') == std::string::npos) {
    refuse(word, "as the name of a command; name it yourself, or say where it lies, as in ./bin/");
  }
  if (is_prefix) {
    command.prefix = word.literal;
    return;
  }
  command.name = word.literal;
  command.at_start = false;
}

// [[ ... ]]
void Scanner::condition() {
  Word last;
  Word matched;
  bool number_next = false;
  bool name_next = false;
  bool pattern_next = false;
  bool regex_next = false;
  while (more()) {
    const char letter = here();
    if (letter == ' ' || letter == '\t' || letter == '\n') {
      ++at_;
      continue;
    }
    if (starts("\\\n")) {
      at_ += 2;
      continue;
    }
    if (letter == '#') {
      while (more() && here() != '\n') ++at_;
      continue;
    }
    const bool is_operator =
        (letter == '(' || letter == ')' || letter == '<' || letter == '>' || letter == '&' ||
         letter == '|' || letter == ';' || (starts("!(") && !pattern_next)) &&
        !starts("<(") && !starts(">(");
    if (is_operator && !(regex_next && letter == '(')) {
      if (letter == ';') return;
      ++at_;
      last = {};
      continue;
    }
    const std::size_t before = at_;
    const Word next = word(false, regex_next);
    if (at_ == before) ++at_;
    if (next.plain && next.literal == "]]") return;
    const auto calculate = [&](const Word& each) {
      need_integer(each);
      note_calculated(text_between(each.begin, each.end));
    };
    if (regex_next) note_matched(matched, next);
    if (number_next) calculate(next);
    if (name_next) note_looked_into(next);
    if (name_next && next.has_holes()) refuse(next, "as the name of a variable");
    number_next = next.plain && is_one_of(next.literal, {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"});
    if (number_next) calculate(last);
    name_next = next.plain && is_one_of(next.literal, {"-v", "-R"});
    pattern_next = next.plain && is_one_of(next.literal, {"==", "=", "!=", "=~"});
    regex_next = next.plain && next.literal == "=~";
    if (regex_next) matched = last;
    last = next;
  }
}

}  // namespace reeve::runbook::shell
