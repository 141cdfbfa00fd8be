#include "api/beanstalk/options.h"

#include "core/limits.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace reeve::api::beanstalk {
namespace {

constexpr std::string_view with_value = "blpzfsu";
constexpr std::string_view without_value = "FncVvh";

template <class Int>
std::optional<Int> read_number(std::string_view text) {
  Int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::unexpected<Error> bad(std::string message) {
  return fail(Error::Code::BadRequest, std::move(message));
}

class Reader {
 public:
  Result<Options> read(std::span<const std::string_view> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string_view word = words[i];
      if (word.size() < 2 || word.front() != '-') {
        return bad(fmt::format("unknown argument {}; try -h", word));
      }
      if (word.starts_with("--")) return bad(fmt::format("unknown flag {}; try -h", word));
      for (word.remove_prefix(1); !word.empty();) {
        const char letter = word.front();
        word.remove_prefix(1);
        if (without_value.find(letter) != std::string_view::npos) {
          flag(letter);
          continue;
        }
        if (with_value.find(letter) == std::string_view::npos) {
          return bad(fmt::format("unknown flag -{}; try -h", letter));
        }
        if (word.empty() && ++i < words.size()) word = words[i];
        if (word.empty()) return bad(fmt::format("-{} needs a value", letter));
        if (auto taken = option(letter, word); !taken) return fail(taken.error());
        word = {};
      }
    }
    place();
    return std::move(options_);
  }

 private:
  void flag(char letter) {
    if (letter == 'h') options_.help = true;
    if (letter == 'v') options_.version = true;
    if (letter == 'F') note("-F changes nothing: what is answered is on disk");
    if (letter == 'n' || letter == 'c') note(fmt::format("-{} changes nothing here", letter));
  }

  Result<void> option(char letter, std::string_view value) {
    switch (letter) {
      case 'b':
        options_.home = value;
        return {};
      case 'l':
        host_ = value;
        return {};
      case 'p': {
        const std::optional<std::uint16_t> port = read_number<std::uint16_t>(value);
        if (!port || *port == 0) return bad(fmt::format("-p {} is no port", value));
        port_ = *port;
        return {};
      }
      case 'z':
        return size(value);
      case 'f':
        if (!read_number<std::uint32_t>(value))
          return bad(fmt::format("-f {}: not a number", value));
        if (value != "0") note("-f changes nothing: what is answered is on disk");
        return {};
      case 's':
        if (!read_number<std::uint64_t>(value))
          return bad(fmt::format("-s {}: not a number", value));
        note("-s changes nothing here: the journal has segments of its own size");
        return {};
      default:
        return bad(fmt::format(
            "-u {}: this program stays the user it was started as; start it as {}", value, value));
    }
  }

  Result<void> size(std::string_view value) {
    const std::optional<std::uint64_t> bytes = read_number<std::uint64_t>(value);
    if (!bytes) return bad(fmt::format("-z {}: not a number", value));
    options_.job_bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(*bytes, reeve::limits::item_bytes));
    if (*bytes > options_.job_bytes) {
      note(fmt::format("-z {}: a job has at most {} bytes here", value, options_.job_bytes));
    }
    return {};
  }

  void place() {
    options_.is_public = !is_loopback(host_);
    const bool is_path = host_.starts_with("unix:");
    const bool has_colons = host_.find(':') != std::string::npos;
    if (is_path) {
      options_.address = host_;
    } else if (has_colons) {
      options_.address = fmt::format("[{}]:{}", host_, port_);
    } else {
      options_.address = fmt::format("{}:{}", host_, port_);
    }
    if (options_.is_public) {
      note(
          fmt::format("{} can be reached from elsewhere, and nobody is asked who they are", host_));
    }
  }

  void note(std::string text) { options_.notes.push_back(std::move(text)); }

  Options options_;
  std::string host_ = "127.0.0.1";
  std::uint16_t port_ = default_port;
};

}  // namespace

bool is_loopback(std::string_view host) {
  if (host.starts_with("unix:") || host == "localhost" || host == "::1" || host.empty())
    return true;
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

Result<Options> parse_options(std::span<const std::string_view> words) {
  return Reader().read(words);
}

const std::string_view options_help =
    "Use: reeve beanstalkd [OPTIONS]\n"
    "\n"
    "Serves the queues of the project $REEVE_PROJECT, else of default, to clients of\n"
    "beanstalkd.\n"
    "\n"
    " -b DIR   the home to keep everything in (default is reeve's own)\n"
    " -l ADDR  listen on address, or unix:PATH (default is 127.0.0.1)\n"
    " -p PORT  listen on port (default is 11300)\n"
    " -z BYTES the most bytes a job may have (default is 65535, the most 1048576)\n"
    " -v       show version information\n"
    " -h       show this help\n"
    " -V -f MS -F -s BYTES -n -c   accepted, and without effect: everything that\n"
    "          is answered is on disk\n";

}  // namespace reeve::api::beanstalk
