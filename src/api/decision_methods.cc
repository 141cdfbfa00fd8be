#include "api/errors.h"
#include "api/fields.h"
#include "api/ids.h"
#include "api/methods.h"
#include "api/paging.h"
#include "api/rpc.h"
#include "api/show_run.h"
#include "base/match.h"
#include "codec/shell_word.h"
#include "core/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

// Questions to people, and their answers.
namespace reeve::api {
namespace {

const auto& decisions(const State& state) { return state.decisions.decisions; }

void tell_answer(Tell& tell, DecisionId id, const decision::Answer& answer) {
  JsonWriter& json = tell.result();
  json.key("id").plain(to_text(id)).field("choice", decision::text_of(answer.choice));
  if (answer.choice == decision::Choice::Option) json.field("option", answer.option);
  json.field("text", answer.text);
  if (!answer.note.empty()) json.field("note", answer.note);
  if (!answer.by.empty()) json.field("by", answer.by);
}

// The choice, and what was said with it; of a question with options or without, the answer itself.
std::string words_of(const decision::Answer& answer) {
  const std::string choice{decision::text_of(answer.choice)};
  const bool is_own =
      answer.choice == decision::Choice::Option || answer.choice == decision::Choice::Text;
  if (is_own && !answer.text.empty()) return answer.text;
  return answer.text.empty() ? choice : fmt::format("{} ({})", choice, answer.text);
}

void tell_decision(Tell& tell, const Reply& reply) {
  const decision::Reply* of_decision = std::get_if<decision::Reply>(&reply.value);
  if (!of_decision) return;
  match(
      *of_decision,
      [&](const decision::Resolved& resolved) {
        tell_answer(tell, resolved.decision, resolved.answer);
      },
      [&](const decision::AlreadyAnswered& already) {
        const decision::Answer& first = already.first;
        JsonWriter& json = tell.error(code::answered,
                                      fmt::format("{} was answered already{}: {}",
                                                  to_text(already.decision),
                                                  first.by.empty() ? "" : " by " + first.by,
                                                  words_of(first)));
        json.field("name", to_text(already.decision));
        json.field("choice", decision::text_of(first.choice)).field("text", first.text);
        if (!first.by.empty()) json.field("by", first.by);
      },
      [&](const decision::NotAnswered& not_answered) {
        if (not_answered.left == Left::TimedOut) {
          tell.error(code::timed_out, "nobody answered in time");
        } else {
          tell.error(code::cancelled, "the question was withdrawn");
        }
      });
}

// The choice that is meant, in the words of the core; what it does not know it refuses, naming
// those that are offered.
std::optional<std::string> mistake_in(const decision::Decision& decision,
                                      std::string_view choice,
                                      std::string_view text) {
  if (!std::holds_alternative<decision::Open>(decision.state)) return std::nullopt;
  const std::vector<std::string> names = offered(decision);
  const bool any_text = decision.cause == decision::Cause::Asked && names.empty();
  if (any_text && !choice.empty()) return "offers none; say the answer with -m TEXT";
  if (any_text && text.empty()) return "wants an answer: -m TEXT";
  if (any_text) return std::nullopt;
  const bool is_known = std::ranges::find(names, choice) != names.end();
  if (is_known) return std::nullopt;
  return fmt::format("must be one of: {}", fmt::join(names, ", "));
}

// "2" is the second choice, unless a choice is called so: then it is that one.
std::optional<std::uint32_t> number_meant(const decision::Decision& decision,
                                          std::string_view choice) {
  const std::vector<std::string> names = offered(decision);
  if (std::ranges::find(names, choice) != names.end()) return std::nullopt;
  std::uint32_t number = 0;
  const char* const end = choice.data() + choice.size();
  const auto [stopped, error] = std::from_chars(choice.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number >= 1 && number <= names.size() ? std::optional(number - 1) : std::nullopt;
}

void resolve(Asking& ask) {
  const std::string text(ask.params.need_text("id"));
  decision::Resolve command;
  const std::string choice(ask.params.text("choice").value_or(""));
  const std::optional<std::int64_t> number = ask.params.integer("number", 0, 1000);
  command.text = ask.params.text("text").value_or("");
  command.by = ask.params.text("by").value_or(ask.desk().steward().about().user);
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const auto id = id_asked<DecisionId>(ask, decisions(ask.state()), text, "decision");
  if (!id) return;
  command.decision = *id;
  if (number) {
    command.choice = static_cast<std::uint32_t>(*number);
  } else if (const auto meant = number_meant(*decisions(ask.state()).find(*id), choice)) {
    command.choice = *meant;
  } else {
    const decision::Decision& decision = *decisions(ask.state()).find(*id);
    if (const auto mistake = mistake_in(decision, choice, command.text)) {
      ask.params.refuse("choice", *mistake);
    }
    // Of a question without options the answer is the text itself.
    command.choice = choice.empty() ? command.text : choice;
  }
  ask.submit("decision", std::move(command), tell_decision);
}

// The question that was opened; who asked may be gone when it is answered.
void tell_opened(Tell& tell, const Reply& reply) {
  const Waiting* waiting = std::get_if<Waiting>(&reply.value);
  if (!waiting) return tell_decision(tell, reply);  // asked once more, after the answer
  const auto& open = tell.state().decisions.open_of;
  const auto found = open.lower_bound(decision::AskOwner{waiting->waiter});
  JsonWriter& json = tell.result();
  if (found == open.end()) return;
  const auto* owner = std::get_if<decision::AskOwner>(&found->first);
  if (owner && owner->waiter == waiting->waiter) json.key("id").plain(to_text(found->second));
}

// Whoever answers sees them side by side, and names one.
std::optional<std::string> mistake_in_option(std::string_view text,
                                             const std::vector<std::string>& before) {
  if (!is_good_name(text)) {
    return fmt::format(
        "are one line each, not empty, without .. and no - or // in front; {} is none",
        quoted(text));
  }
  if (std::ranges::find(before, text) != before.end()) {
    return fmt::format("must differ; {} is there twice", quoted(text));
  }
  return std::nullopt;
}

// Waits for the answer: `wait_ms` is how long. After that the default is the answer, if there is
// one. Without `wait_ms` the question stays open when the asker has gone.
void ask_somebody(Asking& ask) {
  decision::Ask command;
  command.question = ask.params.need_text("question");
  ask.params.each_text("options", 100, [&](std::string_view text) {
    if (const auto mistake = mistake_in_option(text, command.options)) {
      ask.params.refuse("options", *mistake);
    }
    command.options.emplace_back(text);
  });
  const std::string pipeline(ask.params.text("pipeline").value_or(""));
  if (const auto number = ask.params.integer("default", 0, 99)) {
    command.default_choice = static_cast<std::uint32_t>(*number);
  }
  const std::optional<Duration> wait = ask.wait();
  if (wait && *wait != Duration::max()) command.within = wait;
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  if (!pipeline.empty()) {
    const auto id =
        id_asked<PipelineId>(ask, ask.state().pipelines.pipelines, pipeline, "pipeline");
    if (!id) return;
    command.pipeline = *id;
  }
  if (!wait) return ask.submit_and_leave("decision", std::move(command), tell_opened);
  ask.submit("decision", std::move(command), tell_decision);
}

// kept: second where to begin, number how many, flag also those that are closed.
void show_list(Tell& tell, const State& state) {
  std::size_t count = 0;
  DecisionId last;
  bool more = false;
  tell.result().key("decisions").begin_array();
  const auto after = parse_id<DecisionId>(tell.kept().second);
  const DecisionId first{after ? after->value + 1 : 0};
  for (auto at = decisions(state).lower_bound(first); at != decisions(state).end(); ++at) {
    const decision::Decision& decision = at->second;
    if (decision.project != tell.project() && decision.project != shared_project) continue;
    if (!tell.kept().flag && !std::holds_alternative<decision::Open>(decision.state)) continue;
    if (count == static_cast<std::size_t>(tell.kept().number) || tell.size() > limits::list_bytes) {
      more = true;
      break;
    }
    ++count;
    last = at->first;
    tell.json.begin_object();
    show_decision(tell, state, at->first, decision);
    tell.json.end_object();
  }
  tell.json.end_array();
  if (more) tell.json.key("next").plain(to_text(last));
}

void list(Asking& ask) {
  ask.kept.flag = ask.params.flag("all");
  ask.kept.second = ask.params.text("after").value_or("");
  ask.kept.number = ask.params.integer("limit", 1, limits::list_entries)
                        .value_or(static_cast<std::int64_t>(limits::list_entries));
  ask.look(show_list);
}

void show_one(Tell& tell, const State& state) {
  const auto id = id_or_tell<DecisionId>(tell, decisions(state), tell.kept().name, "decision");
  if (!id) return;
  tell.result();
  show_decision(tell, state, *id, *decisions(state).find(*id));
}

void show(Asking& ask) {
  ask.kept.name = ask.params.need_text("id");
  ask.look(show_one);
}

constexpr Named methods[] = {
    {"decision.resolve", resolve},
    {"decision.ask", ask_somebody},
    {"decision.list", list},
    {"decision.show", show},
};

}  // namespace

std::string how_to_answer(DecisionId id, const decision::Decision& decision) {
  const std::vector<std::string> names = offered(decision);
  if (names.empty()) return fmt::format("`reeve decision resolve {} -m TEXT`", to_text(id));
  std::string text = fmt::format(
      "`reeve decision resolve {} --choice {}`", to_text(id), codec::shell_word(names.front()));
  for (std::size_t i = 1; i < names.size(); ++i) {
    text += fmt::format("{}{}", i == 1 ? ", or " : ", ", codec::shell_word(names[i]));
  }
  return text;
}

std::string question_in_words(DecisionId id, const decision::Decision& decision) {
  return fmt::format("{} (answer: {})", decision.question, how_to_answer(id, decision));
}

std::span<const Named> decision_methods() { return methods; }

}  // namespace reeve::api
