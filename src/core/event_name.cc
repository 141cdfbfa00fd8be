#include "core/event_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace reeve {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> segments;
  while (true) {
    const std::size_t colon = text.find(':');
    segments.emplace_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return segments;
    text.remove_prefix(colon + 1);
  }
}

// `phase` and `phase(merge)` both match the verb `phase` of detail `merge`.
bool verb_matches(std::string_view pattern, const EventName& name) {
  if (pattern == "*" || pattern == name.verb) return true;
  if (!pattern.ends_with(')')) return false;
  const std::size_t bracket = pattern.find('(');
  if (bracket == std::string_view::npos) return false;
  return pattern.substr(0, bracket) == name.verb &&
         pattern.substr(bracket + 1, pattern.size() - bracket - 2) == name.detail;
}

bool segment_matches(std::string_view pattern, std::string_view text) {
  return pattern == "*" || pattern == text;
}

bool is_word(std::string_view text) {
  return std::ranges::none_of(text, [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte <= 0x20 || byte == 0x7F;
  });
}

// The one name of a single segment.
constexpr std::string_view lone_noun = "escalate";

// Nouns that only the core speaks of.
constexpr std::array own_nouns{std::string_view{"agent"},
                               std::string_view{"board"},
                               std::string_view{"cron"},
                               std::string_view{"decision"},
                               std::string_view{"dispatch"},
                               lone_noun,
                               std::string_view{"history"},
                               std::string_view{"lock"},
                               std::string_view{"mail"},
                               std::string_view{"pipeline"},
                               std::string_view{"process"},
                               std::string_view{"queue"},
                               std::string_view{"semaphore"},
                               std::string_view{"strategy"},
                               std::string_view{"guard"},
                               std::string_view{"system"},
                               std::string_view{"task"},
                               std::string_view{"wait"},
                               std::string_view{"worker"}};

}  // namespace

bool is_pattern(std::string_view text) {
  const std::vector<std::string> segments = split(text);
  if (segments.size() > 3) return false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string& segment = segments[i];
    if (segment.empty()) return false;
    const bool is_last = i + 1 == segments.size();
    const bool is_wild = segment == "*" || (segment == "**" && is_last);
    if (!is_wild && segment.find('*') != std::string::npos) return false;
  }
  const std::string_view first = segments.front();
  if (segments.size() == 1) return first.starts_with('*') || first == lone_noun;
  const std::string_view verb = segments.back();
  return is_word(first) && is_word(verb.substr(0, verb.find('(')));
}

Pattern parse_pattern(std::string_view text) { return {split(text)}; }

// `noun:verb` speaks of every subject; `noun:**` of every verb as well. A pattern of one
// segment is a noun that stands alone, such as `escalate`.
bool matches(const Pattern& pattern, const EventName& name) {
  const std::vector<std::string>& segments = pattern.segments;
  if (segments.empty()) return false;
  if (segments[0] == "**") return true;
  if (!segment_matches(segments[0], name.noun)) return false;
  if (segments.size() == 1) return name.verb.empty();
  if (segments.back() == "**") {
    return segments.size() == 2 || segment_matches(segments[1], name.subject);
  }
  if (segments.size() == 2) return verb_matches(segments[1], name);
  return segment_matches(segments[1], name.subject) && verb_matches(segments[2], name);
}

bool is_custom_name(std::string_view text) {
  const std::vector<std::string> segments = split(text);
  if (segments.size() < 2 || segments.size() > 3 || text.size() > 600) return false;
  if (std::ranges::any_of(segments, [](const std::string& segment) {
        return segment.empty() || segment.find('*') != std::string::npos;
      })) {
    return false;
  }
  return std::ranges::find(own_nouns, segments.front()) == own_nouns.end();
}

EventName custom_name(std::string_view text) {
  const std::vector<std::string> segments = split(text);
  if (segments.size() == 2) return {segments[0], "", segments[1]};
  return {segments[0], segments[1], segments[2]};
}

}  // namespace reeve
