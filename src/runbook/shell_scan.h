#pragma once

#include "runbook/shell_text.h"

#include <compare>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

// What a word says in which nothing is expanded, as the end mark of a here-document.
std::string without_quotes(std::string_view raw);

inline constexpr int deepest = 100;  // as far as expansions may be nested

inline constexpr std::size_t most_effort = std::size_t{1} << 28U;

enum class Quotes { None, Single, Ansi, Double, Arithmetic, HereDocument };

// What a placeholder becomes between these.
using Writer = std::function<std::string(const std::string& name, Quotes quotes)>;
std::string reference_to(const std::string& name, Quotes quotes);

struct HereDocument {
  std::string delimiter;
  bool quoted = false;
  bool strips_tabs = false;
  std::size_t number = 0;
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
  std::vector<Word> substitutes = {};   // < <(...)
  std::vector<std::size_t> documents = {};
  bool redirected = false;
  bool says_elsewhere = false;  // what it says, or complains of, goes to another place than it did
};

class Scanner {
 public:
  explicit Scanner(std::string_view text, std::span<const std::string> carriers = {})
      : text_(text), end_(text.size()), carriers_(carriers) {}

  void write_with(const Writer& writer) { writer_ = writer; }

  // All of it. After this the results are there.
  void run();

  std::vector<Edit> edits;  // in the order of their offsets
  std::vector<Hole> holes;
  std::vector<ShellMistake> mistakes;
  std::set<std::string> integers;  // carriers that must be

 private:
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
  bool is_arithmetic(std::size_t after);
  void here_document_body(std::size_t end);

  // Words and commands.
  Word word(bool may_assign, bool regex = false);
  void find_assignment(Word& word);
  std::size_t after_index(std::size_t at) const;
  void extended_glob();
  void compound_assignment();
  bool commands(Until until);  // true: all that it says is numbers
  void open(List& list, std::string_view keyword);
  void close(List& list, std::initializer_list<std::string_view> keywords);
  void condition();
  void here_document_operator(List& list);
  void read_here_documents();
  void redirection(List& list);
  bool names_descriptor(const Word& word) const;
  void handle(List& list, const Word& word);
  bool keyword(List& list, const Word& word);
  bool names_coprocess() const;
  void command_name(List& list, const Word& word);
  void end_command(List& list, bool piped = false);

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

  // What one command hands to another, and what says nothing but numbers: shell_streams.cc.
  struct Flow {
    std::string into;       // a variable; `|`: what somebody reads; `f()`: what a function says
    std::string text = {};  // where it comes from, without what says numbers
    std::vector<std::size_t> holes = {};
    int depth = 0;          // a placeholder that stands deeper comes by way of a command
    std::string way = {};   // if all of it comes by a way: `read`, a loop
    bool reads = false;     // it comes from what is read
    bool declared = false;  // by declare, typeset or local
    bool loop = false;      // by `for` or `select`
    bool compound = false;
  };
  struct Stream {
    Flow flow;
    std::string by;  // the command that gets it
  };
  bool spend(std::size_t effort) const;
  std::string text_between(std::size_t begin, std::size_t end) const;
  std::vector<std::size_t> holes_between(std::size_t begin, std::size_t end) const;
  Flow flow_between(std::string into, std::size_t begin, std::size_t end) const;
  Flow flow_from(std::string into, const Word& word) const;
  bool says_number(const Command& command);
  bool can_say_number(const Command& command) const;
  void note_matched(const Word& subject, const Word& regex);
  void note_number(std::size_t begin, std::size_t first_hole);
  void note_streams(const Command& command, bool piped);
  void note_pipe(const Command& left, std::size_t begin, std::size_t bar);
  void note_everything_read();
  void note_function(const std::string& name, std::size_t begin, std::size_t end);
  std::string next_command() const;
  bool is_read_by(const std::string& command) const;

  // Which variable carries what, and what becomes of it: shell_variables.cc.
  struct Fed {  // by `read` and its like, with what cannot be told; without a name: `source`
    std::string name;
    std::size_t offset = 0;
  };
  struct Calculated {
    std::string array;  // as an index of this one; or empty
    std::string name;
    auto operator<=>(const Calculated&) const = default;
  };
  struct Through {      // a command, whose words are calculated with
    std::string array;  // as an index of this one; or empty
    std::string text;
    std::string into;
    auto operator<=>(const Through&) const = default;
  };
  struct Reached {  // where bash calculates
    std::string into;
    std::string way;
  };
  void note_assignment(const Word& word, bool declared = false);
  void note_fed(const Command& command, std::string_view otherwise);
  void note_calculated(std::string_view text,
                       const std::string& array = {},
                       const std::string& into = {});
  void note_looked_into(const Word& word);
  void note_indices(std::string_view text);
  void note_run(const Command& command);
  void learn_from(Scanner& inner);
  void note_parameter(std::string_view name, std::string_view rest);

  // The judgement at the end: shell_flows.cc.
  bool is_integer(const std::string& name) const;
  bool is_calculated(const std::string& name) const;
  bool is_looked_into(const Flow& flow) const;
  std::string meant_by(const std::string& name) const;
  std::set<std::string> sources_in(std::string_view text) const;
  void follow();
  void follow(const Flow& flow);
  void reach(std::string_view text, const Reached& where);
  void judge_flows();
  void need_integers(const Flow& flow);
  void judge_flow(const Flow& flow, const std::set<std::string>& checked);
  void judge_carrier(const std::string& name);
  static std::string told(const Reached& where);
  void judge_fed();

  std::string_view text_;
  Writer writer_ = reference_to;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::size_t left_alone_until_ = 0;  // placeholders before it are text
  int integers_ = 0;                  // > 0: inside arithmetic
  int depth_ = 0;
  std::span<const std::string> carriers_;
  std::vector<int> depths_;              // of the holes
  std::set<std::size_t> only_numbers_;   // holes of which only a number comes out
  std::set<std::size_t> only_integers_;  // ... and that if they are integers
  std::vector<std::pair<std::size_t, std::size_t>> numbers_;  // the places that say only numbers
  std::vector<std::size_t>
      doubtful_;  // the places of which nobody can tell whether bash calculates
  std::vector<HereDocument> awaited_;  // their bodies begin after the next newline

  std::vector<Flow> flows_;
  std::vector<Stream> streams_;
  std::map<std::size_t, std::string> documents_;  // who gets a here-document
  std::size_t last_document_ = 0;
  std::set<std::string> functions_;
  std::set<std::string> counting_;  // the commands that are taken at their word
  bool everything_is_read_ = false;
  mutable std::size_t effort_ = 0;  // of following what becomes of what
  std::vector<Fed> fed_;
  std::set<std::string> integer_names_;            // declare -i
  std::set<std::string> array_names_;              // with those of maps
  std::set<std::string> map_names_;                // declare -A
  std::map<std::string, std::string> references_;  // declare -n, and to what; empty: not yet known
  std::set<Calculated> calculated_;
  std::set<Through> through_;
  std::map<std::string, Reached> reached_;
  std::set<std::string> looked_into_;        // ${!NAME}, ${NAME@P}
  std::set<std::string> looked_into_texts_;  // what eval and its like are given
};

}  // namespace reeve::runbook::shell
