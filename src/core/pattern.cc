#include "core/pattern.h"

#include "core/regex_program.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reeve::pattern {
namespace {

// All the places in the program where a match that began somewhere may be, each once.
class Threads {
 public:
  Threads(const Program& program, std::string_view text)
      : program_(program), text_(text), seen_(program.size()) {}

  bool search() {
    for (std::size_t at = 0;; ++at) {
      follow(0, at);
      if (matched_) return true;
      if (at == text_.size()) return false;
      step(at);
      if (matched_) return true;
    }
  }

 private:
  bool is_word_at(std::size_t at) const { return at < text_.size() && is_word(byte_of(text_[at])); }

  bool may_pass(const Instruction& instruction, std::size_t at) const {
    switch (instruction.what) {
      case Do::LineBegin:
        return at == 0 || text_[at - 1] == '\n';
      case Do::LineEnd:
        return at == text_.size() || text_[at] == '\n';
      case Do::WordEdge:
        return (at > 0 && is_word_at(at - 1)) != is_word_at(at);
      case Do::One:
      case Do::Split:
      case Do::Jump:
      case Do::Match:
        return true;
    }
    return true;
  }

  // Adds `start` and what can be reached from it without reading; a stack of our own, so that
  // no program is too deep.
  void follow(Index start, std::size_t at) {
    stack_.push_back(start);
    while (!stack_.empty()) {
      const Index place = stack_.back();
      stack_.pop_back();
      if (seen_[place] == round_) continue;
      seen_[place] = round_;
      const Instruction& instruction = program_[place];
      if (!may_pass(instruction, at)) continue;
      switch (instruction.what) {
        case Do::One:
          now_.push_back(place);
          break;
        case Do::Match:
          matched_ = true;
          break;
        case Do::Jump:
          stack_.push_back(instruction.to);
          break;
        case Do::Split:
          stack_.push_back(instruction.or_to);
          stack_.push_back(instruction.to);
          break;
        case Do::LineBegin:
        case Do::LineEnd:
        case Do::WordEdge:
          stack_.push_back(static_cast<Index>(place + 1));
          break;
      }
    }
  }

  // Reads the byte at `at`.
  void step(std::size_t at) {
    std::swap(now_, before_);
    now_.clear();
    ++round_;
    for (const Index place : before_) {
      if (program_[place].letters[byte_of(text_[at])]) {
        follow(static_cast<Index>(place + 1), at + 1);
      }
    }
  }

  const Program& program_;
  std::string_view text_;
  std::vector<std::uint64_t> seen_;  // the round in which a place was last added
  std::uint64_t round_ = 1;
  std::vector<Index> now_;
  std::vector<Index> before_;
  std::vector<Index> stack_;
  bool matched_ = false;
};

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::optional<std::string_view> expression_of(std::string_view pattern) {
  if (pattern.size() < 3 || !pattern.starts_with('/') || !pattern.ends_with('/')) {
    return std::nullopt;
  }
  return pattern.substr(1, pattern.size() - 2);
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

}  // namespace

bool is_valid_regex(std::string_view expression) { return compile(expression).has_value(); }

bool is_valid(std::string_view pattern) {
  if (pattern.empty() || pattern.size() > max_bytes) return false;
  const std::optional<std::string_view> expression = expression_of(pattern);
  return !expression || is_valid_regex(*expression);
}

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty() || pattern.size() > max_bytes) return false;
  if (const std::optional<std::string_view> expression = expression_of(pattern)) {
    const std::optional<Program> program = compile(*expression);
    return program && Threads(*program, text).search();
  }
  return lowered(text).find(lowered(pattern)) != std::string::npos;
}

}  // namespace reeve::pattern
