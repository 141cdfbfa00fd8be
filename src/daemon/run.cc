#include "daemon/run.h"

#include "adapters/history/history.h"
#include "adapters/process.h"
#include "api/rpc.h"
#include "codec/json_text.h"
#include "daemon/beanstalk.h"
#include "daemon/home.h"
#include "daemon/listening.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/settings.h"
#include "engine/recovery.h"
#include "journal/file_journal.h"
#include "journal/real_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace reeve::daemon {
namespace {

// As of every command (docs/cli.md).
int exit_of(Error::Code code) {
  switch (code) {
    case Error::Code::BadRequest:
      return 2;
    case Error::Code::NotFound:
      return 3;
    case Error::Code::Conflict:
    case Error::Code::Corrupt:
    case Error::Code::Io:
    case Error::Code::Timeout:
    case Error::Code::Full:
      return 1;
  }
  return 1;
}

std::string_view code_of(Error::Code code) {
  const int exit = exit_of(code);
  return exit == 2 ? "USAGE" : exit == 3 ? "NOT_FOUND" : "FAILED";
}

constexpr std::string_view no_room =
    R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"there are too many connections already; try again later","data":{"code":"TOO_MUCH","details":{}}}})"
    "\n";

struct Words {
  std::optional<std::string> home;
  bool foreground_log = false;
  bool json = false;  // what went wrong, for a program
  int ready_fd = -1;
  BeanstalkWords beanstalk;
};

Result<Words> read_words(std::span<const std::string_view> arguments) {
  Words words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    std::optional<std::string_view> value;
    if (const std::size_t equals = word.find('='); word.starts_with("--") && equals < word.size()) {
      value = word.substr(equals + 1);
      word = word.substr(0, equals);
    }
    if (word == "--foreground-log" && !value) {
      words.foreground_log = true;
      continue;
    }
    if (word == "--json" && !value) {
      words.json = true;
      continue;
    }
    if (word == "--beanstalk-public" && !value) {
      words.beanstalk.is_public = true;
      continue;
    }
    const bool known = word == "--home" || word == "--ready-fd" || is_beanstalk_word(word);
    if (!known) {
      return fail(Error::Code::BadRequest,
                  fmt::format("daemon run: unknown word {}; try `reeve daemon run --help`", word));
    }
    if (!value && ++i < arguments.size()) value = arguments[i];
    if (!value) return fail(Error::Code::BadRequest, fmt::format("{} needs a value", word));
    if (word == "--home") {
      words.home = *value;
    } else if (word == "--ready-fd") {
      const char* const last = value->data() + value->size();
      const auto [end, error] = std::from_chars(value->data(), last, words.ready_fd);
      if (error != std::errc{} || end != last || words.ready_fd < 0) {
        return fail(Error::Code::BadRequest, "--ready-fd needs the number of a descriptor");
      }
      // Nobody would be told, and who started us waits for that.
      if (fcntl(words.ready_fd, F_GETFD) < 0) {
        return fail(Error::Code::BadRequest,
                    fmt::format("--ready-fd {}: no such descriptor is open", words.ready_fd));
      }
    } else if (auto read = read_beanstalk_word(words.beanstalk, word, *value); !read) {
      return fail(read.error());
    }
  }
  return words;
}

// One line to whoever started us, once.
void tell_starter(int& descriptor, std::string_view text) {
  if (descriptor < 0) return;
  const std::string line = std::string(text) + "\n";
  [[maybe_unused]] const ssize_t written = write(descriptor, line.data(), line.size());
  close(descriptor);
  descriptor = -1;
}

// A person at a terminal sees that it serves; its log has the rest.
void tell_terminal(const Words& words, std::string_view version, const api::About& about) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::string text = fmt::format("reeve {} ready, listening on {}", version, about.socket);
  for (const Address& address : words.beanstalk.addresses) {
    text += fmt::format(" and, for beanstalkd's clients, {}", to_text(address));
  }
  text += "; Ctrl-C stops it, `reeve daemon logs -f` shows its log\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// systemd's readiness protocol: a datagram to the socket it names.
void tell_systemd(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");  // NOLINT(concurrency-mt-unsafe)
  if (!path || (*path != '/' && *path != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string_view name = path;
  if (name.size() >= sizeof address.sun_path) return;
  name.copy(address.sun_path, name.size());
  if (*path == '@') address.sun_path[0] = '\0';
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  sendto(socket.get(),
         state.data(),
         state.size(),
         MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&address),
         size);
}

// What the daemon makes for itself, and what runs have instead. A command that starts a daemon
// has made its files its user's alone already, and says what was before ($REEVE_UMASK).
adapters::Inherited set_limits() {
  adapters::Inherited before;
  before.mask = umask(077);
  if (const char* said = std::getenv("REEVE_UMASK")) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view text = said;
    std::uint32_t mask = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mask, 8);
    if (error == std::errc{} && mask <= 0777) before.mask = mask;
    unsetenv("REEVE_UMASK");  // NOLINT(concurrency-mt-unsafe): one thread
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return before;
  before.descriptors = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

// Before there is any thread: those that come inherit it.
void set_signals() {
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGTERM);
  sigaddset(&ours, SIGINT);
  sigaddset(&ours, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &ours, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
}

std::string user_name() {
  for (const char* variable : {"USER", "LOGNAME"}) {
    const char* name = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    if (name && *name != '\0') return name;
  }
  // By hand: a static program cannot ask the name service.
  const std::string uid = fmt::format("{}", geteuid());
  std::ifstream passwords("/etc/passwd");
  for (std::string line; std::getline(passwords, line);) {
    const std::size_t name = line.find(':');
    const std::size_t password = line.find(':', name + 1);
    const std::size_t number = line.find(':', password + 1);
    if (number == std::string::npos) continue;
    if (line.substr(password + 1, number - password - 1) == uid) return line.substr(0, name);
  }
  return "uid " + uid;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

struct Opened {
  std::unique_ptr<journal::RealFiles> files;
  std::unique_ptr<journal::Recovery> recovery;
  engine::Remembered remembered;
};

Error with_advice(Error error) {
  if (error.code == Error::Code::Corrupt) {
    error.message +=
        ". Nothing was changed; `reeve journal verify` tells more, `reeve journal salvage --to "
        "NEW` rescues what comes before";
  }
  return error;
}

// Nothing is changed yet: a start that fails leaves the mark of a clean stop. History gets what it
// may have missed: recovery begins from where it is, if the journal reaches so far back.
Result<Opened> open_journal(const std::string& home,
                            const Settings& settings,
                            history::History& history,
                            Log& log) {
  const std::string path = home + "/journal";
  if (auto made = journal::make_directory(path); !made) return fail(made.error());
  Result<std::unique_ptr<journal::RealFiles>> files = journal::RealFiles::open_directory(path);
  if (!files) return fail(files.error());
  journal::Options options;
  options.fresh_id = journal::random_journal_id();
  options.keep = settings.journal_keep;
  options.base_limit = history.passed();
  auto recovery = journal::open_file_journal(**files, options);
  if (!recovery) return fail(with_advice(recovery.error()));
  Result<engine::Remembered> remembered =
      engine::remember(**recovery, [&](const Event& event, Time now, const State& state) {
        history.project(event, now, state);
        history.reached(event.sequence - 1);
        history.wait_for_room();
      });
  if (!remembered) return fail(with_advice(remembered.error()));
  if (!history.is_off() && history.passed() > remembered->state.sequence) {
    history.turn_off(
        fmt::format("history.db has come to {}, the journal only to {}: they do not "
                    "belong together",
                    history.passed(),
                    remembered->state.sequence));
  }
  const journal::Findings& findings = (*recovery)->findings();
  for (const std::string& note : findings.notes) log.line(note);
  if (findings.torn_tail) {
    log.say("the last records were never whole ({}, byte {}: {}); nobody was told they were done",
            findings.torn_tail->file,
            findings.torn_tail->offset,
            findings.torn_tail->why);
  }
  if (!findings.fresh && !findings.clean_stop) log.say("the last stop was not a clean one");
  return Opened{*std::move(files), *std::move(recovery), *std::move(remembered)};
}

Result<void> serve(const Words& words, std::string_view version, Log& log, int& ready_fd) {
  const auto began = std::chrono::steady_clock::now();
  const Result<std::string> home = find_home(words.home);
  if (!home) return fail(home.error());
  Result<Descriptor> folder = open_home(*home);
  if (!folder) return fail(folder.error());
  Result<Instance> instance = Instance::claim(*folder, *home);
  if (!instance) return fail(instance.error());
  api::About about;
  about.version = version;
  about.pid = getpid();
  about.home = *home;
  about.socket = find_socket(*home);
  about.host = host_name();
  about.user = user_name();
  about.boot_id = adapters::boot_id();
  instance->write(version, about.socket);
  log.open(*home, words.foreground_log);
  prctl(PR_SET_NAME, "reeve");  // it may have been started as /proc/self/exe
  set_signals();
  const adapters::Inherited for_runs = set_limits();
  const Result<Settings> settings = read_user_settings();
  if (!settings) return fail(settings.error());

  history::History history(*home + "/history.db", settings->history);
  history.begin();
  Result<Opened> opened = open_journal(*home, *settings, history, log);
  if (!opened) return fail(opened.error());
  const std::uint64_t replayed = opened->remembered.replayed;
  Result<BeanstalkDoor> beanstalk =
      BeanstalkDoor::open(words.beanstalk, opened->remembered.state, about);
  if (!beanstalk) return fail(beanstalk.error());
  const Listen main{UnixAddress{about.socket},
                    [](SessionId session, api::Desk& desk) -> std::unique_ptr<api::Connection> {
                      return std::make_unique<api::Rpc>(session, desk);
                    },
                    std::string(no_room)};
  Result<Descriptor> listener = open_listener(main.address, "$REEVE_SOCKET");
  if (!listener) return fail(listener.error());
  std::vector<Descriptor> doors;
  for (const Address& address : words.beanstalk.addresses) {
    Result<Descriptor> door = open_listener(address, "--beanstalk unix:PATH");
    if (!door) return fail(door.error());
    doors.push_back(*std::move(door));
  }
  // From here on the journal is in use.
  Result<std::unique_ptr<journal::Journal>> journal = opened->recovery->begin();
  if (!journal) return fail(journal.error());
  Loop loop(
      about, log, *std::move(journal), std::move(opened->remembered), history, for_runs, *settings);
  loop.on_reload(read_user_settings);
  loop.listen(*std::move(listener), main);
  for (std::size_t i = 0; i < doors.size(); ++i) {
    const Address& address = words.beanstalk.addresses[i];
    loop.listen(std::move(doors[i]), beanstalk->listen(address));
    log.say("beanstalkd's clients are served on {}, with the queues of {}",
            to_text(address),
            words.beanstalk.project.value_or("default"));
  }
  loop.on_drain([&] { beanstalk->drain(); });

  const Result<void> ended = loop.run([&] {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - began);
    log.say("reeve {} ready after {} ms: pid {}, {} records read again, listening on {}",
            version,
            took.count(),
            about.pid,
            replayed,
            about.socket);
    if (!words.foreground_log && !words.json && ready_fd < 0) tell_terminal(words, version, about);
    tell_starter(ready_fd, "ready");
    tell_systemd("READY=1");
  });
  tell_systemd("STOPPING=1");
  if (ended) log.say("stopped");
  return ended;
}

}  // namespace

int complain(const Error& error, bool json, std::string_view command) {
  std::string line;
  if (json) {
    line = fmt::format(R"({{"success":false,"command":"{}","error":{{"code":"{}","message":)",
                       command,
                       code_of(error.code));
    codec::append_json_string(line, error.message);
    line += R"(,"details":{}}})"
            "\n";
  } else {
    line = fmt::format("reeve: {}\n", error.message);
  }
  std::fwrite(line.data(), 1, line.size(), json ? stdout : stderr);
  return exit_of(error.code);
}

int run(std::span<const std::string_view> arguments,
        std::string_view version,
        std::string_view command) {
  const Result<Words> words = read_words(arguments);
  if (!words) {
    const bool json = std::ranges::find(arguments, "--json") != arguments.end();
    return complain(words.error(), json, command);
  }
  Log log;
  int ready_fd = words->ready_fd;
  if (const Result<void> served = serve(*words, version, log, ready_fd); !served) {
    log.line(served.error().message);
    tell_starter(ready_fd, served.error().message);
    return complain(served.error(), words->json, command);
  }
  return 0;
}

}  // namespace reeve::daemon
