#pragma once

#include "adapters/descriptor.h"
#include "adapters/run_directory.h"

#include <cstdint>
#include <string>
#include <string_view>

// What a program says, kept in a file that never grows over its limit: the first half of the limit
// as it came, and of what comes after that the last quarter at least. Writing never fails for
// whoever speaks: what finds no room on the disk is left out, and counted.
//
//     NAME          the head; when it has ended, all of it:
//                   head, "[reeve] ... 123456 bytes left out ...", tail
//     NAME.tail     while it runs over, or if there was no room to put them together: the newest
//     NAME.tail.1   and what came before that; who reads NAME when it has ended reads on in these
namespace reeve::adapters {

class BoundedLog {
 public:
  // An empty path: only the last of it is kept, in memory.
  BoundedLog(std::string path, std::uint64_t limit);

  void write(std::string_view bytes);
  // A line of our own, in brackets.
  void remark(std::string_view text);
  // Puts head and tail together. Nothing is written after that.
  void finish();

  // The last 64 KiB of it all.
  std::string_view recent() const { return last_of(recent_, output_kept); }
  std::uint64_t left_out() const { return left_out_; }

 private:
  void append(std::string_view bytes);
  std::size_t put(Descriptor& file, std::string_view bytes);
  void turn_over();

  std::string path_;
  std::uint64_t head_limit_;
  std::uint64_t tail_limit_;
  Descriptor head_;
  Descriptor tail_;
  std::uint64_t head_bytes_ = 0;
  std::uint64_t tail_bytes_ = 0;
  std::uint64_t older_bytes_ = 0;  // in NAME.tail.1
  std::uint64_t left_out_ = 0;
  std::string recent_;
};

// The last `most` bytes of a file, or less.
std::string tail_of_file(const std::string& path, std::size_t most);

}  // namespace reeve::adapters
