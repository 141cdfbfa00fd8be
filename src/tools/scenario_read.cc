#include "base/time.h"
#include "tools/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace reeve::tools {
namespace {

using runbook::Member;
using runbook::Value;

class Reading {
 public:
  explicit Reading(const runbook::Document& document) : document_(document) {}

  void mistake(runbook::Place place, std::string message) {
    mistakes.push_back({document_.file, place, std::move(message)});
  }

  bool is(const Member& member, Value::Kind kind) {
    if (member.value.kind == kind) return true;
    mistake(member.value.place,
            fmt::format("`{}`: expected {}, not {}",
                        member.key,
                        runbook::name_of(kind),
                        runbook::name_of(member.value.kind)));
    return false;
  }

  std::string text(const Member& member) {
    return is(member, Value::Kind::Text) ? member.value.text : std::string();
  }

  std::vector<std::string> texts(const Member& member) {
    std::vector<std::string> all;
    if (!is(member, Value::Kind::List)) return all;
    for (const Value& item : member.value.items) {
      if (item.kind == Value::Kind::Text) {
        all.push_back(item.text);
      } else {
        mistake(item.place, fmt::format("`{}`: expected texts", member.key));
      }
    }
    return all;
  }

  Duration duration(const Member& member) {
    const Result<Duration> read = parse_duration(text(member));
    if (!read)
      mistake(member.value.place, fmt::format("`{}`: expected a duration such as 30s", member.key));
    return read ? *read : Duration{0};
  }

  definition::Map map(const Member& member) {
    definition::Map all;
    if (!is(member, Value::Kind::Table)) return all;
    for (const Member& each : member.value.members) {
      all.emplace_back(each.key,
                       each.value.kind == Value::Kind::Integer ? std::to_string(each.value.integer)
                                                               : text(each));
    }
    return all;
  }

  // Every member by the one that reads it.
  using Fields = std::vector<std::pair<std::string, std::function<void(const Member&)>>>;
  void fields(const Value& table, std::string_view where, const Fields& known) {
    for (const Member& member : table.members) {
      const auto found = std::ranges::find(known, member.key, &Fields::value_type::first);
      if (found != known.end()) {
        found->second(member);
        continue;
      }
      std::vector<std::string> names;
      for (const auto& each : known) names.push_back(each.first);
      mistake(member.place,
              fmt::format(
                  "unknown key `{}` in {}{}", member.key, where, runbook::hint(member.key, names)));
    }
  }

  std::vector<runbook::Mistake> mistakes;

 private:
  const runbook::Document& document_;
};

void read_step(Reading& reading, const Value& table, Scenario& scenario) {
  std::string name;
  StepResult result;
  reading.fields(table,
                 "[[scenario.step]]",
                 {{"step", [&](const Member& m) { name = reading.text(m); }},
                  {"exit",
                   [&](const Member& m) {
                     if (reading.is(m, Value::Kind::Integer))
                       result.exit = static_cast<int>(m.value.integer);
                   }},
                  {"times",
                   [&](const Member& m) {
                     if (!reading.is(m, Value::Kind::Integer)) return;
                     result.times = static_cast<std::uint32_t>(
                         std::clamp<std::int64_t>(m.value.integer, 1, 1'000'000));
                   }},
                  {"output", [&](const Member& m) { result.output = reading.text(m); }},
                  {"takes", [&](const Member& m) { result.takes = reading.duration(m); }},
                  {"outputs", [&](const Member& m) { result.outputs = reading.map(m); }}});
  if (name.empty()) {
    reading.mistake(table.place, "[[scenario.step]] needs `step`: a phase, `guard NAME`, ...");
  }
  scenario.steps[name].push_back(std::move(result));
}

Scenario read_scenario(Reading& reading, const Value& table, const std::string& file) {
  Scenario scenario;
  scenario.where = {file, table.place};
  bool has_path = false;
  const auto steps = [&](const Member& member) {
    if (!reading.is(member, Value::Kind::List)) return;
    for (const Value& step : member.value.items) read_step(reading, step, scenario);
  };
  reading.fields(
      table,
      "[[scenario]]",
      {{"name", [&](const Member& m) { scenario.name = reading.text(m); }},
       {"run", [&](const Member& m) { scenario.run = reading.texts(m); }},
       {"pipeline", [&](const Member& m) { scenario.pipeline = reading.text(m); }},
       {"inputs", [&](const Member& m) { scenario.inputs = reading.map(m); }},
       {"path",
        [&](const Member& m) {
          scenario.path = reading.texts(m);
          has_path = true;
        }},
       {"ends",
        [&](const Member& m) {
          constexpr std::array<std::string_view, 4> ends{"done", "failed", "cancelled", "blocked"};
          scenario.ends = reading.text(m);
          if (std::ranges::find(ends, scenario.ends) == ends.end()) {
            reading.mistake(m.value.place, "`ends`: expected done, failed, cancelled or blocked");
          }
        }},
       {"within", [&](const Member& m) { scenario.within = reading.duration(m); }},
       {"error", [&](const Member& m) { scenario.error = reading.text(m); }},
       {"answers", [&](const Member& m) { scenario.answers = reading.texts(m); }},
       {"step", steps}});
  if (scenario.run.empty() == scenario.pipeline.empty()) {
    reading.mistake(table.place, "[[scenario]] needs one of `run` and `pipeline`");
  }
  if (!has_path) reading.mistake(table.place, "[[scenario]] needs `path`: the phases it enters");
  if (scenario.name.empty()) scenario.name = "line " + std::to_string(table.place.line);
  return scenario;
}

}  // namespace

std::expected<std::vector<Scenario>, std::vector<runbook::Mistake>> read_scenarios(
    const runbook::Document& document) {
  Reading reading(document);
  std::vector<Scenario> scenarios;
  reading.fields(document.root, "the file", {{"scenario", [&](const Member& member) {
                                                if (!reading.is(member, Value::Kind::List)) return;
                                                for (const Value& each : member.value.items) {
                                                  scenarios.push_back(
                                                      read_scenario(reading, each, document.file));
                                                }
                                              }}});
  if (scenarios.empty() && reading.mistakes.empty()) {
    reading.mistake({1, 1}, "there is no [[scenario]] in this file");
  }
  if (!reading.mistakes.empty()) return std::unexpected(std::move(reading.mistakes));
  return scenarios;
}

}  // namespace reeve::tools
