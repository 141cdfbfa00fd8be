#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Texts as a terminal shows them, and moments as people say them.
namespace reeve::cli {

// How many cells of a terminal the text takes: wide characters take two, combining marks none.
std::size_t display_width(std::string_view text);

// How many rows of a terminal of so many columns the text takes: one a line, and more where a line
// is wider.
std::size_t rows_on_screen(std::string_view text, std::size_t width);

// Safe to print: control characters (which could drive the terminal) become `\x1b`, what is not
// UTF-8 becomes `?`. Newlines and tabs become spaces. What is invisible, or turns the direction of
// writing around, becomes `\u{202e}`.
std::string printable(std::string_view text);

// Its lines, without their ends. What ends with a newline has no empty line behind it.
std::vector<std::string_view> split_lines(std::string_view text);

// At most `width` cells; what does not fit ends in `…`.
std::string fitted(std::string_view text, std::size_t width);

// What is longer than `most` cells without its middle: the beginning, `…`, and the command to copy
// that stands at its end, with what is around it ("; `reeve why deploy`"). `widest`: what else is
// one word and longer than that ends in `…`; 0: words are whole.
std::string in_brief(std::string_view text, std::size_t most, std::size_t widest = 0);

// Breaks at spaces into lines of at most `width` cells; every line but the first is indented by so
// much. A word that is longer has a line of its own, and so has a command to copy, in backquotes
// (`reeve why deploy`): it is never broken. `more`: by how much the first line may be longer.
std::string wrapped(std::string_view text,
                    std::size_t width,
                    std::size_t indent,
                    std::size_t more = 0);

// Milliseconds since 1970 of an RFC 3339 moment in UTC ("2026-07-28T09:00:00.250Z").
std::optional<std::int64_t> parse_moment(std::string_view text);
std::string format_moment(std::int64_t milliseconds);

// "now", "3s ago", "in 57s", "2h5m ago", "4d ago": two units at most, rounded down.
std::string relative(std::int64_t moment, std::int64_t now);

// "850ms", "3s", "2h5m": as relative() tells a distance.
std::string rough_duration(std::int64_t milliseconds);

// "1,234,567".
std::string with_commas(std::int64_t number);

// "1 item", "3 items".
std::string counted(std::int64_t count, std::string_view noun);

// "812 B", "4.0 KiB", "1.3 GiB".
std::string byte_size(std::uint64_t bytes);

}  // namespace reeve::cli
