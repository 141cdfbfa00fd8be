#pragma once

#include "api/errors.h"
#include "api/limits.h"
#include "api/rpc.h"
#include "core/id.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

// Ids as people write them: whole (`pipe-4f7kq2`), or by the beginning that only one has, with its
// prefix or without (`pipe-4f`, `4f`).
namespace reeve::api {

template <class Id>
struct Meant {
  Id id = {};              // 0: there is none
  bool ambiguous = false;  // more than one begins like this
  bool too_many = false;   // there are too many to look for the beginning of one
};

// Among the keys of the map. Who has very many of them writes whole ids: what only seems to be the
// one may not be it.
template <class Id, class Map>
Meant<Id> id_meant(const Map& map, std::string_view text) {
  const std::string_view prefix = prefix_of(Id{});
  std::string whole(text);
  if (!text.starts_with(prefix)) whole.insert(0, prefix);
  if (const std::optional<Id> id = parse_id<Id>(whole); id && map.contains(*id)) return {*id};
  Meant<Id> meant;
  if (whole.size() == prefix.size()) return meant;
  std::size_t looked_at = 0;
  for (const auto& entry : map) {
    if (++looked_at > limits::prefix_search) return {.id = {}, .ambiguous = true, .too_many = true};
    if (!to_text(entry.first).starts_with(whole)) continue;
    meant.ambiguous = static_cast<bool>(meant.id);
    if (meant.ambiguous) break;
    meant.id = entry.first;
  }
  return meant;
}

// The same, and who asked is told if it is none.
template <class Id, class Map>
std::optional<Id> id_or_tell(Tell& tell,
                             const Map& map,
                             std::string_view text,
                             std::string_view kind) {
  const Meant<Id> meant = id_meant<Id>(map, text);
  if (meant.ambiguous) {
    const std::string message =
        meant.too_many
            ? fmt::format("{} must be whole: there are too many to look for its beginning",
                          quoted(text))
            : fmt::format("{} is the beginning of more than one id; write more of it",
                          quoted(text));
    tell.error(code::ambiguous, message).field("name", text);
    return std::nullopt;
  }
  if (!meant.id) {
    tell_not_found(tell, kind, text);
    return std::nullopt;
  }
  return meant.id;
}

// Of a request that changes something, after all its other fields were read. None: that was told,
// and the request is over.
template <class Id, class Map>
std::optional<Id> id_asked(Asking& ask,
                           const Map& map,
                           std::string_view text,
                           std::string_view kind) {
  const Meant<Id> meant = id_meant<Id>(map, text);
  if (meant.id && !meant.ambiguous) {
    ask.kept.name = to_text(meant.id);
    return meant.id;
  }
  ask.answer([&](Tell& tell) { id_or_tell<Id>(tell, map, text, kind); });
  return std::nullopt;
}

}  // namespace reeve::api
