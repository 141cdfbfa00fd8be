#pragma once

#include "runbook/shell_text.h"

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// How shell_text reads a program: once, from left to right, knowing at each letter between which
// quotes and in which kind of text it stands. It understands as much of bash as that takes.
namespace reeve::runbook::shell {

// One word of a command, as far as somebody has to know it.
struct Word {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string literal = {};    // without its quotes; what is not literal is left out
  bool plain = true;           // nothing in it is quoted or expanded
  bool hole_first = false;     // begins with a placeholder
  bool hole_only = false;      // is one
  std::size_t holes_from = 0;  // its placeholders: indices into Scanner::holes
  std::size_t holes_to = 0;
  std::optional<std::string> assigns = {};  // NAME of NAME=..., NAME+=..., NAME[...]=...
  std::size_t equals = 0;                   // where its `=` stands
  bool compound = false;                    // NAME=( ... )

  int depth = 0;  // of the expansions around it

  bool has_holes() const { return holes_from != holes_to; }
};

bool continues_name(char letter);  // of a variable

inline constexpr int deepest = 100;  // as far as expansions may be nested

struct HereDocument {
  std::string delimiter;
  bool quoted = false;
  bool strips_tabs = false;
};

struct Edit {
  std::size_t offset = 0;
  std::size_t length = 0;
  std::string text;
};

// Where a command is, while its words come by.
struct Command {
  bool at_start = true;  // the next word is the command's name, an assignment or a keyword
  std::string name = {};
  std::vector<Word> words = {};         // after the name
  std::string prefix = {};              // `command`, `builtin`, `exec`: options may come first
  bool value_next = false;              // `exec -a`: the next word is no name of a command
  std::string loops = {};               // NAME of `for NAME in`, `select NAME in`
  std::vector<Word> here_strings = {};  // <<< word
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), end_(text.size()) {}

  // All of it. After this the results are there.
  void run();

  std::vector<Edit> edits;  // in the order of their offsets
  std::vector<Hole> holes;
  std::vector<ShellMistake> mistakes;

 private:
  enum class Quotes { None, Single, Ansi, Double, Arithmetic, HereDocument };
  enum class Until { End, Parenthesis };
  enum class Case { Subject, In, Pattern, Body };

  struct List;  // the commands of one level: see shell_commands.cc

  // Letters.
  bool more() const { return at_ < end_; }
  char here() const { return at_ < end_ ? text_[at_] : '\0'; }
  bool starts(std::string_view text) const {
    return text_.substr(at_, end_ - at_).starts_with(text);
  }
  std::size_t after_blanks(std::size_t at) const;
  void mistake(std::size_t offset, std::string message);

  // Placeholders. True: there was one, and `at_` is behind it.
  bool take_hole(Quotes quotes);
  void take_backslash(Quotes quotes);
  void leave_alone_hash_brace();

  // Quoted and expanded text; `at_` is on its first letter, and afterwards behind the last.
  void single_quoted(Word* word);
  void ansi_quoted(Word* word);
  void double_quoted(Word* word);
  void backticks(bool in_double_quotes);
  void dollar(Quotes quotes, Word* word);
  void parameter(bool in_double_quotes);
  void arithmetic(std::string_view closing);
  bool is_arithmetic(std::size_t after) const;
  void here_document_body(std::size_t end);

  // Words and commands.
  Word word(bool may_assign, bool regex = false);
  void find_assignment(Word& word);
  std::size_t after_index(std::size_t at) const;
  void extended_glob();
  void compound_assignment();
  void commands(Until until);
  void condition();
  void here_document_operator();
  void read_here_documents();
  void redirection(List& list);
  bool names_descriptor(const Word& word) const;
  void handle(List& list, const Word& word);
  bool keyword(List& list, const Word& word);
  bool names_coprocess() const;
  void command_name(List& list, const Word& word);
  void end_command(List& list);

  // What bash would evaluate: shell_rules.cc.
  void need_integer(const Word& word);
  void refuse(const Word& word, std::string_view why);
  void judge(const Command& command);
  void judge_declaration(const Command& command);
  void judge_names(const Command& command, std::string_view options_with_values);
  void judge_printf(const Command& command);
  void judge_test(const Command& command);
  void judge_source(const Command& command);
  void judge_duplication(const std::string& redirection, const Word& word);

  // Which variable carries what, and what becomes of it: shell_variables.cc.
  struct Assignment {
    std::string name;
    Word word;
    std::string value = {};  // as it is written
    bool declared = false;   // by declare, typeset or local
    bool loop = false;       // by `for` or `select`
  };
  struct Fed {  // by `read` and its like, with what cannot be told; without a name: `source`
    std::string name;
    std::size_t offset = 0;
  };
  struct Calculated {
    std::string array;  // as an index of this one; or empty
    std::string name;
    auto operator<=>(const Calculated&) const = default;
  };
  void note_assignment(const Word& word, bool declared = false);
  void note_fed(const Command& command, std::string_view otherwise);
  void note_calculated(std::string_view text, const std::string& array = {});
  void note_looked_into(std::string_view text);
  void note_looked_into(const Word& word);
  void note_run(const Command& command, const Word& word);
  void learn_from(Scanner& inner);
  void note_parameter(std::string_view name, std::string_view rest);
  bool is_integer(const std::string& name) const;
  bool is_calculated(const std::string& name) const;
  void follow_assignments();
  void judge_assignments();
  void judge_assignment(const Assignment& assignment);
  void judge_fed();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t left_alone_until_ = 0;  // placeholders before it are text
  int integers_ = 0;                  // > 0: inside arithmetic
  int depth_ = 0;
  std::vector<int> depths_;            // of the holes
  std::vector<HereDocument> awaited_;  // their bodies begin after the next newline

  std::vector<Assignment> assignments_;
  std::vector<Fed> fed_;
  std::set<std::string> integer_names_;            // declare -i
  std::set<std::string> array_names_;              // with those of maps
  std::set<std::string> map_names_;                // declare -A
  std::map<std::string, std::string> references_;  // declare -n, and to what; empty: not yet known
  std::set<Calculated> calculated_;
  std::set<std::string> looked_into_;  // ${!NAME}, ${NAME@P}
};

}  // namespace reeve::runbook::shell
