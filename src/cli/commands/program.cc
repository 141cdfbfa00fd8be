#include "cli/commands/program.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

constexpr std::size_t most_output = std::size_t{4} << 20U;

}  // namespace

Ran run_program(const std::string& program,
                const std::vector<std::pair<std::string, std::string>>& variables,
                bool gather) {
  std::array<int, 2> pipe{-1, -1};
  if (gather && ::pipe2(pipe.data(), O_CLOEXEC) != 0) return {};
  std::vector<std::string> texts;
  for (char** entry = environ; *entry != nullptr; ++entry) texts.emplace_back(*entry);
  for (const auto& [name, value] : variables) texts.push_back(fmt::format("{}={}", name, value));
  std::vector<char*> environment;
  environment.reserve(texts.size() + 1);
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  std::array<std::string, 4> words{"bash", "-c", program, "reeve"};
  std::array<char*, 5> arguments{
      words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  // What an action says is for the log, like what we say.
  ::posix_spawn_file_actions_adddup2(&actions, gather ? pipe[1] : 2, 1);
  // We do without SIGPIPE; programs rely on it.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  const int failed =
      ::posix_spawnp(&child, "bash", &actions, &attributes, arguments.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  Ran ran;
  if (gather) {
    ::close(pipe[1]);
    std::string bytes(std::size_t{64} << 10U, '\0');
    for (;;) {
      const ssize_t got = ::read(pipe[0], bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      if (ran.output.size() < most_output) {
        ran.output.append(bytes, 0, static_cast<std::size_t>(got));
      }
    }
    ::close(pipe[0]);
  }
  if (failed != 0) return ran;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

}  // namespace reeve::cli
