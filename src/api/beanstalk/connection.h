#pragma once

#include "api/beanstalk/ledger.h"
#include "api/beanstalk/line.h"
#include "api/beanstalk/yaml.h"
#include "api/connection.h"
#include "api/desk.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// A client of beanstalkd 1.12: the same commands and replies, and tubes that are queues of one
// project. docs/beanstalkd.md has the mapping and what differs.
//
// Commands are carried out in the order in which they came, and answered in that order. They need
// not wait for one another's answers, so a pipeline of puts is one commit; but behind a reserve
// that waits nothing is read until it is answered.
//
// A job that this connection has reserved is a claim bound to its session: the end of the
// connection frees it, and time-to-run is the engine's to keep, whether or not anybody says
// anything here.
namespace reeve::api::beanstalk {

// A reserve is answered DEADLINE_SOON if a job that is held has no more time than this.
inline constexpr Duration deadline_margin = std::chrono::seconds{1};

class Connection final : public api::Connection {
 public:
  // All three outlive it.
  Connection(SessionId session, Desk& desk, Ledger& ledger, const Machine& machine);
  ~Connection() override;

  void receive(std::string_view bytes, Stamp now) override;
  void end_of_input(Stamp now) override;
  bool wants_input() const override;
  std::size_t buffered() const override { return input_.size() - start_; }

  std::optional<Time> next_wake() const override;
  void tick(Stamp now) override;

  void waits(Call call, WaiterId waiter) override;
  void replied(Call call, Sequence sequence, const Reply& reply, Stamp now) override;
  void queried(Call call, const State& state, Stamp now) override;
  void taken_over(Call /*call*/) override {}  // only requests with keys are
  void unavailable(Call call, const Error& error) override;

 private:
  // A command that was carried out and is not answered yet.
  struct Open {
    Op op = Op::Quit;
    bool silent = false;    // a step on the way to another answer
    bool answered = false;  // `text` waits for those before it
    std::uint64_t id = 0;
    std::uint32_t delay = 0;
    std::string text = {};  // the answer; before that the name it is about
  };

  // A job that this connection has reserved, as far as it was told.
  struct Held {
    QueueName queue;
    Token claim;
    Time until;
  };

  // ── Reading: connection.cc ──
  std::size_t consume(std::string_view bytes, Stamp now);
  std::size_t consume_line(std::string_view bytes, Stamp now);
  std::size_t consume_body(std::string_view bytes, Stamp now);
  std::size_t consume_junk(std::string_view bytes);
  std::size_t consume_endless(std::string_view bytes);
  bool is_blocked();
  bool may_go_on() const;
  void go_on(Stamp now);
  void finish();

  // ── Answering, in order ──
  Call open(Open what);
  Open& at(Call call);
  std::string& answer_to(Call call);  // where its answer is to be written; then:
  void answered(Call call);
  void answer(Call call, std::string_view text);
  void say(std::string_view text);

  // ── Commands: commands.cc ──
  void carry_out(const Line& line, Stamp now);
  void begin_put(const Line& line);
  void put(std::string_view body, Stamp now);
  void reserve(Op op, std::optional<Duration> wait, Stamp now);
  void reserve_job(ItemId id, Stamp now);
  void delete_job(ItemId id, Stamp now);
  void about_held(const Line& line, Stamp now);
  Tube& enter(std::string_view name, Stamp now);
  void use(std::string_view name, Stamp now);
  void watch(std::string_view name, Stamp now);
  void ignore(std::string_view name);
  void kick(std::uint64_t count, Stamp now);
  void kick_job(ItemId id, Stamp now);
  void pause(const Line& line, Stamp now);
  void list_watched();
  void look(Op op, std::uint64_t id, std::string_view name, Stamp now);
  void ensure(std::string_view tube, Stamp now);
  void submit(Call call, Command command, Stamp now);
  void submit(Open what, Command command, Stamp now) {
    const Call call = open(std::move(what));
    submit(call, std::move(command), now);
  }
  const State& state() const { return desk_.engine().state(); }
  Holder holder() const;

  // ── Jobs that are held: held.cc ──
  std::optional<Held> held(ItemId id, Time now);
  bool is_deadline_soon(Time now);
  bool is_soon_in_state(Time now) const;
  bool has_ready() const;
  void look_at_held(Time now);
  std::optional<Held> claim_of(ItemId id, Time now) const;

  // ── What came of them: replies.cc ──
  void reserved(Call call, const queue::Taken& taken);
  void peeked(Call call, const State& state, std::optional<ItemId> id);
  void refused(Call call, const Refused& refused);
  void heard(Call call, const queue::Reply& reply);
  void heard_ok(Call call);
  void ok(Call call, std::string_view yaml);
  void waits_no_more(Call call);

  Desk& desk_;
  Ledger& ledger_;
  const Machine& machine_;

  std::string used_;
  std::vector<std::string> watched_;
  std::vector<QueueName> watched_queues_;
  bool is_producer_ = false;
  bool is_worker_ = false;

  // What came and was not carried out yet: from `start_` on.
  std::string input_;
  std::size_t start_ = 0;
  bool at_first_line_ = true;
  bool ended_ = false;    // no more will come
  bool quit_ = false;     // what came behind it is not read
  bool stopped_ = false;  // there is more to carry out, after what is being waited for
  bool endless_ = false;  // in the middle of a line that is too long
  std::optional<Line> put_;
  std::uint64_t junk_ = 0;  // bytes to be thrown away, and then:
  std::string_view after_junk_;

  std::deque<Open> open_;
  std::uint64_t first_call_ = 1;  // of open_

  // The last reserve, until it is known whether it waits; a kick that may take several steps.
  Call reserve_ = {};
  Call kick_ = {};
  // The reserve that waits.
  Call waiting_ = {};
  WaiterId waiter_ = {};
  bool cancelled_ = false;      // its wait was ended here
  bool deadline_soon_ = false;  // for that reason
  std::uint32_t bodies_ = 0;    // commands in open_ whose answers may be large
  std::uint32_t untold_ = 0;    // reserves without an answer: what they gave is not in held_

  std::unordered_map<std::uint64_t, Held> held_;
  Time none_due_before_ = Time::max();  // of held_
  Time looked_at_;                      // whether there still is what is in held_
};

}  // namespace reeve::api::beanstalk
