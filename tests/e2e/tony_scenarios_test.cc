// The 34 methods of TonY's end-to-end test, through the built programs on one machine: 27 methods of TonY 0.4.6 and 7
// that 0.5.3 added. Each test uses the configuration of a method, tests/corpus/method-*.properties, and names the
// method. Where TonY has a test hook in Java, the test here kills, pauses or delays a real process.
//
// The tests expect the results in TonY's table, and more where the table is weak.
#include <sched.h>

#include "tests/e2e/script.h"
#include "tests/support/archive_builder.h"

namespace tony {
namespace {

using Clock = std::chrono::steady_clock;

// A silent task is lost after 7.4 s: the cut-off, the grace period, and five seconds. The budget of zero makes the lost
// task end the job.
const Words kQuickTimers = {"-conf", "tony.task.record-fresh-ms=600",  "-conf", "tony.task.stop-grace-ms=100",
                            "-conf", "tony.task.cutoff-after-ms=2300", "-conf", "tony.restart.lost.budget=0"};

// Keeps this thread and all programs that it starts on one processor.
class OneProcessor {
 public:
  OneProcessor() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;

 private:
  cpu_set_t before_;
};

// Copies the configurations and the files that they name.
void CopyMethods(const fs::path& folder) {
  const fs::path corpus = fs::path(SourceFolder()) / "tests/corpus";
  fs::copy(corpus / "files", folder, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  for (const auto& file : fs::directory_iterator(corpus)) {
    const std::string name = file.path().filename();
    if (name.starts_with("method-") || name.starts_with("bad-method-")) fs::copy_file(file.path(), folder / name);
  }
  for (const char* name : {"common.zip", "test.zip", "test2.zip"}) {
    fs::remove(folder / name);
    BuildArchive(folder / name, ArchiveForm::kZip, {{.name = "123.xml", .content = "<configuration/>"}});
  }
}

// `submit method-NAME.properties` submits the configuration tests/corpus/method-NAME.properties. Its tasks wait for the
// file $UNTIL.
const TestRow kScenarios[] = {
    // --- A job without roles

    // testNullAMRpcClient: the client never reached an application master.
    {"TheWaitCommandReturnsTheVerdictAfterTheMasterHasExited",
     {{"submit method-single-node.properties --detach", ""}, {"gone tony-keeper", ""}, {"wait %J", ""}, {"left", ""}}},

    // --- The application master dies

    // testAMCrashTonyShouldFail: every application master that YARN started crashed.
    {"AMasterThatCrashesAtEveryStartFailsTheJob",
     {{"replace tony-am `kill -SEGV $$`", ""},
      {"submit method-single-node.properties --json", "1 && verdict=infra && /verdict/message~application master"}}},
    // TonY's testAMThrowExceptionCrashTonYShouldFail
    {"AMasterThatExitsWithAnErrorAtEveryStartFailsTheJob",
     {{"replace tony-am `echo 'it throws' >&2; exit 1`", ""},
      {"submit method-single-node.properties --json", "1 && verdict=infra && /verdict/message~application master"}}},

    // --- Parameter servers and workers

    // TonY's testPSWorkerTrainingShouldPass
    {"AWorkerGetsTheConfiguredVariableAndPythonVenv",
     {{"submit method-worker-with-venv.properties", ""}, {"left", ""}}},
    // TonY's testPSWorkerTrainingShouldFail
    {"AJobFailsWhenAllItsTasksFail",
     {{"submit method-ps-worker-fail.properties --json", "1 && verdict=user_error && /verdict/message~exit code 1"}}},
    // testNonChiefWorkerFail. TonY used the configuration of the previous method, so its chief failed, too; here the
    // chief does not fail.
    {"AFailedWorkerThatIsNotTheChiefFailsTheJobAndStopsTheChief",
     {{"submit method-non-chief-fails.properties --json",
       "1 && verdict=user_error && /verdict/message~worker:0 failed on 127.0.0.1: exit code 1 && "
       "tasks=chief:0 killed, worker:0 failed"}}},

    // --- Frameworks

    // TonY's testWorkerTrainingPyTorchShouldPass
    {"EachPyTorchWorkerGetsARankAndTheWorldSizeAsVariables", {{"submit method-pytorch.properties", ""}, {"left", ""}}},
    // TonY's testStandaloneRuntimeModeShouldPass
    {"ASingleStandaloneTaskRuns", {{"submit method-standalone.properties", ""}, {"left", ""}}},
    // testStandaloneRuntimeWithMultiInstancesShouldFail. Unlike TonY, this implementation refuses the job before
    // anything starts.
    {"TwoStandaloneTasksAreRefused",
     {{"submit bad-method-standalone-two.properties", "65 && refused && ~standalone && ~1 slave, 1 worker"}}},
    // TonY's testTonyHorovodShouldPass
    {"HorovodsWorkersGetTheirPlacesWhenTheDriverIsInTestMode",
     {{"submit method-horovod.properties", ""}, {"left", ""}}},
    {"HorovodsWorkersMeetAtTheRendezvousServerOfTonysDriver",
     {{"submit method-horovod.properties tony.horovod.mode.test=false -executes `bash horovod_meet.sh`", ""},
      {"logs %J --stdout", "out~met 0 && out~met 1"},
      {"left", ""}}},
    // TonY's testTonyHorovodWithDebugModeShouldPass
    {"AHorovodDriverOfTheUsersOwnDecidesThePlaces", {{"submit method-horovod-debug.properties", ""}, {"left", ""}}},
    // TonY's testTonyHorovodDriverCrashShouldFailAndStopAM
    {"AHorovodDriverThatFailsFailsTheJobAndStopsTheWorker",
     {{"submit method-horovod-driver-crash.properties --json",
       "1 && verdict=user_error && /verdict/message~driver:0 failed on 127.0.0.1: exit code 1 && "
       "tasks=driver:0 failed, worker:0 killed"}}},

    // --- Files and TensorBoard

    // TonY's testTonyResourcesFlag
    {"ResourcesAreRenamedAndArchivesUnpackedAsConfigured", {{"submit method-resources.properties", ""}, {"left", ""}}},

    // --- Tasks that decide the verdict

    // testTonyClientCallbackHandler: a client that follows a job gets its id, then each task, then the end of each
    // task. TonY reported FINISHED for a ps that it had stopped.
    {"TheWaitCommandWithFollowReportsTheJobIdAndEachTask",
     {{"submit method-callback.properties --detach", ""},
      {"wait %J --follow --json",
       "out~{\"schema\":1,\"job\":\"%J\" && out~\"task\":\"ps:0\" && out~\"task\":\"worker:0\""},
      {"status %J --json", "tasks=ps:0 killed, worker:0 succeeded"},
      {"left", ""}}},
    // TonY's testTonyPSCrashShouldFailAndStopAM
    {"AFailedParameterServerFailsTheJobAndStopsTheWorker",
     {{"submit method-ps-crash.properties --json",
       "1 && verdict=user_error && /verdict/message~ps:0 failed on 127.0.0.1: exit code 1 && "
       "tasks=ps:0 failed, worker:0 killed"}}},
    // testTonySidecarExecutorCrashShouldPass. The sidecar may fail before the worker, which starts at the same time, is
    // reported as running.
    {"AFailedSidecarDoesNotFailTheJob",
     {{"& submit method-sidecar-crash.properties -shell_env UNTIL=%B/go", ""},
      {"until status %0 --json", "tasks~sidecarexecutor:0 failed"},
      {"until status %0 --json", "tasks~worker:0 running"},
      {"go", ""},
      {"end", ""},
      {"status %J --json", "tasks=sidecarexecutor:0 failed, worker:0 succeeded"},
      {"left", ""}}},

    // testTonyFinalConfWithNonExistentHDFSClasspath. Our programs use no Java class path, so a wrong path does no harm.
    {"AMissingHdfsClassPathIsIgnored", {{"submit method-hdfs-classpath.properties", ""}, {"left", ""}}},

    // --- Methods that 0.5.3 added

    // testTonyAllocationTimeoutShouldFail: a request that can never be met is refused.
    {"AJobThatRequestsMoreMemoryThanTheMachineHasIsRefused",
     {{"machine {\"memory_mb\":100000}", ""},
      {"submit method-allocation-timeout.properties tony.application.completion-rule=strict",
       "65 && refused && ~20480000 MB && ~100000 MB && ~tony.worker.instances"}}},
    // Resources that other jobs hold: here for a whole gang, in
    // LimitsTest.ATaskWithoutAContainerAfterTheAllocationTimeoutFailsTheJob
    // for a task.
    {"AJobFailsIfItsGangHasNoContainersAfterTheAllocationTimeout",
     {{"machine {\"memory_mb\":4096}", ""},
      {"& submit method-sidecar-crash.properties -shell_env UNTIL=%B/go", ""},
      {"until status %0 --json", "tasks~worker:0 running"},
      {"submit method-allocation-timeout.properties tony.worker.instances=2",
       "1 && ~not every task got a container within 1.0 s && ~tony.container.allocation.timeout"},
      {"go", ""},
      {"end", ""},
      {"left", ""}}},
    // testAMStartupTimeoutShouldFail. TonY simulated an application that is never started.
    {"AMasterThatDoesNotStartFailsTheJobAfterTheStartupTimeout",
     {{"replace tony-am `exec sleep 1000`", ""},
      {"submit method-am-startup-timeout.properties tony.am.startup-timeout=1500 --json",
       "1 && verdict=timeout && /verdict/message~tony.am.startup-timeout"}}},
    // testGroupDependencyTimeoutShouldPass, which expects a failure despite its name.
    {"WorkersThatOutliveTheChiefBeyondTheDependencyTimeoutFailTheJob",
     {{"submit method-outlives-group.properties --json",
       "1 && /verdict/message~role worker continued for more than 1.0 s after chief had ended"},
      {"left", ""}}},
    // TonY's testTaskWithDependencyTimeoutButIgnoredShouldPass
    {"ADependencyTimeoutMarkedAsIgnoredStopsTheWorkersWithoutFailingTheJob",
     {{"submit method-outlives-group-ignored.properties", "tasks=chief:0 succeeded, worker:0 killed, worker:1 killed"},
      {"left", ""}}},
    // TonY's testTaskWithDependencyTimeoutButIgnoredAndWithPSShouldPass
    {"ADependencyTimeoutMarkedAsIgnoredStopsAParameterServer",
     {{"submit method-outlives-group-ignored-ps.properties", "tasks~ps:0 killed"}, {"left", ""}}},
    // testTaskWithDependencyTimeAndIgnoredButFailedShouldPass, which also expects a failure despite its name.
    {"AWorkerThatFailsAfterTheChiefHasEndedFailsTheJob",
     {{"submit method-outlives-group-and-fails.properties --json", "1 && /verdict/message~worker:"}, {"left", ""}}},
};
TABLE_TEST(TonyScenariosTest, kScenarios, [](const TestRow& row) { RunScriptWith({}, row, CopyMethods); });

class TonyMethodTest : public TonyTest {
 protected:
  TonyMethodTest() { CopyMethods(box_.folder()); }

  // The arguments of a submit with the configuration tests/corpus/method-NAME.properties.
  static Words Method(const std::string& name) { return {"submit", "method-" + name + ".properties"}; }
  Words Until(const std::string& file) const { return {"-shell_env", "UNTIL=" + box_.File(file)}; }

  // Returns each task with the state of its newest attempt, e.g. "ps:0 killed".
  Words Tasks() const {
    Words tasks;
    const json::value all = At(Status(), "/tasks");
    if (!all.is_array()) return tasks;
    for (const json::value& task : all.as_array())
      tasks.push_back(Text(task, "/task") + " " + Text(task, "/attempt_state"));
    return tasks;
  }
  bool WaitForTask(const std::string& task_and_state) const {
    return WaitFor([&] { return !box_.Jobs().empty() && testing::Value(Tasks(), testing::Contains(task_and_state)); });
  }

  void ExpectSucceeded(const Ran& ran) const {
    EXPECT_EQ(ran.exit, 0) << ran.err << ran.out;
    ExpectNothingLeft();
  }
  // TonY's client exited with -1. The verdict and its first cause are new here.
  void ExpectFailed(const Ran& ran, const testing::Matcher<std::string>& message) const {
    EXPECT_FALSE(ran.timed_out);
    EXPECT_EQ(ran.exit, 1) << ran.err << ran.out;
    EXPECT_THAT(Text(Status(), "/verdict/message"), message) << ran.err;
    ExpectNothingLeft();
  }

  pid_t ProgramOf(const std::string& program, const std::string& task) const {
    for (const Process& process : box_.Processes())
      if (process.program == program && process.command_line.find(" " + task + " ") != std::string::npos)
        return process.pid;
    ADD_FAILURE() << "no " << program << " of " << task << ": " << ToString(box_.Processes());
    // kill() would take -1 for all processes; Signal() ignores it.
    return -1;
  }
  static void Signal(pid_t pid, int signal) {
    if (pid > 0) kill(pid, signal);
  }
  pid_t UserProcess(const std::string& task) const {
    const json::value all = At(Status(), "/tasks");
    for (const json::value& each : all.as_array())
      if (Text(each, "/task") == task) return static_cast<pid_t>(Number(each, "/pid"));
    return 0;
  }
};

// TonY's testSingleNodeTrainingShouldPass
TEST_F(TonyMethodTest, AJobWithoutRolesRunsItsProgramAndSucceeds_NeedsPython) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  ExpectSucceeded(box_.Tony(Method("single-node-pass")));
  EXPECT_THAT(Tasks(), ElementsAre("driver:0 succeeded"));
}

// testSingleNodeTrainingShouldFail. Beyond TonY's test, the exit code of the program is checked.
TEST_F(TonyMethodTest, AFailingProgramFailsAJobWithoutRoles_NeedsPython) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  ExpectFailed(box_.Tony(Method("single-node-fail")), HasSubstr("driver:0"));
  EXPECT_EQ(Number(Status(), "/verdict/exit_code"), 1);
}

// Beyond TonY's tests: a master that crashes now and then costs no task.
TEST_F(TonyMethodTest, AnApplicationMasterThatCrashesIsReplacedAndTheTaskKeepsRunning) {
  const auto client = box_.StartTony(Method("sidecar-crash") + Until("go"));
  ASSERT_TRUE(WaitForTask("worker:0 running")) << client->err();
  const pid_t task = UserProcess("worker:0");
  SignalAll("tony-am", SIGSEGV);
  ASSERT_TRUE(WaitFor([&] { return client->err().find("restarted (epoch 2)") != std::string::npos; })) << client->err();
  EXPECT_EQ(UserProcess("worker:0"), task);
  Go();
  ExpectSucceeded(client->Wait());
}

// testPSWorkerTrainingShouldFailMissedHeartbeat. TonY's script failed without a missed heartbeat; here only the
// executor is silent. The executor is paused, so its end is not seen either.
TEST_F(TonyMethodTest, MissedHeartbeatsOfATaskFailTheJob) {
  const auto client =
      box_.StartTony(Method("missed-heartbeats") + kQuickTimers + Conf("tony.task.heartbeat-interval-ms=50"));
  ASSERT_TRUE(WaitForTask("worker:0 running")) << client->err();
  const pid_t program = UserProcess("worker:0");
  const pid_t executor = ProgramOf("tony-executor", "worker:0");
  Signal(executor, SIGSTOP);
  const auto silent = Clock::now();
  const Ran ran = client->Wait();
  const auto noticed = Clock::now() - silent;
  ExpectFailed(ran, AllOf(HasSubstr("worker:0"), HasSubstr("heartbeat")));
  EXPECT_THAT(ran.err, HasSubstr("tony.task.max-missed-heartbeats: \"2\" (from method-missed-heartbeats.properties:6): "
                                 "raised to 7401 ms"));
  EXPECT_GE(noticed, std::chrono::milliseconds(7000));
  EXPECT_LT(noticed, std::chrono::seconds(25)) << "TonY took 25 to 125 s";
  EXPECT_NE(kill(program, 0), 0) << "the lost task is ended too";
}

// testPSSkewedWorkerTrainingShouldPass: the gang waits for a late task.
TEST_F(TonyMethodTest, NoTaskOfAGangStartsBeforeTheSlowestTaskHasRegistered) {
  const Installation slow(box_,
                          {{"tony-executor", "case \" $* \" in *' worker:0 '*) until [ -e " + box_.File("go") +
                                                 " ]; do sleep 0.05; done ;; esac\n" + BecomeBuilt("tony-executor")}});
  const auto client = slow.Start(Method("skewed-worker"));
  ASSERT_TRUE(WaitForTask("worker:1 registered")) << client->err();
  ASSERT_TRUE(WaitForTask("ps:0 registered")) << client->err();
  EXPECT_EQ(UserProcess("worker:1"), 0) << "nobody has started yet";
  Go();
  ExpectSucceeded(client->Wait());
  EXPECT_THAT(Tasks(), ElementsAre("ps:0 killed", "worker:0 succeeded", "worker:1 succeeded"));
}

// testTaskCompletionNotificationDelayed: the task has ended, and the launcher of its container reports that much later.
// Here the keeper is the launcher, and is paused for longer than the limit of missed heartbeats.
TEST_F(TonyMethodTest, AnEndedTaskIsNotDeclaredLostIfTheEndOfItsContainerIsReportedLate) {
  const auto client = box_.StartTony(Method("late-completion") + kQuickTimers + Until("go") +
                                     Confs({"tony.worker.command=sh wait_until.sh", "tony.am.lease-ms=60000"}));
  ASSERT_TRUE(WaitForTask("worker:0 running")) << client->err();
  SignalAll("tony-keeper", SIGSTOP);
  Go();
  ASSERT_TRUE(WaitForTask("worker:0 succeeded")) << client->err();
  // A silent task would be lost after 7.4 s.
  WaitFor([] { return false; }, Limit(7600));
  SignalAll("tony-keeper", SIGCONT);
  ExpectSucceeded(client->Wait());
  EXPECT_EQ(Number(Status(), "/restart_count"), 0);
}

// testAMStopsJobAfterWorker0Killed: SIGKILL, as the kernel sends it when memory is short.
// The budget for lost tasks is zero, because TonY had no such budget.
TEST_F(TonyMethodTest, AWorkerKilledBySigkillFailsTheJob) {
  const auto client = box_.StartTony(Method("worker-killed") + Conf("tony.restart.lost.budget=0"));
  ASSERT_TRUE(WaitForTask("worker:0 running")) << client->err();
  Signal(UserProcess("worker:0"), SIGKILL);
  ExpectFailed(client->Wait(), HasSubstr("worker:0 failed on 127.0.0.1: signal 9 (SIGKILL)"));
  EXPECT_EQ(Number(Status(), "/verdict/signal"), 9);
}

// The same method with a kill of the executor, which ends the whole container.
TEST_F(TonyMethodTest, AKilledExecutorFailsTheJobIfLostTasksAreNotRestarted) {
  const auto client = box_.StartTony(Method("worker-killed") + Conf("tony.restart.lost.budget=0"));
  ASSERT_TRUE(WaitForTask("worker:0 running")) << client->err();
  Signal(ProgramOf("tony-executor", "worker:0"), SIGKILL);
  ExpectFailed(client->Wait(), HasSubstr("worker:0"));
}

// testTonyAMSchedulerShouldPass. Beyond TonY's test, no task of the second stage starts before the first stage has
// ended.
TEST_F(TonyMethodTest, TheTrainingStageStartsAfterThePrepareStageHasEnded) {
  ExpectSucceeded(box_.Tony(Method("stages")));
  const json::value all = At(Status(), "/tasks");
  std::string prepared, began = "9";
  for (const json::value& task : all.as_array()) {
    if (Text(task, "/task").starts_with("db")) prepared = std::max(prepared, Text(task, "/ended"));
    if (Text(task, "/task") == "worker:0") began = Text(task, "/started");
  }
  EXPECT_LE(prepared, began);
}

// testTensorBoardPortSetOnlyOnChiefWorker: each task prints its TB_PORT.
TEST_F(TonyMethodTest, OnlyTheChiefHasATensorBoardPort) {
  const auto client = box_.StartTony(Method("tb-port") + Until("go"));
  for (const char* task : {"chief-0", "ps-0", "worker-0"})
    ASSERT_TRUE(WaitFor([&] { return !box_.Jobs().empty() && CountLines(LogText(task, "stdout")) == 1; })) << task;
  Go();
  ExpectSucceeded(client->Wait());
  EXPECT_THAT(LogText("chief-0", "stdout"), testing::MatchesRegex("TB_PORT=[1-9][0-9]*\n"));
  for (const char* task : {"ps-0", "worker-0"}) EXPECT_EQ(LogText(task, "stdout"), "TB_PORT=not set\n") << task;
}

// testAttachedTensorboardShouldPass: the sidecar has the port and the folder, and does not decide the end of the job.
TEST_F(TonyMethodTest, ATensorBoardSidecarGetsTheTensorBoardPortAndIsStoppedAtTheEndOfTheJob) {
  const auto client = box_.StartTony(Method("attached-tensorboard") + Until("go"));
  for (const char* task : {"chief-0", "ps-0", "worker-0", "worker-1", "tensorboard-0"})
    ASSERT_TRUE(WaitFor([&] { return !box_.Jobs().empty() && CountLines(LogText(task, "stdout")) >= 1; })) << task;
  ASSERT_TRUE(WaitFor([&] { return CountLines(LogText("tensorboard-0", "stdout")) == 2; }));
  Go();
  ExpectSucceeded(client->Wait());
  EXPECT_THAT(LogText("tensorboard-0", "stdout"), testing::MatchesRegex("/tmp\nTB_PORT=[1-9][0-9]*\n"));
  for (const char* task : {"chief-0", "ps-0", "worker-0", "worker-1"})
    EXPECT_EQ(LogText(task, "stdout"), "TB_PORT=not set\n") << task;
  EXPECT_THAT(Tasks(), testing::Contains("tensorboard:0 killed"));
}

// testTonyFinalConf: the tony-final.xml of a job, which also runs here.
TEST_F(TonyMethodTest, TonyFinalXmlContainsTheCommandLineOptionsAndTheConfigurationKeysOfTheJob) {
  ExpectSucceeded(box_.Tony(Method("final-conf") + Conf("tony.history.location=" + box_.File("history"))));
  std::string final;
  for (const auto& entry : fs::recursive_directory_iterator(box_.File("history")))
    if (entry.path().filename() == "tony-final.xml") final = ReadText(entry.path());
  const auto has = [&](const std::string& key, const testing::Matcher<std::string>& value) {
    const size_t at = final.find("<name>" + key + "</name>");
    ASSERT_NE(at, std::string::npos) << key << " in " << final;
    EXPECT_THAT(final.substr(at, final.find("</property>", at) - at), value) << key;
  };
  has("tony.containers.command", HasSubstr(">ls<"));
  has("tony.containers.envs", HasSubstr("TEST2=test"));
  has("tony.execution.env.TEST1", HasSubstr(">test<"));
  has("tony.worker.command", HasSubstr(">cat<"));
  has("tony.containers.resources", AllOf(HasSubstr("common.zip"), HasSubstr("test.zip")));
}

// testLostConnectionWithAMJobShouldFail, which TonY disables because its executors lived on. Here the application
// master is not restarted, so the executor gives up and ends its task; the next client gets the verdict. All processes
// share a processor, on which TonY's executor could not end.
TEST_F(TonyMethodTest, AnExecutorStopsItsTaskIfNoMasterRunsForTheOrphanTimeout) {
  const OneProcessor one;
  Fails(0, Method("lost-am") +
               Confs({"tony.task.orphan-timeout-ms=300", "tony.task.record-fresh-ms=300",
                      "tony.task.heartbeat-interval-ms=50", "tony.restart.lost.budget=0"}) +
               Words{"--detach"});
  ASSERT_TRUE(WaitForTask("worker:0 running"));
  const pid_t program = UserProcess("worker:0");
  KillTogether();
  ASSERT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
  EXPECT_NE(kill(program, 0), 0);
  ExpectFailed(box_.Tony({"wait", Job()}), HasSubstr("worker:0"));
}

}  // namespace
}  // namespace tony
