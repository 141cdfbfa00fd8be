#include "api/testing.h"
#include "codec/json.h"
#include "core/shapes.h"

#include <gtest/gtest.h>

#include <string>

// What is said of runs: pipelines, workers, crons, decisions, agents. The hands here do nothing by
// themselves; a test ends a step by saying how it went.
namespace reeve::api {
namespace {

using namespace testing;

definition::Phase shell_phase(std::string name) {
  definition::Phase phase;
  phase.name = std::move(name);
  phase.action = definition::RunShell{"true"};
  return phase;
}

// fix: build, then merge with the lock main behind the guard ready.
definition::Set runbook() {
  definition::Set set;
  set.hash = "h1";
  set.root = "/work";
  definition::Pipeline fix;
  fix.inputs = {"bug", "branch"};
  fix.defaults = {{"branch", "fix/{bug}"}};
  fix.phases = {shell_phase("build"), shell_phase("merge")};
  fix.phases[1].locks = {"main"};
  fix.phases[1].pre = {"ready"};
  set.pipelines.set("fix", fix);
  definition::Pipeline one;
  one.phases = {shell_phase("only")};
  set.pipelines.set("one", one);
  definition::Guard ready;
  ready.condition = "test -e ready";
  ready.timeout = std::chrono::minutes{5};
  set.guards.set("ready", ready);
  lock::Config main;
  main.max_hold = std::chrono::hours{1};
  set.locks.set("main", main);
  set.queues.set("bugs", queue::Config{});
  definition::Worker worker;
  worker.queue = "bugs";
  worker.pipeline = "fix";
  worker.concurrency = 2;
  set.workers.set("bugfix", worker);
  cron::Definition nightly;
  nightly.schedule = cron::Interval{Duration{60'000}};
  nightly.run = cron::RunPipeline{"one", {}};
  set.crons.set("nightly", nightly);
  return set;
}

struct RunMethods : ::testing::Test {
  engine::testing::MemoryDisk disk;
  Counter counter{disk};
  std::size_t ana = counter.connect();

  void SetUp() override { EXPECT_TRUE(has(load(runbook()), {R"("hash":"h1")"})); }

  std::string load(const definition::Set& set) {
    const std::string text = codec::to_json(
        Command(definition::Command(definition::Load{{}, Boxed<definition::Set>(set)})));
    return ask("runbook.load", R"({"set":)" + text + "}");
  }
  std::string ask(std::string_view method, std::string_view params = "{}") {
    return counter.ask(ana, method, params);
  }
  static std::string field(const std::string& text, const std::string& name) {
    const std::size_t at = text.find('"' + name + "\":\"");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 4;
    return text.substr(begin, text.find('"', begin) - begin);
  }
  std::string start(std::string_view params = R"({"name":"fix","inputs":{"bug":42}})") {
    return field(ask("pipeline.start", params), "pipeline");
  }
  std::string of(const std::string& id) { return R"({"id":")" + id + R"("})"; }
  std::string show(const std::string& id) { return ask("pipeline.show", of(id)); }

  // The oldest effect that is under way ended like this.
  void end_step(Outcome outcome) {
    const auto& outbox = counter.engine().state().outbox;
    ASSERT_NE(outbox.begin(), outbox.end());
    counter.engine().effect_ended(outbox.begin()->first, std::move(outcome), counter.stamp);
    counter.settle();
  }
  // Everything that is under way, as if it had been told to.
  void end_all() {
    for (int i = 0; i < 100; ++i) {
      const auto& outbox = counter.engine().state().outbox;
      if (outbox.begin() == outbox.end()) return;
      end_step(0);
    }
    FAIL() << "there is always something more";
  }
  void end_step(int exit_code, std::string output = {}) {
    Outcome outcome;
    outcome.ended = exit_code == 0 ? Ended::Done : Ended::Failed;
    outcome.exit_code = exit_code;
    outcome.output = std::move(output);
    end_step(outcome);
  }
};

TEST_F(RunMethods, AnAgentIsIdleWhenThereWasNoSignOfLifeForTenSeconds) {
  definition::Set set = runbook();
  set.hash = "h2";
  definition::Agent agent;
  agent.command = "true";
  agent.session = false;
  agent.idle_timeout = 1min;
  set.agents.set("fixer", agent);
  load(set);
  const std::string id = field(ask("agent.start", R"({"agent":"fixer"})"), "id");
  const std::string of_idle = R"({"state":"idle"})";

  counter.pass(10s - 1ms);
  EXPECT_TRUE(has(ask("agent.show", of(id)), {R"("state":"running")"}));
  EXPECT_TRUE(has(ask("agent.list", of_idle), {R"("agents":[])"}));
  counter.pass(1ms);
  EXPECT_TRUE(has(ask("agent.show", of(id)), {R"("state":"idle")"}));
  EXPECT_TRUE(has(ask("agent.list", of_idle), {id}));
  ask("agent.heartbeat", of(id));
  EXPECT_TRUE(has(ask("agent.show", of(id)), {R"("state":"running")"}));

  counter.pass(2min);
  counter.pass(2min);
  EXPECT_TRUE(has(ask("agent.show", of(id)),
                  {R"("state":"stuck")", R"("blocked_on":{"kind":"decision","name":"ask-)"}));
  EXPECT_TRUE(has(ask("agent.list", of_idle), {id, R"("state":"stuck")"}));
}

TEST_F(RunMethods, AgentsAreListedByTheirStateAndAWordThatIsNoneIsRefused) {
  definition::Set set = runbook();
  set.hash = "h2";
  definition::Agent agent;
  agent.command = "true";
  agent.session = false;
  set.agents.set("fixer", agent);
  load(set);
  const std::string id = field(ask("agent.start", R"({"agent":"fixer"})"), "id");
  const std::string of_active = R"({"state":"active"})";
  EXPECT_TRUE(has(ask("agent.list", of_active), {id, R"("state":"running")"}));
  EXPECT_TRUE(
      has(ask("agent.list", R"({"state":"actve"})"), {"-32602", "must be one of active, "}));

  end_step(0);
  EXPECT_TRUE(has(ask("agent.list", R"({"state":"done"})"), {id}));
  EXPECT_TRUE(has(ask("agent.list", of_active), {R"("agents":[])"}));
}

TEST_F(RunMethods, ASetOfDefinitionsIsLoadedOnceAndAskedFor) {
  EXPECT_TRUE(has(ask("runbook.get"), {R"("hash":"h1")", R"("pipelines":["fix","one"])"}));
  EXPECT_TRUE(
      has(ask("runbook.load", R"({"set":{"lock":"x"}})"), {"BAD_PARAMS", "cannot be read"}));
  EXPECT_TRUE(has(ask("runbook.load"), {"BAD_PARAMS", "set is missing"}));
}

TEST_F(RunMethods, ADeadLetterQueueOfARunbookIsTheProjectsOwn) {
  ask("session.hello", R"({"path":"/other","name":"other"})");
  definition::Set set = runbook();
  set.hash = "h2";
  queue::Config config;
  config.dead_letter = QueueName{{}, "bugs_dead"};
  set.queues.set("bugs", config);
  set.queues.set("bugs_dead", queue::Config{});
  load(set);
  EXPECT_TRUE(has(ask("queue.stats", R"({"queue":"bugs"})"), {R"("dead_letter":"bugs_dead")"}));
}

TEST_F(RunMethods, AStartSaysItsIdAndAShowEverythingOfIt) {
  const std::string started = ask("pipeline.start", R"({"name":"fix","inputs":{"bug":42}})");
  EXPECT_TRUE(has(started, {R"("name":"fix")", R"("state":"running")"}));
  EXPECT_TRUE(has(show(field(started, "pipeline")),
                  {R"("state":"running","phase":"build","attempt":1)",
                   R"("inputs":{"bug":"42","branch":"fix/42"})",
                   R"({"name":"build","state":"running","visits":1})",
                   R"({"name":"merge","state":"to come","visits":0})"}));
}

TEST_F(RunMethods, WhoHasOtherRunbooksIsToldToHandThemOver) {
  EXPECT_TRUE(has(ask("pipeline.start", R"({"name":"one","runbook":"h9"})"),
                  {"RUNBOOK_UNKNOWN", R"("hash":"h9")", R"("current":"h1")"}));
  EXPECT_TRUE(has(ask("pipeline.start", R"({"name":"one","runbook":"h1"})"), {R"("pipe-)"}));
}

TEST_F(RunMethods, AnInputThatIsMissingIsNamed) {
  EXPECT_TRUE(has(ask("pipeline.start", R"({"name":"fix"})"),
                  {"BAD_PARAMS", "inputs lacks bug, which pipeline fix wants"}));
  EXPECT_TRUE(has(ask("pipeline.start", R"({"name":"fxi"})"), {"NOT_FOUND", "reeve runbook list"}));
}

TEST_F(RunMethods, IdsAreGivenByTheirBeginning) {
  const std::string id = start();
  EXPECT_TRUE(has(show(id.substr(0, 8)), {id}));
  EXPECT_TRUE(has(show(id.substr(5)), {id}));
  EXPECT_TRUE(has(show("pipe-"), {"NOT_FOUND"}));
  EXPECT_TRUE(has(show("pipe-zzzzzz"), {"NOT_FOUND", "reeve pipeline list"}));
  EXPECT_TRUE(has(ask("pipeline.cancel", of("pipe-zzzzzz")), {"NOT_FOUND"}));
  // With thirty-three of them two begin alike.
  for (int i = 0; i < 33; ++i) start(R"({"name":"one"})");
  std::string seen;
  for (const char letter : std::string_view("0123456789abcdefghjkmnpqrstvwxyz")) {
    seen += ask("pipeline.show", of(std::string("pipe-") + letter));
  }
  EXPECT_TRUE(has(seen, {"AMBIGUOUS"}));
}

TEST_F(RunMethods, ABlockedGuardIsShownWithWhatItSaidLast) {
  const std::string id = start();
  end_step(0);                           // build
  end_step(1, "first\nno such file\n");  // the guard
  EXPECT_TRUE(has(show(id),
                  {R"("state":"blocked")",
                   R"("blocked_on":{"kind":"guard","name":"ready")",
                   "checked 1 time, the last time: not yet (no such file)"}));
  EXPECT_TRUE(has(ask("why.get", of(id)),
                  {R"("kind":"pipeline")",
                   R"("kind":"guard","name":"ready")",
                   R"("output":"first\nno such file")",
                   R"~("what":"guard ready is checked again (in 5m somebody is asked)",)~"
                   R"("at":"2019-12-20T00:00:10.000Z")"}));
}

TEST_F(RunMethods, ABlockedLockIsShownWithItsHolderAndWhatThatDoes) {
  ask("lock.acquire", R"({"names":["main"],"holder":"ben","meta":{"label":"by hand"}})");
  const std::string id = start();
  end_step(0);
  end_step(0);
  EXPECT_TRUE(
      has(show(id), {R"("blocked_on":{"kind":"lock","name":"main")", "held by ben (by hand)"}));
  EXPECT_TRUE(has(ask("why.get", of(id)),
                  {R"("waiting_on":[{"kind":"lock","name":"main","holder":"ben")"}));
  ask("lock.release", R"({"name":"main","holder":"ben"})");
  // Its guard is checked once more with the lock held.
  end_step(0);
  EXPECT_TRUE(
      has(show(id), {R"("holds":[{"kind":"lock","name":"main"}])", R"("state":"running")"}));

  // And who waits for it sees what this one does.
  const std::string second = start(R"({"name":"fix","inputs":{"bug":43}})");
  Outcome good;
  good.exit_code = 0;
  const auto last = [&] {
    EffectId found;
    for (const auto& entry : counter.engine().state().outbox) found = entry.first;
    return found;
  };
  for (int i = 0; i < 2; ++i) {
    counter.engine().effect_ended(last(), good, counter.stamp);
    counter.settle();
  }
  const std::string why = ask("why.get", of(second));
  EXPECT_TRUE(has(why,
                  {R"("kind":"lock","name":"main","holder":")" + id,
                   R"("kind":"phase","name":"merge","pipeline":")" + id,
                   "its program runs"}));
  // As of the lock itself: its place in line, and when it is free at the latest.
  EXPECT_TRUE(has(why,
                  {R"("line":[{"holder":")" + second,
                   R"("line_of":"main","place":1)",
                   R"("what":"if )" + id + " still holds it, its phase is ended (max_hold)",
                   R"("at":"2019-12-20T01:00:00.000Z")"}));
  EXPECT_TRUE(
      has(ask("why.get", R"({"id":"main"})"),
          {R"("line":[{"holder":")" + second, "if " + id + " still holds it, its phase is ended"}));
  EXPECT_EQ(why.find("heartbeat"), std::string::npos) << "the daemon itself keeps it: " << why;
}

TEST_F(RunMethods, TheLastOfALongLineHasItsPlaceAndIsShown) {
  ask("lock.acquire", R"({"names":["main"],"holder":"ben"})");
  const std::size_t others = counter.connect();
  for (int i = 0; i < 128; ++i) {
    counter.ask(others,
                "lock.acquire",
                R"({"names":["main"],"wait_ms":-1,"holder":"other)" + std::to_string(i) + R"("})");
  }
  const std::string id = start();
  end_step(0);
  end_step(0);
  EXPECT_TRUE(has(ask("why.get", of(id)),
                  {R"({"holder":"other99","place":100,)",
                   R"({"holder":")" + id + R"(","place":129,)",
                   R"("waiting":129,"line_of":"main","place":129)"}));
}

TEST_F(RunMethods, APhaseIsShownAsItEnded) {
  definition::Set set = runbook();
  set.hash = "h2";
  definition::Pipeline fix;
  fix.phases = {
      shell_phase("build"), shell_phase("mend"), shell_phase("ship"), shell_phase("tidy")};
  fix.phases[0].on_fail = definition::GoTo{"mend"};
  fix.phases[1].next = "ship";
  fix.phases[2].on_fail = definition::GoTo{"tidy"};
  fix.phases[2].ends = true;
  set.pipelines.set("fix", fix);
  load(set);
  const std::string id = start(R"({"name":"fix","inputs":{}})");
  end_step(3);  // build
  end_step(0);  // mend
  EXPECT_TRUE(has(show(id),
                  {R"({"name":"build","state":"failed","visits":1})",
                   R"({"name":"mend","state":"done","visits":1})",
                   R"({"name":"ship","state":"running","visits":1})",
                   R"({"name":"tidy","state":"to come","visits":0})"}));
  end_step(3);  // ship
  end_step(0);  // tidy
  EXPECT_TRUE(has(show(id),
                  {R"("state":"failed")",
                   R"({"name":"ship","state":"failed","visits":1})",
                   R"({"name":"tidy","state":"done","visits":1})"}));
}

TEST_F(RunMethods, TheOptionThatWasChosenIsTheAnswerAndWordsWithItANote) {
  const std::string asked =
      field(ask("decision.ask", R"({"question":"ship?","options":["yes","no"]})"), "id");
  const std::string of_it = R"({"id":")" + asked + R"(",)";
  EXPECT_TRUE(has(ask("decision.resolve", of_it + R"("choice":"no","text":"because"})"),
                  {R"("choice":"option","option":1,"text":"no","note":"because")"}));
  EXPECT_TRUE(has(ask("decision.show", of(asked)),
                  {R"("answer":{"choice":"no","text":"no","note":"because")"}));
}

TEST_F(RunMethods, AFailureAsksAndTheAnswerResumes) {
  const std::string id = start(R"({"name":"one"})");
  end_step(3, "it broke\n");
  const std::string shown = show(id);
  const std::string decision = field(shown.substr(shown.find("blocked_on")), "name");
  EXPECT_TRUE(has(shown, {R"("kind":"decision","name":"ask-)", R"("decisions":[")" + decision}));
  EXPECT_TRUE(has(ask("why.get", of(id)), {R"("kind":"decision")", "it broke"}));
  EXPECT_TRUE(has(ask("why.get", of(decision)), {"--choice retry`, or skip, fail, cancel"}));
  EXPECT_TRUE(
      has(ask("decision.list"), {decision, R"("choices":["retry","skip","fail","cancel"])"}));
  EXPECT_TRUE(
      has(ask("status.get"), {R"("decisions":1)", R"({"kind":"decision","name":")" + decision}));
  EXPECT_TRUE(has(ask("decision.resolve", R"({"id":")" + decision + R"(","choice":"retyr"})"),
                  {"BAD_PARAMS", "must be one of: retry, skip, fail, cancel"}));
  EXPECT_TRUE(has(ask("decision.resolve", R"({"id":")" + decision + R"(","choice":"retry"})"),
                  {R"("choice":"retry")"}));
  EXPECT_TRUE(has(show(id), {R"("state":"running","phase":"only","attempt":2)"}));
  EXPECT_TRUE(has(ask("decision.resolve", R"({"id":")" + decision + R"(","choice":"fail"})"),
                  {"ANSWERED", "was answered already", R"("choice":"retry")"}));
  EXPECT_TRUE(has(ask("decision.show", of(decision)), {R"("state":"answered")", R"("by":")"}));
  EXPECT_TRUE(has(ask("decision.list"), {R"("decisions":[])"}));
  EXPECT_TRUE(has(ask("decision.list", R"({"all":true})"), {decision}));
}

TEST_F(RunMethods, AFailedOneGoesOnFromAPhase) {
  const std::string id = start();
  end_step(3);
  const std::string asked = field(ask("decision.list"), "id");
  ask("decision.resolve", R"({"id":")" + asked + R"(","choice":"fail","text":"give up"})");
  EXPECT_TRUE(has(show(id), {R"("state":"failed")", R"("recoverable":false)"}));
  EXPECT_TRUE(has(ask("decision.resolve", R"({"id":")" + asked + R"(","choice":"retry"})"),
                  {"was answered already", ": fail (give up)"}));
  EXPECT_TRUE(has(ask("pipeline.resume", of(id)),
                  {"NOT_ALLOWED", "is not recoverable; `reeve resume " + id + " --force`"}));
  EXPECT_TRUE(has(ask("pipeline.resume", R"({"id":")" + id + R"(","phase":"nope","force":true})"),
                  {"NOT_FOUND", R"(there is no phase \"nope\")"}));
  EXPECT_TRUE(has(ask("pipeline.resume", R"({"id":")" + id + R"(","phase":"build","force":true})"),
                  {R"("state":"running","phase":"build")"}));
}

TEST_F(RunMethods, CancelCheckpointPauseAndFinish) {
  const std::string id = start(R"({"name":"one"})");
  EXPECT_TRUE(has(ask("pipeline.checkpoint", R"({"id":")" + id + R"(","message":"half"})"), {id}));
  EXPECT_TRUE(has(show(id), {R"("checkpoints":[{"phase":"only","message":"half","at":")"}));
  EXPECT_TRUE(has(ask("pipeline.finish", R"({"id":")" + id + R"(","error":"by word"})"), {id}));
  end_step(0);
  EXPECT_TRUE(has(ask("why.get", of(id)), {"by word"}));
  EXPECT_TRUE(has(ask("pipeline.cancel", of(id)), {R"("state":"cancelled")"}));
  EXPECT_TRUE(has(ask("pipeline.cancel", of(id)), {R"("state":"cancelled")"}));
  EXPECT_TRUE(has(ask("pipeline.pause", of(id)), {"NOT_ALLOWED", id + " has ended"}));
}

TEST_F(RunMethods, ListsAreFiltered) {
  const std::string one = start(R"({"name":"one"})");
  const std::string fix = start();
  ask("pipeline.cancel", of(one));
  end_step(0);  // the step that was to be ended
  EXPECT_FALSE(has(ask("pipeline.list", R"({"states":["active"]})"), {one}));
  EXPECT_TRUE(has(ask("pipeline.list", R"({"states":["active"]})"), {fix}));
  EXPECT_TRUE(has(ask("pipeline.list", R"({"phases":["build"]})"), {fix}));
  EXPECT_FALSE(has(ask("pipeline.list", R"({"name":"one"})"), {fix}));
  EXPECT_TRUE(has(ask("pipeline.list", R"({"limit":1})"), {one, R"("next":")" + one}));
  EXPECT_FALSE(has(ask("pipeline.list", R"({"after":")" + one + R"("})"), {R"("id":")" + one}));
  EXPECT_TRUE(has(ask("pipeline.list", R"({"states":["gone"]})"), {"BAD_PARAMS", "states"}));
}

TEST_F(RunMethods, AWorkerTakesItemsAndIsResized) {
  EXPECT_TRUE(has(ask("worker.list"), {R"("defined":[{"name":"bugfix","queue":"bugs")"}));
  EXPECT_TRUE(has(ask("worker.start", R"({"name":"bugfix","runbook":"h1"})"),
                  {R"("state":"started")", R"("concurrency":2)"}));
  EXPECT_TRUE(has(ask("worker.start", R"({"name":"bufgix"})"), {"NOT_FOUND"}));
  ask("queue.push", R"({"queue":"bugs","items":[{"data":1},{"data":2},{"data":3}]})");
  EXPECT_TRUE(has(ask("worker.show", R"({"name":"bugfix"})"), {R"("active":2)", R"("pending":1)"}));
  EXPECT_TRUE(has(ask("why.get", R"({"id":"bugfix"})"), {"all its 2 places are taken"}));
  EXPECT_TRUE(has(ask("worker.resize", R"({"name":"bugfix","concurrency":3})"),
                  {R"("concurrency":3,"active":3)"}));
  EXPECT_TRUE(has(ask("worker.stop", R"({"name":"bugfix"})"), {R"("state":"stopping")"}));
  EXPECT_TRUE(has(ask("worker.show", R"({"name":"bugfx"})"), {"NOT_FOUND", "did you mean"}));
  EXPECT_TRUE(has(ask("status.get"), {R"("workers":[{"name":"bugfix")", R"("running":3)"}));
}

TEST_F(RunMethods, ACronIsEnabledRunAndTellsWhatIsNext) {
  EXPECT_TRUE(has(ask("cron.next", R"({"name":"nightly","count":2})"),
                  {R"([{"at":"2019-12-20T00:01:00.000Z"},{"at":"2019-12-20T00:02:00.000Z"}])"}));
  EXPECT_TRUE(
      has(ask("cron.enable", R"({"name":"nightly"})"),
          {R"("outcome":"enabled")", R"("schedule":"every 1m")", R"("next":"2019-12-20T00:01)"}));
  EXPECT_TRUE(has(ask("cron.run", R"({"name":"nightly"})"),
                  {R"("outcome":"fired","run":"pipe-)", R"("running":["pipe-)"}));
  EXPECT_TRUE(has(ask("cron.run", R"({"name":"nightly"})"), {R"("outcome":"skipped")"}));
  EXPECT_TRUE(has(ask("cron.disable", R"({"name":"nightly"})"), {R"("state":"disabled")"}));
  EXPECT_TRUE(has(ask("why.get", R"({"id":"nightly"})"), {"reeve cron enable nightly"}));
  EXPECT_TRUE(has(ask("cron.enable", R"({"name":"nigthly"})"),
                  {"NOT_FOUND", R"(did you mean \"nightly\")"}));
}

TEST_F(RunMethods, AQuestionWaitsForItsAnswer) {
  const std::size_t ben = counter.connect();
  counter.send(
      ben,
      R"({"id":7,"method":"decision.ask","params":{"question":"Go?","options":["yes","no"],)"
      R"("wait_ms":-1}})");
  counter.settle();
  EXPECT_TRUE(counter.read(ben).empty());
  const std::string id = field(ask("decision.list"), "id");
  EXPECT_TRUE(
      has(ask("decision.show", of(id)), {R"("question":"Go?")", R"("choices":["yes","no"])"}));
  ask("decision.resolve", R"({"id":")" + id + R"(","number":1})");
  EXPECT_TRUE(has(counter.read(ben).at(0), {R"("id":7)", R"("option":1,"text":"no")"}));
  EXPECT_TRUE(has(ask("decision.resolve", of(id)), {"ANSWERED"}));
}

TEST_F(RunMethods, AQuestionThatNobodyWaitsForStays) {
  const std::string id =
      field(ask("decision.ask", R"({"question":"Go?","options":["2","1"]})"), "id");
  EXPECT_TRUE(has(ask("decision.show", of(id)), {R"("state":"open")", R"("question":"Go?")"}));
  // A choice is meant by its name first, and then by its number.
  EXPECT_TRUE(
      has(ask("decision.resolve", R"({"id":")" + id + R"(","choice":"1"})"), {R"("text":"1")"}));
  const std::string other =
      field(ask("decision.ask", R"({"question":"Go?","options":["yes","no"]})"), "id");
  EXPECT_TRUE(has(ask("decision.resolve", R"({"id":")" + other + R"(","choice":"2"})"),
                  {R"("text":"no")"}));
}

TEST_F(RunMethods, NobodyAnswersInTime) {
  const std::size_t ben = counter.connect();
  counter.send(ben,
               R"({"id":7,"method":"decision.ask","params":{"question":"Go?","wait_ms":1000}})");
  counter.settle();
  counter.pass(1001ms);
  EXPECT_TRUE(has(counter.read(ben).at(0), {"TIMED_OUT", "nobody answered in time"}));
}

TEST_F(RunMethods, ADependencyThatFailedKeepsItBlockedAndSaysSo) {
  definition::Set set = runbook();
  set.hash = "h2";
  definition::Pipeline after = *set.pipelines.find("one");
  after.inputs = {"after"};
  after.after = {"{after}"};
  set.pipelines.set("second", after);
  load(set);
  const std::string first = start(R"({"name":"one"})");
  const std::string second = start(R"({"name":"second","inputs":{"after":")" + first + R"("}})");
  EXPECT_TRUE(
      has(show(second), {R"("kind":"dependency","name":")" + first, first + " is running"}));
  EXPECT_TRUE(
      has(ask("why.get", of(second)), {R"("kind":"phase","name":"only","pipeline":")" + first}));
  ask("pipeline.cancel", of(first));
  end_all();
  EXPECT_TRUE(has(show(first), {R"("state":"cancelled")"}));
  EXPECT_TRUE(has(ask("why.get", of(second)),
                  {first + " is cancelled, so this waits for ever", "reeve pipeline unblock"}));
  EXPECT_TRUE(has(ask("pipeline.unblock", of(second)), {R"("state":"running")"}));
}

TEST_F(RunMethods, NamesAreListedForCompletions) {
  const std::string id = start(R"({"name":"one"})");
  EXPECT_TRUE(has(ask("names.list", R"({"kind":"pipeline"})"), {id}));
  ask("worker.start", R"({"name":"bugfix"})");
  EXPECT_TRUE(has(ask("names.list", R"({"kind":"worker","prefix":"bug"})"), {R"(["bugfix"])"}));
  EXPECT_TRUE(has(ask("names.list", R"({"kind":"nothing"})"), {"BAD_PARAMS"}));
}

}  // namespace
}  // namespace reeve::api
