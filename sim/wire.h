#pragma once

#include "api/desk.h"
#include "api/rpc.h"
#include "core/input.h"
#include "engine/engine.h"
#include "sim/dice.h"
#include "sim/report.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Clients that speak docs/protocol.md: their bytes go through the daemon's own parser (api/rpc.h)
// and desk, in pieces, over connections that end in the middle of a line or of an answer, and now
// and then they are no JSON at all. All they know they have read off their answers.
//
// What is checked: every answer is a line of JSON; every line that was sent whole has its answer
// once, at the latest when the input has ended or the journal has failed; an answer names what was
// decided; and (by `meant`) what the parser made of a line is what was meant by it.
namespace reeve::sim {

class Wire final : public api::Steward {
 public:
  using Meant = std::function<void(Request)>;

  Wire(Dice& dice, Report& report, Meant meant);

  // A daemon begins, and ends; what they have read outlives it.
  void begin(engine::Engine& engine, Stamp now);
  void end();

  // One of them sends something, hangs up or comes. `crowded`: nobody should push more.
  void act(Stamp now, bool crowded);
  // After the engine has delivered: what the answers made necessary. True: there was something.
  bool catch_up(Stamp now);
  // None will send more; all they asked for must be answered.
  void finish(Stamp now);
  void give_up(const Error& error);
  std::size_t unanswered() const;
  std::uint64_t lines() const { return lines_; }

  // The engine's words to a ticket of the desk's, and to those who waited.
  void replied(engine::Ticket ticket, engine::Sequence sequence, const Reply& reply);
  void answered(WaiterId waiter, engine::Sequence sequence, const Reply& reply);
  void queried(engine::Ticket ticket, const State& state, Stamp stamp);
  void unavailable(engine::Ticket ticket, const Error& error);

 private:
  struct Lease {
    bool lock = true;
    bool bound = false;
    std::string name;
    Token token;
  };
  struct Claim {
    std::string queue;
    std::string item;
    Token token;
  };
  struct Line {
    std::string method;
    std::string fields;    // of the parameters, without the key
    std::string key = {};  // its own, unless it is repeated
    bool bound = false;
    Command command = {};
  };
  struct Speaker {
    std::string name;
    std::vector<Lease> leases;
    std::vector<Claim> claims;
    std::vector<Line> again;  // never answered: to be repeated with its key

    std::unique_ptr<api::Rpc> rpc;
    std::map<std::uint64_t, Line> open;  // sent whole and without an answer, by id
    std::string unsent;                  // of the line that is being sent:
    std::optional<std::pair<std::uint64_t, Line>> sending;
    std::size_t nonsense = 0;  // lines that are answered without an id
    bool hangs_up = false;     // before it has read all that is there
  };

  void connect(Speaker& speaker);
  void hang_up(Speaker& speaker, Stamp now);
  void send(Speaker& speaker, Stamp now, bool crowded);
  Line new_line(Speaker& speaker, bool crowded);
  Line about_lease(Speaker& speaker);
  void forget_unanswered(Speaker& speaker);
  void read(const Reply* reply);
  void read_line(Speaker& speaker, const std::string& text, const Reply* reply);
  void learn(Speaker& speaker, const Line& line, std::string_view text);

  const api::About& about() const override { return about_; }
  void stop(bool) override {}
  void checkpoint(std::function<void(Result<api::Sequence>)> done) override { done(0); }
  std::size_t connections() const override { return speakers_.size(); }
  std::optional<Process> process(std::int64_t, bool) const override { return std::nullopt; }
  JournalUse journal_use() const override { return {}; }

  Dice& dice_;
  Report& report_;
  Meant meant_;
  api::About about_;
  std::optional<api::Desk> desk_;
  std::vector<Speaker> speakers_;
  std::uint64_t last_session_ = std::uint64_t{1}
                                << 40U;  // none of the other clients has such a one
  std::uint64_t last_id_ = 0;
  std::uint64_t last_key_ = 0;
  std::uint64_t lines_ = 0;
};

}  // namespace reeve::sim
