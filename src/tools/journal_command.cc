#include "tools/journal_command.h"

#include "journal/real_files.h"
#include "tools/home_lock.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

namespace reeve::tools {

namespace {

constexpr int exit_ok = 0;
constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_not_found = 3;

constexpr std::string_view help =
    R"(usage: reeve journal info    [DIR] [--json]              the files and what is in them
       reeve journal verify  [DIR] [--json]              look at every byte; change nothing
       reeve journal cat     [DIR] [--from SEQ] [--json] print the records; --bytes: as they stand
       reeve journal salvage [DIR] --to NEW              copy what can be trusted of a damaged one
       reeve journal accept  [DIR] --from SEQ            take this version's decisions for the truth

DIR is the directory of a journal; without it, `journal` in the home: --home DIR, else $REEVE_HOME,
else $XDG_STATE_HOME/reeve, else ~/.local/state/reeve. accept wants one that no daemon is using.

A line of cat: sequence, group, engine ms, wall ms, type, digest, bytes, payload.
Exit: 0 ok, 1 failed or damaged, 2 usage, 3 no journal there.

examples:
  reeve journal verify
  reeve journal cat --from 1200 | head
  reeve journal salvage ~/.local/state/reeve/journal --to /tmp/rescued)";

struct Words {
  std::string_view verb;
  std::optional<std::string> directory;
  std::optional<std::string> home;
  std::optional<std::string> to;
  std::optional<journal::Sequence> from;
  Shape shape = Shape::Text;
  bool bytes = false;  // payloads as they stand, not as the inputs they are
};

// The complaint, if there is one.
std::optional<std::string> parse(std::span<const std::string_view> rest, Words& words) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const std::string_view word = rest[i];
    const bool takes_value = word == "--from" || word == "--to" || word == "--home";
    if (takes_value && i + 1 == rest.size()) return fmt::format("{} wants a value", word);
    if (word == "--json") {
      words.shape = Shape::Json;
    } else if (word == "--bytes" && words.verb == "cat") {
      words.bytes = true;
    } else if (word == "--from") {
      const std::string_view text = rest[++i];
      journal::Sequence from = 0;
      const auto [end, error] = std::from_chars(text.begin(), text.end(), from);
      if (error != std::errc{} || end != text.end() || from == 0) {
        return fmt::format("--from wants the sequence of a record, not {}", text);
      }
      words.from = from;
    } else if (word == "--to") {
      words.to = rest[++i];
    } else if (word == "--home") {
      words.home = rest[++i];
    } else if (word.starts_with('-')) {
      return fmt::format("unknown option {}", word);
    } else if (words.directory) {
      return fmt::format("unexpected argument {}", word);
    } else {
      words.directory = word;
    }
  }
  return std::nullopt;
}

std::optional<std::string> environment(const char* name) {
  // Nobody changes it: this program has one thread here. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string directory_of(const Words& words) {
  if (words.directory) return *words.directory;
  if (words.home) return *words.home + "/journal";
  if (const auto home = environment("REEVE_HOME")) return *home + "/journal";
  if (const auto state = environment("XDG_STATE_HOME")) return *state + "/reeve/journal";
  return environment("HOME").value_or("") + "/.local/state/reeve/journal";
}

struct Voice {
  const Sink& out;
  const Sink& err;

  int misuse(std::string_view complaint) const {
    err(fmt::format("reeve journal: {}", complaint));
    err("Try 'reeve journal --help'.");
    return exit_usage;
  }
  int failed(const Error& error) const {
    err(fmt::format("reeve journal: {}", error.message));
    return error.code == Error::Code::NotFound ? exit_not_found : exit_failed;
  }
};

int run(const Words& words, const JournalKnowledge& knowledge, const Voice& voice) {
  const std::string directory = directory_of(words);
  // Looking needs no probe, and no leave to write.
  const auto files = journal::RealFiles::open_directory(directory, journal::SyncMethod::DataSync);
  if (!files) return voice.failed(files.error());

  // Who changes a journal has it alone; who looks is told that it moves.
  std::optional<HomeLock> ours;
  if (words.verb == "accept" || words.verb == "salvage") {
    const std::string& changed = words.verb == "accept" ? directory : *words.to;
    Result<HomeLock> held = HomeLock::hold(changed, fmt::format("journal {}", words.verb));
    if (!held) return voice.failed(held.error());
    ours.emplace(std::move(*held));
  }
  if (words.verb != "accept") {
    if (const auto user = user_of(directory)) {
      voice.err(fmt::format("in use by process {}", *user));
    }
  }

  if (words.verb == "verify") {
    const Result<Verdict> verdict = journal_verify(**files, words.shape, voice.out);
    if (!verdict) return voice.failed(verdict.error());
    return verdict->damaged ? exit_failed : exit_ok;
  }
  Result<void> done;
  if (words.verb == "info") {
    done = journal_info(**files, words.shape, voice.out);
  } else if (words.verb == "cat") {
    const ShowPayload& show = words.bytes ? ShowPayload{} : knowledge.show;
    done = journal_cat(**files, words.from.value_or(1), words.shape, show, voice.out, voice.err);
  } else if (words.verb == "salvage") {
    done = journal::make_directory(*words.to);
    if (!done) return voice.failed(done.error());
    const auto target =
        journal::RealFiles::open_directory(*words.to, journal::SyncMethod::DataSync);
    if (!target) return voice.failed(target.error());
    done = journal_salvage(**files, **target, voice.out);
  } else {
    const std::unique_ptr<Judge> judge = knowledge.judge();
    done = journal_accept(**files, *words.from, *judge, voice.out);
  }
  return done ? exit_ok : voice.failed(done.error());
}

}  // namespace

int journal_command(std::span<const std::string_view> words,
                    const JournalKnowledge& knowledge,
                    const Sink& out,
                    const Sink& err) {
  const Voice voice{out, err};
  if (words.empty()) {
    err(help);
    return exit_usage;
  }
  for (const std::string_view word : words) {
    if (word != "--help" && word != "-h") continue;
    out(help);
    return exit_ok;
  }
  Words parsed;
  parsed.verb = words[0];
  const std::string_view verb = parsed.verb;
  if (verb != "info" && verb != "verify" && verb != "cat" && verb != "salvage" &&
      verb != "accept") {
    return voice.misuse(fmt::format("unknown command {}", verb));
  }
  if (const auto complaint = parse(words.subspan(1), parsed)) return voice.misuse(*complaint);
  if (verb == "accept" && !knowledge.judge) {
    return voice.misuse("accept needs the core, which this program does not contain yet");
  }
  if (parsed.from && verb != "cat" && verb != "accept") {
    return voice.misuse(fmt::format("{} takes no --from", verb));
  }
  if (parsed.to && verb != "salvage") return voice.misuse(fmt::format("{} takes no --to", verb));
  if (!parsed.to && verb == "salvage") return voice.misuse("salvage wants --to NEW");
  if (!parsed.from && verb == "accept") return voice.misuse("accept wants --from SEQ");
  return run(parsed, knowledge, voice);
}

}  // namespace reeve::tools
