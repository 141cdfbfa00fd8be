#pragma once

#include "base/boxed.h"
#include "core/id.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reeve {

// Who owns a lock, a slot or a claim: a name of a project, or a name bound to one
// connection, whose end then frees what it holds. The same name over another connection
// is another holder.
struct Holder {
  ProjectNo project;
  std::string name;
  SessionId session = {};

  auto operator<=>(const Holder&) const = default;
};

// A process, or with `group` a whole process group, of this host. The start time tells it
// from a later one with the same pid, the boot id from one of another life of the machine.
struct Process {
  std::int64_t pid = 0;
  std::uint64_t start_time = 0;
  std::string boot_id;
  bool group = false;

  auto operator<=>(const Process&) const = default;
};

// What else is known of a holder; rarely all of it, so it lives in a box.
struct HolderMeta {
  std::string host;
  std::string user;
  std::string label;
  std::optional<Process> process;  // lives as long as the lease: see core/custody
  // The holders inside which this one runs, the nearest first: see core/wait_graph.
  std::vector<Holder> within;

  bool operator==(const HolderMeta&) const = default;
};

// The process that lives as long as the lease, or null.
inline const Process* process_of(const Boxed<HolderMeta>& meta) {
  return meta && meta->process ? &*meta->process : nullptr;
}

}  // namespace reeve
