#include "sim/plan.h"

#include <fmt/format.h>

namespace reeve::sim {
namespace {

// Two faults in five are part of a world.
std::uint64_t maybe(Dice& dice, std::uint64_t often, std::uint64_t rarely) {
  return dice.percent(40) ? dice.between(often, rarely) : 0;
}

}  // namespace

Plan draw_plan(Dice& dice) {
  Plan plan;
  plan.steps = dice.percent(12) ? dice.between(2000, 5000) : dice.between(300, 1500);
  plan.power_loss = maybe(dice, 300, 3000);
  plan.kill = maybe(dice, 400, 3500);
  plan.strike_power = maybe(dice, 150, 1800);
  plan.strike_kill = maybe(dice, 300, 3000);
  plan.strike_eio = maybe(dice, 150, 1500);
  plan.strike_in_recovery = maybe(dice, 2, 5);
  plan.reads_fail = maybe(dice, 4, 10);
  plan.clean_stop = maybe(dice, 500, 3000);
  plan.bit_flip = maybe(dice, 2, 6);
  plan.lost_file = maybe(dice, 2, 6);
  plan.other_version = maybe(dice, 4, 10);
  plan.disk_full = maybe(dice, 500, 3000);
  plan.slow_sync = maybe(dice, 20, 200);
  plan.storm = maybe(dice, 2, 6);
  plan.second_daemon = maybe(dice, 100, 1000);
  plan.clock_set = maybe(dice, 100, 1000);
  plan.suspend = maybe(dice, 100, 1000);
  plan.stall = maybe(dice, 100, 1000);
  plan.client_gone = maybe(dice, 30, 300);
  plan.answer_lost = maybe(dice, 3, 30);
  plan.process_dies = maybe(dice, 50, 500);
  plan.duplicate = maybe(dice, 4, 30);
  plan.wire = maybe(dice, 3, 20);
  plan.never_returns = maybe(dice, 2, 6);
  plan.cannot_know = maybe(dice, 1, 4);
  plan.survives = dice.between(0, 100);
  plan.fails = dice.between(0, 40);
  plan.clients = dice.between(35, 65);
  plan.time = dice.between(5, 25);
  plan.writer = dice.between(8, 70);
  plan.checkpointer = dice.between(2, 40);
  plan.keyed = dice.between(0, 80);
  plan.items = dice.between(4, dice.percent(20) ? 30 : 12);
  plan.waits = dice.between(1, dice.percent(20) ? 12 : 3);
  plan.locks = dice.between(0, 12);
  plan.semaphores = dice.between(0, 8);
  plan.queues = dice.between(2, 14);
  plan.pipelines = dice.percent(50) ? dice.between(1, 4) : 0;
  plan.others = dice.between(0, 3);
  plan.boards = dice.percent(15) ? dice.between(1, 8) : 0;
  plan.crons = dice.percent(8);
  plan.projector = dice.percent(50);
  for (std::uint8_t& byte : plan.journal.fresh_id.bytes) {
    byte = static_cast<std::uint8_t>(dice.below(256));
  }
  plan.journal.first_segment = dice.between(2, dice.percent(25) ? 10 : 5) * 4096;
  plan.journal.largest_segment = plan.journal.first_segment << dice.below(3);
  plan.journal.largest_group = plan.journal.first_segment;
  plan.journal.measure_every = 8192;
  plan.journal.snapshot_after = dice.between(4, dice.percent(25) ? 40 : 16) * 1024;
  plan.journal.keep_free = std::uint64_t{256} << 10U;
  plan.journal.chunk_size = dice.between(1, 8) * 1024;
  plan.journal.sync_every = dice.between(1, 8) * 1024;
  plan.journal.compress = dice.percent(25);
  return plan;
}

std::string describe(const Plan& plan) {
  return fmt::format(
      "steps {} | 1 in: power {} kill {} strikes: power {} kill {} eio {} in recovery {} reads {} "
      "| "
      "stop {} flip {} version {} full {} slow {} storm {} second {} | set {} suspend {} stall {} "
      "| "
      "gone {} dies {} twice {} wire {} never {} unknown {} | % survive {} fail {} clients {} time "
      "{} writer {} keyed {} | segment "
      "{} "
      "snapshot {}",
      plan.steps,
      plan.power_loss,
      plan.kill,
      plan.strike_power,
      plan.strike_kill,
      plan.strike_eio,
      plan.strike_in_recovery,
      plan.reads_fail,
      plan.clean_stop,
      plan.bit_flip,
      plan.other_version,
      plan.disk_full,
      plan.slow_sync,
      plan.storm,
      plan.second_daemon,
      plan.clock_set,
      plan.suspend,
      plan.stall,
      plan.client_gone,
      plan.process_dies,
      plan.duplicate,
      plan.wire,
      plan.never_returns,
      plan.cannot_know,
      plan.survives,
      plan.fails,
      plan.clients,
      plan.time,
      plan.writer,
      plan.keyed,
      plan.journal.first_segment,
      plan.journal.snapshot_after);
}

}  // namespace reeve::sim
