#include "codec/log_folder.h"

namespace reeve::codec {
namespace {

constexpr std::size_t most_bytes = 100;  // of each: a file name has 255

std::string part(std::string_view name) {
  std::string text(name.substr(0, most_bytes));
  for (char& letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '/' || byte < 0x20 || byte == 0x7F) letter = '_';
  }
  return text;
}

}  // namespace

std::string cron_log_folder(std::string_view cron, std::string_view project) {
  return "cron " + part(cron) + "@" + part(project);
}

}  // namespace reeve::codec
