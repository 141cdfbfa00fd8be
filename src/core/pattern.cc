#include "core/pattern.h"

#include "core/regex_program.h"
#include "core/regex_search.h"

#include <algorithm>
#include <optional>
#include <string>

namespace reeve::pattern {
namespace {

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::optional<std::string_view> expression_of(std::string_view pattern) {
  if (pattern.size() < 3 || !pattern.starts_with('/') || !pattern.ends_with('/')) {
    return std::nullopt;
  }
  return pattern.substr(1, pattern.size() - 2);
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

}  // namespace

bool is_valid_regex(std::string_view expression) { return compile(expression).has_value(); }

bool is_valid(std::string_view pattern) {
  if (pattern.empty() || pattern.size() > max_bytes) return false;
  const std::optional<std::string_view> expression = expression_of(pattern);
  return !expression || is_valid_regex(*expression);
}

bool fits_together(const std::vector<std::string>& patterns) {
  if (patterns.size() > max_patterns) return false;
  std::size_t instructions = 0;
  for (const std::string& pattern : patterns) {
    const std::optional<std::string_view> expression = expression_of(pattern);
    if (!expression) continue;
    if (const std::optional<Program> program = compile(*expression))
      instructions += program->size();
  }
  return instructions <= max_together;
}

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty() || pattern.size() > max_bytes) return false;
  if (const std::optional<std::string_view> expression = expression_of(pattern)) {
    const std::optional<Program> program = compile(*expression);
    return program && search(*program, text);
  }
  return lowered(text).find(lowered(pattern)) != std::string::npos;
}

}  // namespace reeve::pattern
