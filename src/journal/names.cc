#include "journal/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace reeve::journal {

namespace {

constexpr std::string_view segment_prefix = "segment-";
constexpr std::string_view snapshot_prefix = "snapshot-";
constexpr std::string_view unfinished_suffix = ".tmp";

// Exactly what the writers of names write: another spelling of the number is another name.
std::optional<std::uint64_t> number_in(std::string_view name,
                                       std::string_view prefix,
                                       std::string (*spell)(std::uint64_t)) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = name.substr(prefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc{} || end != digits.end() || spell(number) != name) return std::nullopt;
  return number;
}

}  // namespace

std::string segment_name(std::uint64_t number) {
  return fmt::format("{}{:012}", segment_prefix, number);
}

std::string snapshot_name(std::uint64_t last_sequence) {
  return fmt::format("{}{:020}", snapshot_prefix, last_sequence);
}

std::optional<std::uint64_t> segment_number(std::string_view name) {
  return number_in(name, segment_prefix, segment_name);
}

std::optional<std::uint64_t> snapshot_sequence(std::string_view name) {
  return number_in(name, snapshot_prefix, snapshot_name);
}

std::string unfinished(const std::string& name) { return name + std::string(unfinished_suffix); }

bool is_unfinished(std::string_view name) {
  if (!name.ends_with(unfinished_suffix)) return false;
  const std::string_view stem = name.substr(0, name.size() - unfinished_suffix.size());
  return stem == spare_name || stem == clean_name || segment_number(stem) ||
         snapshot_sequence(stem);
}

Listing listing_of(const std::vector<std::string>& names) {
  Listing listing;
  for (const std::string& name : names) {
    if (const auto number = segment_number(name)) {
      listing.segments.push_back(*number);
    } else if (const auto sequence = snapshot_sequence(name)) {
      listing.snapshots.push_back(*sequence);
    } else if (is_unfinished(name)) {
      listing.unfinished.push_back(name);
    }
    listing.spare |= name == spare_name;
    listing.clean |= name == clean_name;
  }
  std::ranges::sort(listing.segments);
  std::ranges::sort(listing.snapshots);
  return listing;
}

}  // namespace reeve::journal
