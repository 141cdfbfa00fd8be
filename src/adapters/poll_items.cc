#include "adapters/plan.h"
#include "codec/json_text.h"

#include <optional>

namespace reeve::adapters {
namespace {

constexpr std::size_t depth = 100;

// The value of its member `id`, a text or a number; none if it has no such one.
std::optional<std::string> id_of(std::string_view item) {
  codec::JsonCursor at(item);
  if (!at.skip_if('{') || at.skip_if('}')) return std::nullopt;
  std::optional<std::string> id;
  do {
    std::string key;
    if (!at.read_string(key) || !at.read_mark(':')) return std::nullopt;
    std::string text;
    std::string_view number;
    if (key == "id" && at.kind() == codec::JsonKind::String && at.read_string(text)) {
      id = text;
    } else if (key == "id" && at.kind() == codec::JsonKind::Number && at.read_number(number)) {
      id = number;
    } else if (!at.skip_value(depth)) {
      return std::nullopt;
    }
  } while (at.skip_if(','));
  return id;
}

}  // namespace

Result<Variables> parse_items(std::string_view text) {
  const auto bad = [&](const codec::JsonCursor& at) {
    return fail(Error::Code::BadRequest,
                "what the source says is not JSON: " + at.problem() + ", at byte " +
                    std::to_string(at.offset()));
  };
  Variables items;
  codec::JsonCursor at(text);
  const auto read_one = [&]() -> Result<void> {
    const std::size_t begin = at.offset();
    if (!at.skip_value(depth)) return bad(at);
    std::string_view item = text.substr(begin, at.offset() - begin);
    while (!item.empty() && (item.back() == ' ' || item.back() == '\n' || item.back() == '\r' ||
                             item.back() == '\t')) {
      item.remove_suffix(1);
    }
    std::optional<std::string> id = id_of(item);
    if (!id || id->empty()) {
      return fail(Error::Code::BadRequest,
                  "item " + std::to_string(items.size() + 1) + " of the source has no id");
    }
    items.emplace_back(*std::move(id), std::string(item));
    return {};
  };
  if (at.skip_if('[')) {
    if (!at.skip_if(']')) {
      do {
        if (auto read = read_one(); !read) return fail(read.error());
      } while (at.skip_if(','));
      if (!at.read_mark(']')) return bad(at);
    }
    if (!at.is_at_end()) return fail(Error::Code::BadRequest, "there is more behind the array");
    return items;
  }
  if (at.is_at_end()) {
    return fail(Error::Code::BadRequest, "the source says nothing; that it has none is said by []");
  }
  while (!at.is_at_end()) {
    if (auto read = read_one(); !read) return fail(read.error());
  }
  return items;
}

}  // namespace reeve::adapters
