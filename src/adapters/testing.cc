#include "adapters/testing.h"

#include "adapters/hold.h"
#include "adapters/process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <spawn.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace reeve::adapters::testing {

Home::Home() {
  std::string path = (std::filesystem::temp_directory_path() / "reeve_adapters_XXXXXX").string();
  if (!mkdtemp(path.data())) std::abort();
  path_ = path;
}

Home::~Home() {
  const auto kill_all = [&] {
    const std::vector<ProcessStatus> left = marked_with("REEVE_TEST_HOME=" + path_).value();
    for (const ProcessStatus& status : left) {
      send_signal(status.pid, status.start_time, SIGKILL);
    }
    return left.empty();
  };
  becomes_true(kill_all, 5s);
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Home::read(std::string_view name) const { return read_whole(at(name)).value_or(""); }

void Home::write(std::string_view name, std::string_view text) const {
  const std::filesystem::path path = at(name);
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

RunSpec Home::spec(const std::string& text) const {
  RunSpec spec;
  spec.text = text;
  spec.directory = path_;
  spec.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                      {"REEVE_TEST_HOME", path_},
                      {"REEVE_OUTPUT", path_ + "/run/output"}};
  spec.log = at("log");
  return spec;
}

NoDescriptors::NoDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit_ = limit.rlim_cur;
  const int lowest = dup(STDIN_FILENO);
  close(lowest);
  limit.rlim_cur = static_cast<rlim_t>(lowest);
  setrlimit(RLIMIT_NOFILE, &limit);
}

NoDescriptors::~NoDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit_;
  setrlimit(RLIMIT_NOFILE, &limit);
}

pid_t start_hold(const RunDirectory& folder) {
  std::string program = "/proc/self/exe";
  std::string name = "reeve";
  std::string word = "hold";
  std::string path = folder.path();
  char* const words[] = {name.data(), word.data(), path.data(), nullptr};
  pid_t pid = -1;
  if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, words, environ) != 0) return -1;
  return pid;
}

void wait_for(pid_t pid) { waitpid(pid, nullptr, 0); }

Outcome held(const Home& home, const RunSpec& spec, const std::string& stdin_text) {
  const RunDirectory folder(home.at("run"));
  EXPECT_TRUE(folder.prepare(spec, stdin_text));
  wait_for(start_hold(folder));
  const RunDirectory::Seen seen = folder.look();
  const auto* ended = std::get_if<RunDirectory::Ended>(&seen);
  EXPECT_TRUE(ended);
  return ended ? ended->outcome : Outcome{.ended = Ended::Unknown};
}

bool becomes_true(const std::function<bool()>& condition, std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

std::string output_of(const std::string& shell_text) {
  std::FILE* const pipe = popen(("exec 2>&1; " + shell_text).c_str(), "r");
  std::string text;
  for (int letter = 0; (letter = std::fgetc(pipe)) != EOF;) text += static_cast<char>(letter);
  EXPECT_EQ(pclose(pipe), 0) << shell_text << "\n" << text;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace reeve::adapters::testing

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "hold") {
    return reeve::adapters::hold(std::span(words).subspan(1));
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (!words.empty() && words.front() == "daemon") return static_cast<int>(sleep(60));
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
