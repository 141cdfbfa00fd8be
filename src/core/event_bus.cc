#include "core/event_bus.h"

#include "base/match.h"
#include "core/event.h"
#include "core/event_fields.h"

#include <algorithm>
#include <string>
#include <vector>

namespace reeve::event_bus {
namespace {

Effect effect_of(const Subscription& subscription,
                 const Event& event,
                 const EventName& name,
                 const project::Table& projects) {
  return match(
      subscription.who,
      [](const Worker& worker) { return Effect{Inner{WakeWorker{worker.worker}}}; },
      [](const Guard& guard) {
        return Effect{Inner{WakeGuard{guard.pipeline, guard.entry, guard.guard}}};
      },
      [&](const Notification& to) {
        const std::string title = name.noun + (name.verb.empty() ? "" : ":" + name.verb);
        return Effect{
            Outgoing{Notify{title, name.subject, false, to.command, {event}}, ToNobody{}}};
      },
      [&](const Hook& hook) {
        Shell shell;
        shell.text = hook.text;
        shell.directory = hook.directory;
        shell.label = "hook";
        shell.variables = {{"noun", name.noun}, {"verb", name.verb}};
        // What was said of it may have an id, and an empty one would hide that.
        if (!name.subject.empty()) {
          shell.variables.insert(shell.variables.begin(), {"id", name.subject});
        }
        if (!name.detail.empty()) shell.variables.emplace_back("phase", name.detail);
        // Of two with one name the first counts. What the program does not ask for stays out of the
        // outbox: an error may be long.
        const bool is_custom = std::holds_alternative<Custom>(event.body);
        for (auto& [field, value] : fields_of(event)) {
          const bool is_asked = hook.text.find("REEVE_V_" + field) != std::string::npos;
          if (is_custom || is_asked) shell.variables.emplace_back(field, std::move(value));
        }
        if (const auto* project = projects.projects.find(subscription.project)) {
          shell.environment = {{"REEVE_PROJECT", project->name}};
        }
        return Effect{Outgoing{std::move(shell), ToNobody{}}};
      });
}

std::string without_detail(const std::string& verb) { return verb.substr(0, verb.find('(')); }

std::string place_of(const Pattern& pattern) {
  const std::vector<std::string>& segments = pattern.segments;
  const auto is_literal = [](const std::string& text) { return text.find('*') == text.npos; };
  const std::string& noun = segments.front();
  if (segments.size() == 3 && is_literal(segments[1])) return noun + ":" + segments[1];
  if (segments.size() == 1 || !is_literal(segments.back())) return noun;
  return noun + " " + without_detail(segments.back());
}

// In the order of the subscriptions, wherever they stand.
void add_matching(Effects& effects,
                  const Table& table,
                  const std::string& noun,
                  const Event& event,
                  const EventName& name,
                  const project::Table& projects) {
  std::vector<const Subscription*> found;
  for (const std::string& place :
       {noun, noun + " " + without_detail(name.verb), noun + ":" + name.subject}) {
    for (auto at = table.by_noun.lower_bound({place, {}}); at != table.by_noun.end(); ++at) {
      if (at->noun != place) break;
      const Subscription& subscription = at->subscription;
      const bool ours = subscription.project == shared_project ||
                        subscription.project == event.project || event.project == shared_project;
      if (ours && matches(subscription.pattern, name)) found.push_back(&subscription);
    }
  }
  std::ranges::sort(found, [](const auto* a, const auto* b) { return *a < *b; });
  for (const Subscription* each : found) {
    effects.push_back(effect_of(*each, event, name, projects));
  }
}

}  // namespace

void subscribe(Table& table, const Subscription& subscription) {
  if (subscription.pattern.segments.empty()) return;
  if (!table.by_subscriber.insert(subscription)) return;
  table.by_noun.insert({place_of(subscription.pattern), subscription});
}

void unsubscribe(Table& table, const Subscription& subscription) {
  if (subscription.pattern.segments.empty()) return;
  table.by_noun.erase({place_of(subscription.pattern), subscription});
  table.by_noun.erase({subscription.pattern.segments.front(), subscription});
  table.by_subscriber.erase(subscription);
}

void unsubscribe_all(Table& table, const Subscriber& who) {
  while (true) {
    const auto at = table.by_subscriber.lower_bound(Subscription{who, {}, {}});
    if (at == table.by_subscriber.end() || (*at).who != who) return;
    unsubscribe(table, Subscription(*at));
  }
}

Effects route(const Table& table, const Event& event, const project::Table& projects) {
  Effects effects;
  if (table.by_noun.empty()) return effects;
  const EventName name = name_of(event.body);
  add_matching(effects, table, name.noun, event, name, projects);
  add_matching(effects, table, "*", event, name, projects);
  add_matching(effects, table, "**", event, name, projects);
  return effects;
}

}  // namespace reeve::event_bus
