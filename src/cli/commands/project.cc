#include "cli/commands/groups.h"
#include "cli/context.h"
#include "cli/text.h"

#include <array>

namespace reeve::cli {

namespace {

int list(Context& context, const Parsed&) {
  const Answer answer = context.client().ask("project.list");
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  Table table({{"PROJECT", Table::Align::Left, true}, {"FOLDER", Table::Align::Left, true}});
  for (const Json& project : (*answer)["projects"].items()) {
    if (context.quiet()) {
      context.output.line(project["name"].text());
    } else {
      table.add({printable(project["name"].text()),
                 project.has("path") ? printable(project["path"].text()) : "-"});
    }
  }
  if (!context.quiet()) {
    if (table.empty()) {
      context.output.note("no projects yet");
    } else {
      context.output.out(table.write(Output::out_width(), context.output));
    }
  }
  return context.output.done();
}

constexpr std::array<Example, 1> list_examples{{{"reeve project list", "names and folders"}}};
constexpr std::array<Command, 1> commands{{{.name = "project list",
                                            .summary = "list the projects of this home",
                                            .details = "A project is a folder with .git or .reeve; "
                                                       "names of locks, semaphores and queues are "
                                                       "its own. //name is shared by all.",
                                            .examples = list_examples,
                                            .run = list}}};

}  // namespace

const Group project_group{
    .word = "project", .summary = "whose names are whose", .commands = commands};

}  // namespace reeve::cli
