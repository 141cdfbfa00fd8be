#pragma once

#include "config/settings.h"

#include <string>
#include <string_view>
#include <vector>

// What the tests of settings share.
namespace reeve::config {

// The mistakes of a file called `config.toml`, as a person sees them.
inline std::vector<std::string> mistakes_in(std::string_view text, Origin origin = Origin::User) {
  std::vector<std::string> all;
  const auto layer = read_layer(origin, "config.toml", text);
  if (layer) return all;
  for (const Mistake& mistake : layer.error()) all.push_back(to_text(mistake));
  return all;
}

}  // namespace reeve::config
