#include "sim/journal_game.h"

#include "journal/names.h"
#include "journal/segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace reeve::sim {

using namespace journal;

namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::uint64_t digest_of(std::string_view bytes, std::uint64_t before) {
  std::uint64_t digest = mix(before + bytes.size() + 1);
  for (std::size_t i = 0; i < bytes.size(); i += 61) {
    digest = mix(digest ^ static_cast<std::uint8_t>(bytes[i]));
  }
  return digest;
}

}  // namespace

JournalGame::JournalGame(std::uint64_t seed) : seed_(seed), random_(mix(seed)), disk_(mix(seed)) {
  options_.fresh_id.bytes.fill(static_cast<std::uint8_t>(seed % 250 + 1));
  // Small, so that segments end and snapshots fall due all the time.
  options_.first_segment = 4096 * (2 + random(4));
  options_.largest_segment = 4096 * (2 + random(16));
  options_.largest_group = options_.first_segment / 2;
  options_.measure_every = 4096;
  options_.snapshot_after = 1000 + random(20000);
  options_.chunk_size = 64 + random(2000);
  options_.sync_every = 1 + random(4000);
  options_.keep_free = 0;
  options_.compress = random(2) == 0;
  // A millisecond a record; without a draw, so that the seeds play the games they did.
  if (seed % 3 == 0) options_.keep = Duration{static_cast<std::int64_t>(seed % 97)};
}

std::uint64_t JournalGame::random(std::uint64_t below) {
  random_ += 0x9e3779b97f4a7c15U;
  return mix(random_) % below;
}

void JournalGame::violate(std::string what) {
  if (!report_.violation.empty()) return;
  report_.violation = fmt::format("seed {}, step {}: {}", seed_, report_.steps, what);
}

const GameReport& JournalGame::play(std::uint64_t steps) {
  for (; report_.steps < steps && report_.violation.empty(); ++report_.steps) step();
  return report_;
}

void JournalGame::step() {
  if (!journal_) return recover();
  if (random(12) == 0) strike_soon(40);
  const std::uint64_t choice = random(100);
  if (choice < 55) return commit();
  if (choice < 63) return prepare();
  if (choice < 83) return writer_ ? go_on_with_snapshot() : begin_snapshot();
  if (choice < 89) return truncate();
  if (choice < 92) return read();
  if (choice < 95) return stop_cleanly();
  crash();
}

void JournalGame::strike_soon(std::uint64_t within) {
  constexpr Disk::Fault faults[] = {Disk::Fault::PowerLoss,
                                    Disk::Fault::PowerLoss,
                                    Disk::Fault::Kill,
                                    Disk::Fault::Eio,
                                    Disk::Fault::Enospc};
  disk_.strike(1 + random(within), faults[random(std::size(faults))]);
}

// The journal has failed. It must go on failing in the same way; then it is over.
void JournalGame::failed(const Error& error, bool may_be_full) {
  if (may_be_full && error.code == Error::Code::Full) return disk_.is_down() ? crash() : void();
  if (!disk_.is_down() && error.code != Error::Code::Io && error.code != Error::Code::Full) {
    return violate("an unexpected error: " + error.message);
  }
  const std::vector<Entry> entries(1);
  const Result<Sequence> again = journal_->commit(entries);
  if (again || again.error() != error) return violate("a journal that had ended did not say so");
  if (!disk_.is_down()) ++report_.errors;
  crash();
}

void JournalGame::crash() {
  writer_.reset();
  journal_.reset();
  ++report_.crashes;
  disk_.restart(random(3) == 0 ? Disk::Fault::Kill : Disk::Fault::PowerLoss);
  if (random(8) == 0) flip_a_bit();
}

std::string JournalGame::some_bytes(std::uint64_t most) {
  std::string bytes(random(most + 1), '\0');
  const bool dull = random(2) == 0;
  for (char& byte : bytes) byte = static_cast<char>(dull ? 'a' : random(256));
  return bytes;
}

void JournalGame::commit() {
  clean_ = false;
  const std::size_t count = 1 + random(4);
  const std::uint64_t most = random(10) == 0 ? 9000 : 300;
  for (std::size_t i = 0; i < count; ++i) {
    Submitted next{.payload = some_bytes(most), .digest = mix(random_), .state = 0};
    next.state = digest_of(next.payload, submitted_.empty() ? 0 : submitted_.back().state);
    submitted_.push_back(std::move(next));
  }
  std::vector<Entry> entries;
  for (std::size_t i = acknowledged_; i < submitted_.size(); ++i) {
    entries.push_back(
        {.type = RecordType::Input,
         .stamp = {.now = Time{Duration{static_cast<std::int64_t>(i)}}, .wall = Wall{Duration{-1}}},
         .payload = submitted_[i].payload,
         .digest = submitted_[i].digest});
  }
  const Result<Sequence> last = journal_->commit(entries);
  if (!last) return failed(last.error(), false);
  if (*last != submitted_.size()) violate("a commit has the wrong sequence");
  acknowledged_ = submitted_.size();
  ++report_.commits;
}

void JournalGame::prepare() {
  if (random(10) == 0) disk_.set_free_space(random(60000));
  if (random(5) == 0) disk_.set_free_space(std::uint64_t{1} << 40U);
  if (Result<void> prepared = journal_->prepare(); !prepared) {
    if (!disk_.is_down() && prepared.error().code == Error::Code::Full &&
        journal_->room() != Room::FinishingOnly) {
      violate("the disk is full and the journal takes new work");
    }
    failed(prepared.error(), true);
  }
}

// The state is told in as many bytes as fit the mood, but its beginning is checked.
std::string JournalGame::state_at(Sequence sequence) const {
  const std::uint64_t state = sequence == 0 ? 0 : submitted_[sequence - 1].state;
  std::string bytes = fmt::format("{}:{}:", sequence, state);
  for (std::uint64_t i = 0; i < mix(state) % 2000; ++i) {
    bytes += static_cast<char>(mix(state + i / 7));
  }
  return bytes;
}

void JournalGame::begin_snapshot() {
  if (!journal_->wants_snapshot() && random(4) != 0) return;
  writer_sequence_ =
      acknowledged_ - (acknowledged_ > 0 ? random(std::min<std::uint64_t>(3, acknowledged_)) : 0);
  if (writer_sequence_ < newest_snapshot_) return;
  Result<std::unique_ptr<SnapshotWriter>> writer = journal_->begin_snapshot(
      {.sequence = writer_sequence_,
       .stamp = {.now = Time{Duration{static_cast<std::int64_t>(writer_sequence_)}},
                 .wall = Wall{}}});
  if (!writer) return failed(writer.error(), true);
  writer_ = std::move(*writer);
  writer_rest_ = state_at(writer_sequence_);
}

void JournalGame::go_on_with_snapshot() {
  if (random(30) == 0) return writer_.reset();
  if (!writer_rest_.empty()) {
    const std::size_t size = std::min<std::size_t>(writer_rest_.size(), 1 + random(2000));
    const Result<void> appended = writer_->append(writer_rest_.substr(0, size));
    writer_rest_.erase(0, size);
    if (appended) return;
    if (appended.error().code == Error::Code::Full) writer_.reset();
    return failed(appended.error(), true);
  }
  const Result<SnapshotInfo> finished = writer_->finish(writer_sequence_ * 3);
  if (!finished) {
    writer_.reset();
    return failed(finished.error(), journal_->wants_prepare());
  }
  writer_.reset();
  newest_snapshot_ = writer_sequence_;
  ++report_.snapshots;
}

void JournalGame::truncate() {
  const Sequence passed = random(3) == 0 ? random(acknowledged_ + 1) : acknowledged_;
  if (Result<void> truncated = journal_->truncate(passed); !truncated) {
    failed(truncated.error(), false);
  }
}

void JournalGame::read() {
  const Sequence from = 1 + random(acknowledged_ + 1);
  Sequence expected = 0;
  const Result<void> told = journal_->read(from, [&](std::span<const Record> group) {
    for (const Record& record : group) {
      if (expected == 0) expected = record.sequence;
      if (record.sequence != expected++ || record.sequence > acknowledged_ ||
          submitted_[record.sequence - 1].payload != record.entry.payload) {
        violate("reading shows another record than was committed");
        break;
      }
    }
    return Result<void>{};
  });
  if (!told && told.error().code == Error::Code::NotFound) {
    // A snapshot may be there that was never reported finished.
    Sequence newest = 0;
    for (const auto& [name, bytes] : disk_.contents()) {
      newest = std::max(newest, snapshot_sequence(name).value_or(0));
    }
    if (from > newest) violate("a record after the snapshots is gone");
    return;
  }
  // A failed read ends nothing.
  if (!told) return disk_.is_down() ? crash() : void();
  if (from <= acknowledged_ && expected != acknowledged_ + 1) violate("reading ended early");
}

void JournalGame::stop_cleanly() {
  writer_.reset();
  if (disk_.is_down()) return crash();
  if (Result<void> closed = journal_->close(); !closed) return failed(closed.error(), false);
  ++report_.clean_stops;
  journal_.reset();
  disk_.restart(random(2) == 0 ? Disk::Fault::Kill : Disk::Fault::PowerLoss);
  clean_ = true;
  if (random(4) == 0) flip_a_bit();
}

// --- recovery
// --------------------------------------------------------------------------------------

void JournalGame::recover() {
  while (!journal_ && report_.violation.empty()) {
    if (random(3) == 0) strike_soon(60);
    recover_once();
    if (journal_) return;
    if (disk_.is_down()) ++report_.crashes_in_recovery;
    ++report_.crashes;
    disk_.set_free_space(std::uint64_t{1} << 40U);
    disk_.restart(random(3) == 0 ? Disk::Fault::Kill : Disk::Fault::PowerLoss);
  }
}

void JournalGame::recover_once() {
  const auto allowed = [&](const Error& error) {
    if (error.code == Error::Code::Io || error.code == Error::Code::Full) return;
    violate("recovery refuses: " + error.message);
  };
  const Result<std::unique_ptr<Recovery>> recovery = open_file_journal(disk_, options_);
  if (!recovery) return allowed(recovery.error());

  Sequence last = 0;
  if (const std::optional<SnapshotInfo>& snapshot = (*recovery)->snapshot()) {
    last = snapshot->moment.sequence;
    if (last > acknowledged_) return violate("a snapshot is ahead of what was acknowledged");
    std::string content;
    for (;;) {
      const Result<std::string_view> chunk = (*recovery)->next_chunk();
      if (!chunk) return allowed(chunk.error());
      if (chunk->empty()) break;
      content += *chunk;
    }
    if (content != state_at(last)) return violate("a snapshot has other content");
    if (snapshot->digest != last * 3) return violate("a snapshot has another digest");
  }
  const Result<void> told = (*recovery)->replay([&](std::span<const Record> group) -> Result<void> {
    for (const Record& record : group) {
      if (record.sequence != ++last) {
        return fail(Error::Code::Corrupt, "a record is missing or comes twice");
      }
      if (last > submitted_.size()) return fail(Error::Code::Corrupt, "nobody submitted this");
      const Submitted& wanted = submitted_[last - 1];
      if (record.entry.payload != wanted.payload || record.entry.digest != wanted.digest ||
          record.entry.stamp.now.time_since_epoch().count() !=
              static_cast<std::int64_t>(last) - 1) {
        return fail(Error::Code::Corrupt, "a record is not what was submitted");
      }
    }
    return {};
  });
  if (!told) return allowed(told.error());
  if (last < acknowledged_) {
    return violate(
        fmt::format("{} records were acknowledged and {} are there", acknowledged_, last));
  }
  if (last != acknowledged_ && last != submitted_.size()) {
    return violate("half a group is there");
  }
  const Findings& findings = (*recovery)->findings();
  if (clean_ && !findings.clean_stop) return violate("a clean stop is not found clean");
  if (findings.torn_tail) ++report_.torn_tails;

  Result<std::unique_ptr<Journal>> begun = (*recovery)->begin();
  // From here on the disk may have changed, if only by half.
  clean_ = false;
  if (!begun) return allowed(begun.error());
  if ((*begun)->next_sequence() != last + 1) return violate("the next sequence is wrong");
  journal_ = std::move(*begun);
  submitted_.resize(last);
  acknowledged_ = last;
}

// Turns a bit around in a group that a valid one follows, or anywhere after a clean stop; finds it
// refused, and puts it back.
void JournalGame::flip_a_bit() {
  const Result<std::vector<std::string>> names = disk_.list();
  const Listing listing = listing_of(*names);
  if (listing.segments.empty()) return;
  const Sequence base = listing.snapshots.empty() ? 0 : listing.snapshots.back();

  std::vector<std::pair<std::string, Extent>> groups;
  std::string buffer;
  for (std::size_t i = 0; i < listing.segments.size(); ++i) {
    const bool last = i + 1 == listing.segments.size();
    Result<Segment> segment = open_segment(disk_, listing.segments[i], buffer);
    if (!segment) return;
    const Sequence limit =
        last ? no_limit : read_segment_header(disk_, listing.segments[i + 1])->first_sequence;
    const std::size_t before = groups.size();
    const Result<Walked> walked =
        walk(*segment, limit, [&](std::span<const Record> group, Extent extent) -> Result<void> {
          if (group.front().sequence <= base) return {};
          groups.emplace_back(segment_name(listing.segments[i]), extent);
          return {};
        });
    if (!walked) return;
    // The last group of all is the one that nobody can tell from a torn one.
    if (last && !clean_ && groups.size() > before) groups.pop_back();
  }
  if (groups.empty()) return;
  const auto& [file, extent] = groups[random(groups.size())];
  const std::uint64_t offset = extent.begin + random(extent.end - extent.begin);
  const auto bit = static_cast<unsigned>(random(8));

  disk_.flip(file, offset, bit);
  const auto before = disk_.contents();
  const Result<std::unique_ptr<Recovery>> recovery = open_file_journal(disk_, options_);
  const Result<void> told =
      recovery ? (*recovery)->replay([](std::span<const Record>) { return Result<void>{}; })
               : Result<void>(fail(recovery.error()));
  if (told || told.error().code != Error::Code::Corrupt) {
    violate(fmt::format("a flipped bit in {} at {} is not refused", file, offset));
  } else if (told.error().message.find(file) == std::string::npos) {
    violate("a refusal names another file: " + told.error().message);
  } else if (disk_.contents() != before) {
    violate("a refusal changed something");
  }
  disk_.flip(file, offset, bit);
  ++report_.flips_refused;
}

}  // namespace reeve::sim
