#include "runbook/shell_text.h"

#include "runbook/bash_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <unistd.h>
#include <vector>

namespace reeve::runbook {
namespace {

std::string shown(std::string_view source) {
  std::string program = shell_text(source).program;
  // Without the look at the values that it begins with.
  const std::string end = "exit 127; }; ";
  if (const std::size_t at = program.find(end); at != std::string::npos) {
    program.erase(0, at + end.size());
  }
  return program;
}

std::vector<std::string> mistakes_of(std::string_view source) {
  std::vector<std::string> all;
  for (const ShellMistake& each : shell_text(source).mistakes) {
    all.push_back(std::to_string(each.offset) + ": " + each.message);
  }
  return all;
}

bool needs_integer(std::string_view source) {
  const ShellText text = shell_text(source);
  EXPECT_TRUE(text.mistakes.empty()) << source << ": " << text.mistakes[0].message;
  return text.holes.size() == 1 && text.holes[0].integer;
}

TEST(ShellText, APlaceholderIsFittedToTheQuotesAroundIt) {
  EXPECT_EQ(shown("echo {bug}"), R"(echo "${REEVE_V_bug}")");
  EXPECT_EQ(shown("echo \"no. {bug}!\""), R"(echo "no. ${REEVE_V_bug}!")");
  EXPECT_EQ(shown("echo 'no. {bug}!'"), R"(echo 'no. '"${REEVE_V_bug}"'!')");
  EXPECT_EQ(shown("echo $'a\\n{bug}'"), R"(echo $'a\n'"${REEVE_V_bug}"$'')");
  EXPECT_EQ(shown("echo \"$(echo {bug})\""), R"_(echo "$(echo "${REEVE_V_bug}")")_");
  EXPECT_EQ(shown("echo `echo {bug}`"), R"(echo `echo "${REEVE_V_bug}"`)");
  EXPECT_EQ(shown("cat <<E\n{bug}\nE\n"), "cat <<E\n${REEVE_V_bug}\nE\n");
}

TEST(ShellText, WhatIsNoPlaceholderStaysAsItIs) {
  for (const char* text : {"echo {a,b} {1..3} { } {} {\"x\": 1} {Bug} {a b}",
                           "echo ${bug} \"${x:-{bug}}\" ${#x} ${a[1]}",
                           "tmux list-panes -F '#{pane_id}' \"#{a {bug} c}\"",
                           "echo x # {bug} it's \" fine\necho y",
                           "f() { echo; }; f"}) {
    EXPECT_EQ(shell_text(text), (ShellText{text, {}, {}})) << text;
  }
}

// After an operator that takes something off a single quote quotes, also between double quotes.
TEST(ShellText, TheQuotesOfAParameterAreThoseOfBash) {
  const std::string there = "x='\"x\"'; a=(\"$x\"); set -- \"$x\"; printf '<%s>' ";
  for (const char* parameter : {"${x//'\"'/}",
                                "${x#'\"'}",
                                "${a[0]//'\"'/}",
                                "${a[0]#'\"'}",
                                "${a[\"0\"]%'\"'}",
                                "${@//'\"'/}",
                                "${*##'\"'}",
                                "${?//'\"'/}",
                                "${#//'\"'/}",
                                "${##'\"'}",
                                "${-#'\"'}",
                                "${x:-'x'}",
                                "${#}",
                                "${##}",
                                "${#@}",
                                "${!#}",
                                "${!a[@]}"}) {
    const std::string source = there + "\"" + parameter + "\" {v}; printf '<%s>' {v} '{v}' \"{v}\"";
    const Ran ran = run_bash(shell_text(source).program, {{"v", "a  b"}});
    const std::string end = "<a  b><a  b><a  b><a  b>";
    EXPECT_TRUE(ran.out.ends_with(end)) << parameter << "\n" << ran.out << ran.err;
  }
}

TEST(ShellText, BracesWrittenTwiceArePrintedOnce) {
  EXPECT_EQ(shown("exec {{fd}}>log '{{a}}' \"{{b}}\""), "exec {fd}>log '{a}' \"{b}\"");
  EXPECT_EQ(shell_text("echo {{a}}").holes, std::vector<Hole>{});
}

TEST(ShellText, NoTwoPlaceholdersShareAVariable) {
  EXPECT_EQ(variable_name("bug"), "REEVE_V_bug");
  EXPECT_EQ(variable_name("bug.id"), "REEVE_V_bugZ_id");
  EXPECT_EQ(variable_name("bugZ_id"), "REEVE_V_bugZZ_id");
}

TEST(ShellText, TheProgramHasTheLinesOfItsSource) {
  const std::string source = "if true; then\n  echo {a} `echo \\`echo {b}\\``\nfi\n";
  EXPECT_EQ(std::ranges::count(shell_text(source).program, '\n'), std::ranges::count(source, '\n'));
}

TEST(ShellText, WhereBashCalculatesTheValueMustBeAnInteger) {
  for (const char* text : {"echo $(( {n} + 1 ))",
                           "(( {n} > 1 ))",
                           "echo $[ {n} ]",
                           "let a={n}",
                           "let 'a = 1' b+={n}",
                           "a[{n}]=1",
                           "a=([{n}]=x)",
                           "[[ {n} -gt 3 ]]",
                           "[[ 3 -lt {n} && x ]]",
                           "if [[ $(echo {n}) -eq 1 ]]; then :; fi",
                           "for (( i=0; i<{n}; i++ )); do :; done",
                           "declare -i a={n}",
                           "declare -i a; a={n}",
                           "SECONDS={n}",
                           "echo $(( \"{n}\" ))",
                           "echo $(( $(echo {n}) ))",
                           "f() { (( {n} )); }",
                           "declare -i a; b=`a={n}; echo $a`",
                           "b=`declare -i a; c=\\`a={n}\\``",
                           "[\\\n[ {n} -eq 1 ]]",
                           "if [[ a ]] then let b={n}; fi",
                           "if !(( {n} > 3 )); then :; fi",
                           "(( $(tr -dc $'\\'' < f | wc -c) > {n} ))",
                           "(( $(case x in (x) echo 1;; esac) + {n} ))",
                           "(( $(wc -l < \"$(echo f)\" # lines\n) + {n} ))",
                           "[[ !(1 -eq {n}) ]]",
                           "[[ a && !({n} -eq 1) ]]",
                           "n={n}; if !((n > 3)); then :; fi",
                           "n={n}; [[ !(n -eq 1) ]]",
                           "x=1; builtin let a={n}",
                           "a[\"{n}\"]=1",
                           "a[$(echo {n})]=1",
                           "a[`echo {n}`]+=1",
                           "a=([\"]{n}\"]=x)",
                           "a=(\\\n[\"{n}\"]=x)",
                           "n={n}; (( n > 1 ))",
                           "n={n}; m=$n; [[ $m -gt 1 ]]",
                           "i={n}; unset 'a[i]'",
                           "i={n}; unset -v a[i+1]",
                           "i={n}; unset 'a[b[i]]'",
                           "i={n}; [[ -v a[i] ]]",
                           "i={n}; [ -v \"a[i]\" ]",
                           "i={n}; test -v 'a[i]'",
                           "i={n}; read -r a[i] <<< 1",
                           "i={n}; printf -v 'a[i]' %s 1",
                           "i={n}; declare 'a[i]=1'",
                           "i={n}; r='a[i]'; echo ${!r}",
                           "i={n}; declare -n r='a[i]'; echo $r",
                           "n={n}; (( n = n + 1 ))",
                           "x={n}; let x=x+1",
                           "x={n}; let 'x = x + 1'",
                           "x={n}; echo $(( x = x * 2 ))",
                           "x={n}; for (( x = x + 1; x < 3; x++ )); do :; done",
                           "x={n}; for (( i && (x = 1); x < 3; x++ )); do :; done",
                           "x={n}; (( y = 0, x = y ? 1 : x ))",
                           "x={n}; (( 0 && (x=1), x ))",
                           "x={n}; a[x=x]=1",
                           "declare -i i; for i in {n}; do :; done"}) {
    EXPECT_TRUE(needs_integer(text)) << text;
  }
  for (const char* text : {"echo $( (echo {n}) )",
                           "[ {n} -gt 3 ]",
                           "[[ {n} == 3 ]]",
                           "a={n}",
                           "[[ {n} =~ ^(a|b)$ ]]",
                           "echo a[{n}]",
                           "a=$(wc -l < {n}); (( a > 1 ))",
                           "a={n}; (( ${#a} > 1 ))",
                           "declare -A a; b={n}; echo ${a[$b]}",
                           "declare -A a; b={n}; unset 'a[b]'",
                           "n={n}; read -r -p \"Go on? [y/n] \" a; echo $n",
                           "x={n}; eval 'echo x'; trap -- 'echo x' EXIT",
                           "for a in {n}; do :; done; for (( a = 0; a < 3; a++ )); do :; done",
                           "a={n}; for ((a=b[1]+(2); a < 3; a++)); do :; done; (( a = 1 ))",
                           "a={n}; for (( a = ${#b[@]} + ${c}; a < 3; a++ )); do :; done",
                           "echo $((echo {n}); echo)"}) {
    EXPECT_FALSE(needs_integer(text)) << text;
  }
  EXPECT_EQ(run_bash(shell_text("echo $(( {n} + 1 ))").program, {{"n", "41"}}).out, "42\n");
  const std::string touched = "echo ran; echo $(( {n} + 1 ))";
  for (const char* value : {"a[$(echo run >&1)]", "x", "", "1 2", "010", "-", "1\n"}) {
    const Ran ran = run_bash(shell_text(touched).program, {{"n", value}});
    EXPECT_EQ(ran.code, 126) << value;
    EXPECT_EQ(ran.out, "") << value;
  }
}

TEST(ShellText, WhereBashWouldRunAValueThePlaceholderIsAMistake) {
  const std::vector<std::pair<const char*, const char*>> table = {
      {"eval echo {x}", "10: {x} cannot stand here after `eval`: bash would run what it says"},
      {"a; command eval \"{x}\"", nullptr},
      {"trap 'rm {x}' EXIT", nullptr},
      {"{x} --flag", nullptr},
      {"\"{x}\" --flag", nullptr},
      {"A=1 {x}", nullptr},
      {"if {x}; then :; fi", nullptr},
      {"a | {x}", nullptr},
      {"$({x})", nullptr},
      {"cat <<'E'\n{x}\nE\n", nullptr},
      {"cat <<{x}\nE\n", nullptr},
      {"echo \\{x}", nullptr},
      {"echo \"\\{x}\"", nullptr},
      {"echo $'\\{x}'", nullptr},
      {"read {x}", nullptr},
      {"unset {x}", nullptr},
      {"printf -v {x} a", nullptr},
      {"printf {x}", nullptr},
      {"declare {x}=1", nullptr},
      {"declare -n a={x}", nullptr},
      {"declare -a a={x}", nullptr},
      {"a=(1); declare a={x}", nullptr},
      {"a[0]=1; declare a={x}", nullptr},
      {"echo $(( $(wc -l < f # it's small\n) + {x} ))",
       "5: whether bash calculates here or runs it cannot be told: write `( (` with a blank to run "
       "it, else put what makes it hard to read into a variable first"},
      {"(( $(case x in x) echo 1;; esac) + {x} ))", nullptr},
      {"(( \"$(cat \"a)b\" | wc -l)\" + {x} ))", nullptr},
      {"x=`echo $(( $(case x in x) echo 1;; esac) + 1 ))`; echo {x}", nullptr},
      {"local {x}", nullptr},
      {"[[ -v {x} ]]", nullptr},
      {"[ -v {x} ]", nullptr},
      {"[ {x} {y} ]", nullptr},
      {"for {x} in a; do :; done", nullptr},
      {"PS4={x}; set -x", nullptr},
      {"source {x}", nullptr},
      {"mapfile -C {x} a", nullptr},
      // Where a command begins without a `;` before it.
      {"if [[ a ]] then eval {x}; fi", nullptr},
      {"if (( 1 )) then eval {x}; fi", nullptr},
      {"if (true) then eval {x}; fi", nullptr},
      {"if { true; } then eval {x}; fi", nullptr},
      {"while case a in a) true;; esac do eval {x}; done", nullptr},
      {"for i do eval {x}; done", nullptr},
      {"for (( i = 0; i < 3; i++ )) do eval {x}; done", nullptr},
      {"for (( i = 0; i < 3; i++ )) { eval {x}; }", nullptr},
      {"function f ( ) { eval {x}; }", nullptr},
      {"a+() { eval {x}; }", nullptr},
      {"time -p {x}", nullptr},
      {"coproc NAME { eval {x}; }", nullptr},
      {"exec -a name {x}", nullptr},
      {"[[ -s <(eval {x}) ]]", nullptr},
      {"[[ a == a # it's\n ]]; eval {x} # '", nullptr},
      {"[\\\n[ -v {x} ]]", nullptr},
      {"printf -v\"a[{x}]\" 1", nullptr},
      {"wait -p\"a[{x}]\"", nullptr},
      {"(cat <<E) && eval {x}\nbody\nE\n", nullptr},
      {"cat <<$E\nbody\n$E\neval {x}\n", nullptr},
      {"echo \"$\\\n(echo {x})\"", nullptr},
      {"echo >& logs/{x}",
       "13: {x} cannot stand here after `>&`: bash would look into it; write &> before the name of "
       "a file"},
      {"cat <&{x}", nullptr},
      {"2>&1 eval {x}", nullptr},
      {"$'eval' {x}", nullptr},
      {"source /dev/stdin <<< {x}", nullptr},
      {"y={x}\nsource <(echo \"$y\")", nullptr}};
  for (const auto& [text, message] : table) {
    const std::vector<std::string> mistakes = mistakes_of(text);
    ASSERT_EQ(mistakes.size(), 1U) << text;
    if (message) {
      EXPECT_EQ(mistakes[0], message);
    }
  }
}

TEST(ShellText, OrdinaryProgramsAreNoMistakes) {
  for (const char* text :
       {"git rebase main {branch} || { git rebase --abort; exit 1; }",
        "case {x} in a|b) echo {x};; *) echo \"{y}\" ;; esac; echo {z}",
        "if !(grep -q {x} notes.txt); then echo {y}; fi; !(true) || time !(true)",
        "[[ a == !(b|{x}) || a != !({x}|b) || a = !({x}) ]]; [[ !({x} == a) ]]",
        "case {x} in !(a|b)) echo {x};; esac",
        "((cd \"$(dirname a)\" && echo $# ${#a} 'b') | cat); echo {x}; echo $((echo {x}) | cat)",
        "x=$(case {x} in (a) echo 1;; b) echo 2;; esac); echo \"$x\"",
        "while read -r line; do echo \"$line\" {x}; done < {file}",
        "read -p {x} -r answer; ./bin/{x} a; cat < <(echo {x}) > {file} 2>&1 &",
        "for i in {a} {b}; do echo $i; done; export A={a} B=\"{b}\"; local c={c}",
        "cat <<A <<-B\n{x} $(echo {y})\nA\n\t{z}\n\tB\necho {w}",
        "make {x} > {file}.log 2>&1; make {x} &> {file}; make {x} 1>&2; exec 3>&1 {{fd}}>&2",
        "f() { local -n out=$1; out={x}; }; declare -A a; read -r b < {file}; echo ${!a[@]} ${!b}",
        "source <(kubectl completion bash); echo {x} | grep y; a=1; declare b={x}",
        "n={x}; trap 'echo end $n; rm -f \"$n\"' EXIT; eval 'echo $n'",
        "[ -n {x} ] && [ {x} = {y} ] && test {x} -gt 3; printf '%s\\n' {x}",
        "a=({x} \"{y}\"); echo \"${a[@]}\"; source ./lib/{x}.sh; A={x} B={y} env"}) {
    EXPECT_EQ(mistakes_of(text), std::vector<std::string>{}) << text;
  }
}

// What is calculated with and has nothing of a value in it, or is a number whatever the value is.
TEST(ShellText, ProgramsThatCalculateAreNoMistakes) {
  for (const char* text :
       {"start=$(date +%s); sleep {n}; echo $(( $(date +%s) - start ))",
        "count=$(git log --oneline main..{x} | wc -l); (( count > 0 )) || echo none",
        "count=$(git rev-list --count main..{x}); (( count > 0 )) || echo none",
        "size=$(stat -c %s -- {x}); (( size < 4096 ))",
        "n=$(echo {x} | tr -cd 0-9); [[ $n -gt 3 ]]",
        "f={x}; [[ $(wc -l < \"$f\") -gt 3 ]] && [[ $(wc -l < {x}) -gt 3 ]]",
        "i=0; for f in {x} {y}; do i=$((i + 1)); echo $f; done",
        "for i in $(seq 1 {n}); do echo $(( i * 2 )); done",
        "i=0; while read -r line; do i=$((i+1)); echo \"$line\"; done < {file}",
        "t=0; while read -r n; do ((t+=n)); done < counts.txt; cat <<E\n{x} $t\nE\n",
        "echo {x} | tee log; while read -r n; do ((t+=n)); done < counts.txt",
        "ls {x} | while read -r f; do i=$((i+1)); echo \"$f\" $i; done",
        "a=({x} {y}); for (( i = 0; i < ${#a[@]}; i++ )); do echo \"${a[i]}\"; done",
        "for attempt in 1 2 3; do make {x} && break; sleep $((attempt * 2)); done",
        "x={x}; n=${#x}; (( n > 3 )) && echo long",
        "[[ {x} =~ ^v([0-9]+)$ ]] && (( BASH_REMATCH[1] > 3 ))",
        "make {x}; code=$?; (( code == 0 )) || exit $code",
        "n=3; m=$((n + 1)); while (( m-- > 0 )); do echo {x}; done"}) {
    EXPECT_EQ(mistakes_of(text), std::vector<std::string>{}) << text;
    for (const Hole& hole : shell_text(text).holes) EXPECT_FALSE(hole.integer) << text;
  }
  EXPECT_TRUE(needs_integer("n={n}; m=$(( $n + 1 )); (( m > 3 ))"));
  EXPECT_TRUE(needs_integer("for i in $(seq {n}); do echo $(( i * 2 )); done"));
  EXPECT_TRUE(needs_integer("n={n}; (( n )); for i in $n; do (( i )); done"));
}

TEST(ShellText, AValueThatIsCalculatedWithByAnotherWayIsAMistake) {
  EXPECT_EQ(mistakes_of("n=$(basename {v}); [[ $n -gt 3 ]]"),
            std::vector<std::string>{
                "13: {v} comes to `n` by way of a command, and bash calculates with that: compare "
                "with [ ], or let only digits through, as with | tr -cd 0-9"});
  EXPECT_EQ(mistakes_of("x={v}; echo $x | while read k; do (( t += k )); done"),
            std::vector<std::string>{
                "2: {v} comes to `k` by way of `read`, and bash calculates with that: compare "
                "with [ ], or let only digits through, as with | tr -cd 0-9"});
}

TEST(ShellText, AValueThatIsNotThereEndsTheProgramBeforeItBegins) {
  const Ran ran = run_bash(shell_text("echo ran; echo {work.key}").program, {});
  EXPECT_EQ(ran.code, 127);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "{work.key} has no value\n");
}

TEST(ShellText, ValuesThatCannotTravelAreRefused) {
  EXPECT_EQ(refusal_of("fine"), "");
  EXPECT_EQ(refusal_of(std::string(100 * 1024, 'x')), "");
  EXPECT_EQ(refusal_of(std::string(100 * 1024 + 1, 'x')), "is longer than 100 KiB");
  EXPECT_EQ(refusal_of(std::string_view("a\0b", 3)), "contains a NUL");
}

// ── Hostile values through the real bash ──

// Every place a value may stand in. Each prints it, and behind it a full stop.
const std::vector<std::string> contexts = {
    "printf '%s.' {v}",
    "printf '%s.' \"{v}\"",
    "printf '%s.' '{v}'",
    "printf '%s.' $'{v}'",
    "printf '%s.' $\"{v}\"",
    "printf '%s' {v}.",
    "printf '%s' \"\"{v}'.'",
    "printf '%s' '{v}.'",
    "x={v}; printf '%s.' \"$x\"",
    "x=\"{v}\" y='{v}'; [ \"$x\" = \"$y\" ] && printf '%s.' \"$x\"",
    "export x={v}; printf '%s.' \"$x\"",
    "f() { local x={v}; printf '%s.' \"$x\"; }; f",
    "f() { printf '%s.' \"$1\"; }; f {v}",
    "a=({v}); printf '%s.' \"${a[0]}\"",
    "a=([1]={v}); printf '%s.' \"${a[1]}\"",
    "printf '%s.' \"$(printf '%s_' {v})\" | sed 's/_\\.$/./'",
    "x=$(printf '%s_' {v}); printf '%s.' \"${x%_}\"",
    "x=$(printf '%s_' '{v}'); printf '%s.' \"${x%_}\"",
    "x=$(printf '%s_' \"{v}\"); printf '%s.' \"${x%_}\"",
    "x=\"$(printf '%s_' \"$(printf '%s' {v}_)\")\"; printf '%s.' \"${x%__}\"",
    "x=`printf '%s_' {v}`; printf '%s.' \"${x%_}\"",
    "x=`printf '%s_' '{v}'`; printf '%s.' \"${x%_}\"",
    "x=\"`printf '%s_' \"{v}\"`\"; printf '%s.' \"${x%_}\"",
    "x=`printf '%s' \\`printf '%s' 1\\`{v}_`; printf '%s.' \"${x:1:-1}\"",
    "x=`y=\\`printf '%s_' {v}\\`; printf '%s' \"$y\"`; printf '%s.' \"${x%_}\"",
    "cat <<E | head -c -1; printf .\n{v}\nE\n",
    "cat <<-E | head -c -1; printf .\n\t{v}\n\tE\n",
    "x=$(cat <<E\n{v}_\nE\n); printf '%s.' \"${x%_}\"",
    "cat <<E | head -c -2; printf .\n$(printf '%s_' '{v}')\nE\n",
    "head -c -1 <<< {v}; printf .",
    "cat <(printf '%s.' {v})",
    "case {v} in {v}) printf '%s.' {v};; *) echo other;; esac",
    "case x in '{v}') echo one;; (*) printf '%s.' {v} ;; esac",
    "[[ {v} == {v} ]] && printf '%s.' {v}",
    "[[ {v} =~ ^{v}$ ]] && printf '%s.' {v}",
    "[ {v} = '{v}' ] && printf '%s.' {v}",
    "test -z {v} || test -n {v} && printf '%s.' {v}",
    "for i in {v}; do printf '%s.' \"$i\"; done",
    "if true; then printf '%s.' {v} # it's {v} \" `\nfi",
    "(printf '%s.' {v})",
    "{ printf '%s.' {v}; }",
    "true && printf '%s.' {v} || echo no",
    "printf '%s.' {v} | cat",
    "env x={v} bash -c 'printf \"%s.\" \"$x\"'",
    "bash -c 'printf \"%s.\" \"$1\"' - {v}",
    "x=1 y={v} bash -c 'printf \"%s.\" \"$y\"'",
    "set -- {v}; printf '%s.' \"$1\"",
    "printf '%s.' \\\n  {v}",
    "echo \"a{{v}}b\" >/dev/null; printf '%s.' {v}",
    "(cat <<E) >/dev/null; printf '%s.' {v}\nbody\nE\n",
    "(cat <<E) | head -c -1; printf .\n{v}\nE\n",
    "cat - \"$(true\n)/dev/null\" <<E | head -c -1; printf .\n{v}\nE\n",
    "cat <<E - \"$(true\n)/dev/null\" | head -c -1; printf .\n{v}\nE\n",
    "if [[ a ]] then printf '%s.' {v}; fi",
    "[[ -e <(cat) && a == a # it's\n ]] < /dev/null && printf '%s.' '{v}'",
    "for i in do; do printf '%s.' {v}; done",
    "time -p printf '%s.' {v}",
    "x='${v}'; printf '%s.' {v}"};

rc::Gen<std::string> hostile_value() {
  using rc::gen::element;
  const auto piece = rc::gen::oneOf(
      element<std::string>("'",
                           "\"",
                           "`",
                           "$",
                           "\\",
                           "\n",
                           ";",
                           "&",
                           "|",
                           "(",
                           ")",
                           "<",
                           ">",
                           "*",
                           "?",
                           "[",
                           "]",
                           "{",
                           "}",
                           "~",
                           "!",
                           "#",
                           "%",
                           "=",
                           " ",
                           "\t",
                           "\r",
                           "-"),
      element<std::string>("$(touch pwned)",
                           "`touch pwned`",
                           "${IFS}",
                           "; exit 7",
                           "\nE\n",
                           "E\n",
                           "\\\n",
                           "'; touch pwned; '",
                           "\"; touch pwned; \"",
                           "$((1/0))",
                           "{v}",
                           "{{v}}",
                           "a[$(touch pwned)]",
                           "--",
                           "-n",
                           "%s",
                           "*",
                           "EOF",
                           "||",
                           "<<E"),
      element<std::string>(
          "ä", "日本", "\xF0\x9F\x92\xA3", "\xff", "\xC3", "\x01", "\x7f", "x", "0"));
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                      [](const std::vector<std::string>& pieces) {
                        std::string all;
                        for (const std::string& each : pieces) all += each;
                        return all;
                      });
}

TEST(ShellText, ProgramsForHostileValuesAreNoMistakes) {
  for (const std::string& source : contexts) {
    EXPECT_EQ(mistakes_of(source), std::vector<std::string>{}) << source;
  }
}

// $( ) takes newlines off the end of what it prints, and a shell's own words cannot hold more:
// where a context above goes through one, it protects the value by a letter behind it.
RC_GTEST_PROP(ShellText, AnyValueArrivesInAnyContextAsTheVeryBytes, ()) {
  const std::string value = *hostile_value();
  const std::string source = *rc::gen::elementOf(contexts);
  const Ran ran = run_bash(shell_text(source).program, {{"v", value}});
  if (ran.out != value + ".") {
    RC_LOG() << "source: " << source << "\nprogram: " << shell_text(source).program << "\n";
  }
  RC_ASSERT(ran.out == value + ".");
  RC_ASSERT(ran.code == 0);
  RC_ASSERT(::access("pwned", F_OK) != 0);
}

TEST(ShellText, TheWorstValuesArriveInEveryContext) {
  for (const char* value : {"",
                            "-n",
                            "--",
                            "a b",
                            "'",
                            "\"",
                            "`",
                            "\\",
                            "$(touch pwned)",
                            "`touch pwned`",
                            "';touch pwned;'",
                            "\";touch pwned;\"",
                            "a\nE\nb",
                            "\n",
                            "{v}",
                            "${HOME}",
                            "*",
                            "ä日\xF0\x9F\x92\xA3\xff"}) {
    for (const std::string& source : contexts) {
      const Ran ran = run_bash(shell_text(source).program, {{"v", value}});
      EXPECT_EQ(ran.out, std::string(value) + ".") << source << "\n" << shell_text(source).program;
    }
  }
  EXPECT_NE(::access("pwned", F_OK), 0);
}

}  // namespace
}  // namespace reeve::runbook
