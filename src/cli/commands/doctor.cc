#include "cli/cli.h"
#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/text.h"
#include "codec/shell_word.h"
#include "config/files.h"
#include "tools/journal_command.h"

#include <fmt/format.h>

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace reeve::cli {

namespace {

enum class Verdict : std::uint8_t { Good, Warn, Bad };

struct Finding {
  std::string subject;
  Verdict verdict = Verdict::Good;
  std::string says;
  std::string fix;
};

constexpr std::uint64_t little_space = std::uint64_t{1} << 30U;
constexpr std::uint64_t too_little_space = std::uint64_t{128} << 20U;
constexpr long tmpfs_magic = 0x01021994;
constexpr long nfs_magic = 0x6969;

Finding about_home(const Home& home) {
  struct stat status{};
  if (::lstat(home.path.c_str(), &status) != 0) {
    return {"home", Verdict::Good, fmt::format("{} will be made when needed", home.path), ""};
  }
  if (!S_ISDIR(status.st_mode)) {
    return {"home",
            Verdict::Bad,
            fmt::format("{} is no folder", home.path),
            "move it away, or say --home DIR"};
  }
  if (status.st_uid != ::geteuid()) {
    return {"home",
            Verdict::Bad,
            fmt::format("{} belongs to user {}", home.path, status.st_uid),
            "use one of your own with --home DIR or $REEVE_HOME"};
  }
  if ((status.st_mode & 077U) != 0) {
    return {"home",
            Verdict::Bad,
            fmt::format("{} is open to others (mode {:o})", home.path, status.st_mode & 0777U),
            fmt::format("chmod 700 {}", home.path)};
  }
  return {"home", Verdict::Good, home.path, ""};
}

// Of the nearest folder that exists.
Finding about_disk(const Home& home) {
  std::string path = home.path;
  while (path.size() > 1 && ::access(path.c_str(), F_OK) != 0) {
    path.resize(std::max<std::size_t>(1, path.rfind('/')));
  }
  struct statvfs space{};
  struct statfs kind{};
  if (::statvfs(path.c_str(), &space) != 0 || ::statfs(path.c_str(), &kind) != 0) {
    return {"disk", Verdict::Warn, fmt::format("cannot look at {}", path), ""};
  }
  const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
  const std::string says = fmt::format("{} free", byte_size(free));
  if (free < too_little_space)
    return {"disk", Verdict::Bad, says, "make room: new work is refused when it is full"};
  if (free < little_space) return {"disk", Verdict::Warn, says, "make room soon"};
  if (kind.f_type == tmpfs_magic) {
    return {
        "disk", Verdict::Warn, says + ", in memory", "the state is lost at a reboot; use a disk"};
  }
  if (kind.f_type == nfs_magic) {
    return {"disk",
            Verdict::Warn,
            says + ", on a network",
            "use a local disk: Reeve relies on its syncs"};
  }
  return {"disk", Verdict::Good, says, ""};
}

// What a look at the journal found: its first fault, and whether a daemon would start.
struct Look {
  std::string fault = {};
  bool starts = true;
  std::size_t files = 0;
};

Look look_at_journal(Context& context, const std::string& directory, tools::JournalVerb verb) {
  Look look;
  const auto hear = [&](std::string_view line) {
    const auto said = parse_json(line);
    if (!said) return;
    if (said->has("file")) ++look.files;
    if (said->has("starts") && !(*said)["starts"].truth()) look.starts = false;
    if (said->has("error") && look.fault.empty()) look.fault = (*said)["error"].text();
  };
  tools::JournalAsk ask{.verb = verb, .directory = directory};
  ask.shape = tools::Shape::Json;
  const Result<bool> done = context.parts->journal(ask, hear, [](std::string_view) {});
  // Without a file in it: a daemon begins one.
  if (done || done.error().code == Error::Code::NotFound) return look;
  return {.fault = done.error().message, .starts = false};
}

// Every byte of it, or, while somebody writes there, what has been finished.
Finding about_journal(Context& context, const Home& home, bool& starts) {
  const std::string directory = home.path + "/journal";
  if (::access(directory.c_str(), F_OK) != 0) return {"journal", Verdict::Good, "none yet", ""};
  const bool in_use = daemon_of(home.path).pid != 0;
  const auto verb = in_use ? tools::JournalVerb::Info : tools::JournalVerb::Verify;
  Look look = look_at_journal(context, directory, verb);
  // A file may have been removed while it was looked at, for nobody needs it.
  if (in_use && !look.fault.empty()) look = look_at_journal(context, directory, verb);
  starts = look.starts;
  if (look.fault.empty()) {
    return {"journal",
            Verdict::Good,
            fmt::format("{}{}",
                        counted(static_cast<std::int64_t>(look.files), "file"),
                        in_use ? ", in use" : ", whole"),
            ""};
  }
  return {"journal",
          Verdict::Bad,
          look.fault,
          look.starts ? "nothing is lost yet: `reeve backup FILE`, and look after the disk"
                      : "`reeve journal salvage --to NEW` rescues what can be trusted"};
}

// Why nobody could listen there; none: somebody could.
std::optional<Finding> about_socket(const Home& home) {
  struct stat status{};
  if (::lstat(home.socket.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
    return Finding{"socket",
                   Verdict::Bad,
                   fmt::format("{} is there and is no socket", home.socket),
                   fmt::format("move it away: mv {0} {0}.old", codec::shell_word(home.socket))};
  }
  const std::string folder =
      home.socket.substr(0, std::max<std::size_t>(1, home.socket.rfind('/')));
  if (folder == home.path) return std::nullopt;
  const std::string word = codec::shell_word(folder);
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return Finding{"socket",
                   Verdict::Bad,
                   fmt::format("{} of $REEVE_SOCKET is no folder", folder),
                   fmt::format("mkdir -m 700 {}, or unset REEVE_SOCKET", word)};
  }
  if (status.st_uid != ::geteuid()) {
    return Finding{"socket",
                   Verdict::Bad,
                   fmt::format("{} of $REEVE_SOCKET belongs to user {}", folder, status.st_uid),
                   "choose a folder of your own, or unset REEVE_SOCKET"};
  }
  if ((status.st_mode & 022U) != 0) {
    return Finding{
        "socket",
        Verdict::Bad,
        fmt::format(
            "others may write in {} of $REEVE_SOCKET (mode {:o})", folder, status.st_mode & 0777U),
        fmt::format("chmod 700 {}, or unset REEVE_SOCKET", word)};
  }
  return std::nullopt;
}

Finding about_daemon(Context& context, const Home& home, bool journal_starts) {
  Client client(Where{.home = home, .project_name = {}, .project_root = {}, .may_start = false});
  const auto connected = client.connect(false);
  if (!connected) {
    if (const DaemonMark mark = daemon_of(home.path); mark.pid != 0) {
      return {"daemon",
              Verdict::Bad,
              fmt::format("process {} does not answer", mark.pid),
              "see `reeve daemon logs`"};
    }
    if (const auto socket = about_socket(home)) return *socket;
    const bool fine = ::access(home.socket.c_str(), F_OK) != 0 ||
                      connected.error().message.starts_with("no daemon");
    if (fine && !journal_starts) {
      return {"daemon", Verdict::Bad, "not running; with this journal it does not start", ""};
    }
    return {"daemon",
            fine ? Verdict::Good : Verdict::Bad,
            fine ? "not running; the next command starts it" : connected.error().message,
            ""};
  }
  const Answer status = client.ask("daemon.status");
  if (!status) return {"daemon", Verdict::Bad, status.error().message, "see `reeve daemon logs`"};
  const std::string version = (*status)["version"].text();
  if (version != context.version()) {
    return {"daemon",
            Verdict::Warn,
            fmt::format("runs version {}, this is {}", version, context.version()),
            "reeve daemon restart"};
  }
  return {"daemon",
          Verdict::Good,
          fmt::format("version {}, process {}, up {}",
                      version,
                      (*status)["pid"].text(),
                      rough_duration((*status)["uptime_ms"].number())),
          ""};
}

// A file of settings, all of its mistakes in one line.
Finding about_settings(config::Origin origin, const std::string& path) {
  const auto layer = config::read_layer_file(origin, path);
  if (!layer) {
    return {"config",
            Verdict::Bad,
            config::in_one_line(layer.error()),
            origin == config::Origin::User
                ? "mend that line: with it no daemon starts; `reeve config describe` tells the keys"
                : "mend that line; `reeve config describe` tells the keys"};
  }
  const auto count = static_cast<std::int64_t>(layer->settings.size());
  return {"config",
          Verdict::Good,
          fmt::format("{}: {}", path, count == 0 ? "nothing is set" : counted(count, "key")),
          ""};
}

Finding about_history(const Home& home) {
  Client client(Where{.home = home, .project_name = {}, .project_root = {}, .may_start = false});
  const std::string file = home.path + "/history.db";
  if (!client.connect(false)) {
    const bool there = ::access(file.c_str(), F_OK) == 0;
    return {"history", Verdict::Good, there ? "there; a daemon looks at it" : "none yet", ""};
  }
  const Answer status = client.ask("daemon.status");
  if (!status) return {"history", Verdict::Warn, status.error().message, ""};
  const Json& history = (*status)["history"];
  const std::string problem = history["problem"].text();
  if (history["state"].text() == "off") {
    const bool wanted = !history["path"].text().empty();
    return {"history",
            wanted ? Verdict::Bad : Verdict::Good,
            "off: " + problem,
            wanted ? "`reeve history rebuild` makes it anew from the journal" : ""};
  }
  if (!problem.empty()) return {"history", Verdict::Warn, problem, "it waits, and tries again"};
  return {"history",
          Verdict::Good,
          fmt::format(
              "{}, up to {}", counted(history["events"].number(), "event"), history["seq"].text()),
          ""};
}

// In $PATH, and executable.
std::optional<std::string> program(std::string_view name) {
  const std::string path = environment("PATH").value_or("/usr/bin:/bin");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t colon = std::min(path.find(':', at), path.size());
    std::string file = fmt::format("{}/{}", path.substr(at, colon - at), name);
    if (::access(file.c_str(), X_OK) == 0) return file;
    at = colon + 1;
  }
  return std::nullopt;
}

Finding about_program(std::string_view name, std::string_view needed_for) {
  if (const auto file = program(name)) return {std::string(name), Verdict::Good, *file, ""};
  return {std::string(name),
          Verdict::Warn,
          fmt::format("not in $PATH; needed for {}", needed_for),
          fmt::format("install it (Debian: apt install {})", name)};
}

Finding about_machine() {
  utsname name{};
  ::uname(&name);
  return {"machine",
          Verdict::Good,
          fmt::format("{} {} on {}", name.sysname, name.release, name.machine),
          ""};
}

std::string_view word_for(Verdict verdict) {
  switch (verdict) {
    case Verdict::Good:
      return "ok";
    case Verdict::Warn:
      return "warning";
    case Verdict::Bad:
      return "bad";
  }
  return "";
}

Style style_for(Verdict verdict) {
  switch (verdict) {
    case Verdict::Good:
      return Style::Good;
    case Verdict::Warn:
      return Style::Warn;
    case Verdict::Bad:
      return Style::Bad;
  }
  return Style::Plain;
}

}  // namespace

int doctor_command(Context& context, const Parsed&) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  bool journal_starts = true;
  Finding journal = about_journal(context, *home, journal_starts);
  const auto& project = context.client_without_start().where().project_root;
  std::vector<Finding> findings{
      {"reeve", Verdict::Good, context.version(), ""},
      about_machine(),
      about_home(*home),
      about_disk(*home),
      std::move(journal),
      about_daemon(context, *home, journal_starts),
      about_history(*home),
      about_program("git", "worktrees and merges"),
      about_program("tmux", "agents"),
  };
  const std::string user_file = config::user_file();
  if (!user_file.empty()) {
    findings.push_back(about_settings(config::Origin::User, user_file));
  }
  if (project) {
    findings.push_back(
        about_settings(config::Origin::Project, config::project_file(project->path)));
  }
  bool bad = false;
  Json checks = Json::array();
  Output& output = context.output;
  for (const Finding& finding : findings) {
    bad = bad || finding.verdict == Verdict::Bad;
    if (context.json()) {
      checks.push(
          json_of({{"name", finding.subject},
                   {"state", word_for(finding.verdict)},
                   {"message", finding.says},
                   {"fix", finding.fix.empty() ? Json() : Json(context.here(finding.fix))}}));
      continue;
    }
    if (context.quiet() && finding.verdict == Verdict::Good) continue;
    output.line(fmt::format(
        "{}  {:<9}{}",
        output.styled(style_for(finding.verdict), fmt::format("{:<7}", word_for(finding.verdict))),
        finding.subject,
        printable(finding.says)));
    if (!finding.fix.empty())
      output.line(fmt::format("{:18}fix: {}", "", context.here(finding.fix)));
  }
  if (context.json()) {
    const int code = output.succeed(json_of({{"healthy", !bad}, {"checks", checks}}));
    return bad ? static_cast<int>(Exit::Failed) : code;
  }
  return output.done(bad ? Exit::Failed : Exit::Ok);
}

}  // namespace reeve::cli
