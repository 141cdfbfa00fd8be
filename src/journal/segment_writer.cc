#include "journal/segment_writer.h"

#include "base/check.h"
#include "base/planted.h"

#include <algorithm>
#include <cstring>

namespace reeve::journal {

namespace {

constexpr std::uint64_t up_to_blocks(std::uint64_t size) {
  return (size + block_size - 1) / block_size * block_size;
}

}  // namespace

std::uint64_t group_size(std::span<const Entry> entries) {
  std::uint64_t size = 0;
  for (const Entry& entry : entries) size += encoded_size(entry.payload.size());
  return size;
}

std::uint64_t segment_size_for(std::uint64_t wish, std::uint64_t group) {
  return up_to_blocks(std::max(wish, block_size + group));
}

Result<void> make_zeroes(Files& files, const std::string& name, std::uint64_t size) {
  const Result<std::unique_ptr<File>> file = files.create(name, Access::Write);
  if (!file) return fail(file.error());
  if (Result<void> filled = (*file)->fill_with_zeroes(size); !filled) return filled;
  return (*file)->sync();
}

Result<std::uint64_t> make_zeroes(Files& files,
                                  const std::string& name,
                                  std::uint64_t wish,
                                  std::uint64_t least) {
  Result<void> made = make_zeroes(files, name, wish);
  if (made) return wish;
  if (made.error().code != Error::Code::Full || least >= wish) return fail(made.error());
  made = make_zeroes(files, name, least);
  if (!made) return fail(made.error());
  return least;
}

char* BlockBuffer::grow_to(std::size_t size, std::size_t keep) {
  if (size <= size_) return memory_.get();
  const std::size_t rounded = up_to_blocks(std::max(size, 2 * size_));
  auto* const memory = static_cast<char*>(std::aligned_alloc(block_size, rounded));
  CHECK(memory != nullptr);
  if (keep > 0) std::memcpy(memory, memory_.get(), keep);
  memory_.reset(memory);
  size_ = rounded;
  return memory;
}

Result<SegmentWriter> SegmentWriter::begin(std::unique_ptr<File> file,
                                           const SegmentHeader& header) {
  CHECK(header.size % block_size == 0 && header.size > block_size);
  SegmentWriter writer(std::move(file), header);
  char* const block = writer.buffer_.grow_to(block_size, 0);
  std::ranges::copy(encode(header), block);
  if (Result<void> written = writer.file_->write(0, {block, block_size}); !written) {
    return fail(written.error());
  }
  if (Result<void> synced = writer.file_->sync(); !synced) return fail(synced.error());
  return writer;
}

Result<void> SegmentWriter::append(Sequence first, Group group, std::span<const Entry> entries) {
  const std::uint64_t size = group_size(entries);
  CHECK(!entries.empty() && fits(size));
  const std::uint64_t begin = end_ / block_size * block_size;
  const std::size_t held = end_ - begin;
  const std::size_t whole = up_to_blocks(held + size);
  char* const blocks = buffer_.grow_to(whole, held);

  char* out = blocks + held;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Record record{.sequence = first + i,
                        .group = group,
                        .last_of_group = i + 1 == entries.size(),
                        .entry = entries[i]};
    const std::uint64_t offset = begin + static_cast<std::uint64_t>(out - blocks);
    encode(record, Place{header_.journal, header_.number, offset}, out);
    out += encoded_size(entries[i].payload.size());
  }
  std::fill(out, blocks + whole, '\0');

  if (Result<void> written = file_->write(begin, {blocks, whole}); !written) return written;
  if (!planted(Bug::AckBeforeSync)) {
    Result<void> synced = file_->sync();
    if (!synced && planted(Bug::RetryFailedSync)) synced = file_->sync();
    if (!synced) return synced;
  }

  end_ += size;
  const std::size_t kept_from = (end_ / block_size * block_size) - begin;
  const std::size_t kept = end_ % block_size;
  if (kept_from > 0) std::memmove(blocks, blocks + kept_from, kept);
  return {};
}

}  // namespace reeve::journal
