#include "core/regex_search.h"

#include "core/pattern.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace reeve::pattern {
namespace {

// What `^`, `$` and `\b` see of a byte beside them; no byte is the end of a line.
enum class Side : std::uint8_t { Line, Word, Other };

Side side_of(char letter) {
  if (letter == '\n') return Side::Line;
  return is_word(byte_of(letter)) ? Side::Word : Side::Other;
}

// The place between two bytes.
struct Between {
  Side before = Side::Line;
  Side after = Side::Line;

  std::size_t number() const {
    return std::size_t{3} * static_cast<std::size_t>(before) + static_cast<std::size_t>(after);
  }
};

bool may_pass(Do what, Between between) {
  switch (what) {
    case Do::LineBegin:
      return between.before == Side::Line;
    case Do::LineEnd:
      return between.after == Side::Line;
    case Do::WordEdge:
      return (between.before == Side::Word) != (between.after == Side::Word);
    case Do::One:
    case Do::Split:
    case Do::Jump:
    case Do::Match:
      return true;
  }
  return true;
}

// Where the program can be, as a set of those instructions that read, and of the match, which is
// the last. `words` of 64 bits are enough for all of them.
template <std::size_t words>
class Machine {
 public:
  explicit Machine(const Program& program) : program_(program), number_of_(program.size()) {
    for (std::size_t place = 0; place < program.size(); ++place) {
      number_of_[place] = static_cast<Index>(readers_.size());
      if (program[place].what == Do::One) readers_.push_back(static_cast<Index>(place));
      looks_aside_ |= program[place].what == Do::LineBegin || program[place].what == Do::LineEnd ||
                      program[place].what == Do::WordEdge;
    }
    match_ = readers_.size();
    groups_ = match_ / 8 + 1;
  }

  bool search(std::string_view text) {
    Set now = around(between(text, 0)).begin;
    for (std::size_t at = 0;; ++at) {
      if (has(now, match_)) return true;
      if (at == text.size()) return false;
      now = step(now, byte_of(text[at]), around(between(text, at + 1)));
    }
  }

 private:
  using Set = std::array<std::uint64_t, words>;
  struct Row {
    bool is_known = false;
    Set set{};
  };
  // What is the same wherever the bytes beside a place are alike.
  struct Around {
    bool is_known = false;
    Between between;
    Set begin{};            // where a match that begins here is at once
    std::vector<Row> rows;  // 256 for each group of eight readers: where they lead, read
  };

  static bool has(const Set& set, std::size_t bit) { return (set[bit / 64] >> (bit % 64)) & 1; }
  static void add(Set& set, std::size_t bit) { set[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  static void add_all(Set& set, const Set& more) {
    for (std::size_t i = 0; i < words; ++i) set[i] |= more[i];
  }

  Between between(std::string_view text, std::size_t at) const {
    if (!looks_aside_) return {};
    return {at == 0 ? Side::Line : side_of(text[at - 1]),
            at == text.size() ? Side::Line : side_of(text[at])};
  }

  Around& around(Between between) {
    Around& around = arounds_[between.number()];
    if (around.is_known) return around;
    around.is_known = true;
    around.between = between;
    around.begin = reached_from(0, between);
    around.rows.resize(groups_ * 256);
    return around;
  }

  // What can be reached from there without reading; a stack of our own, so that no program is too
  // deep.
  Set reached_from(std::size_t start, Between between) {
    Set reached{};
    std::vector<bool> seen(program_.size());
    stack_.assign(1, static_cast<Index>(start));
    while (!stack_.empty()) {
      const Index place = stack_.back();
      stack_.pop_back();
      if (seen[place]) continue;
      seen[place] = true;
      const Instruction& instruction = program_[place];
      if (!may_pass(instruction.what, between)) continue;
      switch (instruction.what) {
        case Do::One:
          add(reached, number_of_[place]);
          break;
        case Do::Match:
          add(reached, match_);
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
    return reached;
  }

  // Where these readers of one group lead: one more than without the first of them.
  const Set& fill_row(Around& around, std::size_t group, std::size_t readers) {
    Row& row = around.rows[group * 256 + readers];
    row.is_known = true;
    const std::size_t others = readers & (readers - 1);
    if (others != 0) row.set = row_of(around, group, others);
    const std::size_t first = group * 8 + static_cast<std::size_t>(std::countr_zero(readers));
    add_all(row.set, reached_from(std::size_t{readers_[first]} + 1, around.between));
    return row.set;
  }

  const Set& row_of(Around& around, std::size_t group, std::size_t readers) {
    const Row& row = around.rows[group * 256 + readers];
    return row.is_known ? row.set : fill_row(around, group, readers);
  }

  // Who reads this byte.
  const Set& readers_of(unsigned char byte) {
    Row& row = letters_[byte];
    if (row.is_known) return row.set;
    row.is_known = true;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      if (program_[readers_[i]].letters[byte]) add(row.set, i);
    }
    return row.set;
  }

  Set step(const Set& now, unsigned char byte, Around& to) {
    const Set& readers = readers_of(byte);
    Set next = to.begin;
    for (std::size_t i = 0; i < words; ++i) {
      std::uint64_t left = now[i] & readers[i];
      for (std::size_t group = i * 8; left != 0; ++group, left >>= 8) {
        if (const std::size_t some = left & 255) add_all(next, row_of(to, group, some));
      }
    }
    return next;
  }

  const Program& program_;
  std::vector<Index> readers_;    // where in the program they are
  std::vector<Index> number_of_;  // and the other way round
  bool looks_aside_ = false;
  std::size_t match_ = 0;  // its bit
  std::size_t groups_ = 0;
  std::array<Around, 9> arounds_;
  std::array<Row, 256> letters_;
  std::vector<Index> stack_;
};

}  // namespace

static_assert(max_program <= 512, "the widest machine has a bit for every instruction");

bool search(const Program& program, std::string_view text) {
  if (program.size() <= 64) return Machine<1>(program).search(text);
  if (program.size() <= 128) return Machine<2>(program).search(text);
  if (program.size() <= 256) return Machine<4>(program).search(text);
  return Machine<8>(program).search(text);
}

}  // namespace reeve::pattern
