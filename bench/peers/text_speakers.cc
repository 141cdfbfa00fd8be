// Peers that speak in lines: Reeve, beanstalkd, redis.

#include "bench/peers/speaker.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>

namespace peers {
namespace {

// What stands between two marks; empty if they are not there.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = text.substr(begin + before.size());
  return rest.substr(0, rest.find_first_of(after));
}

class Reeve final : public Speaker {
 public:
  Reeve(std::uint32_t number, std::string_view payload) : number_(number), payload_(payload) {}

  void ask(Verb verb, std::string& out) override {
    const auto end = std::back_inserter(out);
    switch (verb) {
      case Verb::Hello:
        fmt::format_to(end,
                       R"({{"id":1,"method":"session.hello","params":{{}}}})"
                       "\n");
        return;
      case Verb::Push:
        fmt::format_to(
            end,
            R"({{"id":1,"method":"queue.push","params":{{"queue":"bench","data":"{}"}}}})"
            "\n",
            payload_);
        return;
      case Verb::Take:
        fmt::format_to(
            end,
            R"({{"id":1,"method":"queue.take","params":{{"queues":["bench"],"holder":"c{}"}}}})"
            "\n",
            number_);
        return;
      case Verb::Complete:
        fmt::format_to(
            end,
            R"({{"id":1,"method":"queue.complete","params":{{"queue":"bench","id":"{}","claim":{}}}}})"
            "\n",
            item_,
            claim_);
        return;
      case Verb::Acquire:
        fmt::format_to(
            end,
            R"({{"id":1,"method":"lock.acquire","params":{{"names":["l{0}"],"holder":"c{0}"}}}})"
            "\n",
            number_);
        return;
      case Verb::Release:
        fmt::format_to(
            end,
            R"({{"id":1,"method":"lock.release","params":{{"name":"l{0}","holder":"c{0}"}}}})"
            "\n",
            number_);
        return;
    }
  }

  std::optional<Answer> hear(Verb verb, std::string_view in) override {
    const std::size_t line = in.find('\n');
    if (line == std::string_view::npos) return std::nullopt;
    const std::string_view reply = in.substr(0, line);
    bool ok = reply.find("\"result\":") != std::string_view::npos;
    if (verb == Verb::Take) {
      item_ = between(reply, "\"id\":\"", "\"");
      claim_ = between(reply, "\"claim\":", ",}");
      ok = !item_.empty();
    }
    return Answer{line + 1, ok};
  }

 private:
  std::uint32_t number_;
  std::string payload_;
  std::string item_;
  std::string claim_;
};

class Beanstalk final : public Speaker {
 public:
  explicit Beanstalk(std::string_view payload) : payload_(payload) {}

  void ask(Verb verb, std::string& out) override {
    const auto end = std::back_inserter(out);
    switch (verb) {
      case Verb::Hello:
        fmt::format_to(end, "use default\r\n");
        return;
      case Verb::Push:
        fmt::format_to(end, "put 1024 0 60 {}\r\n{}\r\n", payload_.size(), payload_);
        return;
      case Verb::Take:
        fmt::format_to(end, "reserve-with-timeout 0\r\n");
        return;
      case Verb::Complete:
        fmt::format_to(end, "delete {}\r\n", job_);
        return;
      case Verb::Acquire:
      case Verb::Release:
        std::abort();  // it has no locks
    }
  }

  std::optional<Answer> hear(Verb verb, std::string_view in) override {
    const std::size_t line = in.find("\r\n");
    if (line == std::string_view::npos) return std::nullopt;
    const std::string_view head = in.substr(0, line);
    if (verb != Verb::Take) {
      return Answer{line + 2,
                    head.starts_with("INSERTED") || head == "DELETED" || head.starts_with("USING")};
    }
    if (!head.starts_with("RESERVED ")) return Answer{line + 2, false};
    const std::size_t space = head.find(' ', 9);
    const std::size_t bytes = std::strtoul(head.data() + space, nullptr, 10);
    if (in.size() < line + 4 + bytes) return std::nullopt;
    job_ = head.substr(9, space - 9);
    return Answer{line + 4 + bytes, true};
  }

 private:
  std::string payload_;
  std::string job_;
};

// The end of a RESP value that begins at `at`; 0: it is not whole.
std::size_t resp_end(std::string_view in, std::size_t at) {
  const std::size_t line = in.find("\r\n", at);
  if (line == std::string_view::npos) return 0;
  const std::size_t next = line + 2;
  const long count = std::strtol(in.data() + at + 1, nullptr, 10);
  if (in[at] == '$') {
    if (count < 0) return next;
    const std::size_t end = next + static_cast<std::size_t>(count) + 2;
    return end <= in.size() ? end : 0;
  }
  if (in[at] != '*') return next;
  std::size_t end = next;
  for (long i = 0; i < count; ++i) {
    if (end >= in.size()) return 0;
    end = resp_end(in, end);
    if (end == 0) return 0;
  }
  return end;
}

std::string_view word_of(std::string_view word) { return word; }

template <class... Words>
void command(std::string& out, const Words&... words) {
  fmt::format_to(std::back_inserter(out), "*{}\r\n", sizeof...(words));
  const auto add = [&out](std::string_view word) {
    fmt::format_to(std::back_inserter(out), "${}\r\n{}\r\n", word.size(), word);
  };
  (add(word_of(words)), ...);
}

constexpr std::string_view unlock_script =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0";

class Redis final : public Speaker {
 public:
  Redis(std::uint32_t number, std::string_view payload, bool equal)
      : lock_(fmt::format("l{}", number)), payload_(payload), equal_(equal) {}

  void ask(Verb verb, std::string& out) override {
    switch (verb) {
      case Verb::Hello:
        command(out, "PING");
        return;
      case Verb::Push:
        if (equal_) {
          command(out, "EVAL", push_script, "0", payload_);
        } else {
          command(out, "LPUSH", "q", payload_);
        }
        return;
      case Verb::Take:
        if (equal_) {
          command(out, "EVAL", take_script, "0", "300000");
        } else {
          command(out, "LMOVE", "q", "taken", "RIGHT", "LEFT");
        }
        return;
      case Verb::Complete:
        if (equal_) {
          command(out, "EVAL", complete_script, "0", item_);
        } else {
          command(out, "LREM", "taken", "1", item_);
        }
        return;
      case Verb::Acquire:
        command(out, "SET", lock_, "c", "NX", "PX", "60000");
        return;
      case Verb::Release:
        command(out, "EVAL", unlock_script, "1", lock_, "c");
        return;
    }
  }

  std::optional<Answer> hear(Verb verb, std::string_view in) override {
    const std::size_t end = in.empty() ? 0 : resp_end(in, 0);
    if (end == 0) return std::nullopt;
    const std::string_view reply = in.substr(0, end);
    const bool ok = reply.front() != '-' && !reply.starts_with("$-1") && !reply.starts_with("*-1");
    if (verb == Verb::Take && ok) item_ = item_of(reply);
    return Answer{end, ok};
  }

 private:
  static constexpr std::string_view push_script =
      "local id=redis.call('incr','last') redis.call('hset','items',id,ARGV[1]) "
      "redis.call('zadd','ready',0,string.format('%016d',id)) return id";
  static constexpr std::string_view take_script =
      "local p=redis.call('zpopmin','ready') if #p==0 then return false end "
      "local t=redis.call('time') "
      "redis.call('zadd','taken',t[1]*1000+ARGV[1],p[1]) "
      "return {p[1],redis.call('hget','items',tonumber(p[1]))}";
  static constexpr std::string_view complete_script =
      "if redis.call('zrem','taken',ARGV[1])==0 then return 0 end "
      "return redis.call('hdel','items',tonumber(ARGV[1]))";

  // The payload itself, or the id, the first of two values.
  std::string item_of(std::string_view reply) const {
    const std::size_t at = equal_ ? reply.find("\r\n") + 2 : 0;
    const std::size_t line = reply.find("\r\n", at);
    const std::size_t bytes = std::strtoul(reply.data() + at + 1, nullptr, 10);
    return std::string(reply.substr(line + 2, bytes));
  }

  std::string lock_;
  std::string payload_;
  std::string item_;
  bool equal_;
};

}  // namespace

std::unique_ptr<Speaker> make_reeve(std::uint32_t number, std::string_view payload) {
  return std::make_unique<Reeve>(number, payload);
}
std::unique_ptr<Speaker> make_beanstalk(std::uint32_t, std::string_view payload) {
  return std::make_unique<Beanstalk>(payload);
}
std::unique_ptr<Speaker> make_redis(std::uint32_t number, std::string_view payload) {
  return std::make_unique<Redis>(number, payload, false);
}
std::unique_ptr<Speaker> make_redis_equal(std::uint32_t number, std::string_view payload) {
  return std::make_unique<Redis>(number, payload, true);
}

}  // namespace peers
