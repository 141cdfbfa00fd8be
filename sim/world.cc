#include "sim/world.h"

#include "core/invariants.h"

#include <algorithm>
#include <utility>

namespace reeve::sim {

void Counts::add(const Counts& other) {
  steps += other.steps;
  crashes += other.crashes;
  stops += other.stops;
  failures += other.failures;
  recoveries += other.recoveries;
  refusals += other.refusals;
  records += other.records;
  replies += other.replies;
  effects += other.effects;
  observed += other.observed;
  checkpoints += other.checkpoints;
  full_checks += other.full_checks;
  undelivered += other.undelivered;
  refused_full += other.refused_full;
  finished_full += other.finished_full;
  slow_syncs += other.slow_syncs;
  storms += other.storms;
  turned_away += other.turned_away;
  lines += other.lines;
}

World::World(std::uint64_t seed, Report& report, std::optional<std::uint64_t> steps)
    : seed_(seed),
      report_(report),
      dice_(seed),
      plan_(draw_plan(dice_)),
      disk_(dice_.roll()),
      hands_(dice_, plan_, report_),
      oracle_(report_),
      clients_(dice_, plan_, hands_),
      wire_(dice_, report_, [this](Request request) { oracle_.meant(std::move(request)); }) {
  if (steps) plan_.steps = *steps;
  report_.say("seed {}: {}", seed_, describe(plan_));
}

World::~World() = default;

void World::run() {
  if (!start()) return;
  set_up();
  while (counts_.steps < plan_.steps && !report_.failed()) step();
  if (!report_.failed()) drain();
  counts_.records = oracle_.durable();
  counts_.replies = oracle_.replies();
  counts_.effects = hands_.started();
  counts_.observed = hands_.observed();
  counts_.lines = wire_.lines();
  wire_.end();
  daemon_.reset();
}

void World::step() {
  ++counts_.steps;
  if (!daemon_) {
    start();
    return;
  }
  const std::uint64_t choice = dice_.below(100);
  if (choice < plan_.clients) {
    client_acts();
  } else if (choice < plan_.clients + plan_.time) {
    time_passes();
  } else if (dice_.percent(70)) {
    touch_all();
    hands_.go_on(*daemon_->engine, stamp());
  } else {
    housekeeping();
  }
  if (daemon_ && dice_.percent(plan_.writer)) writer_goes_on();
  if (daemon_ && daemon_->checkpointer && dice_.percent(plan_.checkpointer)) write_checkpoint();
  if (daemon_) deliver();
  if (daemon_) check(false);
  if (daemon_ && faults_) maybe_fault();
}

// The invariants of the nouns that a step may have touched, after each step that changed anything,
// and of everything now and then.
void World::check(bool whole) {
  const State& state = daemon_->engine->state();
  if (!whole && state.sequence == checked_) return;
  const bool grants = std::exchange(touched_grants_, false);
  const bool queues = std::exchange(touched_queues_, false);
  checked_ = state.sequence;
  Violations violations;
  if (whole || until_check_ == 0) {
    violations = check_state(state);
    until_check_ = 24;
    ++counts_.full_checks;
  } else {
    --until_check_;
    if (grants) lock::check(state, violations);
    if (grants) semaphore::check(state, violations);
    if (queues) queue::check(state, violations);
  }
  if (!violations.empty()) report_.violated("invariant: " + violations.front());
  if (state.sequence < oracle_.durable()) report_.violated("the engine forgot a durable input");
}

void World::deliver() {
  engine::Engine& engine = *daemon_->engine;
  engine.deliver();
  for (const EffectId effect : oracle_.take_settled()) hands_.settled(effect);
  oracle_.delivered(engine.durable());
  take_back_lost();
  if (wire_.catch_up(stamp())) touch_all();
  if (std::optional<engine::Snapshot> snapshot = engine.take_snapshot()) {
    if (snapshot->sequence() > oracle_.durable()) {
      report_.violated("a checkpoint was handed out before it was durable");
    }
    daemon_->checkpointer = std::make_unique<engine::Checkpointer>(
        *daemon_->journal, *snapshot, plan_.journal.chunk_size);
  }
}

// As the one who has the connections would: not from within the call that brought the answer.
void World::take_back_lost() {
  for (Lost& lost : std::exchange(lost_, {})) {
    ++counts_.undelivered;
    touch_all();
    report_.say("  {} never got its answer, key '{}'",
                clients_.at(lost.waiter.client).name,
                lost.waiter.key);
    daemon_->engine->undelivered(
        default_project, std::move(lost.waiter.key), std::move(lost.reply), stamp());
    if (lost.disconnects) disconnect(lost.waiter.client);
  }
}

// The faults are over, and everybody does what is theirs to do: everything must come to its end.
void World::drain() {
  report_.say("── drain");
  faults_ = false;
  struck_ = false;
  disk_.spare_us();
  disk_.set_free_space(std::uint64_t{1} << 40U);
  hands_.be_kind();
  while (!daemon_ && !report_.failed()) start();
  if (!report_.failed()) wire_.finish(stamp());
  for (std::size_t i = 0; i < clients_.size() && !report_.failed(); ++i) {
    daemon_->engine->session_ended(clients_.at(i).session, stamp());
    clients_.new_connection(i);
  }
  for (int round = 0; round < 3000 && !report_.failed(); ++round) {
    if (!daemon_) return report_.violated("the daemon ended though nothing is wrong");
    housekeeping();
    while (hands_.go_on(*daemon_->engine, stamp()) && !report_.failed()) {
      for (int i = 0; i < 3 && daemon_; ++i) writer_goes_on();
      if (!daemon_) return report_.violated("the daemon ended though nothing is wrong");
      deliver();
    }
    kind_clients();
    for (int i = 0; i < 3 && daemon_; ++i) writer_goes_on();
    if (!daemon_) continue;
    deliver();
    if (is_drained()) {
      check(true);
      oracle_.compare_models();
      return;
    }
    const Deadlines next = daemon_->engine->next_wake();
    if (next.engine && *next.engine > stamp().now) {
      pass(std::min<Duration>(*next.engine - stamp().now, std::chrono::minutes{2}));
    } else {
      pass(Duration{100});
    }
  }
  if (report_.failed()) return;
  const State& state = daemon_->engine->state();
  report_.violated(fmt::format(
      "not everything came to its end: {} effects, {} waiters, {} takers, {} open pipelines, {} "
      "open decisions, {} ready, {} due, idle {}, open tickets {}, unanswered lines {}",
      state.outbox.size(),
      state.grants.waiters.size(),
      state.queues.takers.size(),
      state.pipelines.open,
      state.decisions.open_of.size(),
      state.queues.ready.size(),
      state.queues.due.size(),
      daemon_->engine->is_idle(),
      oracle_.open(),
      wire_.unanswered()));
}

bool World::is_drained() const {
  const engine::Engine& engine = *daemon_->engine;
  const State& state = engine.state();
  if (!engine.is_idle() || daemon_->batch || oracle_.open() != 0) return false;
  if (wire_.unanswered() != 0) return false;
  if (!state.outbox.empty() || engine.outbox().size() != 0) return false;
  if (!state.grants.waiters.empty() || !state.queues.takers.empty()) return false;
  if (!Clients::is_tidy(state)) return false;
  if (state.pipelines.open != 0 || !state.decisions.open_of.empty()) return false;
  if (!state.queues.ready.empty() || !state.chores.waiting.empty()) return false;
  for (const auto& [id, item] : state.queues.items) {
    if (item.state == queue::ItemState::Pending) return false;
    if (item.state == queue::ItemState::Processing) return false;
  }
  return true;
}

}  // namespace reeve::sim
