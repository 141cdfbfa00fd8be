#pragma once

#include <span>
#include <string_view>

namespace reeve::api {

// The known word that somebody may have meant: a few slips away (letters left out, put in, changed,
// or two that changed places). Empty: none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

// How many slips lie between two words.
std::size_t slips_between(std::string_view a, std::string_view b);

}  // namespace reeve::api
