#pragma once

#include "api/connection.h"
#include "base/time.h"
#include "core/input.h"
#include "engine/engine.h"
#include "engine/ports.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

// Between the connections and the engine: gives every request its ticket, remembers who waits for
// what, and hands each answer to the connection that asked. A connection that has ended hears
// nothing more: what an answer gave it is given back to the engine as undelivered, and a session
// that has something bound is ended by an input.
namespace reeve::api {

// What the daemon knows about itself, for daemon.status and session.hello.
struct About {
  std::string version;
  std::int64_t pid = 0;
  std::string socket;
  std::string home;
  std::string host;
  std::string user;
  std::string boot_id;
  Time started;  // engine time
};

// What a method may ask of the daemon itself.
class Steward {
 public:
  Steward() = default;
  Steward(const Steward&) = delete;
  Steward& operator=(const Steward&) = delete;
  virtual ~Steward() = default;

  virtual const About& about() const = 0;
  virtual void stop(bool kill) = 0;
  virtual void checkpoint(std::function<void(Result<Sequence>)> done) = 0;
  // Reads its settings again, if it has any. An error: it goes on with those it had.
  virtual Result<void> reload() { return {}; }
  virtual std::size_t connections() const = 0;
  // Of a process of this host; none if there is none, or it is another user's.
  virtual std::optional<Process> process(std::int64_t pid, bool group) const = 0;
  // Journal bytes, segments and the last checkpoint, for daemon.status.
  struct JournalUse {
    std::uint64_t bytes = 0;
    std::uint64_t segments = 0;
    Sequence checkpoint = 0;
  };
  virtual JournalUse journal_use() const = 0;

  // The file that can be asked with SQL. Who has none has it off.
  struct HistoryUse {
    std::string_view state = "off";  // on, rebuilding
    std::string path = {};
    std::string problem = {};  // why it is off, or what it tries again
    Sequence passed = 0;
    std::uint64_t events = 0;
    std::uint64_t waiting_bytes = 0;
    // What the last rebuild came to.
    Sequence rebuilt_from = 0;
    Sequence rebuilt_to = 0;
    std::uint64_t rebuilt_events = 0;
    std::string rebuild_problem = {};
  };
  virtual HistoryUse history() const { return {}; }
  // When all that is durable now is in it, or it is off.
  virtual void sync_history(const std::function<void()>& done) { done(); }
  // When it was made anew, or could not be.
  virtual void rebuild_history(const std::function<void()>& done) { done(); }
};

class Desk final : public engine::Listener {
 public:
  explicit Desk(Steward& steward) : steward_(steward) {}

  // Once, before anything is asked. (The engine needs its listener first.)
  void serve(engine::Engine& engine) { engine_ = &engine; }

  // The present, set by the loop at every turn: answers show moments by it.
  void at(Stamp now) { now_ = now; }

  // ── The loop's side ──
  void add(Connection& connection);
  // The socket is closed. Before the connection is destroyed.
  void remove(Connection& connection, Stamp now);
  // After every deliver(): what its answers made necessary. True: there was something.
  bool catch_up(Stamp now);
  // The journal failed, and so nobody who waits will have an answer any more.
  void give_up(const Error& error);
  // Those that have something to write.
  std::vector<Connection*> take_with_output();
  bool has_output() const { return !with_output_.empty(); }
  // What all connections together have not read yet.
  std::size_t output_bytes() const { return output_bytes_; }

  // ── The connections' side ──
  void submit(Connection& from, Call call, Request request, Stamp now);
  // The same for a reply that needs a look at the state as well: Connection::replied_with().
  void submit_and_look(Connection& from, Call call, Request request, Stamp now);
  // The same for something that outlives the connection: that it waits is the answer, and nobody
  // is told of its end.
  void submit_and_leave(Connection& from, Call call, Request request, Stamp now);
  void query(Connection& from, Call call, Stamp now);
  // A session of before a restart; from then on its requests are this connection's. The answer is
  // Ok or Refused.
  void resume(Connection& from, Call call, SessionId session, Stamp now);
  // Ends a request that waits; it is answered for itself.
  void cancel(Connection& from, WaiterId waiter, Stamp now);
  // The same from within an answer: it happens with the next catch_up().
  void cancel_later(Connection& from, WaiterId waiter);
  // Whether news() is wanted.
  void follow(Connection& from, bool follows);

  // Null: it has ended.
  Connection* find(SessionId session) const;

  const engine::Engine& engine() const { return *engine_; }
  Steward& steward() { return steward_; }
  Stamp now() const { return now_; }

  // ── engine::Listener ──
  void replied(engine::Ticket ticket, Sequence sequence, const Reply& reply) override;
  void answered(WaiterId waiter, Sequence sequence, const Reply& reply) override;
  void queried(engine::Ticket ticket, const State& state, Stamp stamp) override;
  void unavailable(engine::Ticket ticket, const Error& error) override;
  void news() override;

 private:
  struct Asked {
    SessionId session;
    Call call;
    ProjectNo project;
    std::string key;
    bool look = false;     // it wants the state with its reply
    bool first = false;    // of two tickets: the one behind it is the state's, and tells
    bool leaves = false;   // it does not wait for what it asked for
    bool returns = false;  // session.resume, of:
    SessionId old = {};
    std::optional<std::pair<Sequence, Reply>> reply = {};  // that waits for the state
    bool waited = false;
  };
  struct GivenBack {
    ProjectNo project;
    std::string key;
    Reply reply;
  };

  engine::Ticket ticket(Asked asked);
  void submit_looking(Asked asked, Request request, Stamp now);
  void answer(const Asked& asked, Sequence sequence, const Reply& reply);
  void give_back(const GivenBack& undelivered, Stamp now);

  Steward& steward_;
  engine::Engine* engine_ = nullptr;
  Stamp now_;
  std::uint64_t last_ticket_ = 0;
  std::unordered_map<std::uint64_t, Connection*> connections_;  // by session
  std::unordered_map<std::uint64_t, Asked> tickets_;
  std::unordered_map<std::uint64_t, Asked> waiters_;
  std::unordered_set<Connection*> followers_;
  std::vector<Connection*> with_output_;
  std::size_t output_bytes_ = 0;
  // What came up while the engine was delivering, when it may not be asked.
  std::vector<GivenBack> undelivered_;
  std::vector<Asked> to_look_;
  std::vector<std::pair<SessionId, WaiterId>> to_cancel_;
};

}  // namespace reeve::api
