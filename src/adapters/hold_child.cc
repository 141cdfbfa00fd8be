#include "adapters/hold_child.h"

#include "adapters/pointers.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace reeve::adapters {
namespace {

// A longer text does not fit into one argument (128 KiB): it goes by a file.
constexpr std::size_t longest_argument = 100'000;

struct Pipe {
  Descriptor read;
  Descriptor write;
};

// Who reads does not wait.
Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(Error::Code::Io, "cannot make a pipe: " + error_text(errno));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

std::vector<std::string> words_for(const RunDirectory& folder, const RunSpec& spec) {
  std::vector<std::string> words{"bash"};
  if (spec.strict) words.insert(words.end(), {"-e", "-u", "-o", "pipefail"});
  if (spec.text.size() > longest_argument) {
    words.push_back(folder.file("program"));
  } else {
    words.insert(words.end(), {"-c", spec.text, "bash"});
  }
  return words;
}

// A pane has its own terminal, and tells what it is.
std::vector<std::string> environment_of(const RunSpec& spec) {
  std::vector<std::string> texts;
  texts.reserve(spec.environment.size());
  for (const auto& [name, value] : spec.environment) {
    texts.push_back(fmt::format("{}={}", name, value));
  }
  if (!spec.in_pane) return texts;
  for (const char* name : {"TERM", "TMUX", "TMUX_PANE"}) {
    const std::string begin = std::string(name) + "=";
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (!value) continue;
    std::erase_if(texts, [&](const std::string& text) { return text.starts_with(begin); });
    texts.push_back(begin + value);
  }
  return texts;
}

// What went wrong, for the parent: a step and an error number.
enum class Step : int { Directory, Input, Bash };
struct Trouble {
  Step step;
  int number;
};

std::string text_of(const Trouble& trouble, const RunSpec& spec) {
  switch (trouble.step) {
    case Step::Directory:
      return "cannot work in " + spec.directory + ": " + error_text(trouble.number);
    case Step::Input:
      return "cannot open its input: " + error_text(trouble.number);
    case Step::Bash:
      return "cannot start bash: " + error_text(trouble.number);
  }
  return error_text(trouble.number);
}

[[noreturn]] void give_up(int to, Step step) {
  const Trouble trouble{step, errno};
  [[maybe_unused]] const ssize_t written = write(to, &trouble, sizeof trouble);
  _exit(127);
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// The soft limit: whoever needs more may raise it again.
void limit_descriptors(std::uint64_t most) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= most) return;
  limit.rlim_cur = most;
  setrlimit(RLIMIT_NOFILE, &limit);
}

[[noreturn]] void become(
    const RunDirectory& folder, const RunSpec& spec, int out, int err, int trouble) {
  setpgid(0, 0);
  if (spec.in_pane) tcsetpgrp(STDIN_FILENO, getpid());
  reset_signals();
  umask(spec.mask);
  if (spec.descriptors > 0) limit_descriptors(spec.descriptors);
  if (!spec.in_pane) {
    const std::string input = spec.has_stdin ? folder.file("stdin") : "/dev/null";
    const int in = open(input.c_str(), O_RDONLY | O_CLOEXEC);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0) give_up(trouble, Step::Input);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) {
      give_up(trouble, Step::Input);
    }
  }
  if (chdir(spec.directory.empty() ? "/" : spec.directory.c_str()) != 0) {
    give_up(trouble, Step::Directory);
  }
  std::vector<std::string> words = words_for(folder, spec);
  std::vector<std::string> variables = environment_of(spec);
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(variables);
  for (const char* bash : {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"}) {
    execve(bash, argv.data(), envp.data());
    if (errno != ENOENT) break;
  }
  give_up(trouble, Step::Bash);
}

}  // namespace

Result<Started> start_program(const RunDirectory& folder, const RunSpec& spec) {
  if (spec.text.size() > longest_argument) {
    auto written = write_whole(folder.file("program"), spec.text, false);
    if (!written) return fail(written.error());
  }
  Result<Pipe> trouble = make_pipe();
  if (!trouble) return fail(trouble.error());
  Pipe out;
  Pipe err;
  if (!spec.in_pane) {
    Result<Pipe> made = make_pipe();
    if (!made) return fail(made.error());
    out = *std::move(made);
    if (spec.only_stdout) {
      made = make_pipe();
      if (!made) return fail(made.error());
      err = *std::move(made);
    }
  }
  const pid_t pid = fork();
  if (pid < 0) return fail(Error::Code::Io, "cannot start a process: " + error_text(errno));
  if (pid == 0) {
    const int error_end = spec.only_stdout ? err.write.get() : out.write.get();
    become(folder, spec, out.write.get(), error_end, trouble->write.get());
  }
  return Started{pid, std::move(out.read), std::move(err.read), std::move(trouble->read)};
}

std::string trouble_in(Descriptor& trouble, const RunSpec& spec) {
  if (!trouble) return {};
  Trouble said{};
  const ssize_t size = read(trouble.get(), &said, sizeof said);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  trouble.reset();
  return size == sizeof said ? text_of(said, spec) : std::string();
}

std::string without_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const unsigned char letter = byte(at);
    if (letter == 0x1B && at + 1 < text.size()) {
      const char kind = text[++at];
      if (kind == '[') {
        do ++at;
        while (at < text.size() && (byte(at) < 0x40 || byte(at) > 0x7E));
      } else if (kind == ']' || kind == 'P' || kind == '_' || kind == '^') {
        // Up to BEL, or ESC and a backslash.
        for (++at; at < text.size() && byte(at) != 0x07; ++at) {
          if (byte(at) == 0x1B && at + 1 < text.size() && text[at + 1] == '\\') {
            ++at;
            break;
          }
        }
      } else if (kind == '(' || kind == ')') {
        ++at;
      }
      continue;
    }
    if (letter >= 0x20 ? letter != 0x7F : letter == '\n' || letter == '\t') {
      plain += text[at];
    }
  }
  return plain;
}

}  // namespace reeve::adapters
