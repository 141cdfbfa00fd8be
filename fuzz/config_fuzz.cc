// Links: config
//
// Settings: any bytes are read or told what is wrong with them, in order and at a place that the
// file has; and of what can be read, one key is set and unset while all others stay.

#include "config/document.h"
#include "config/edit.h"
#include "config/settings.h"
#include "fuzz/input.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace reeve;
using fuzz::require;

namespace {

void check_mistakes(const config::Mistakes& mistakes, std::string_view text) {
  require(!mistakes.empty(), "what is refused has a mistake");
  require(std::ranges::is_sorted(mistakes, {}, &config::Mistake::place), "mistakes are in order");
  const auto lines = std::ranges::count(text, '\n') + 1;
  for (const config::Mistake& mistake : mistakes) {
    require(mistake.place.line >= 1 && mistake.place.line <= lines, "at a line that it has");
    require(mistake.place.column >= 1, "and at a column");
    require(!mistake.message.empty(), "and has words");
    require(config::offset_of(text, mistake.place) <= text.size(), "and at a byte");
  }
}

void check_edit(std::string_view text, const config::Key& key, std::string_view value) {
  const auto with = config::with_key("f", text, key, value);
  if (!with) return;
  const auto document = config::parse_document("f", *with);
  require(document.has_value(), "what was set can be read");
  require(document->find(key.name) != nullptr, "and has the key");
  const auto without = config::without_key("f", *with, key);
  if (without) {
    const auto rest = config::parse_document("f", *without);
    require(rest && rest->find(key.name) == nullptr, "what was unset is gone");
  }
}

}  // namespace

// The first byte says which key is set.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const config::Key& key = config::keys()[input.take<std::uint8_t>() % config::keys().size()];
  const std::string_view text = input.rest();
  for (const config::Origin origin : {config::Origin::User, config::Origin::Project}) {
    const auto layer = config::read_layer(origin, "f", text);
    const auto again = config::read_layer(origin, "f", text);
    require(layer.has_value() == again.has_value(), "the same bytes, the same answer");
    if (layer) {
      require(layer->settings == again->settings, "the same bytes, the same settings");
    } else {
      require(layer.error() == again.error(), "the same bytes, the same mistakes");
      check_mistakes(layer.error(), text);
    }
  }
  check_edit(text, key, "\"90s\"");
  return 0;
}
