#pragma once

#include "api/connection.h"
#include "api/desk.h"
#include "api/limits.h"
#include "api/params.h"
#include "api/tell.h"
#include "core/input.h"
#include "core/limits.h"
#include "engine/event_log.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A connection that speaks docs/protocol.md: JSON-RPC 2.0, one message a line.
//
// A line is read in place: its fields are pieces of it, `data` of items is never looked into beyond
// checking that it is JSON. A method (api/methods.h) reads its fields, makes one command of them
// and says how the reply is told; nothing else is kept of a request but its id and a name or two.
namespace reeve::api {

class Asking;

class Rpc final : public Connection {
 public:
  Rpc(SessionId session, Desk& desk);

  void receive(std::string_view bytes, Stamp now) override;
  void end_of_input(Stamp now) override;
  bool wants_input() const override;
  std::size_t buffered() const override { return input_.size(); }

  void waits(Call call, WaiterId waiter) override;
  void replied(Call call, Sequence sequence, const Reply& reply, Stamp now) override;
  void replied_with(
      Call call, Sequence sequence, const Reply& reply, const State& state, Stamp now) override;
  void queried(Call call, const State& state, Stamp now) override;
  void taken_over(Call call) override;
  void unavailable(Call call, const Error& error) override;
  void news(Stamp now) override { tell_events(now); }
  void drained(Stamp now) override;
  void closing() override;

 private:
  friend class Asking;

  // A request without its answer.
  struct Open {
    bool is_open = false;
    bool may_wait = false;
    bool is_cancelled = false;  // before it was known to wait
    bool is_quiet = false;      // a notification: nobody wants to know
    std::string id;             // as it stood
    std::string_view kind;      // what it is about: "lock"
    ProjectNo project;
    std::string key;
    WaiterId waiter;
    Kept kept;
    ShowReply show_reply = nullptr;
    ShowState show_state = nullptr;
  };

  // An answer that is not told yet, because what was told before has not been read. A copy of a
  // state, or of items, costs next to nothing; the text of it may be large.
  struct Held {
    Call call;
    Sequence sequence = 0;
    std::optional<Reply> reply;
    std::optional<State> state;
  };

  struct Follow {
    std::string id;
    ProjectNo project;
    engine::Filter filter;
    engine::Cursor cursor;
  };

  void line(std::string_view text, Stamp now);
  void bad_line(int number, std::string_view code, std::string_view message, std::string_view id);
  void run(std::string_view method, Asking& asking);

  Call open(Open open);
  Open close(Call call);
  void tell(Call call, Sequence sequence, const Reply& reply, const State* state, Stamp now);
  void show(Call call, const State& state, Stamp now);
  void maybe_over();
  bool cancel(std::string_view id, Stamp now);
  void tell_events(Stamp now);

  Desk& desk_;
  ProjectNo project_ = default_project;
  // What a hello asked for in vain: nobody knows whose requests follow it, so they are refused.
  std::string lost_project_;
  std::string input_;   // the beginning of a line
  bool ended_ = false;  // no more input
  std::vector<Open> open_;
  std::vector<std::uint32_t> free_;
  std::size_t open_count_ = 0;
  std::size_t may_wait_ = 0;
  std::vector<Follow> follows_;
  std::deque<Held> held_;
};

// One request on its way from the line to the desk: what the methods speak with. Reads what fields
// have in common, so that every method reads them alike.
class Asking {
 public:
  Asking(Rpc& rpc, Params& fields, Stamp now, std::string_view id)
      : params(fields), rpc_(rpc), now_(now), id_(id), project_(rpc.project_) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  Params& params;
  Kept kept;

  // ── Fields ──

  // `project` and `key`, which every request may have. First of all.
  void common();

  template <class Name>
  Name scoped(std::string_view text) const {
    if (text.starts_with("//")) return {shared_project, std::string(text.substr(2))};
    return {project_, std::string(text)};
  }
  // The field `name`, or another; it is remembered as it was written.
  template <class Name>
  Name need_name(std::string_view field = "name") {
    const std::string_view text = params.need_text(field);
    kept.name = text;
    kept.field = field;
    return scoped<Name>(text);
  }
  template <class Name>
  std::vector<Name> need_names(std::string_view field);

  // `holder` and `bind`.
  Holder need_holder();   // of somebody who holds already
  Holder maybe_holder();  // of somebody who asks: with `bind` it may be left out
  Boxed<HolderMeta> meta();
  std::optional<Duration> wait();  // `wait_ms`
  Token need_token(std::string_view field = "token");
  std::optional<Token> token(std::string_view field = "token");
  // An item by its id, or by the beginning of it.
  ItemId item(const QueueName& queue, std::string_view text, std::string_view field = "id");

  // ── Asking; each ends it ──

  void submit(std::string_view kind, Command command, ShowReply show);
  // The reply is told with the state after it.
  void submit_and_look(std::string_view kind, Command command, ShowReply show);
  // The same, and the answer does not wait: what was asked for stays when the connection ends.
  void submit_and_leave(std::string_view kind, Command command, ShowReply show);
  void look(ShowState show);
  void resume(SessionId session);
  void checkpoint();
  void sync_history();
  void rebuild_history();

  // An answer at once, of all that is durable. False: the fields are not as they should be, and
  // that was told.
  bool is_good();
  template <class Show>
  void answer(const Show& show) {
    if (!is_good()) return;
    std::string& to = id_.empty() ? nowhere_ : rpc_.output_buffer();
    {
      Tell tell(to, id_, desk().engine().durable(), now_, project_);
      tell.set(&kept, nullptr, &desk());
      show(tell);
    }
    if (!id_.empty()) rpc_.touched();
  }

  Desk& desk() const { return rpc_.desk_; }
  const State& state() const { return rpc_.desk_.engine().state(); }
  Stamp now() const { return now_; }
  ProjectNo project() const { return project_; }
  SessionId session() const { return rpc_.session(); }
  std::string_view id() const { return id_; }

  // A hello is no request in a project; one that is refused takes the connection's away.
  void begin_hello();
  // Of the connection: the project of all requests to come.
  void use_project(ProjectNo project) { rpc_.project_ = project; }
  bool cancel(std::string_view id) { return rpc_.cancel(id, now_); }
  void follow(engine::Filter filter, engine::Cursor cursor);
  bool may_wait_more() const;

 private:
  std::function<void()> answer_later(ShowReply show);
  Rpc::Open opened(std::string_view kind, ShowReply show_reply, ShowState show_state);
  Request request(Command command);
  // Where one is named that there is none of.
  void no_item(std::string_view text, std::string_view field, std::string_view why);

  Rpc& rpc_;
  Stamp now_;
  std::string_view id_;
  ProjectNo project_;
  std::string_view key_;
  std::string_view unknown_project_;
  std::optional<std::string_view> unknown_item_;
  bool may_wait_ = false;
  std::string nowhere_;
};

template <class Name>
std::vector<Name> Asking::need_names(std::string_view field) {
  std::vector<Name> names;
  kept.field = field;
  const bool there =
      params.each_text(field, reeve::limits::names_a_request, [&](std::string_view text) {
        names.push_back(scoped<Name>(text));
      });
  if (!there) params.missing(field);
  if (there && names.empty()) params.refuse(field, "names nothing");
  return names;
}

}  // namespace reeve::api
