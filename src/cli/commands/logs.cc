#include "cli/commands/groups.h"
#include "cli/commands/runs.h"
#include "cli/commands/said.h"
#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

// `reeve logs`: what the programs of a run said. They are files in the home, one an attempt:
//
//     logs/pipe-4f7kq2/merge#2.1234-0.log     the second attempt of phase merge
//     logs/pipe-4f7kq2/guard tests_pass.log   the last check of a guard
//     logs/work-81hd2k/agent.1250-0.log       an attempt of an agent
//
// and the larger number is the later. What an agent said in a phase belongs to the run as well.
namespace reeve::cli {

namespace {

constexpr std::size_t piece = std::size_t{64} << 10U;

struct LogFile {
  std::string path;
  std::string label;  // merge#2
  std::uint64_t sequence = 0;
  std::uint64_t index = 0;
};

// "merge#2.1234-0.log"; a guard has no number, and comes first.
std::optional<LogFile> parse_name(const std::string& folder, std::string_view name) {
  constexpr std::string_view ending = ".log";
  if (!name.ends_with(ending)) return std::nullopt;
  LogFile file;
  file.path = folder + "/" + std::string(name);
  name.remove_suffix(ending.size());
  file.label = name;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return file;
  const std::string_view number = name.substr(dot + 1);
  const char* const end = number.end();
  const auto [dash, bad] = std::from_chars(number.begin(), end, file.sequence);
  if (bad != std::errc{} || dash == end || *dash != '-') return file;
  const auto [stopped, worse] = std::from_chars(dash + 1, end, file.index);
  if (worse != std::errc{} || stopped != end) return file;
  file.label = name.substr(0, dot);
  return file;
}

// "merge#2" is the second attempt of phase merge. A label without a number has no attempt.
std::string_view phase_of(std::string_view label) { return label.substr(0, label.find('#')); }

std::optional<std::int64_t> attempt_of(std::string_view label) {
  const std::size_t hash = label.find('#');
  std::int64_t number = 0;
  if (hash == std::string_view::npos) return std::nullopt;
  const auto [end, bad] =
      std::from_chars(label.data() + hash + 1, label.data() + label.size(), number);
  return bad == std::errc{} ? std::optional(number) : std::nullopt;
}

bool is_guard(std::string_view label) { return label.starts_with("guard "); }

void add_logs(std::vector<LogFile>& files, const Said::Place& place) {
  DIR* const directory = ::opendir(place.folder.c_str());
  if (directory == nullptr) return;
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* const entry = ::readdir(directory)) {
    auto file = parse_name(place.folder, entry->d_name);
    if (!file) continue;
    if (!place.label.empty()) file->label = place.label;
    files.push_back(*std::move(file));
  }
  ::closedir(directory);
}

std::vector<LogFile> find_logs(const std::vector<Said::Place>& places) {
  std::vector<LogFile> files;
  for (const Said::Place& place : places) add_logs(files, place);
  std::ranges::sort(files, [](const LogFile& a, const LogFile& b) {
    return std::tie(a.sequence, a.index, a.label) < std::tie(b.sequence, b.index, b.label);
  });
  return files;
}

// How many bytes at the end are the beginning of a character of UTF-8 that goes on.
std::size_t begun_character(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if (byte < 0x80U) return 0;
    if (byte < 0xc0U) continue;
    const std::size_t length = byte >= 0xf0U ? 4 : byte >= 0xe0U ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

// What is behind `offset`, piece by piece, and no piece ends within a character.
template <class Each>
void read_from(const std::string& path, std::uint64_t& offset, Each each) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::string bytes(piece, '\0');
  for (;;) {
    const ssize_t got = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got <= 0) break;
    std::string_view some = std::string_view(bytes).substr(0, static_cast<std::size_t>(got));
    if (some.size() == piece) some.remove_suffix(begun_character(some));
    offset += some.size();
    each(some);
  }
  ::close(file);
}

// Where an agent's attempts speak. They are called after their number, or, of a run, after the
// phase and the agent: `work#1 fixer`, and started anew `work#1 fixer (2)`.
void add_attempts(std::vector<Said::Place>& places,
                  const std::string& logs,
                  const Json& agent,
                  const std::string& phase) {
  std::size_t number = 0;
  for (const Json& attempt : agent["attempts"].items()) {
    ++number;
    std::string label = phase.empty() ? fmt::format("agent#{}", number)
                        : number == 1
                            ? fmt::format("{} {}", phase, agent["agent"].text())
                            : fmt::format("{} {} ({})", phase, agent["agent"].text(), number);
    places.push_back({logs + attempt.text(), std::move(label)});
  }
}

}  // namespace

bool Wanted::fits(std::string_view label) const {
  if (is_guard(label)) return guards;
  if (phase && phase_of(label) != *phase) return false;
  return !attempt || attempt_of(label) == attempt;
}

Said::Said(Context& context, const std::string& home, const std::string& id, Wanted wanted)
    : context_(context),
      logs_(home + "/logs/"),
      id_(id),
      places_({{logs_ + id}}),
      wanted_(std::move(wanted)) {}

void Said::know(const Json& shown) {
  std::vector<Place> places;
  if (id_.starts_with("work-")) add_attempts(places, logs_, shown, {});
  if (places.empty()) places.push_back({logs_ + id_});
  for (const Json& agent : shown["agents"].items()) {
    add_attempts(
        places, logs_, agent, fmt::format("{}#{}", agent["phase"].text(), agent["attempt"].text()));
  }
  places_ = std::move(places);
}

// Whether there is something behind what was told; of a file that is another one, all of it.
bool Said::has_more(const std::string& path, Told& told) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return false;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (status.st_ino != told.file || size < told.bytes) told = {0, status.st_ino};
  return size > told.bytes;
}

bool Said::read(std::uint64_t before) {
  bool any = false;
  for (const LogFile& file : find_logs(places_)) {
    if (file.sequence >= before || !wanted_.fits(file.label)) continue;
    Told& told = told_[file.path];
    if (!has_more(file.path, told)) continue;
    read_from(file.path, told.bytes, [&](std::string_view bytes) {
      any = true;
      tell(file.path, file.label, bytes);
    });
  }
  return any;
}

// Whose it is is told on stderr, so that a pipe has what the program said and nothing else; but
// what ended within a line is ended there, so that nothing is run together.
void Said::tell(const std::string& path, const std::string& label, std::string_view bytes) {
  Output& output = context_.output;
  if (context_.json()) {
    output.line(json_of({{"label", label}, {"text", bytes}}).write());
    return;
  }
  if (path != last_) {
    interrupt();
    output.flush();
    if (!context_.quiet()) output.err(output.styled_err(Style::Dim, label + ":") + "\n");
    last_ = path;
  }
  output.out(bytes);
  in_line_ = !bytes.ends_with('\n');
  if (bytes.size() + 3 >= piece) output.flush();
}

void Said::interrupt() {
  if (in_line_ && !context_.json()) context_.output.out("\n");
  in_line_ = false;
  last_.clear();
}

std::vector<std::string> Said::labels() const {
  std::vector<std::string> labels;
  for (const LogFile& file : find_logs(places_)) {
    if (std::ranges::find(labels, file.label) == labels.end()) labels.push_back(file.label);
  }
  return labels;
}

namespace {

// While there is no daemon the programs go on, and so does what they say.
bool is_over(const Answer& answer) {
  if (!answer) return answer.error().code != "UNAVAILABLE";
  const std::string& state = (*answer)["state"].text();
  return state == "done" || state == "failed" || state == "cancelled";
}

template <class Value>
void add_once(std::vector<Value>& values, Value value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
}

// A phase that the run does not have, or an attempt that there was none of, is a mistake and not
// silence. Of who goes on an attempt may be still to come, for who follows.
std::optional<Failure> refuse(const Wanted& wanted,
                              const std::string& id,
                              const Answer& shown,
                              const std::vector<std::string>& labels,
                              bool follows) {
  std::vector<std::string> phases;
  std::vector<std::int64_t> attempts;
  if (shown) {
    for (const Json& phase : (*shown)["phases"].items()) add_once(phases, phase["name"].text());
    const bool in_it = !wanted.phase || (*shown)["phase"].text() == *wanted.phase;
    if (in_it && (*shown)["attempt"].number() > 0) add_once(attempts, (*shown)["attempt"].number());
  }
  for (const std::string& label : labels) {
    if (is_guard(label)) continue;
    const std::string phase(phase_of(label));
    add_once(phases, phase);
    if (wanted.phase && phase != *wanted.phase) continue;
    if (const auto attempt = attempt_of(label)) add_once(attempts, *attempt);
  }
  if (wanted.phase && !phases.empty() && std::ranges::find(phases, *wanted.phase) == phases.end()) {
    const std::vector<std::string_view> names(phases.begin(), phases.end());
    const std::string_view meant = nearest(*wanted.phase, names);
    return Failure{"NOT_FOUND",
                   fmt::format("{} has no phase \"{}\"; {}",
                               id,
                               *wanted.phase,
                               meant.empty() ? fmt::format("it has {}", fmt::join(phases, ", "))
                                             : fmt::format("did you mean \"{}\"?", meant))};
  }
  if (attempts.empty()) attempts.push_back(1);
  std::ranges::sort(attempts);
  const bool may_come = follows && !is_over(shown);
  if (wanted.attempt && !may_come &&
      std::ranges::find(attempts, *wanted.attempt) == attempts.end()) {
    return Failure{"NOT_FOUND",
                   fmt::format("{} has no attempt {}{}; there {} {}",
                               id,
                               *wanted.attempt,
                               wanted.phase ? fmt::format(" of {}", *wanted.phase) : "",
                               attempts.size() == 1 ? "is" : "are",
                               fmt::join(attempts, ", "))};
  }
  return std::nullopt;
}

}  // namespace

int logs_command(Context& context, const Parsed& parsed) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  const std::string& word = parsed.words[0];
  const bool agent = word.starts_with("work-");
  const std::string_view method = agent ? "agent.show" : "pipeline.show";
  Client& client = context.client();
  const Answer shown = client.ask(method, json_of({{"id", word}}));
  // What the daemon has forgotten may still lie there.
  const std::string id = shown ? (*shown)["id"].text() : word;
  const std::string folder = fmt::format("{}/logs/{}", home->path, id);
  const bool bare = id.find('/') == std::string::npos && id != "." && id != "..";
  if (!shown && (!bare || ::access(folder.c_str(), F_OK) != 0)) return context.fail(shown.error());

  Wanted wanted;
  if (const auto phase = parsed.text("phase")) wanted.phase = std::string(*phase);
  wanted.attempt = parsed.number("attempt");
  wanted.guards = parsed.has("guards");
  Said said(context, home->path, id, wanted);
  if (shown) said.know(*shown);
  if (const auto failure = refuse(wanted, id, shown, said.labels(), parsed.has("follow"))) {
    return context.fail(*failure);
  }
  const bool any = said.read();
  if (!parsed.has("follow")) {
    if (!any && !context.json()) context.output.note(fmt::format("{} has said nothing", id));
    return context.output.done();
  }
  client.only_look();
  const Signals signals{SIGINT, SIGTERM};
  for (bool over = is_over(shown); !over;) {
    if (!context.output.flush()) return static_cast<int>(Exit::Failed);
    std::array<pollfd, 2> others{signals.readable(), pollfd{.fd = 1, .events = 0, .revents = 0}};
    client.pump(look_for_more, others);
    if (const auto signal = signals.next()) {
      return context.output.done(*signal == SIGINT ? Exit::Interrupted : Exit::Ok);
    }
    if ((others[1].revents & (POLLERR | POLLHUP)) != 0) return context.output.done();
    const Answer now = client.ask(method, json_of({{"id", id}}));
    over = is_over(now);
    if (now) said.know(*now);
    said.read();
  }
  return context.output.done();
}

}  // namespace reeve::cli
