#include "tools/core_judge.h"

#include "codec/binary.h"
#include "codec/frames.h"
#include "codec/json.h"
#include "codec/snapshot.h"
#include "core/apply.h"
#include "core/digest.h"
#include "core/input.h"
#include "tools/journal_command.h"
#include "tools/json.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace reeve::tools {

// As engine::nothing_remembered(): every journal begins with it.
CoreJudge::CoreJudge() : state_(initial_state(Time{})) {}

Result<void> CoreJudge::load(std::string_view chunk) {
  snapshot_.append(chunk);
  return {};
}

Result<void> CoreJudge::loaded(const journal::SnapshotInfo& snapshot) {
  const std::string pieces = std::exchange(snapshot_, {});
  bool given = false;
  codec::Unframer frames([&]() -> Result<std::string_view> {
    return std::exchange(given, true) ? std::string_view() : std::string_view(pieces);
  });
  Result<codec::Snapshot> read = codec::read_snapshot([&] { return frames.next(); });
  if (!read) return fail(read.error());
  if (read->digest != snapshot.digest || read->state.sequence != snapshot.moment.sequence) {
    return fail(Error::Code::Corrupt,
                fmt::format("the snapshot of record {} holds another state than it says",
                            snapshot.moment.sequence));
  }
  state_ = std::move(read->state);
  return {};
}

Result<std::optional<std::string>> CoreJudge::replay(const journal::Record& record) {
  const Result<Input> input = codec::from_bytes<Input>(record.entry.payload);
  if (!input) {
    return fail(
        input.error().code,
        fmt::format("record {} cannot be read: {}", record.sequence, input.error().message));
  }
  const Said said = apply_to(state_, *input, record.entry.stamp);
  const std::uint64_t now = digest_of(said);
  const bool same = said.changed && now == record.entry.digest;
  // One that changes nothing now keeps its place all the same: what comes after it counts on.
  state_.sequence = record.sequence;
  if (same) return std::nullopt;
  return fmt::format(
      "{} is now answered {}, with {} events and {} effects{} (digest {:016x}, then {:016x})",
      codec::to_json(*input),
      codec::to_json(said.reply),
      said.events.size(),
      said.effects.size(),
      said.changed ? "" : ", and changes nothing",
      now,
      record.entry.digest);
}

Result<void> CoreJudge::save(journal::SnapshotWriter& writer) {
  const Result<std::uint64_t> digest = codec::write_snapshot(
      state_, [&](std::string_view chunk) { return writer.append(codec::frame(chunk)); });
  if (!digest) return fail(digest.error());
  digest_ = *digest;
  return {};
}

std::string show_input(const journal::Record& record) {
  const Result<Input> input = codec::from_bytes<Input>(record.entry.payload);
  return input ? codec::to_json(*input) : json(visible(record.entry.payload));
}

JournalKnowledge knowledge_of_core() {
  return {.show = show_input, .judge = [] { return std::make_unique<CoreJudge>(); }};
}

}  // namespace reeve::tools
