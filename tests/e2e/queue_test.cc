// Jobs that share one machine: who waits, what he is told, and who comes next, whatever dies meanwhile.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

// A machine of 1000 MB; jobs of 600 MB take turns.
class QueueTest : public TonyTest {
 protected:
  QueueTest() { box_.SetMachine(R"({"memory_mb":1000,"gpus":[0,1,2,3]})"); }

  // Says that it runs and with which GPUs, then waits for Go(name).
  std::string Hold(const std::string& name) const {
    return "echo $CUDA_VISIBLE_DEVICES > " + box_.File("runs-" + name) + "-$TASK_INDEX; until [ -e " +
           box_.File("go-" + name) + " ]; do sleep 0.02; done";
  }
  void Go(const std::string& name) const { box_.Write("go-" + name, ""); }
  bool Runs(const std::string& name, int task = 0) const {
    return !ReadText(box_.File("runs-" + name + "-" + std::to_string(task))).empty();
  }
  bool WaitUntilRuns(const std::string& name, int task = 0) const {
    return WaitFor([&] { return Runs(name, task); });
  }
  static Words Sixty(const std::string& command) { return One(command, {"tony.worker.memory=600m"}); }

  static std::string JobOf(const Background& client) {
    EXPECT_TRUE(WaitFor([&] { return client.out().find('\n') != std::string::npos; })) << client.err();
    return client.out().substr(0, client.out().find('\n'));
  }
  std::string Delay(const std::string& job) const {
    const auto delay = At(StatusOf(job), "/delay");
    return delay.is_string() ? std::string(delay.as_string()) : "";
  }
  bool Waits(const std::string& job) const {
    return WaitFor([&] { return Delay(job).starts_with("waits for "); });
  }
  static std::vector<pid_t> PidsOf(const std::string& job, const std::string& program) {
    std::vector<pid_t> pids;
    for (const Process& process : ProcessesWithMark(job))
      if (program.empty() || process.program == program) pids.push_back(process.pid);
    return pids;
  }
  static void ExpectSuccess(Background& client) {
    const Ran ran = client.Wait();
    EXPECT_EQ(ran.exit, 0) << ran.err;
  }
};

TEST_F(QueueTest, TwoJobsThatEachWantSixtyPercentRunOneAfterTheOther) {
  const auto first = box_.StartTony(Sixty(Hold("first")));
  ASSERT_TRUE(WaitUntilRuns("first")) << first->err();
  const auto second = box_.StartTony(Sixty(Hold("second")));
  ASSERT_TRUE(Waits(JobOf(*second)));
  EXPECT_THAT(Delay(JobOf(*second)), HasSubstr("waits for 600 MB of memory: 400 of 1000 MB are free"));
  EXPECT_FALSE(Runs("second"));
  Go("first");
  ExpectSuccess(*first);
  ASSERT_TRUE(WaitUntilRuns("second"));
  EXPECT_EQ(Delay(JobOf(*second)), "");
  Go("second");
  ExpectSuccess(*second);
  ExpectNothingLeft();
}

TEST_F(QueueTest, KillingAllOfTheFirstLetsTheSecondRun) {
  const auto first = box_.StartTony(Sixty(Hold("first")));
  ASSERT_TRUE(WaitUntilRuns("first")) << first->err();
  const auto second = box_.StartTony(Sixty(Hold("second")));
  ASSERT_TRUE(Waits(JobOf(*second)));
  const std::string job = JobOf(*first);
  first->Signal(SIGKILL);  // it would bring the keeper back
  ASSERT_TRUE(WaitFor([&] {
    const auto left = PidsOf(job, "");
    for (const pid_t pid : left) kill(pid, SIGKILL);
    return left.empty();
  }));
  ASSERT_TRUE(WaitUntilRuns("second"));
  Go("second");
  ExpectSuccess(*second);
}

TEST_F(QueueTest, KillingAWaitingJobIsQuickAndLeavesTheOthersAlone) {
  const auto first = box_.StartTony(Sixty(Hold("first")));
  ASSERT_TRUE(WaitUntilRuns("first")) << first->err();
  const auto second = box_.StartTony(Sixty(Hold("second")));
  ASSERT_TRUE(Waits(JobOf(*second)));
  const auto begin = std::chrono::steady_clock::now();
  Succeeds({"kill", JobOf(*second)});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "milliseconds on a quiet machine";
  const Ran ran = second->Wait();
  EXPECT_NE(ran.exit, 0);
  EXPECT_THAT(ran.out, HasSubstr("KILLED"));
  const auto third = box_.StartTony(Sixty(Hold("third")));
  ASSERT_TRUE(Waits(JobOf(*third)));
  EXPECT_THAT(Delay(JobOf(*third)), testing::Not(HasSubstr("before it"))) << "the killed one counts no more";
  Go("first");
  Go("third");
  ExpectSuccess(*first);
  ExpectSuccess(*third);
}

TEST_F(QueueTest, TenJobsRunInTheOrderInWhichTheyCame) {
  const auto holder = box_.StartTony(Sixty(Hold("holder")));
  ASSERT_TRUE(WaitUntilRuns("holder")) << holder->err();
  std::vector<std::unique_ptr<Background>> clients;
  std::string in_order;
  for (char name = 'a'; name <= 'j'; ++name) {
    clients.push_back(box_.StartTony(Sixty(std::string("echo ") + name + " >> " + box_.File("order"))));
    ASSERT_TRUE(Waits(JobOf(*clients.back())));
    in_order += std::string(1, name) + "\n";
  }
  Go("holder");
  for (const auto& client : clients) ExpectSuccess(*client);
  EXPECT_EQ(ReadText(box_.File("order")), in_order);
}

TEST_F(QueueTest, GangThatFitsOnlyInPartWaitsWhole) {
  const auto first = box_.StartTony(Sixty(Hold("first")));
  ASSERT_TRUE(WaitUntilRuns("first")) << first->err();
  const auto gang = box_.StartTony(Workers(2, Hold("gang"), {"tony.worker.memory=300m"}));
  ASSERT_TRUE(Waits(JobOf(*gang)));
  EXPECT_FALSE(Runs("gang", 0) || Runs("gang", 1)) << "one of them would have room";
  EXPECT_TRUE(PidsOf(JobOf(*gang), "tony-executor").empty());
  Go("first");
  ASSERT_TRUE(WaitUntilRuns("gang", 0) && WaitUntilRuns("gang", 1));
  Go("gang");
  ExpectSuccess(*gang);
}

TEST_F(QueueTest, WaitingJobWhoseKeeperIsKilledKeepsWaitingAndRunsInItsTurn) {
  const auto first = box_.StartTony(Sixty(Hold("first")));
  ASSERT_TRUE(WaitUntilRuns("first")) << first->err();
  const auto second = box_.StartTony(Sixty(Hold("second")));
  const std::string job = JobOf(*second);
  ASSERT_TRUE(Waits(job));
  const auto keepers = PidsOf(job, "tony-keeper");
  ASSERT_EQ(keepers.size(), 1u);
  kill(keepers[0], SIGKILL);
  ASSERT_TRUE(WaitFor([&] {
    const auto now = PidsOf(job, "tony-keeper");
    return now.size() == 1 && now != keepers;
  }));
  EXPECT_TRUE(Waits(job));
  EXPECT_FALSE(Runs("second"));
  Go("first");
  ASSERT_TRUE(WaitUntilRuns("second"));
  Go("second");
  ExpectSuccess(*first);
  ExpectSuccess(*second);
}

TEST_F(QueueTest, RunningJobWhoseKeeperIsKilledKeepsItsPlace) {
  const auto first = box_.StartTony(Sixty(Hold("first")));
  ASSERT_TRUE(WaitUntilRuns("first")) << first->err();
  const std::string job = JobOf(*first);
  const auto second = box_.StartTony(Sixty(Hold("second")));
  ASSERT_TRUE(Waits(JobOf(*second)));
  const auto keepers = PidsOf(job, "tony-keeper");
  ASSERT_EQ(keepers.size(), 1u);
  kill(keepers[0], SIGKILL);
  ASSERT_TRUE(WaitFor([&] {
    const auto now = PidsOf(job, "tony-keeper");
    return now.size() == 1 && now != keepers &&
           ReadText(box_.JobFolder(job) / "keeper.log").find("admitted", 0) !=
               ReadText(box_.JobFolder(job) / "keeper.log").rfind("admitted");
  })) << "the next keeper has taken the job's place over";
  EXPECT_TRUE(Waits(JobOf(*second)));
  EXPECT_FALSE(Runs("second"));
  Go("first");
  Go("second");
  ExpectSuccess(*first);
  ExpectSuccess(*second);
}

TEST_F(QueueTest, TasksGetGpusOfTheirOwnAndTheNextJobWaitsForThem) {
  const auto first = box_.StartTony(Workers(2, Hold("first"), {LittleMemory(), "tony.worker.gpus=2"}));
  ASSERT_TRUE(WaitUntilRuns("first", 0) && WaitUntilRuns("first", 1)) << first->err();
  const std::set<std::string> seen = {ReadText(box_.File("runs-first-0")), ReadText(box_.File("runs-first-1"))};
  EXPECT_EQ(seen, (std::set<std::string>{"0,1\n", "2,3\n"}));
  const auto without = box_.StartTony(One(Hold("without"), {LittleMemory()}));
  ASSERT_TRUE(WaitUntilRuns("without"));
  EXPECT_EQ(ReadText(box_.File("runs-without-0")), "\n") << "sees none";
  const auto next = box_.StartTony(One(Hold("next"), {LittleMemory(), "tony.worker.gpus=1"}));
  ASSERT_TRUE(Waits(JobOf(*next)));
  EXPECT_THAT(Delay(JobOf(*next)), HasSubstr("GPU"));
  Go("first");
  ASSERT_TRUE(WaitUntilRuns("next"));
  Go("next");
  Go("without");
  ExpectSuccess(*first);
  ExpectSuccess(*next);
  ExpectSuccess(*without);
}

TEST_F(QueueTest, GpusThatTheShellChoseAreTheOnesThatTheJobGets) {
  const Sandbox::Variables pinned = {{"CUDA_VISIBLE_DEVICES", "2,3"}};
  const Words gpu = Confs({LittleMemory(), "tony.worker.gpus=1"});
  const auto first = box_.StartTony(One(Hold("first")) + gpu, {{"CUDA_VISIBLE_DEVICES", "2"}});
  ASSERT_TRUE(WaitUntilRuns("first")) << first->err();
  EXPECT_EQ(ReadText(box_.File("runs-first-0")), "2\n");
  const auto second = box_.StartTony(One(Hold("second")) + gpu, pinned);
  ASSERT_TRUE(WaitUntilRuns("second")) << second->err();
  EXPECT_EQ(ReadText(box_.File("runs-second-0")), "3\n");
  const Ran beyond = Fails(65, One("true", {LittleMemory(), "tony.worker.gpus=3"}), pinned);
  EXPECT_THAT(beyond.err, HasSubstr("CUDA_VISIBLE_DEVICES=2,3 of this shell allows 2"));
  const Ran named = box_.Tony(One("true") + gpu, {{"CUDA_VISIBLE_DEVICES", "GPU-4f2a"}});
  EXPECT_THAT(named.err,
              HasSubstr("warning: CUDA_VISIBLE_DEVICES=GPU-4f2a of this shell: expected the numbers of GPUs"));
  const Ran none = box_.Tony(One("true", {LittleMemory()}), pinned);
  EXPECT_THAT(none.err,
              HasSubstr("warning: CUDA_VISIBLE_DEVICES=2,3 of this shell: the job asks for no GPU, so its tasks "
                        "see none; set tony.worker.gpus"));
  const auto third = box_.StartTony(One(Hold("third")) + gpu, pinned);
  ASSERT_TRUE(Waits(JobOf(*third)));
  EXPECT_THAT(Delay(JobOf(*third)), HasSubstr("1 GPU of CUDA_VISIBLE_DEVICES=2,3: 0 of 2 are free"));
  for (const char* name : {"first", "second", "third"}) Go(name);
  ExpectSuccess(*first);
  ExpectSuccess(*second);
  ExpectSuccess(*third);
}

TEST_F(QueueTest, AJobThatATaskSubmitsRunsOrIsRefusedAtOnce) {
  const std::string submit = " " + ProgramFolder() + "/tony" + " run --framework standalone --memory ";
  // Without the variables of its job a task is known by the keeper that it descends from.
  const std::string bare = "env -i PATH=$PATH HOME=$HOME TONY_HOME=$TONY_HOME TONY_LEDGER=$TONY_LEDGER";
  const auto outer =
      box_.StartTony(Sixty(submit + "300m -- true; echo small $?;" + submit + "500m -- true; echo large $?;" + bare +
                           submit + "500m -- true; echo bare $?"));
  const fs::path logs = box_.JobFolder(JobOf(*outer)) / "logs/worker-0/1";
  ExpectSuccess(*outer);
  EXPECT_THAT(ReadText(logs / "stdout"), HasSubstr("\nsmall 0\nlarge 69\nbare 69\n")) << ReadText(logs / "stderr");
  EXPECT_THAT(ReadText(logs / "stderr"),
              HasSubstr("which waits for 500 MB of memory: 400 of 1000 MB are free; such a job is not queued"));
}

TEST_F(QueueTest, AJobThatATaskSubmittedEndsWhereItHasToWaitAfterAll) {
  const auto first = box_.StartTony(Sixty(Hold("first")));
  ASSERT_TRUE(WaitUntilRuns("first")) << first->err();
  const auto outer = box_.StartTony(Sixty(Hold("outer")));
  ASSERT_TRUE(Waits(JobOf(*outer)));
  const auto inner = box_.StartTony(Sixty("true"), {{"TONY_JOB_ID", JobOf(*outer)}});
  ASSERT_TRUE(Waits(JobOf(*inner))) << "the job above holds nothing yet";
  Go("first");
  const Ran ran = Ends(*inner, 1);
  EXPECT_THAT(ran.out,
              HasSubstr("a task of job " + JobOf(*outer) + " submits this job, which waits for 600 MB of memory"));
  Go("outer");
  ExpectSuccess(*outer);
  ExpectSuccess(*first);
}

TEST_F(QueueTest, WhatTheUserSaysOfGpusStaysWhereHeAskedForNone) {
  const auto job = box_.StartTony(One(Hold("own"), {LittleMemory()}) + Words{"-shell_env", "CUDA_VISIBLE_DEVICES=7"});
  ASSERT_TRUE(WaitUntilRuns("own")) << job->err();
  EXPECT_EQ(ReadText(box_.File("runs-own-0")), "7\n");
  Go("own");
  ExpectSuccess(*job);
}

}  // namespace
}  // namespace tony
