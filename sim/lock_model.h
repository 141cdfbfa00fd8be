#pragma once

#include "core/apply.h"
#include "sim/report.h"
#include "sim/session_model.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

// A second, simple model of locks and slots, written apart from the core: it knows tenures and the
// clock, and nothing of lines. It is told the history that clients could write (call, reply,
// sequence), and says when a reply cannot be true:
//
//   - a grant of what somebody else holds, whose lease cannot be over;
//   - weights above the capacity;
//   - a token that is not larger than all before it;
//   - a heartbeat or check that is good though its token is old or its lease over, or that is
//     refused though nothing could have ended it;
//   - busy, though nobody holds it and nobody waits.
namespace reeve::sim {

class LockModel {
 public:
  explicit LockModel(Report& report) : report_(report) {}

  // An input that changed something, and what was said to it. `repeated`: a request with a key that
  // was known, answered from memory.
  void decided(Stamp stamp,
               const Input& input,
               const Said& said,
               const Outgoing* ended_effect,
               bool repeated);
  // A request that changed nothing.
  void judged(Stamp stamp, const Request& request, const Reply& reply);

  void compare(const State& state, Time now);

 private:
  struct Want {
    Holder holder;
    std::optional<Process> process;
    std::optional<Duration> timeout;
    std::optional<Duration> max_hold;
    std::vector<std::string> names;
  };
  struct Tenure {
    Want want;
    Token token;
    Time since;
    Time last_sign;
    std::uint32_t weight = 0;
    bool uncertain = false;           // something may have ended it that is not modelled
    std::optional<Time> lapsed = {};  // what its limit was when it was over
  };
  struct SlotKey {
    std::string name;
    Holder holder;

    auto operator<=>(const SlotKey&) const = default;
  };

  void lapse(Time now);
  Time limit_of(const Tenure& tenure) const;
  bool is_over(const Tenure& tenure, Time now) const { return now > limit_of(tenure); }
  bool may_be_lost(const Tenure& tenure, Time now) const;  // its token may be refused
  bool may_be_free(const Tenure& tenure, Time now) const;  // somebody else may have it
  void granted(Stamp stamp, const Want& want, const grant::Granted& granted);
  void kept(Tenure& tenure, const Want& want, const grant::Given& given, Time now);
  void lock_granted(Stamp stamp, const Want& want, const grant::Given& given);
  void slot_granted(Stamp stamp, const Want& want, const grant::Given& given);
  void taken_back(const Reply& reply);
  void released(const Request& request, const Reply& reply, Time now);
  void replied(Stamp stamp, const Request& request, const Reply& reply);
  void alive(
      Tenure* tenure, Token token, std::optional<Time> expires_at, Time now, const char* what);
  void lost(const Tenure* tenure, Token token, Time now, const char* what);
  Tenure* find_slot(const std::string& name, const Holder& holder);

  Report& report_;
  SessionModel sessions_;
  std::map<std::string, Tenure> locks_;
  std::map<SlotKey, Tenure> slots_;
  std::map<std::string, std::uint32_t> capacities_;
  std::map<std::uint64_t, Want> waiting_;
  std::uint64_t last_token_ = 0;
  std::uint64_t token_before_ = 0;  // the largest before the input at hand
};

}  // namespace reeve::sim
