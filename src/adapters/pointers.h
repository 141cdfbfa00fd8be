#pragma once

#include <string>
#include <vector>

namespace reeve::adapters {

// Words or variables as exec and its like want them; good for as long as the texts are not changed.
inline std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace reeve::adapters
