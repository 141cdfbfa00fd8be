#include "codec/binary.h"

#include "base/value_bytes.h"
#include "codec/value_reader.h"

#include <fmt/format.h>

namespace reeve::codec {

std::string to_bytes(const Shape& shape, const void* value) {
  ByteBuffer bytes;
  bytes.varint(format_version);
  append_value(bytes, shape, value);
  return std::string(bytes.view());
}

Result<void> from_bytes(const Shape& shape, std::string_view bytes, void* value) {
  ValueReader reader(bytes);
  std::uint64_t version = 0;
  if (!reader.read_varint(version)) return fail(reader.error());
  if (version != format_version) {
    return fail(
        Error::Code::Corrupt,
        fmt::format("values in format {}; this program reads format {}", version, format_version));
  }
  if (!reader.read(shape, value)) return fail(reader.error());
  if (!reader.is_at_end()) return fail(Error::Code::Corrupt, "bytes behind the end of the value");
  return {};
}

}  // namespace reeve::codec
