#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Patterns that users write to recognise a text, such as an error message: a substring, or
// between slashes a regular expression. The case of ASCII letters is ignored in both.
//
//     not possible to fast-forward
//     /^fatal: .*(conflict|diverged)$/
//
// Expressions are made of characters, `.` (not a newline), `[a-z]` and `[^a-z]`, `\d \w \s` and
// their opposites `\D \W \S`, `\n \r \t`, `\b`, a backslash before punctuation, `^` and `$` (of a
// line), groups `(...)` and `(?:...)`, `|`, and after any of it `*`, `+`, `?`, `{2}`, `{2,}`,
// `{2,5}`, with a `?` behind that changes nothing. All else is a mistake, for the loader to find.
//
// They are met by hostile texts, and sometimes they are hostile: matching takes time in proportion
// to the text, whatever the expression (all its possible states are followed side by side, never
// one after the other: core/regex_search.h), and an expression that would need more than
// `max_program` states is a mistake like any other. What is tried on one text, one pattern after
// the other, is bounded too: `fits_together`.
namespace reeve::pattern {

inline constexpr std::size_t max_bytes = 1000;     // of a pattern
inline constexpr std::size_t max_program = 500;    // of an expression: its instructions
inline constexpr int max_depth = 50;               // of groups in groups
inline constexpr std::size_t max_patterns = 100;   // of a list
inline constexpr std::size_t max_together = 1000;  // instructions of all expressions of a list

// Whether it can match anything: not empty, not too long, and a good expression if it is one.
bool is_valid(std::string_view pattern);

// Whether the text contains what the pattern describes. One that is not valid matches nothing.
bool matches(std::string_view pattern, std::string_view text);

// Whether a list of patterns is short enough to be tried on one text within a step.
bool fits_together(const std::vector<std::string>& patterns);

// Of a bare expression, without its slashes.
bool is_valid_regex(std::string_view expression);

}  // namespace reeve::pattern
