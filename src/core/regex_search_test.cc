#include "core/regex_search.h"

#include "base/die_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>

namespace reeve::pattern {
namespace {

using reeve::testing::die;

// The same, as simply as it can be said: the places where the program may be, as a set.
class Simply {
 public:
  Simply(const Program& program, std::string_view text) : program_(program), text_(text) {}

  bool search() {
    std::set<std::size_t> places;
    for (std::size_t at = 0;; ++at) {
      follow(places, 0, at);
      if (places.contains(program_.size() - 1)) return true;
      if (at == text_.size()) return false;
      std::set<std::size_t> next;
      for (const std::size_t place : places) {
        const bool reads = program_[place].what == Do::One;
        if (reads && program_[place].letters[byte_of(text_[at])]) follow(next, place + 1, at + 1);
      }
      places = next;
    }
  }

 private:
  bool is_word_at(std::size_t at) const { return at < text_.size() && is_word(byte_of(text_[at])); }

  void follow(std::set<std::size_t>& places, std::size_t place, std::size_t at) const {
    const Instruction& instruction = program_[place];
    const bool begins = at == 0 || text_[at - 1] == '\n';
    const bool ends = at == text_.size() || text_[at] == '\n';
    const bool is_edge = (at > 0 && is_word_at(at - 1)) != is_word_at(at);
    if (instruction.what == Do::LineBegin && !begins) return;
    if (instruction.what == Do::LineEnd && !ends) return;
    if (instruction.what == Do::WordEdge && !is_edge) return;
    if (!places.insert(place).second) return;
    switch (instruction.what) {
      case Do::One:
      case Do::Match:
        return;
      case Do::Jump:
        return follow(places, instruction.to, at);
      case Do::Split:
        follow(places, instruction.to, at);
        return follow(places, instruction.or_to, at);
      case Do::LineBegin:
      case Do::LineEnd:
      case Do::WordEdge:
        return follow(places, place + 1, at);
    }
  }

  const Program& program_;
  std::string_view text_;
};

std::string any_part(int levels) {
  if (levels == 0) {
    return *rc::gen::element<std::string>(
        "a", "b", ".", "[ab]", "[^b]", "\\W", "\\n", "^", "$", "\\b");
  }
  const std::string inside = any_part(levels - 1);
  switch (*die(4)) {
    case 0:
      return inside + any_part(levels - 1);
    case 1:
      return "(" + inside + "|" + any_part(levels - 1) + ")";
    case 2:
      return "(" + inside + ")" + *rc::gen::element<std::string>("*", "+", "?");
    default:
      return "(" + inside + ")" + *rc::gen::element<std::string>("{3}", "{0,9}", "{40}", "{2,70}");
  }
}

// Expressions of all sizes, so that machines of all widths are asked.
RC_GTEST_PROP(RegexSearch, FindsWhatASimpleSimulationFinds, ()) {
  const std::string expression = any_part(*die(5));
  const std::optional<Program> program = compile(expression);
  if (!program) return;  // too large
  const std::string text = *rc::gen::resize(
      90, rc::gen::container<std::string>(rc::gen::element('a', 'a', 'b', 'b', ' ', '\n')));
  RC_LOG() << expression << " has " << program->size() << '\n';
  RC_ASSERT(search(*program, text) == Simply(*program, text).search());
}

TEST(RegexSearch, FindsAMatchAtTheWidestAndAtTheLastPlace) {
  const std::string none(1000, 'b');
  const std::string one = none + 'z';
  for (const std::size_t count : {1UL, 63UL, 64UL, 65UL, 127UL, 128UL, 255UL, 256UL, 498UL}) {
    const std::optional<Program> program = compile("[ab]{" + std::to_string(count) + "}z");
    ASSERT_TRUE(program);
    EXPECT_TRUE(search(*program, "z" + std::string(count, 'a') + "z")) << count;
    EXPECT_TRUE(search(*program, one)) << count;
    EXPECT_FALSE(search(*program, std::string(count - 1, 'a') + "z")) << count;
    EXPECT_FALSE(search(*program, none)) << count;
  }
}

}  // namespace
}  // namespace reeve::pattern
