#pragma once

#include "core/time_zone.h"

#include <chrono>

// Zones and moments for tests.
namespace reeve::testing {

using namespace std::chrono_literals;

inline time_zone::Zone zone_of(std::string name,
                               time_zone::Seconds standard,
                               time_zone::Seconds daylight,
                               time_zone::Change forward,
                               time_zone::Change back) {
  return {std::move(name), standard, {}, {standard, time_zone::Daylight{daylight, forward, back}}};
}

// Forward on the last Sunday of March at 2, back on the last Sunday of October at 3.
inline const time_zone::Zone berlin =
    zone_of("Europe/Berlin", 1h, 2h, {3, 5, 0, 2h}, {10, 5, 0, 3h});

// Forward on the second Sunday of March at 2, back on the first Sunday of November at 2.
inline const time_zone::Zone new_york =
    zone_of("America/New_York", -5h, -4h, {3, 2, 0, 2h}, {11, 1, 0, 2h});

// By half an hour, and in the southern summer: forward on the first Sunday of October at 2, back
// on the first Sunday of April at 2.
inline const time_zone::Zone lord_howe =
    zone_of("Australia/Lord_Howe", 10h + 30min, 11h, {10, 1, 0, 2h}, {4, 1, 0, 2h});

inline const time_zone::Zone utc = {};

inline Wall utc_at(
    int year, unsigned month, unsigned day, int hour = 0, int minute = 0, int second = 0) {
  return std::chrono::sys_days{std::chrono::year{year} / std::chrono::month{month} /
                               std::chrono::day{day}} +
         std::chrono::hours{hour} + std::chrono::minutes{minute} + std::chrono::seconds{second};
}

inline time_zone::Local local_at(
    int year, unsigned month, unsigned day, int hour = 0, int minute = 0) {
  return time_zone::Local(utc_at(year, month, day, hour, minute).time_since_epoch());
}

}  // namespace reeve::testing
