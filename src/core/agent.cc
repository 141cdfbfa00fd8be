#include "core/agent.h"

#include "core/names.h"

#include <algorithm>
#include <utility>

namespace reeve::agent {

Sign sign_of(Doing doing) {
  switch (doing) {
    case Doing::Working:
      return Sign::Life;
    case Doing::Idle:
    case Doing::WaitingAnswer:
      return Sign::Quiet;
    case Doing::WaitingPermission:
      return Sign::Question;
    case Doing::RateLimited:
      return Sign::Cooling;
    case Doing::Errored:
      return Sign::Trouble;
    case Doing::Exited:
      return Sign::Gone;
    case Doing::Unknown:
      return Sign::Nothing;
  }
  return Sign::Nothing;
}

bool replaces(const AgentState& news, const AgentState& known) {
  if (news.doing == Doing::Unknown && known.doing != Doing::Unknown) return false;
  return news.observed_at >= known.observed_at;
}

AgentState judged(AgentState seen, Time now) {
  seen.observed_at = std::min(seen.observed_at, now);
  seen.detail.resize(cut(seen.detail).size());
  return seen;
}

std::string_view text_of(Doing doing) {
  switch (doing) {
    case Doing::Working:
      return "working";
    case Doing::Idle:
      return "idle";
    case Doing::WaitingPermission:
      return "waiting_permission";
    case Doing::WaitingAnswer:
      return "waiting_answer";
    case Doing::RateLimited:
      return "rate_limited";
    case Doing::Errored:
      return "errored";
    case Doing::Exited:
      return "exited";
    case Doing::Unknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace reeve::agent
