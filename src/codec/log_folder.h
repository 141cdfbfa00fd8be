#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// How what programs say is kept in `logs/` of the home. The hands write there, and whoever is asked
// about it looks there.
namespace reeve::codec {

// Of a cron's programs: `cron nightly@shop`.
std::string cron_log_folder(std::string_view cron, std::string_view project);

// A name as it stands in a file's: `/`, `%` and what controls a terminal are `%2F`, and of one that
// is too long there are the first letters, `~` and a digest of all of it.
std::string log_part(std::string_view name);
// The same of a whole label, of which the part before the number of an attempt and the part behind
// it are names: `merge#2 rebase`. The number stays as it is.
std::string log_name(std::string_view label);
// What such a name was made from; of what was cut, what is left.
std::string label_of_log_name(std::string_view name);

// Where the number of an attempt stands in a label: that of its `#`, and where its digits end.
// None: the size of it, twice.
struct AttemptMark {
  std::size_t begin = 0;
  std::size_t end = 0;
};
AttemptMark attempt_mark(std::string_view label);

}  // namespace reeve::codec
