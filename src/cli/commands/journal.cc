#include "cli/cli.h"
#include "cli/commands/groups.h"
#include "cli/context.h"
#include "tools/journal_command.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace reeve::cli {

namespace {

using tools::JournalAsk;
using tools::JournalVerb;

constexpr std::size_t lines_a_flush = 256;

Failure failure_of(const Error& error) {
  switch (error.code) {
    case Error::Code::NotFound:
      return {"NOT_FOUND", error.message};
    case Error::Code::BadRequest:
      return {"USAGE", error.message};
    case Error::Code::Corrupt:
      return {"DAMAGED", error.message};
    case Error::Code::Full:
      return {"DISK_FULL", error.message};
    default:
      return {"FAILED", error.message};
  }
}

// The lines of a command, each an object, as one: those of files, notes and differences in a row.
class Gathered {
 public:
  void add(std::string_view line) {
    const std::optional<Json> said = parse_json(line);
    if (!said) return;
    if (said->has("file")) {
      files_.push_back(*said);
    } else if (said->has("note")) {
      notes_.push_back((*said)["note"]);
    } else if (said->has("difference")) {
      differences_.push_back((*said)["difference"]);
    } else {
      for (const Json::Member& member : said->members()) data_.set(member.first, member.second);
    }
  }

  Json take() {
    if (!files_.empty()) data_.set("files", std::move(files_));
    if (!notes_.empty()) data_.set("notes", std::move(notes_));
    if (!differences_.empty()) data_.set("differences", std::move(differences_));
    return std::move(data_);
  }

 private:
  Json data_ = Json::object();
  Json::Array files_;
  Json::Array notes_;
  Json::Array differences_;
};

int run_journal(Context& context, JournalAsk ask) {
  Output& output = context.output;
  const bool streams = ask.verb == JournalVerb::Cat;
  const bool gathers = context.json() && !streams;
  if (context.json()) ask.shape = tools::Shape::Json;
  Gathered gathered;
  std::size_t lines = 0;
  const auto out = [&](std::string_view line) {
    if (gathers) return gathered.add(line);
    output.line(streams ? std::string(line) : context.here(line));
    if (++lines % lines_a_flush == 0) output.flush();
  };
  const auto note = [&](std::string_view line) { output.note(line); };
  const Result<bool> done = context.parts->journal(ask, out, note);
  if (!done) return context.fail(failure_of(done.error()));
  if (!gathers) return output.done(*done ? Exit::Ok : Exit::Failed);
  Json data = gathered.take();
  if (*done) return output.succeed(data);
  return context.fail(Failure{"DAMAGED", "something is wrong with it", std::move(data)});
}

// DIR, else the journal of the home; the failure, if there is neither.
std::expected<std::string, Failure> journal_directory(const Context& context,
                                                      const Parsed& parsed) {
  if (!parsed.words.empty()) return parsed.words[0];
  const auto home = context.home();
  if (!home) return std::unexpected(home.error());
  return home->path + "/journal";
}

int on_journal(Context& context, const Parsed& parsed, JournalAsk ask) {
  if (const auto from = parsed.number("from")) {
    if (*from < 1) {
      return context.misuse(
          fmt::format("--from wants the sequence of a record, which is 1 or more, not {}", *from));
    }
    ask.from = static_cast<std::uint64_t>(*from);
  }
  const auto directory = journal_directory(context, parsed);
  if (!directory) return context.fail(directory.error());
  ask.directory = *directory;
  return run_journal(context, std::move(ask));
}

int info(Context& context, const Parsed& parsed) {
  return on_journal(context, parsed, {.verb = JournalVerb::Info, .directory = {}});
}
int verify(Context& context, const Parsed& parsed) {
  return on_journal(context, parsed, {.verb = JournalVerb::Verify, .directory = {}});
}
int cat(Context& context, const Parsed& parsed) {
  JournalAsk ask{.verb = JournalVerb::Cat, .directory = {}};
  ask.bytes = parsed.has("bytes");
  return on_journal(context, parsed, std::move(ask));
}
int salvage(Context& context, const Parsed& parsed) {
  JournalAsk ask{.verb = JournalVerb::Salvage, .directory = {}};
  ask.other = *parsed.text("to");
  return on_journal(context, parsed, std::move(ask));
}
int accept(Context& context, const Parsed& parsed) {
  return on_journal(context, parsed, {.verb = JournalVerb::Accept, .directory = {}});
}

constexpr std::array<Argument, 1> directory{
    {{.name = "DIR", .count = Count::Maybe, .completes = Completes::File}}};
constexpr std::array<Option, 2> cat_options{
    {{.name = "from", .takes = Takes::Number, .value = "SEQ", .help = "from this record on"},
     {.name = "bytes", .help = "payloads as they stand, not as the inputs they are"}}};
constexpr std::array<Option, 1> salvage_options{{{.name = "to",
                                                  .takes = Takes::Text,
                                                  .value = "NEW",
                                                  .help = "a new directory",
                                                  .completes = Completes::File,
                                                  .required = true}}};
constexpr std::array<Option, 1> accept_options{
    {{.name = "from",
      .takes = Takes::Number,
      .value = "SEQ",
      .help = "the first record that may be decided otherwise",
      .required = true}}};

constexpr std::array<Example, 2> info_examples{
    {{"reeve journal info", "of the home; also while a daemon is using it"},
     {"reeve journal info /mnt/old/reeve/journal", "of another one"}}};
constexpr std::array<Example, 1> verify_examples{
    {{"reeve journal verify", "exit 1, with file and offset, if anything is wrong"}}};
constexpr std::array<Example, 2> cat_examples{
    {{"reeve journal cat --from 1200 | head", "ten records"},
     {"reeve journal cat --json", "one JSON object a line"}}};
constexpr std::array<Example, 1> salvage_examples{
    {{"reeve journal salvage --to ~/rescued", "then put it in the place of the damaged one"}}};
constexpr std::array<Example, 1> accept_examples{
    {{"reeve journal accept --from 1201", "the record that the daemon's refusal named"}}};

constexpr std::array<Command, 5> journal_commands{{
    {.name = "journal info",
     .summary = "the files and what is in them",
     .arguments = directory,
     .details = "DIR is the directory of a journal; without it, `journal` in the home.",
     .examples = info_examples,
     .run = info},
    {.name = "journal verify",
     .summary = "look at every byte; change nothing",
     .arguments = directory,
     .details = "Says of each file what is wrong with it, and whether a daemon would start. What a "
                "daemon is writing meanwhile may look like a torn tail.",
     .examples = verify_examples,
     .run = verify},
    {.name = "journal cat",
     .summary = "print the records",
     .arguments = directory,
     .options = cat_options,
     .details = "A line: sequence, group, engine ms, wall ms, type, digest, bytes, payload.",
     .examples = cat_examples,
     .run = cat},
    {.name = "journal salvage",
     .summary = "copy what can be trusted of a damaged one",
     .arguments = directory,
     .options = salvage_options,
     .details = "The newest whole snapshot and the records after it, up to the damage. The damaged "
                "journal stays as it is; docs/daemon.md says what to do with the new one.",
     .examples = salvage_examples,
     .run = salvage},
    {.name = "journal accept",
     .summary = "take this version's decisions for the truth",
     .arguments = directory,
     .options = accept_options,
     .details = "For a daemon that does not start because this version decides a record otherwise "
                "than the one that wrote it. Shows what is decided otherwise, writes a snapshot of "
                "it, and keeps the old files aside. Refuses a journal that is in use.",
     .examples = accept_examples,
     .run = accept},
}};

}  // namespace

const Group journal_group{
    .word = "journal", .summary = "look into what is on disk", .commands = journal_commands};

int backup_command(Context& context, const Parsed& parsed) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  // What was acknowledged until now is in the snapshot that is written now.
  const Answer written = context.client().ask("daemon.checkpoint");
  if (!written) return context.fail(written.error());
  // Whose home that is, the daemon behind $REEVE_SOCKET said.
  JournalAsk ask{.verb = JournalVerb::Backup,
                 .directory = context.client().where().home.path + "/journal"};
  ask.other = parsed.words[0];
  ask.from = (*written)["seq"].natural();
  return run_journal(context, std::move(ask));
}

int restore_command(Context& context, const Parsed& parsed) {
  const auto home = context.home();
  if (!home) return context.fail(home.error());
  JournalAsk ask{.verb = JournalVerb::Restore, .directory = home->path + "/journal"};
  ask.other = parsed.words[0];
  return run_journal(context, std::move(ask));
}

}  // namespace reeve::cli
