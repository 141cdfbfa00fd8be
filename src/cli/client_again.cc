#include "cli/client.h"

#include <time.h>
#include <unistd.h>
#include <vector>

// What becomes of requests when the connection is lost: asked again, with the same keys.
namespace reeve::cli {

namespace {

constexpr int most_repeats_of_a_wait = 100;
constexpr timespec a_moment{.tv_sec = 0, .tv_nsec = 100'000'000};

}  // namespace

// Who follows goes on from the oldest that is left. True: it was asked again.
bool Client::heard_gone(Ticket ticket, Request& follow, const Answer& answer) {
  if (answer) {
    if (!follow.params.has("since_seq")) follow.last_seq = (*answer)["seq"].natural();
    follow.has_begun = true;
    follow.saw_all = false;
    return false;
  }
  const std::uint64_t oldest = answer.error().details["oldest"].natural();
  if (answer.error().code != "GONE" || !follow.has_begun || oldest == 0) return false;
  // A daemon forgets events when it ends, all up to its last checkpoint.
  if (!follow.saw_all && oldest > follow.last_seq + 1) {
    const Json gap = json_of({{"from", Json(follow.last_seq + 1)}, {"to", Json(oldest - 1)}});
    events_.push_back(json_of({{"lagged", gap}}));
  }
  follow.last_seq = oldest - 1;
  follow.last_index = last_of_all;
  follow.params.set("since_seq", follow.last_seq);
  follow.line = line_of(ticket, follow.method, follow.params);
  send(ticket, follow);
  return true;
}

// The connection is gone: again, with the same keys, whatever has no answer.
void Client::lost() {
  std::vector<Ticket> others;
  bool follows = false;
  bool waits = false;
  // A daemon that took leave had told its followers everything.
  const std::string mark = where_.home.path + "/journal/clean";
  const bool took_leave = ::access(mark.c_str(), F_OK) == 0;
  bool again = false;
  for (auto& [ticket, request] : requests_) {
    if (request.answer && request.kind != Kind::Follow) continue;
    const bool patient = request.waits || request.kind == Kind::Follow;
    if (++request.repeats > (patient ? most_repeats_of_a_wait : most_repeats)) {
      request.answer = std::unexpected(Failure{
          "UNAVAILABLE", "the daemon ended every time it was asked; see `reeve daemon logs`"});
      continue;
    }
    if (request.cancelled) {
      // Its place is gone with the connection, as was wanted.
      request.answer = std::unexpected(Failure{"CANCELLED", "the wait was cancelled"});
      continue;
    }
    again = again || request.repeats > 1;
    if (request.has_begun && took_leave) request.saw_all = true;
    follows = follows || request.has_begun;
    waits = waits || request.needs_daemon;
    if (!request.has_begun) others.push_back(ticket);
  }
  if (!follows && others.empty()) return;
  const bool only_looks = others.empty() && took_leave && !waits;
  if (follows && (!where_.may_start || only_looks)) {
    sleeps_ = true;
    for (const Ticket ticket : others) requests_[ticket].answer = std::unexpected(no_daemon());
    return;
  }
  if (again) ::nanosleep(&a_moment, nullptr);
  if (const auto connected = connect(where_.may_start); !connected) {
    return fail_all(connected.error());
  }
  send_again();
}

void Client::send_again() {
  const auto is_open = [](const Request& request) {
    if (request.answer && (request.kind != Kind::Follow || !*request.answer)) return false;
    return !request.cancelled;
  };
  bool resumes = false;
  for (const auto& [ticket, request] : requests_) {
    resumes = resumes || (is_open(request) && request.waits);
  }
  if (where_.project_root || resumes) greet_by_line();
  if (resumes && !session_.empty()) {
    // Too late is no matter: the requests below then stand in line anew.
    link_.send(line_of(++last_, "session.resume", json_of({{"session", session_}})));
  }
  for (auto& [ticket, request] : requests_) {
    if (!is_open(request)) continue;
    if (request.kind == Kind::Follow && request.has_begun) {
      // The last sequence once more, unless all of it was seen.
      const bool whole = request.last_index == last_of_all || request.last_seq == 0;
      request.params.set("since_seq", whole ? request.last_seq : request.last_seq - 1);
      request.line = line_of(ticket, request.method, request.params);
    }
    if (!link_.is_open() || !link_.send(request.line)) {
      hang_up();
      return lost();
    }
  }
}

}  // namespace reeve::cli
