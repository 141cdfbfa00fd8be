#pragma once

#include "base/time.h"
#include "core/definition.h"
#include "runbook/arguments.h"
#include "runbook/mistake.h"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

// What a project's runbooks say, all of it: the definitions that the core runs (`set`), and beside
// them what others act on: commands, which the program that people type runs; monitors and their
// actions, which the daemon runs; and for whoever shows a definition, where it was written and how.
//
// Every text that a shell runs is a program made by runbook/shell_text; how it was written stands
// in `written`.
namespace reeve::runbook {

// ── [command.NAME] ──

struct StartPipeline {
  std::string pipeline;
  definition::Map inputs;  // beside those of the arguments, which come first

  bool operator==(const StartPipeline&) const = default;
};

// The arguments as a JSON object become an item; {priority} its priority.
struct PushItem {
  std::string queue;

  bool operator==(const PushItem&) const = default;
};

struct StartAgent {
  std::string agent;

  bool operator==(const StartAgent&) const = default;
};

// In the terminal of whoever typed it; needs no daemon.
struct RunHere {
  std::string text;  // Shell text

  bool operator==(const RunHere&) const = default;
};

struct Command {
  Arguments arguments;
  definition::Map defaults;
  std::variant<StartPipeline, PushItem, StartAgent, RunHere> run;

  bool operator==(const Command&) const = default;
};

// ── [monitor.NAME], [action.NAME] ──

// `nudge`, `restart:2`: an action of the runbook, or one of nudge, restart and escalate.
struct Reaction {
  std::string name;
  std::optional<std::uint32_t> times;  // none: as often as the action says

  bool operator==(const Reaction&) const = default;
};

struct Monitor {
  std::string source;     // Shell text: prints items, a JSON array or one a line, each with an id
  std::string condition;  // Shell text; of an item whose condition holds
  std::vector<Reaction> response;
  std::string run;  // Shell text, instead of a response

  bool operator==(const Monitor&) const = default;
};

struct Action {
  std::string run;  // Shell text
  Duration cooldown{0};
  std::uint32_t max_attempts = 0;  // 0: no limit

  bool operator==(const Action&) const = default;
};

// ── All of it ──

struct Where {
  std::string file;
  Place place;

  auto operator<=>(const Where&) const = default;
};

// `queue`, `bugs`
struct Name {
  std::string kind;
  std::string name;

  auto operator<=>(const Name&) const = default;
};

struct Runbook {
  definition::Set set;
  std::map<std::string, Command> commands;
  std::map<std::string, Monitor> monitors;
  std::map<std::string, Action> actions;
  bool desktop = false;  // notifications go to the desktop too

  std::map<Name, Where> defined;               // everything that has a name
  std::map<std::string, std::string> written;  // shell texts: the program, and its source

  bool operator==(const Runbook&) const = default;
};

}  // namespace reeve::runbook
