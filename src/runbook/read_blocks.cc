#include "core/cron_schedule.h"
#include "runbook/section.h"
#include "runbook/zone_file.h"

#include <fmt/format.h>

// [queue], [lock], [semaphore], [worker], [cron].
namespace reeve::runbook {
namespace {

// heartbeat = "30s" is what a holder does; it is stale when it has missed three.
std::optional<Duration> heartbeat_timeout_of(Section& section) {
  if (section.has("heartbeat_timeout") && section.has("heartbeat")) {
    section.find({"heartbeat_timeout", "heartbeat"});  // tells that both are there
    return std::nullopt;
  }
  if (const auto timeout = section.duration({"heartbeat_timeout"})) return timeout;
  const auto beat = section.duration({"heartbeat"});
  if (!beat) return std::nullopt;
  if (*beat > Duration::max() / 3) {
    section.expected(*section.find({"heartbeat"}), "heartbeat", "a shorter duration");
    return std::nullopt;
  }
  return *beat * 3;
}

void read_retention(Section& section, queue::Config& config) {
  auto retention = section.section({"retention"});
  if (!retention) return;
  // A number of them, or for how long.
  const Value* completed = retention->find({"completed"});
  if (completed && completed->kind == Value::Kind::Text) {
    if (const auto time = retention->duration({"completed"})) config.keep_completed_for = *time;
  } else if (const auto count = retention->number({"completed"})) {
    config.keep_completed = *count;
  }
  config.keep_dead_for = retention->duration({"dead"});
  retention->finish();
}

void read_attempts(Section& section, queue::Config& config) {
  const auto attempts = section.number({"max_attempts"}, 1);
  const auto retries = section.number({"max_retries"});
  if (section.has("max_attempts") && section.has("max_retries")) {
    section.find({"max_attempts", "max_retries"});
  }
  if (attempts) {
    config.max_attempts = *attempts;
  } else if (retries) {
    config.max_attempts = *retries + 1;
  }
}

}  // namespace

void read_queue(Section& section, const std::string& name) {
  Loading& loading = section.loading();
  queue::Config config;
  if (const auto timeout = section.duration({"visibility_timeout"})) {
    config.visibility_timeout = *timeout;
  }
  read_attempts(section, config);
  if (auto backoff = section.section({"backoff"})) {
    if (const auto first = backoff->duration({"first"}, Duration{0})) config.backoff_first = *first;
    if (const auto max = backoff->duration({"max"}, Duration{0})) config.backoff_max = *max;
    if (config.backoff_max < config.backoff_first) {
      section.mistake(backoff->where(),
                      fmt::format("`backoff` in {}: `max` is shorter than `first`, which is {}",
                                  section.label(),
                                  format_duration(config.backoff_first)));
    }
    backoff->finish();
  }
  if (const auto word = section.choice({"on_exhaust"}, {"dead", "escalate", "pause"})) {
    config.on_exhaust = *word == 0   ? queue::OnExhaust::Dead
                        : *word == 1 ? queue::OnExhaust::Escalate
                                     : queue::OnExhaust::Pause;
  }
  if (const std::string dead = section.reference({"dead_letter"}, "queue"); !dead.empty()) {
    config.dead_letter = QueueName{{}, dead};
    loading.dead_letters.emplace(Name{"queue", name},
                                 section.where_of(*section.find({"dead_letter"})));
  }
  read_retention(section, config);
  loading.runbook.set.queues.set(name, config);

  std::vector<Asked> asked;
  definition::Source source;
  source.command = section.shell({"source"}, asked);
  for (const Asked& each : asked) {
    section.mistake(each.where, unknown_name(each, {}, section.label()) + ": a source knows none");
  }
  const auto poll = section.duration({"poll"}, Duration{1000});
  source.poll = poll.value_or(loading.outside->poll_interval);
  if (!source.command.empty()) loading.runbook.set.sources.set(name, source);
  if (section.has("poll") && !section.has("source")) {
    section.expected(*section.find({"poll"}), "poll", "a `source` beside it");
  }
}

void read_lock(Section& section, const std::string& name) {
  lock::Config config;
  config.heartbeat_timeout = heartbeat_timeout_of(section);
  config.max_hold = section.duration({"max_hold", "timeout"});
  for (const Value* word : section.texts({"on_stale"})) {
    if (word->text == "escalate") {
      config.escalate_stale = true;
    } else if (word->text != "release") {
      const std::vector<std::string> words = {"release", "escalate"};
      const std::string meant = nearest(word->text, words);
      section.expected(*word,
                       "on_stale",
                       fmt::format("release | escalate, not `{}`{}",
                                   word->text,
                                   meant.empty() ? "" : "; did you mean `" + meant + "`?"));
    }
  }
  section.loading().runbook.set.locks.set(name, config);
}

void read_semaphore(Section& section, const std::string& name) {
  semaphore::Config config;
  const auto capacity = section.number({"capacity", "max"}, 1);
  if (!section.has("capacity") && !section.has("max")) {
    section.missing("capacity", "how much of it there is, as in capacity = 4");
  }
  config.capacity = capacity.value_or(1);
  config.heartbeat_timeout = heartbeat_timeout_of(section);
  section.loading().runbook.set.semaphores.set(name, config);
}

void read_worker(Section& section, const std::string& name) {
  definition::Worker worker;
  worker.queue = section.reference({"queue"}, "queue");
  if (!section.has("queue")) section.missing("queue", "the queue it takes items from");
  if (const auto handler = section.text({"handler"})) {
    const Value& value = *section.find({"handler"});
    if (handler->starts_with("pipeline.") && handler->size() > 9) {
      worker.pipeline = handler->substr(9);
      section.refer(value, "pipeline", worker.pipeline);
    } else {
      section.expected(value, "handler", fmt::format("\"pipeline.NAME\", not \"{}\"", *handler));
    }
  } else if (!section.has("handler")) {
    section.missing("handler", "what it does with an item, as in handler = \"pipeline.fix\"");
  }
  worker.concurrency = section.number({"concurrency"}, 1).value_or(1);
  std::vector<Asked> asked;
  worker.wake_on = section.patterns({"wake_on"}, asked);
  for (const Asked& each : asked) {
    section.mistake(each.where, unknown_name(each, {}, section.label()) + ": a worker knows none");
  }
  section.loading().runbook.set.workers.set(name, worker);
}

// ── Cron ──

namespace {

void read_schedule(Section& section, cron::Definition& definition) {
  const auto expression = section.text({"schedule"});
  const auto interval = section.duration({"interval"}, std::chrono::seconds{1});
  if (section.has("schedule") && section.has("interval")) {
    section.expected(*section.find({"interval"}), "interval", "either this or `schedule`");
  } else if (!section.has("schedule") && !section.has("interval")) {
    section.missing("schedule", "when it runs; or `interval`: how often");
  }
  if (interval) definition.schedule = cron::Interval{*interval};
  if (!expression) return;
  const Result<cron::Expression> parsed = cron::parse_expression(*expression);
  if (parsed) {
    definition.schedule = *parsed;
  } else {
    section.mistake(section.where_of(*section.find({"schedule"})),
                    fmt::format("`schedule` in {}: {}", section.label(), parsed.error().message));
  }
}

void read_cron_run(Section& section, cron::Definition& definition) {
  const std::vector<std::string> known = {"name", "project"};
  std::vector<Asked> asked;
  const Value* run = section.find({"run"});
  if (!run) {
    section.missing("run",
                    "what it does: { pipeline = \"...\" }, { monitors = [...] } or a command");
    return;
  }
  if (run->kind == Value::Kind::Text) {
    definition.run = cron::RunShell{section.shell_of(*run, "run", asked), std::nullopt};
  } else if (auto inner = section.section({"run"})) {
    if (inner->has("pipeline") == inner->has("monitors")) {
      section.expected(*run, "run", "exactly one of `pipeline` and `monitors`");
    }
    if (inner->has("monitors")) {
      cron::RunMonitors monitors;
      std::string words;
      for (const Value* each : inner->texts({"monitors"})) {
        monitors.monitors.push_back(each->text);
        inner->refer(*each, "monitor", each->text);
        std::string quoted = each->text;
        for (std::size_t at = 0; (at = quoted.find('\'', at)) != std::string::npos; at += 4) {
          quoted.replace(at, 1, "'\\''");
        }
        words += " '" + quoted + "'";
      }
      monitors.text = "exec reeve monitor run --" + words;
      definition.run = monitors;
    }
    cron::RunPipeline pipeline;
    pipeline.pipeline = inner->reference({"pipeline"}, "pipeline");
    for (const auto& [member, text] : inner->map({"inputs"})) {
      if (member->value.kind == Value::Kind::Text) inner->ask(member->value, asked);
      pipeline.inputs.emplace_back(member->key, text);
    }
    if (inner->has("pipeline")) definition.run = pipeline;
    inner->finish();
  }
  for (const Asked& each : asked) {
    if (is_known(each.name, known)) continue;
    section.mistake(each.where, unknown_name(each, known, section.label()));
  }
}

}  // namespace

void read_cron(Section& section, const std::string& name) {
  Loading& loading = section.loading();
  cron::Definition definition;
  read_schedule(section, definition);
  if (const auto zone = section.text({"timezone"})) {
    const ReadZone& read = loading.outside->read_zone;
    Result<time_zone::Zone> found = read ? read(*zone) : read_zone(*zone);
    if (found) {
      definition.zone = *std::move(found);
    } else {
      section.mistake(section.where_of(*section.find({"timezone"})),
                      fmt::format("`timezone` in {}: {}", section.label(), found.error().message));
    }
  }
  if (const auto word = section.choice(
          {"overlap"}, {"skip", "buffer_one", "buffer_all", "cancel_other", "allow"})) {
    definition.overlap = static_cast<cron::Overlap>(*word);
  }
  if (const auto word = section.choice({"catch_up"}, {"none", "latest", "all"})) {
    definition.catch_up = static_cast<cron::CatchUp>(*word);
  }
  if (const auto window = section.duration({"window"})) definition.window = *window;
  read_cron_run(section, definition);
  loading.runbook.set.crons.set(name, std::move(definition));
}

}  // namespace reeve::runbook
