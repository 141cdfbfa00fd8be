#include "cli/context.h"

#include "cli/project.h"
#include "cli/text.h"
#include "codec/json_text.h"
#include "codec/shell_word.h"
#include "config/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>

namespace reeve::cli {

namespace {

// Longer than any process: a hundred years.
constexpr Duration while_it_lives = std::chrono::hours(24 * 365 * 100);

// What an option is without being given.
const char* variable_of(std::string_view option) {
  if (option == "holder") return "REEVE_HOLDER";
  return option == "runner" ? "REEVE_RUNNER" : nullptr;
}

// A mistake in the file is told by whoever needs what it says, and by `reeve config` and `doctor`:
// how the telling looks is not worth a refusal.
Usual usual_look() {
  const auto layer = config::read_layer_file(config::Origin::User, config::user_file());
  if (!layer) return {};
  const config::Settings settings(*layer, {});
  const std::string color = settings.text("ui.color");
  return {.iso = settings.text("ui.time") == "iso",
          .color = color == "always"  ? When::Always
                   : color == "never" ? When::Never
                                      : When::Auto};
}

}  // namespace

Context::Context(const Parsed& parsed, std::string version) : version_(std::move(version)) {
  output.look.json = parsed.has("json");
  output.look.quiet = parsed.has("quiet");
  if (parsed.has("time")) output.look.iso = parsed.text("time") == "iso";
  if (parsed.text("color") == "auto") output.look.color = When::Auto;
  if (parsed.text("color") == "always") output.look.color = When::Always;
  if (parsed.text("color") == "never") output.look.color = When::Never;
  output.usual = usual_look;
  if (parsed.command != nullptr) {
    output.command = parsed.command->name;
    options_ = parsed.command->options;
    for (const Option& option : options_) {
      if (parsed.has(option.name)) given_.emplace_back(option.name);
    }
  }
  if (const auto home = parsed.text("home")) home_ = *home;
  if (const auto project = parsed.text("project")) project_ = *project;
}

std::expected<Home, Failure> Context::home() const {
  if (home_ && home_->empty()) {
    return std::unexpected(Failure{"USAGE", "--home wants a folder, and was given nothing"});
  }
  const std::optional<Home> home = find_home(home_);
  if (home) return *home;
  return std::unexpected(
      Failure{"USAGE", "there is no $HOME to keep the state in; say where with --home DIR"});
}

Client& Context::client() { return client(true); }
Client& Context::client_without_start() { return client(false); }

Client& Context::client(bool may_start) {
  if (client_) return *client_;
  Where where;
  where.may_start = may_start;
  if (const auto found = home()) {
    where.home = *found;
  } else {
    output.fail(found.error());
    std::exit(static_cast<int>(exit_of(found.error().code)));  // NOLINT(concurrency-mt-unsafe)
  }
  const auto named = project_ ? project_ : environment("REEVE_PROJECT");
  if (named && named->find('/') == std::string::npos) {
    where.project_name = *named;
  } else if (named) {
    std::array<char, PATH_MAX> real{};
    const bool there = ::realpath(named->c_str(), real.data()) != nullptr;
    where.project_root = there ? find_project(real.data()) : std::nullopt;
    if (!where.project_root) where.project_name = *named;  // the daemon says that there is none
  } else {
    where.project_root = find_project(working_directory());
  }
  client_ = std::make_unique<Client>(std::move(where));
  return *client_;
}

std::string Context::here(std::string_view text) const {
  const auto found = home_ ? home() : std::unexpected(Failure{});
  if (!found) return std::string(text);
  constexpr std::string_view begin = "`reeve ";
  const std::string with_home = fmt::format("{}--home {} ", begin, codec::shell_word(found->path));
  std::string whole;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find(begin), text.size());
    whole += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    const std::string_view command = text.substr(0, text.find('`', 1));
    const bool named = command.find("--home ") != std::string_view::npos;
    whole += named ? begin : std::string_view(with_home);
    text.remove_prefix(begin.size());
  }
  return whole;
}

std::expected<Context::SettingsFiles, Failure> Context::settings_files() {
  SettingsFiles files{.user = config::user_file(), .project = ""};
  const Where& where = client().where();
  if (!where.project_root && !where.project_name) return files;
  const auto place = place_of_project();
  if (place) files.project = config::project_file(place->root);
  // The project `default` has no folder, and so no file.
  const bool has_none = where.project_name == "default";
  if (!place && !has_none) return std::unexpected(place.error());
  return files;
}

std::expected<const config::Settings*, Failure> Context::settings() {
  if (settings_) return &*settings_;
  const auto files = settings_files();
  if (!files) return std::unexpected(files.error());
  auto settings = config::read_settings(files->user, files->project);
  if (!settings) return std::unexpected(failure_of(settings.error()));
  settings_ = *std::move(settings);
  return &*settings_;
}

Failure failure_of(const config::Mistakes& mistakes) {
  Json all = Json::array();
  for (const config::Mistake& mistake : mistakes) {
    const bool has_line = mistake.place.line != 0;
    all.push(json_of({{"file", mistake.file},
                      {"line", has_line ? Json(std::int64_t{mistake.place.line}) : Json()},
                      {"column", has_line ? Json(std::int64_t{mistake.place.column}) : Json()},
                      {"message", mistake.message}}));
  }
  const std::string message =
      mistakes.size() == 1
          ? config::to_text(mistakes.front())
          : fmt::format("there are {} mistakes in the settings; nothing was done", mistakes.size());
  return Failure{"CONFIG_WRONG", message, json_of({{"mistakes", all}})};
}

std::string Context::wrong_in_environment() const {
  for (const Option& option : options_) {
    const char* const variable = variable_of(option.name);
    if (variable == nullptr || std::ranges::find(given_, option.name) != given_.end()) continue;
    const auto value = environment(variable);
    if (value && !codec::is_utf8(*value)) {
      return fmt::format("${} is not UTF-8: nothing was done", variable);
    }
  }
  return {};
}

// In the words of the command line, not in those of the protocol.
int Context::fail(Failure failure) {
  const Json::Array& mistakes = failure.details["mistakes"].items();
  if (failure.code == "CONFIG_WRONG" && !json() && mistakes.size() > 1) {
    for (const Json& mistake : mistakes) {
      const std::string line =
          mistake.has("line")
              ? fmt::format(":{}:{}", mistake["line"].number(), mistake["column"].number())
              : "";
      output.err(fmt::format("{}{}: {}\n",
                             printable(mistake["file"].text()),
                             line,
                             printable(mistake["message"].text())));
    }
  }
  constexpr std::string_view meta = "meta.";
  if (failure.message.starts_with(meta)) failure.message.replace(0, meta.size(), "--");
  // `max_attempts` was typed as --max-attempts, if the command has an option of that name.
  const std::string& field = failure.details["field"].text();
  std::string option = field;
  std::ranges::replace(option, '_', '-');
  const bool is_option = std::ranges::find(options_, option, &Option::name) != options_.end();
  if (!field.empty() && is_option && failure.message.starts_with(field + " ")) {
    const bool is_given = std::ranges::find(given_, option) != given_.end();
    const auto variable = variable_of(option);
    const bool is_inherited = !is_given && variable && environment(variable);
    failure.message.replace(
        0, field.size(), is_inherited ? fmt::format("${}", variable) : "--" + option);
  }
  failure.message = here(failure.message);
  return output.fail(failure);
}

std::expected<tools::RunbookPlace, Failure> Context::place(bool here) {
  auto place = place_of_project();
  if (!place) return place;
  const auto set = settings();
  if (!set) return std::unexpected(set.error());
  place->poll_interval_ms = (*set)->duration("locking.poll_interval").count();
  if (!here) return place;
  if (const auto checkout = find_checkout(working_directory())) place->checkout = checkout->path;
  return place;
}

std::expected<tools::RunbookPlace, Failure> Context::place_of_project() {
  const Where& where = client().where();
  if (where.project_root) {
    return tools::RunbookPlace{where.project_root->path, where.project_root->name};
  } else if (where.project_name && *where.project_name != "default") {
    const Answer projects = client().ask("project.list");
    if (!projects) return std::unexpected(projects.error());
    for (const Json& project : (*projects)["projects"].items()) {
      if (project["name"].text() == *where.project_name && project.has("path")) {
        return tools::RunbookPlace{project["path"].text(), *where.project_name};
      }
    }
    return std::unexpected(
        Failure{"NOT_FOUND",
                fmt::format("there is no project \"{}\" with a folder; try `reeve project list`",
                            *where.project_name)});
  }
  return std::unexpected(Failure{
      "NOT_FOUND",
      fmt::format("{} is in no project (there is no .git or .reeve in it or above); `reeve init` "
                  "makes it one",
                  working_directory())});
}

int Context::cannot_run(const tools::CannotRun& cannot) {
  if (!json()) {
    for (const std::string& line : cannot.lines) output.err(line + "\n");
  }
  const Json details = parse_json(cannot.details).value_or(Json::object());
  output.fail(Failure{cannot.code, here(cannot.message), details});
  return cannot.exit;
}

int Context::misuse(std::string message) {
  message = here(message);
  return output.fail(Failure{"USAGE", std::move(message)});
}

std::string fresh_holder(std::string_view kind) {
  return fmt::format("{}-{}", kind, random_word(8));
}

std::string holder_or_fresh(const Parsed& parsed) {
  if (const auto holder = parsed.text("holder")) return std::string(*holder);
  if (const auto holder = environment("REEVE_HOLDER")) return *holder;
  return fresh_holder("h");
}

Json wait_of(const Parsed& parsed) {
  if (!parsed.has("wait")) return {};
  const std::optional<Duration> limit = parsed.duration("wait");
  return limit ? Json(static_cast<std::int64_t>(limit->count())) : Json(-1);
}

Json milliseconds_of(const Parsed& parsed, std::string_view option) {
  const std::optional<Duration> duration = parsed.duration(option);
  return duration ? Json(static_cast<std::int64_t>(duration->count())) : Json();
}

Json lease_timeout_of(const Parsed& parsed) {
  if (!parsed.has("pid") || parsed.has("timeout")) return milliseconds_of(parsed, "timeout");
  return Json(static_cast<std::int64_t>(while_it_lives.count()));
}

Json text_of(const Parsed& parsed, std::string_view option) {
  const auto text = parsed.text(option);
  return text ? Json(*text) : Json();
}

Json number_of(const Parsed& parsed, std::string_view option) {
  const auto number = parsed.number(option);
  return number ? Json(*number) : Json();
}

Answer list_all(Client& client, std::string_view method, std::string_view field, Json params) {
  Answer all = client.ask(method, params);
  if (!all || !all->has("next")) return all;
  Json::Array entries = (*all)[field].items();
  Json after = (*all)["next"];
  while (!after.is_null()) {
    params.set("after", after);
    const Answer page = client.ask(method, params);
    if (!page) return page;
    entries.insert(entries.end(), (*page)[field].items().begin(), (*page)[field].items().end());
    after = (*page)["next"];
  }
  const Json list(std::move(entries));
  Json whole = Json::object();
  for (const Json::Member& member : all->members()) {
    if (member.first != "next")
      whole.set(member.first, member.first == field ? list : member.second);
  }
  return whole;
}

}  // namespace reeve::cli
