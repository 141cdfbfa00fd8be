#include "runbook/zone_file.h"

#include "runbook/mistake.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace reeve::runbook {
namespace {

using time_zone::Seconds;

constexpr std::size_t largest_file = 1 << 20;

// ── The rule ──

// Takes what it understands off the front of a text.
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool take(char letter) {
    if (!rest_.starts_with(letter)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool designation() {
    const bool angled = take('<');
    std::size_t length = 0;
    while (length < rest_.size() && is_part(rest_[length], angled)) ++length;
    rest_.remove_prefix(length);
    return length >= 3 && (!angled || take('>'));
  }
  std::optional<std::int32_t> number(std::int32_t largest) {
    std::int32_t value = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9' && digits < 4) {
      value = value * 10 + (rest_[digits++] - '0');
    }
    rest_.remove_prefix(digits);
    if (digits == 0 || value > largest) return std::nullopt;
    return value;
  }
  // [+-]hh[:mm[:ss]]
  std::optional<Seconds> time() {
    const bool negative = take('-');
    if (!negative) take('+');
    const auto hours = number(167);
    if (!hours) return std::nullopt;
    std::int32_t total = *hours * 3600;
    for (std::int32_t unit = 60; unit > 0 && take(':'); unit /= 60) {
      const auto part = number(59);
      if (!part) return std::nullopt;
      total += *part * unit;
    }
    return Seconds(negative ? -total : total);
  }
  std::optional<time_zone::Change> change() {
    if (!take(',') || !take('M')) return std::nullopt;
    const auto month = number(12);
    if (!month || !take('.')) return std::nullopt;
    const auto week = number(5);
    if (!week || !take('.')) return std::nullopt;
    const auto weekday = number(6);
    if (!weekday) return std::nullopt;
    time_zone::Change change{static_cast<std::uint32_t>(*month),
                             static_cast<std::uint32_t>(*week),
                             static_cast<std::uint32_t>(*weekday)};
    if (take('/')) {
      const auto at = time();
      if (!at) return std::nullopt;
      change.time = *at;
    }
    return change;
  }

 private:
  static bool is_part(char letter, bool angled) {
    const bool letters = (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
    const bool others = (letter >= '0' && letter <= '9') || letter == '+' || letter == '-';
    return letters || (angled && others);
  }

  std::string_view rest_;
};

std::optional<time_zone::Rule> rule_of(std::string_view text) {
  RuleReader reader(text);
  if (!reader.designation()) return std::nullopt;
  const auto west = reader.time();
  if (!west) return std::nullopt;
  time_zone::Rule rule{-*west, std::nullopt};  // POSIX counts to the west
  if (reader.done()) return rule;
  if (!reader.designation()) return std::nullopt;
  time_zone::Daylight daylight;
  daylight.offset = rule.standard + Seconds(3600);
  if (const auto given = reader.time()) daylight.offset = -*given;
  const auto start = reader.change();
  const auto end = start ? reader.change() : std::nullopt;
  if (!end || !reader.done()) return std::nullopt;
  daylight.start = *start;
  daylight.end = *end;
  rule.daylight = daylight;
  return rule;
}

// ── The file ──

struct Counts {
  std::size_t times = 0;
  std::size_t types = 0;
  std::size_t letters = 0;
  std::size_t leaps = 0;
  std::size_t standard = 0;
  std::size_t universal = 0;

  std::size_t bytes(std::size_t time_bytes) const {
    return times * (time_bytes + 1) + types * 6 + letters + leaps * (time_bytes + 4) + standard +
           universal;
  }
};

constexpr std::size_t header_bytes = 44;

std::int64_t big_endian(std::string_view bytes) {
  std::uint64_t value = (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

std::optional<Counts> counts_at(std::string_view bytes) {
  if (bytes.size() < header_bytes || !bytes.starts_with("TZif")) return std::nullopt;
  const auto count = [&](std::size_t at) {
    return static_cast<std::size_t>(big_endian(bytes.substr(at, 4)));
  };
  const Counts counts{count(32), count(36), count(40), count(28), count(24), count(20)};
  for (const std::size_t each : {counts.times,
                                 counts.types,
                                 counts.letters,
                                 counts.leaps,
                                 counts.standard,
                                 counts.universal}) {
    if (each > largest_file) return std::nullopt;
  }
  return counts;
}

std::optional<time_zone::Zone> zone_of(std::string name, std::string_view bytes) {
  // The first half is for readers of forty years ago, in 32 bits.
  const auto old = counts_at(bytes);
  if (!old || bytes.size() < 5 || bytes[4] < '2') return std::nullopt;
  const std::size_t skipped = header_bytes + old->bytes(4);
  if (bytes.size() < skipped) return std::nullopt;
  bytes.remove_prefix(skipped);
  const auto counts = counts_at(bytes);
  if (!counts || counts->types == 0) return std::nullopt;
  bytes.remove_prefix(header_bytes);
  if (bytes.size() < counts->bytes(8)) return std::nullopt;

  const std::string_view times = bytes.substr(0, counts->times * 8);
  const std::string_view indices = bytes.substr(times.size(), counts->times);
  const std::string_view types = bytes.substr(times.size() + indices.size(), counts->types * 6);
  const auto offset = [&](std::size_t type) {
    return Seconds(static_cast<std::int32_t>(big_endian(types.substr(type * 6, 4))));
  };
  time_zone::Zone zone;
  zone.name = std::move(name);
  zone.before = offset(0);
  for (std::size_t i = 0; i < counts->times; ++i) {
    const std::size_t type = static_cast<unsigned char>(indices[i]);
    if (type >= counts->types) return std::nullopt;
    const std::int64_t at = big_endian(times.substr(i * 8, 8));
    // Some files begin at the beginning of the world.
    if (at < -60'000'000'000 || at > 250'000'000'000) continue;
    zone.transitions.push_back(
        {Wall(std::chrono::seconds(at)), offset(type), types[type * 6 + 4] != 0});
  }
  std::string_view footer = bytes.substr(counts->bytes(8));
  if (!footer.starts_with('\n')) return std::nullopt;
  footer.remove_prefix(1);
  footer = footer.substr(0, footer.find('\n'));
  const Seconds last = zone.transitions.empty() ? zone.before : zone.transitions.back().offset;
  zone.rule = {last, std::nullopt};
  if (footer.empty()) return zone;
  const auto rule = rule_of(footer);
  if (!rule) return std::nullopt;
  zone.rule = *rule;
  return zone;
}

std::filesystem::path zone_folder() {
  // Read before anything runs beside us. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const given = std::getenv("TZDIR");
  return given != nullptr && *given != '\0' ? given : "/usr/share/zoneinfo";
}

std::vector<std::string> zone_names() {
  std::vector<std::string> names;
  std::error_code error;
  const std::filesystem::path folder = zone_folder();
  for (auto at = std::filesystem::recursive_directory_iterator(folder, error);
       !error && at != std::filesystem::recursive_directory_iterator();
       at.increment(error)) {
    const std::string name = at->path().lexically_relative(folder).string();
    const bool other = name.starts_with("posix") || name.starts_with("right") ||
                       name.find('.') != std::string::npos;
    if (!other && at->is_regular_file(error)) names.push_back(name);
  }
  return names;
}

bool is_zone_name(std::string_view name) {
  return !name.empty() && name.front() != '/' && name.find("..") == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace

Result<time_zone::Zone> parse_zone(const std::string& name, std::string_view bytes) {
  std::optional<time_zone::Zone> zone = zone_of(name, bytes);
  if (!zone || !time_zone::is_sound(*zone)) {
    return fail(Error::Code::Corrupt, "the file of time zone `" + name + "` cannot be understood");
  }
  return *std::move(zone);
}

Result<time_zone::Rule> parse_rule(std::string_view text) {
  const auto rule = rule_of(text);
  if (!rule) return fail(Error::Code::Corrupt, "not a time zone's rule: " + std::string(text));
  return *rule;
}

Result<time_zone::Zone> read_zone(const std::string& name) {
  if (name == "UTC") return time_zone::Zone{"UTC", Seconds{0}, {}, {}};
  std::error_code error;
  const std::filesystem::path path = zone_folder() / name;
  if (!is_zone_name(name) || !std::filesystem::is_regular_file(path, error)) {
    const std::vector<std::string> names = zone_names();
    const std::string near = nearest(name, names);
    return fail(Error::Code::NotFound,
                "unknown time zone `" + name + "`" +
                    (near.empty() ? "; expected a name such as Europe/Berlin"
                                  : "; did you mean `" + near + "`?"));
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file || bytes.size() > largest_file) {
    return fail(Error::Code::Io, "cannot read " + path.string());
  }
  return parse_zone(name, bytes);
}

}  // namespace reeve::runbook
