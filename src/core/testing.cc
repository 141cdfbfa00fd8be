#include "core/testing.h"

#include <algorithm>

namespace reeve::testing {

World::World() : state(initial_state(start)) {}
World::World(const World&) = default;
World& World::operator=(const World&) = default;
World::~World() = default;

const Applied& World::input(const Input& input) {
  const State before = state;
  last = apply(state, input, stamp);
  state = last.state;
  for (const std::string& violation : check_state(state)) report(violation);
  for (const std::string& violation : check_step(before, last)) report(violation);
  for (const Event& event : last.events) heard.push_back(event.body);
  for (const Start& effect : last.effects) started.push_back(effect);
  for (const Answer& answer : last.answers) answers.push_back(answer);
  return last;
}

Reply World::ask(Command command, SessionId session, std::string key, ProjectNo project) {
  return input(Request{project, session, true, std::move(key), std::move(command)}).reply;
}

void World::pass(Duration duration) {
  const Stamp goal{stamp.now + duration, stamp.wall + duration};
  for (int ticks = 0; ticks < 100'000; ++ticks) {
    const Deadlines next = next_deadline(state);
    const Duration engine = next.engine ? *next.engine - stamp.now : Duration::max();
    const Duration wall = next.wall ? *next.wall - stamp.wall : Duration::max();
    const Duration ahead = std::max(Duration{0}, std::min(engine, wall));
    if (ahead > goal.now - stamp.now) break;
    stamp = {stamp.now + ahead, stamp.wall + ahead};
    input(Tick{});
  }
  stamp = goal;
  input(Tick{});
}

void World::finish(EffectId effect, Outcome outcome) {
  input(EffectEnded{effect, std::move(outcome)});
}

void World::report(const std::string& violation) {
  if (collects) {
    violations.push_back(violation);
  } else {
    ADD_FAILURE() << violation;
  }
}

void World::forget() {
  heard.clear();
  started.clear();
  answers.clear();
}

std::vector<std::string> World::names() const {
  std::vector<std::string> result;
  for (const EventBody& body : heard) {
    const EventName name = name_of(body);
    result.push_back(name.verb.empty() ? name.noun : name.noun + ":" + name.verb);
  }
  return result;
}

}  // namespace reeve::testing
