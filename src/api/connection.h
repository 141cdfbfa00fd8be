#pragma once

#include "api/limits.h"
#include "base/id.h"
#include "base/result.h"
#include "base/time.h"
#include "core/id.h"
#include "core/reply.h"
#include "core/state.h"
#include "core/turn.h"
#include "engine/ports.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// One connection without its socket: bytes come in, bytes go out. What is spoken on it (JSON-RPC,
// beanstalkd's protocol) is a class of its own that knows its language and nothing of sockets; so
// the tests, the fuzzers and the daemon's loop drive the same code.
//
// Nothing here blocks and nothing throws. A connection asks the desk (api/desk.h), and hears from
// it, on the loop's thread, in later calls than the one it asked in.
namespace reeve::api {

using engine::Sequence;

// Of one request of a connection, chosen by the connection; unique among its open ones.
using Call = Number<struct CallKind>;

class Connection {
 public:
  explicit Connection(SessionId session) : session_(session), first_session_(session) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  // A number that no other connection has or had, nor will after a restart.
  SessionId session() const { return session_; }
  // The same, but for a connection that has resumed an older session: its own.
  SessionId first_session() const { return first_session_; }

  // ── The socket's side ──

  // Bytes that arrived. They are all taken; what is not yet a whole message is kept.
  virtual void receive(std::string_view bytes, Stamp now) = 0;

  // The other side will send nothing more; it may still read. What it asked for is carried out and
  // answered, what waits is cancelled.
  virtual void end_of_input(Stamp now) = 0;

  // Whether more should be read: not while too much is undelivered or open.
  virtual bool wants_input() const = 0;

  // What is to be written; `written` says how much of it the socket has taken. When it has taken
  // all of it, drained() may write more.
  std::string_view output() const { return std::string_view(output_).substr(written_); }
  void written(std::size_t bytes);
  virtual void drained(Stamp /*now*/) {}

  // Bytes of a message that is not whole yet.
  virtual std::size_t buffered() const { return 0; }

  // To be closed as soon as the output is written.
  bool is_over() const { return over_; }

  // When tick() wants to be called; none: never.
  virtual std::optional<Time> next_wake() const { return std::nullopt; }
  virtual void tick(Stamp /*now*/) {}

  // ── The desk's side ──

  // The answer to submit(): once a call. A request that waits first hears that it does.
  virtual void waits(Call call, WaiterId waiter) = 0;
  virtual void replied(Call call, Sequence sequence, const Reply& reply, Stamp now) = 0;
  // The answer to submit_and_look(): the same, and a state that has all of it.
  virtual void replied_with(
      Call call, Sequence sequence, const Reply& reply, const State& /*state*/, Stamp now) {
    replied(call, sequence, reply, now);
  }
  // The answer to query(): the state as it was then, all of it durable.
  virtual void queried(Call call, const State& state, Stamp now) = 0;
  // Another connection has come with the same key and waits in its place.
  virtual void taken_over(Call call) = 0;
  // The journal failed: nobody knows whether it was kept.
  virtual void unavailable(Call call, const Error& error) = 0;
  // There are new events: for those who follow.
  virtual void news(Stamp /*now*/) {}

  // The socket is closed and nothing more will be taken: the last moment to say what is owed.
  virtual void closing() {}

  // An answer that gave something was put into the output and the socket has not taken all of it.
  // If the connection ends now it reached nobody, and what it gave is taken back.
  struct Owed {
    std::uint64_t until = 0;  // of all bytes ever written
    ProjectNo project;
    std::string key;
    Reply reply;
  };
  const std::deque<Owed>& owed() const { return owed_; }
  std::uint64_t bytes_taken() const { return written_before_ + written_; }

  // The session that came back on this connection is its own from now on.
  void adopt(SessionId session) { session_ = session; }

  // Where it says that it was touched, once until somebody has looked; and a mark of the loop's.
  void tell_output_to(std::vector<Connection*>* list) { list_ = list; }
  // Where what is undelivered to all connections together is counted; none: no longer.
  void count_output_in(std::size_t* all) {
    if (all_) *all_ -= counted_;
    all_ = all;
    counted_ = 0;
    count();
  }
  void listed(bool is) { listed_ = is; }
  bool is_listed() const { return listed_; }
  std::uint64_t seat = 0;

 protected:
  // To write to; whoever has written, or wants to be woken at another time than before, says so by
  // touched().
  std::string& output_buffer() { return output_; }
  void touched() {
    count();
    if (!list_ || listed_) return;
    listed_ = true;
    list_->push_back(this);
  }
  void write(std::string_view bytes) {
    output_.append(bytes);
    touched();
  }
  // After write(): these bytes told of something given to a request that had waited.
  void owe(ProjectNo project, std::string key, const Reply& reply);
  void end() {
    over_ = true;
    touched();
  }
  std::size_t undelivered() const { return output_.size() - written_; }
  // It must read before it is told more. While all together are behind with much, that is whoever
  // is behind with anything.
  bool is_stuffed() const {
    if (undelivered() >= limits::undelivered_bytes) return true;
    return all_ && *all_ >= limits::undelivered_together && undelivered() > 0;
  }

 private:
  void count() {
    if (!all_) return;
    *all_ += undelivered() - counted_;
    counted_ = undelivered();
  }

  SessionId session_;
  SessionId first_session_;
  std::string output_;
  std::size_t* all_ = nullptr;
  std::size_t counted_ = 0;           // of what all_ has
  std::size_t written_ = 0;           // of output_
  std::uint64_t written_before_ = 0;  // bytes that are no longer in output_
  std::deque<Owed> owed_;
  bool over_ = false;
  bool listed_ = false;
  std::vector<Connection*>* list_ = nullptr;
};

}  // namespace reeve::api
