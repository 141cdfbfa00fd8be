#include "cli/commands/config_change.h"

#include "cli/commands/settings.h"
#include "cli/text.h"
#include "config/edit.h"
#include "config/files.h"

#include <fmt/format.h>

#include <span>
#include <unistd.h>
#include <vector>

namespace reeve::cli {

namespace {

using config::Origin;

struct Target {
  Origin origin = Origin::User;
  std::string file;
};

Failure wrong_place(const config::Key& key) {
  return {"BAD_VALUE",
          fmt::format("{} may stand in {}", key.name, config::sentence_of(key.stands))};
}

// Where the words say, else in the project's file if the key may stand there and there is one.
std::expected<Target, Failure> target_of(Context& context,
                                         const Parsed& parsed,
                                         const config::Key& key) {
  const bool wants_user = parsed.has("user");
  if (wants_user && parsed.has("project")) {
    return std::unexpected(Failure{"USAGE", "--user and --project are two files; say one"});
  }
  const bool for_user = key.stands != config::Stands::Project;
  const bool for_project = key.stands != config::Stands::User;
  if ((wants_user && !for_user) || (parsed.has("project") && !for_project)) {
    return std::unexpected(wrong_place(key));
  }
  if (for_project && !wants_user) {
    const auto files = context.settings_files();
    if (!files) return std::unexpected(files.error());
    if (!files->project.empty()) return Target{Origin::Project, files->project};
    // Says that there is no project here, and what makes one.
    if (!for_user) return std::unexpected(context.place().error());
  }
  const std::string user = config::user_file();
  if (!user.empty()) return Target{Origin::User, user};
  return std::unexpected(
      Failure{"USAGE", "there is no $HOME to keep settings in; set it, or $XDG_CONFIG_HOME"});
}

Failure failure_of_change(const Error& error) {
  switch (error.code) {
    case Error::Code::NotFound:
      return {"NOT_FOUND", error.message};
    case Error::Code::BadRequest:
      return {"CONFIG_WRONG", error.message};
    case Error::Code::Conflict:
    case Error::Code::Corrupt:
    case Error::Code::Io:
    case Error::Code::Timeout:
    case Error::Code::Full:
      return {"IO", error.message};
  }
  return {"IO", error.message};
}

// What a daemon that runs makes of it.
struct Told {
  bool in_force = true;
  std::string note = {};
};

Told tell_daemon(Context& context, const config::Key& key) {
  if (key.effect == config::Effect::NextCommand) return {};
  const auto home = context.home();
  if (!home) return {};
  Client client(Where{.home = *home, .project_name = {}, .project_root = {}, .may_start = false});
  // Nobody runs: who starts next reads it.
  if (!client.connect(false)) return {};
  const Answer answer = client.ask("daemon.reload");
  if (!answer) {
    return {.in_force = false,
            .note = fmt::format("the daemon goes on with what it has: {}", answer.error().message)};
  }
  if (key.effect == config::Effect::AtOnce) return {};
  return {.in_force = false,
          .note = "it takes effect when the daemon starts: `reeve daemon restart`"};
}

// What keeps the settings from counting, the first of it with file and line.
std::vector<std::string> notes_of_mistakes(const Failure& failure) {
  constexpr std::size_t most = 3;
  const Json::Array& mistakes = failure.details["mistakes"].items();
  std::vector<std::string> notes;
  for (const Json& mistake : mistakes) {
    if (notes.size() == most) break;
    const std::string line =
        mistake.has("line")
            ? fmt::format(":{}:{}", mistake["line"].number(), mistake["column"].number())
            : "";
    notes.push_back(fmt::format(
        "{}{}: {}", printable(mistake["file"].text()), line, printable(mistake["message"].text())));
  }
  if (notes.empty()) notes.push_back(failure.message);
  const std::size_t more = mistakes.size() > most ? mistakes.size() - most : 0;
  notes.push_back(
      fmt::format("it was written, but a file with a mistake counts for nothing until "
                  "that is mended{}",
                  more > 0 ? fmt::format("; `reeve config list` has {} more", more) : ""));
  return notes;
}

int tell(Context& context,
         const config::Key& key,
         const Target& target,
         std::string_view done,
         const Told& told) {
  // The file may have had mistakes before; and what was changed may not be what counts here.
  const auto settings = context.settings();
  Json data = json_of({{"key", key.name},
                       {"file", target.file},
                       {"from", config::name_of(target.origin)},
                       {"in_force", told.in_force}});
  std::vector<std::string> notes;
  if (!told.note.empty()) notes.push_back(told.note);
  if (!settings) {
    const std::vector<std::string> wrong = notes_of_mistakes(settings.error());
    notes.insert(notes.end(), wrong.begin(), wrong.end());
    data.set("in_force", false);
    if (settings.error().details.has("mistakes")) {
      data.set("mistakes", settings.error().details["mistakes"]);
    }
  } else {
    const config::InForce now = (*settings)->look_up(key);
    data.set("value", json_of_value(now));
    if (now.origin == Origin::Project && target.origin == Origin::User) {
      notes.push_back(fmt::format(
          "here the project's file counts more: {} = {}, {}", key.name, now.text, where_of(now)));
      data.set("in_force", false);
    }
  }
  for (const std::string& note : notes) context.output.note(context.here(note));
  if (context.json()) return context.output.succeed(data);
  if (!context.quiet()) context.output.line(done);
  return context.output.done();
}

}  // namespace

int config_set(Context& context, const Parsed& parsed) {
  const config::Key* const key = config::find_key(parsed.words[0]);
  if (key == nullptr) return context.fail(no_such_key(parsed.words[0]));
  const std::span<const std::string> words = std::span(parsed.words).subspan(1);
  const auto value = config::value_of_words(*key, words);
  if (!value) {
    return context.fail(Failure{"BAD_VALUE", fmt::format("{}: {}", key->name, value.error())});
  }
  const auto target = target_of(context, parsed, *key);
  if (!target) return context.fail(target.error());
  const std::string toml = config::toml_of_words(*key, words);
  const Result<void> changed = config::change_file(target->file, [&](std::string_view text) {
    return config::with_key(target->file, text, *key, toml);
  });
  if (!changed) return context.fail(failure_of_change(changed.error()));
  const std::string done =
      fmt::format("{} = {} in {}", key->name, printable(toml), printable(short_path(target->file)));
  return tell(context, *key, *target, done, tell_daemon(context, *key));
}

int config_unset(Context& context, const Parsed& parsed) {
  const config::Key* const key = config::find_key(parsed.words[0]);
  if (key == nullptr) return context.fail(no_such_key(parsed.words[0]));
  auto target = target_of(context, parsed, *key);
  if (!target) return context.fail(target.error());
  const auto take_out = [&]() -> Result<void> {
    // Nothing is made in order to take something out of it.
    if (::access(target->file.c_str(), F_OK) != 0) return fail(Error::Code::NotFound, "");
    return config::change_file(target->file, [&](std::string_view text) {
      return config::without_key(target->file, text, *key);
    });
  };
  Result<void> changed = take_out();
  const bool may_be_the_users = !changed && changed.error().code == Error::Code::NotFound &&
                                target->origin == Origin::Project && !parsed.has("project") &&
                                key->stands == config::Stands::Both;
  if (may_be_the_users) {
    target = Target{Origin::User, config::user_file()};
    changed = take_out();
  }
  if (!changed && changed.error().code == Error::Code::NotFound) {
    return context.fail(Failure{"NOT_FOUND", fmt::format("{} is not set", key->name)});
  }
  if (!changed) return context.fail(failure_of_change(changed.error()));
  const std::string done =
      fmt::format("{} is no longer set in {}", key->name, printable(short_path(target->file)));
  return tell(context, *key, *target, done, tell_daemon(context, *key));
}

}  // namespace reeve::cli
