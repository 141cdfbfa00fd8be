#include "runbook/bash_testing.h"

#include "runbook/shell_text.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace reeve::runbook {
namespace {

std::string contents_of(std::FILE* file) {
  std::string all;
  std::array<char, 4096> buffer{};
  std::fseek(file, 0, SEEK_SET);
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) {
    all.append(buffer.data(), got);
  }
  return all;
}

Ran run(std::vector<std::string> words, std::vector<std::string> environment) {
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  };
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);
  using Closed = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const Closed out(std::tmpfile(), std::fclose);
  const Closed err(std::tmpfile(), std::fclose);
  if (!out || !err) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::fileno(out.get()), STDOUT_FILENO);
    ::dup2(::fileno(err.get()), STDERR_FILENO);
    ::execve("/bin/bash", argv.data(), envp.data());
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          contents_of(out.get()),
          contents_of(err.get())};
}

}  // namespace

Ran run_bash(const std::string& program, const std::map<std::string, std::string>& values) {
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"};
  for (const auto& [name, value] : values) environment.push_back(variable_name(name) + "=" + value);
  return run({"bash", "-c", program}, std::move(environment));
}

std::optional<ShellComplaint> check_with_bash(const std::string& program) {
  const Ran ran = run({"bash", "-n", "-c", program}, {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"});
  return complaint_of(ran.code, ran.err);
}

}  // namespace reeve::runbook
