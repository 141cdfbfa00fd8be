#include "engine/checkpoint.h"

#include "base/check.h"
#include "base/planted.h"
#include "codec/frames.h"
#include "codec/snapshot.h"

#include <utility>

namespace reeve::engine {
namespace {

journal::Moment moment_of(const Snapshot& snapshot) {
  return {snapshot.sequence() + (planted(Bug::SnapshotStale) ? 1 : 0), snapshot.stamp};
}

}  // namespace

Result<journal::SnapshotInfo> write_checkpoint(journal::Journal& journal,
                                               const Snapshot& snapshot) {
  auto writer = journal.begin_snapshot(moment_of(snapshot));
  if (!writer) return fail(writer.error());
  const Result<std::uint64_t> digest = codec::write_snapshot(
      snapshot.state,
      [&](std::string_view chunk) { return (*writer)->append(codec::frame(chunk)); });
  if (!digest) return fail(digest.error());
  return (*writer)->finish(*digest);
}

Checkpointer::Checkpointer(journal::Journal& journal, const Snapshot& snapshot, std::size_t chunk)
    : journal_(journal), moment_(moment_of(snapshot)) {
  const Result<std::uint64_t> digest = codec::write_snapshot(
      snapshot.state,
      [&](std::string_view bytes) -> Result<void> {
        chunks_.push_back(codec::frame(bytes));
        return {};
      },
      chunk);
  CHECK(digest);  // the sink cannot fail
  digest_ = *digest;
}

Result<void> Checkpointer::step() {
  CHECK(!is_done());
  if (!writer_) {
    auto writer = journal_.begin_snapshot(moment_);
    if (!writer) return fail(writer.error());
    writer_ = *std::move(writer);
    return {};
  }
  if (next_ < chunks_.size()) return writer_->append(chunks_[next_++]);
  const Result<journal::SnapshotInfo> info = writer_->finish(digest_);
  if (!info) return fail(info.error());
  info_ = *info;
  return {};
}

}  // namespace reeve::engine
