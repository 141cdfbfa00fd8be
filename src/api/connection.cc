#include "api/connection.h"

#include "base/check.h"

#include <utility>

namespace reeve::api {
namespace {

// A buffer that was large once need not stay so.
constexpr std::size_t kept_capacity = std::size_t{64} << 10U;

}  // namespace

void Connection::written(std::size_t bytes) {
  CHECK(bytes <= output_.size() - written_);
  written_ += bytes;
  while (!owed_.empty() && owed_.front().until <= bytes_taken()) owed_.pop_front();
  if (written_ == output_.size()) {
    written_before_ += written_;
    written_ = 0;
    output_.clear();
    if (output_.capacity() > kept_capacity) output_ = std::string();
  } else if (written_ > kept_capacity && written_ > output_.size() / 2) {
    written_before_ += written_;
    output_.erase(0, written_);
    written_ = 0;
  }
  count();
}

void Connection::owe(ProjectNo project, std::string key, const Reply& reply) {
  owed_.push_back({written_before_ + output_.size(), project, std::move(key), reply});
}

}  // namespace reeve::api
