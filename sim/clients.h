#pragma once

#include "core/input.h"
#include "core/reply.h"
#include "core/state.h"
#include "sim/dice.h"
#include "sim/hands.h"
#include "sim/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Those who use the daemon: a handful of clients with connections and processes that come and go,
// who remember what they were told, act on it late or twice, and repeat with its key what they got
// no answer to.
namespace reeve::sim {

struct Client {
  std::string name;
  SessionId session;
  bool bound = false;  // what it holds ends with its connection
  bool can_return = true;
  bool connected = true;
  bool returning = false;  // asked to, and not answered yet
  std::optional<Process> process;

  struct Lease {
    bool lock = true;
    std::string name;
    Token token;
  };
  struct Claim {
    std::string queue;
    ItemId item;
    Token token;
  };
  struct Work {
    BoardTaskId task;
    Token token;
  };
  std::vector<Lease> leases;  // what it believes to hold, or to have held
  std::vector<Claim> claims;
  std::vector<Work> tasks;  // of the board
  std::vector<WaiterId> waits;
  std::vector<Request> unanswered;  // to be repeated
};

class Clients {
 public:
  Clients(Dice& dice, const Plan& plan, SimHands& hands);

  std::size_t size() const { return clients_.size(); }
  Client& at(std::size_t index) { return clients_[index]; }
  std::size_t any() { return dice_.below(clients_.size()); }

  // What makes the world: semaphores, queues, runbooks, a worker, a board.
  std::vector<Request> setup();

  // What this client asks for next. `state`: what it could have seen of it, more or less.
  Request next(std::size_t client, const State& state);

  // At the end: the cron is disabled, and one runner works off the board.
  static std::optional<Command> no_more_cron(const State& state);
  std::optional<Command> tidy_up(const State& state);
  static bool is_tidy(const State& state);

  void learned(std::size_t client, const Request& request, const Reply& reply);
  void answered(std::size_t client, WaiterId waiter, const Reply& reply);
  // No reply will come: a request with a key will be repeated.
  void unanswered(std::size_t client, Request request);
  void daemon_ended();
  void new_connection(std::size_t client);

 private:
  Command lock_command(Client& client);
  Command semaphore_command(Client& client);
  Command queue_command(Client& client, const State& state);
  Command work_command(Client& client, const State& state);
  Command board_command(Client& client, const State& state);
  Command cron_command();
  Command other_command(Client& client);
  board::Command locking() const;
  Holder holder_of(const Client& client) const;
  Boxed<HolderMeta> meta_of(const Client& client);
  std::optional<Duration> some_wait(const Client& client);
  void take_note(Client& client, const Reply& reply);
  static void note_task(Client& client, const Reply& reply);

  Dice& dice_;
  const Plan& plan_;
  SimHands& hands_;
  std::vector<Client> clients_;
  std::uint64_t last_session_ = 0;
  std::uint64_t last_key_ = 0;
  std::uint64_t last_data_ = 0;
};

}  // namespace reeve::sim
