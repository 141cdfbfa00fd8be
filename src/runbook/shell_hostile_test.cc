#include "runbook/bash_testing.h"
#include "runbook/shell_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdlib.h>
#include <string>
#include <vector>

// Places where bash looks into the text of a value: each is a mistake, or nothing of the value
// runs.
namespace reeve::runbook {
namespace {

const std::vector<std::string> values = {"$(touch PWNED)",
                                         "a[$(touch PWNED)]",
                                         "x$(touch${IFS}PWNED)",
                                         "`touch PWNED`",
                                         "x]=$(touch PWNED)",
                                         "[$(touch PWNED)]=1"};

class HostileValue : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "reeve_hostile_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void expect_never_run(const std::string& source) const {
    const ShellText text = shell_text(source);
    EXPECT_FALSE(text.holes.empty()) << source;
    if (!text.mistakes.empty()) return;
    const std::string there = "cd " + directory_.string() + " < /dev/null || exit\n";
    // Where only integers are let in, the program ends before it begins: two will do.
    const bool integers = std::ranges::all_of(text.holes, &Hole::integer);
    for (const std::string& value : std::span(values).first(integers ? 2 : values.size())) {
      run_bash(there + "exec < /dev/null\n" + text.program, {{"v", value}});
      ASSERT_FALSE(std::filesystem::exists(directory_ / "PWNED")) << source << "\n" << value;
    }
  }

  std::filesystem::path directory_;
};

const std::vector<std::string> words = {"{v}",
                                        "\"{v}\"",
                                        "'{v}'",
                                        "$'{v}'",
                                        "$\"{v}\"",
                                        "x{v}",
                                        "\"x/{v}\"",
                                        "$(echo {v})",
                                        "\"$(echo '{v}')\"",
                                        "`echo {v}`",
                                        "\"`echo \"{v}\"`\"",
                                        "\\\n{v}"};

std::string filled(std::string text, const std::string& word) {
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += word.size()) {
    text.replace(at, 1, word);
  }
  return text;
}

TEST_F(HostileValue, BehindARedirection) {
  for (const char* redirection : {">&", ">& ", "1>&", ">\\\n&"}) {
    for (const char* command : {"echo #@",
                                "#@ echo",
                                "exec #@",
                                "{ echo; } #@",
                                "(echo) #@",
                                "[[ a ]] #@",
                                "((1)) #@",
                                "while false; do :; done #@",
                                "for i in a; do :; done #@",
                                "if true; then :; fi #@",
                                "case a in a) echo #@;; esac #@",
                                "f() { echo; } #@; f",
                                "echo \"$(echo #@)\"",
                                "cat <(echo #@)",
                                "cat <<E\n$(echo #@)\nE\n"}) {
      for (const std::string& word : words) {
        std::string source = command;
        for (std::size_t at = 0; (at = source.find('#')) != std::string::npos;) {
          source.replace(at, 1, redirection);
        }
        source = filled(source, word);
        EXPECT_FALSE(shell_text(source).mistakes.empty()) << source;
      }
    }
  }
  for (const char* command : {"echo &>@", "echo &>>@", "echo >|@", "echo <>@", "echo 2>&@"}) {
    for (const std::string& word : words) expect_never_run(filled(command, word));
  }
}

TEST_F(HostileValue, AsAnIndex) {
  for (const char* command : {"a[@]=1",
                              "a[@]+=1",
                              "a[ @ ]=1",
                              "a[1+@]=1 true",
                              "a[b[@]]=1",
                              "a[\"]\"@]=1",
                              "a\\\n[@]=1",
                              "if a[@]=1; then :; fi",
                              "x=( [@]=1 )",
                              "x=( [\n@]=1 )",
                              "x=( a \\\n[@]=1 )",
                              "x+=( [@]=1 )",
                              "x=( [']'@]=1 )",
                              "x=( [$(echo ])@]=1 )",
                              "x=( [${y:-]}@]=1 )",
                              "declare -a x=( [@]=1 )",
                              "f() { local x=( [@]=1 ); }; f",
                              "declare -A x=( [@]=1 )",
                              "x=( @ )",
                              "echo ${a[@]} $(( a[@] ))",
                              "(( a[@] = 1 ))",
                              "let a[@]=1"}) {
    for (const std::string& word : words) expect_never_run(filled(command, word));
  }
}

TEST_F(HostileValue, ByWayOfAVariable) {
  for (const char* source : {"declare -i x; read x <<< {v}",
                             "declare -i x; read -r x < <(echo {v})",
                             "declare -i x; echo {v} | while read x; do :; done",
                             "declare -i REPLY; read <<< {v}",
                             "declare -ai x; mapfile x <<< {v}",
                             "declare -i x; for x in {v}; do :; done",
                             "declare -i x; select x in {v}; do :; done <<< 1",
                             "declare -i x; printf -v x %s {v}",
                             "declare -i x; y={v}; x=$y",
                             "declare -i x; declare -n r=x; r={v}",
                             "declare -i x; f() { local -n r=$1; r={v}; }; f x",
                             "declare -n r; r={v}; r=1",
                             "declare -n r; for r in {v}; do r=1; done",
                             "declare -n r; read r <<< {v}; r=1",
                             "declare -n r; printf -v r %s {v}; r=1",
                             "k={v}; declare -n r=$k; r=1",
                             "x={v}; echo ${!x}",
                             "x={v}; echo ${!x#a} ${!x%%b}",
                             "x={v}; echo \"${x@P}\"",
                             "x={v}; eval \"echo $x\"",
                             "x={v}; trap \"$x\" EXIT",
                             "x={v}; trap 'echo '$x EXIT",
                             "x={v}; trap 'eval $x' EXIT",
                             "x={v}; trap 'eval \"$x\"' EXIT",
                             "x={v}; trap '(( x ))' EXIT",
                             "x={v}; trap 'a[$x]=1' EXIT",
                             "x={v}; trap 'y=$x; (( y ))' EXIT",
                             "declare -i y; x={v}; trap 'y=$x' EXIT",
                             "declare -i y; x={v}; trap 'read y <<< $x' EXIT",
                             "x={v}; trap 'echo `eval $x`' EXIT",
                             "x={v}; trap \"trap 'eval \\$x' EXIT\" USR1; kill -USR1 $$",
                             "x={v}; eval 'eval $x'",
                             "x={v}; eval \"((x))\"",
                             "x={v}; eval \\(\\(x\\)\\)",
                             "x={v}; eval \"let y=x\"",
                             "x={v}; eval let y=x",
                             "x={v}; eval let \\\"y=x\\\"",
                             "x={v}; eval -- '((x))'",
                             "x={v}; eval -- 'eval $x'",
                             "x={v}; eval 'y=$x;' \"((y))\"",
                             "x={v}; eval \"unset 'a[x]'\"",
                             "x={v}; trap \"((x))\" EXIT",
                             "x={v}; trap -- 'let y=x' EXIT",
                             "x={v}; declare -n r=x; (( r ))",
                             "x={v}; declare -n r='x'; (( r ))",
                             "x={v}; declare -n r=\"x\"; y=$r; (( y ))",
                             "x={v}; declare -n r=x; y=$r; (( y ))",
                             "x={v}; declare -n r=x; eval \"$r\"",
                             "x={v}; declare -n r=x; n=$(echo $r); (( n ))",
                             "x={v}; unset 'a[x]'",
                             "x={v}; [[ -v a[x] ]]",
                             "x={v}; test -v 'a[x]'",
                             "x={v}; read -r a[x] <<< 1",
                             "x={v}; printf -v 'a[x]' %s 1",
                             "x={v}; declare 'a[x]=1'",
                             "x={v}; a=(1); r='a[x]'; echo ${!r}",
                             "x={v}; eval 'eval' '$x'",
                             "x={v}; eval 'echo ${!x}'",
                             "x={v}; eval 'echo $(eval $x)'",
                             "x={v}; echo >& \"$x\"",
                             "x={v}; (( x ))",
                             "x={v}; y=$x; echo $(( y + 1 ))",
                             "x={v}; (( x = x + 1 ))",
                             "x={v}; let x=x+1",
                             "x={v}; for (( x = x + 1; x < 3; x++ )); do :; done",
                             "x={v}; (( y = 0, x = y ? 1 : x ))",
                             "x={v}; a[x=x]=1",
                             "x={v}; echo ${a[x]} ${b:x} \"${c[@]:$x:1}\" ${@:x}",
                             "x={v}; [[ $x -eq 1 ]]",
                             "x={v}; [[ !(x -eq 1) ]]",
                             "x={v}; if !((x > 3)); then :; fi",
                             "x={v}; a+( ) { eval \"$x\"; }; a+",
                             "x={v}; if !(eval \"$x\"); then :; fi",
                             "x={v}; true && !(eval \"$x\")",
                             "x={v}; a[$x]=1",
                             "x={v}; a=( [x]=1 )",
                             "x={v}; unset \"a[$x]\"",
                             "x={v}; [[ -v $x ]]",
                             "x={v}; [ -v \"a[$x]\" ]",
                             "x={v}; read \"a[$x]\" <<< 1",
                             "x={v}; printf -v \"$x\" 1",
                             "x={v}; declare \"$x=1\"",
                             "for x in a {v}; do (( x )); done",
                             "read x <<< {v}; (( x ))",
                             "printf -v x %s {v}; (( x ))",
                             "PS4={v}; set -x; :",
                             "x={v}; PS4=$x; set -x; :",
                             "read PS4 <<< {v}; set -x; :",
                             "for PS4 in {v}; do set -x; :; done",
                             "printf -v PS4 %s {v}; set -x; :",
                             "declare -n r=PS4; r={v}; set -x; :",
                             "for SECONDS in {v}; do :; done",
                             "printf -v RANDOM %s {v}",
                             "read OPTIND <<< {v}",
                             "env BASH_ENV={v} bash -c :",
                             "shopt -s expand_aliases; BASH_ALIASES[ll]={v}\nll"}) {
    expect_never_run(source);
  }
}

// A value that bash calculates with though it is not written there.
TEST_F(HostileValue, ByWayOfAnotherVariable) {
  for (const char* source : {"nums={v}; for n in $nums; do total=$((total+n)); done",
                             "arr=({v}); for i in \"${arr[@]}\"; do ((i)); done",
                             "arr+=({v}); arr2=(\"${arr[@]}\"); ((arr2[0]))",
                             "n=$(basename {v}); [[ $n -gt 3 ]]",
                             "n=`basename {v}`; (( n > 3 ))",
                             "n=\"x$(echo {v})\"; n=${n#x}; (( n ))",
                             "printf -v n %s \"$(basename {v})\"; (( n ))",
                             "y={v}; printf -v n %s \"$y\"; (( n ))",
                             "y={v}; n=$(echo \"$y\"); (( n ))",
                             "y={v}; n=`echo \"$y\"`; (( n ))",
                             "y={v}; z=$y; n=$(echo \"$z\"); m=$n; echo $(( m ))",
                             "y={v}; echo $(( $(echo $y) ))",
                             "y={v}; [[ $(echo $y) -eq 1 ]]",
                             "y={v}; a[$(echo $y)]=1",
                             "y={v}; echo ${a[$(echo $y)]}",
                             "f() { echo {v}; }; n=$(f); (( n ))",
                             "wc() { echo {v}; }; n=$(wc -l); (( n ))",
                             "function f { echo {v}; }; n=`f`; (( n ))",
                             "f() ( echo {v} ); g() { f; }; n=$(g); (( n ))",
                             "x={v}; : ${y:=$x}; ((y))",
                             "[[ {v} =~ (.*) ]]; n=${BASH_REMATCH[1]}; ((n))",
                             "x={v}; [[ $x =~ ^[^z]+$ ]] && ((BASH_REMATCH[0]))",
                             "y=.; x={v}; [[ a || $x =~ $y+ ]]; [[ $x =~ $y+ ]]; ((BASH_REMATCH))",
                             ": {v}; ((_))",
                             "echo {v}; n=$_; ((n))",
                             "x={v}; : \"${y=$x}\"; ((y))",
                             "x={v}; getopts a: o \"-a$x\"; ((OPTARG))",
                             "declare -a y; x={v}; declare y=$x",
                             "y[0]=1; x={v}; declare y=$x",
                             "y[0]+=1; declare y={v}",
                             "declare -n r=n; y={v}; r=$(echo $y); ((n))",
                             "x={v}; wait -np \"a[$x]\"",
                             "x={v}; compgen -W \"$x\"",
                             "x={v}; y=$(echo \"$x\"); eval \"$y\"",
                             "x={v}; eval \"$(echo \"$x\")\"",
                             "x={v}; env BASH_ENV=\"$x\" bash -c :",
                             "x={v}; /usr/bin/env BASH_ENV=\"$x\" bash -c :",
                             "x={v}; nice env BASH_ENV=\"$x\" bash -c :",
                             "x={v}; BASH_ENV=\"$(echo \"$x\")\" bash -c :",
                             "x={v}; for PS4 in $x; do set -x; :; done"}) {
    expect_never_run(source);
  }
}

TEST_F(HostileValue, ByWayOfWhatIsRead) {
  for (const char* source :
       {"while read -r k; do ((t+=k)); done <<< {v}",
        "echo {v} | while read -r k; do ((t+=k)); done",
        "echo {v} | cat | while read -r k; do ((t+=k)); done",
        "echo {v} |& { read -r k; ((t+=k)); }",
        "echo {v} | (read -r k; ((t+=k)))",
        "echo {v} | if read -r k; then ((t+=k)); fi",
        "echo {v} | IFS= read -r k && ((t+=k))",
        "for i in 1; do echo {v}; done | while read -r k; do ((t+=k)); done",
        "if true; then for ((i=0;i<1;i++)) { echo {v}; }; fi | while read -r k; do ((k)); done",
        "{ echo 1; echo {v}; } | while read -r k; do ((t+=k)); done",
        "case a in a) echo {v};; esac | while read -r k; do ((t+=k)); done",
        "y={v}; echo \"$y\" | while read -r k; do ((t+=k)); done",
        "y={v}; while read -r k; do ((t+=k)); done <<< \"$y\"",
        "y={v}; read -r k <<< \"$y\"; ((k))",
        "read x <<E\n{v}\nE\n(( x ))",
        "y={v}\nread x <<E\n$y\nE\n(( x ))",
        "cat <<E | while read -r k; do ((k)); done\n{v}\nE\n",
        "while read -r k; do ((k)); done <<E\n{v}\nE\n",
        "IFS=, read -ra a <<< {v}; for i in \"${a[@]}\"; do ((i)); done",
        "mapfile -t a < <(echo {v}); ((a[0]))",
        "readarray -t a < <(echo {v}); for i in \"${a[@]}\"; do ((i)); done",
        "while read k; do ((k)); done < <(echo {v})",
        "exec 3<<< {v}; read -u 3 k; ((k))",
        "echo {v} | { k=$(cat); ((k)); }",
        "{ k=`cat`; ((k)); } <<< {v}",
        "y={v}; echo $(( $(( 1 )) + y ))",
        "y={v}; x=$(( 1 ))$y; (( x ))",
        "exec < <(echo {v}); read k; ((k))",
        "f() { read k; ((k)); }; echo {v} | f",
        "f() { read k; ((k)); }; f <<< {v}",
        "coproc { echo {v}; }; read k <&\"${COPROC[0]}\"; ((k))",
        "echo {v} | tee >(read k; ((k)); :) > /dev/null; sleep 0.1",
        "select i in a; do ((REPLY)); break; done <<< {v}",
        "y={v}; source /dev/stdin <<< \"$y\"",
        "echo {v} | while read k; do eval \"$k\"; done",
        "while read k; do eval \"$k\"; done <<< {v}"}) {
    expect_never_run(source);
  }
}

// Variables of `env` count as if the program began with them.
TEST_F(HostileValue, ByWayOfTheEnvironment) {
  for (const char* source : {"[[ $V -gt 3 ]]",
                             "(( V > 3 ))",
                             "let x=V",
                             "echo ${a[V]} ${b:$V}",
                             "declare -i V; V+=1",
                             "x=$V; (( x ))",
                             "declare -i x; x=$V",
                             "n=$(basename \"$V\"); [[ $n -gt 3 ]]",
                             "for i in $V; do (( i )); done",
                             "echo \"$V\" | while read k; do (( k )); done",
                             "while read k; do (( k )); done <<< $V",
                             "read x <<E\n$V\nE\n(( x ))",
                             "source /dev/stdin <<< \"$V\"",
                             "eval \"$V\"",
                             "trap \"$V\" EXIT",
                             "PS4=$V; set -x; :",
                             "echo ${!V} ${V@P}",
                             "printf -v \"$V\" x",
                             "unset \"a[$V]\"",
                             "[[ -v $V ]]",
                             "echo >& \"$V\""}) {
    const std::vector<std::string> carriers = {"V"};
    const ShellText text = shell_text(source, carriers);
    EXPECT_TRUE(shell_text(source).mistakes.empty()) << source;
    EXPECT_EQ(shell_text(source).program, source);
    if (!text.mistakes.empty()) {
      EXPECT_EQ(text.mistakes[0].carrier, "V") << source;
      continue;
    }
    EXPECT_EQ(text.integers, carriers) << source;
    const std::string there = "cd " + directory_.string() + " < /dev/null || exit\n";
    for (const std::string& value : values) {
      const Ran ran = run_bash(there + "V=$REEVE_V_v\n" + text.program, {{"v", value}});
      EXPECT_EQ(ran.code, 126) << source;
      ASSERT_FALSE(std::filesystem::exists(directory_ / "PWNED")) << source << "\n" << value;
    }
  }
}

TEST_F(HostileValue, ByWayOfACommand) {
  for (const char* source : {"source /dev/stdin <<< {v}",
                             ". //dev/stdin <<E\n{v}\nE\n",
                             "exec 3<<< {v}; . /dev/fd/3",
                             "echo {v} | . /dev/stdin",
                             "command . /proc/self/fd/0 <<< {v}",
                             "source <(echo {v})",
                             "x={v}; source <(echo \"$x\")",
                             "x={v}; . <(echo y=1; echo z=$x)",
                             "x={v}; source <(cat <<< \"$x\")",
                             "x={v}; source -- <(cat <<E\n$x\nE\n)",
                             "source <(cat) <<< {v}",
                             "f() { echo {v}; }; source <(f)",
                             "jobs -x {v}",
                             "true & wait -np \"a[{v}]\"",
                             "test -v \"a[{v}]\"",
                             "[[ ! -v a[{v}] ]]",
                             "unset \"a[{v}]\"",
                             "read \"a[{v}]\" <<< x",
                             "printf -v 'a[{v}]' x",
                             "mapfile -c1 -C{v} a <<< x",
                             "hash -p {v} ls; ls",
                             "2>&1 eval {v}",
                             "case a in a) 2>&1 eval {v};; esac",
                             "{{fd}}>x eval {v}",
                             "$'eval' {v}",
                             "[[ 1 -e\\\nq {v} ]]",
                             "[[ x =~ {v} ]]",
                             "case x in {v}) ;; esac",
                             "IFS={v}; set -- $x",
                             "echo ${x:-$(echo {v})} ${y/$(echo {v})/z} {v}"}) {
    expect_never_run(source);
  }
}

}  // namespace
}  // namespace reeve::runbook
