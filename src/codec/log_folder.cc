#include "codec/log_folder.h"

#include <algorithm>
#include <cstdint>

namespace reeve::codec {
namespace {

constexpr std::size_t most_bytes = 100;  // of each: a file name has 255

std::string part(std::string_view name) {
  std::string text(name.substr(0, most_bytes));
  for (char& letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '/' || byte < 0x20 || byte == 0x7F) letter = '_';
  }
  return text;
}

constexpr std::size_t most_of_name = 90;

bool is_special(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return letter == '/' || letter == '%' || byte < 0x20 || byte == 0x7F;
}

constexpr std::string_view digits = "0123456789ABCDEF";

// FNV-1a: the same on every machine, for the names of files stay.
std::string digest_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  std::string hex;
  for (int shift = 28; shift >= 0; shift -= 4) hex += digits[hash >> unsigned(shift) & 0xFU];
  return hex;
}

// How many bytes at the front belong together: a letter, or what stands for one.
std::size_t letter_at(std::string_view text) {
  if (text.front() == '%') return std::min<std::size_t>(3, text.size());
  std::size_t bytes = 1;
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) ++bytes;
  return bytes;
}

}  // namespace

std::string log_part(std::string_view name) {
  std::string text;
  for (const char letter : name) {
    if (is_special(letter) || (text.empty() && letter == '.')) {
      const auto byte = static_cast<unsigned char>(letter);
      text += {'%', digits[byte >> 4U], digits[byte & 0xFU]};
    } else {
      text += letter;
    }
  }
  if (text.size() <= most_of_name) return text;
  std::size_t kept = 0;
  for (std::string_view rest = text; kept + letter_at(rest) <= most_of_name;) {
    kept += letter_at(rest);
    rest.remove_prefix(letter_at(rest));
  }
  return text.substr(0, kept) + "~" + digest_of(name);
}

AttemptMark attempt_mark(std::string_view label) {
  for (std::size_t at = label.find('#'); at != std::string_view::npos;
       at = label.find('#', at + 1)) {
    const std::size_t end = std::min(label.find_first_not_of("0123456789", at + 1), label.size());
    const bool is_number = end > at + 1 && (end == label.size() || label[end] == ' ');
    if (is_number) return {at, end};
  }
  return {label.size(), label.size()};
}

std::string log_name(std::string_view label) {
  const auto [begin, end] = attempt_mark(label);
  std::string name = log_part(label.substr(0, begin));
  name += label.substr(begin, end - begin);
  if (end < label.size()) name += log_part(label.substr(end));
  return name;
}

std::string label_of_log_name(std::string_view name) {
  std::string label;
  while (!name.empty()) {
    const std::size_t high = name.size() > 2 ? digits.find(name[1]) : std::string_view::npos;
    const std::size_t low = name.size() > 2 ? digits.find(name[2]) : std::string_view::npos;
    const bool is_encoded = name.front() == '%' && high < digits.size() && low < digits.size();
    label += is_encoded ? static_cast<char>(high << 4U | low) : name.front();
    name.remove_prefix(is_encoded ? 3 : 1);
  }
  return label;
}

std::string cron_log_folder(std::string_view cron, std::string_view project) {
  return "cron " + part(cron) + "@" + part(project);
}

}  // namespace reeve::codec
