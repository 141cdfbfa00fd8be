#include "core/digest.h"
#include "core/invariants.h"
#include "sim/oracle.h"

#include <utility>

// What must be there after a restart.
namespace reeve::sim {

void Oracle::daemon_ended() { open_.clear(); }

void Oracle::replays(const journal::Record& record) {
  const Kept* expected = nullptr;
  if (!kept_.empty() && record.sequence >= kept_.front().sequence &&
      record.sequence - kept_.front().sequence < kept_.size()) {
    expected = &kept_[record.sequence - kept_.front().sequence];
  } else if (!flying_.empty() && record.sequence >= flying_.front().sequence &&
             record.sequence - flying_.front().sequence < flying_.size()) {
    expected = &flying_[record.sequence - flying_.front().sequence];
  }
  if (!expected) {
    return report_.violated(fmt::format(
        "record {} is there, and nobody wrote it ({} is durable)", record.sequence, durable_));
  }
  if (record.entry.payload != expected->payload || record.entry.digest != expected->digest ||
      record.entry.stamp != expected->stamp) {
    report_.violated(fmt::format("record {} is not what was written", record.sequence));
  }
}

void Oracle::begins_from(const journal::SnapshotInfo& info) {
  if (info.moment.sequence > durable_ + flying_.size()) {
    report_.violated("a snapshot of what was never written");
  }
}

void Oracle::recovered(const State& state, engine::Sequence snapshot) {
  if (state.sequence < durable_) {
    return report_.violated(
        fmt::format("{} is durable and {} was recovered (from a snapshot of {})",
                    durable_,
                    state.sequence,
                    snapshot));
  }
  if (state.sequence > durable_ && !flying_.empty() && state.sequence == flying_.back().sequence) {
    committed();  // it had reached the disk, and nobody was told
  }
  if (report_.failed()) return;
  flying_.clear();
  if (state.sequence != durable_) {
    return report_.violated(fmt::format(
        "{} was recovered, which is not the end of a commit (after {})", state.sequence, durable_));
  }
  if (!(state == shadow_)) {
    return report_.violated(
        fmt::format("the state at {} is another one (digest {:016x}, expected {:016x})",
                    state.sequence,
                    digest_of(state),
                    digest_of(shadow_)));
  }
  last_told_ = durable_;
  advance_models(durable_);
  decided_.clear();
  compare_models();
}

void Oracle::truncated(engine::Sequence sequence) {
  while (!kept_.empty() && kept_.front().sequence <= sequence) kept_.pop_front();
}

void Oracle::projected(engine::Sequence sequence, std::uint32_t index) {
  if (projector_left_) return;
  if (projected_ >= to_project_.size() || to_project_[projected_] != std::pair{sequence, index}) {
    return report_.violated(
        fmt::format("a projector was shown event {}-{}, which is not the next", sequence, index));
  }
  ++projected_;
}

void Oracle::projector_passed(engine::Sequence sequence) {
  if (projector_left_) return;
  while (!to_project_.empty() && to_project_.front().first <= sequence) {
    if (projected_ == 0) return report_.violated("a projector was not shown all events");
    to_project_.pop_front();
    --projected_;
  }
}

void Oracle::projector_restarts(engine::Sequence passed) {
  if (std::exchange(projector_left_, false)) {
    std::erase_if(to_project_, [&](const auto& event) { return event.first <= passed; });
  } else {
    projector_passed(passed);
  }
  projected_ = 0;
}

void Oracle::compare_models() {
  if (modelled_ != durable_) return;
  locks_.compare(shadow_, shadow_.now);
  queues_.compare(shadow_, shadow_.now);
}

}  // namespace reeve::sim
