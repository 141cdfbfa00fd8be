#include "cli/commands/pipeline_verbs.h"

#include "cli/commands/groups.h"
#include "cli/commands/runs.h"
#include "cli/text.h"

#include <fmt/format.h>

namespace reeve::cli {

int start_pipeline(Context& context, const Parsed& parsed, const tools::RunPlan& plan);

namespace pipeline_verbs {

namespace {

constexpr std::size_t most_children = 20;

Style style_of(const std::string& state) {
  if (state == "done") return Style::Good;
  if (state == "failed" || state == "blocked") return Style::Bad;
  return state == "cancelled" ? Style::Dim : Style::Plain;
}

// Somebody paused it, and it still finishes what it was doing.
bool will_pause(const Json& pipeline) {
  return pipeline["paused"].truth() && pipeline["state"].text() == "running";
}

std::string why_of(const Json& pipeline) {
  if (pipeline.has("blocked_on")) {
    const Json& on = pipeline["blocked_on"];
    const std::string kind = on["kind"].text();
    const std::string name = printable(on["name"].text());
    const std::string what = kind == "paused" ? kind : fmt::format("{} {}", kind, name);
    return fmt::format("{}: {}", what, Output::brief(printable(on["detail"].text()), 0));
  }
  if (will_pause(pipeline)) return "paused when this phase has ended";
  if (pipeline["state"].text() == "failed") {
    return Output::brief(printable(pipeline["error"].text()), 0);
  }
  if (pipeline.has("progress")) {
    const Json& progress = pipeline["progress"];
    return fmt::format("{} of {} done, {} failed",
                       progress["done"].text(),
                       progress["total"].text(),
                       progress["failed"].text());
  }
  if (pipeline.has("approach")) return "trying " + printable(pipeline["approach"].text());
  return "";
}

int changed(Context& context, std::string_view method, Json params) {
  const Answer answer = context.client().change(method, std::move(params));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  context.output.line(context.quiet() ? (*answer)["id"].text() : run_line(context.output, *answer));
  return context.output.done();
}

void tell_list(Context& context, std::string_view heading, const Json::Array& lines) {
  if (lines.empty()) return;
  context.output.line(context.output.styled(Style::Bold, heading));
  for (const Json& line : lines) context.output.line(line.text());
}

}  // namespace

std::string table(const Output& output, const Json::Array& pipelines, std::size_t width) {
  Table rows({{"RUN"},
              {"PIPELINE", Table::Align::Left, true},
              {"STATE"},
              {"PHASE", Table::Align::Left, true},
              {"SINCE"},
              {"WHY", Table::Align::Left, true}});
  for (const Json& pipeline : pipelines) {
    const std::string state = pipeline["state"].text();
    const std::string attempt =
        pipeline["attempt"].number() > 1 ? fmt::format(" #{}", pipeline["attempt"].text()) : "";
    const Json& since = pipeline.has("ended_at")     ? pipeline["ended_at"]
                        : pipeline.has("blocked_on") ? pipeline["blocked_on"]["since"]
                                                     : pipeline["phase_since"];
    rows.add({pipeline["id"].text(),
              printable(pipeline["name"].text()),
              {state, style_of(state)},
              printable(pipeline["phase"].text()) + attempt,
              output.moment(since),
              why_of(pipeline)});
  }
  return rows.empty() ? "" : rows.write(width, output);
}

int list(Context& context, const Parsed& parsed) {
  Json params = Json::object();
  Json states = Json::array();
  if (const auto state = parsed.text("state")) states.push(*state);
  if (parsed.has("active")) states.push("active");
  if (!states.items().empty()) params.set("states", states);
  if (const auto phases = parsed.text("phase")) {
    Json names = Json::array();
    for (std::string_view rest = *phases; !rest.empty();) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      names.push(rest.substr(0, comma));
      rest.remove_prefix(std::min(rest.size(), comma + 1));
    }
    params.set("phases", names);
  }
  if (const auto name = parsed.text("name")) params.set("name", *name);
  Answer answer = list_all(context.client(), "pipeline.list", "pipelines", params);
  if (!answer) return context.fail(answer.error());
  Json::Array pipelines = (*answer)["pipelines"].items();
  if (const auto most = parsed.number("limit"); most && *most >= 0) {
    const auto keep = static_cast<std::size_t>(*most);
    if (pipelines.size() > keep) {
      pipelines.erase(pipelines.begin(), pipelines.end() - static_cast<std::ptrdiff_t>(keep));
    }
  }
  if (context.json()) {
    return context.output.succeed(json_of({{"pipelines", Json(std::move(pipelines))}}));
  }
  if (context.quiet()) {
    for (const Json& pipeline : pipelines) context.output.line(pipeline["id"].text());
    return context.output.done();
  }
  if (pipelines.empty()) {
    context.output.note("no runs; `reeve run NAME` starts one");
  }
  context.output.out(table(context.output, pipelines, Output::out_width()));
  return context.output.done();
}

void tell(Context& context, const Json& pipeline) {
  Output& output = context.output;
  const std::string state = pipeline["state"].text();
  output.line(fmt::format("{} {} {}",
                          output.styled(Style::Bold, pipeline["id"].text()),
                          printable(pipeline["name"].text()),
                          output.styled(style_of(state), state)));
  const auto field = [&](std::string_view name, const std::string& text) {
    if (text.empty()) return;
    output.sentence(fmt::format("  {:<12}{}", name, Output::on_screen(text, 14)), 14);
  };
  if (pipeline.has("phase")) {
    field("phase",
          fmt::format(
              "{}, attempt {}", printable(pipeline["phase"].text()), pipeline["attempt"].text()));
  }
  if (pipeline.has("blocked_on")) {
    const Json& on = pipeline["blocked_on"];
    field("blocked on",
          fmt::format("{} {} since {}",
                      on["kind"].text(),
                      printable(on["name"].text()),
                      output.moment(on["since"])));
    field("", Output::brief(printable(on["detail"].text()), 14));
  }
  if (will_pause(pipeline)) {
    field("paused",
          fmt::format("when this phase has ended; `reeve resume {}` takes that back",
                      pipeline["id"].text()));
  }
  field("error", printable(pipeline["error"].text()));
  field("started", output.moment(pipeline["created_at"]));
  if (pipeline.has("ended_at")) field("ended", output.moment(pipeline["ended_at"]));
  for (const char* name : {"parent", "worker", "item", "cron", "agent", "workspace", "branch"}) {
    field(name, printable(pipeline[name].text()));
  }
  std::string held;
  for (const Json& hold : pipeline["holds"].items()) {
    held += fmt::format(
        "{}{} {}", held.empty() ? "" : ", ", hold["kind"].text(), printable(hold["name"].text()));
  }
  field("holds", held);
  for (const auto& [name, value] : pipeline["inputs"].members()) {
    field("input", printable(fmt::format("{} = {}", name, value.text())));
  }
  for (const auto& [phase, outputs] : pipeline["outputs"].members()) {
    for (const auto& [key, value] : outputs.members()) {
      field("output", printable(fmt::format("{}.{} = {}", phase, key, value.text())));
    }
  }
  Json::Array lines;
  for (const Json& phase : pipeline["phases"].items()) {
    const std::string how = phase["state"].text();
    const std::string visits = phase["visits"].number() > 1
                                   ? fmt::format(" (entered {} times)", phase["visits"].text())
                                   : "";
    lines.emplace_back(fmt::format("  {:<20} {}{}",
                                   printable(phase["name"].text()),
                                   output.styled(style_of(how), how),
                                   visits));
  }
  tell_list(context, "Phases", lines);
  lines.clear();
  for (const Json& child : pipeline["children"].items()) {
    const std::string how = child["state"].text();
    const std::string where =
        how == "done" || !child.has("phase") ? "" : " in " + printable(child["phase"].text());
    lines.emplace_back(fmt::format("  {:<20} {} {}{}",
                                   printable(child["name"].text()),
                                   child["id"].text(),
                                   output.styled(style_of(how), how),
                                   where));
  }
  if (const std::size_t more = lines.size() > most_children ? lines.size() - most_children : 0) {
    lines.resize(most_children);
    lines.emplace_back(fmt::format("  … and {} more", more));
  }
  tell_list(context, "Children", lines);
  lines.clear();
  for (const Json& checkpoint : pipeline["checkpoints"].items()) {
    lines.emplace_back(fmt::format("  {} {}: {}",
                                   output.moment(checkpoint["at"]),
                                   printable(checkpoint["phase"].text()),
                                   Output::on_screen(printable(checkpoint["message"].text()), 4)));
  }
  tell_list(context, "Checkpoints", lines);
  const auto& decisions = pipeline["decisions"].items();
  if (!decisions.empty()) {
    output.line(
        fmt::format("\nan answer is wanted: `reeve decision show {}`", decisions.front().text()));
  }
}

int show(Context& context, const Parsed& parsed) {
  const Answer answer = context.client().ask("pipeline.show", json_of({{"id", parsed.words[0]}}));
  if (!answer) return context.fail(answer.error());
  if (context.json()) return context.output.succeed(*answer);
  if (context.quiet()) {
    context.output.line((*answer)["id"].text());
  } else {
    tell(context, *answer);
  }
  return context.output.done();
}

int start(Context& context, const Parsed& parsed) {
  tools::Words inputs;
  for (std::size_t i = 1; i < parsed.words.size(); ++i) {
    const std::string& word = parsed.words[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return context.misuse(fmt::format("an input is key=value, not \"{}\"", word));
    }
    inputs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  const auto place = context.place(parsed.has("here"));
  if (!place) return context.fail(place.error());
  const auto plan = context.runbooks->plan_pipeline(parsed.words[0], inputs, *place);
  if (!plan) return context.cannot_run(plan.error());
  return start_pipeline(context, parsed, *plan);
}

int retry(Context& context, const Parsed& parsed) {
  Json params = json_of({{"id", parsed.words[0]}});
  if (parsed.has("force")) params.set("force", true);
  return changed(context, "pipeline.retry", std::move(params));
}

int transition(Context& context, const Parsed& parsed) {
  return changed(context,
                 "pipeline.transition",
                 json_of({{"id", parsed.words[0]}, {"phase", parsed.words[1]}}));
}

int unblock(Context& context, const Parsed& parsed) {
  return changed(context, "pipeline.unblock", json_of({{"id", parsed.words[0]}}));
}

int checkpoint(Context& context, const Parsed& parsed) {
  return changed(context,
                 "pipeline.checkpoint",
                 json_of({{"id", parsed.words[0]}, {"message", parsed.words[1]}}));
}

}  // namespace pipeline_verbs

}  // namespace reeve::cli
