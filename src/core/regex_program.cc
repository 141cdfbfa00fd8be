#include "core/regex_program.h"

#include "core/pattern.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace reeve::pattern {
namespace {

// Of a set of one letter: which.
std::size_t only_one(const Letters& letters) {
  std::size_t byte = 0;
  while (byte + 1 < letters.size() && !letters[byte]) ++byte;
  return byte;
}

Letters any_case(Letters letters) {
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    const unsigned char small = byte_of(letter);
    const unsigned char capital = byte_of(static_cast<char>(letter - 'a' + 'A'));
    if (letters[small] || letters[capital]) letters.set(small).set(capital);
  }
  return letters;
}

// ── The expression as a tree ──

enum class Kind : std::uint8_t { Nothing, One, LineBegin, LineEnd, WordEdge, Then, Or, Repeat };

// Children are numbers of nodes. `most` of a Repeat: none = without limit.
struct Node {
  Kind kind = Kind::Nothing;
  Letters letters = {};
  std::size_t left = 0;
  std::size_t right = 0;
  std::size_t least = 0;
  std::optional<std::size_t> most = {};
};

// Recursive descent. Every function gives the number of a node, or none for a mistake.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<std::size_t> whole() {
    const std::optional<std::size_t> root = either();
    return at_end() ? root : std::nullopt;
  }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return text_[at_]; }
  bool accept(std::string_view wanted) {
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }
  std::size_t add(Node node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }
  std::size_t add_one(const Letters& letters) { return add({Kind::One, letters}); }

  std::optional<std::size_t> either() {
    std::optional<std::size_t> left = sequence();
    while (left && accept("|")) {
      const std::optional<std::size_t> right = sequence();
      if (!right) return std::nullopt;
      left = add({Kind::Or, {}, *left, *right});
    }
    return left;
  }

  std::optional<std::size_t> sequence() {
    std::size_t all = add({Kind::Nothing});
    while (!at_end() && peek() != '|' && peek() != ')') {
      const std::optional<std::size_t> next = repeated();
      if (!next) return std::nullopt;
      all = add({Kind::Then, {}, all, *next});
    }
    return all;
  }

  std::optional<std::size_t> repeated() {
    const std::optional<std::size_t> what = atom();
    if (!what || at_end()) return what;
    Node repeat{Kind::Repeat, {}, *what};
    if (accept("+")) {
      repeat.least = 1;
    } else if (accept("?")) {
      repeat.most = 1;
    } else if (accept("{")) {
      if (!bounds(repeat)) return std::nullopt;
    } else if (!accept("*")) {
      return what;
    }
    accept("?");
    return add(std::move(repeat));
  }

  bool bounds(Node& repeat) {
    const std::optional<std::size_t> least = number();
    if (!least) return false;
    repeat.least = *least;
    repeat.most = least;
    if (accept(",")) {
      repeat.most = number();
      if (repeat.most && *repeat.most < repeat.least) return false;
    }
    return accept("}");
  }

  std::optional<std::size_t> number() {
    std::optional<std::size_t> value;
    while (!at_end() && peek() >= '0' && peek() <= '9') {
      const std::size_t digit = static_cast<std::size_t>(text_[at_++] - '0');
      value = std::min(value.value_or(0) * 10 + digit, max_program + 1);
    }
    return value;
  }

  std::optional<std::size_t> atom() {
    if (accept("(")) return group();
    if (accept("[")) return letter_class();
    if (accept("^")) return add({Kind::LineBegin});
    if (accept("$")) return add({Kind::LineEnd});
    if (accept("\\b")) return add({Kind::WordEdge});
    if (accept(".")) return add_one(~Letters().set('\n'));
    if (accept("\\")) {
      const std::optional<Letters> letters = escaped();
      if (!letters) return std::nullopt;
      return add_one(*letters);
    }
    if (std::string_view("*+?{").find(peek()) != std::string_view::npos) return std::nullopt;
    return add_one(Letters().set(byte_of(text_[at_++])));
  }

  std::optional<std::size_t> group() {
    if (depth_ == max_depth) return std::nullopt;
    if (!accept("?:") && !at_end() && peek() == '?') return std::nullopt;
    ++depth_;
    const std::optional<std::size_t> inside = either();
    --depth_;
    return accept(")") ? inside : std::nullopt;
  }

  // What stands behind a backslash. (A letter that means nothing here may mean something
  // elsewhere: that is a mistake and not the letter.)
  std::optional<Letters> escaped() {
    if (at_end()) return std::nullopt;
    const char letter = text_[at_++];
    Letters letters;
    switch (letter) {
      case 'd':
      case 'D':
        for (char digit = '0'; digit <= '9'; ++digit) letters.set(byte_of(digit));
        break;
      case 'w':
      case 'W':
        for (unsigned byte = 0; byte < 256; ++byte) {
          letters.set(byte, is_word(static_cast<unsigned char>(byte)));
        }
        break;
      case 's':
      case 'S':
        for (const char space : std::string_view(" \t\n\r\f\v")) letters.set(byte_of(space));
        break;
      case 'n':
        return letters.set('\n');
      case 'r':
        return letters.set('\r');
      case 't':
        return letters.set('\t');
      default:
        if (is_word(byte_of(letter))) return std::nullopt;
        return letters.set(byte_of(letter));
    }
    return letter >= 'A' && letter <= 'Z' ? ~letters : letters;
  }

  // One letter of a class, or several if it is a backslash and a letter like `d`.
  std::optional<Letters> class_member() {
    if (at_end() || text_.substr(at_).starts_with("[:")) return std::nullopt;
    if (accept("\\")) return escaped();
    return Letters().set(byte_of(text_[at_++]));
  }

  std::optional<std::size_t> letter_class() {
    const bool others = accept("^");
    Letters letters;
    if (text_.substr(at_).starts_with("]")) return std::nullopt;
    while (!accept("]")) {
      const std::optional<Letters> first = class_member();
      if (!first) return std::nullopt;
      const std::string_view rest = text_.substr(at_);
      if (!rest.starts_with("-") || rest.starts_with("-]")) {
        letters |= *first;
        continue;
      }
      accept("-");
      const std::optional<Letters> last = class_member();
      if (!last || first->count() != 1 || last->count() != 1) return std::nullopt;
      const std::size_t begin = only_one(*first);
      const std::size_t end = only_one(*last);
      if (begin > end) return std::nullopt;
      for (std::size_t byte = begin; byte <= end; ++byte) letters.set(byte);
    }
    // Before it is turned round: [^a] shuts out A as well.
    letters = any_case(letters);
    return add_one(others ? ~letters : letters);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Node> nodes_;
};

// ── The tree as a program ──

class Compiler {
 public:
  Compiler(const std::vector<Node>& nodes, Program& program) : nodes_(nodes), program_(program) {}

  // False: it became too large.
  bool compile(std::size_t root) {
    emit(root);
    put({Do::Match});
    return program_.size() <= max_program;
  }

 private:
  bool is_full() const { return program_.size() > max_program; }
  Index here() const { return static_cast<Index>(program_.size()); }
  Index put(Instruction instruction) {
    program_.push_back(instruction);
    return static_cast<Index>(program_.size() - 1);
  }

  // Every node that is emitted puts an instruction or was made by a byte of the expression, and
  // repeats stop at the limit: so this ends soon, whatever the numbers say.
  void emit(std::size_t number) {
    if (is_full()) return;
    const Node& node = nodes_[number];
    switch (node.kind) {
      case Kind::Nothing:
        return;
      case Kind::One:
        put({Do::One, 0, 0, any_case(node.letters)});
        return;
      case Kind::LineBegin:
        put({Do::LineBegin});
        return;
      case Kind::LineEnd:
        put({Do::LineEnd});
        return;
      case Kind::WordEdge:
        put({Do::WordEdge});
        return;
      case Kind::Then:
        emit(node.left);
        emit(node.right);
        return;
      case Kind::Or:
        emit_or(node);
        return;
      case Kind::Repeat:
        emit_repeat(node);
        return;
    }
  }

  void emit_or(const Node& node) {
    const Index split = put({Do::Split});
    program_[split].to = here();
    emit(node.left);
    const Index jump = put({Do::Jump});
    program_[split].or_to = here();
    emit(node.right);
    program_[jump].to = here();
  }

  void emit_repeat(const Node& node) {
    for (std::size_t i = 0; i < node.least && !is_full(); ++i) {
      const Index before = here();
      emit(node.left);
      if (here() == before) break;  // what is empty once is empty as often as you like
    }
    if (!node.most) {
      const Index split = put({Do::Split});
      program_[split].to = here();
      emit(node.left);
      put({Do::Jump, split});
      program_[split].or_to = here();
      return;
    }
    std::vector<Index> ways_out;
    for (std::size_t i = node.least; i < *node.most && !is_full(); ++i) {
      const Index split = put({Do::Split});
      program_[split].to = here();
      ways_out.push_back(split);
      emit(node.left);
    }
    for (const Index split : ways_out) program_[split].or_to = here();
  }

  const std::vector<Node>& nodes_;
  Program& program_;
};

}  // namespace

std::optional<Program> compile(std::string_view expression) {
  if (expression.empty() || expression.size() > max_bytes) return std::nullopt;
  Parser parser(expression);
  const std::optional<std::size_t> root = parser.whole();
  if (!root) return std::nullopt;
  Program program;
  if (!Compiler(parser.nodes(), program).compile(*root)) return std::nullopt;
  return program;
}

}  // namespace reeve::pattern
