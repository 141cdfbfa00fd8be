#pragma once

#include "core/id.h"

#include <string>
#include <string_view>
#include <vector>

// What an event is called, and what it is called by.
//
// An event is `noun:verb` with the id of its subject alongside: `pipeline:complete` of
// `pipe-4f7kq2`. A pattern is `noun:verb` or `noun:subject:verb`, with `*` for any one
// segment and `**` for all the rest; the verb may ask for a detail in brackets, as in
// `pipeline:phase(merge)`. The subject is all that stands between the first colon and the last, so
// it may have colons of its own. `*` as the whole subject is any; between such colons it is a part.
//
//     pipeline:complete            every pipeline's
//     pipeline:pipe-4f7kq2:complete  of that one
//     lock:shop:main:acquired      of the lock shop:main
//     lock:shop:*:acquired         of shop:main and shop:next, not of shop:main:old
//     ci:*:green                   custom events are named alike
//     pipeline:**                  all there is to say of pipelines
namespace reeve {

struct EventName {
  std::string noun;
  std::string subject;  // may be empty
  std::string verb;
  std::string detail = {};  // the phase of pipeline:phase

  bool operator==(const EventName&) const = default;
};

struct Pattern {
  std::vector<std::string> segments;  // noun; noun, verb; or noun, subject, verb

  auto operator<=>(const Pattern&) const = default;
};

// What some event can match. No noun, subject or verb is empty, and `**` is only the last segment;
// `*` stands for a whole segment and never for a part of one. Only subjects and details may have
// blanks; of one segment there are but `*`, `**` and `escalate`.
bool is_pattern(std::string_view text);
Pattern parse_pattern(std::string_view text);

bool matches(const Pattern& pattern, const EventName& name);

// Whether `category:action`, or `category:subject:action`, can be emitted by a user: not one of
// the nouns that the core itself speaks of, and what a pattern can name.
bool is_custom_name(std::string_view text);
EventName custom_name(std::string_view text);

}  // namespace reeve
