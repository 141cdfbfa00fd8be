#include "tools/journal_command.h"

#include "journal/real_files.h"
#include "tools/home_lock.h"
#include "tools/journal_backup.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace reeve::tools {

namespace {

using journal::RealFiles;
namespace fs = std::filesystem;

struct Command {
  const JournalAsk& ask;
  const JournalKnowledge& knowledge;
  const Sink& out;
  const Sink& notes;

  void say(const std::string& text, const std::string& json) const {
    out(ask.shape == Shape::Json ? json : text);
  }
};

// Looking needs no probe, and no leave to write.
Result<std::unique_ptr<RealFiles>> open(const std::string& path) {
  return RealFiles::open_directory(path, journal::SyncMethod::DataSync);
}

void tell_user(const Command& command) {
  const std::optional<std::string> user = user_of(command.ask.directory);
  if (!user) return;
  if (command.ask.shape == Shape::Json && command.ask.verb != JournalVerb::Cat) {
    command.out(fmt::format(R"({{"in_use_by":{}}})", *user == "unknown" ? "null" : *user));
  } else {
    command.notes(fmt::format("in use by process {}", *user));
  }
}

Result<bool> look(const Command& command) {
  const auto files = open(command.ask.directory);
  if (!files) return fail(files.error());
  tell_user(command);
  const JournalAsk& ask = command.ask;
  if (ask.verb == JournalVerb::Verify) {
    const Result<Verdict> verdict = journal_verify(**files, ask.shape, command.out);
    if (!verdict) return fail(verdict.error());
    return !verdict->damaged;
  }
  const ShowPayload& show = ask.bytes ? ShowPayload{} : command.knowledge.show;
  const Result<void> done =
      ask.verb == JournalVerb::Info
          ? journal_info(**files, ask.shape, command.out)
          : journal_cat(**files, ask.from, ask.shape, show, command.out, command.notes);
  if (!done) return fail(done.error());
  return true;
}

Result<bool> salvage(const Command& command) {
  const JournalAsk& ask = command.ask;
  const auto files = open(ask.directory);
  if (!files) return fail(files.error());
  const Result<HomeLock> ours = HomeLock::hold(ask.other, "journal salvage");
  if (!ours) return fail(ours.error());
  tell_user(command);
  if (Result<void> made = journal::make_directory(ask.other); !made) return fail(made.error());
  const auto target = open(ask.other);
  if (!target) return fail(target.error());
  const Result<void> done = journal_salvage(**files, **target, ask.shape, command.out);
  if (!done) return fail(done.error());
  if (ask.shape == Shape::Text) {
    command.notes("to go on with it, while no daemon runs:");
    command.notes(fmt::format("  mv {} {}.damaged", ask.directory, ask.directory));
    command.notes(fmt::format("  mv {} {}", ask.other, ask.directory));
  }
  return true;
}

Result<bool> accept(const Command& command) {
  const JournalAsk& ask = command.ask;
  const auto files = open(ask.directory);
  if (!files) return fail(files.error());
  const Result<HomeLock> ours = HomeLock::hold(ask.directory, "journal accept");
  if (!ours) return fail(ours.error());
  const std::unique_ptr<Judge> judge = command.knowledge.judge();
  const Result<void> done = journal_accept(**files, ask.from, *judge, ask.shape, command.out);
  if (!done) return fail(done.error());
  return true;
}

// A file is its folder and its name.
struct Named {
  std::unique_ptr<RealFiles> folder;
  std::string name;
};

Result<Named> named(const std::string& file) {
  const fs::path path = file;
  const std::string name = path.filename();
  if (name.empty() || name == "." || name == "..") {
    return fail(Error::Code::BadRequest, fmt::format("{} is no name for a file", file));
  }
  Result<std::unique_ptr<RealFiles>> folder =
      open(path.has_parent_path() ? path.parent_path().string() : ".");
  if (!folder) return fail(folder.error());
  return Named{.folder = *std::move(folder), .name = name};
}

void tell_backup(const Command& command, std::string_view done, const BackupInfo& info) {
  command.say(
      fmt::format("{}: everything up to record {}, {} bytes", done, info.sequence, info.bytes),
      fmt::format(R"({{"sequence":{},"bytes":{}}})", info.sequence, info.bytes));
}

// What is there is replaced by a newer backup, but nothing else is.
Result<void> may_replace(Named& place, const std::string& file) {
  std::error_code ignored;
  const fs::file_status there = fs::symlink_status(file, ignored);
  if (!fs::exists(there)) return {};
  if (fs::is_regular_file(there)) {
    const auto opened = place.folder->open(place.name, journal::Access::Read);
    if (!opened) return fail(opened.error());
    std::string begin(backup_magic.size(), '\0');
    const Result<std::size_t> size = (*opened)->read(0, begin);
    if (size && *size == begin.size() && begin == backup_magic) return {};
  }
  return fail(Error::Code::Conflict,
              fmt::format("{} is there and is no backup; choose another name", file));
}

Result<bool> backup(const Command& command) {
  const JournalAsk& ask = command.ask;
  const auto files = open(ask.directory);
  if (!files) return fail(files.error());
  Result<Named> place = named(ask.other);
  if (!place) return fail(place.error());
  if (Result<void> may = may_replace(*place, ask.other); !may) return fail(may.error());
  const Result<BackupInfo> info = journal_backup(**files, ask.from, *place->folder, place->name);
  if (!info) return fail(info.error());
  tell_backup(command, "backed up to " + ask.other, *info);
  return true;
}

// A home is new, or has been one.
Result<void> check_home(const fs::path& home) {
  std::error_code ignored;
  const bool is_ours = fs::exists(home / "daemon.lock", ignored) || fs::is_empty(home, ignored) ||
                       !fs::exists(home, ignored);
  if (is_ours) return {};
  return fail(Error::Code::Conflict,
              fmt::format("{} is not empty and no home of Reeve; choose another with --home DIR",
                          home.string()));
}

Result<bool> restore(const Command& command) {
  const JournalAsk& ask = command.ask;
  const Result<Named> from = named(ask.other);
  if (!from) return fail(from.error());
  const std::string home = fs::path(ask.directory).parent_path();
  if (Result<void> fit = check_home(home); !fit) return fail(fit.error());
  if (Result<void> made = journal::make_directory(home); !made) return fail(made.error());
  const Result<HomeLock> ours = HomeLock::hold(ask.directory, "restore");
  if (!ours) return fail(ours.error());
  if (Result<void> made = journal::make_directory(ask.directory); !made) return fail(made.error());
  const auto target = open(ask.directory);
  if (!target) return fail(target.error());
  const std::unique_ptr<Judge> judge = command.knowledge.judge();
  const Result<BackupInfo> info = journal_restore(*from->folder, from->name, *judge, **target);
  if (!info) return fail(info.error());
  tell_backup(command, "restored into " + home, *info);
  return true;
}

}  // namespace

Result<bool> journal_command(const JournalAsk& ask,
                             const JournalKnowledge& knowledge,
                             const Sink& out,
                             const Sink& notes) {
  const Command command{ask, knowledge, out, notes};
  switch (ask.verb) {
    case JournalVerb::Info:
    case JournalVerb::Verify:
    case JournalVerb::Cat:
      return look(command);
    case JournalVerb::Salvage:
      return salvage(command);
    case JournalVerb::Accept:
      return accept(command);
    case JournalVerb::Backup:
      return backup(command);
    case JournalVerb::Restore:
      return restore(command);
  }
  std::unreachable();
}

}  // namespace reeve::tools
