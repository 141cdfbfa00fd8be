// Links: journal
// Adds: sim/disk.cc
//
// A snapshot file: any bytes are read without harm; what was written is read back; and a file that
// was changed is no snapshot.

#include "fuzz/input.h"
#include "journal/crc32c.h"
#include "journal/little_endian.h"
#include "journal/snapshot_file.h"
#include "sim/disk.h"

#include <string>

using namespace reeve;
using namespace reeve::journal;
using fuzz::require;

namespace {

const std::string name = "snapshot";
constexpr SnapshotHeader header{.journal = {.bytes = {1, 2, 3}},
                                .moment = {.sequence = 9, .stamp = {}}};

void put(sim::Disk& disk, std::string_view bytes) {
  const auto file = disk.create(name, Access::Write);
  require((*file)->write(0, bytes).has_value(), "the disk takes it");
}

Result<std::string> read(sim::Disk& disk) {
  const auto decoder = SnapshotDecoder::open(disk, name);
  if (!decoder) return fail(decoder.error());
  std::string content;
  for (;;) {
    const Result<std::string_view> chunk = (*decoder)->next();
    if (!chunk) return fail(chunk.error());
    if (chunk->empty()) return content;
    content += *chunk;
    if (content.size() > (std::size_t{64} << 20U)) return content;
  }
}

// Gives chunk headers the checksums they would have, so that what is behind them is reached.
std::string mended(std::string bytes) {
  if (bytes.size() < 64) return bytes;
  const std::string identity = bytes.substr(16, 24);
  store(bytes.data() + 12, crc32c(bytes.substr(16, 48), crc32c(bytes.substr(0, 12))));
  for (std::size_t at = 64; at + 24 <= bytes.size();) {
    const std::size_t stored = load<std::uint32_t>(bytes.data() + at);
    if (stored > bytes.size() - at - 24) break;
    const std::string covered = identity + bytes.substr(at, 8) + bytes.substr(at + 12, 12 + stored);
    store(bytes.data() + at + 8, crc32c(covered));
    at += 24 + stored;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  sim::Disk disk(1);
  const auto mode = input.take<std::uint8_t>();
  if (mode % 3 == 0 || mode % 3 == 1) {
    put(disk, mode % 3 == 0 ? std::string(input.rest()) : mended(std::string(input.rest())));
    const bool verified = verify_snapshot(disk, name).has_value();
    const bool was_read = read(disk).has_value();
    require(verified || !was_read, "what can be read can be verified");
    return 0;
  }
  const std::size_t chunk_size = 1 + input.take<std::uint16_t>();
  const bool compress = input.take<std::uint8_t>() % 2 == 0;
  const auto change_at = input.take<std::uint16_t>();
  const auto change_by = input.take<std::uint8_t>();
  const std::string content(input.rest());
  {
    const auto file = disk.create(name, Access::Write);
    SnapshotEncoder encoder(**file, header, chunk_size, compress);
    require(encoder.append(content).has_value(), "the disk takes it");
    require(encoder.finish({}).has_value(), "the disk takes it");
  }
  require(read(disk) == content, "a snapshot is read as it was written");
  require(verify_snapshot(disk, name).has_value(), "a snapshot is one");
  std::string bytes = disk.contents().at(name);
  if (change_by == 0) return 0;
  char& byte = bytes[change_at % bytes.size()];
  byte = static_cast<char>(byte ^ change_by);
  put(disk, bytes);
  require(!verify_snapshot(disk, name).has_value(), "a changed file is no snapshot");
  return 0;
}
