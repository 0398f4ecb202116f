// Roles that wait for each other, with real processes: TonY's stages, any order, readiness, groups that others may not
// outlive, and the task before all others.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class DependenciesTest : public TonyTest {
 protected:
  // Each role has one task, that runs the script in the sandbox's folder.
  Words Job(const std::string& script, const Words& roles, const Words& settings) {
    const std::string file = box_.Write("task.sh", "cd " + box_.folder().string() + "\n" + script);
    Words words = {"submit", "-executes", "bash " + file};
    for (const std::string& role : roles) words = words + Conf("tony." + role + ".instances=1") + Little(role);
    for (const std::string& setting : settings) words = words + Conf(setting);
    return words;
  }
  static Words Little(const std::string& role) {
    const std::string memory = LittleMemory();
    return Conf("tony." + role + memory.substr(memory.rfind('.')));
  }
  std::string Status() const { return box_.Tony({"status", TonyTest::Job(), "--json"}).out; }
  std::string Log(const std::string& task) const { return LogText(task, "stdout"); }
};

TEST_F(DependenciesTest, TonysStagesRunOneAfterTheOther) {
  const Ran ran = Succeeds(Job(R"(
case $JOB_NAME in
  dbloader) sleep 0.1; echo 42 > data ;;
  db) touch db-runs; while :; do sleep 0.05; done ;;
  worker) echo "read $(cat data), $CLUSTER_SPEC" ;;
esac
)",
                               {"db", "dbloader", "worker"},
                               {"tony.application.prepare-stage=dbloader,db", "tony.application.training-stage=worker",
                                "tony.application.untracked.jobtypes=db"}));
  EXPECT_THAT(ran.err, HasSubstr("worker waits for dbloader"));
  EXPECT_THAT(Log("worker-0"),
              AllOf(HasSubstr("read 42"), HasSubstr(R"("db":["127.0.0.1:)"), testing::Not(HasSubstr("dbloader"))));
  ExpectNothingLeft();
}

TEST_F(DependenciesTest, WhatWaitsHasNothingYetAndAnotherMasterKnowsThat) {
  auto client = box_.StartTony(Job(HoldUntilGo(), {"data", "worker"}, {"tony.worker.depends-on=data"}));
  ASSERT_TRUE(WaitForFile(Running("data-0"))) << client->err();
  const auto status = ParseJson(Status());
  ExpectJson(status, {{"/tasks/1/waits_for", "data"}, {"/tasks/1/state", "waiting"}});
  EXPECT_THAT(box_.Tony({"status", TonyTest::Job()}).out, HasSubstr("waits for data"));
  for (const Process& process : box_.Processes())
    if (process.program == "tony-am") kill(process.pid, SIGKILL);
  GoAndEnd(*client);
  EXPECT_TRUE(fs::exists(Running("worker-0")));
  EXPECT_FALSE(fs::exists(box_.JobFolder(TonyTest::Job()) / "logs" / "data-0" / "2"));
  ExpectNothingLeft();
}

TEST_F(DependenciesTest, AFailedPreparationStartsNothingElse) {
  const Ran ran = Fails(
      1, Job("[ $JOB_NAME = data ] && exit 3; touch trained", {"data", "worker"}, {"tony.worker.depends-on=data"}));
  EXPECT_THAT(ran.err, HasSubstr("data:0 failed"));
  EXPECT_FALSE(fs::exists(box_.File("trained")));
  ExpectNothingLeft();
}

TEST_F(DependenciesTest, AGangThatStartsAgainDoesNotPrepareAgain) {
  const Ran ran =
      Succeeds(Job(R"(
echo "$JOB_NAME" >> ran
[ $JOB_NAME = worker ] && [ $TONY_ATTEMPT = 1 ] && exit 3
exit 0
)",
                   {"data", "worker"}, {"tony.application.prepare-stage=data", "tony.restart.gang.budget=1"}));
  EXPECT_EQ(ReadText(box_.File("ran")), "data\nworker\nworker\n");
}

TEST_F(DependenciesTest, AJobIsKilledBetweenItsStages) {
  auto client = box_.StartTony(Job(HoldUntilGo(), {"data", "worker"}, {"tony.worker.depends-on=data"}));
  ASSERT_TRUE(WaitForFile(Running("data-0"))) << client->err();
  Succeeds({"kill", TonyTest::Job()});
  Ends(*client, 1);
  EXPECT_FALSE(fs::exists(Running("worker-0")));
  ExpectNothingLeft();
}

TEST_F(DependenciesTest, StagesNeedNoMoreOfTheMachineThanTheLargerOne) {
  box_.SetMachine(R"({"memory_mb":1000})");
  Succeeds({"submit", "-executes", "true", "-conf", "tony.data.instances=1", "-conf", "tony.data.memory=800m", "-conf",
            "tony.worker.instances=1", "-conf", "tony.worker.memory=900m", "-conf", "tony.worker.depends-on=data"});
}

TEST_F(DependenciesTest, ACircleIsRefusedAndNamed) {
  const Ran ran = Fails(65, Job("true", {"a", "b"}, {"tony.a.depends-on=b", "tony.b.depends-on=a"}));
  EXPECT_THAT(ran.err, HasSubstr("roles wait for each other: a -> b -> a"));
  EXPECT_TRUE(box_.Jobs().empty());
}

TEST_F(DependenciesTest, ThePlanSaysTheOrder) {
  Words words = Job("true", {"data", "head", "worker"}, {"tony.worker.depends-on=data,head:ready"});
  words.front() = "plan";
  const Ran ran = Succeeds(words);
  EXPECT_THAT(ran.err, HasSubstr("order: worker after data, head (ready)"));
}

// As ray-on-tony: the head runs until the last worker is done, and its address is in CLUSTER_SPEC.
constexpr std::string_view kHeadAndWorker = R"(
case $JOB_NAME in
  head)
    sleep 0.2
    touch head-listens
    echo "$CLUSTER_SPEC" > head-spec
    echo "READY=here:1" >> "$TONY_PUBLISH_FILE"
    until [ -e done ]; do sleep 0.02; done ;;
  worker)
    [ -e head-listens ] || exit 7
    echo "$TONY_READY_HEAD $CLUSTER_SPEC"
    touch done ;;
esac
)";

TEST_F(DependenciesTest, AWorkerThatIsFasterThanItsHeadWaitsForIt) {
  for (const std::string mode : {"GANG", "FCFS"}) {
    const Ran ran = Succeeds(Job(std::string(kHeadAndWorker), {"head", "worker"},
                                 {"tony.worker.depends-on=head:ready", "tony.application.distributed-mode=" + mode}));
    const std::string log = ReadText(box_.JobFolder(ran.out.substr(0, ran.out.find('\n'))) / "logs/worker-0/1/stdout");
    EXPECT_THAT(log, AllOf(HasSubstr("here:1"), HasSubstr(R"("head":["127.0.0.1:)"))) << mode;
    EXPECT_THAT(ReadText(box_.File("head-spec")), HasSubstr(R"("head":["127.0.0.1:)")) << mode;
    for (const char* file : {"done", "head-listens"}) fs::remove(box_.File(file));
  }
}

TEST_F(DependenciesTest, WhatIsPreprocessedOnceReachesEveryTask) {
  const Words settings = {"tony.application.enable-preprocess=true", "tony.am.memory=150m"};
  const std::string script = R"(
if [ "$PREPROCESSING_JOB" = true ]; then
  echo once >> preprocessed
  echo 'log: Model parameters: {"depth": 3, "rate": 0.1}'
  echo 'Model parameters: never mind'
else
  echo "[$MODEL_PARAMS] of $TASK_NUM"
fi
)";
  Succeeds(Job(script, {"chief", "worker"}, settings));
  EXPECT_EQ(ReadText(box_.File("preprocessed")), "once\n");
  for (const char* task : {"chief-0", "worker-0"}) EXPECT_EQ(Log(task), "[{\"depth\": 3, \"rate\": 0.1}] of 2\n");
  ExpectNothingLeft();
}

TEST_F(DependenciesTest, WhatFailsToPreprocessFailsTheJob) {
  const Words settings = {"tony.application.enable-preprocess=true", "tony.am.memory=150m"};
  const Ran failed = Fails(1, Job("[ -z \"$PREPROCESSING_JOB\" ] || exit 5; touch trained", {"worker"}, settings));
  EXPECT_THAT(failed.err, HasAll({"preprocess:0 failed", "exit code 5"}));
  const Ran longer =
      Fails(1, Job("[ -z \"$PREPROCESSING_JOB\" ] || printf 'Model parameters: %040000d\\n' 1", {"worker"}, settings));
  EXPECT_THAT(longer.err, HasSubstr("cannot be handed on in MODEL_PARAMS"));
  EXPECT_FALSE(fs::exists(box_.File("trained")));
}

}  // namespace
}  // namespace tony
