#include "adapters/run_directory.h"

#include "adapters/process.h"
#include "base/text_part.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace reeve::adapters {
namespace {

// The files are pairs of texts, each closed with a NUL, which none of them can contain: the first
// pair says what it is. A key may come more than once.
constexpr std::string_view spec_mark = "reeve run";
constexpr std::string_view exit_mark = "reeve exit";
constexpr std::string_view format = "1";

constexpr std::size_t most_values = 1000;

class Writer {
 public:
  void add(std::string_view key, std::string_view value) {
    for (const std::string_view part : {key, value}) {
      text_ += part.substr(0, part.find('\0'));
      text_ += '\0';
    }
  }
  void add(std::string_view key, std::int64_t value) { add(key, std::to_string(value)); }
  void flag(std::string_view key, bool value) {
    if (value) add(key, "1");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

Result<Pairs> read_pairs(std::string_view text, std::string_view mark) {
  Pairs pairs;
  while (!text.empty()) {
    const std::size_t key = text.find('\0');
    const std::size_t value = key == std::string_view::npos ? key : text.find('\0', key + 1);
    if (value == std::string_view::npos) return fail(Error::Code::Corrupt, "it is cut short");
    pairs.emplace_back(text.substr(0, key), text.substr(key + 1, value - key - 1));
    text.remove_prefix(value + 1);
  }
  if (pairs.empty() || pairs.front() != std::pair(mark, format)) {
    return fail(Error::Code::Corrupt, "it is not \"" + std::string(mark) + " 1\"");
  }
  pairs.erase(pairs.begin());
  return pairs;
}

template <class Number>
Number number_in(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::pair<std::string, std::string> variable_in(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {std::string(text), {}};
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::string to_text(const Process& process) {
  return std::to_string(process.pid) + " " + std::to_string(process.start_time) + " " +
         process.boot_id + "\n";
}

std::optional<Process> parse_process(std::string_view text) {
  const std::size_t first = text.find(' ');
  const std::size_t second =
      first == std::string_view::npos ? std::string_view::npos : text.find(' ', first + 1);
  const std::size_t end = text.find('\n');
  if (second == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  return Process{number_in<std::int64_t>(text.substr(0, first)),
                 number_in<std::uint64_t>(text.substr(first + 1, second - first - 1)),
                 std::string(text.substr(second + 1, end - second - 1))};
}

}  // namespace

std::string to_text(EffectId id) {
  return std::to_string(id.sequence) + "-" + std::to_string(id.index);
}

std::optional<EffectId> parse_effect_id(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const EffectId id{number_in<std::uint64_t>(text.substr(0, dash)),
                    number_in<std::uint32_t>(text.substr(dash + 1))};
  return to_text(id) == text ? std::optional(id) : std::nullopt;
}

// ── What they say ──

std::string to_text(const RunSpec& spec) {
  Writer writer;
  writer.add(spec_mark, format);
  writer.add("text", spec.text);
  writer.add("directory", spec.directory);
  for (const auto& [name, value] : spec.environment)
    writer.add("env", fmt::format("{}={}", name, value));
  for (const std::string& secret : spec.secrets) writer.add("secret", secret);
  if (spec.timeout) writer.add("timeout", spec.timeout->count());
  writer.add("grace", spec.grace.count());
  writer.add("log", spec.log);
  writer.add("log_bytes", static_cast<std::int64_t>(spec.log_bytes));
  writer.add("mask", static_cast<std::int64_t>(spec.mask));
  if (spec.descriptors > 0) {
    writer.add("descriptors", static_cast<std::int64_t>(spec.descriptors));
  }
  writer.flag("strict", spec.strict);
  writer.flag("stdin", spec.has_stdin);
  writer.flag("only_stdout", spec.only_stdout);
  writer.flag("in_pane", spec.in_pane);
  writer.flag("leaves_others", spec.leaves_others);
  writer.flag("unsynced", !spec.synced);
  return writer.take();
}

Result<RunSpec> parse_spec(std::string_view text) {
  const Result<Pairs> pairs = read_pairs(text, spec_mark);
  if (!pairs) return fail(pairs.error());
  RunSpec spec;
  for (const auto& [key, value] : *pairs) {
    if (key == "text") spec.text = value;
    if (key == "directory") spec.directory = value;
    if (key == "env") spec.environment.push_back(variable_in(value));
    if (key == "secret") spec.secrets.emplace_back(value);
    if (key == "timeout") spec.timeout = Duration{number_in<std::int64_t>(value)};
    if (key == "grace") spec.grace = Duration{number_in<std::int64_t>(value)};
    if (key == "log") spec.log = value;
    if (key == "log_bytes") spec.log_bytes = number_in<std::uint64_t>(value);
    if (key == "mask") spec.mask = number_in<std::uint32_t>(value);
    if (key == "descriptors") spec.descriptors = number_in<std::uint64_t>(value);
    if (key == "strict") spec.strict = true;
    if (key == "stdin") spec.has_stdin = true;
    if (key == "only_stdout") spec.only_stdout = true;
    if (key == "in_pane") spec.in_pane = true;
    if (key == "leaves_others") spec.leaves_others = true;
    if (key == "unsynced") spec.synced = false;
  }
  return spec;
}

std::string to_text(const Outcome& outcome) {
  Writer writer;
  writer.add(exit_mark, format);
  writer.flag("failed", outcome.ended != Ended::Done);
  if (outcome.exit_code) writer.add("code", *outcome.exit_code);
  if (outcome.signal) writer.add("signal", *outcome.signal);
  writer.flag("timed_out", outcome.timed_out);
  writer.add("error", outcome.error);
  for (const auto& [key, value] : outcome.values)
    writer.add("value", fmt::format("{}={}", key, value));
  writer.add("output", outcome.output);
  return writer.take();
}

Result<Outcome> parse_outcome(std::string_view text) {
  const Result<Pairs> pairs = read_pairs(text, exit_mark);
  if (!pairs) return fail(pairs.error());
  Outcome outcome;
  for (const auto& [key, value] : *pairs) {
    if (key == "failed") outcome.ended = Ended::Failed;
    if (key == "code") outcome.exit_code = number_in<int>(value);
    if (key == "signal") outcome.signal = number_in<int>(value);
    if (key == "timed_out") outcome.timed_out = true;
    if (key == "error") outcome.error = value;
    if (key == "value") outcome.values.push_back(variable_in(value));
    if (key == "output") outcome.output = value;
  }
  return outcome;
}

Result<Variables> parse_output(std::string_view text) {
  Variables values;
  std::size_t at = 0;
  for (std::size_t number = 1; at < text.size(); ++number) {
    const std::size_t newline = text.find('\n', at);
    const std::size_t end = newline == std::string_view::npos ? text.size() : newline;
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    const std::string_view key = line.substr(0, std::min(equals, line.size()));
    const bool is_name =
        !key.empty() && key.size() <= 200 && (key[0] < '0' || key[0] > '9') &&
        key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
            std::string_view::npos;
    if (equals == std::string_view::npos || !is_name) {
      constexpr std::size_t shown = 100;
      std::string message =
          "line " + std::to_string(number) + " of $REEVE_OUTPUT is not key=value: ";
      message += clean_text(first_bytes(line, shown));
      if (line.size() > shown) message += "…";
      return fail(Error::Code::BadRequest, message);
    }
    if (values.size() == most_values) {
      return fail(
          Error::Code::BadRequest,
          "there are more than " + std::to_string(most_values) + " values in $REEVE_OUTPUT");
    }
    const std::string_view value = line.substr(equals + 1);
    if (clean_text(value) != value) {
      return fail(Error::Code::BadRequest,
                  "output " + std::string(key) + " has a NUL, or is not UTF-8");
    }
    values.emplace_back(key, value);
  }
  return values;
}

// ── The folder ──

Result<void> RunDirectory::prepare(const RunSpec& spec, std::string_view stdin_text) const {
  if (mkdir(path_.c_str(), 0700) != 0) {
    if (errno != EEXIST) {
      if (auto made = make_folders(path_); !made) return made;
    } else {
      remove();
      if (auto made = make_folders(path_); !made) return made;
    }
  }
  if (spec.has_stdin) {
    if (auto written = write_whole(file("stdin"), stdin_text, false); !written) return written;
  }
  // A hold that is late finds all of it or nothing.
  if (auto written = write_whole(file("spec.tmp"), to_text(spec), false); !written) return written;
  if (rename(file("spec.tmp").c_str(), file("spec").c_str()) != 0) {
    return fail(Error::Code::Io, "cannot write " + file("spec") + ": " + error_text(errno));
  }
  return {};
}

// A step may have made folders in it.
void RunDirectory::remove() const {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

RunDirectory::Seen RunDirectory::look() const {
  const auto unreadable = [](const Error& error) {
    const bool may_pass = error.code == Error::Code::Timeout || error.code == Error::Code::Full;
    return Unreadable{error.message, may_pass};
  };
  const auto is_there = [](const auto& text) {
    return text || text.error().code != Error::Code::NotFound;
  };
  const Result<Descriptor> lock = take_lock();
  const Result<std::string> started = try_read_whole(file("started"));
  const std::optional<Process> hold = started ? parse_process(*started) : std::nullopt;
  if (!lock) {
    if (lock.error().code == Error::Code::Conflict) return Running{hold};
    if (lock.error().code == Error::Code::NotFound) return Never{};
    return unreadable(lock.error());
  }
  const Result<std::string> exit = try_read_whole(file("exit"));
  if (!exit && is_there(exit)) return unreadable(exit.error());
  if (exit) {
    const Result<Outcome> outcome = parse_outcome(*exit);
    if (outcome) return Ended{*outcome};
  }
  if (!started && is_there(started)) return unreadable(started.error());
  // Nothing runs before `started` is whole; but it is there, and nobody else made it.
  if (started) return Lost{hold.value_or(Process{})};
  unlink(file("spec").c_str());
  return Never{};
}

Result<Descriptor> RunDirectory::take_lock() const {
  Descriptor lock(open(file("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) {
    return fail(code_of(errno), "cannot open " + file("lock") + ": " + error_text(errno));
  }
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(Error::Code::Conflict, "another hold has it");
  }
  // The folder may have been made anew since the file was opened: a lock that nobody can find any
  // more says nothing, and whoever came for the old folder has nothing to do in the new one.
  struct stat ours{};
  struct stat theirs{};
  const bool is_there = fstat(lock.get(), &ours) == 0 && stat(file("lock").c_str(), &theirs) == 0 &&
                        ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
  if (!is_there) return fail(Error::Code::Conflict, "the run was made anew");
  return lock;
}

Result<RunSpec> RunDirectory::read_spec() const {
  const std::optional<std::string> text = read_whole(file("spec"));
  if (!text) return fail(Error::Code::NotFound, "there is nothing to do in " + path_);
  Result<RunSpec> spec = parse_spec(*text);
  if (!spec) return fail(spec.error().code, file("spec") + ": " + spec.error().message);
  return spec;
}

bool RunDirectory::has_started() const { return access(file("started").c_str(), F_OK) == 0; }

// The folder above is synced too: that this one exists is part of what must be known.
Result<void> RunDirectory::write_started(const Process& self, bool synced) const {
  const std::string path = file("started");
  const Descriptor made(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made) return fail(Error::Code::Io, "cannot make " + path + ": " + error_text(errno));
  const std::string text = to_text(self);
  const bool whole = write(made.get(), text.data(), text.size()) == std::ssize(text);
  if (!whole || (synced && fsync(made.get()) != 0)) {
    const int number = errno;
    unlink(path.c_str());  // nothing has run, and nothing will
    return fail(Error::Code::Io, "cannot write " + path + ": " + error_text(number));
  }
  if (!synced) return {};
  if (!sync_folder(path_) || !sync_folder(path_.substr(0, path_.rfind('/')))) {
    const int number = errno;
    unlink(path.c_str());
    return fail(Error::Code::Io, "cannot sync " + path_ + ": " + error_text(number));
  }
  return {};
}

Result<void> RunDirectory::write_exit(const Outcome& outcome, bool synced) const {
  if (auto written = write_whole(file("exit.tmp"), to_text(outcome), synced); !written) {
    return written;
  }
  if (rename(file("exit.tmp").c_str(), file("exit").c_str()) != 0) {
    return fail(Error::Code::Io, "cannot write " + file("exit") + ": " + error_text(errno));
  }
  if (synced) sync_folder(path_);
  return {};
}

}  // namespace reeve::adapters
