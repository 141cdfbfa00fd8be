#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Everything that can be set, in one table: what reads files, checks values, completes, describes
// and documents all read the same lines. A key without an effect has no place in it.
namespace reeve::config {

enum class Kind : std::uint8_t {
  Duration,  // "90s"
  Size,      // "16MiB", or bytes
  Integer,
  Bool,
  Text,
  Name,      // of a thing of Reeve's
  Patterns,  // of events, a list
  Choice,
};

// In which files it may stand.
enum class Stands : std::uint8_t { User, Project, Both };

// Who reads it, and so when a change of it takes effect.
enum class Effect : std::uint8_t {
  NextCommand,  // every command reads it anew
  AtOnce,       // the daemon, at its start, and again when it is told to
  Restart,      // the daemon, at its start only
};

struct Key {
  std::string_view name;  // locking.task_timeout
  Kind kind = Kind::Text;
  std::string_view standard;  // the default, as `reeve config set` would take it; empty: nothing
  std::string_view says;      // one sentence
  Stands stands = Stands::Both;
  Effect effect = Effect::NextCommand;
  // Of an Integer; of a Duration in milliseconds; of a Size in bytes.
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::string_view choices = {};  // separated by |
};

// By name.
std::span<const Key> keys();
const Key* find_key(std::string_view name);

// The key that somebody may have meant; empty: none is near.
std::string_view nearest_key(std::string_view name);

std::vector<std::string_view> choices_of(const Key& key);

// For people: "a duration from 1s to 365d", "auto, always or never".
std::string expected_of(const Key& key);
std::string_view name_of(Kind kind);      // duration
std::string_view name_of(Stands stands);  // user
std::string_view name_of(Effect effect);  // restart
std::string_view sentence_of(Stands stands);
std::string_view sentence_of(Effect effect);

}  // namespace reeve::config
