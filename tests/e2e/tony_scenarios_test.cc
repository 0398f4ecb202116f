// The 34 methods of TonY's end-to-end test, through the built programs on one machine: the 27 of 0.4.6 and the 7 that
// 0.5.3 added. Each test has the method's conf, tests/corpus/method-*.properties, and names the method it stands for.
// Where TonY had a test hook in Java, here a real process is killed, paused, or slow.
//
// Expected is what TonY's table says, and where that is weak, more. Not here: Horovod, which is refused in one line.
#include <sched.h>

#include "tests/e2e/installation.h"
#include "tests/e2e/tony_test.h"
#include "tests/support/archive_builder.h"

namespace tony {
namespace {

using Clock = std::chrono::steady_clock;

// A task that is silent is lost after 7.4 s: the cut-off, the grace, and five seconds. And that ends the job.
const Words kQuickTimers = {"-conf", "tony.task.record-fresh-ms=600",  "-conf", "tony.task.stop-grace-ms=100",
                            "-conf", "tony.task.cutoff-after-ms=2300", "-conf", "tony.restart.lost.budget=0"};

// Keeps this thread, and all that it starts, on one processor.
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

class TonyScenariosTest : public TonyTest {
 protected:
  TonyScenariosTest() {
    const fs::path corpus = fs::path(SourceFolder()) / "tests/corpus";
    fs::copy(corpus / "files", box_.folder(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    for (const char* name : {"common.zip", "test.zip", "test2.zip"}) {
      fs::remove(box_.File(name));
      BuildArchive(box_.File(name), ArchiveForm::kZip, {{.name = "123.xml", .content = "<configuration/>"}});
    }
  }

  // submit's arguments, of the conf tests/corpus/method-NAME.properties.
  Words Method(const std::string& name) const { return Set("method-" + name); }
  Words BadMethod(const std::string& name) const { return Set("bad-method-" + name); }
  Words Set(const std::string& name) const {
    const std::string file = name + ".properties";
    fs::copy_file(fs::path(SourceFolder()) / "tests/corpus" / file, box_.File(file));
    return {"submit", file};
  }
  Words Until(const std::string& file) const { return {"-shell_env", "UNTIL=" + box_.File(file)}; }

  // "ps:0 killed": each task with what became of its newest attempt.
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
  // TonY's client ended with -1; the verdict and its first cause are ours.
  void ExpectFailed(const Ran& ran, const testing::Matcher<std::string>& message) const {
    EXPECT_FALSE(ran.timed_out);
    EXPECT_EQ(ran.exit, 1) << ran.err << ran.out;
    EXPECT_THAT(Text(Status(), "/verdict/message"), message) << ran.err;
    ExpectNothingLeft();
  }
  // In one line, with nothing of it left.
  void ExpectRefused(const Ran& ran, const testing::Matcher<std::string>& line) const {
    EXPECT_EQ(ran.exit, 65) << ran.err << ran.out;
    EXPECT_EQ(CountLines(ran.err), 1u) << ran.err;
    EXPECT_THAT(ran.err, line);
    EXPECT_TRUE(box_.Jobs().empty());
    ExpectNothingLeft();
  }

  pid_t ProgramOf(const std::string& program, const std::string& task) const {
    for (const Process& process : box_.Processes())
      if (process.program == program && process.command_line.find(" " + task + " ") != std::string::npos)
        return process.pid;
    ADD_FAILURE() << "no " << program << " of " << task << ": " << ToString(box_.Processes());
    return -1;  // of all processes; see Signal()
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

// --- A job without roles -------------------------------------------------------------------------------------------

// testSingleNodeTrainingShouldPass
TEST_F(TonyScenariosTest, NeedsPythonOneProgramWithoutRolesSucceeds) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  ExpectSucceeded(box_.Tony(Method("single-node-pass")));
  EXPECT_THAT(Tasks(), ElementsAre("driver:0 succeeded"));
}

// testSingleNodeTrainingShouldFail; beyond it: the program's own code is told.
TEST_F(TonyScenariosTest, NeedsPythonOneProgramWithoutRolesFails) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  ExpectFailed(box_.Tony(Method("single-node-fail")), HasSubstr("driver:0"));
  EXPECT_EQ(Number(Status(), "/verdict/exit_code"), 1);
}

// testNullAMRpcClient: the client never had an application master to talk to.
TEST_F(TonyScenariosTest, AClientThatComesAfterTheApplicationMasterHasLeftHearsTheEnd) {
  Succeeds(Method("single-node") + Words{"--detach"});
  ASSERT_TRUE(WaitFor([&] { return box_.Processes().empty(); }));
  ExpectSucceeded(box_.Tony({"wait", Job()}));
}

// --- The application master dies -----------------------------------------------------------------------------------

// testAMCrashTonyShouldFail: each one that YARN started crashed.
TEST_F(TonyScenariosTest, AnApplicationMasterThatCrashesWheneverItIsStartedFailsTheJob) {
  const Installation crashing(box_, {{"tony-am", "kill -SEGV $$"}});
  ExpectFailed(crashing.Tony(Method("single-node")), HasSubstr("application master"));
  EXPECT_EQ(Text(Status(), "/verdict/class"), "infra");
}

// testAMThrowExceptionCrashTonYShouldFail
TEST_F(TonyScenariosTest, AnApplicationMasterThatGivesUpWheneverItIsStartedFailsTheJob) {
  const Installation failing(box_, {{"tony-am", "echo 'it throws' >&2; exit 1"}});
  ExpectFailed(failing.Tony(Method("single-node")), HasSubstr("application master"));
  EXPECT_EQ(Text(Status(), "/verdict/class"), "infra");
}

// Beyond both: one that crashes now and then costs nothing.
TEST_F(TonyScenariosTest, AnApplicationMasterThatCrashesOnceIsReplacedAndItsTaskRunsOn) {
  const auto client = box_.StartTony(Method("sidecar-crash") + Until("go"));
  ASSERT_TRUE(WaitForTask("worker:0 running")) << client->err();
  const pid_t task = UserProcess("worker:0");
  SignalAll("tony-am", SIGSEGV);
  ASSERT_TRUE(WaitFor([&] { return client->err().find("restarted (epoch 2)") != std::string::npos; })) << client->err();
  EXPECT_EQ(UserProcess("worker:0"), task);
  Go();
  ExpectSucceeded(client->Wait());
}

// --- Parameter servers and workers ---------------------------------------------------------------------------------

// testPSWorkerTrainingShouldPass
TEST_F(TonyScenariosTest, AWorkerFindsItsVariableAndItsPythonEnvironment) {
  ExpectSucceeded(box_.Tony(Method("worker-with-venv")));
}

// testPSWorkerTrainingShouldFail
TEST_F(TonyScenariosTest, WhenAllTasksFailTheJobFails) {
  ExpectFailed(box_.Tony(Method("ps-worker-fail")), HasSubstr("exit code 1"));
}

// testNonChiefWorkerFail, whose conf was the one before, so that the chief failed too: here it does not.
TEST_F(TonyScenariosTest, AWorkerThatIsNotTheChiefFailsTheJobAndTheChiefIsStopped) {
  ExpectFailed(box_.Tony(Method("non-chief-fails")), HasSubstr("worker:0 failed on 127.0.0.1: exit code 1"));
  EXPECT_THAT(Tasks(), ElementsAre("chief:0 killed", "worker:0 failed"));
}

// testPSWorkerTrainingShouldFailMissedHeartbeat, whose script failed without any heartbeat missed: here only the
// executor is silent. It is paused, so nobody sees an end of it either.
TEST_F(TonyScenariosTest, ATaskThatMissesItsHeartbeatsFailsTheJobWhenTheirTimeIsOver) {
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
                                 "taken as 7401 ms"));
  EXPECT_GE(noticed, std::chrono::milliseconds(7000));
  EXPECT_LT(noticed, std::chrono::seconds(25)) << "TonY took 25 to 125 s";
  EXPECT_NE(kill(program, 0), 0) << "the lost task is ended too";
}

// testPSSkewedWorkerTrainingShouldPass: a task that comes late is waited for.
TEST_F(TonyScenariosTest, AGangWaitsForItsSlowestMember) {
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

// testTaskCompletionNotificationDelayed: the task has ended, and who starts containers says so much later. Here that is
// the keeper, which is paused for longer than the missed heartbeats would take.
TEST_F(TonyScenariosTest, ATaskThatHasEndedDoesNotExpireWhileItsContainersEndIsNotHeardOf) {
  const auto client = box_.StartTony(Method("late-completion") + kQuickTimers + Until("go") +
                                     Confs({"tony.worker.command=sh wait_until.sh", "tony.am.lease-ms=60000"}));
  ASSERT_TRUE(WaitForTask("worker:0 running")) << client->err();
  SignalAll("tony-keeper", SIGSTOP);
  Go();
  ASSERT_TRUE(WaitForTask("worker:0 succeeded")) << client->err();
  WaitFor([] { return false; }, Limit(7600));  // past lost_after
  SignalAll("tony-keeper", SIGCONT);
  ExpectSucceeded(client->Wait());
  EXPECT_EQ(Number(Status(), "/restart_count"), 0);
}

// testAMStopsJobAfterWorker0Killed: as the kernel does it where memory is short.
// Without a budget for what is nobody's fault, as TonY had none.
TEST_F(TonyScenariosTest, AWorkerThatIsKilledFailsTheJobAtOnce) {
  const auto client = box_.StartTony(Method("worker-killed") + Conf("tony.restart.lost.budget=0"));
  ASSERT_TRUE(WaitForTask("worker:0 running")) << client->err();
  Signal(UserProcess("worker:0"), SIGKILL);
  ExpectFailed(client->Wait(), HasSubstr("worker:0 failed on 127.0.0.1: signal 9 (SIGKILL)"));
  EXPECT_EQ(Number(Status(), "/verdict/signal"), 9);
}

// The same where all of the container goes, executor first.
TEST_F(TonyScenariosTest, AWorkerWhoseExecutorIsKilledFailsTheJobAtOnce) {
  const auto client = box_.StartTony(Method("worker-killed") + Conf("tony.restart.lost.budget=0"));
  ASSERT_TRUE(WaitForTask("worker:0 running")) << client->err();
  Signal(ProgramOf("tony-executor", "worker:0"), SIGKILL);
  ExpectFailed(client->Wait(), HasSubstr("worker:0"));
}

// --- Frameworks ----------------------------------------------------------------------------------------------------

// testWorkerTrainingPyTorchShouldPass
TEST_F(TonyScenariosTest, WorkersOfPyTorchFindTheirRanks) { ExpectSucceeded(box_.Tony(Method("pytorch"))); }

// testStandaloneRuntimeModeShouldPass
TEST_F(TonyScenariosTest, OneStandaloneTaskRuns) { ExpectSucceeded(box_.Tony(Method("standalone"))); }

// testStandaloneRuntimeWithMultiInstancesShouldFail; earlier than TonY, before anything has started.
TEST_F(TonyScenariosTest, TwoStandaloneTasksAreRefused) {
  ExpectRefused(box_.Tony(BadMethod("standalone-two")), AllOf(HasSubstr("standalone"), HasSubstr("1 slave, 1 worker")));
}

// testTonyHorovodShouldPass, testTonyHorovodWithDebugModeShouldPass, testTonyHorovodDriverCrashShouldFailAndStopAM: to
// run such a job as another framework's would be wrong.
TEST_F(TonyScenariosTest, HorovodIsRefused) {
  for (const char* name : {"horovod", "horovod-debug", "horovod-driver-crash"})
    ExpectRefused(box_.Tony(BadMethod(name)), AllOf(HasSubstr("tony.application.framework: \"horovod\""),
                                                    HasSubstr("not supported yet; expected tensorflow, pytorch")));
}

// testTonyAMSchedulerShouldPass; beyond it: nobody of the second stage started before the first had ended.
TEST_F(TonyScenariosTest, StagesRunOneAfterTheOther) {
  ExpectSucceeded(box_.Tony(Method("stages")));
  const json::value all = At(Status(), "/tasks");
  std::string prepared, began = "9";
  for (const json::value& task : all.as_array()) {
    if (Text(task, "/task").starts_with("db")) prepared = std::max(prepared, Text(task, "/ended"));
    if (Text(task, "/task") == "worker:0") began = Text(task, "/started");
  }
  EXPECT_LE(prepared, began);
}

// --- Files and TensorBoard -----------------------------------------------------------------------------------------

// testTonyResourcesFlag
TEST_F(TonyScenariosTest, ResourcesAreThereByTheirNamesAndUnpacked) { ExpectSucceeded(box_.Tony(Method("resources"))); }

// testTensorBoardPortSetOnlyOnChiefWorker: each task says what it has.
TEST_F(TonyScenariosTest, TheChiefAloneHasATensorBoardPort) {
  const auto client = box_.StartTony(Method("tb-port") + Until("go"));
  for (const char* task : {"chief-0", "ps-0", "worker-0"})
    ASSERT_TRUE(WaitFor([&] { return !box_.Jobs().empty() && CountLines(LogText(task, "stdout")) == 1; })) << task;
  Go();
  ExpectSucceeded(client->Wait());
  EXPECT_THAT(LogText("chief-0", "stdout"), testing::MatchesRegex("TB_PORT=[1-9][0-9]*\n"));
  for (const char* task : {"ps-0", "worker-0"}) EXPECT_EQ(LogText(task, "stdout"), "TB_PORT=not set\n") << task;
}

// testAttachedTensorboardShouldPass: the sidecar has the port, the folder and no say in the job's end.
TEST_F(TonyScenariosTest, TensorBoardBesideTheJobHasThePortAndIsStoppedAtTheEnd) {
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

// --- Who counts ----------------------------------------------------------------------------------------------------

// testTonyClientCallbackHandler: whoever follows a job hears its id, then each task, then how each ended.
TEST_F(TonyScenariosTest, AFollowerHearsTheIdAndTheTasksAndHowEachEnded) {
  Succeeds(Method("callback") + Words{"--detach"});
  const Ran ran = box_.Tony({"wait", Job(), "--follow", "--json"});
  ExpectSucceeded(ran);
  const json::value first = ParseJson(ran.out.substr(0, ran.out.find('\n')));
  EXPECT_EQ(Text(first, "/job"), Job());
  EXPECT_EQ(At(first, "/tasks").as_array().size(), 2u);
  EXPECT_THAT(Tasks(), ElementsAre("ps:0 killed", "worker:0 succeeded"))
      << "TonY said FINISHED of a ps that it had stopped";
}

// testTonyPSCrashShouldFailAndStopAM
TEST_F(TonyScenariosTest, AParameterServerThatFailsFailsTheJobAndItsWorkerIsStopped) {
  ExpectFailed(box_.Tony(Method("ps-crash")), HasSubstr("ps:0 failed on 127.0.0.1: exit code 1"));
  EXPECT_THAT(Tasks(), ElementsAre("ps:0 failed", "worker:0 killed"));
}

// testTonySidecarExecutorCrashShouldPass
TEST_F(TonyScenariosTest, ASidecarThatFailsFailsNothing) {
  const auto client = box_.StartTony(Method("sidecar-crash") + Until("go"));
  ASSERT_TRUE(WaitForTask("sidecarexecutor:0 failed")) << client->err();
  // It may fail before the worker, which starts at the same time, is heard to run.
  ASSERT_TRUE(WaitForTask("worker:0 running")) << client->err();
  Go();
  ExpectSucceeded(client->Wait());
  EXPECT_THAT(Tasks(), ElementsAre("sidecarexecutor:0 failed", "worker:0 succeeded"));
}

// --- The final configuration ---------------------------------------------------------------------------------------

// testTonyFinalConf: tony-final.xml, of a job that also runs.
TEST_F(TonyScenariosTest, TheFinalConfigurationHoldsOptionsAndKeys) {
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

// testTonyFinalConfWithNonExistentHDFSClasspath: there is no Java, so no class path; one that is wrong harms nothing.
TEST_F(TonyScenariosTest, AClassPathThatIsNotThereIsNoMistake) { ExpectSucceeded(box_.Tony(Method("hdfs-classpath"))); }

// --- What 0.5.3 added ----------------------------------------------------------------------------------------------

// testTonyAllocationTimeoutShouldFail: what there can never be is refused.
TEST_F(TonyScenariosTest, AnAskThatCanNeverBeMetIsRefused) {
  box_.SetMachine(R"({"memory_mb":100000})");
  ExpectRefused(box_.Tony(Method("allocation-timeout") + Conf("tony.application.completion-rule=strict")),
                AllOf(HasSubstr("20480000 MB"), HasSubstr("100000 MB"), HasSubstr("tony.worker.instances")));
}

// And what others have: LimitsTest.ATaskThatGetsNoContainerIsNamedWithItsKey; here of a whole gang.
TEST_F(TonyScenariosTest, AGangThatGetsNoContainersFailsAfterItsLimit) {
  box_.SetMachine(R"({"memory_mb":4096})");
  const auto holder = box_.StartTony(Method("sidecar-crash") + Until("go"));
  ASSERT_TRUE(WaitForTask("worker:0 running")) << holder->err();
  const Ran ran = Fails(1, Method("allocation-timeout") + Conf("tony.worker.instances=2"));
  EXPECT_THAT(ran.out + ran.err,
              HasAll({"not every task got a container within 1.0 s", "tony.container.allocation.timeout"}));
  GoAndEnd(*holder);
  ExpectNothingLeft();
}

// testTonyAMStartupTimeoutShouldFail, whose client was made to see an application that is never started.
TEST_F(TonyScenariosTest, AnApplicationMasterThatDoesNotStartFailsTheJobAfterItsLimit) {
  const Installation hanging(box_, {{"tony-am", "exec sleep 1000"}});
  ExpectFailed(hanging.Tony(Method("am-startup-timeout") + Conf("tony.am.startup-timeout=1500")),
               HasSubstr("tony.am.startup-timeout"));
}

// testGroupDependencyTimeoutShouldPass, which is one of a failure
TEST_F(TonyScenariosTest, WorkersThatOutliveTheirChiefForTooLongFailTheJob) {
  ExpectFailed(box_.Tony(Method("outlives-group")),
               HasSubstr("role worker ran on for longer than 1.0 s after chief had ended"));
}

// testTaskWithDependencyTimeoutButIgnoredShouldPass
TEST_F(TonyScenariosTest, WorkersThatMayOutliveTheirChiefAreStoppedWhenTheirTimeIsOver) {
  ExpectSucceeded(box_.Tony(Method("outlives-group-ignored")));
  EXPECT_THAT(Tasks(), ElementsAre("chief:0 succeeded", "worker:0 killed", "worker:1 killed"));
}

// testTaskWithDependencyTimeoutButIgnoredAndWithPSShouldPass
TEST_F(TonyScenariosTest, SoTheyAreBesideAParameterServerThatNeverEnds) {
  ExpectSucceeded(box_.Tony(Method("outlives-group-ignored-ps")));
  EXPECT_THAT(Tasks(), testing::Contains("ps:0 killed"));
}

// testTaskWithDependencyTimeAndIgnoredButFailedShouldPass, which is one of a failure too
TEST_F(TonyScenariosTest, AWorkerThatIsNotWaitedForAnyMoreAndFailsFailsTheJobAllTheSame) {
  ExpectFailed(box_.Tony(Method("outlives-group-and-fails")), HasSubstr("worker:"));
}

// testLostConnectionWithAMJobShouldFail, which is disabled in TonY: its executors lived on. Here nobody brings the
// application master back, so the executor gives up and takes its task along; who then asks is told. All on one
// processor, on which TonY's could not end at all.
TEST_F(TonyScenariosTest, AnExecutorThatHasLostItsApplicationMasterForGoodStopsItsTask) {
  const OneProcessor one;
  Fails(0, Method("lost-am") +
               Confs({"tony.task.orphan-timeout-ms=300", "tony.task.record-fresh-ms=300",
                      "tony.task.heartbeat-interval-ms=50", "tony.restart.lost.budget=0"}) +
               Words{"--detach"});
  ASSERT_TRUE(WaitForTask("worker:0 running"));
  const pid_t program = UserProcess("worker:0");
  for (const int signal : {SIGSTOP, SIGKILL})  // each would bring the other back
    for (const char* each : {"tony-keeper", "tony-am"}) SignalAll(each, signal);
  ASSERT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
  EXPECT_NE(kill(program, 0), 0);
  ExpectFailed(box_.Tony({"wait", Job()}), HasSubstr("worker:0"));
}

}  // namespace
}  // namespace tony
