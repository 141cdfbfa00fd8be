#include "base/match.h"
#include "core/names.h"
#include "core/task_hand.h"
#include "core/task_step.h"

#include <utility>

// What people do about a task, and how it is told to whoever began it.
namespace reeve::task {
namespace {

// The agent is told what the person said. That it is still seen to ask the same is no news.
void say_permission(Hand& hand, std::string word, const std::string& text) {
  Task& task = hand.task;
  if (!is_at_work(task) || !can_be_told(task)) return;
  const auto say = [&](std::string words) {
    const std::string id = to_text(task.attempt) + "." + std::to_string(++task.messages);
    hand.start(Send{task.attempt, id, std::move(words)}, Part::Send);
  };
  say(std::move(word));
  if (!text.empty()) say(text);
  task.asked.reset();
  live(hand, hand.now);
}

// What somebody is to know of it: what is wrong, what it was seen to do, and what it said last.
std::string context_of(const Task& task) {
  std::string context(agent::text_of(task.seen.doing));
  const Stuck* stuck = std::get_if<Stuck>(&task.state);
  if (stuck && stuck->reason == Reason::NoHeartbeat) {
    context = "no sign of life, last seen: " + context;
  } else if (stuck && stuck->reason == Reason::NoProgress) {
    context = "no progress, last seen: " + context;
  }
  if (!task.seen.detail.empty()) context += ": " + task.seen.detail;
  constexpr std::size_t last_words = 2000;
  const std::string_view said = task.last.output;
  const std::size_t end = said.find_last_not_of(" \t\r\n");
  if (task.body != Body::None || end == std::string_view::npos) return context;
  context += "\nit said last:\n";
  context += last_bytes(said.substr(0, end + 1), last_words);
  return context;
}

}  // namespace

bool can_be_typed(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto after = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : '\0');
    if (byte == 0xC2 && after >= 0x80 && after < 0xA0) {
      ++at;
    } else if (byte >= 0x20 && byte != 0x7F) {
      return true;
    }
  }
  return false;
}

decision::Question question_about(const Task& task, decision::Cause cause) {
  const std::string subject = "agent " + task.begun->name + " (" + to_text(task.id) + ")";
  std::string question = subject + " is stuck: what now?";
  if (cause == decision::Cause::AgentGone && is_stuck_by(task, Reason::SessionDead)) {
    const std::string& detail = task.seen.detail;
    question = subject + " has ended" + (detail.empty() ? "" : " (" + detail + ")") + ": what now?";
  }
  if (cause == decision::Cause::AgentPermission) question = subject + " asks for permission";
  if (cause == decision::Cause::ProcessUnobserved) {
    question =
        (task.body == Body::Unseen ? "" : "a checkpoint of ") + subject + " cannot be seen dead";
  }
  return {task.begun->project, decision::WorkOwner{task.id}, cause, question, context_of(task)};
}

Next nudge(Task task, const std::string& text, Time now) {
  Hand hand{std::move(task), now};
  if (is_at_work(hand.task) && can_be_told(hand.task)) tell(hand, text, true);
  return std::move(hand).finish();
}

Next restart(Task task, Time now) {
  Hand hand{std::move(task), now};
  if (is_at_work(hand.task)) begin_again(hand, true);
  return std::move(hand).finish();
}

Next send(Task task, const std::string& message_id, const std::string& text, Time now) {
  Hand hand{std::move(task), now};
  Task& next = hand.task;
  if (!is_at_work(next) || !can_be_told(next)) return std::move(hand).finish();
  const std::uint64_t number = ++next.messages;
  const std::string made = to_text(next.attempt) + "." + std::to_string(number);
  hand.start(Send{next.attempt, message_id.empty() ? made : message_id, text}, Part::Send);
  next.responded_at = now;
  next.overdue_since.reset();
  return std::move(hand).finish();
}

Next finish(Task task, Result result, Time now) {
  Hand hand{std::move(task), now};
  end(hand, std::move(result));
  return std::move(hand).finish();
}

Next answer(Task task, const decision::Answer& answer, Time now) {
  using decision::Choice;
  Hand hand{std::move(task), now};
  Task& next = hand.task;
  switch (answer.choice) {
    case Choice::Nudge:
      if (!is_at_work(next)) break;
      // An answer counts as a move: if it is of no use, somebody is asked again.
      next.asked.reset();
      if (can_be_told(next)) {
        tell(hand, answer.text, true);
      } else {
        ask(hand, decision::Cause::AgentGone);
      }
      break;
    case Choice::Restart:
      if (is_at_work(next)) begin_again(hand, true);
      if (is_pending(next)) next.word = answer.text;
      break;
    case Choice::Done:
      end(hand, Success{answer.text});
      break;
    case Choice::Fail:
      end(hand, Failed{answer.text.empty() ? "failed by hand" : answer.text, How::Told});
      break;
    case Choice::Cancel:
      end(hand, Cancelled{});
      break;
    case Choice::Allow:
      say_permission(hand, "allow", answer.text);
      break;
    case Choice::Deny:
      say_permission(hand, "deny", answer.text);
      break;
    case Choice::LookAgain:
      if (next.body == Body::Unseen) end_body(hand);
      if (next.checkpoint_unseen) end_checkpoint(hand);
      break;
    case Choice::ReleaseAnyway:
      if (!is_unseen(next)) break;
      if (next.body == Body::Unseen) next.body = Body::None;
      if (std::exchange(next.checkpoint_unseen, false)) {
        next.checkpointing = false;
        next.checkpoint = {};
      }
      if (is_at_work(next)) ask(hand, decision::Cause::AgentGone);
      break;
    case Choice::Retry:
    case Choice::Skip:
    case Choice::CheckAgain:
    case Choice::Pass:
    case Choice::Dead:
    case Choice::Drop:
    case Choice::Option:
    case Choice::Text:
      break;
  }
  return std::move(hand).finish();
}

bool is_over(const Task& task) {
  return is_done(task) && task.body == Body::None && !task.checkpointing;
}

bool was_told_to_fail(const Task& task) {
  const Done* done = std::get_if<Done>(&task.state);
  const Failed* failed = done ? std::get_if<Failed>(&done->result) : nullptr;
  return failed && failed->how == How::Told;
}

Outcome outcome_of(const Task& task) {
  const Outcome& last = task.last;
  Outcome outcome;
  outcome.output = last.output;
  outcome.values = last.values;
  const Done* done = std::get_if<Done>(&task.state);
  if (!done) return outcome;
  match(
      done->result,
      [&](const Success& success) {
        outcome.exit_code = 0;
        if (!success.output.empty()) outcome.output = success.output;
      },
      [&](const Failed& failed) {
        outcome.ended = failed.how == How::Unknown ? Ended::Unknown : Ended::Failed;
        outcome.timed_out = failed.how == How::TimedOut;
        outcome.error = failed.error;
        if (!agent_of(task).session) {
          outcome.exit_code = last.exit_code;
          outcome.signal = last.signal;
        }
      },
      [&](const Cancelled&) {
        outcome.ended = Ended::Failed;
        outcome.error = "cancelled";
      });
  return outcome;
}

}  // namespace reeve::task
