#include "adapters/hold_log.h"

#include "adapters/bounded_log.h"
#include "adapters/redactor.h"
#include "adapters/run_directory.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <unistd.h>

namespace reeve::adapters {

int keep_log(std::string_view path, std::string_view folder) {
  std::uint64_t limit = log_limit;
  Redactor words;
  if (!folder.empty()) {
    const Result<RunSpec> spec = RunDirectory{std::string(folder)}.read_spec();
    if (spec) words = Redactor(spec->secrets);
    if (spec) limit = spec->log_bytes;
  }
  BoundedLog log{std::string(path), limit};
  std::array<char, std::size_t{64} * 1024> block;
  std::signal(SIGHUP, SIG_IGN);
  while (true) {
    const ssize_t size = read(STDIN_FILENO, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    log.write(words.pass({block.data(), static_cast<std::size_t>(size)}));
  }
  log.write(words.rest());
  log.finish();
  return 0;
}

}  // namespace reeve::adapters
