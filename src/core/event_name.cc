#include "core/event_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace reeve {
namespace {

// Noun; noun and verb; or noun, subject and verb: the subject is all between the first colon and
// the last.
std::vector<std::string> split(std::string_view text) {
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) return {std::string(text)};
  const std::size_t last = text.rfind(':');
  std::vector<std::string> segments{std::string(text.substr(0, first))};
  if (last > first) segments.emplace_back(text.substr(first + 1, last - first - 1));
  segments.emplace_back(text.substr(last + 1));
  return segments;
}

// Takes the part up to the next colon off the text; all of it if there is none.
std::string_view take_part(std::string_view& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view part = text.substr(0, colon);
  text.remove_prefix(std::min(colon + 1, text.size()));
  return part;
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

// A star alone is any subject; else each part of the one for a part of the other.
bool subject_matches(std::string_view pattern, std::string_view subject) {
  if (segment_matches(pattern, subject)) return true;
  if (std::ranges::count(pattern, ':') != std::ranges::count(subject, ':')) return false;
  while (!pattern.empty() || !subject.empty()) {
    if (!segment_matches(take_part(pattern), take_part(subject))) return false;
  }
  return true;
}

// Stars stand for whole parts.
bool has_whole_stars(std::string_view text) {
  while (!text.empty()) {
    const std::string_view part = take_part(text);
    if (part != "*" && part.find('*') != std::string_view::npos) return false;
  }
  return true;
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
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool is_rest = segments[i] == "**" && i + 1 == segments.size();
    if (segments[i].empty() || (!is_rest && !has_whole_stars(segments[i]))) return false;
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
    return segments.size() == 2 || subject_matches(segments[1], name.subject);
  }
  if (segments.size() == 2) return verb_matches(segments[1], name);
  return subject_matches(segments[1], name.subject) && verb_matches(segments[2], name);
}

bool is_custom_name(std::string_view text) {
  const std::vector<std::string> segments = split(text);
  if (segments.size() < 2 || text.size() > 600) return false;
  if (std::ranges::any_of(segments, [](const std::string& segment) {
        return segment.empty() || segment.find('*') != std::string::npos;
      })) {
    return false;
  }
  return is_pattern(text) && std::ranges::find(own_nouns, segments.front()) == own_nouns.end();
}

EventName custom_name(std::string_view text) {
  const std::vector<std::string> segments = split(text);
  if (segments.size() == 2) return {segments[0], "", segments[1]};
  return {segments[0], segments[1], segments[2]};
}

}  // namespace reeve
