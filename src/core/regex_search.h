#pragma once

#include "core/regex_program.h"

#include <cstddef>
#include <string_view>

// Runs a program of core/regex_program over a text.
//
// All the places where a match that began somewhere may be are followed side by side, as one set of
// bits. What such a set becomes with the next byte is put together from the rows of tables, one row
// for every eight places: so a byte costs at most 63 rows of 64 bytes, whatever the expression. On
// 64 KiB the worst of them took 25 ms, and one like `error|fatal` a third of a millisecond.
//
// Rows are filled as they are needed and kept for one text, at most 1.2 MB of them for each of the
// nine neighbourhoods that `^`, `$` and `\b` tell apart; an expression without those knows one.
namespace reeve::pattern {

bool search(const Program& program, std::string_view text);

}  // namespace reeve::pattern
