#include "tools/journal_tool.h"

#include "journal/clean_mark.h"
#include "journal/file_journal.h"
#include "journal/names.h"
#include "journal/segment.h"
#include "journal/snapshot_file.h"
#include "tools/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace reeve::tools {

using namespace journal;

namespace {

Result<Listing> list(Files& files) {
  const Result<std::vector<std::string>> names = files.list();
  if (!names) return fail(names.error());
  Listing listing = listing_of(*names);
  if (listing.segments.empty() && listing.snapshots.empty()) {
    return fail(Error::Code::NotFound, fmt::format("there is no journal in {}", files.path_of("")));
  }
  return listing;
}

Result<void> nothing(std::span<const Record> /*group*/) { return {}; }
Result<void> nothing_in(std::span<const Record> /*group*/, Extent /*extent*/) { return {}; }

// Goes the way of a start, up to where it would begin to write.
Result<Findings> rehearse(Files& files) {
  const Result<std::unique_ptr<Recovery>> recovery =
      open_file_journal(files, Options{.fresh_id = {}, .claims = false});
  if (!recovery) return fail(recovery.error());
  for (;;) {
    const Result<std::string_view> chunk = (*recovery)->next_chunk();
    if (!chunk) return fail(chunk.error());
    if (chunk->empty()) break;
  }
  if (Result<void> told = (*recovery)->replay(nothing); !told) return fail(told.error());
  return (*recovery)->findings();
}

// The last record contained in the newest snapshot that is whole.
Sequence newest_base(Files& files, const Listing& listing) {
  for (auto it = listing.snapshots.rbegin(); it != listing.snapshots.rend(); ++it) {
    if (verify_snapshot(files, snapshot_name(*it))) return *it;
  }
  return 0;
}

// Where a segment ends because the next begins; none for the last.
Result<Sequence> limit_of(Files& files, const Listing& listing, std::size_t index) {
  if (index + 1 == listing.segments.size()) return no_limit;
  const Result<SegmentHeader> next = read_segment_header(files, listing.segments[index + 1]);
  if (!next) return fail(next.error());
  return next->first_sequence;
}

std::string torn_text(const TornTail& torn) {
  return fmt::format("torn tail in {} at offset {}, before record {}: {}",
                     torn.file,
                     torn.offset,
                     torn.first_sequence,
                     torn.why);
}

struct Line {
  std::string text;
  std::string json;
};

void say(const Sink& out, Shape shape, const Line& line) {
  out(shape == Shape::Json ? line.json : line.text);
}

Line about(const std::string& name, const Error& error) {
  return {.text = error.message,
          .json = fmt::format(R"({{"file":{},"error":{}}})", json(name), json(error.message))};
}

Result<Line> segment_line(Files& files, std::uint64_t number) {
  const Result<SegmentHeader> header = read_segment_header(files, number);
  if (!header) return fail(header.error());
  const std::string name = segment_name(number);
  return Line{.text = fmt::format("{}  {} bytes, from record {}, from group {}",
                                  name,
                                  header->size,
                                  header->first_sequence,
                                  header->first_group),
              .json = fmt::format(
                  R"({{"file":{},"journal":{},"bytes":{},"first_sequence":{},"first_group":{}}})",
                  json(name),
                  json(to_text(header->journal)),
                  header->size,
                  header->first_sequence,
                  header->first_group)};
}

Result<Line> snapshot_line(Files& files, Sequence sequence) {
  const std::string name = snapshot_name(sequence);
  const Result<VerifiedSnapshot> found = verify_snapshot(files, name);
  if (!found) return fail(found.error());
  return Line{
      .text = fmt::format("{}  {} bytes, {} before compression, up to record {}",
                          name,
                          found->info.stored_bytes,
                          found->info.raw_bytes,
                          sequence),
      .json = fmt::format(
          R"({{"file":{},"journal":{},"bytes":{},"raw_bytes":{},"sequence":{},"digest":"{:016x}"}})",
          json(name),
          json(to_text(found->header.journal)),
          found->info.stored_bytes,
          found->info.raw_bytes,
          sequence,
          found->info.digest)};
}

std::string record_text(const Record& record, const ShowPayload& show) {
  const Entry& entry = record.entry;
  return fmt::format("{} {} {} {} input {:016x} {} {}",
                     record.sequence,
                     record.group,
                     entry.stamp.now.time_since_epoch().count(),
                     entry.stamp.wall.time_since_epoch().count(),
                     entry.digest,
                     entry.payload.size(),
                     show ? show(record) : visible(entry.payload));
}

std::string record_json(const Record& record, const ShowPayload& show) {
  const Entry& entry = record.entry;
  return fmt::format(
      R"({{"sequence":{},"group":{},"engine_ms":{},"wall_ms":{},"type":"input","digest":"{:016x}","bytes":{},"payload":{}}})",
      record.sequence,
      record.group,
      entry.stamp.now.time_since_epoch().count(),
      entry.stamp.wall.time_since_epoch().count(),
      entry.digest,
      entry.payload.size(),
      show ? show(record) : json(visible(entry.payload)));
}

}  // namespace

Result<void> journal_info(Files& files, Shape shape, const Sink& out) {
  const Result<Listing> listing = list(files);
  if (!listing) return fail(listing.error());
  std::optional<JournalId> id;
  for (const std::uint64_t number : listing->segments) {
    if (const auto header = read_segment_header(files, number)) id = header->journal;
  }
  if (id) {
    say(out,
        shape,
        {.text = "journal " + to_text(*id),
         .json = fmt::format(R"({{"journal":{}}})", json(to_text(*id)))});
  }
  for (const Sequence sequence : listing->snapshots) {
    const Result<Line> line = snapshot_line(files, sequence);
    say(out, shape, line ? *line : about(snapshot_name(sequence), line.error()));
  }
  for (const std::uint64_t number : listing->segments) {
    const Result<Line> line = segment_line(files, number);
    say(out, shape, line ? *line : about(segment_name(number), line.error()));
  }
  const Result<std::optional<CleanMark>> mark = read_clean_mark(files);
  if (!mark) return fail(mark.error());
  say(out,
      shape,
      {.text = *mark ? fmt::format("stopped cleanly before record {}", (*mark)->next_sequence)
                     : std::string("not stopped cleanly, or in use"),
       .json = fmt::format(R"({{"clean":{}}})", mark->has_value())});
  return {};
}

namespace {

Result<Verdict> look_at_every_byte(Files& files, Shape shape, const Sink& out) {
  const Result<Listing> listing = list(files);
  if (!listing) return fail(listing.error());
  Verdict verdict;
  std::vector<std::string> told;
  const auto complain = [&](const std::string& name, const Error& error) {
    verdict.damaged = true;
    told.push_back(error.message);
    say(out, shape, about(name, error));
  };
  for (const Sequence sequence : listing->snapshots) {
    const Result<Line> line = snapshot_line(files, sequence);
    if (!line) {
      complain(snapshot_name(sequence), line.error());
    } else {
      say(out, shape, *line);
    }
  }
  std::string buffer;
  for (std::size_t i = 0; i < listing->segments.size(); ++i) {
    const std::string name = segment_name(listing->segments[i]);
    Result<Segment> segment = open_segment(files, listing->segments[i], buffer);
    const Result<Sequence> limit = limit_of(files, *listing, i);
    if (!segment) {
      complain(name, segment.error());
      continue;
    }
    if (!limit) continue;  // the next one's complaint
    const Result<Walked> walked = walk(*segment, *limit, nothing_in);
    if (!walked) {
      complain(name, walked.error());
      continue;
    }
    const std::uint64_t records = walked->next_sequence - segment->header.first_sequence;
    say(out,
        shape,
        {.text = fmt::format("{}  {} records before {}", name, records, walked->next_sequence),
         .json = fmt::format(R"({{"file":{},"records":{},"next_sequence":{}}})",
                             json(name),
                             records,
                             walked->next_sequence)});
  }

  const Result<Findings> findings = rehearse(files);
  verdict.starts = findings.has_value();
  if (!findings) {
    verdict.damaged = true;
    say(out,
        shape,
        {.text = (std::ranges::find(told, findings.error().message) != told.end()
                      ? "does not start; "
                      : "does not start: " + findings.error().message + "; ") +
                 "`reeve journal salvage --to NEW` rescues what can be trusted",
         .json = fmt::format(R"({{"starts":false,"error":{}}})", json(findings.error().message))});
    return verdict;
  }
  const std::string torn =
      findings->torn_tail ? torn_text(*findings->torn_tail) : std::string("no torn tail");
  say(out,
      shape,
      {.text = fmt::format("starts; {}", torn),
       .json = fmt::format(R"({{"starts":true,"torn_tail":{}}})",
                           findings->torn_tail ? json(torn) : std::string("null"))});
  return verdict;
}

}  // namespace

Result<Verdict> journal_verify(Files& files, Shape shape, const Sink& out) {
  constexpr int most_looks = 10;
  for (int looks = 1;; ++looks) {
    std::vector<std::string> lines;
    const auto before = files.list();
    const Result<Verdict> verdict =
        look_at_every_byte(files, shape, [&](std::string_view line) { lines.emplace_back(line); });
    // Who uses the journal deletes what a snapshot covers, and what was not there any more when its
    // turn came would seem to be damage.
    const bool is_moving = verdict && verdict->damaged && before != files.list();
    if (is_moving && looks < most_looks) continue;
    for (const std::string& line : lines) out(line);
    return verdict;
  }
}

Result<void> journal_cat(Files& files,
                         Sequence from,
                         Shape shape,
                         const ShowPayload& show,
                         const Sink& out,
                         const Sink& notes) {
  const Result<Listing> listing = list(files);
  if (!listing) return fail(listing.error());
  const Sequence base = newest_base(files, *listing);
  std::string buffer;
  for (std::size_t i = 0; i < listing->segments.size(); ++i) {
    const Result<Sequence> limit = limit_of(files, *listing, i);
    if (!limit) return fail(limit.error());
    if (*limit <= from) continue;
    Result<Segment> segment = open_segment(files, listing->segments[i], buffer);
    if (!segment) return fail(segment.error());
    const Result<Walked> walked =
        walk(*segment, *limit, [&](std::span<const Record> group, Extent) -> Result<void> {
          for (const Record& record : group) {
            if (record.sequence < from) continue;
            out(shape == Shape::Json ? record_json(record, show) : record_text(record, show));
          }
          return {};
        });
    if (!walked && *limit > base + 1) return fail(walked.error());
    if (!walked) notes("not needed any more, but damaged: " + walked.error().message);
    if (walked && walked->torn) notes(torn_text(*walked->torn));
  }
  return {};
}

Result<void> journal_accept(
    Files& files, Sequence from, Judge& judge, Shape shape, const Sink& out) {
  const Result<Listing> listing = list(files);
  if (!listing) return fail(listing.error());
  const Result<std::unique_ptr<Recovery>> recovery = open_file_journal(files, Options{});
  if (!recovery) return fail(recovery.error());
  for (;;) {
    const Result<std::string_view> chunk = (*recovery)->next_chunk();
    if (!chunk) return fail(chunk.error());
    if (chunk->empty()) break;
    if (Result<void> loaded = judge.load(*chunk); !loaded) return loaded;
  }
  Moment moment;
  if ((*recovery)->snapshot()) {
    moment = (*recovery)->snapshot()->moment;
    if (Result<void> loaded = judge.loaded(*(*recovery)->snapshot()); !loaded) return loaded;
  }
  std::uint64_t differences = 0;
  const Result<void> told = (*recovery)->replay([&](std::span<const Record> group) -> Result<void> {
    for (const Record& record : group) {
      moment = {.sequence = record.sequence, .stamp = record.entry.stamp};
      const Result<std::optional<std::string>> difference = judge.replay(record);
      if (!difference) return fail(difference.error());
      if (!*difference) continue;
      if (record.sequence < from) {
        return fail(Error::Code::Conflict,
                    fmt::format("record {} is decided otherwise too, before {}: {}; to accept "
                                "that, say --from {}",
                                record.sequence,
                                from,
                                **difference,
                                record.sequence));
      }
      ++differences;
      say(out,
          shape,
          {.text = fmt::format("{} {}", record.sequence, **difference),
           .json = fmt::format(R"({{"difference":{{"sequence":{},"says":{}}}}})",
                               record.sequence,
                               json(**difference))});
    }
    return {};
  });
  if (!told) return told;

  const Result<std::unique_ptr<Journal>> begun = (*recovery)->begin();
  if (!begun) return fail(begun.error());
  {
    const Result<std::unique_ptr<SnapshotWriter>> writer = (*begun)->begin_snapshot(moment);
    if (!writer) return fail(writer.error());
    if (Result<void> saved = judge.save(**writer); !saved) return saved;
    const Result<SnapshotInfo> finished = (*writer)->finish(judge.digest());
    if (!finished) return fail(finished.error());
  }
  // From here on nobody needs them.
  const Result<Listing> now = list(files);
  if (!now) return fail(now.error());
  std::vector<std::string> aside;
  for (const Sequence sequence : now->snapshots) {
    if (sequence < moment.sequence) aside.push_back(snapshot_name(sequence));
  }
  for (const std::uint64_t number : now->segments) {
    if (number != now->segments.back()) aside.push_back(segment_name(number));
  }
  for (const std::string& name : aside) {
    if (Result<void> renamed = files.rename(name, "aside-" + name); !renamed) return renamed;
  }
  if (Result<void> closed = (*begun)->close(); !closed) return closed;
  say(out,
      shape,
      {.text = fmt::format("accepted: {} records decided otherwise, snapshot up to record {}, {} "
                           "files kept aside",
                           differences,
                           moment.sequence,
                           aside.size()),
       .json = fmt::format(R"({{"decided_otherwise":{},"sequence":{},"kept_aside":{}}})",
                           differences,
                           moment.sequence,
                           aside.size())});
  return {};
}

}  // namespace reeve::tools
