// PostgreSQL's protocol, version 3: statements prepared once, then Bind, Execute, Sync a request.
// The server trusts its own user, as bench/peers/run sets it up.

#include "bench/peers/speaker.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace peers {
namespace {

void add16(std::string& out, std::size_t value) {
  out += static_cast<char>(value >> 8U & 0xFFU);
  out += static_cast<char>(value & 0xFFU);
}

void add32(std::string& out, std::size_t value) {
  add16(out, value >> 16U);
  add16(out, value & 0xFFFFU);
}

void add_text(std::string& out, std::string_view text) {
  out += text;
  out += '\0';
}

std::size_t read32(std::string_view in, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<unsigned char>(in[at + i]);
  return value;
}

void message(std::string& out, char kind, std::string_view body) {
  out += kind;
  add32(out, body.size() + 4);
  out += body;
}

class Postgres final : public Speaker {
 public:
  Postgres(std::uint32_t number, std::string_view payload)
      : lock_(fmt::format("l{}", number)), payload_(payload) {}

  void ask(Verb verb, std::string& out) override {
    switch (verb) {
      case Verb::Hello:
        return hello(out);
      case Verb::Push:
        return call(out, "push", {payload_});
      case Verb::Take:
        return call(out, "take", {});
      case Verb::Complete:
        return call(out, "complete", {item_});
      case Verb::Acquire:
        return call(out, "acquire", {lock_});
      case Verb::Release:
        return call(out, "release", {lock_});
    }
  }

  // A reply ends with ReadyForQuery.
  std::optional<Answer> hear(Verb verb, std::string_view in) override {
    bool ok = true;
    bool row = false;
    std::string affected;
    for (std::size_t at = 0; in.size() >= at + 5;) {
      const std::size_t end = at + 1 + read32(in, at + 1);
      if (end > in.size()) return std::nullopt;
      const char kind = in[at];
      if (kind == 'E') ok = false;
      if (kind == 'D') {
        row = true;
        const std::size_t bytes = read32(in, at + 7);
        item_ = in.substr(at + 11, bytes);
      }
      if (kind == 'C') affected = in.substr(at + 5, end - at - 6);
      if (kind == 'Z') {
        if (verb == Verb::Take) ok = ok && row;
        if (verb == Verb::Acquire || verb == Verb::Release || verb == Verb::Complete) {
          ok = ok && affected.ends_with(" 1");
        }
        return Answer{end, ok};
      }
      at = end;
    }
    return std::nullopt;
  }

 private:
  void hello(std::string& out) {
    std::string body;
    add32(body, 196608);
    for (const std::string_view word : {"user", "bench", "database", "bench"}) add_text(body, word);
    body += '\0';
    add32(out, body.size() + 4);
    out += body;
  }

  void call(std::string& out, std::string_view name, const std::vector<std::string_view>& values) {
    if (!prepared_) prepare(out);
    std::string body;
    add_text(body, "");
    add_text(body, name);
    add16(body, 0);
    add16(body, values.size());
    for (const std::string_view value : values) {
      add32(body, value.size());
      body += value;
    }
    add16(body, 0);
    message(out, 'B', body);
    body.clear();
    add_text(body, "");
    add32(body, 0);
    message(out, 'E', body);
    message(out, 'S', "");
  }

  // Travels with the first request, whose Sync ends both.
  void prepare(std::string& out) {
    const auto add = [&out](std::string_view name, std::string_view sql) {
      std::string body;
      add_text(body, name);
      add_text(body, sql);
      add16(body, 0);
      message(out, 'P', body);
    };
    add("push", "INSERT INTO items(priority, data) VALUES (0, $1)");
    add("take",
        "UPDATE items SET state = 1, visible_at = now() + interval '5 minutes', attempts = "
        "attempts + 1 "
        "WHERE id = (SELECT id FROM items WHERE state = 0 ORDER BY priority DESC, id LIMIT 1 "
        "FOR UPDATE SKIP LOCKED) RETURNING id, data");
    add("complete", "DELETE FROM items WHERE id = $1 AND state = 1");
    add("acquire",
        "INSERT INTO locks(name, until) VALUES ($1, now() + interval '1 minute') "
        "ON CONFLICT DO NOTHING");
    add("release", "DELETE FROM locks WHERE name = $1");
    prepared_ = true;
  }

  std::string lock_;
  std::string payload_;
  std::string item_;
  bool prepared_ = false;
};

}  // namespace

std::unique_ptr<Speaker> make_postgres(std::uint32_t number, std::string_view payload) {
  return std::make_unique<Postgres>(number, payload);
}

}  // namespace peers
