#pragma once

#include <array>
#include <cstdint>
#include <string_view>

// Known mistakes, each at the place of the promise it breaks. They are how the simulator is tested:
// it must find every one of them. In every build but `planted` they are constants that the compiler
// removes; there, one at a time is chosen at run time.
//
//     if (planted(Bug::AckBeforeSync)) return last;   // what must never be done
namespace reeve {

enum class Bug : std::uint8_t {
  None,
  // journal
  AckBeforeSync,           // a commit returns without its sync
  NoDirectorySync,         // a new segment's name is not synced with the directory
  StartNameUnsynced,       // nor is that of the segment a start begins with
  SnapshotRenameUnsynced,  // a snapshot gets its name before its content is on the disk
  SnapshotNameUnsynced,    // and its name is not synced before anybody relies on it
  RetryFailedSync,         // a failed sync is tried again, and believed
  TrustPageCache,          // an unclean start does not write the tail again
  TruncateEarly,           // segments are deleted before the snapshot that covers them is safe
  NoChecksum,              // a record's checksum is not looked at
  NoSequenceCheck,         // a gap between segments is not seen
  NoGroupCheck,            // part of a commit group is taken for all of it
  CorruptionCut,           // a bad record before valid ones is taken for a torn tail
  SecondDaemon,            // a second daemon may write what another is writing
  // engine
  ReplyEarly,        // replies leave before they are durable
  EventsEarly,       // followers hear of what is not durable
  EffectsEarly,      // effects start before their cause is durable
  UnchangedEarly,    // the reply of an input that changed nothing does not wait
  RedoUnobserved,    // after a restart effects are started without a look
  EffectForgotten,   // after a restart the outbox is not looked at
  NoResumed,         // leases run on while nobody listened
  DigestIgnored,     // a replay that decides differently goes on
  SnapshotStale,     // a checkpoint says a later sequence than its state has
  OpenAfterFailure,  // a failed commit is not the end
  AnswerDropped,     // somebody who waited is not told
  // core
  TokenKept,           // a reclaimed lock keeps the token of the one who lost it
  LeaseOverEarly,      // a lease is over one millisecond before its limit
  TimeoutTwice,        // a claim's silence counts two attempts
  WeightMiscounted,    // a slot that is given up frees more or less than its weight
  ItemLost,            // an item that dies on its way to the dead-letter queue is dropped
  ClaimKept,           // a completed item keeps its timeout, and comes back
  KeyForgotten,        // a repeated request is applied again
  StaleTokenAccepted,  // an old claim may complete an item
  RestForgotten,       // a failed item is there again at once
};

struct BugName {
  Bug bug;
  std::string_view name;
  std::string_view where;
};

inline constexpr std::array bug_names{
    BugName{Bug::AckBeforeSync, "ack_before_sync", "journal"},
    BugName{Bug::NoDirectorySync, "no_directory_sync", "journal"},
    BugName{Bug::SnapshotRenameUnsynced, "snapshot_rename_unsynced", "journal"},
    BugName{Bug::SnapshotNameUnsynced, "snapshot_name_unsynced", "journal"},
    BugName{Bug::RetryFailedSync, "retry_failed_sync", "journal"},
    BugName{Bug::TrustPageCache, "trust_page_cache", "journal"},
    BugName{Bug::TruncateEarly, "truncate_early", "journal"},
    BugName{Bug::NoChecksum, "no_checksum", "journal"},
    BugName{Bug::NoSequenceCheck, "no_sequence_check", "journal"},
    BugName{Bug::NoGroupCheck, "no_group_check", "journal"},
    BugName{Bug::StartNameUnsynced, "start_name_unsynced", "journal"},
    BugName{Bug::CorruptionCut, "corruption_cut", "journal"},
    BugName{Bug::SecondDaemon, "second_daemon", "journal"},
    BugName{Bug::ReplyEarly, "reply_early", "engine"},
    BugName{Bug::EventsEarly, "events_early", "engine"},
    BugName{Bug::EffectsEarly, "effects_early", "engine"},
    BugName{Bug::UnchangedEarly, "unchanged_early", "engine"},
    BugName{Bug::RedoUnobserved, "redo_unobserved", "engine"},
    BugName{Bug::EffectForgotten, "effect_forgotten", "engine"},
    BugName{Bug::NoResumed, "no_resumed", "engine"},
    BugName{Bug::DigestIgnored, "digest_ignored", "engine"},
    BugName{Bug::SnapshotStale, "snapshot_stale", "engine"},
    BugName{Bug::OpenAfterFailure, "open_after_failure", "engine"},
    BugName{Bug::AnswerDropped, "answer_dropped", "engine"},
    BugName{Bug::TokenKept, "token_kept", "core"},
    BugName{Bug::LeaseOverEarly, "lease_over_early", "core"},
    BugName{Bug::TimeoutTwice, "timeout_twice", "core"},
    BugName{Bug::WeightMiscounted, "weight_miscounted", "core"},
    BugName{Bug::ItemLost, "item_lost", "core"},
    BugName{Bug::ClaimKept, "claim_kept", "core"},
    BugName{Bug::KeyForgotten, "key_forgotten", "core"},
    BugName{Bug::StaleTokenAccepted, "stale_token_accepted", "core"},
    BugName{Bug::RestForgotten, "rest_forgotten", "core"},
};

#ifdef REEVE_PLANTED
// Set by the simulator before it begins a run.
extern Bug planted_bug;
inline bool planted(Bug bug) { return bug == planted_bug; }
#else
constexpr bool planted(Bug) { return false; }
#endif

}  // namespace reeve
