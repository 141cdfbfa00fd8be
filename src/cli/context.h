#pragma once

#include "cli/args.h"
#include "cli/client.h"
#include "cli/home.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/runbooks.h"
#include "config/settings.h"

#include <memory>
#include <optional>
#include <span>
#include <string>

// What a command has at hand: what to say and whom to ask. Nothing is looked up or connected before
// it is needed.
namespace reeve::cli {

struct Parts;

class Context {
 public:
  explicit Context(const Parsed& parsed, std::string version);

  Output output;
  const Parts* parts = nullptr;  // what else the program is made of; there while a command runs

  bool json() const { return output.look.json; }
  bool quiet() const { return output.look.quiet; }
  const std::string& version() const { return version_; }

  // Where the state is; the error says what to set.
  std::expected<Home, Failure> home() const;
  // Ready to be asked. A home or project that cannot be found is told by its first answer.
  Client& client();
  // As it will be asked: for those that must not start a daemon.
  Client& client_without_start();

  // The folder of the project and its name: where its runbooks are. With `here` they are read from
  // the worktree that the working directory is in; it is the same project.
  std::expected<tools::RunbookPlace, Failure> place(bool here = false);
  // What is set for the project, by its file and the user's; read when it is first asked for. The
  // failure has all mistakes of both files.
  std::expected<const config::Settings*, Failure> settings();
  // The files they are in; that of the project is empty outside of one.
  struct SettingsFiles {
    std::string user;
    std::string project;
  };
  std::expected<SettingsFiles, Failure> settings_files();

  // Never null in the program.
  const Runbooks* runbooks = nullptr;

  // The commands in a text ("try `reeve …`") as they are to be typed here: with the --home that was
  // given to this one.
  std::string here(std::string_view text) const;

  // What is wrong with that which the command takes from its environment; empty: nothing.
  std::string wrong_in_environment() const;

  // The usual ends of a command.
  int fail(Failure failure);
  int misuse(std::string message);
  int cannot_run(const tools::CannotRun& cannot);

 private:
  Client& client(bool may_start);
  std::expected<tools::RunbookPlace, Failure> place_of_project();

  std::optional<std::string> home_;
  std::optional<std::string> project_;
  std::string version_;
  std::span<const Option> options_;  // of the command
  std::vector<std::string> given_;   // which of them were
  std::unique_ptr<Client> client_;
  std::optional<config::Settings> settings_;
};

// Of files of settings: CONFIG_WRONG, with each mistake in its details.
Failure failure_of(const config::Mistakes& mistakes);

// `--holder`, else $REEVE_HOLDER, else a fresh one.
std::string holder_or_fresh(const Parsed& parsed);

// "h-4f7kq2xw", with another letter in front for the verbs that run something.
std::string fresh_holder(std::string_view kind);

// `--wait [D]` as wait_ms: -1 without a limit; null: do not wait.
Json wait_of(const Parsed& parsed);
// A duration option as …_ms; null: not given.
Json milliseconds_of(const Parsed& parsed, std::string_view option);
// `--timeout` of an acquire. With --pid and without a timeout the process itself is the sign of
// life, for as long as it lives.
Json lease_timeout_of(const Parsed& parsed);
Json text_of(const Parsed& parsed, std::string_view option);
Json number_of(const Parsed& parsed, std::string_view option);

// All of a list that comes in pages: the answer of the first, with the `field` of all.
Answer list_all(Client& client, std::string_view method, std::string_view field, Json params);

}  // namespace reeve::cli
