#pragma once

#include "base/boxed.h"
#include "base/result.h"
#include "base/time.h"
#include "core/time_zone.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// When a cron fires, as a pure function of what was asked for and the time zone.
//
// An expression has the five fields of Vixie cron:
//
//     minute  hour  day of month  month  day of week
//     0-59    0-23  1-31          1-12   0-7 (0 and 7 are Sunday)
//
// Each is `*`, a number, a range `a-b`, a step `*/n`, `a-b/n` or `a/n` (from a to the end), or a
// list of these; months and days of the week also have names (jan, mon; case ignored). If both
// days are restricted, either of them is enough; a field written with `*` does not count as
// restricted here, so with `*/2` both must agree.
//
// Daylight saving: a job whose hour is fixed and falls into a stretch of local time that is left
// out runs once, at the first moment after it; in a stretch that comes twice it runs on the first
// pass only. A job whose hour is written with `*` follows elapsed time: nothing is made up for in
// a gap, and both passes of a fold count. So do intervals, which know no calendar at all.
namespace reeve::cron {

struct Interval {
  Duration every{60'000};

  bool operator==(const Interval&) const = default;
};

// The values of each field as bits.
struct Expression {
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days = 0;      // bit 1 is the first of the month
  std::uint32_t months = 0;    // bit 1 is January
  std::uint32_t weekdays = 0;  // bit 0 is Sunday
  bool any_hour = false;       // written with `*`
  bool any_day = false;
  bool any_weekday = false;

  bool operator==(const Expression&) const = default;
};

using Schedule = std::variant<Interval, Expression>;

// What to do when it is time and the last run has not ended.
enum class Overlap : std::uint8_t { Skip, BufferOne, BufferAll, CancelOther, Allow };

// What to do about the times that passed while nobody could look.
enum class CatchUp : std::uint8_t { None, Latest, All };

struct RunPipeline {
  std::string pipeline;
  std::vector<std::pair<std::string, std::string>> inputs;

  bool operator==(const RunPipeline&) const = default;
};

struct RunShell {
  std::string text;  // Shell text
  std::optional<Duration> timeout;

  bool operator==(const RunShell&) const = default;
};

// Monitors are run by a program that the loader made for them.
struct RunMonitors {
  std::vector<std::string> monitors;
  std::string text;  // Shell text

  bool operator==(const RunMonitors&) const = default;
};

using Action = std::variant<RunPipeline, RunShell, RunMonitors>;

// A cron of a runbook.
struct Definition {
  Schedule schedule;
  time_zone::Zone zone;
  Overlap overlap = Overlap::Skip;
  CatchUp catch_up = CatchUp::Latest;
  Duration window = std::chrono::hours{24};
  Action run;

  bool operator==(const Definition&) const = default;
};

// Within these the calendar and the zones are good; cron is not for geologists.
inline constexpr Wall calendar_begins = std::chrono::sys_days{std::chrono::year{1900} / 1 / 1};
inline constexpr Wall calendar_ends = std::chrono::sys_days{std::chrono::year{9999} / 1 / 1};

// The five fields. A mistake names the field and what stood there; an expression whose date
// never comes (30 February) is a mistake too.
Result<Expression> parse_expression(std::string_view text);

// Whether the bits could have come from parse_expression; an interval is at least a second.
bool is_sound(const Schedule& schedule);

// The first moment after `after` at which the expression fires, or none before the year 9999.
// Expression and zone are sound. Looks at a bounded number of days, whatever they are.
std::optional<Wall> next_after(const Expression& expression,
                               const time_zone::Zone& zone,
                               Wall after);

// The last one after `after` and not after `until`.
std::optional<Wall> last_until(const Expression& expression,
                               const time_zone::Zone& zone,
                               Wall after,
                               Wall until);

}  // namespace reeve::cron
