#include "engine/recovery.h"

#include "base/match.h"
#include "base/planted.h"
#include "codec/binary.h"
#include "codec/frames.h"
#include "codec/snapshot.h"
#include "core/apply.h"
#include "core/digest.h"

#include <fmt/core.h>

#include <optional>
#include <string_view>
#include <utility>

namespace reeve::engine {
namespace {

std::string_view kind_of(const Input& input) {
  return match(
      input,
      [](const Request&) { return "a request"; },
      [](const Tick&) { return "a tick"; },
      [](const Resumed&) { return "a start"; },
      [](const ClockStepped&) { return "a step of the clock"; },
      [](const EffectEnded&) { return "the outcome of an effect"; },
      [](const session::Ended&) { return "the end of a session"; },
      [](const session::Returned&) { return "the return of a session"; },
      [](const custody::ProcessGone&) { return "the end of a process"; },
      [](const Undelivered&) { return "an answer that found nobody"; });
}

Result<void> read_snapshot(journal::Recovery& recovery,
                           const journal::SnapshotInfo& info,
                           Remembered& remembered) {
  codec::Unframer frames([&] { return recovery.next_chunk(); });
  Result<codec::Snapshot> read = codec::read_snapshot([&] { return frames.next(); });
  if (!read) return fail(read.error());
  if (read->digest != info.digest || read->state.sequence != info.moment.sequence) {
    return fail(Error::Code::Corrupt,
                fmt::format("the snapshot of sequence {} holds another state than it says "
                            "(digest {:016x}, expected {:016x}); nothing was changed: "
                            "try `reeve journal verify`",
                            info.moment.sequence,
                            read->digest,
                            info.digest));
  }
  if (read->passed_over) {
    return fail(Error::Code::Conflict,
                fmt::format("the snapshot of sequence {} holds more than this version of reeve "
                            "knows, and would lose it, so it does not start; nothing was changed: "
                            "start the version that wrote it",
                            info.moment.sequence));
  }
  remembered.state = std::move(read->state);
  remembered.stamp = info.moment.stamp;
  remembered.snapshot = info.moment.sequence;
  remembered.snapshot_bytes = info.raw_bytes;
  remembered.events = EventLog(info.moment.sequence);
  return {};
}

std::unexpected<Error> decided_differently(Sequence sequence, const Input& input) {
  return fail(
      Error::Code::Conflict,
      fmt::format("record {} ({}) would be decided differently by this version of reeve, so "
                  "it does not start; nothing was changed. Either start the version that "
                  "wrote it and stop it cleanly, which leaves a checkpoint and nothing to "
                  "decide again, or run `reeve journal accept --from {}`, which shows the "
                  "differences, keeps the old files aside and writes a checkpoint",
                  sequence,
                  kind_of(input),
                  sequence));
}

Result<void> decide_again(const journal::Record& record, Remembered& remembered, bool keep_events) {
  const Result<Input> input = codec::from_bytes<Input>(record.entry.payload);
  if (!input) {
    return fail(input.error().code,
                fmt::format("record {} cannot be read: {}; nothing was changed",
                            record.sequence,
                            input.error().message));
  }
  Said said = apply_to(remembered.state, *input, record.entry.stamp);
  // One that changes nothing now takes no sequence.
  const bool says_the_same = digest_of(said) == record.entry.digest || planted(Bug::DigestIgnored);
  if (remembered.state.sequence != record.sequence || !says_the_same) {
    return decided_differently(record.sequence, *input);
  }
  remembered.stamp = record.entry.stamp;
  ++remembered.replayed;
  remembered.replayed_bytes += record.entry.payload.size();
  for (Event& event : said.events) {
    if (keep_events) remembered.unshown.push_back({event, record.entry.stamp.now});
    remembered.events.append(std::move(event));
  }
  return {};
}

}  // namespace

Remembered nothing_remembered() { return {.state = initial_state(Time{})}; }

Result<Remembered> remember(journal::Recovery& recovery, const EventSink& project) {
  Remembered remembered = nothing_remembered();
  if (const std::optional<journal::SnapshotInfo>& info = recovery.snapshot()) {
    if (auto read = read_snapshot(recovery, *info, remembered); !read) return fail(read.error());
  }
  const Result<void> replayed =
      recovery.replay([&](std::span<const journal::Record> group) -> Result<void> {
        // Another one follows: the one before is on stable storage.
        for (const Unshown& shown : std::exchange(remembered.unshown, {})) {
          project(shown.event, shown.now, remembered.state);
        }
        for (const journal::Record& record : group) {
          auto same = decide_again(record, remembered, static_cast<bool>(project));
          if (!same) return same;
        }
        return {};
      });
  if (!replayed) return fail(replayed.error());
  return remembered;
}

}  // namespace reeve::engine
