#include "adapters/redactor.h"

#include <algorithm>

namespace reeve::adapters {
namespace {

constexpr std::size_t shortest = 4;
constexpr std::string_view instead = "***";

}  // namespace

Redactor::Redactor(const std::vector<std::string>& secrets) {
  const auto add = [&](std::string_view text) {
    while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
    if (text.size() >= shortest) secrets_.emplace_back(text);
  };
  for (const std::string& secret : secrets) {
    add(secret);
    if (secret.find('\n') == std::string::npos) continue;
    for (std::string_view rest = secret; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      add(line);
    }
  }
  std::ranges::sort(secrets_, std::greater{}, &std::string::size);
  for (const std::string& secret : secrets_) begins_ += secret.front();
}

std::string_view Redactor::pass(std::string_view bytes) {
  if (secrets_.empty()) return bytes;
  kept_ += bytes;
  return shown_of(false);
}

std::string_view Redactor::rest() { return shown_of(true); }

std::string Redactor::whole(std::string_view text) const {
  Redactor copy = *this;
  copy.kept_ = text;
  return std::string(copy.shown_of(true));
}

const std::string* Redactor::first_with_one(
    const std::vector<std::pair<std::string, std::string>>& values) const {
  const auto found = std::ranges::find_if(
      values, [&](const auto& each) { return whole(each.second) != each.second; });
  return found == values.end() ? nullptr : &found->first;
}

// The longest that fits counts; so a shorter one waits while a longer may still come.
std::string_view Redactor::shown_of(bool is_all) {
  shown_.clear();
  const std::string_view text = kept_;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t next = std::min(text.find_first_of(begins_, at), text.size());
    shown_ += text.substr(at, next - at);
    at = next;
    const std::string_view here = text.substr(at);
    if (here.empty()) break;
    const auto fits = [&](const std::string& secret) {
      return here.starts_with(secret) ||
             (!is_all && here.size() < secret.size() && secret.starts_with(here));
    };
    const auto found = std::ranges::find_if(secrets_, fits);
    if (found == secrets_.end()) {
      shown_ += here.front();
      ++at;
    } else if (here.size() >= found->size()) {
      shown_ += instead;
      at += found->size();
    } else {
      break;
    }
  }
  kept_.erase(0, at);
  return shown_;
}

}  // namespace reeve::adapters
