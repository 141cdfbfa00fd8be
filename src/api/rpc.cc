#include "api/rpc.h"

#include "api/errors.h"
#include "api/limits.h"
#include "api/methods.h"
#include "base/check.h"
#include "codec/json_text.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace reeve::api {
namespace {

// Nearly every line is ASCII, and eight bytes at a time show it.
bool is_utf8(std::string_view text) {
  std::uint64_t high = 0;
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, sizeof eight);
    high |= eight;
  }
  for (; at < text.size(); ++at) high |= static_cast<unsigned char>(text[at]);
  if ((high & 0x8080808080808080ULL) == 0) return true;
  return codec::is_utf8(text);
}

// What is read of a message before its method.
struct Envelope {
  std::string_view id;  // as it stands; empty: a notification
  Raw method;
  Raw params;
  int error = 0;
  std::string_view problem;
  bool has_version = false;

  void refuse(int number, std::string_view why) {
    error = number;
    problem = why;
  }
};

bool is_there_already(const Envelope& envelope, std::string_view name) {
  if (name == "id") return !envelope.id.empty();
  if (name == "method") return envelope.method.kind != JsonKind::None;
  if (name == "params") return envelope.params.kind != JsonKind::None;
  return name == "jsonrpc" && envelope.has_version;
}

void read_field(Envelope& envelope, std::string_view name, const Raw& value) {
  if (is_there_already(envelope, name)) {
    envelope.refuse(no_request, "id, method, params or jsonrpc is there twice");
  } else if (name == "id") {
    if (value.kind == JsonKind::Number || value.kind == JsonKind::String) {
      envelope.id = value.text;
    } else {
      envelope.refuse(no_request, "id must be a number or a string");
    }
  } else if (name == "method") {
    envelope.method = value;
  } else if (name == "params") {
    envelope.params = value;
  } else if (name == "jsonrpc") {
    envelope.has_version = true;
    if (value.text != "\"2.0\"") envelope.refuse(no_request, "jsonrpc must be \"2.0\"");
  } else {
    envelope.refuse(no_request, "a request has id, method and params, and nothing else");
  }
}

Envelope read_envelope(std::string_view text) {
  Envelope envelope;
  if (!is_utf8(text)) {
    envelope.refuse(not_json, "the line is not UTF-8");
    return envelope;
  }
  JsonReader reader(text);
  if (!text.empty() && text.front() != '{') {
    Raw other;
    const bool json = reader.value(other) && reader.is_at_end();
    if (!json) {
      envelope.refuse(not_json, "the line is not JSON");
    } else if (other.kind == JsonKind::Array) {
      envelope.refuse(no_request, "batches are not taken: send one request a line");
    } else {
      envelope.refuse(no_request, "a request is an object");
    }
    return envelope;
  }
  Raw name;
  Raw value;
  if (reader.enter('{')) {
    while (reader.next('}') && reader.name(name) && reader.value(value, limits::request_depth)) {
      read_field(envelope, name.text.substr(1, name.text.size() - 2), value);
    }
  }
  if (reader.problem()) {
    envelope.refuse(not_json, reader.problem());
  } else if (!reader.is_at_end()) {
    envelope.refuse(not_json, "something stands behind the request");
  } else if (envelope.error == 0 && envelope.method.kind != JsonKind::String) {
    const bool is_missing = envelope.method.kind == JsonKind::None;
    envelope.refuse(no_request, is_missing ? "method is missing" : "method must be a string");
  }
  return envelope;
}

// To the core a taker who leaves got nothing, however he left; one who was called back did not hear
// that there is nothing.
bool is_empty_take(const Reply& reply) {
  const queue::Reply* of_queue = std::get_if<queue::Reply>(&reply.value);
  const queue::Taken* taken = of_queue ? std::get_if<queue::Taken>(of_queue) : nullptr;
  return taken && taken->items.empty();
}

}  // namespace

Rpc::Rpc(SessionId session, Desk& desk) : Connection(session), desk_(desk) {}

// ── What comes in ──

void Rpc::receive(std::string_view bytes, Stamp now) {
  while (!is_over() && !bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (input_.size() + piece.size() > limits::line_bytes) {
      bad_line(no_request, "TOO_LONG", "a line has at most 4 MiB", "null");
      input_ = {};
      return Connection::end();
    }
    if (end == std::string_view::npos) {
      input_ += piece;
      return;
    }
    bytes.remove_prefix(end + 1);
    if (input_.empty()) {
      line(piece, now);
    } else {
      input_ += piece;
      const std::string whole = std::exchange(input_, {});
      line(whole, now);
    }
  }
}

void Rpc::bad_line(int number,
                   std::string_view code,
                   std::string_view message,
                   std::string_view id) {
  {
    Tell tell(output_buffer(), id, 0, desk_.now(), project_);
    tell.error(number, code, message);
  }
  touched();
}

void Rpc::line(std::string_view text, Stamp now) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
  while (text.front() == ' ' || text.front() == '\t') text.remove_prefix(1);
  const Envelope envelope = read_envelope(text);
  if (envelope.error != 0) {
    const std::string_view code = envelope.error == not_json ? "NOT_JSON" : "NO_REQUEST";
    const std::string_view id = envelope.id.empty() ? "null" : envelope.id;
    return bad_line(envelope.error, code, envelope.problem, id);
  }
  Problem problem;
  Params params(problem);
  params.read(envelope.params);
  Asking asking(*this, params, now, envelope.id);
  run(envelope.method.text.substr(1, envelope.method.text.size() - 2), asking);
}

void Rpc::run(std::string_view method, Asking& asking) {
  if (const Method found = find_method(method)) {
    asking.common();
    return found(asking);
  }
  if (asking.id().empty()) return;  // a notification
  const std::string_view near = nearest_method(method);
  std::string message = fmt::format("there is no method \"{}\"", method.substr(0, 64));
  if (!near.empty()) message += fmt::format("; did you mean \"{}\"?", near);
  bad_line(no_method, "NO_METHOD", message, asking.id());
}

void Rpc::end_of_input(Stamp now) {
  if (std::exchange(ended_, true)) return;
  if (!input_.empty()) {
    const std::string rest = std::exchange(input_, {});
    line(rest, now);  // the end of the input ends its last line, too
  }
  for (const Open& open : open_) {
    if (open.is_open && open.waiter) desk_.cancel(*this, open.waiter, now);
  }
  if (!follows_.empty()) desk_.follow(*this, false);
  follows_.clear();
  maybe_over();
}

bool Rpc::wants_input() const {
  return !ended_ && !is_over() && !is_stuffed() && held_.empty() &&
         open_count_ < limits::open_requests + limits::waiting_requests;
}

void Rpc::maybe_over() {
  if (ended_ && open_count_ == 0) Connection::end();
}

// ── Requests without their answer ──

Call Rpc::open(Open open) {
  open.is_open = true;
  ++open_count_;
  if (open.may_wait) ++may_wait_;
  if (free_.empty()) {
    open_.push_back(std::move(open));
    return Call{open_.size()};
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  open_[place] = std::move(open);
  return Call{place + std::uint64_t{1}};
}

Rpc::Open Rpc::close(Call call) {
  CHECK(call.value <= open_.size() && open_[call.value - 1].is_open);
  Open open = std::exchange(open_[call.value - 1], Open{});
  free_.push_back(static_cast<std::uint32_t>(call.value - 1));
  --open_count_;
  if (open.may_wait) --may_wait_;
  return open;
}

// ── Answers ──

void Rpc::waits(Call call, WaiterId waiter) {
  Open& open = open_[call.value - 1];
  open.waiter = waiter;
  // What was to be cancelled, or asked for before the input ended, could not be until now.
  if (open.is_cancelled || ended_) desk_.cancel_later(*this, waiter);
}

void Rpc::replied(Call call, Sequence sequence, const Reply& reply, Stamp now) {
  if (is_stuffed()) {
    held_.push_back({call, sequence, reply, std::nullopt});
  } else {
    tell(call, sequence, reply, nullptr, now);
  }
}

void Rpc::replied_with(
    Call call, Sequence sequence, const Reply& reply, const State& state, Stamp now) {
  if (is_stuffed()) {
    held_.push_back({call, sequence, reply, state});
  } else {
    tell(call, sequence, reply, &state, now);
  }
}

void Rpc::tell(Call call, Sequence sequence, const Reply& reply, const State* state, Stamp now) {
  const Open open = close(call);
  std::string nowhere;
  {
    Tell tell(open.is_quiet ? nowhere : output_buffer(), open.id, sequence, now, open.project);
    tell.set(&open.kept, state, &desk_);
    if (const Refused* refused = std::get_if<Refused>(&reply.value)) {
      tell_refused(tell, *refused, open.kind);
    } else if (open.waiter && (open.is_cancelled || ended_) && is_empty_take(reply)) {
      tell_cancelled(tell);
    } else {
      open.show_reply(tell, reply);
    }
  }
  // What a wait brought is given back if it does not reach the socket.
  if (open.waiter) owe(open.project, open.key, reply);
  if (!open.is_quiet) touched();
  maybe_over();
}

void Rpc::queried(Call call, const State& state, Stamp now) {
  if (is_stuffed()) {
    held_.push_back({call, state.sequence, std::nullopt, state});
  } else {
    show(call, state, now);
  }
}

// Those who are told later come in the order in which they were answered.
void Rpc::drained(Stamp now) {
  while (!held_.empty() && !is_stuffed()) {
    const Held held = std::move(held_.front());
    held_.pop_front();
    if (held.reply) {
      tell(held.call, held.sequence, *held.reply, held.state ? &*held.state : nullptr, now);
    } else {
      show(held.call, *held.state, now);
    }
  }
  tell_events(now);
}

void Rpc::closing() {
  for (const Held& held : held_) {
    const Open& open = open_[held.call.value - 1];
    if (open.waiter && held.reply) owe(open.project, open.key, *held.reply);
  }
}

void Rpc::show(Call call, const State& state, Stamp now) {
  const Open open = close(call);
  std::string nowhere;
  {
    Tell tell(
        open.is_quiet ? nowhere : output_buffer(), open.id, state.sequence, now, open.project);
    tell.set(&open.kept, &state, &desk_);
    open.show_state(tell, state);
  }
  if (!open.is_quiet) touched();
  maybe_over();
}

void Rpc::taken_over(Call call) {
  const Open open = close(call);
  if (!open.is_quiet) {
    bad_line(refused_code,
             code::cancelled,
             "another connection asked the same with the same key and waits in this one's place",
             open.id);
  }
  maybe_over();
}

void Rpc::unavailable(Call call, const Error& error) {
  const Open open = close(call);
  if (!open.is_quiet) {
    bad_line(refused_code,
             code::unavailable,
             fmt::format("the journal failed, so nobody knows whether this was kept ({}); repeat "
                         "it with the same key",
                         error.message),
             open.id);
  }
  maybe_over();
}

bool Rpc::cancel(std::string_view id, Stamp now) {
  const auto is_it = [&](const Follow& follow) { return follow.id == id; };
  if (std::erase_if(follows_, is_it) > 0) {
    if (follows_.empty()) desk_.follow(*this, false);
    return true;
  }
  for (Open& open : open_) {
    if (!open.is_open || !open.may_wait || open.id != id) continue;
    open.is_cancelled = true;
    if (open.waiter) desk_.cancel(*this, open.waiter, now);
    return true;
  }
  return false;
}

}  // namespace reeve::api
