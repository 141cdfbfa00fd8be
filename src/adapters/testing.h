#pragma once

#include "adapters/run_directory.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

// What the tests of this folder share. The test program is its own `reeve hold`: with that as its
// first word it is nothing else.
namespace reeve::adapters::testing {

using namespace std::chrono_literals;

// A folder of its own for as long as the test lasts. Whatever was started in it is killed at the
// end: it has the folder in its environment.
class Home {
 public:
  Home();
  ~Home();
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  const std::string& path() const { return path_; }
  std::string at(std::string_view name) const { return path_ + "/" + std::string(name); }
  std::string read(std::string_view name) const;
  void write(std::string_view name, std::string_view text) const;

  // A spec that says what it runs in, and keeps a log.
  RunSpec spec(const std::string& text) const;

 private:
  std::string path_;
};

// As long as it lasts this process can open nothing.
class NoDescriptors {
 public:
  NoDescriptors();
  ~NoDescriptors();
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  std::uint64_t limit_;
};

// Our own hold, as the daemon starts it; -1: it could not be.
pid_t start_hold(const RunDirectory& folder);
void wait_for(pid_t pid);
// Prepares, holds, waits, and says what became of it.
Outcome held(const Home& home, const RunSpec& spec, const std::string& stdin_text = {});

// False: it did not become true in time.
bool becomes_true(const std::function<bool()>& condition, std::chrono::milliseconds most = 10s);

// What git, tmux or another program says; fails the test if it fails.
std::string output_of(const std::string& shell_text);

}  // namespace reeve::adapters::testing
