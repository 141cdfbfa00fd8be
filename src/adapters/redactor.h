#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Takes secrets out of what a program says: `***` stands where one was, also if it came in two
// parts. What may be the beginning of one is kept back until it is known whether it is.
//
// A secret of several lines is also one line by line. What has fewer than four letters is none: it
// would be found everywhere.
namespace reeve::adapters {

class Redactor {
 public:
  explicit Redactor(const std::vector<std::string>& secrets = {});

  // What can be shown by now; as long as it is not called again.
  std::string_view pass(std::string_view bytes);
  // Of what was kept back, when nothing more comes.
  std::string_view rest();
  // Of a text that is whole.
  std::string whole(std::string_view text) const;
  // The key of the first of these whose value has one in it, also as a part; or null.
  const std::string* first_with_one(
      const std::vector<std::pair<std::string, std::string>>& values) const;

  bool has_secrets() const { return !secrets_.empty(); }

 private:
  std::string_view shown_of(bool is_all);

  std::vector<std::string> secrets_;  // the longest first
  std::string begins_;                // the first letters of all
  std::string kept_;
  std::string shown_;
};

}  // namespace reeve::adapters
