#include "adapters/history/buffer.h"

#include "base/check.h"
#include "codec/value_reader.h"
#include "core/shapes.h"

#include <algorithm>
#include <utility>

namespace reeve::history {
namespace {

constexpr char project_mark = 'p';
constexpr char event_mark = 'e';
constexpr std::size_t head_bytes = 1 + sizeof(std::uint32_t);

void put_head(ByteBuffer& to, char mark) {
  to.byte(mark);
  to.raw(std::string_view("\0\0\0\0", sizeof(std::uint32_t)));
}

}  // namespace

bool Buffer::put(const Event& event, Time now, const State& state) {
  scratch_.clear();
  if (!named_.contains(event.project.value)) {
    const project::Project* project = state.projects.projects.find(event.project);
    put_head(scratch_, project_mark);
    scratch_.varint(event.project.value);
    scratch_.text(project ? project->name : std::string_view());
    const auto size = static_cast<std::uint32_t>(scratch_.size() - head_bytes);
    std::memcpy(const_cast<char*>(scratch_.view().data()) + 1, &size, sizeof size);
  }
  const std::size_t begin = scratch_.size();
  put_head(scratch_, event_mark);
  scratch_.varint(zigzag(now.time_since_epoch().count()));
  append_value(scratch_, shape_of<Event>(), &event);
  const auto size = static_cast<std::uint32_t>(scratch_.size() - begin - head_bytes);
  std::memcpy(const_cast<char*>(scratch_.view().data()) + begin + 1, &size, sizeof size);

  const std::scoped_lock lock(mutex_);
  if (missed_) return false;
  if (event.sequence <= skip_to_) return true;
  if (bytes_ + scratch_.size() > most_bytes_) {
    missed_ = event.sequence;
    return false;
  }
  append(scratch_.view());
  named_.insert(event.project.value);  // with what was put, not with what was skipped
  return true;
}

// A chunk is never moved in memory: it has its room from the beginning.
void Buffer::append(std::string_view bytes) {
  const bool fits =
      !chunks_.empty() && chunks_.back().capacity() - chunks_.back().size() >= bytes.size();
  if (!fits) {
    chunks_.emplace_back();
    chunks_.back().reserve(std::max(chunk_bytes, bytes.size()));
  }
  chunks_.back() += bytes;
  bytes_ += bytes.size();
}

void Buffer::reached(Sequence sequence) {
  const std::scoped_lock lock(mutex_);
  // Of what was missed nothing is reached: it is not there.
  reached_ = std::max(reached_, missed_ ? std::min(sequence, *missed_ - 1) : sequence);
}

void Buffer::go_on(Sequence sequence) {
  const std::scoped_lock lock(mutex_);
  missed_.reset();
  skip_to_ = sequence;
  reached_ = std::max(reached_, sequence);
}

void Buffer::clear(Sequence sequence) {
  const std::scoped_lock lock(mutex_);
  chunks_.clear();
  bytes_ = 0;
  missed_.reset();
  skip_to_ = sequence;
  reached_ = sequence;
  named_.clear();
}

std::optional<Sequence> Buffer::missed() const {
  const std::scoped_lock lock(mutex_);
  return missed_;
}

std::size_t Buffer::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

Sequence Buffer::reached() const {
  const std::scoped_lock lock(mutex_);
  return reached_;
}

Buffer::Taken Buffer::take() {
  const std::scoped_lock lock(mutex_);
  return {std::exchange(chunks_, {}), reached_};
}

void Buffer::wrote(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  bytes_ -= std::min(bytes, bytes_);
}

bool read_record(std::string_view chunk,
                 std::size_t& offset,
                 std::optional<ProjectNamed>& named,
                 std::optional<Put>& put) {
  named.reset();
  put.reset();
  if (offset == chunk.size()) return false;
  std::uint32_t size = 0;
  std::memcpy(&size, chunk.data() + offset + 1, sizeof size);
  const char mark = chunk[offset];
  const std::string_view bytes = chunk.substr(offset + head_bytes, size);
  offset += head_bytes + size;
  codec::ValueReader reader(bytes);
  std::uint64_t first = 0;
  CHECK(reader.read_varint(first));
  if (mark == project_mark) {
    std::uint64_t length = 0;
    CHECK(reader.read_varint(length));
    named = ProjectNamed{{static_cast<std::uint32_t>(first)}, bytes.substr(reader.bytes_read())};
    return true;
  }
  put = Put{Blank<Event>::make(), {}};
  CHECK(reader.read(shape_of<Event>(), &put->event));
  put->stamp = {Time(Duration(unzigzag(first))), put->event.at};
  return true;
}

}  // namespace reeve::history
