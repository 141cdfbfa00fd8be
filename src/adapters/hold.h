#pragma once

#include <span>
#include <string_view>

// `reeve hold`: the custody of one program. People do not call it.
//
//     reeve hold DIR          does what DIR/spec says (adapters/run_directory.h)
//     reeve hold --log FILE [DIR]
//                             keeps what comes on stdin in FILE, bounded (adapters/bounded_log.h),
//                             without the secrets of DIR/spec
//     reeve hold --nursery    starts others for the daemon (adapters/nursery.h)
//
// It leads a session of its own and needs nobody: the daemon can be killed, upgraded and started
// again meanwhile. It is the parent of last resort (subreaper) of all that the program starts, so
// nothing of it gets lost:
//
//     take the lock ─▶ started, synced ─▶ bash ─▶ its end ─▶ nothing left ─▶ exit, synced ─▶ over
//                                          │         │
//                                timeout,  │         │ something is left after 5 s
//                                  TERM to │         │
//                                     hold ▼         ▼
//                               the whole tree: TERM, the grace, KILL until nothing is left
//
// The exit status is that of the program itself; what it leaves running has 5 s to come to an end,
// and is ended then. The program has an environment that was written down for it, no descriptors
// but the first three, a process group of its own, and nothing to read unless there is a file
// `stdin`. What it says is always read, at once, and kept within bounds: a flood neither fills the
// disk nor stops it.
//
// A TERM sent with a number (sigqueue) brings the grace in milliseconds.
namespace reeve::adapters {

// The words behind `hold`. 0: done, whatever became of the program, or nothing to do; 1: it could
// not be done, and nothing was; 2: bad words.
int hold(std::span<const std::string_view> words);

}  // namespace reeve::adapters
