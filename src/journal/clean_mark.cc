#include "journal/clean_mark.h"

#include "journal/crc32c.h"
#include "journal/little_endian.h"
#include "journal/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace reeve::journal {

namespace {

constexpr std::string_view mark_magic = "ReeveEnd";
constexpr std::uint32_t mark_version = 1;
constexpr std::size_t mark_bytes = 48;

std::uint32_t mark_crc(std::string_view bytes) {
  return crc32c(bytes.substr(16), crc32c(bytes.substr(0, 12)));
}

}  // namespace

std::string encode(const CleanMark& mark) {
  std::string bytes(mark_bytes, '\0');
  std::ranges::copy(mark_magic, bytes.begin());
  store(bytes.data() + 8, mark_version);
  std::ranges::copy(mark.journal.bytes, bytes.data() + 16);
  store(bytes.data() + 32, mark.next_sequence);
  store(bytes.data() + 40, mark.next_group);
  store(bytes.data() + 12, mark_crc(bytes));
  return bytes;
}

std::optional<CleanMark> decode_clean_mark(std::string_view bytes) {
  if (bytes.size() != mark_bytes || !bytes.starts_with(mark_magic)) return std::nullopt;
  if (load<std::uint32_t>(bytes.data() + 8) != mark_version) return std::nullopt;
  if (load<std::uint32_t>(bytes.data() + 12) != mark_crc(bytes)) return std::nullopt;
  CleanMark mark;
  std::ranges::copy(bytes.substr(16, 16), mark.journal.bytes.begin());
  mark.next_sequence = load<std::uint64_t>(bytes.data() + 32);
  mark.next_group = load<std::uint64_t>(bytes.data() + 40);
  return mark;
}

Result<void> write_clean_mark(Files& files, const CleanMark& mark) {
  const std::string name = unfinished(clean_name);
  const Result<std::unique_ptr<File>> file = files.create(name, Access::Write);
  if (!file) return fail(file.error());
  if (Result<void> written = (*file)->write(0, encode(mark)); !written) return written;
  if (Result<void> synced = (*file)->sync(); !synced) return synced;
  if (Result<void> renamed = files.rename(name, clean_name); !renamed) return renamed;
  return files.sync_directory();
}

Result<std::optional<CleanMark>> read_clean_mark(Files& files) {
  const Result<std::unique_ptr<File>> file = files.open(clean_name, Access::Read);
  if (!file && file.error().code == Error::Code::NotFound) return std::nullopt;
  if (!file) return fail(file.error());
  std::string bytes(mark_bytes + 1, '\0');
  const Result<std::size_t> got = (*file)->read(0, bytes);
  if (!got) return fail(got.error());
  bytes.resize(*got);
  const bool is_whole = bytes.size() == mark_bytes && bytes.starts_with(mark_magic) &&
                        load<std::uint32_t>(bytes.data() + 12) == mark_crc(bytes);
  if (is_whole && load<std::uint32_t>(bytes.data() + 8) != mark_version) {
    return fail(Error::Code::Conflict,
                fmt::format("{}: has version {} and this program reads {}; use the version of "
                            "Reeve that wrote it",
                            files.path_of(clean_name),
                            load<std::uint32_t>(bytes.data() + 8),
                            mark_version));
  }
  return decode_clean_mark(bytes);
}

}  // namespace reeve::journal
