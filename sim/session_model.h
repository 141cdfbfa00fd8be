#pragma once

#include "core/input.h"
#include "core/limits.h"

#include <map>
#include <set>
#include <variant>

// What the second models of locks and queues share: which connections and processes may be gone.
// Nothing here is taken from the core but the words of the inputs.
namespace reeve::sim {

class SessionModel {
 public:
  // `ended_effect`: what the input says is done, if it is the good end of an effect.
  void decided(Stamp stamp, const Input& input, const Outgoing* ended_effect) {
    if (const auto* ended = std::get_if<session::Ended>(&input)) ended_.insert(ended->session);
    if (const auto* back = std::get_if<session::Returned>(&input)) {
      awaited_.erase(back->session);
      met_.insert_or_assign(back->session, true);
    }
    if (const auto* gone = std::get_if<custody::ProcessGone>(&input)) gone_.insert(gone->process);
    if (const auto* resumed = std::get_if<Resumed>(&input)) {
      leases_from_ = stamp.now;
      if (resumed->what == System::What::Ready) {
        for (const auto& [session, can_return] : met_) {
          awaited_[session] = can_return ? stamp.now + limits::session_return : stamp.now;
        }
        met_.clear();
      }
    }
    if (ended_effect) {
      const Kill* kill = std::get_if<Kill>(&ended_effect->what);
      const Process* process = kill ? std::get_if<Process>(&kill->target) : nullptr;
      if (process) gone_.insert(*process);
    }
    if (const auto* request = std::get_if<Request>(&input)) {
      if (request->session) {
        met_.insert_or_assign(request->session, request->can_return);
      }
      const auto* decision = std::get_if<decision::Command>(&request->command);
      // Somebody may have decided to go on without seeing a process dead.
      if (decision && std::holds_alternative<decision::Resolve>(*decision)) blind_ = true;
    }
  }

  Time leases_from() const { return leases_from_; }

  bool may_be_gone(SessionId session, Time now) const {
    if (!session) return false;
    if (ended_.contains(session)) return true;
    const auto awaited = awaited_.find(session);
    return awaited != awaited_.end() && now >= awaited->second;
  }
  bool may_be_gone(const Process& process) const { return blind_ || gone_.contains(process); }

 private:
  std::set<SessionId> ended_;
  std::map<SessionId, bool> met_;      // since the last start, or back since; whether it can return
  std::map<SessionId, Time> awaited_;  // until when
  std::set<Process> gone_;
  Time leases_from_;
  bool blind_ = false;
};

}  // namespace reeve::sim
