#include "base/die_testing.h"
#include "core/grant_testing.h"
#include "core/heard_testing.h"
#include "core/wait_graph.h"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

// Whatever four holders do with three locks and two semaphores, in whatever order: the laws.
namespace reeve {
namespace {

using namespace reeve::testing;
using Names = std::vector<std::string>;

const Names lock_names{"x", "y", "z"};
const Names slot_names{"s", "t"};

// One move, as dice: what it means is up to `Players`.
using Dice = std::tuple<int, int, int, int>;

rc::Gen<std::vector<Dice>> games() {
  return rc::gen::container<std::vector<Dice>>(rc::gen::tuple(die(20), die(8), die(12), die(6)));
}

struct Past {
  std::string lock;
  Holder holder;
  Token token;
};

struct PastSlot {
  SemaphoreName slots;
  Holder holder;
  Token token;

  bool operator==(const PastSlot&) const = default;
};

class Players : public Grants {
 public:
  explicit Players(bool unnoticed) : unnoticed_(unnoticed) {
    collects = true;
    create("s", 2);
    create("t", 3, 20s);
  }

  void play(const Dice& dice) {
    const auto [move, who, what, how] = dice;
    const State before = state;
    make(move, holder(who), what, how);
    listen();
    for (const std::string& violation : violations) RC_FAIL(violation);
    for (const std::string& name : slot_names) {
      const semaphore::Semaphore& now = *state.semaphores.semaphores.find(slots_named(name));
      const semaphore::Semaphore& then = *before.semaphores.semaphores.find(slots_named(name));
      // What was due is settled under the capacity that there was.
      const std::uint32_t capacity = std::max(now.config.capacity, then.config.capacity);
      RC_ASSERT(now.in_use <= capacity || now.in_use <= then.in_use);
    }
    nobody_waits_in_a_circle();
  }

  // Nobody else is heard of for good, everybody lets go: then every wait has an end.
  void let_everybody_go() {
    for (std::uint64_t session = 1; session <= 2; ++session) {
      input(session::Returned{SessionId{session}});
    }
    for (int rounds = 0; rounds < 200 && !state.grants.waiters.empty(); ++rounds) {
      for (std::int64_t pid = 1; pid <= 2; ++pid) input(custody::ProcessGone{process(pid)});
      for (const std::string& name : lock_names) force(name, true);
      const State now = state;
      for (const auto& [key, slot] : now.semaphores.slots) {
        ask(semaphore::Command{semaphore::Release{key.name, key.holder, slot.lease.token}});
      }
      pass(0ms);
    }
    for (const std::string& violation : violations) RC_FAIL(violation);
    RC_ASSERT(state.grants.waiters.empty());
    RC_ASSERT(answers.size() == waited_);
  }

  // A token that is not the current one of its lock or slot is refused everywhere. (Who is late may
  // still give back what nobody has had since.) What is due may have kept a lease: its holder got
  // more before it was over.
  void refuse_old_tokens() {
    const State then = apply(state, Tick{}, stamp).state;
    for (const PastSlot& past : past_slots_) {
      if (token_at(past.holder, past.slots.name) == past.token) continue;
      RC_ASSERT(
          is<semaphore::Lost>(reply_to(semaphore::Heartbeat{past.slots, past.holder, past.token})));
      RC_ASSERT(is<semaphore::NotHolder>(
          reply_to(semaphore::Release{past.slots, past.holder, past.token})));
    }
    for (const Past& past : pasts_) {
      if (token_at(past.lock) != past.token) {
        const Reply reply = reply_to(lock::Release{lock_named(past.lock), past.holder, past.token});
        RC_ASSERT(is<lock::NotOwner>(reply) || is<lock::AlreadyFree>(reply));
      }
      const lock::Lock* lock = then.locks.locks.find(lock_named(past.lock));
      const lock::Tenure* tenure =
          lock ? lock::live_tenure(*lock, then.leases_from, stamp.now) : nullptr;
      if (tenure && tenure->lease.token == past.token) continue;
      RC_ASSERT(is<lock::Lost>(
          reply_to(lock::Heartbeat{lock_named(past.lock), past.holder, past.token})));
      RC_ASSERT(is<lock::Superseded>(reply_to(lock::Check{lock_named(past.lock), past.token})));
    }
  }

  // What is answered is the same before and after everything due was settled.
  void answer_alike_after_a_tick() {
    std::vector<Command> questions;
    for (const Past& past : pasts_) {
      const LockName name = lock_named(past.lock);
      questions.push_back(lock::Command{lock::Heartbeat{name, past.holder, past.token}});
      questions.push_back(lock::Command{lock::Check{name, past.token}});
      questions.push_back(lock::Command{lock::Release{name, past.holder, past.token}});
    }
    for (const Holder& who : {ana, cy}) {
      for (const std::string& name : lock_names) {
        questions.push_back(lock::Command{lock::Acquire{{lock_named(name)}, who, {}, {}, {}, {}}});
      }
      for (const std::string& name : slot_names) {
        const SemaphoreName slots = slots_named(name);
        const Token token = token_at(who, name);
        questions.push_back(semaphore::Command{semaphore::Acquire{slots, 2, who, {}, {}, {}, {}}});
        questions.push_back(semaphore::Command{semaphore::Heartbeat{slots, who, token}});
        questions.push_back(semaphore::Command{semaphore::Release{slots, who, token}});
      }
    }
    std::vector<Reply> first;
    for (const Command& question : questions) first.push_back(without_token(reply_to(question)));
    pass(0ms);
    for (std::size_t i = 0; i < questions.size(); ++i) {
      RC_ASSERT(without_token(reply_to(questions[i])) == first[i]);
    }
  }

 private:
  // A token is the next one there is; what was settled first may have taken some.
  static Reply without_token(Reply reply) {
    if (auto* of_grant = std::get_if<grant::Reply>(&reply.value)) {
      if (auto* granted = std::get_if<grant::Granted>(of_grant)) {
        for (grant::Given& given : granted->given) given.token = {};
      }
    }
    return reply;
  }

  // What is due, or left to a tick, may still let somebody go or tell him.
  void nobody_waits_in_a_circle() const {
    const std::optional<Time> next = next_deadline(state).engine;
    if (next && *next <= stamp.now) return;
    for (const auto& [id, waiter] : state.grants.waiters) {
      RC_ASSERT(!wait_graph::would_deadlock(state, waiter.request, stamp.now));
    }
  }

  // Six holders: four names, two of them also bound to a connection.
  static Holder holder(int who) {
    const std::vector<Holder> holders{ana, bo, cy, di, bound(ana, 1), bound(bo, 2), ana, bo};
    return holders.at(static_cast<std::size_t>(who));
  }

  static Names locks_of(int what) {
    const std::vector<Names> choices{{"x"},
                                     {"y"},
                                     {"z"},
                                     {"x", "y"},
                                     {"y", "z"},
                                     {"z", "x"},
                                     {"x", "y", "z"},
                                     {"x"},
                                     {"y"},
                                     {"z"},
                                     {"y", "x"},
                                     {"z", "y"}};
    return choices.at(static_cast<std::size_t>(what));
  }

  static Terms terms(int how) {
    const std::vector<Terms> choices{{},
                                     {.timeout = 10s, .max_hold = 30s},
                                     {.meta = with_process(1)},
                                     {.meta = with_process(2), .timeout = 15s},
                                     {.meta = inside(ana)},
                                     {.meta = inside(cy), .timeout = 10s}};
    return choices.at(static_cast<std::size_t>(how));
  }

  void make(int move, const Holder& who, int what, int how) {
    const std::string name = lock_names.at(static_cast<std::size_t>(what % 3));
    const std::string slots = slot_names.at(static_cast<std::size_t>(what % 2));
    const std::uint32_t weight = static_cast<std::uint32_t>(what % 3) + 1;
    Terms with = terms(how);
    switch (move) {
      case 0:
      case 1:
        acquire(who, locks_of(what), with);
        return;
      case 2:
      case 3:
      case 4:
        with.wait = how == 0 ? 25s : for_ever;
        note(acquire(who, locks_of(what), with));
        return;
      case 5:
        enter(who, slots, weight, with);
        return;
      case 6:
      case 7:
        with.wait = for_ever;
        note(enter(who, slots, weight, with));
        return;
      case 8:
      case 9:
        release(who, name, token_at(name));
        return;
      case 10:
        exit(who, slots, token_at(who, slots));
        return;
      case 11:
        beat(who, name, token_at(name));
        beat_slot(who, slots, token_at(who, slots));
        return;
      case 12:
        force(name, how % 2 == 0);
        return;
      case 13:
        input(session::Ended{SessionId{static_cast<std::uint64_t>(1 + what % 2)}});
        return;
      case 14:
        input(custody::ProcessGone{process(1 + what % 2)});
        return;
      case 15:
        input(Resumed{how % 2 == 0 ? System::What::Ready : System::What::Suspended});
        return;
      case 16:
        input(session::Returned{SessionId{static_cast<std::uint64_t>(1 + what % 2)}});
        return;
      case 17:
        if (const auto first = state.outbox.first()) finish(first->first);
        return;
      case 18:
        if (how == 0) {
          resize("s", 1 + static_cast<std::uint32_t>(what % 4));
        } else if (how == 1) {
          cleanup();
        } else {
          ask_for_both(who, locks_of(what), slots, weight, with);
        }
        return;
      default:
        if (unnoticed_ && how % 2 == 0) return wait_unnoticed(std::chrono::seconds{1 + what * 3});
        return pass(std::chrono::seconds{1 + what * 3});
    }
  }

  // Locks and a slot in one request, as the phases of pipelines ask.
  void ask_for_both(const Holder& who,
                    const Names& names,
                    const std::string& slots,
                    std::uint32_t weight,
                    const Terms& with) {
    pass(0ms);
    grant::Request request{who, with.meta, {}, {}, grant::ToClient{}, who.session, for_ever};
    for (const std::string& name : names) {
      request.locks.push_back({lock_named(name), with.timeout, with.max_hold});
    }
    request.slots.push_back({slots_named(slots), weight, with.timeout, with.max_hold});
    Turn turn(state, stamp, default_project, who.session);
    (void)grant::ask(turn, std::move(request));
    state.sequence = turn.sequence();
    state.now = stamp.now;
    for (const std::string& violation : check_state(state)) RC_FAIL(violation);
    // Whom it answered in its turn nobody has heard.
    waited_ = answers.size() + state.grants.waiters.size();
  }

  void note(const Reply& reply) {
    if (is<Waiting>(reply)) ++waited_;
  }

  Token token_at(const std::string& name) const {
    const lock::Lock* lock = state.locks.locks.find(lock_named(name));
    const lock::Tenure* tenure = lock ? lock::tenure_of(*lock) : nullptr;
    return tenure ? tenure->lease.token : Token{};
  }
  Token token_at(const Holder& who, const std::string& name) const {
    const semaphore::Slot* slot = state.semaphores.slots.find({slots_named(name), who});
    return slot ? slot->lease.token : Token{};
  }

  // Every token of a lock is new, and greater than all before; so is that of a slot, which one that
  // grows keeps, and one that is moved to another connection.
  void listen() {
    for (; heard_ < heard.size(); ++heard_) {
      if (const auto* was = find_in<lock::WasAcquired>(heard[heard_])) {
        remember(was->name, was->holder, was->token);
      } else if (const auto* then = find_in<lock::WasReclaimed>(heard[heard_])) {
        remember(then->name, then->holder, then->token);
      }
    }
    const Token newest = newest_slot_;
    for (const auto& [key, slot] : state.semaphores.slots) {
      remember({key.name, key.holder, slot.lease.token}, newest);
    }
  }
  void remember(const LockName& name, const Holder& who, Token token) {
    if (!pasts_.empty()) RC_ASSERT(pasts_.back().token < token);
    pasts_.push_back({name.name, who, token});
  }
  void remember(const PastSlot& slot, Token newest) {
    if (std::ranges::find(past_slots_, slot) != past_slots_.end()) return;
    RC_ASSERT(newest < slot.token || std::ranges::any_of(
                                         past_slots_,
                                         [&](const PastSlot& past) {
                                           return past.slots == slot.slots &&
                                                  past.token == slot.token;
                                         }));
    newest_slot_ = std::max(newest_slot_, slot.token);
    past_slots_.push_back(slot);
  }

  Reply reply_to(const Command& command) const {
    return apply(state, Request{default_project, {}, true, "", command}, stamp).reply;
  }

  bool unnoticed_;
  std::size_t heard_ = 0;
  std::size_t waited_ = 0;
  std::vector<Past> pasts_;
  std::vector<PastSlot> past_slots_;
  Token newest_slot_;
};

RC_GTEST_PROP(GrantProperty, TheLawsHoldAfterEveryMove, ()) {
  const std::vector<Dice> game = *games();
  Players players(true);
  for (const Dice& dice : game) players.play(dice);
}

RC_GTEST_PROP(GrantProperty, AnOldTokenIsRefusedEverywhere, ()) {
  const std::vector<Dice> game = *games();
  Players players(true);
  for (const Dice& dice : game) {
    players.play(dice);
    players.refuse_old_tokens();
  }
}

RC_GTEST_PROP(GrantProperty, NoAnswerDependsOnWhetherATickCameFirst, ()) {
  const std::vector<Dice> game = *games();
  Players players(true);
  for (const Dice& dice : game) {
    players.play(dice);
    players.answer_alike_after_a_tick();
  }
}

RC_GTEST_PROP(GrantProperty, WhenEverybodyLetsGoEveryWaitEnds, ()) {
  const std::vector<Dice> game = *games();
  Players players(false);
  for (const Dice& dice : game) players.play(dice);
  players.let_everybody_go();
}

}  // namespace
}  // namespace reeve
