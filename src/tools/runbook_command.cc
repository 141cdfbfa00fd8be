#include "tools/runbook_command.h"

#include "base/time.h"
#include "runbook/document.h"
#include "runbook/load.h"
#include "tools/dry_run.h"
#include "tools/json.h"
#include "tools/open_runbooks.h"
#include "tools/runbook_examples.h"
#include "tools/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <expected>
#include <optional>
#include <vector>

namespace reeve::tools {
namespace {

constexpr int exit_ok = 0;
constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_not_found = 3;

constexpr std::string_view help =
    R"(usage: reeve runbook check [FILE...] [--json]   find every mistake, change nothing
       reeve runbook list [--json]            what the project's runbooks define
       reeve runbook show NAME [--json]       one of them as it is written; NAME or KIND.NAME
       reeve runbook test FILE... [--json]    play scenarios, run nothing
       reeve runbook example [NAME] [--json]  a runbook to begin with

Without FILE: .reeve/runbooks/*.toml of the project.
Exit: 0 ok, 1 there are mistakes, 2 usage, 3 there is nothing of that name.

examples:
  reeve runbook check
  reeve runbook example pipeline > .reeve/runbooks/release.toml
  reeve run release 1.2 --dry-run)";

// How one command speaks: in text, or in the envelope that every command of reeve has.
struct Voice {
  std::string command;
  Shape shape = Shape::Text;
  bool quiet = false;  // of a list, the bare names
  const Sink& out;
  const Sink& err;

  int failed(int code, std::string_view error_code, std::string_view message) const {
    if (shape == Shape::Json) {
      return json_error(code, error_code, message, "{}");
    }
    err(fmt::format("reeve {}: {}", command, message));
    return code;
  }
  int json_error(int code,
                 std::string_view error_code,
                 std::string_view message,
                 std::string_view details) const {
    out(fmt::format(
        R"({{"success":false,"command":{},"error":{{"code":{},"message":{},"details":{}}}}})",
        json(command),
        json(error_code),
        json(message),
        details));
    return code;
  }
  int succeeded(const std::string& data) const {
    out(fmt::format(R"({{"success":true,"command":{},"data":{}}})", json(command), data));
    return exit_ok;
  }
  int wrong(const runbook::Mistakes& mistakes) const {
    const std::string message =
        mistakes.size() == 1 ? "one mistake" : fmt::format("{} mistakes", mistakes.size());
    if (shape == Shape::Text) {
      for (const runbook::Mistake& mistake : mistakes) out(to_text(mistake));
      err(fmt::format("reeve {}: {}; nothing was loaded", command, message));
      return exit_failed;
    }
    return json_error(exit_failed,
                      "RUNBOOK_WRONG",
                      message,
                      fmt::format(R"({{"mistakes":{}}})", mistakes_json(mistakes)));
  }
};

std::string full_name(const runbook::Name& name) {
  return name.name.empty() ? name.kind : name.kind + "." + name.name;
}

std::string usage_of(const OpenRunbooks& opened, const runbook::Name& name) {
  if (name.kind == "notify") {
    return fmt::format("{}", fmt::join(opened.runbook.set.notifications.on, ", "));
  }
  if (name.kind != "command") return "";
  return usage_of(opened.runbook.commands.at(name.name).arguments);
}

int check(const RunbookPlace& place, const std::vector<std::string>& paths, const Voice& voice) {
  const auto opened = open_runbooks(place, paths);
  if (!opened) return voice.wrong(opened.error());
  const std::size_t files = opened->files.size();
  const std::size_t definitions = opened->runbook.defined.size();
  if (voice.shape == Shape::Json) {
    std::string list;
    for (const runbook::File& file : opened->files) {
      list += (list.empty() ? "" : ",") + json(file.name);
    }
    return voice.succeeded(fmt::format(R"({{"files":[{}],"definitions":{},"hash":{}}})",
                                       list,
                                       definitions,
                                       json(opened->runbook.set.hash)));
  }
  if (files == 0) {
    voice.out("no runbooks in .reeve/runbooks; try: reeve runbook example");
  } else {
    voice.out(fmt::format("{} {}, {} {}, no mistakes",
                          files,
                          files == 1 ? "file" : "files",
                          definitions,
                          definitions == 1 ? "definition" : "definitions"));
  }
  return exit_ok;
}

int list(const RunbookPlace& place, const Voice& voice) {
  const auto opened = open_runbooks(place, {});
  if (!opened) return voice.wrong(opened.error());
  std::string rows;
  std::size_t width = 0;
  const auto label = [&](const runbook::Name& name) {
    const std::string usage = usage_of(*opened, name);
    return fmt::format("{}{}{}", name.name, usage.empty() || name.name.empty() ? "" : " ", usage);
  };
  for (const auto& [name, where] : opened->runbook.defined) {
    width = std::max(width, label(name).size());
  }
  for (const auto& [name, where] : opened->runbook.defined) {
    if (voice.shape == Shape::Text) {
      voice.out(voice.quiet ? full_name(name)
                            : fmt::format("{:<10} {:<{}}  {}:{}",
                                          name.kind,
                                          label(name),
                                          width,
                                          where.file,
                                          where.place.line));
      continue;
    }
    rows +=
        fmt::format(R"({}{{"kind":{},"name":{},"file":{},"line":{}{}}})",
                    rows.empty() ? "" : ",",
                    json(name.kind),
                    json(name.name),
                    json(where.file),
                    where.place.line,
                    name.kind == "command" ? ",\"usage\":" + json(usage_of(*opened, name)) : "");
  }
  if (voice.shape == Shape::Text) return exit_ok;
  return voice.succeeded(fmt::format(R"({{"definitions":[{}]}})", rows));
}

// The lines from a definition's header up to the next one that is not its own.
std::string written(const OpenRunbooks& opened,
                    const runbook::Name& name,
                    const runbook::Where& where) {
  const auto file = std::ranges::find(opened.files, where.file, &runbook::File::name);
  if (file == opened.files.end()) return "";
  const std::string own = name.kind + "." + name.name;
  std::string text;
  std::uint32_t number = 0;
  for (std::size_t at = 0; at < file->text.size();) {
    const std::size_t newline = std::min(file->text.find('\n', at), file->text.size());
    const std::string_view line = std::string_view(file->text).substr(at, newline - at);
    at = newline + 1;
    if (++number < where.place.line) continue;
    const std::size_t first = line.find_first_not_of(" \t");
    std::string_view header = first == std::string_view::npos ? "" : line.substr(first);
    const bool is_header = header.starts_with('[') && header.find('=') == std::string_view::npos;
    while (header.starts_with('[')) header.remove_prefix(1);
    const bool is_own = header.starts_with(own + ".") || header.starts_with(own + "]");
    if (number > where.place.line && is_header && !is_own) break;
    text += line;
    text += '\n';
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

int show(const RunbookPlace& place, const std::string& asked, const Voice& voice) {
  const auto opened = open_runbooks(place, {});
  if (!opened) return voice.wrong(opened.error());
  std::vector<std::string> names;
  std::string data;
  bool found = false;
  for (const auto& [name, where] : opened->runbook.defined) {
    const std::string full = full_name(name);
    names.push_back(full);
    if (asked != name.name && asked != full) continue;
    const std::string text = written(*opened, name, where);
    if (voice.shape == Shape::Text) {
      voice.out(fmt::format(
          "{}# {}, {}:{}\n{}", found ? "\n" : "", full, where.file, where.place.line, text));
    } else {
      data += fmt::format(R"({}{{"kind":{},"name":{},"file":{},"line":{},"text":{}}})",
                          data.empty() ? "" : ",",
                          json(name.kind),
                          json(name.name),
                          json(where.file),
                          where.place.line,
                          json(text));
    }
    found = true;
  }
  if (!found) {
    for (const auto& [name, where] : opened->runbook.defined) names.push_back(name.name);
    const std::string near = runbook::nearest(asked, names);
    return voice.failed(
        exit_not_found,
        "NOT_FOUND",
        fmt::format("nothing is called `{}`{}",
                    asked,
                    near.empty() ? "; try: reeve runbook list" : "; did you mean `" + near + "`?"));
  }
  if (voice.shape == Shape::Text) return exit_ok;
  return voice.succeeded(fmt::format(R"({{"definitions":[{}]}})", data));
}

int test(const RunbookPlace& place, const std::vector<std::string>& paths, const Voice& voice) {
  const auto opened = open_runbooks(place, {});
  if (!opened) return voice.wrong(opened.error());
  const auto files = runbook::read_files(paths);
  if (!files) return voice.wrong(files.error());
  std::vector<Scenario> all;
  for (const runbook::File& file : *files) {
    const auto document = runbook::parse_document(file.name, file.text);
    if (!document) return voice.wrong({document.error()});
    auto scenarios = read_scenarios(*document);
    if (!scenarios) return voice.wrong(scenarios.error());
    all.insert(all.end(), scenarios->begin(), scenarios->end());
  }
  std::string rows;
  std::size_t bad = 0;
  for (Scenario& scenario : all) {
    Played played;
    if (!scenario.run.empty()) {
      const auto plan = plan_run(opened->runbook, scenario.run, place);
      if (!plan) {
        played.wrong.push_back(plan.error().message);
      } else if (plan->what != RunPlan::What::Pipeline) {
        played.wrong.push_back(fmt::format("`{}` starts no pipeline", scenario.run.front()));
      } else {
        scenario.pipeline = plan->name;
        scenario.inputs = plan->inputs;
      }
    }
    if (played.wrong.empty()) played = play(opened->runbook, scenario);
    bad += played.wrong.empty() ? 0U : 1U;
    if (voice.shape == Shape::Text) {
      voice.out(fmt::format("{} {} ({}, {})",
                            played.wrong.empty() ? "ok    " : "WRONG ",
                            scenario.name,
                            played.ended.empty() ? "not started" : played.ended,
                            format_duration(played.took)));
      for (const std::string& line : played.wrong) {
        voice.out(
            fmt::format("       {}:{}: {}", scenario.where.file, scenario.where.place.line, line));
      }
      continue;
    }
    std::string path;
    for (const std::string& phase : played.path) path += (path.empty() ? "" : ",") + json(phase);
    std::string wrong;
    for (const std::string& line : played.wrong) wrong += (wrong.empty() ? "" : ",") + json(line);
    rows +=
        fmt::format(R"({}{{"name":{},"ok":{},"path":[{}],"ended":{},"took_ms":{},"wrong":[{}]}})",
                    rows.empty() ? "" : ",",
                    json(scenario.name),
                    played.wrong.empty(),
                    path,
                    json(played.ended),
                    played.took.count(),
                    wrong);
  }
  const std::string data = fmt::format(R"({{"scenarios":[{}]}})", rows);
  if (voice.shape == Shape::Json) {
    if (bad == 0) return voice.succeeded(data);
    return voice.json_error(
        exit_failed, "FAILED", fmt::format("{} of {} scenarios are wrong", bad, all.size()), data);
  }
  return bad == 0 ? exit_ok : exit_failed;
}

int example(const std::string& asked, const Voice& voice) {
  std::string rows;
  std::vector<std::string> names;
  for (const RunbookExample& each : runbook_examples()) {
    names.emplace_back(each.name);
    if (asked.empty() && voice.shape == Shape::Text) {
      voice.out(voice.quiet ? names.back() : fmt::format("{:<10} {}", each.name, each.about));
    }
    rows += fmt::format(R"({}{{"name":{},"about":{}}})",
                        rows.empty() ? "" : ",",
                        json(each.name),
                        json(each.about));
    if (each.name != asked) continue;
    std::string_view text = each.text;
    if (voice.shape == Shape::Json) {
      return voice.succeeded(fmt::format(R"({{"name":{},"text":{}}})", json(asked), json(text)));
    }
    while (text.ends_with('\n')) text.remove_suffix(1);
    voice.out(text);
    return exit_ok;
  }
  if (asked.empty()) {
    return voice.shape == Shape::Text
               ? exit_ok
               : voice.succeeded(fmt::format(R"({{"examples":[{}]}})", rows));
  }
  return voice.failed(
      exit_not_found,
      "NOT_FOUND",
      fmt::format("there is no example `{}`{}", asked, runbook::hint(asked, names)));
}

}  // namespace

int runbook_command(std::span<const std::string_view> words,
                    const RunbookPlace& place,
                    const Sink& out,
                    const Sink& err) {
  if (words.empty()) {
    err(help);
    return exit_usage;
  }
  Voice voice{fmt::format("runbook {}", words[0]), Shape::Text, false, out, err};
  std::vector<std::string> rest;
  for (const std::string_view word : words) {
    if (word != "--help" && word != "-h") continue;
    out(help);
    return exit_ok;
  }
  for (const std::string_view word : words.subspan(1)) {
    if (word == "--json") voice.shape = Shape::Json;
    if (word == "--quiet") voice.quiet = true;
  }
  for (const std::string_view word : words.subspan(1)) {
    if (word == "--json" || word == "--quiet") continue;
    if (word.starts_with('-') && word != "-") {
      return voice.failed(exit_usage, "USAGE", fmt::format("unknown option {}", word));
    }
    rest.emplace_back(word);
  }
  const std::string_view verb = words[0];
  const auto at_most = [&](std::size_t most) { return rest.size() <= most; };
  if (verb == "check") return check(place, rest, voice);
  if (verb == "list" && at_most(0)) return list(place, voice);
  if (verb == "show" && rest.size() == 1) return show(place, rest[0], voice);
  if (verb == "test" && !rest.empty()) return test(place, rest, voice);
  if (verb == "test") return voice.failed(exit_usage, "USAGE", "test wants a FILE");
  if (verb == "example" && at_most(1)) return example(rest.empty() ? "" : rest[0], voice);
  if (verb == "show" && rest.empty()) return voice.failed(exit_usage, "USAGE", "show wants a NAME");
  if (verb == "list" || verb == "show" || verb == "example") {
    return voice.failed(exit_usage, "USAGE", fmt::format("unexpected argument {}", rest.back()));
  }
  voice.command = "runbook";
  const std::vector<std::string> verbs = {"check", "list", "show", "test", "example"};
  return voice.failed(
      exit_usage, "USAGE", fmt::format("unknown command {}{}", verb, runbook::hint(verb, verbs)));
}

int dry_run_command(std::span<const std::string_view> words,
                    const RunbookPlace& place,
                    const Sink& out,
                    const Sink& err) {
  Voice voice{"run", Shape::Text, false, out, err};
  std::vector<std::string_view> rest;
  bool options = true;
  for (const std::string_view word : words) {
    if (options && word == "--json") {
      voice.shape = Shape::Json;
    } else if (!options || word != "--dry-run") {
      rest.push_back(word);
    }
    if (word == "--") options = false;
  }
  if (rest.empty())
    return voice.failed(exit_usage, "USAGE", "which command? try: reeve runbook list");
  const auto opened = open_runbooks(place, {});
  if (!opened) return voice.wrong(opened.error());
  const std::string name(rest.front());
  const auto command = opened->runbook.commands.find(name);
  if (command == opened->runbook.commands.end()) {
    std::vector<std::string> names;
    for (const auto& [each, definition] : opened->runbook.commands) names.push_back(each);
    return voice.failed(
        exit_not_found,
        "NOT_FOUND",
        fmt::format("there is no command `{}`{}", name, runbook::hint(name, names)));
  }
  const auto values = runbook::read_words(
      command->second.arguments, command->second.defaults, std::span(rest).subspan(1));
  if (!values) {
    const int code = voice.failed(exit_usage, "USAGE", values.error());
    err(fmt::format("usage: reeve run {} {}", name, runbook::usage_of(command->second.arguments)));
    return code;
  }
  const DryRun run = dry_run(opened->runbook, name, *values, place.project);
  if (voice.shape == Shape::Json) return voice.succeeded(to_json(run));
  out(to_text(run));
  return exit_ok;
}

}  // namespace reeve::tools
