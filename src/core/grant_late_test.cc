#include "base/die_testing.h"
#include "core/grant_testing.h"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <tuple>

// Ticks come late. What is due is settled in its order and as of its moment, whenever that is.
namespace reeve {
namespace {

using namespace reeve::testing;
using grant::Busy;
using grant::Granted;
using grant::NotGranted;
using Names = std::vector<std::string>;

TEST(GrantLate, AWaitEndsWithWhatCouldBeHadUpToItsLimitHoweverLateTheTick) {
  for (const bool asked : {false, true}) {
    Grants world;
    world.acquire(ana, "main", {.timeout = 50ms});
    const Reply early = world.acquire(bo, "main", {.wait = 51ms});
    const Reply place = world.acquire(cy, "main", {.wait = 100ms, .timeout = 1s});
    world.wait_unnoticed(200ms);

    if (asked) {
      EXPECT_EQ(as<Busy>(world.acquire(di, "main")),
                (Busy{lock_named("main"), cy, at(200ms), at(1200ms), 0}));
    } else {
      world.tick();
    }

    EXPECT_EQ(as<NotGranted>(*world.answer_to(early)).left, Left::TimedOut) << asked;
    ASSERT_TRUE(world.got<Granted>(place)) << asked;
    EXPECT_EQ(as<Granted>(*world.answer_to(place)).given.at(0).expires_at, at(1200ms))
        << "its holder hears of it now";
  }
}

TEST(GrantLate, ASlotToo) {
  for (const bool asked : {false, true}) {
    Grants world;
    world.create("s", 2);
    world.enter(ana, "s", 1, {.timeout = 50ms});
    world.enter(bo, "s", 1, {.timeout = 150ms});
    const Reply one = world.enter(cy, "s", 1, {.wait = 100ms});
    const Reply both = world.enter(di, "s", 2, {.wait = 150ms});
    world.wait_unnoticed(200ms);

    if (asked) {
      EXPECT_TRUE(is<Granted>(world.enter(di, "s")));
    } else {
      world.tick();
    }

    EXPECT_TRUE(world.got<Granted>(one)) << asked;
    EXPECT_EQ(as<NotGranted>(*world.answer_to(both)).left, Left::TimedOut) << asked;
  }
}

TEST(GrantLate, WhatIsOverAfterTheLimitOfAWaitIsNotGivenToIt) {
  for (const bool asked : {false, true}) {
    Grants world;
    world.acquire(ana, "x", {.timeout = 50ms});
    world.acquire(bo, "y", {.timeout = 149ms});
    const Reply both = world.acquire(cy, Names{"x", "y"}, {.wait = 100ms});
    const Reply behind = world.acquire(di, "x", {.wait = 120ms});
    const Reply too_late = world.acquire(di, "y", {.wait = 150ms});
    world.wait_unnoticed(200ms);

    if (asked) {
      EXPECT_TRUE(is<Granted>(world.acquire(ana, "y")));
    } else {
      world.tick();
    }

    EXPECT_EQ(as<NotGranted>(*world.answer_to(both)),
              (NotGranted{Left::TimedOut, Busy{lock_named("y"), bo, at(0s), at(149ms), 0}}));
    EXPECT_TRUE(world.got<Granted>(behind));
    EXPECT_EQ(as<NotGranted>(*world.answer_to(too_late)).left, Left::TimedOut);
  }
}

TEST(GrantLate, ALeaseThatIsOverByNowIsNotRevivedByAGrantOfAMomentBefore) {
  Grants world;
  const Token token = world.token_of(bo, "x", {.timeout = 100ms, .max_hold = 150ms});
  world.acquire(ana, "y", {.timeout = 50ms});
  const Reply both = world.acquire(bo, Names{"x", "y"}, {.wait = 100ms, .timeout = 1s});
  const Reply next = world.acquire(cy, "x", {.wait = 160ms});
  world.wait_unnoticed(200ms);

  world.tick();

  EXPECT_TRUE(world.got<Granted>(both));
  EXPECT_EQ(as<lock::Superseded>(world.check("x", token)).current,
            as<Granted>(*world.answer_to(next)).given.at(0).token);
  EXPECT_EQ(world.holder_of("y"), "bo");
}

TEST(GrantLate, NorIsOneThatASignOfLifeAtThatMomentWouldNotHaveKept) {
  Grants world;
  world.create("s", 2);
  world.acquire(bo, "x", {.timeout = 60ms});
  world.enter(bo, "s", 1, {.timeout = 60ms});
  world.acquire(ana, "y", {.timeout = 50ms});
  world.enter(ana, "s", 1, {.timeout = 50ms});
  const Reply both = world.acquire(bo, Names{"x", "y"}, {.wait = 100ms});
  const Reply more = world.enter(bo, "s", 2, {.wait = 100ms});
  world.wait_unnoticed(115ms);

  world.tick();

  EXPECT_TRUE(world.got<Granted>(both));
  EXPECT_TRUE(world.got<Granted>(more));
  ASSERT_TRUE(world.lock_is<lock::Stale>("x"));
  EXPECT_EQ(std::get<lock::Stale>(world.state.locks.locks.find(lock_named("x"))->state).since,
            at(112ms))
      << "heard of at 51 ms";
  EXPECT_EQ(world.in_use("s"), 0u);
}

TEST(GrantLate, WhatAStepHasNoRoomForIsSettledAsOfItsMomentToo) {
  constexpr int many = 400;
  for (const bool asked : {false, true}) {
    Grants world;
    std::vector<Reply> places;
    for (int i = 0; i < many; ++i) {
      const std::string name = "lock" + std::to_string(i);
      world.acquire(ana, name, {.timeout = 50ms});
      places.push_back(world.acquire({default_project, name}, name, {.wait = 100ms}));
    }
    world.wait_unnoticed(200ms);

    // Of the last one nobody has come so far.
    if (asked) {
      EXPECT_TRUE(is<Busy>(world.acquire(cy, "lock" + std::to_string(many - 1))));
    }
    for (int ticks = 0; ticks < many; ++ticks) world.tick();

    EXPECT_TRUE(std::ranges::all_of(places, [&](const Reply& place) {
      return world.got<Granted>(place);
    })) << asked;
  }
}

TEST(GrantLate, ASemaphoreForWhichAStepHasNoRoomIsSettledBeforeItsCapacityChanges) {
  for (const bool created : {false, true}) {
    for (const std::uint32_t capacity : {1u, 3u}) {
      Grants world;
      for (int i = 0; i < 300; ++i) {
        world.acquire(ana, "lock" + std::to_string(i), {.timeout = 9ms});
      }
      world.create("s", 2);
      world.enter(ana, "s", 2, {.timeout = 50ms});
      const Reply place = world.enter(bo, "s", 2, {.wait = 100ms});
      world.wait_unnoticed(200ms);

      created ? world.create("s", capacity) : world.resize("s", capacity);

      EXPECT_TRUE(world.got<Granted>(place)) << created << capacity;
      EXPECT_EQ(world.in_use("s"), 2u) << created << capacity;
    }
  }
}

TEST(GrantLate, ALineForWhichAStepHasNoRoomIsServedAsOfItsMomentToo) {
  constexpr std::uint32_t many = 600;
  Grants world;
  world.create("s", many);
  world.enter(ana, "s", many, {.timeout = 50ms});
  std::vector<Reply> places;
  for (std::uint32_t i = 0; i < many; ++i) {
    const Holder holder{default_project, "holder" + std::to_string(i)};
    places.push_back(world.enter(holder, "s", 1, {.wait = 100ms}));
  }
  world.wait_unnoticed(200ms);

  for (int ticks = 0; ticks < 10; ++ticks) world.tick();

  EXPECT_EQ(
      std::ranges::count_if(places, [&](const Reply& place) { return world.got<Granted>(place); }),
      many);
}

// Nobody who asks, or says that he lives, makes a line forget or put off the look it is owed.
TEST(GrantLate, ALineThatIsOwedALookGetsItAsOfItsMomentWhoeverAsksBefore) {
  constexpr std::uint32_t many = 1000;
  for (const bool beats : {false, true}) {
    Grants world;
    world.create("s", many + 1);
    const Token mine = as<Granted>(world.enter(bo, "s", 1, {.timeout = 10min})).given.front().token;
    world.enter(ana, "s", many, {.timeout = 50ms});
    std::vector<Reply> places;
    for (std::uint32_t i = 0; i < many; ++i) {
      const Holder holder{default_project, "holder" + std::to_string(i)};
      places.push_back(world.enter(holder, "s", 1, {.wait = 100ms}));
    }
    world.wait_unnoticed(200ms);

    if (beats) {
      EXPECT_TRUE(is<semaphore::Alive>(world.beat_slot(bo, "s", mine)));
    } else {
      EXPECT_TRUE(is<grant::Full>(world.enter(cy, "s", many)));
    }
    for (int ticks = 0; ticks < 10; ++ticks) world.tick();

    EXPECT_EQ(std::ranges::count_if(places,
                                    [&](const Reply& place) { return world.got<Granted>(place); }),
              many)
        << beats;
  }
}

TEST(GrantLate, ALeaseThatWasOverBeforeItsSessionEndedGoesOnAsOfItsMoment) {
  Grants world;
  world.create("s", 1);
  world.acquire(bound(ana, 1), "main", {.timeout = 50ms});
  world.enter(bound(ana, 1), "s", 1, {.timeout = 50ms});
  const Reply lock = world.acquire(bo, "main", {.wait = 100ms});
  const Reply slot = world.enter(cy, "s", 1, {.wait = 100ms});
  world.wait_unnoticed(200ms);

  world.input(session::Ended{SessionId{1}});

  EXPECT_TRUE(world.got<Granted>(lock));
  EXPECT_TRUE(world.got<Granted>(slot));
}

// ── what is seen ──

TEST(GrantLate, WhatWasOverBeforeAProcessWasSeenGoneGoesOnAsOfItsMoment) {
  for (const bool ticked : {false, true}) {
    Grants world;
    world.create("s", 2);
    world.enter(ana, "s", 1, {.meta = with_process(1), .timeout = 10min});
    world.enter(cy, "s", 1, {.timeout = 50ms});
    const Reply place = world.enter(bo, "s", 1, {.wait = 100ms});
    world.wait_unnoticed(200ms);

    if (ticked) world.tick();
    world.input(custody::ProcessGone{process(1)});

    EXPECT_TRUE(world.got<Granted>(place)) << ticked;
    EXPECT_EQ(world.in_use("s"), 1u) << ticked;
  }
}

TEST(GrantLate, AlsoWhatTheFirstInItsLineWantsBesides) {
  for (const bool ticked : {false, true}) {
    Grants world;
    world.acquire(ana, "main", {.meta = with_process(1), .timeout = 10min});
    world.acquire(cy, "docs", {.timeout = 50ms});
    const Reply both = world.acquire(di, Names{"main", "docs"}, {.wait = 100ms});
    const Reply behind = world.acquire(bo, "docs", {.wait = 150ms});
    world.wait_unnoticed(200ms);

    if (ticked) world.tick();
    world.input(custody::ProcessGone{process(1)});

    EXPECT_EQ(as<NotGranted>(*world.answer_to(both)).left, Left::TimedOut) << ticked;
    EXPECT_TRUE(world.got<Granted>(behind)) << ticked;
    EXPECT_EQ(world.holder_of("main"), "") << ticked;
  }
}

TEST(GrantLate, SoItIsWhenASessionEnds) {
  for (const bool ticked : {false, true}) {
    Grants world;
    world.create("s", 1);
    world.acquire(bound(ana, 1), "main", {.timeout = 10min});
    world.enter(bound(ana, 1), "s", 1, {.timeout = 10min});
    world.acquire(cy, "docs", {.timeout = 50ms});
    const Reply both = world.acquire(di, Names{"main", "docs"}, {.wait = 100ms});
    const Reply behind = world.acquire(bo, "docs", {.wait = 150ms});
    const Reply slot = world.enter(bo, "s", 1, {.wait = 150ms});
    world.wait_unnoticed(200ms);

    if (ticked) world.tick();
    world.input(session::Ended{SessionId{1}});

    EXPECT_EQ(as<NotGranted>(*world.answer_to(both)).left, Left::TimedOut) << ticked;
    EXPECT_TRUE(world.got<Granted>(behind)) << ticked;
    EXPECT_EQ(as<NotGranted>(*world.answer_to(slot)).left, Left::TimedOut) << ticked;
  }
}

TEST(GrantLate, ASlotThatWasOverBeforeItsIncreaseIsTakenBackGoesOnAsOfItsMoment) {
  for (const bool ticked : {false, true}) {
    for (const int due_before : {0, 300}) {
      Grants world;
      for (int i = 0; i < due_before; ++i) {
        world.acquire(di, "lock" + std::to_string(i), {.timeout = 20ms});
      }
      world.create("s", 3);
      world.enter(ana, "s", 1, {.timeout = 50ms});
      world.enter(cy, "s", 1, {.timeout = 10min});
      const Reply more = world.enter(ana, "s", 3, {.wait = 1s});
      world.wait_unnoticed(10ms);
      world.exit(cy, "s");
      ASSERT_TRUE(world.got<Granted>(more));
      const Reply place = world.enter(bo, "s", 1, {.wait = 90ms});
      world.wait_unnoticed(190ms);

      if (ticked) world.tick();
      world.input(Undelivered{default_project, "", *world.answer_to(more)});
      if (due_before > 0) world.tick();  // what there was no room for

      EXPECT_TRUE(world.got<Granted>(place)) << ticked << due_before;
      EXPECT_EQ(world.in_use("s"), 1u) << ticked << due_before;
    }
  }
}

// Nor is anything given on before what was over before, when there is more of that than a step may
// touch.
TEST(GrantLate, WhatAGoneProcessHeldWaitsItsTurnBehindAllThatWasOverBefore) {
  constexpr int many = 400;
  Grants world;
  world.create("s", 2);
  std::vector<Reply> places;
  for (int i = 0; i < many; ++i) {
    const std::string name = "lock" + std::to_string(i);
    world.acquire(cy, name, {.timeout = 50ms});
    places.push_back(world.acquire({default_project, name}, name, {.wait = 100ms}));
  }
  world.enter(ana, "s", 1, {.meta = with_process(1), .timeout = 10min});
  world.enter(cy, "s", 1, {.timeout = 51ms});
  const Reply place = world.enter(bo, "s", 1, {.wait = 100ms});
  world.wait_unnoticed(200ms);

  world.input(custody::ProcessGone{process(1)});
  for (int ticks = 0; ticks < 10; ++ticks) world.tick();

  EXPECT_TRUE(
      std::ranges::all_of(places, [&](const Reply& reply) { return world.got<Granted>(reply); }));
  EXPECT_TRUE(world.got<Granted>(place));
  EXPECT_EQ(world.in_use("s"), 1u);
}

// ── the law ──

using LateMove = std::tuple<int, int, int, int, int>;
constexpr int sees_a_process_gone = 16;  // and 17
constexpr int loses_an_answer = 18;      // and 19

rc::Gen<std::vector<LateMove>> late_games() {
  return rc::gen::container<std::vector<LateMove>>(
      rc::gen::tuple(die(20), die(6), die(12), die(5), die(60)));
}

// Some hold for some milliseconds, others wait for as many. What somebody waited for he keeps for
// longer than the game: it begins when he hears of it.
class LateGame : public Grants {
 public:
  explicit LateGame(bool ticked) : ticked_(ticked) {
    collects = true;
    create("s", 2);
    create("t", 3);
  }

  void play(const LateMove& dice) {
    const auto [move, who, what, how, later] = dice;
    let_pass(std::chrono::milliseconds{later < 20 ? 0 : later - 20});
    make(move, holder(who), what, how);
    for (const std::string& violation : violations) RC_FAIL(violation);
  }

  void let_pass(Duration duration) {
    if (ticked_) return pass(duration);
    wait_unnoticed(duration);
  }

  // What was given to those who waited, by their places among all who asked.
  std::vector<std::size_t> given() const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < replies_.size(); ++i) {
      if (is<Waiting>(replies_[i]) && got<Granted>(replies_[i])) places.push_back(i);
    }
    return places;
  }

  // Only of a process that holds something anybody looks whether it lives.
  bool knows_process() const {
    const auto& held = state.custody.held;
    return held.lower_bound({process(1), {}}) != held.end();
  }

  // An answer was handed to nobody.
  void lose(std::size_t place) {
    input(Undelivered{default_project, "", *answer_to(replies_.at(place))});
  }

  // What everybody was told, in the order in which they asked.
  std::vector<std::string> told() const {
    std::vector<std::string> all;
    for (const Reply& reply : replies_) {
      const Reply* later = is<Waiting>(reply) ? answer_to(reply) : &reply;
      all.push_back(later ? in_words(*later) : "waits");
    }
    return all;
  }

 private:
  static std::string in_words(const Reply& reply) {
    if (const auto* granted = find_in<Granted>(reply.value)) {
      std::string words = "granted";
      for (const grant::Given& given : granted->given) {
        words += " " + given.name + (given.previous ? " after " + given.previous->name : "");
      }
      return words;
    }
    if (const auto* not_granted = find_in<NotGranted>(reply.value)) {
      return "left " + std::to_string(static_cast<int>(not_granted->left));
    }
    if (is<Busy>(reply)) return "busy";
    if (is<grant::Full>(reply)) return "full";
    if (is<grant::WouldDeadlock>(reply)) return "would deadlock";
    return "reply " + std::to_string(reply.value.index());
  }

  static Holder holder(int who) {
    const std::vector<Holder> holders{ana, bo, cy, di, bound(ana, 1), bound(bo, 2)};
    return holders.at(static_cast<std::size_t>(who));
  }

  static Names locks_of(int what) {
    const std::vector<Names> choices{{"x"}, {"y"}, {"z"}, {"x", "y"}, {"y", "z"}, {"z", "x"}};
    return choices.at(static_cast<std::size_t>(what % 6));
  }

  void make(int move, const Holder& who, int what, int how) {
    const std::string name = Names{"x", "y", "z"}.at(static_cast<std::size_t>(what % 3));
    const std::string slots = Names{"s", "t"}.at(static_cast<std::size_t>(what % 2));
    const std::uint32_t weight = static_cast<std::uint32_t>(what % 3) + 1;
    Terms brief{.timeout = std::chrono::milliseconds{10 * how + 5}};
    if (how == 1) brief.max_hold = 20ms;
    if (how == 2 || how == 3) brief.meta = with_process(1);
    if (how == 3) brief.timeout = 1h;
    Terms patient{.wait = std::chrono::milliseconds{7 * what + 3}, .timeout = 1h};
    if (how == 0) patient.wait = for_ever;
    if (how == 1) patient.meta = inside(ana);
    if (how == 2) patient.meta = with_process(1);
    switch (move) {
      case 0:
      case 1:
      case 2:
        return note(acquire(who, locks_of(what), brief));
      case 3:
      case 4:
      case 5:
      case 6:
        return note(acquire(who, locks_of(what), patient));
      case 7:
      case 8:
        return note(enter(who, slots, weight, brief));
      case 9:
      case 10:
        return note(enter(who, slots, weight, patient));
      case 11:
        return note(release(who, name, token_at(name)));
      case 12:
        return note(exit(who, slots, token_at(who, slots)));
      case 13:
        note(beat(who, name, token_at(name)));
        return note(beat_slot(who, slots, token_at(who, slots)));
      case 14:
        return note(how == 0 ? force(name, true) : resize("s", weight));
      case 15:
        return happen(what, how);
      default:
        return;  // what is seen, of both games
    }
  }

  // These are heard before what is due, and change it: here the tick came first.
  void happen(int what, int how) {
    tick();
    if (how == 0) input(Resumed{System::What::Suspended});
    if (how == 1) input(session::Ended{SessionId{static_cast<std::uint64_t>(1 + what % 2)}});
  }

  void note(Reply reply) { replies_.push_back(std::move(reply)); }

  // What they would have been told in time.
  State settled() const { return apply(state, Tick{}, stamp).state; }
  Token token_at(const std::string& name) const {
    const State then = settled();
    const lock::Lock* lock = then.locks.locks.find(lock_named(name));
    const lock::Tenure* tenure = lock ? lock::tenure_of(*lock) : nullptr;
    return tenure ? tenure->lease.token : Token{};
  }
  Token token_at(const Holder& who, const std::string& name) const {
    const State then = settled();
    const semaphore::Slot* slot = then.semaphores.slots.find({slots_named(name), who});
    return slot ? slot->lease.token : Token{};
  }

  bool ticked_;
  std::vector<Reply> replies_;
};

// In both games the same; and no tick comes before it.
void see(const LateMove& dice, LateGame& in_time, LateGame& late) {
  const auto [move, who, what, how, later] = dice;
  if (move < sees_a_process_gone) return;
  in_time.let_pass(std::chrono::milliseconds{20 * how});
  late.let_pass(std::chrono::milliseconds{20 * how});
  if (move >= loses_an_answer) {
    const std::vector<std::size_t> given = late.given();
    if (given.empty()) return;
    const std::size_t place = given[static_cast<std::size_t>(what) % given.size()];
    in_time.lose(place);
    late.lose(place);
  } else if (late.knows_process()) {
    in_time.input(custody::ProcessGone{process(1)});
    late.input(custody::ProcessGone{process(1)});
  }
}

RC_GTEST_PROP(GrantLateLaw, NobodyIsToldAnythingElseBecauseTicksCameLate, ()) {
  const std::vector<LateMove> game = *late_games();
  LateGame in_time(true);
  LateGame late(false);
  for (const LateMove& dice : game) {
    in_time.play(dice);
    late.play(dice);
    see(dice, in_time, late);
  }
  in_time.let_pass(1s);
  late.let_pass(1s);
  late.tick();
  RC_ASSERT(in_time.told() == late.told());
}

}  // namespace
}  // namespace reeve
