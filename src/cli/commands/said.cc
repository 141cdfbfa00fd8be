#include "cli/commands/said.h"

#include "cli/text.h"
#include "codec/log_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

// The files of what was said lie in the home, one an attempt:
//
//     logs/pipe-4f7kq2/merge#2.1234-0.log     the second attempt of phase merge
//     logs/pipe-4f7kq2/guard tests_pass.log   the last check of a guard
//     logs/work-81hd2k/agent.1250-0.log       an attempt of an agent
//
// (codec/log_folder.h says how names are written there) and the larger number is the later. What an
// agent said in a phase belongs to the run as well, and so does what the runs within it say.
namespace reeve::cli {

namespace {

constexpr std::size_t piece = std::size_t{64} << 10U;

struct LogFile {
  std::string path;
  Label label;        // merge#2
  std::string place;  // its folder, if all that is in there is called the same; else its path
  std::uint64_t sequence = 0;
  std::uint64_t index = 0;
  bool is_over = false;
};

std::int64_t number_of_attempt(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// Of a label as it is written in full.
Label split(std::string text) {
  Label label{std::move(text)};
  const auto [begin, end] = codec::attempt_mark(label.text);
  label.phase = label.text.substr(0, begin);
  if (begin < end) label.attempt = number_of_attempt(label.text.substr(begin + 1, end - begin - 1));
  label.is_guard = begin == end && label.text.starts_with("guard ");
  return label;
}

// The label that a file's name was made from. The phases of the run say where the name of one ends,
// and what it was before it was cut.
Label label_of(std::string_view name, const std::vector<std::string>& phases) {
  for (const std::string& phase : phases) {
    const std::string begin = codec::log_part(phase) + "#";
    if (!name.starts_with(begin)) continue;
    const std::size_t end =
        std::min(name.find_first_not_of("0123456789", begin.size()), name.size());
    if (end == begin.size() || (end < name.size() && name[end] != ' ')) continue;
    const std::string_view digits = name.substr(begin.size(), end - begin.size());
    return {fmt::format("{}#{}{}", phase, digits, codec::label_of_log_name(name.substr(end))),
            phase,
            number_of_attempt(digits)};
  }
  return split(codec::label_of_log_name(name));
}

// "merge#2.1234-0.log"; a guard has no number, and comes first.
std::optional<LogFile> parse_name(const Said::Place& place, std::string_view name) {
  constexpr std::string_view ending = ".log";
  if (!name.ends_with(ending)) return std::nullopt;
  LogFile file;
  file.path = place.folder + "/" + std::string(name);
  file.is_over = place.is_over;
  name.remove_suffix(ending.size());
  file.label = label_of(name, place.phases);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return file;
  const std::string_view number = name.substr(dot + 1);
  const char* const end = number.end();
  const auto [dash, bad] = std::from_chars(number.begin(), end, file.sequence);
  if (bad != std::errc{} || dash == end || *dash != '-') return file;
  const auto [stopped, worse] = std::from_chars(dash + 1, end, file.index);
  if (worse != std::errc{} || stopped != end) return file;
  file.label = label_of(name.substr(0, dot), place.phases);
  return file;
}

void add_logs(std::vector<LogFile>& files, const Said::Place& place) {
  DIR* const directory = ::opendir(place.folder.c_str());
  if (directory == nullptr) return;
  // One thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* const entry = ::readdir(directory)) {
    auto file = parse_name(place, entry->d_name);
    if (!file) continue;
    file->place = place.label ? place.folder : file->path;
    if (place.label) file->label = *place.label;
    if (!place.within.empty()) {
      file->label.text = place.within + "/" + file->label.text;
      file->label.phase = place.within + "/" + file->label.phase;
    }
    files.push_back(*std::move(file));
  }
  ::closedir(directory);
}

// A phase that is entered once more counts its attempts anew: a lower number is of another visit,
// and so is who is called as the first of its attempt, and lies elsewhere. (Of what comes later a
// name may come twice: a strategy may try one agent in two ways.) What has no number of its own
// (what was sent to an agent) is of the visit of those that lie with it.
void tell_visits_apart(std::vector<LogFile>& files) {
  struct Visit {
    std::size_t number = 1;
    std::int64_t attempt = 0;
    const LogFile* first = nullptr;  // of the attempt
  };
  std::map<std::string, Visit> visits;  // by phase
  std::map<std::string, std::size_t> of_place;
  for (const LogFile& file : files) {
    const auto attempt = file.label.attempt;
    if (!attempt || file.sequence == 0) continue;
    Visit& visit = visits[file.label.phase];
    const bool again = visit.first != nullptr && *attempt == visit.attempt &&
                       visit.first->label == file.label && visit.first->place != file.place;
    if (*attempt < visit.attempt || again) visit = {visit.number + 1, 0, nullptr};
    if (*attempt != visit.attempt) visit.first = &file;
    visit.attempt = *attempt;
    of_place[file.place] = visit.number;
  }
  for (LogFile& file : files) {
    const auto found = of_place.find(file.place);
    if (found == of_place.end() || found->second == 1) continue;
    file.label.text += fmt::format(", visit {}", found->second);
  }
}

std::vector<LogFile> find_logs(const std::vector<Said::Place>& places) {
  std::vector<LogFile> files;
  for (const Said::Place& place : places) add_logs(files, place);
  std::ranges::sort(files, [](const LogFile& a, const LogFile& b) {
    return std::tie(a.sequence, a.index, a.label.text) <
           std::tie(b.sequence, b.index, b.label.text);
  });
  tell_visits_apart(files);
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

std::string end_of_file(const std::string& path, std::size_t most) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::uint64_t offset = size - std::min<std::uint64_t>(size, most);
  std::string text;
  read_from(path, offset, [&](std::string_view bytes) { text += bytes; });
  return text;
}

// Where an agent's attempts speak. They are called after their number, or, of a run, after the
// phase and the agent: `work#1 fixer`, and started anew `work#1 fixer (2)`.
void add_attempts(std::vector<Said::Place>& places,
                  const std::string& logs,
                  const Json& agent,
                  bool is_over,
                  const std::string& within = {}) {
  const std::string phase = agent["phase"].text();
  const std::string& name = agent["agent"].text();
  std::int64_t number = 0;
  for (const Json& attempt : agent["attempts"].items()) {
    ++number;
    Label label{fmt::format("agent#{}", number), "agent", number};
    if (!phase.empty()) {
      label = {fmt::format("{}#{} {}", phase, agent["attempt"].text(), name),
               phase,
               number_of_attempt(agent["attempt"].text())};
      if (number > 1) label.text += fmt::format(" ({})", number);
    }
    places.push_back({logs + attempt.text(), std::move(label), within, {}, is_over});
  }
}

}  // namespace

bool Wanted::fits(const Label& label) const {
  if (label.is_guard) return guards;
  if (phase && label.phase != *phase) return false;
  return !attempt || label.attempt == attempt;
}

Said::Said(Context& context, const std::string& home, const std::string& id, Wanted wanted)
    : context_(context),
      logs_(home + "/logs/"),
      id_(id),
      places_({{id, {{logs_ + id}}}}),
      wanted_(std::move(wanted)) {}

void Said::know(const Json& shown, const std::string& within) {
  const std::string& id = within.empty() ? id_ : shown["id"].text();
  const std::string& state = shown["state"].text();
  const bool is_over = state == "done" || state == "failed" || state == "cancelled";
  std::vector<Place> places;
  if (id.starts_with("work-")) add_attempts(places, logs_, shown, is_over);
  if (places.empty()) {
    std::vector<std::string> phases;
    for (const Json& phase : shown["phases"].items()) phases.push_back(phase["name"].text());
    places.push_back({logs_ + id, {}, within, std::move(phases), is_over});
  }
  for (const Json& agent : shown["agents"].items()) {
    add_attempts(places, logs_, agent, is_over, within);
  }
  places_[id] = std::move(places);
}

std::vector<Said::Place> Said::all_places() const {
  std::vector<Place> all;
  for (const auto& [id, places] : places_) all.insert(all.end(), places.begin(), places.end());
  return all;
}

// Whether there is something behind what was told; of a file that is another one, all of it.
bool Said::has_more(const std::string& path, Told& told) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return false;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (status.st_ino != told.file || size < told.bytes) told = {0, status.st_ino};
  return size > told.bytes;
}

bool Said::read() {
  return read_from_places(all_places(), std::numeric_limits<std::uint64_t>::max());
}

bool Said::read(std::uint64_t before, const std::string& run) {
  const auto found = places_.find(run);
  return found != places_.end() && read_from_places(found->second, before);
}

bool Said::read_from_places(const std::vector<Place>& places, std::uint64_t before) {
  bool any = false;
  for (const LogFile& file : find_logs(places)) {
    if (file.sequence >= before || !wanted_.fits(file.label)) continue;
    Told& told = told_[file.path];
    if (has_more(file.path, told)) {
      read_from(file.path, told.bytes, [&](std::string_view bytes) {
        any = true;
        tell(file.path, file.label.text, bytes);
      });
    }
    if (file.is_over) tell_tails(file.path, file.label.text);
  }
  return any;
}

// Where there was no room to put the end of a long log behind its beginning it lies beside it
// (adapters/bounded_log.h). Its keeper says how much is missing between, if there was room for
// that.
void Said::tell_tails(const std::string& path, const std::string& label) {
  constexpr std::string_view remark = " bytes left out ...\n";
  bool is_told = false;
  for (const char* const ending : {".tail.1", ".tail"}) {
    Told& told = told_[path + ending];
    if (!has_more(path + ending, told)) continue;
    if (!is_told && !end_of_file(path, remark.size()).ends_with(remark)) {
      tell(path, label, "\n[reeve] ... perhaps something left out: there was no room ...\n");
    }
    is_told = true;
    read_from(path + ending, told.bytes, [&](std::string_view bytes) { tell(path, label, bytes); });
  }
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

std::vector<Label> Said::labels() const {
  std::vector<Label> labels;
  for (const LogFile& file : find_logs(all_places())) {
    if (std::ranges::find(labels, file.label) == labels.end()) labels.push_back(file.label);
  }
  return labels;
}

std::vector<std::pair<std::string, std::string>> runs_within(const Json& shown,
                                                             const std::string& within) {
  std::vector<std::pair<std::string, std::string>> runs;
  std::map<std::string, std::size_t> count;
  for (const Json& child : shown["children"].items()) {
    const std::string name = printable(child["name"].text());
    const std::size_t number = ++count[name];
    std::string label = within.empty() ? name : fmt::format("{}/{}", within, name);
    if (number > 1) label += fmt::format(" ({})", number);
    runs.emplace_back(child["id"].text(), std::move(label));
  }
  return runs;
}

std::string end_of_logs(const std::string& folder, std::size_t most) {
  const std::vector<LogFile> files = find_logs({{folder}});
  if (files.empty()) return {};
  // Of one that runs over, or found no room, the end lies beside it.
  const std::string tail = files.back().path + ".tail";
  const std::string& path = ::access(tail.c_str(), F_OK) == 0 ? tail : files.back().path;
  std::string text = end_of_file(path, most + 1);
  const bool whole = text.size() <= most;
  if (const std::size_t newline = text.find('\n'); !whole && newline != std::string::npos) {
    text.erase(0, newline + 1);
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

bool add_last_words(Context& context, Json& cron) {
  const auto home = context.home();
  if (!home || !cron.has("log")) return false;
  constexpr std::size_t most = 2000;
  const std::string said =
      end_of_logs(fmt::format("{}/logs/{}", home->path, cron["log"].text()), most);
  if (!said.empty()) cron.set("output", said);
  return !said.empty();
}

void tell_last_words(Output& output, const Json& thing) {
  output.line("said last");
  const std::string said = thing["output"].text();
  for (const std::string_view line : split_lines(said)) output.line("  | " + printable(line));
}

}  // namespace reeve::cli
