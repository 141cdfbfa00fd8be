#pragma once

#include "journal/file_journal.h"
#include "sim/dice.h"

#include <cstdint>
#include <string>

// What one seed's world is like. A swarm: each seed has some of the faults, at rates of its own, so
// that between them all combinations come up, and none drowns the others.
namespace reeve::sim {

struct Plan {
  std::uint64_t steps = 3000;

  // Chances are one in so many of the steps they are asked about; 0 is never.
  std::uint64_t power_loss = 0;    // now, between two operations
  std::uint64_t kill = 0;          // the process, between two operations
  std::uint64_t strike_power = 0;  // at one of the next file operations
  std::uint64_t strike_kill = 0;
  std::uint64_t strike_eio = 0;
  std::uint64_t strike_in_recovery = 0;  // of recoveries
  std::uint64_t reads_fail = 0;          // of recoveries: EIO in it, which ends that start
  std::uint64_t clean_stop = 0;
  std::uint64_t bit_flip = 0;       // of starts: damage that must be refused, then undone
  std::uint64_t lost_file = 0;      // of starts: likewise
  std::uint64_t other_version = 0;  // of starts: one that decides differently
  std::uint64_t disk_full = 0;
  std::uint64_t slow_sync = 0;      // of commits: one that takes seconds
  std::uint64_t storm = 0;          // of crashes: the first of several, one soon after the other
  std::uint64_t second_daemon = 0;  // another is started while this one runs
  std::uint64_t clock_set = 0;
  std::uint64_t suspend = 0;
  std::uint64_t stall = 0;

  std::uint64_t client_gone = 0;  // a connection ends
  std::uint64_t answer_lost = 0;  // of answers: the connection ends before it is there
  std::uint64_t process_dies = 0;
  std::uint64_t duplicate = 0;  // of requests: sent twice at once
  std::uint64_t wire = 0;       // of what clients do: in lines of the protocol
  std::uint64_t never_returns = 0;
  std::uint64_t cannot_know = 0;  // of runs that a loss of power ended
  std::uint64_t survives = 80;    // percent of runs that outlive a killed daemon
  std::uint64_t fails = 10;       // percent of runs that fail

  // Percent of steps.
  std::uint64_t clients = 50;
  std::uint64_t time = 15;
  std::uint64_t writer = 40;        // the smaller, the larger the batches
  std::uint64_t checkpointer = 10;  // while it has something to write
  std::uint64_t keyed = 40;         // of requests

  // How crowded the world is: items there are, and how many answers a client waits for at once.
  std::uint64_t items = 24;
  std::uint64_t waits = 4;

  // Weights of what clients ask for.
  std::uint64_t locks = 10;
  std::uint64_t semaphores = 6;
  std::uint64_t queues = 12;
  std::uint64_t boards = 0;
  std::uint64_t pipelines = 3;
  std::uint64_t others = 2;
  bool crons = false;  // among what is asked of pipelines

  bool projector = true;
  journal::Options journal;
};

Plan draw_plan(Dice& dice);

// One line, for a trace.
std::string describe(const Plan& plan);

}  // namespace reeve::sim
