#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

// One connection's side of a conversation, in the language of one peer. It makes the bytes of a
// request and finds the end of a reply; the load generator does all else, the same for every peer,
// so that what is compared is the servers.
namespace peers {

// What a client may ask for.
enum class Verb : std::uint8_t { Hello, Push, Take, Complete, Acquire, Release };

struct Answer {
  std::size_t bytes = 0;  // of the input that were it
  bool ok = false;        // what was asked for happened
};

class Speaker {
 public:
  Speaker() = default;
  Speaker(const Speaker&) = delete;
  Speaker& operator=(const Speaker&) = delete;
  virtual ~Speaker() = default;

  // Appends a request. Complete is about what the last Take gave, Release about the last Acquire.
  virtual void ask(Verb verb, std::string& out) = 0;

  // The first whole reply of `in`, to a request of this kind; none: more must come.
  virtual std::optional<Answer> hear(Verb verb, std::string_view in) = 0;
};

// `number` tells connections apart; `payload` is what is pushed.
std::unique_ptr<Speaker> make_reeve(std::uint32_t number, std::string_view payload);
std::unique_ptr<Speaker> make_beanstalk(std::uint32_t number, std::string_view payload);
// Lists: the fastest queue redis has. Items have no priority and no deadline.
std::unique_ptr<Speaker> make_redis(std::uint32_t number, std::string_view payload);
// Scripts that give an item a priority and a deadline, as Reeve's have.
std::unique_ptr<Speaker> make_redis_equal(std::uint32_t number, std::string_view payload);
std::unique_ptr<Speaker> make_postgres(std::uint32_t number, std::string_view payload);

// SQLite has no server: each client is a thread with the file open.
struct SqliteOptions {
  std::string file;
  std::string workload;
  std::uint32_t clients = 1;
  double seconds = 1;
  std::string payload;
};
struct Measured;
Measured run_sqlite(const SqliteOptions& options);

}  // namespace peers
