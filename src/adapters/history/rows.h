#pragma once

#include "adapters/history/sqlite.h"
#include "base/result.h"
#include "base/time.h"
#include "core/event.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

// From events to rows. Events come in their order; what a row needs to know of the past it finds
// in the rows that are there, so a history that begins in the middle has what happened since.
//
// A row is made when a thing begins and completed when it ends. An end without a beginning (that
// lies in a gap, or was forgotten) changes nothing but the table of events.
namespace reeve::history {

class Rows {
 public:
  explicit Rows(Database& database) : database_(database) {}

  // `stamp`: both clocks at event.at. The first failure is the last, until clear().
  Result<void> add(const Event& event, Stamp stamp, std::string_view project);
  void clear() { failure_.reset(); }

 private:
  // Runs it with these parameters, in their order. `sql` is a literal: statements are kept by its
  // address.
  template <class... Parameters>
  void run(const char* sql, const Parameters&... parameters) {
    Statement* statement = failure_ ? nullptr : find(sql);
    if (!statement) return;
    (statement->bind(parameters), ...);
    if (auto done = statement->run(); !done) failure_ = done.error();
  }
  Statement* find(const char* sql);

  std::int64_t wall(Time time) const;  // of a moment in the event

  void add_event(const Event& event);
  void add_gap(const Custom& custom);

  void add(const lock::Event& event);
  void add(const semaphore::Event& event);
  void add(const grant::Event& event);
  void begin_hold(const char* kind,
                  const std::string& name,
                  const std::string& holder,
                  std::uint32_t weight,
                  Token token);
  // Without `left` it had what it waited for.
  void end_wait(WaiterId waiter, std::optional<Left> left);

  void add(const queue::Event& event);
  void end_attempt(Token claim, const char* outcome, std::optional<std::string_view> error);
  void put_back(ItemId item);

  void add(const pipeline::Event& event);
  void begin_phase(PipelineId pipeline, const std::string& phase, std::uint32_t attempt);
  void end_phase(PipelineId pipeline, const char* outcome, std::optional<std::string_view> error);
  void end_pipeline(PipelineId pipeline, const char* state, std::optional<std::string_view> error);
  void add(const decision::Event& event);

  void add(const board::Event& event);
  void add(const System& event);
  // Leases count anew from this moment on: the locks of the board that are there are good for as
  // long as their last sign of life made them, from now.
  void give_grace();
  void release_task(BoardTaskId task, const char* how);
  void release_section(const SectionName& section, const char* how);
  std::string section_id(const SectionName& section) const;

  Database& database_;
  std::unordered_map<const char*, Statement> statements_;
  std::optional<Error> failure_;

  // Of the event at hand.
  std::int64_t at_ = 0;
  std::uint64_t sequence_ = 0;
  Stamp stamp_;
  std::string_view project_;
  std::string scratch_;
};

}  // namespace reeve::history
