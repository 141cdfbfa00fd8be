#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The names of the files in a journal's directory. Other names are not ours and left alone.
namespace reeve::journal {

std::string segment_name(std::uint64_t number);          // segment-000000000042
std::string snapshot_name(std::uint64_t last_sequence);  // snapshot-00000000000000000042

std::optional<std::uint64_t> segment_number(std::string_view name);
std::optional<std::uint64_t> snapshot_sequence(std::string_view name);

inline const std::string spare_name = "spare";  // zeroes, to become a segment
inline const std::string clean_name = "clean";  // there after a clean stop, until the next start

// The name under which a file is made before it gets its own; what has such a name at a start was
// never finished.
std::string unfinished(const std::string& name);
bool is_unfinished(std::string_view name);

// What a directory holds of a journal.
struct Listing {
  std::vector<std::uint64_t> segments;   // numbers, rising
  std::vector<std::uint64_t> snapshots;  // sequences, rising
  std::vector<std::string> unfinished;
  bool spare = false;
  bool clean = false;

  bool operator==(const Listing&) const = default;
};
Listing listing_of(const std::vector<std::string>& names);

}  // namespace reeve::journal
