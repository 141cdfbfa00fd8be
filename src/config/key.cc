#include "config/key.h"

#include "base/time.h"
#include "config/mistake.h"
#include "config/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace reeve::config {
namespace {

constexpr std::int64_t in_ms(std::chrono::milliseconds duration) { return duration.count(); }
constexpr std::int64_t longest = in_ms(std::chrono::days{3650});
constexpr std::int64_t mebibyte = std::int64_t{1} << 20U;
constexpr std::int64_t tebibyte = std::int64_t{1} << 40U;

constexpr std::array table{
    Key{.name = "history.bytes",
        .kind = Kind::Size,
        .standard = "4GiB",
        .says = "How large history may grow before the oldest is forgotten; 0: no such limit.",
        .stands = Stands::User,
        .effect = Effect::Restart,
        .most = 1024 * tebibyte},
    Key{.name = "history.count",
        .kind = Kind::Integer,
        .standard = "10000000",
        .says = "How many events history keeps; 0: no such limit.",
        .stands = Stands::User,
        .effect = Effect::Restart},
    Key{.name = "history.days",
        .kind = Kind::Integer,
        .standard = "30",
        .says = "How many days history keeps; 0: no such limit.",
        .stands = Stands::User,
        .effect = Effect::Restart,
        .most = 36'500},
    Key{.name = "history.enabled",
        .kind = Kind::Bool,
        .standard = "true",
        .says = "Whether what happened is kept for `reeve history`, `sql` and `stats`.",
        .stands = Stands::User,
        .effect = Effect::Restart},
    Key{.name = "journal.keep",
        .kind = Kind::Duration,
        .standard = "0s",
        .says = "How much longer than needed the journal is kept, to rebuild history from.",
        .stands = Stands::User,
        .effect = Effect::Restart,
        .most = longest},
    Key{.name = "limits.run_output",
        .kind = Kind::Size,
        .standard = "16MiB",
        .says = "How much is kept of what one run says; of more, the beginning and the end stay.",
        .stands = Stands::User,
        .effect = Effect::AtOnce,
        .least = 64 << 10,
        .most = tebibyte},
    Key{.name = "limits.running_effects",
        .kind = Kind::Integer,
        .standard = "64",
        .says =
            "How many steps run at a time; guards, hooks and messages have as many places again.",
        .stands = Stands::User,
        .effect = Effect::AtOnce,
        .least = 1,
        .most = 10'000},
    Key{.name = "limits.runs_bytes",
        .kind = Kind::Size,
        .standard = "2GiB",
        .says = "How much room all logs of runs may take; those not written to for longest go.",
        .stands = Stands::User,
        .effect = Effect::AtOnce,
        .least = mebibyte,
        .most = 1024 * tebibyte},
    Key{.name = "locking.poll_interval",
        .kind = Kind::Duration,
        .standard = "30s",
        .says = "How often a queue's outside `source` is asked if its runbook has no `poll`.",
        .least = 1000,
        .most = longest},
    Key{.name = "locking.section_timeout",
        .kind = Kind::Duration,
        .standard = "120m",
        .says = "How long a runner keeps a section of the board without a heartbeat.",
        .least = 1,
        .most = longest},
    Key{.name = "locking.task_timeout",
        .kind = Kind::Duration,
        .standard = "60m",
        .says = "How long a runner keeps a task of the board without a heartbeat.",
        .least = 1,
        .most = longest},
    Key{.name = "locking.wait_timeout",
        .kind = Kind::Duration,
        .standard = "30m",
        .says = "How long a runner waits for a task or section unless it says otherwise.",
        .least = 0,
        .most = longest},
    Key{.name = "notify.command",
        .kind = Kind::Text,
        .standard = "",
        .says = "What bash runs for each event of `notify.on`, with the event as JSON on stdin.",
        .stands = Stands::User,
        .effect = Effect::AtOnce},
    Key{.name = "notify.desktop",
        .kind = Kind::Bool,
        .standard = "true",
        .says = "Whether each event of `notify.on` is shown on the desktop, by notify-send.",
        .stands = Stands::User,
        .effect = Effect::AtOnce},
    Key{.name = "notify.on",
        .kind = Kind::Patterns,
        .standard = "",
        .says = "The events of any project that somebody is told of, at most once each.",
        .stands = Stands::User,
        .effect = Effect::AtOnce},
    Key{.name = "project.name",
        .kind = Kind::Name,
        .standard = "",
        .says = "What the project is called; without it as its folder.",
        .stands = Stands::Project},
    Key{.name = "ui.color",
        .kind = Kind::Choice,
        .standard = "auto",
        .says = "Whether commands use colour where --color does not say.",
        .stands = Stands::User,
        .choices = "auto|always|never"},
    Key{.name = "ui.time",
        .kind = Kind::Choice,
        .standard = "rel",
        .says = "How commands show moments where --time does not say: 3m ago, or exactly.",
        .stands = Stands::User,
        .choices = "rel|iso"},
};

// Both ends, or only the lower one if the upper one is out of everybody's reach.
std::string range_of(const Key& key, std::string (*written)(std::int64_t)) {
  if (key.most == std::numeric_limits<std::int64_t>::max()) {
    return fmt::format("of at least {}", written(key.least));
  }
  return fmt::format("from {} to {}", written(key.least), written(key.most));
}

}  // namespace

std::span<const Key> keys() { return table; }

const Key* find_key(std::string_view name) {
  const auto* const found = std::ranges::find(table, name, &Key::name);
  return found == table.end() ? nullptr : found;
}

std::string_view nearest_key(std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(table.size());
  for (const Key& key : table) names.push_back(key.name);
  return nearest(name, names);
}

std::vector<std::string_view> choices_of(const Key& key) {
  std::vector<std::string_view> all;
  if (key.kind == Kind::Bool) return {"true", "false"};
  std::string_view rest = key.choices;
  while (!rest.empty()) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    all.push_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(rest.size(), bar + 1));
  }
  return all;
}

std::string expected_of(const Key& key) {
  switch (key.kind) {
    case Kind::Duration:
      return "a duration " +
             range_of(key, [](std::int64_t ms) { return format_duration(Duration{ms}); });
    case Kind::Size:
      return "a size " + range_of(key, [](std::int64_t bytes) {
               return format_size(static_cast<std::uint64_t>(bytes));
             });
    case Kind::Integer:
      return "a whole number " +
             range_of(key, [](std::int64_t number) { return fmt::format("{}", number); });
    case Kind::Bool:
      return "true or false";
    case Kind::Text:
      return "a text";
    case Kind::Name:
      return "a name of 1 to 200 bytes without \"..\" or a \"-\" in front";
    case Kind::Patterns:
      return "patterns of events such as \"pipeline:failed\" or \"ci:*:green\"";
    case Kind::Choice: {
      std::string words;
      const std::vector<std::string_view> all = choices_of(key);
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i > 0) words += i + 1 == all.size() ? " or " : ", ";
        words += all[i];
      }
      return words;
    }
  }
  return "";
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::Duration:
      return "duration";
    case Kind::Size:
      return "size";
    case Kind::Integer:
      return "integer";
    case Kind::Bool:
      return "bool";
    case Kind::Text:
      return "text";
    case Kind::Name:
      return "name";
    case Kind::Patterns:
      return "patterns";
    case Kind::Choice:
      return "choice";
  }
  return "";
}

std::string_view name_of(Stands stands) {
  switch (stands) {
    case Stands::User:
      return "user";
    case Stands::Project:
      return "project";
    case Stands::Both:
      return "both";
  }
  return "";
}

std::string_view name_of(Effect effect) {
  switch (effect) {
    case Effect::NextCommand:
      return "next command";
    case Effect::AtOnce:
      return "at once";
    case Effect::Restart:
      return "restart";
  }
  return "";
}

std::string_view sentence_of(Stands stands) {
  switch (stands) {
    case Stands::User:
      return "the user's file only";
    case Stands::Project:
      return "the project's file only";
    case Stands::Both:
      return "the user's file, or the project's, which counts more";
  }
  return "";
}

std::string_view sentence_of(Effect effect) {
  switch (effect) {
    case Effect::NextCommand:
      return "with the next command";
    case Effect::AtOnce:
      return "at once with `reeve config set`, else when the daemon starts";
    case Effect::Restart:
      return "when the daemon starts: `reeve daemon restart`";
  }
  return "";
}

}  // namespace reeve::config
