#include "core/decision.h"

#include "core/testing.h"
#include "core/turn.h"
#include "core/waiting.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reeve::decision {
namespace {

using namespace reeve::testing;
using Names = std::vector<std::string>;

// What a machine does within its own step. (Its events are those of the root, not seen here.)
template <class Verb>
auto within_a_step(World& world, Verb verb) {
  Turn turn(world.state, world.stamp);
  auto result = verb(turn);
  world.state = turn.state();
  for (const std::string& violation : check_state(world.state)) ADD_FAILURE() << violation;
  return result;
}

const Owner phase = PhaseOwner{PipelineId{500}, 1};
const Owner other_phase = PhaseOwner{PipelineId{500}, 2};

Question question_of(Owner owner, Cause cause = Cause::PhaseFailed) {
  return {default_project, std::move(owner), cause, "what now?", "the tests failed"};
}

DecisionId opened(World& world, Question question) {
  return within_a_step(world, [&](Turn& turn) { return open(turn, question); });
}

void retired(World& world, const Owner& owner) {
  within_a_step(world, [&](Turn& turn) {
    retire(turn, owner);
    return 0;
  });
}

const Decision& get(const World& world, DecisionId id) {
  const Decision* found = world.state.decisions.decisions.find(id);
  EXPECT_TRUE(found) << to_text(id);
  static const Decision none{};
  return found ? *found : none;
}

bool is_kept(const World& world, DecisionId id) {
  return world.state.decisions.decisions.contains(id);
}

template <class State>
bool is_in(const World& world, DecisionId id) {
  return std::holds_alternative<State>(get(world, id).state);
}

// `reeve ask`, and the decision that it waits for.
std::pair<WaiterId, DecisionId> asks(World& world, Ask ask, SessionId session = {}) {
  const WaiterId waiter = as<Waiting>(world.ask(decision::Command{std::move(ask)}, session)).waiter;
  const DecisionId* id = asked_by(world.state.decisions, waiter);
  EXPECT_TRUE(id);
  return {waiter, id ? *id : DecisionId{}};
}

reeve::Reply resolve(World& world, Resolve command) {
  return world.ask(decision::Command{command});
}

Refused refusal_of(const reeve::Reply& reply) { return as<Refused>(reply); }

// ── The table of choices ──

TEST(Decision, OffersTheChoicesOfItsCauseInTheirOrder) {
  const auto texts = [](Cause cause) {
    Names names;
    for (const Choice choice : choices_of(cause)) names.emplace_back(text_of(choice));
    return names;
  };
  EXPECT_EQ(texts(Cause::PhaseFailed), (Names{"retry", "skip", "fail", "cancel"}));
  EXPECT_EQ(texts(Cause::GuardFailed), (Names{"check again", "pass", "fail", "cancel"}));
  EXPECT_EQ(texts(Cause::AgentStuck), (Names{"nudge", "restart", "done", "fail", "cancel"}));
  EXPECT_EQ(texts(Cause::AgentPermission), (Names{"allow", "deny", "cancel"}));
  EXPECT_EQ(texts(Cause::ItemExhausted), (Names{"retry", "dead", "drop"}));
  EXPECT_EQ(texts(Cause::ProcessUnobserved), (Names{"look again", "release anyway"}));
  EXPECT_EQ(texts(Cause::LockStale), (Names{"look again", "release anyway"}));
  EXPECT_EQ(texts(Cause::Asked), Names{});
  EXPECT_EQ(text_of(Choice::Option), "option");
  EXPECT_EQ(text_of(Choice::Text), "text");
}

// ── Opening and retiring ──

TEST(Decision, IsOpenedWithItsQuestion) {
  World world;
  const DecisionId id = opened(world, question_of(phase));

  const Decision& decision = get(world, id);
  EXPECT_EQ(decision.project, default_project);
  EXPECT_EQ(decision.owner, phase);
  EXPECT_EQ(decision.question, "what now?");
  EXPECT_EQ(decision.context, "the tests failed");
  EXPECT_EQ(decision.opened_at, start);
  EXPECT_TRUE(is_in<Open>(world, id));
}

TEST(Decision, ANewerOneOfTheSameOwnerSupersedesTheOlder) {
  World world;
  const DecisionId first = opened(world, question_of(phase));
  const DecisionId other = opened(world, question_of(other_phase));
  const DecisionId second = opened(world, question_of(phase));

  EXPECT_TRUE(is_in<Retired>(world, first));
  EXPECT_TRUE(is_in<Open>(world, other));
  EXPECT_TRUE(is_in<Open>(world, second));
  EXPECT_EQ(refusal_of(resolve(world, {first, Choice::Retry})),
            (Refused{Why::NotAllowed, "retired"}));
}

TEST(Decision, RetiresWhenItsCauseHasCleared) {
  World world;
  const DecisionId id = opened(world, question_of(phase));
  retired(world, other_phase);
  EXPECT_TRUE(is_in<Open>(world, id));

  retired(world, phase);
  EXPECT_TRUE(is_in<Retired>(world, id));
  retired(world, phase);
  EXPECT_EQ(world.state.decisions.closed.size(), 1u);
}

TEST(Decision, LongTextsAreCut) {
  World world;
  Question question = question_of(phase);
  question.question = std::string(limits::text_bytes + 1, 'q');
  question.context = std::string(limits::text_bytes + 1, 'c');
  const DecisionId id = opened(world, question);

  EXPECT_EQ(get(world, id).question.size(), limits::text_bytes);
  EXPECT_EQ(get(world, id).context.size(), limits::text_bytes);
}

// ── Answering ──

TEST(Decision, IsAnsweredByNameByNumberOrByText) {
  for (const auto& choice : std::vector<decltype(Resolve::choice)>{
           Choice::Skip, std::uint32_t{1}, std::string("skip")}) {
    World world;
    const DecisionId id = opened(world, question_of(phase));
    const Answer answer{Choice::Skip, 0, "not today", "ana", start};

    const auto reply = resolve(world, {id, choice, "not today", "ana"});
    EXPECT_EQ(as<Resolved>(reply), (Resolved{id, answer}));
    EXPECT_EQ(get(world, id).state, (decltype(Decision::state){Answered{answer}}));
    EXPECT_EQ(world.heard,
              (std::vector<EventBody>{Event{WasAnswered{id, Choice::Skip, "not today", "ana"}}}));
    EXPECT_EQ(world.names(), (Names{"decision:resolved"}));
  }
}

TEST(Decision, AChoiceThatIsNotOfferedIsRefused) {
  World world;
  const DecisionId id = opened(world, question_of(phase));
  const Refused bad{Why::BadValue, "choice"};

  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Nudge})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Text, "text"})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Option})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::uint32_t{4}})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::uint32_t{4'000'000'000}})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::string("Retry")})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::string()})), bad);
  EXPECT_TRUE(is_in<Open>(world, id));
  EXPECT_FALSE(world.last.changed);
  EXPECT_TRUE(is<Resolved>(resolve(world, {id, std::uint32_t{3}}))) << "the last one is";
}

TEST(Decision, AnsweringTwiceIsRefusedWithTheFirstAnswer) {
  World world;
  const DecisionId id = opened(world, question_of(phase));
  resolve(world, {id, Choice::Retry, "once", "ana"});
  world.stamp.now += 1s;

  const auto reply = resolve(world, {id, Choice::Fail, "twice", "bo"});
  EXPECT_EQ(as<AlreadyAnswered>(reply),
            (AlreadyAnswered{id, Answer{Choice::Retry, 0, "once", "ana", start}}));
  EXPECT_FALSE(world.last.changed);
}

TEST(Decision, AnUnknownOneIsNotFound) {
  World world;

  EXPECT_EQ(refusal_of(resolve(world, {DecisionId{77}, Choice::Retry})),
            (Refused{Why::NotFound, to_text(DecisionId{77})}));
  EXPECT_FALSE(world.last.changed);
}

TEST(Decision, EveryKindOfOwnerCanBeAnswered) {
  const Process process{12, 34, "boot", true};
  const std::vector<std::pair<Owner, Cause>> owners{
      {phase, Cause::PhaseFailed},
      {GuardOwner{PipelineId{500}, 1, "tests_pass"}, Cause::GuardFailed},
      {WorkOwner{WorkId{501}}, Cause::AgentStuck},
      {WorkOwner{WorkId{502}}, Cause::AgentPermission},
      {ItemOwner{ItemId{503}}, Cause::ItemExhausted},
      {LockOwner{{default_project, "main"}}, Cause::LockStale},
      {ProcessOwner{process}, Cause::ProcessUnobserved},
      {DispatchOwner{DispatchId{504}}, Cause::ProcessUnobserved}};
  World world;
  for (const auto& [owner, cause] : owners) {
    const std::vector<Choice> choices = choices_of(cause);
    for (std::uint32_t i = 0; i < choices.size(); ++i) {
      const DecisionId id = opened(world, question_of(owner, cause));
      EXPECT_EQ(as<Resolved>(resolve(world, {id, i})).answer.choice, choices[i]);
      EXPECT_FALSE(world.state.decisions.open_of.contains(owner));
    }
  }
}

// ── Deadlines ──

TEST(Decision, ADeadlineAppliesItsDefaultChoice) {
  World world;
  Question question = question_of(phase);
  question.within = 10s;
  question.default_choice = 2;
  const DecisionId id = opened(world, question);

  world.pass(10s - 1ms);
  EXPECT_TRUE(is_in<Open>(world, id));
  world.pass(1ms);
  EXPECT_EQ(
      get(world, id).state,
      (decltype(Decision::state){Answered{Answer{Choice::Fail, 0, "", "deadline", at(10s)}}}));
  EXPECT_EQ(world.names(), (Names{"decision:resolved"}));
}

TEST(Decision, AnAnswerAtTheDeadlineComesTooLateTickOrNoTick) {
  World world;
  Question question = question_of(phase);
  question.within = 10s;
  question.default_choice = 0;
  const DecisionId id = opened(world, question);
  world.stamp.now += 10s;

  const auto reply = resolve(world, {id, Choice::Cancel, "", "ana"});
  EXPECT_EQ(as<AlreadyAnswered>(reply).first, (Answer{Choice::Retry, 0, "", "deadline", at(10s)}));
}

TEST(Decision, AnAnswerBeforeTheDeadlineCounts) {
  World world;
  Question question = question_of(phase);
  question.within = 10s;
  question.default_choice = 0;
  const DecisionId id = opened(world, question);
  world.stamp.now += 10s - 1ms;
  resolve(world, {id, Choice::Cancel, "", "ana"});
  world.forget();

  world.pass(1h);
  EXPECT_EQ(world.names(), Names{});
}

TEST(Decision, ADeadlineWithoutAChoiceThatIsOfferedMeansNothing) {
  World world;
  Question question = question_of(phase);
  question.within = 10s;
  const DecisionId none = opened(world, question);
  question.owner = other_phase;
  question.default_choice = 4;
  const DecisionId not_offered = opened(world, question);

  world.pass(48h);
  EXPECT_TRUE(is_in<Open>(world, none));
  EXPECT_TRUE(is_in<Open>(world, not_offered));
}

TEST(Decision, ADeadlineBeyondTimeIsNeverReached) {
  World world;
  Question question = question_of(phase);
  question.within = Duration::max();
  question.default_choice = 0;
  const DecisionId id = opened(world, question);

  EXPECT_EQ(get(world, id).deadline, Time::max());
}

// ── `reeve ask` ──

TEST(Decision, AskingOpensOneAndWaits) {
  World world;
  const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}, PipelineId{9}});

  EXPECT_EQ(get(world, id).owner, (Owner{AskOwner{waiter, PipelineId{9}}}));
  EXPECT_EQ(world.heard,
            (std::vector<EventBody>{Event{WasOpened{id, Cause::Asked, "which?"}},
                                    Escalate{to_text(id), "which?"}}));
  EXPECT_EQ(world.names(), (Names{"decision:opened", "escalate"}));
  EXPECT_TRUE(world.answers.empty());
}

TEST(Decision, WhoAskedIsToldTheAnswer) {
  for (const auto& choice :
       std::vector<decltype(Resolve::choice)>{std::uint32_t{1}, std::string("blue")}) {
    World world;
    const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}});
    const Answer answer{Choice::Option, 1, "blue", "ana", start};

    EXPECT_EQ(as<Resolved>(resolve(world, {id, choice, "", "ana"})), (Resolved{id, answer}));
    EXPECT_EQ(world.answers, (std::vector<reeve::Answer>{{waiter, {Reply{Resolved{id, answer}}}}}));
    EXPECT_EQ(asked_by(world.state.decisions, waiter), nullptr);
  }
}

TEST(Decision, WordsThatComeWithAnOptionAreHandedOnInstead) {
  World world;
  const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}});

  const auto reply = resolve(world, {id, std::uint32_t{0}, "the darker one", "ana"});
  EXPECT_EQ(as<Resolved>(reply).answer,
            (Answer{Choice::Option, 0, "the darker one", "ana", start}));
}

TEST(Decision, OfOptionsOneMustBeChosen) {
  World world;
  const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}});
  const Refused bad{Why::BadValue, "choice"};

  EXPECT_EQ(refusal_of(resolve(world, {id, std::uint32_t{2}})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::string("green")})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Text, "green"})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Option, "green"})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Retry})), bad);
}

TEST(Decision, WithoutOptionsAnyTextIsTheAnswer) {
  for (const Resolve& given : {Resolve{{}, std::string("why not"), "", "ana"},
                               Resolve{{}, Choice::Text, "why not", "ana"},
                               Resolve{{}, std::string(""), "why not", "ana"}}) {
    World world;
    const auto [waiter, id] = asks(world, {"why?"});
    Resolve command = given;
    command.decision = id;

    EXPECT_EQ(as<Resolved>(resolve(world, command)).answer,
              (Answer{Choice::Text, 0, "why not", "ana", start}));
  }
}

TEST(Decision, NoTextAtAllIsNoAnswer) {
  World world;
  const auto [waiter, id] = asks(world, {"why?"});
  const Refused bad{Why::BadValue, "choice"};

  EXPECT_EQ(refusal_of(resolve(world, {id, std::string()})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, Choice::Text})), bad);
  EXPECT_EQ(refusal_of(resolve(world, {id, std::uint32_t{0}})), bad);
}

TEST(Decision, AQuestionThatMakesNoSenseIsRefused) {
  World world;
  const auto refusal = [&](Ask ask) {
    const Refused refused = refusal_of(world.ask(decision::Command{std::move(ask)}));
    EXPECT_FALSE(world.last.changed);
    return refused;
  };

  EXPECT_EQ(refusal({""}), (Refused{Why::BadValue, "question"}));
  EXPECT_EQ(refusal({"q", {"a", ""}}), (Refused{Why::BadValue, "options"}));
  EXPECT_EQ(refusal({"q", Names(limits::names_a_request + 1, "a")}),
            (Refused{Why::OverLimit, "options"}));
  EXPECT_EQ(refusal({"q", {}, {}, Duration{-1}}), (Refused{Why::BadValue, "within"}));
  EXPECT_EQ(refusal({"q", {"a"}, {}, Duration{1s}, 1}), (Refused{Why::BadValue, "default"}));
  EXPECT_EQ(refusal({"q", {}, {}, Duration{1s}, 0}), (Refused{Why::BadValue, "default"}));
}

TEST(Decision, AtTheEndOfTheWaitTheDefaultOptionIsTheAnswer) {
  World world;
  const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}, {}, Duration{5s}, 1});

  world.pass(5s);
  const Answer answer{Choice::Option, 1, "blue", "deadline", at(5s)};
  EXPECT_EQ(world.answers, (std::vector<reeve::Answer>{{waiter, {Reply{Resolved{id, answer}}}}}));
}

TEST(Decision, WithoutADefaultTheAskerIsToldThatNobodyAnswered) {
  World world;
  const auto [waiter, id] = asks(world, {"which?", {"red", "blue"}, {}, Duration{5s}});

  world.pass(5s - 1ms);
  EXPECT_TRUE(world.answers.empty());
  world.pass(1ms);
  EXPECT_EQ(world.answers,
            (std::vector<reeve::Answer>{{waiter, {Reply{NotAnswered{Left::TimedOut}}}}}));
  EXPECT_TRUE(is_in<Retired>(world, id));
}

TEST(Decision, AnAskerThatLeavesRetiresItsQuestion) {
  World world;
  const auto [waiter, id] = asks(world, {"which?"});
  const auto leaves = [&](Left left) {
    within_a_step(world, [&](Turn& turn) {
      waiting::leave(turn, waiter, left);
      return 0;
    });
  };

  leaves(Left::SessionEnded);
  EXPECT_TRUE(is_in<Retired>(world, id));
  EXPECT_EQ(refusal_of(resolve(world, {id, std::string("blue")})),
            (Refused{Why::NotAllowed, "retired"}));
  leaves(Left::SessionEnded);
}

TEST(Decision, AnAskersPlaceGoesWithItToAnotherConnection) {
  World world;
  const auto [waiter, id] = asks(world, {"which?"}, SessionId{7});
  EXPECT_EQ(get(world, id).session, SessionId{7});

  within_a_step(world, [&, asker = waiter](Turn& turn) {
    waiting::move_to_session(turn, asker, SessionId{8});
    return 0;
  });
  EXPECT_EQ(get(world, id).session, SessionId{8});
}

TEST(Decision, TheSameAskOverAnotherConnectionIsTheSameQuestion) {
  World world;
  const Ask ask{"which?"};
  const auto first = world.ask(decision::Command{ask}, SessionId{7}, "key");
  const auto second = world.ask(decision::Command{ask}, SessionId{8}, "key");

  EXPECT_EQ(first, second);
  EXPECT_EQ(world.state.decisions.open_of.size(), 1u);
  EXPECT_EQ(get(world, *asked_by(world.state.decisions, as<Waiting>(first).waiter)).session,
            SessionId{8});
}

// ── What is forgotten ──

TEST(Decision, AClosedOneIsKeptForADay) {
  World world;
  const DecisionId id = opened(world, question_of(phase));
  resolve(world, {id, Choice::Retry, "", "ana"});

  world.pass(24h - 1ms);
  EXPECT_TRUE(is<AlreadyAnswered>(resolve(world, {id, Choice::Retry})));
  world.pass(1ms);
  EXPECT_FALSE(is_kept(world, id));
}

TEST(Decision, AClosedOneThatIsToBeForgottenIsNotFoundTickOrNoTick) {
  World world;
  const DecisionId answered = opened(world, question_of(phase));
  resolve(world, {answered, Choice::Retry, "", "ana"});
  const DecisionId gone = opened(world, question_of(phase));
  retired(world, phase);
  world.stamp.now += 24h;

  EXPECT_EQ(refusal_of(resolve(world, {answered, Choice::Retry})).why, Why::NotFound);
  EXPECT_EQ(refusal_of(resolve(world, {gone, Choice::Retry})).why, Why::NotFound);
}

TEST(Decision, OfManyClosedOnesOfAProjectTheLastThousandAreKept) {
  World world;
  std::vector<DecisionId> ids;
  const auto close_one = [&](ProjectNo project) {
    Question question = question_of(phase);
    question.project = project;
    Turn turn(world.state, world.stamp);
    ids.push_back(open(turn, question));
    retire(turn, phase);
    world.state = turn.state();
    world.stamp.now += 1ms;
  };
  close_one(shared_project);
  for (std::size_t i = 0; i < limits::finished_kept; ++i) close_one(default_project);
  EXPECT_TRUE(is_kept(world, ids[1]));

  close_one(default_project);
  EXPECT_TRUE(is_kept(world, ids[0])) << "each project has its own";
  EXPECT_FALSE(is_kept(world, ids[1]));
  EXPECT_TRUE(is_kept(world, ids[2]));
  world.input(Tick{});
  world.pass(25h);
  EXPECT_EQ(world.state.decisions, Table{});
}

// ── Laws ──

// A few owners, opened, retired, answered and left in any order while time passes: the invariants
// hold after each step (the world looks), the first answer of a decision is its answer for ever,
// and every asker is answered exactly once, or still waits.
RC_GTEST_PROP(Decision, KeepsItsPromisesInAnyOrderOfThings, ()) {
  World world;
  std::vector<DecisionId> ids;
  std::map<DecisionId, Answer> first;
  std::map<WaiterId, std::size_t> askers;
  const auto any_id = [&] {
    return ids.empty()
               ? DecisionId{1}
               : ids[static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(ids.size())))];
  };
  const int inputs = *rc::gen::inRange(0, 40);
  for (int i = 0; i < inputs; ++i) {
    switch (*rc::gen::inRange(0, 6)) {
      case 0: {
        Question question = question_of(*rc::gen::element(phase, other_phase));
        if (*rc::gen::arbitrary<bool>()) question.within = 1s * *rc::gen::inRange(0, 20);
        if (*rc::gen::arbitrary<bool>()) question.default_choice = *rc::gen::inRange(0u, 6u);
        ids.push_back(opened(world, question));
        break;
      }
      case 1:
        retired(world, *rc::gen::element(phase, other_phase));
        break;
      case 2: {
        Ask ask{"which?", *rc::gen::element(Names{}, Names{"red", "blue"})};
        if (*rc::gen::arbitrary<bool>()) ask.within = 1s * *rc::gen::inRange(0, 20);
        const auto [waiter, id] = asks(world, ask);
        ids.push_back(id);
        askers[waiter] = 0;
        break;
      }
      case 3: {
        const DecisionId id = any_id();
        const auto reply = resolve(world, {id, *rc::gen::inRange(0u, 5u), "", "ana"});
        if (const Resolved* resolved = find_in<Resolved>(reply.value)) {
          RC_ASSERT(!first.contains(id));
          first[id] = resolved->answer;
        }
        if (const AlreadyAnswered* already = find_in<AlreadyAnswered>(reply.value)) {
          RC_ASSERT(!first.contains(id) || first[id] == already->first);
          first[id] = already->first;
        }
        break;
      }
      case 4:
        world.pass(1s * *rc::gen::inRange(0, 15));
        break;
      default:
        world.pass(*rc::gen::element(Duration{1ms}, Duration{12h}));
        break;
    }
  }
  for (const reeve::Answer& answer : world.answers) ++askers[answer.waiter];
  for (const auto& [waiter, times] : askers) {
    RC_ASSERT(times == (asked_by(world.state.decisions, waiter) ? 0u : 1u));
  }
}

}  // namespace
}  // namespace reeve::decision
