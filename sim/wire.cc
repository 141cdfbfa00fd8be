#include "sim/wire.h"

#include "api/ids.h"
#include "base/match.h"
#include "codec/json_text.h"
#include "sim/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace reeve::sim {
namespace {

constexpr std::size_t deepest = 16;

// What stands behind `mark`, from `at` on, as a script would find it; `at` goes behind it.
std::optional<std::uint64_t> number_behind(std::string_view text,
                                           std::string_view mark,
                                           std::size_t& at) {
  const std::size_t found = text.find(mark, at);
  if (found == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* const begin = text.data() + found + mark.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  at = static_cast<std::size_t>(end - text.data());
  return number;
}

std::optional<std::string> text_behind(std::string_view text,
                                       std::string_view mark,
                                       std::size_t& at) {
  const std::size_t found = text.find(mark, at);
  if (found == std::string_view::npos) return std::nullopt;
  const std::size_t begin = found + mark.size();
  const std::size_t end = text.find('"', begin);
  if (end == std::string_view::npos) return std::nullopt;
  at = end + 1;
  return std::string(text.substr(begin, end - begin));
}

// What an answer to this reply must say, whatever else it says.
std::vector<std::string> words_of(const Reply& reply) {
  std::vector<std::string> words;
  if (const auto* granted = word<grant::Granted>(reply)) {
    for (const grant::Given& given : granted->given) {
      words.push_back(fmt::format("\"token\":{}", given.token.value));
    }
  } else if (const auto* pushed = word<queue::Pushed>(reply)) {
    for (const ItemId id : pushed->ids) words.push_back(fmt::format("\"{}\"", to_text(id)));
  } else if (const auto* taken = word<queue::Taken>(reply)) {
    for (const queue::TakenItem& item : taken->items) {
      words.push_back(fmt::format("\"id\":\"{}\"", to_text(item.id)));
      words.push_back(fmt::format("\"data\":{}", item.data.view()));
      words.push_back(fmt::format("\"claim\":{}", item.claim.value));
    }
  } else if (word<Refused>(reply) || word<lock::Lost>(reply) || word<queue::StaleClaim>(reply)) {
    words.emplace_back("\"error\":");
  }
  return words;
}

}  // namespace

Wire::Wire(Dice& dice, Report& report, Meant meant)
    : dice_(dice), report_(report), meant_(std::move(meant)), speakers_(2) {
  about_.boot_id = "boot";
  for (std::size_t i = 0; i < speakers_.size(); ++i) speakers_[i].name = fmt::format("w{}", i);
}

void Wire::begin(engine::Engine& engine, Stamp now) {
  desk_.emplace(*this);
  desk_->serve(engine);
  desk_->at(now);
}

void Wire::end() {
  for (Speaker& speaker : speakers_) forget_unanswered(speaker);
  for (Speaker& speaker : speakers_) speaker.rpc.reset();
  desk_.reset();
}

void Wire::connect(Speaker& speaker) {
  speaker.rpc = std::make_unique<api::Rpc>(SessionId{++last_session_}, *desk_);
  desk_->add(*speaker.rpc);
  report_.say("  {} connects, session {:x}", speaker.name, last_session_);
}

void Wire::hang_up(Speaker& speaker, Stamp now) {
  report_.say("  {} hangs up with {} bytes of a line unsent", speaker.name, speaker.unsent.size());
  desk_->remove(*speaker.rpc, now);
  forget_unanswered(speaker);
  speaker.rpc.reset();
}

// It will not be answered on this connection. What was bound to that cannot be asked on another.
void Wire::forget_unanswered(Speaker& speaker) {
  for (auto& [id, line] : speaker.open) {
    if (!line.bound && speaker.again.size() < 4) speaker.again.push_back(std::move(line));
  }
  speaker.open.clear();
  speaker.unsent.clear();
  speaker.sending.reset();
  speaker.nonsense = 0;
  speaker.hangs_up = false;
  std::erase_if(speaker.leases, [](const Lease& lease) { return lease.bound; });
}

void Wire::act(Stamp now, bool crowded) {
  desk_->at(now);
  Speaker& speaker = speakers_[dice_.below(speakers_.size())];
  if (!speaker.rpc) return connect(speaker);
  if (speaker.hangs_up || dice_.one_in(60)) return hang_up(speaker, now);
  send(speaker, now, crowded);
  read(nullptr);
}

// A piece of a line; the rest of it comes another time.
void Wire::send(Speaker& speaker, Stamp now, bool crowded) {
  if (speaker.unsent.empty() && dice_.one_in(40)) {
    constexpr std::array<std::string_view, 4> nonsense{
        "{\"id\":\n", "[]\n", "\xff\xfe\n", "{\"method\":7}\n"};
    ++speaker.nonsense;
    return speaker.rpc->receive(nonsense[dice_.below(nonsense.size())], now);
  }
  if (speaker.unsent.empty()) {
    Line line = new_line(speaker, crowded);
    if (line.key.empty()) line.key = fmt::format("w{}", ++last_key_);
    speaker.sending.emplace(++last_id_, line);
    speaker.unsent =
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{{},"key":"{}"}}}})",
                    last_id_,
                    line.method,
                    line.fields,
                    line.key) +
        '\n';
    report_.say("  {} writes {}", speaker.name, speaker.unsent);
  }
  const bool whole = dice_.percent(70);
  const std::size_t size = whole ? speaker.unsent.size() : dice_.between(1, speaker.unsent.size());
  const std::string piece = speaker.unsent.substr(0, size);
  speaker.unsent.erase(0, size);
  if (speaker.unsent.empty()) {
    ++lines_;
    auto [id, line] = *std::exchange(speaker.sending, std::nullopt);
    meant_({.session = speaker.rpc->session(), .key = line.key, .command = line.command});
    speaker.open.emplace(id, std::move(line));
  }
  speaker.rpc->receive(piece, now);
}

Wire::Line Wire::new_line(Speaker& speaker, bool crowded) {
  if (!speaker.again.empty() && dice_.percent(60)) {
    Line line = std::move(speaker.again.back());
    speaker.again.pop_back();
    return line;
  }
  if (!speaker.claims.empty() && dice_.percent(30)) {
    const Claim claim = dice_.any_of(speaker.claims);
    queue::Complete complete{{default_project, claim.queue},
                             {{*parse_id<ItemId>(claim.item), claim.token}}};
    return {.method = "queue.complete",
            .fields = fmt::format(
                R"("queue":"{}","id":"{}","claim":{})", claim.queue, claim.item, claim.token.value),
            .command = std::move(complete)};
  }
  if (!speaker.leases.empty() && dice_.percent(40)) return about_lease(speaker);

  const std::string wait = dice_.one_in(3) ? R"(,"wait_ms":3000)" : "";
  const auto waits = wait.empty() ? std::nullopt : std::optional(Duration{3000});
  const bool bound = dice_.one_in(3);
  const Holder holder{default_project, speaker.name, bound ? speaker.rpc->session() : SessionId{}};
  const std::string who =
      fmt::format(R"("holder":"{}"{})", speaker.name, bound ? R"(,"bind":true)" : "");
  const std::uint64_t choice = dice_.below(10);
  if (choice < 3) {
    lock::Acquire acquire;
    acquire.names = {{default_project, fmt::format("l{}", dice_.below(4))}};
    acquire.holder = holder;
    acquire.timeout = Duration{2000};
    acquire.wait = waits;
    return {.method = "lock.acquire",
            .fields = fmt::format(
                R"("names":["{}"],{},"timeout_ms":2000{})", acquire.names[0].name, who, wait),
            .bound = bound,
            .command = acquire};
  }
  if (choice < 5) {
    semaphore::Acquire acquire;
    acquire.name = {default_project, fmt::format("s{}", dice_.below(2))};
    acquire.weight = static_cast<std::uint32_t>(dice_.between(1, 2));
    acquire.holder = holder;
    acquire.wait = waits;
    return {.method = "sem.acquire",
            .fields = fmt::format(
                R"("name":"{}","weight":{},{}{})", acquire.name.name, acquire.weight, who, wait),
            .bound = bound,
            .command = acquire};
  }
  const std::string queue = fmt::format("q{}", dice_.below(2));
  if (choice < 8 && !crowded) {
    queue::Push push;
    push.queue = {default_project, queue};
    push.items.emplace_back();
    // Escapes, and more bytes than letters.
    const std::string data = fmt::format(R"({{"n":{},"text":"\u00fcber \"ä\" \\"}})", last_id_);
    push.items[0].data = Bytes(data);
    push.items[0].priority = static_cast<std::int32_t>(dice_.below(3)) - 1;
    return {.method = "queue.push",
            .fields = fmt::format(
                R"("queue":"{}","data":{},"priority":{})", queue, data, push.items[0].priority),
            .command = std::move(push)};
  }
  queue::Take take;
  take.queues = {{default_project, queue}};
  take.holder = holder;
  take.max = static_cast<std::uint32_t>(dice_.between(1, 2));
  take.wait = waits;
  return {.method = "queue.take",
          .fields = fmt::format(R"("queues":["{}"],{},"max":{}{})", queue, who, take.max, wait),
          .bound = bound,
          .command = take};
}

// A sign of life, or the end of it; also with a token that is long over.
Wire::Line Wire::about_lease(Speaker& speaker) {
  const std::size_t at = dice_.below(speaker.leases.size());
  const Lease lease = speaker.leases[at];
  const Holder holder{
      default_project, speaker.name, lease.bound ? speaker.rpc->session() : SessionId{}};
  const bool release = dice_.percent(50);
  Line line{.method = fmt::format(
                "{}.{}", lease.lock ? "lock" : "sem", release ? "release" : "heartbeat"),
            .fields = fmt::format(R"("name":"{}","holder":"{}","token":{}{})",
                                  lease.name,
                                  speaker.name,
                                  lease.token.value,
                                  lease.bound ? R"(,"bind":true)" : ""),
            .bound = lease.bound};
  const LockName lock{default_project, lease.name};
  const SemaphoreName slots{default_project, lease.name};
  if (lease.lock && release) {
    line.command = lock::Release{lock, holder, lease.token};
  } else if (lease.lock) {
    line.command = lock::Heartbeat{lock, holder, lease.token};
  } else if (release) {
    line.command = semaphore::Release{slots, holder, lease.token};
  } else {
    line.command = semaphore::Heartbeat{slots, holder, lease.token};
  }
  if (release && !dice_.one_in(8)) {
    speaker.leases.erase(speaker.leases.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return line;
}

// ── What they hear ──

// `reply`: what the line that has just been written tells, if one has.
void Wire::read(const Reply* reply) {
  for (api::Connection* connection : desk_->take_with_output()) {
    const auto is_it = [&](const Speaker& speaker) { return speaker.rpc.get() == connection; };
    Speaker& speaker = *std::ranges::find_if(speakers_, is_it);
    // One that hangs up reads no more: what was given to it is given back.
    if (speaker.hangs_up) continue;
    const std::string text(connection->output());
    if (text.empty()) continue;
    if (text.back() != '\n') return report_.violated("an answer is no whole line");
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = text.find('\n', begin);
      read_line(speaker, text.substr(begin, end - begin), reply);
      begin = end + 1;
    }
    if (dice_.one_in(40)) {
      speaker.hangs_up = true;
    } else {
      connection->written(text.size());
    }
  }
}

void Wire::read_line(Speaker& speaker, const std::string& text, const Reply* reply) {
  report_.say("    {} reads {}", speaker.name, text);
  codec::JsonCursor cursor(text);
  if (!cursor.skip_value(deepest) || !cursor.is_at_end()) {
    return report_.violated("an answer is not JSON: " + text);
  }
  std::size_t at = 0;
  const std::optional<std::uint64_t> id = number_behind(text, "\"id\":", at);
  if (!id) {
    if (speaker.nonsense == 0) return report_.violated("an answer to nobody's line: " + text);
    --speaker.nonsense;
    return;
  }
  const auto found = speaker.open.find(*id);
  if (found == speaker.open.end()) {
    return report_.violated("an answer to a line that is not open: " + text);
  }
  const Line line = std::move(found->second);
  speaker.open.erase(found);
  if (reply) {
    for (const std::string& wanted : words_of(*reply)) {
      if (text.find(wanted) != std::string::npos) continue;
      return report_.violated(fmt::format("an answer does not say {}: {}", wanted, text));
    }
  }
  learn(speaker, line, text);
}

void Wire::learn(Speaker& speaker, const Line& line, std::string_view text) {
  std::size_t at = 0;
  if (text.find(R"("code":"UNAVAILABLE")") != std::string_view::npos) {
    if (!line.bound && speaker.again.size() < 4) speaker.again.push_back(line);
    return;
  }
  if (text.find(R"("result":)") == std::string_view::npos) return;
  if (line.method == "queue.take") {
    while (const auto item = text_behind(text, R"("id":"item-)", at)) {
      const auto queue = text_behind(text, R"("queue":")", at);
      const auto claim = number_behind(text, R"("claim":)", at);
      if (!queue || !claim) return report_.violated("an item without its claim");
      speaker.claims.push_back({*queue, "item-" + *item, Token{*claim}});
    }
  } else if (line.method == "queue.complete") {
    if (!dice_.one_in(8)) speaker.claims.clear();
  } else if (line.method.ends_with(".acquire")) {
    const bool lock = line.method.starts_with("lock");
    const auto name = text_behind(text, R"("name":")", at);
    const auto token = number_behind(text, R"("token":)", at);
    if (name && token) speaker.leases.push_back({lock, line.bound, *name, Token{*token}});
  }
  while (speaker.claims.size() > 6) speaker.claims.erase(speaker.claims.begin());
  while (speaker.leases.size() > 6) speaker.leases.erase(speaker.leases.begin());
}

bool Wire::catch_up(Stamp now) {
  desk_->at(now);
  const bool something = desk_->catch_up(now);
  read(nullptr);
  return something;
}

void Wire::finish(Stamp now) {
  desk_->at(now);
  for (Speaker& speaker : speakers_) {
    if (!speaker.rpc) continue;
    if (speaker.hangs_up || !speaker.unsent.empty()) {
      hang_up(speaker, now);
    } else {
      speaker.rpc->end_of_input(now);
    }
  }
  read(nullptr);
}

void Wire::give_up(const Error& error) {
  desk_->give_up(error);
  read(nullptr);
}

std::size_t Wire::unanswered() const {
  std::size_t count = 0;
  for (const Speaker& speaker : speakers_) {
    if (!speaker.hangs_up) count += speaker.open.size();
  }
  return count;
}

void Wire::replied(engine::Ticket ticket, engine::Sequence sequence, const Reply& reply) {
  desk_->replied(ticket, sequence, reply);
  read(&reply);
}

void Wire::answered(WaiterId waiter, engine::Sequence sequence, const Reply& reply) {
  desk_->answered(waiter, sequence, reply);
  read(&reply);
}

void Wire::queried(engine::Ticket ticket, const State& state, Stamp stamp) {
  desk_->queried(ticket, state, stamp);
  read(nullptr);
}

void Wire::unavailable(engine::Ticket ticket, const Error& error) {
  desk_->unavailable(ticket, error);
  read(nullptr);
}

}  // namespace reeve::sim
