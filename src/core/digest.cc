#include "core/digest.h"

#include "base/shape.h"
#include "base/value_bytes.h"
#include "core/shapes.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>
#define XXH_STATIC_LINKING_ONLY  // for the state as a member
#include <xxhash.h>

namespace reeve {
namespace {

// Small enough to be hashed while it is still near.
constexpr std::size_t chunk = std::size_t{64} * 1024;

std::uint64_t hash_of(const ByteBuffer& buffer) {
  return XXH3_64bits(buffer.view().data(), buffer.size());
}

template <class T>
void append(ByteBuffer& to, const T& value) {
  append_value(to, shape_of<T>(), &value);
}

template <class T>
void append(ByteBuffer& to, const std::vector<T>& values) {
  to.varint(values.size());
  for (const T& value : values) append(to, value);
}

class HashParts final : public ByteSink {
 public:
  bool take(ByteBuffer& buffer) override {
    digest_.add(buffer.view());
    buffer.clear();
    return true;
  }
  std::uint64_t value() const { return digest_.value(); }

 private:
  StateDigest digest_;
};

}  // namespace

std::uint64_t digest_of(const Command& command) {
  ByteBuffer bytes;
  append(bytes, command);
  return hash_of(bytes);
}

std::uint64_t digest_of(const Said& said) {
  ByteBuffer bytes;
  append(bytes, said.reply);
  append(bytes, said.answers);
  append(bytes, said.events);
  append(bytes, said.effects);
  return hash_of(bytes);
}

std::uint64_t digest_of(const State& state) {
  HashParts hash;
  ByteBuffer buffer;
  for (const Field& part : shape_of<State>().fields) {
    const auto* const value = reinterpret_cast<const std::byte*>(&state) + part.offset;
    stream_value(buffer, *part.shape, value, chunk, hash);
  }
  return hash.value();
}

struct StateDigest::Hash {
  XXH3_state_t state;
};

StateDigest::StateDigest() : hash_(std::make_unique<Hash>()) { XXH3_64bits_reset(&hash_->state); }
StateDigest::~StateDigest() = default;

void StateDigest::add(std::string_view bytes) {
  XXH3_64bits_update(&hash_->state, bytes.data(), bytes.size());
}

std::uint64_t StateDigest::value() const { return XXH3_64bits_digest(&hash_->state); }

}  // namespace reeve
