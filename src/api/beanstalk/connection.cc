#include "api/beanstalk/connection.h"

#include "api/limits.h"
#include "base/check.h"

#include <algorithm>
#include <utility>

namespace reeve::api::beanstalk {
namespace {

// Engine time never was so early.
constexpr Time at_once{};

}  // namespace

Connection::Connection(SessionId session, Desk& desk, Ledger& ledger, const Machine& machine)
    : api::Connection(session),
      desk_(desk),
      ledger_(ledger),
      machine_(machine),
      used_(default_tube),
      watched_{std::string(default_tube)},
      watched_queues_{ledger.queue_of(default_tube)} {
  ++ledger_.connections;
  ++ledger_.total_connections;
  ++ledger_.enter(state(), used_).users;
  ++ledger_.enter(state(), used_).watchers;
}

// Its jobs go back without a release that anybody counts; their reserves stay counted.
Connection::~Connection() {
  if (waiting_) --ledger_.waiting;
  if (is_producer_) --ledger_.producers;
  if (is_worker_) --ledger_.workers;
  --ledger_.connections;
  --ledger_.enter(state(), used_).users;
  ledger_.left(state(), used_);
  for (const std::string& name : watched_) {
    --ledger_.enter(state(), name).watchers;
    ledger_.left(state(), name);
  }
  for (const auto& [id, held] : held_) {
    if (ledger_.job(state(), ItemId{id})) ++ledger_.past(state(), ItemId{id}).reserves;
  }
}

// ── Reading ──

void Connection::receive(std::string_view bytes, Stamp now) {
  if (is_over() || quit_) return;
  if (input_.empty()) {
    const std::size_t used = consume(bytes, now);
    if (!is_over() && !quit_) input_.append(bytes.substr(used));
    finish();
  } else {
    input_.append(bytes);
    go_on(now);
  }
}

void Connection::go_on(Stamp now) {
  if (start_ < input_.size()) {
    start_ += consume(std::string_view(input_).substr(start_), now);
    if (start_ == input_.size()) {
      input_.clear();
      start_ = 0;
      if (input_.capacity() > limits::beanstalk_read_ahead) input_ = std::string();
    } else if (start_ > limits::beanstalk_read_ahead) {
      input_.erase(0, start_);
      start_ = 0;
    }
  }
  finish();
}

void Connection::end_of_input(Stamp now) {
  ended_ = true;
  tick(now);
}

// Whoever sends nothing more is done when all it asked for is answered.
void Connection::finish() {
  if (ended_ && open_.empty() && !stopped_) end();
}

bool Connection::wants_input() const {
  constexpr std::size_t ahead = limits::beanstalk_read_ahead;
  const std::size_t most = put_ ? put_->body + 2 + ahead : ahead;
  return !is_over() && !ended_ && buffered() < most && open_.size() < limits::beanstalk_open &&
         !is_stuffed();
}

bool Connection::may_go_on() const {
  return !is_over() && !quit_ && !waiting_ && !kick_ && open_.size() < limits::beanstalk_open &&
         bodies_ < limits::beanstalk_bodies && !is_stuffed();
}

// The engine decides at once and tells later: whether the last reserve waits can be seen.
bool Connection::is_blocked() {
  if (!may_go_on()) return true;
  if (!reserve_) return false;
  const auto& bound = state().sessions.bound;
  const auto first = bound.lower_bound({session(), session::WaiterPlace{}});
  if (first != bound.end() && first->session == session()) return true;
  reserve_ = {};
  return false;
}

// As much as can be carried out now; how many bytes that were.
std::size_t Connection::consume(std::string_view bytes, Stamp now) {
  std::size_t used = 0;
  stopped_ = false;
  while (used < bytes.size()) {
    if (quit_ || is_over()) return bytes.size();
    if (is_blocked()) {
      stopped_ = true;
      break;
    }
    const std::string_view rest = bytes.substr(used);
    std::size_t step = 0;
    if (junk_ > 0) {
      step = consume_junk(rest);
    } else if (put_) {
      step = consume_body(rest, now);
    } else if (endless_) {
      step = consume_endless(rest);
    } else {
      step = consume_line(rest, now);
    }
    if (step == 0) break;
    used += step;
  }
  return used;
}

std::size_t Connection::consume_line(std::string_view bytes, Stamp now) {
  const std::size_t crlf = bytes.substr(0, line_bytes).find("\r\n");
  if (crlf == std::string_view::npos && bytes.size() < line_bytes) return 0;
  const bool whole = crlf != std::string_view::npos;
  const std::string_view line = bytes.substr(0, whole ? crlf : line_bytes);
  // It was not meant for us, and what follows may have been made up by a web page.
  if (std::exchange(at_first_line_, false) && looks_like_http(line, whole)) {
    end();
    return bytes.size();
  }
  if (!whole) {
    endless_ = true;
    return consume_endless(bytes);
  }
  const std::expected<Line, Fault> parsed = parse_line(line);
  if (parsed) {
    carry_out(*parsed, now);
  } else {
    say(parsed.error() == Fault::BadFormat ? "BAD_FORMAT\r\n" : "UNKNOWN_COMMAND\r\n");
  }
  return crlf + 2;
}

// To its end, wherever that is.
std::size_t Connection::consume_endless(std::string_view bytes) {
  const std::size_t crlf = bytes.find("\r\n");
  if (crlf == std::string_view::npos)
    return bytes.ends_with('\r') ? bytes.size() - 1 : bytes.size();
  endless_ = false;
  say("BAD_FORMAT\r\n");
  return crlf + 2;
}

std::size_t Connection::consume_junk(std::string_view bytes) {
  const std::size_t step = std::min<std::uint64_t>(junk_, bytes.size());
  junk_ -= step;
  if (junk_ == 0) say(after_junk_);
  return step;
}

std::size_t Connection::consume_body(std::string_view bytes, Stamp now) {
  const std::size_t size = put_->body;
  if (bytes.size() < size + 2) return 0;
  if (bytes.substr(size, 2) == "\r\n") {
    put(bytes.substr(0, size), now);
  } else {
    say("EXPECTED_CRLF\r\n");
  }
  put_.reset();
  return size + 2;
}

// ── Answering ──

Call Connection::open(Open what) {
  open_.push_back(std::move(what));
  return Call{first_call_ + open_.size() - 1};
}

Connection::Open& Connection::at(Call call) {
  CHECK(call.value >= first_call_ && call.value - first_call_ < open_.size());
  return open_[call.value - first_call_];
}

// Straight into the output if nobody is before it.
std::string& Connection::answer_to(Call call) {
  Open& what = at(call);
  if (call.value == first_call_) return output_buffer();
  what.text.clear();
  return what.text;
}

void Connection::answered(Call call) {
  if (call.value != first_call_) {
    at(call).answered = true;
    return;
  }
  open_.pop_front();
  ++first_call_;
  while (!open_.empty() && open_.front().answered) {
    output_buffer().append(open_.front().text);
    open_.pop_front();
    ++first_call_;
  }
  touched();
  finish();
}

void Connection::answer(Call call, std::string_view text) {
  answer_to(call).append(text);
  answered(call);
}

void Connection::say(std::string_view text) {
  if (open_.empty()) return write(text);
  open({.answered = true, .text = std::string(text)});
}

// ── Time ──

// At once if there is something to go on with, or a wait to be ended.
std::optional<Time> Connection::next_wake() const {
  if (is_over()) return std::nullopt;
  if (stopped_ && !reserve_ && may_go_on()) return at_once;
  if (waiter_ && !cancelled_) {
    if (ended_) return at_once;
    if (!held_.empty()) return none_due_before_ - deadline_margin;
    return std::nullopt;
  }
  if (held_.empty()) return std::nullopt;
  return std::max(saturating_add(none_due_before_, Duration{1}), looked_at_ + Duration{1});
}

void Connection::tick(Stamp now) {
  look_at_held(now.now);
  if (waiter_ && !cancelled_) {
    deadline_soon_ = is_deadline_soon(now.now);
    cancelled_ = deadline_soon_ || ended_;
    if (cancelled_) desk_.cancel(*this, waiter_, now);
  }
  go_on(now);
}

}  // namespace reeve::api::beanstalk
