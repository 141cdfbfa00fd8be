#pragma once

#include "api/desk.h"
#include "api/json_writer.h"
#include "base/time.h"
#include "core/id.h"
#include "core/reply.h"
#include "core/state.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// From the core's words to those of the protocol: one answer to one request.
namespace reeve::api {

// What is remembered of a request until its answer is told.
struct Kept {
  std::string name;        // of the lock, the semaphore, the queue, as it was written
  std::string_view field;  // where it was written; empty: nobody said
  std::string second;      // the item, the holder, ...
  std::int64_t number = 0;
  bool flag = false;
};

class Tell {
 public:
  Tell(std::string& to, std::string_view id, Sequence sequence, Stamp now, ProjectNo project)
      : json(to),
        to_(to),
        begin_(to.size()),
        id_(id),
        sequence_(sequence),
        now_(now),
        project_(project) {}
  // Only a part of a line: whoever makes it begins and ends that.
  struct Part {};
  Tell(std::string& to,
       std::string_view id,
       Sequence sequence,
       Stamp now,
       ProjectNo project,
       Part /*part*/)
      : Tell(to, id, sequence, now, project) {
    said_ = Said::Part;
  }
  Tell(const Tell&) = delete;
  Tell& operator=(const Tell&) = delete;
  ~Tell();  // ends the line

  // One of the two, once. The result has its "seq" already; fields may be added.
  JsonWriter& result();
  // `details` may be added with `json` until the end; the "seq" comes after them.
  JsonWriter& error(std::string_view code, std::string_view message);
  JsonWriter& error(int number, std::string_view code, std::string_view message);

  // The one place where engine time becomes wall time: as far from the present as it truly is. A
  // moment that no calendar has is left out.
  void moment(std::string_view field, Time time);
  void moment(std::string_view field, std::optional<Time> time);
  void moment(std::string_view field, Wall wall);

  // As it would be written in the request's project.
  template <class Kind>
  std::string name(const Scoped<Kind>& name) const {
    return shown(name.project, name.name);
  }
  std::string shown(ProjectNo project, const std::string& name) const;

  // Bytes of this answer so far.
  std::size_t size() const { return to_.size() - begin_; }

  const Kept& kept() const { return *kept_; }
  ProjectNo project() const { return project_; }
  Stamp now() const { return now_; }
  Sequence sequence() const { return sequence_; }
  // There for those who asked for it.
  bool has_state() const { return state_ != nullptr; }
  const State& state() const { return *state_; }
  Desk& desk() const { return *desk_; }

  void set(const Kept* kept, const State* state, Desk* desk) {
    kept_ = kept;
    state_ = state;
    desk_ = desk;
  }
  void of(Sequence sequence) { sequence_ = sequence; }

  JsonWriter json;

 private:
  std::string& to_;
  std::size_t begin_;
  std::string_view id_;
  Sequence sequence_;
  Stamp now_;
  ProjectNo project_;
  const Kept* kept_ = nullptr;
  const State* state_ = nullptr;
  Desk* desk_ = nullptr;
  enum class Said : std::uint8_t { Nothing, Result, Error, Part } said_ = Said::Nothing;
};

// How the reply to one method is told, and how the state is shown to a question.
using ShowReply = void (*)(Tell& tell, const Reply& reply);
using ShowState = void (*)(Tell& tell, const State& state);

// Refusals that look the same whatever was asked. `kind` and `name` say what it was about.
void tell_refused(Tell& tell, const Refused& refused, std::string_view kind);
// With what may have been meant, if that was not said and the state is at hand. No `kind`: any.
void tell_not_found(Tell& tell,
                    std::string_view kind,
                    std::string_view name,
                    std::string_view nearest = {});

// The answers of core/grant to a request for locks or slots.
void tell_busy(Tell& tell, const grant::Busy& busy, bool waited);
void tell_full(Tell& tell, const grant::Full& full, bool waited);
void tell_deadlock(Tell& tell, const grant::WouldDeadlock& deadlock);
void tell_not_granted(Tell& tell, const grant::NotGranted& not_granted);
void tell_cancelled(Tell& tell);

// A name between quotes, for sentences.
std::string quoted(std::string_view name);

}  // namespace reeve::api
