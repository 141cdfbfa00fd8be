#pragma once

#include "cli/home.h"
#include "cli/json.h"
#include "cli/link.h"
#include "cli/output.h"
#include "cli/project.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>

// A conversation with the daemon that survives the daemon. Nothing is connected before the first
// request; if nobody listens, a daemon is started. Every change carries a random key, so when the
// connection is lost we connect again (starting a daemon if need be), take up our session and send
// once more what has no answer yet: it was carried out once or will be. Waits go on, until their
// own limit counted from when they began.
//
// Who only follows starts no daemon that was stopped on purpose: it waits until there is one again,
// and goes on where it was. What was lost meanwhile, if anything, is told like a gap. Who follows
// in order to wait for something is no onlooker: it starts one.
namespace reeve::cli {

// Where to, and for which project.
struct Where {
  Home home;
  std::optional<std::string> project_name;  // by name, as said
  std::optional<ProjectRoot> project_root;  // by folder
  bool may_start = true;
};

// How often one request is sent again, or a daemon started again, before that is given up.
inline constexpr int most_repeats = 3;

class Client {
 public:
  using Ticket = std::uint64_t;
  // A Wait follows, and is worth a daemon.
  enum class Kind : std::uint8_t { Question, Change, Follow, Wait };

  explicit Client(Where where) : where_(std::move(where)) {}

  // One request and its answer.
  Answer ask(std::string_view method, Json params = Json::object());
  Answer change(std::string_view method, Json params);

  // Several at a time. A limit in ms belongs to a request that waits; -1: none.
  Ticket begin(std::string_view method, Json params, Kind kind);
  // The answer, if it has come; then the ticket is over.
  std::optional<Answer> take(Ticket ticket);
  Answer wait(Ticket ticket);
  // Ends a request that waits; its answer still comes, and may be the thing itself.
  void cancel(Ticket ticket);
  // An event that a Follow brought; or, as {"lagged":…}, that some are missing.
  std::optional<Json> next_event();

  // Waits until something came, from the daemon or on one of the others, or so many ms are over.
  // -1: as long as it takes.
  void pump(std::int64_t milliseconds, std::span<pollfd> others = {});

  // What the daemon said of itself; greets it if that has not happened.
  std::expected<Json, Failure> greet();
  // Whether somebody listens, without starting anybody.
  std::expected<void, Failure> connect(bool may_start);

  const Where& where() const { return where_; }
  // From now on no daemon is started: for those who only watch.
  void only_look() { where_.may_start = false; }

 private:
  struct Request {
    std::string line;
    std::string method;
    Kind kind = Kind::Question;
    bool waits = false;
    bool needs_daemon = false;  // a Wait
    std::int64_t until = -1;    // steady ms: the end of its wait
    bool cancelled = false;
    bool out_of_time = false;
    int repeats = 0;
    Json params;  // of a Follow: it goes on from what was seen
    std::uint64_t last_seq = 0;
    std::uint64_t last_index = 0;
    bool has_begun = false;  // it was answered once
    bool saw_all = false;    // of the daemon before: it took leave
    std::optional<Answer> answer;
  };

  // Behind every event of a sequence.
  static constexpr std::uint64_t last_of_all = ~std::uint64_t{0};

  static std::string line_of(Ticket ticket, std::string_view method, const Json& params);
  void send(Ticket ticket, Request& request);
  void greet_by_line();
  void read_lines();
  void heard(const Json& message);
  void heard_event(const Json& message);
  bool heard_gone(Ticket ticket, Request& follow, const Answer& answer);
  void heard_nothing(std::string_view line);
  bool heard_too_long(const Json& message);
  // After a send that failed.
  void hang_up();
  void lost();
  Failure no_daemon() const;
  std::expected<Link, Failure> reach();
  std::expected<void, Failure> check_home(Link& link);
  void send_again();
  void fail_all(const Failure& failure);
  std::int64_t soonest(std::int64_t milliseconds) const;
  void end_waits();

  Where where_;
  Link link_;
  std::map<Ticket, Request> requests_;
  std::deque<Json> events_;
  Ticket last_ = 0;
  Ticket hello_ = 0;     // on this connection; 0: not greeted
  std::string session_;  // as the last hello called it
  std::optional<Json> greeting_;
  std::optional<Failure> refused_;  // the hello was
  bool sleeps_ = false;             // until somebody starts a daemon
};

}  // namespace reeve::cli
