#include "cli/home.h"

#include "base/check.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <sys/random.h>
#include <unistd.h>

namespace reeve::cli {

std::optional<std::string> environment(const char* name) {
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string working_directory() {
  std::array<char, PATH_MAX> buffer{};
  return ::getcwd(buffer.data(), buffer.size()) == nullptr ? "/" : std::string(buffer.data());
}

std::optional<Home> find_home(std::optional<std::string_view> given) {
  const auto absolute = [](std::string path) {
    return path.starts_with('/') ? path : working_directory() + "/" + path;
  };
  Home home;
  if (given) {
    home.path = absolute(std::string(*given));
  } else if (const auto named = environment("REEVE_HOME")) {
    home.path = absolute(*named);
  } else if (const auto state = environment("XDG_STATE_HOME")) {
    home.path = absolute(*state + "/reeve");
  } else if (const auto user = environment("HOME")) {
    home.path = absolute(*user + "/.local/state/reeve");
  } else {
    return std::nullopt;
  }
  while (home.path.size() > 1 && home.path.ends_with('/')) home.path.pop_back();
  const auto socket = environment("REEVE_SOCKET");
  home.socket = socket ? absolute(*socket) : home.path + "/reeve.sock";
  return home;
}

std::string random_word(std::size_t length) {
  constexpr std::string_view letters = "0123456789abcdefghjkmnpqrstvwxyz";
  std::array<unsigned char, 32> bytes{};
  CHECK(length <= bytes.size());
  CHECK(::getrandom(bytes.data(), length, 0) == static_cast<ssize_t>(length));
  std::string word;
  for (std::size_t i = 0; i < length; ++i) word += letters[bytes.at(i) % letters.size()];
  return word;
}

}  // namespace reeve::cli
