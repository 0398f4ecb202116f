// Steps that are cancelled, and steps whose adapter, executor server, folder, keeper or application master is lost
// while the job runs.
#include "tests/e2e/azkaban_test.h"

namespace tony {
namespace {

class AzkabanEndTest : public AzkabanTest {
 protected:
  // Sends SIGTERM, which ends the adapter soon and in good order. The adapter does not wait for the end of the job.
  static Ran Terminate(Background& step) {
    step.Signal(SIGTERM);
    return ExpectTerminated(step);
  }
  static Ran ExpectTerminated(Background& step, int exit = 143) {
    const auto begin = std::chrono::steady_clock::now();
    Ran ran = step.Wait();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, Soon()) << ran.out;
    ExpectEnd(ran, exit);
    return ran;
  }
  void ExpectKilled(const std::string& job) const {
    ExpectAllGoneSoon();
    EXPECT_EQ(StateOf(job), "KILLED");
    EXPECT_EQ(ReadText(step_.outputs_file()), "");
  }
  std::string StatusFile(const std::string& job) const { return ReadText(box_.JobFolder(job) / "status.json"); }
};

// ---- cancelled steps

TEST_F(AzkabanEndTest, SigtermToTheAdapterEndsTheAdapterAtOnceAndKillsTheJob) {
  const auto step = StartHolding();
  Terminate(*step);
  ExpectKilled(Job());
  EXPECT_THAT(Text(Status(Job()), "/verdict/message"), HasSubstr("Azkaban"));
  EXPECT_TRUE(step_.InputIsUntouched());
}

TEST_F(AzkabanEndTest, SigintOrSighupToTheAdapterKillsTheJob) {
  int execution = 10;
  for (const int signal : {SIGINT, SIGHUP}) {
    step_.properties["azkaban.flow.execid"] = std::to_string(++execution);
    fs::remove(Running("worker-0"));
    const auto step = StartHolding();
    step->Signal(signal);
    ExpectTerminated(*step, 128 + signal);
    ExpectAllGoneSoon();
  }
  for (const std::string& job : box_.Jobs()) EXPECT_EQ(StateOf(job), "KILLED");
}

TEST_F(AzkabanEndTest, ASecondSigtermToTheAdapterHasNoEffect) {
  const auto step = StartHolding();
  step->Signal(SIGTERM);
  Terminate(*step);
  ExpectKilled(Job());
}

TEST_F(AzkabanEndTest, SigtermToTheAdapterDuringStagingLeavesNoRunningJob) {
  fs::create_directory(step_.folder() / "app");
  std::ofstream(step_.folder() / "app" / "large") << "";
  // The file has no blocks, so it needs no disk, and its hash takes minutes.
  fs::resize_file(step_.folder() / "app" / "large", int64_t{8} << 30);
  step_.properties["src_dir"] = "app";
  const auto step = step_.Start();
  ASSERT_TRUE(Says(*step, "staging"));
  Terminate(*step);
  ExpectAllGoneSoon();
  for (const std::string& job : box_.Jobs()) EXPECT_EQ(StateOf(job), "KILLED");
}

TEST_F(AzkabanEndTest, SigtermToTheAdapterAtAnyMomentOfItsStartLeavesNoRunningJob) {
  step_.properties["executes"] = "sleep 1000";
  for (int i = 0; i < 6; ++i) {
    step_.properties["azkaban.flow.execid"] = std::to_string(100 + i);
    const auto step = step_.Start();
    // Waits until the adapter has its name. Before that the signal would end the shell that starts it.
    ASSERT_TRUE(WaitFor([&] { return !box_.Pids("tony-azkaban").empty(); }));
    if (i > 0) WaitFor([&] { return CountLines(step->out()) >= static_cast<size_t>(i); });
    step->Signal(SIGTERM);
    // A signal before main() leaves no last line in the log.
    Ends(*step, 143);
  }
  ExpectAllGoneSoon();
  for (const std::string& job : box_.Jobs()) EXPECT_EQ(StateOf(job), "KILLED");
}

TEST_F(AzkabanEndTest, SigtermToTheAdapterOfAQueuedJobKillsOnlyThatJob) {
  box_.SetMachine(R"({"memory_mb":1000})");
  const auto holder = Hold(One(HoldUntilGo(), {"tony.worker.memory=600m"}));
  const std::string other = Job();
  step_.properties["tony.worker.memory"] = "600m";
  const auto step = step_.Start();
  ASSERT_TRUE(Says(*step, "waits for 600 MB of memory"));
  const Ran ran = Terminate(*step);
  std::string job;
  for (const std::string& each : box_.Jobs()) job = each == other ? job : each;
  EXPECT_THAT(ran.out, HasSubstr(job));
  EXPECT_TRUE(WaitFor([&] { return StateOf(job) == "KILLED"; })) << StateOf(job);
  EXPECT_EQ(StateOf(other), "RUNNING");
  GoAndEnd(*holder);
  ExpectAllGoneSoon();
}

TEST_F(AzkabanEndTest, SigtermToTheAdapterKillsAllTasksOfAGangThatIsStillForming) {
  step_.properties["tony.application.framework"] = "tensorflow";
  step_.properties["tony.worker.instances"] = "4";
  step_.properties["executes"] = "sleep 1000";
  const auto step = step_.Start();
  ASSERT_TRUE(WaitFor([&] { return !box_.Pids("tony-executor").empty(); })) << step->out();
  Terminate(*step);
  ExpectKilled(Job());
}

TEST_F(AzkabanEndTest, TheAdapterExitsOnSigtermWithoutWaitingForAHangingMaster) {
  const auto step = StartHolding();
  KillAll("tony-am", SIGSTOP);
  Terminate(*step);
  KillAll("tony-am", SIGCONT);
  ExpectKilled(Job());
}

TEST_F(AzkabanEndTest, TheRecoverCommandKillsACancelledJobWhoseKeeperAndMasterDied) {
  const auto step = StartHolding();
  for (const char* program : {"tony-keeper", "tony-am"}) KillAll(program, SIGSTOP);
  Terminate(*step);
  KillRulers();
  ASSERT_TRUE(WaitFor([&] { return box_.Pids("tony-keeper").empty() && box_.Pids("tony-am").empty(); }));
  Succeeds({"recover", Job()});
  ExpectKilled(Job());
}

TEST_F(AzkabanEndTest, ATaskThatIgnoresSigtermIsKilledAfterItsGracePeriod) {
  step_.properties["tony.task.stop-grace-ms"] = "500";
  step_.properties["executes"] = "trap '' TERM; " + HoldUntilGo();
  const auto step = step_.Start();
  ASSERT_TRUE(WaitForRunning(1));
  ASSERT_TRUE(Says(*step, "job running"));
  Terminate(*step);
  ExpectKilled(Job());
}

TEST_F(AzkabanEndTest, CancellingTwoStepsOfAFlowKillsBothJobs) {
  const auto first = StartHolding();
  step_.properties["azkaban.job.id"] = "evaluate";
  step_.variables["JOB_NAME"] = "evaluate";
  const auto second = step_.Start();
  ASSERT_TRUE(Says(*second, "job running"));
  Terminate(*first);
  Terminate(*second);
  ExpectAllGoneSoon();
  ASSERT_THAT(box_.Jobs(), testing::SizeIs(2));
  for (const std::string& job : box_.Jobs()) EXPECT_EQ(StateOf(job), "KILLED");
}

TEST_F(AzkabanEndTest, SigtermToTheAdapterOfAnOlderAttemptDoesNotKillTheJob) {
  const auto first = StartHolding();
  step_.properties["azkaban.job.attempt"] = "1";
  const auto second = step_.Start();
  ASSERT_TRUE(Says(*second, "of an earlier attempt runs"));
  first->Signal(SIGTERM);
  // The first adapter may have exited by itself before the signal.
  EXPECT_FALSE(first->Wait().timed_out);
  EXPECT_EQ(StateOf(Job()), "RUNNING");
  Go();
  ExpectEnd(second->Wait(), 0);
}

// ---- lost processes and folders

TEST_F(AzkabanEndTest, AJobWithoutAnAdapterIsKilledAsAbandonedAfterTheWatchTimeout) {
  step_.properties["tony.azkaban.watch-timeout"] = "1";
  const auto step = StartHolding();
  step->Signal(SIGKILL);
  step->Wait();
  ASSERT_TRUE(WaitFor([&] { return StatusFile(Job()).find("\"abandoned\"") != std::string::npos; })) << "no look";
  ExpectKilled(Job());
}

TEST_F(AzkabanEndTest, AJobWithALiveAdapterRunsLongerThanTheWatchTimeout) {
  step_.properties["tony.azkaban.watch-timeout"] = "1";
  step_.properties["executes"] = "sleep 3";
  ExpectEnd(step_.Run(), 0);
}

TEST_F(AzkabanEndTest, TheAdapterExitsAndTheJobKeepsRunningWhenTheAzkabanExecutorServerDies) {
  const auto server = StartHolding("\"$@\" & wait");
  ASSERT_EQ(box_.Pids("tony-azkaban").size(), 1u);
  server->Signal(SIGKILL);
  EXPECT_TRUE(WaitFor([&] { return box_.Pids("tony-azkaban").empty(); }, Soon()));
  EXPECT_FALSE(server->Wait().timed_out);
  EXPECT_EQ(StateOf(Job()), "RUNNING");
  step_.properties["azkaban.job.attempt"] = "1";
  const auto next = step_.Start();
  ASSERT_TRUE(Says(*next, "of an earlier attempt runs"));
  Go();
  ExpectEnd(next->Wait(), 0);
}

TEST_F(AzkabanEndTest, AClosedLogPipeOfTheAdapterDoesNotAffectTheJob) {
  step_.properties["executes"] = HoldUntilGo();
  // The pipe closes after the first line of the log.
  const auto step = step_.Start("exec \"$@\" > >(head -n 1)");
  ASSERT_TRUE(WaitForRunning(1));
  const Ran ran = GoAndEnd(*step);
  EXPECT_EQ(CountLines(ran.out), 1u);
  EXPECT_EQ(StateOf(Job()), "SUCCEEDED");
  EXPECT_EQ(Outputs().at("tony.job.id"), Job());
}

TEST_F(AzkabanEndTest, AnUnwritableLogDoesNotChangeTheExitCodeOfTheAdapter) {
  step_.properties["executes"] = "exit 3";
  EXPECT_EQ(step_.Start("exec \"$@\" >&- 2>&-")->Wait().exit, 1);
  step_.properties["executes"] = "true";
  EXPECT_EQ(step_.Start("exec \"$@\" > /dev/full 2>&1")->Wait().exit, 0);
  EXPECT_EQ(OutputsIn(step_.outputs_file()).count("tony.job.id"), 1u);
}

TEST_F(AzkabanEndTest, TheAdapterRestartsTheMasterAfterKeeperAndMasterWereKilled) {
  const auto step = StartHolding();
  const std::string task = ReadText(Running("worker-0"));
  KillRulers();
  ASSERT_TRUE(WaitFor([&] { return Number(Status(Job()), "/epoch") >= 2; })) << step->out();
  EXPECT_EQ(ReadText(Running("worker-0")), task) << "the task was restarted";
  Go();
  ExpectEnd(step->Wait(), 0);
  ExpectAllGoneSoon();
}

TEST_F(AzkabanEndTest, AStepSucceedsIfItsWorkingFolderIsRemovedWhileTheJobRuns) {
  step_.variables["JOB_OUTPUT_PROP_FILE"] = box_.File("outputs");
  step_.properties["azkaban.job.attachment.file"] = box_.File("attachment");
  const auto step = StartHolding();
  fs::remove_all(step_.folder());
  Go();
  ExpectEnd(step->Wait(), 0);
  EXPECT_EQ(OutputsIn(box_.File("outputs")).at("tony.job.id"), Job());
  EXPECT_EQ(Text(ParseJson(ReadText(box_.File("attachment"))), "/0/state"), "SUCCEEDED");
}

}  // namespace
}  // namespace tony
