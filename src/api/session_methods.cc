#include "api/errors.h"
#include "api/methods.h"
#include "api/rpc.h"
#include "base/match.h"

#include <fmt/format.h>

#include <charconv>

namespace reeve::api {
namespace {

// kept: name the project.
void tell_hello(Tell& tell, std::string_view project, SessionId session) {
  const About& about = tell.desk().steward().about();
  tell.result()
      .key("session")
      .plain(fmt::format("{:x}", session.value))
      .field("project", project)
      .field("version", about.version)
      .field("pid", about.pid);
}

void tell_opened(Tell& tell, const Reply& reply) {
  const project::Reply* of_project = std::get_if<project::Reply>(&reply.value);
  if (!of_project) return;
  match(*of_project, [&](const project::Opened& opened) {
    tell_hello(tell, opened.name, SessionId{static_cast<std::uint64_t>(tell.kept().number)});
  });
}

// The folder is decided at once, so what comes behind in the same breath is in the right project.
void hello_from(Asking& ask, std::string_view path) {
  project::Open command{std::string(path), std::string(ask.params.need_text("name"))};
  if (!path.starts_with('/')) ask.params.refuse("path", "must be absolute");
  ask.kept.name = command.name;
  ask.kept.number = static_cast<std::int64_t>(ask.session().value);
  ask.submit("project", std::move(command), tell_opened);
  const ProjectNo* project = ask.state().projects.by_path.find(std::string(path));
  if (project && ask.params.is_good()) ask.use_project(*project);
}

void hello(Asking& ask) {
  ask.begin_hello();
  if (const std::optional<std::string_view> path = ask.params.text("path")) {
    return hello_from(ask, *path);
  }
  const project::Project* project = ask.state().projects.projects.find(ask.project());
  const std::string name = project ? project->name : "default";
  if (ask.params.finish()) ask.use_project(ask.project());
  ask.answer([&](Tell& tell) { tell_hello(tell, name, ask.session()); });
}

void resume(Asking& ask) {
  const std::string_view text = ask.params.need_text("session");
  SessionId session;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, session.value, 16);
  if (error != std::errc{} || stopped != end) {
    ask.params.refuse("session", "must be what session.hello gave");
  }
  ask.kept.name = text;
  ask.resume(session);
}

void cancel(Asking& ask) {
  const Raw* id = ask.params.raw("id");
  if (!id) ask.params.missing("id");
  if (!ask.params.finish()) return ask.answer([](Tell&) {});
  const bool found = ask.cancel(id->text);
  ask.answer([&](Tell& tell) { tell.result().field("found", found); });
}

constexpr Named methods[] = {
    {"session.hello", hello},
    {"session.resume", resume},
    {"request.cancel", cancel},
};

}  // namespace

std::span<const Named> session_methods() { return methods; }

}  // namespace reeve::api
