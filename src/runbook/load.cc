#include "runbook/load.h"

#include "core/names.h"
#include "runbook/section.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace reeve::runbook {
namespace {

constexpr std::size_t largest_file = std::size_t{4} << 20;

struct Kind {
  std::string_view key;
  void (*read)(Section&, const std::string&);
  std::string_view meaning = key;  // an alias means another kind
};

constexpr std::array<Kind, 14> kinds = {{{"command", read_command},
                                         {"queue", read_queue},
                                         {"worker", read_worker},
                                         {"cron", read_cron},
                                         {"pipeline", read_pipeline},
                                         {"agent", read_agent},
                                         {"guard", read_guard},
                                         {"strategy", read_strategy},
                                         {"lock", read_lock},
                                         {"semaphore", read_semaphore},
                                         {"monitor", read_monitor},
                                         {"watcher", read_monitor, "monitor"},
                                         {"scanner", read_monitor, "monitor"},
                                         {"action", read_action}}};

std::vector<std::string> section_names() {
  std::vector<std::string> names{"events", "notify"};
  names.reserve(names.size() + kinds.size());
  for (const Kind& kind : kinds) names.emplace_back(kind.key);
  return names;
}

// False: it is there already, and that has been told.
bool define(Loading& loading, const Name& name, const Where& where) {
  const auto [place, is_new] = loading.runbook.defined.emplace(name, where);
  if (is_new) return true;
  const Where& first = place->second;
  const std::string what =
      name.name.empty() ? "[" + name.kind + "]" : fmt::format("{} `{}`", name.kind, name.name);
  loading.mistake(where,
                  fmt::format("{} is defined twice: first at {}:{}:{}",
                              what,
                              first.file,
                              first.place.line,
                              first.place.column));
  return false;
}

bool can_be_shared(const Kind& kind) {
  return kind.meaning == "lock" || kind.meaning == "semaphore" || kind.meaning == "queue";
}

void read_kind(Loading& loading, const Document& document, const Member& member, const Kind& kind) {
  if (member.value.kind != Value::Kind::Table) {
    loading.mistake(
        {document.file, member.place},
        fmt::format("expected [{}.NAME] here, not {}", kind.key, name_of(member.value.kind)));
    return;
  }
  for (const Member& each : member.value.members) {
    const Where where{document.file, each.place};
    if (each.value.kind != Value::Kind::Table) {
      loading.mistake(where,
                      fmt::format("expected a table [{0}.NAME], not a value: is `{1}` a key "
                                  "of a [{0}.NAME] that is missing above it?",
                                  kind.key,
                                  each.key));
      continue;
    }
    const bool is_shared = each.key.starts_with("//");
    if (is_shared && !can_be_shared(kind)) {
      loading.mistake(where,
                      fmt::format("`{}`: a {} belongs to its project; only locks, semaphores and "
                                  "queues can be shared by all projects",
                                  each.key,
                                  kind.meaning));
      continue;
    }
    if (!is_good_name(std::string_view(each.key).substr(is_shared ? 2 : 0))) {
      loading.mistake(where,
                      fmt::format("`{}` cannot be a name: 1 to 200 bytes, not blank, not beginning "
                                  "with `-`, without `..` or control characters",
                                  each.key));
      continue;
    }
    if (!define(loading, {std::string(kind.meaning), each.key}, where)) continue;
    Section section(loading, document, each.value, fmt::format("[{}.{}]", kind.key, each.key));
    kind.read(section, each.key);
    section.finish();
  }
}

void read_document(Loading& loading, const Document& document) {
  for (const Member& member : document.root.members) {
    const auto kind = std::ranges::find(kinds, member.key, &Kind::key);
    if (kind != kinds.end()) {
      read_kind(loading, document, member, *kind);
      continue;
    }
    const Where where{document.file, member.place};
    if (member.key != "events" && member.key != "notify") {
      loading.mistake(
          where,
          fmt::format("unknown section `{}`{}", member.key, hint(member.key, section_names())));
      continue;
    }
    if (member.value.kind != Value::Kind::Table) {
      loading.mistake(where, fmt::format("expected a table [{}]", member.key));
      continue;
    }
    Section section(loading, document, member.value, fmt::format("[{}]", member.key));
    if (member.key == "events") {
      read_events(section);
    } else if (define(loading, {"notify", ""}, where)) {
      read_notify(section);
    } else {
      continue;
    }
    section.finish();
  }
}

// ── The hash ──

class Hash {
 public:
  Hash() : state_(XXH3_createState()) { XXH3_128bits_reset(state_); }
  Hash(const Hash&) = delete;
  Hash& operator=(const Hash&) = delete;
  ~Hash() { XXH3_freeState(state_); }

  void add(std::string_view bytes) {
    add(static_cast<std::int64_t>(bytes.size()));
    XXH3_128bits_update(state_, bytes.data(), bytes.size());
  }
  void add(std::int64_t number) {
    std::array<unsigned char, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes.at(i) = static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> (8 * i));
    }
    XXH3_128bits_update(state_, bytes.data(), bytes.size());
  }
  std::string text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  XXH3_state_t* state_;
};

// Counts up when the same files come to mean something else.
constexpr std::int64_t meaning_version = 3;

std::string hash_of(const std::vector<File>& files, const definition::Set& set) {
  Hash hash;
  hash.add(meaning_version);
  for (const File& file : files) {
    hash.add(file.name);
    hash.add(file.text);
  }
  for (const auto& [name, cron] : set.crons) {
    const time_zone::Zone& zone = cron.zone;
    hash.add(zone.name);
    hash.add(zone.before.count());
    for (const time_zone::Transition& each : zone.transitions) {
      hash.add(each.at.time_since_epoch().count());
      hash.add(each.offset.count());
    }
    hash.add(zone.rule.standard.count());
    if (!zone.rule.daylight) continue;
    const time_zone::Daylight& daylight = *zone.rule.daylight;
    hash.add(daylight.offset.count());
    for (const time_zone::Change& change : {daylight.start, daylight.end}) {
      hash.add(change.month * 100 + change.week * 10 + change.weekday);
      hash.add(change.time.count());
    }
  }
  // What a file leaves open is not in its bytes.
  for (const auto& [name, source] : set.sources) hash.add(source.poll.count());
  return hash.text();
}

}  // namespace

std::expected<Runbook, Mistakes> load(std::span<const File> given,
                                      const std::string& root,
                                      const Outside& outside) {
  std::vector<File> files(given.begin(), given.end());
  std::ranges::stable_sort(files, {}, &File::name);
  Loading loading;
  loading.outside = &outside;
  std::vector<Document> documents;
  for (const File& file : files) {
    auto document = parse_document(file.name, file.text);
    if (document) {
      documents.push_back(*std::move(document));
    } else {
      loading.mistakes.push_back(document.error());
      loading.unread.push_back(file);
    }
  }
  for (const Document& document : documents) read_document(loading, document);
  check_references(loading);
  check_reachable(loading);
  check_dead_letters(loading);
  check_circles(loading);
  check_names(loading);
  check_inputs(loading);
  check_environment(loading);
  check_prompt_files(loading, root);
  if (!loading.mistakes.empty()) {
    std::ranges::sort(loading.mistakes);
    const auto again = std::ranges::unique(loading.mistakes);
    loading.mistakes.erase(again.begin(), again.end());
    return std::unexpected(std::move(loading.mistakes));
  }
  loading.runbook.set.root = root;
  loading.runbook.set.hash = hash_of(files, loading.runbook.set);
  return std::move(loading.runbook);
}

definition::Set set_for(const Runbook& runbook, ProjectNo project) {
  definition::Set set = runbook.set;
  for (const auto& [name, config] : runbook.set.queues) {
    if (!config.dead_letter) continue;
    queue::Config here = config;
    const std::string& dead = config.dead_letter->name;
    here.dead_letter = dead.starts_with("//") ? QueueName{shared_project, dead.substr(2)}
                                              : QueueName{project, dead};
    set.queues.set(name, here);
  }
  return set;
}

// bash: -c: line 3: syntax error near unexpected token `fi'
std::optional<ShellComplaint> complaint_of(int exit_code, std::string_view stderr_text) {
  const std::size_t mark = stderr_text.find("line ");
  const bool warned = stderr_text.find("here-document at line") != std::string_view::npos;
  if (exit_code == 0 && !warned) return std::nullopt;
  ShellComplaint complaint{1, std::string(stderr_text.substr(0, stderr_text.find('\n')))};
  if (mark == std::string_view::npos) return complaint;
  std::string_view rest = stderr_text.substr(mark + 5);
  const auto [end, error] = std::from_chars(rest.begin(), rest.end(), complaint.line);
  if (error != std::errc{} || !std::string_view(end, rest.end()).starts_with(": "))
    return complaint;
  rest = std::string_view(end, rest.end()).substr(2);
  complaint.message = rest.substr(0, rest.find('\n'));
  return complaint;
}

namespace {

std::string cannot_be_read(int error) {
  return "cannot be read: " + std::generic_category().message(error);
}

// To the end, or to one byte more than it may have.
std::expected<std::string, std::string> text_behind(int file) {
  struct stat about{};
  if (::fstat(file, &about) != 0) return std::unexpected(cannot_be_read(errno));
  if (!S_ISREG(about.st_mode)) return std::unexpected("cannot be read: it is no regular file");
  std::string text;
  std::array<char, 16384> buffer{};
  while (text.size() <= largest_file) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected(cannot_be_read(errno));
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return std::unexpected("is larger than 4 MiB, which is no runbook");
}

// Or why not. Nobody waits for the other end of a pipe.
std::expected<std::string, std::string> text_of(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return std::unexpected(cannot_be_read(errno));
  auto text = text_behind(file);
  ::close(file);
  return text;
}

}  // namespace

std::vector<std::string> discover(const std::string& root) {
  std::vector<std::string> paths;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(root) / ".reeve" / "runbooks";
  for (auto at = std::filesystem::directory_iterator(folder, error);
       !error && at != std::filesystem::directory_iterator();
       at.increment(error)) {
    const bool hidden = at->path().filename().string().starts_with('.');
    if (at->path().extension() == ".toml" && !hidden) paths.push_back(at->path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

std::expected<std::vector<File>, Mistakes> read_files(std::span<const std::string> paths) {
  std::vector<File> files;
  Mistakes mistakes;
  for (const std::string& path : paths) {
    auto text = text_of(path);
    if (text) {
      files.push_back({path, *std::move(text)});
    } else {
      mistakes.push_back({path, {}, std::move(text.error())});
    }
  }
  if (!mistakes.empty()) return std::unexpected(std::move(mistakes));
  return files;
}

}  // namespace reeve::runbook
