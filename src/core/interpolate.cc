#include "core/interpolate.h"

#include <algorithm>
#include <cstddef>

namespace reeve {
namespace {

bool begins_name(char letter) { return (letter >= 'a' && letter <= 'z') || letter == '_'; }

bool continues_name(char letter) {
  return begins_name(letter) || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9');
}

// Where the name that begins at `at` ends; `at` itself if there is none.
std::size_t end_of_name(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && begins_name(text[end])) {
    while (end < text.size() && continues_name(text[end])) ++end;
    if (end + 1 >= text.size() || text[end] != '.' || !begins_name(text[end + 1])) return end;
    ++end;
  }
  return end;
}

// For each opening brace its closing one; the size of the text if it has none. Made once, so
// that a text of nothing but braces is read in the time that its length takes.
std::vector<std::size_t> closing_braces(std::string_view text) {
  std::vector<std::size_t> closing(text.size(), text.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') open.push_back(i);
    if (text[i] == '}' && !open.empty()) {
      closing[open.back()] = i;
      open.pop_back();
    }
  }
  return closing;
}

// Tells `plain` and `name` what the text consists of, in order, until `name` says stop (false).
template <class Plain, class Name>
void read(std::string_view text, Plain plain, Name name) {
  const std::vector<std::size_t> closing = closing_braces(text);
  std::size_t done = 0;
  std::size_t at = 0;
  const auto flush = [&] { plain(text.substr(done, at - done)); };
  while (at < text.size()) {
    if (text[at] != '{') {
      ++at;
      continue;
    }
    const bool left_alone = at > 0 && (text[at - 1] == '$' || text[at - 1] == '#');
    if (left_alone) {
      at = closing[at] < text.size() ? closing[at] + 1 : at + 1;
      continue;
    }
    const bool twice = text.substr(at).starts_with("{{");
    const std::size_t begin = at + (twice ? 2 : 1);
    const std::size_t end = end_of_name(text, begin);
    if (end == begin || !text.substr(end).starts_with(twice ? "}}" : "}")) {
      ++at;
      continue;
    }
    flush();
    if (twice) {
      plain(text.substr(at + 1, end - at));
    } else if (!name(text.substr(begin, end - begin))) {
      return;
    }
    at = done = end + (twice ? 2 : 1);
  }
  flush();
}

const std::string* value_of(const Variables& variables, std::string_view name) {
  const auto found = std::ranges::find(variables, name, &Variables::value_type::first);
  return found == variables.end() ? nullptr : &found->second;
}

}  // namespace

std::vector<std::string> placeholders_in(std::string_view text) {
  std::vector<std::string> names;
  read(
      text,
      [](std::string_view) {},
      [&](std::string_view name) {
        if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
        return true;
      });
  return names;
}

std::variant<std::string, UnknownName> interpolate(std::string_view text,
                                                   const Variables& variables) {
  std::string filled;
  std::variant<std::string, UnknownName> result;
  read(
      text,
      [&](std::string_view plain) { filled += plain; },
      [&](std::string_view name) {
        const std::string* value = value_of(variables, name);
        if (!value) {
          result = UnknownName{std::string(name)};
          return false;
        }
        filled += *value;
        return true;
      });
  if (std::holds_alternative<std::string>(result)) result = std::move(filled);
  return result;
}

}  // namespace reeve
