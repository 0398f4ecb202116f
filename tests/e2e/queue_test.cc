// Jobs that share one machine: which job waits, which reason it shows, and which job is next, even if processes die
// meanwhile.
#include <regex>

#include "tests/e2e/script.h"

namespace tony {
namespace {

// The machine has 1000 MB, so jobs of 600 MB (%S) run one after the other. `%HOLD(name)` is a command that writes its
// GPUs into the file "runs-name-INDEX" and waits for the file "go-name".
const TestRow kQueue[] = {
    {"TwoJobsThatEachNeedSixtyPercentOfTheMemoryRunOneAfterTheOther",
     {{"& one `%HOLD(first)` %S", ""},
      {"until file runs-first-0", "~\n"},
      {"& one `%HOLD(second)` %S", ""},
      {"until status %1 --json", "/delay~waits for 600 MB of memory: 400 of 1000 MB are free"},
      {"missing runs-second-0", ""},
      {"write go-first", ""},
      {"end 0", ""},
      {"until file runs-second-0", "~\n"},
      {"status %1 --json", "/delay=null"},
      {"write go-second", ""},
      {"end 1", ""},
      {"left", ""}}},
    // The killed job does not count in the queue any more.
    {"AKilledWaitingJobLeavesTheQueueWithoutAffectingOtherJobs",
     {{"& one `%HOLD(first)` %S", ""},
      {"until file runs-first-0", "~\n"},
      {"& one true %S", ""},
      {"until status %1 --json", "/delay~waits for "},
      {"kill %1", ""},
      {"end 1", "1 && out~KILLED"},
      {"& one true %S", ""},
      {"until status %2 --json", "/delay~waits for "},
      {"status %2 --json", "!before it"},
      {"write go-first", ""},
      {"end 0", ""},
      {"end 2", ""}}},
    // The free memory is enough for a single task of the gang.
    {"NoTaskOfAGangStartsWhileOnlyPartOfTheGangFitsInMemory",
     {{"& one `%HOLD(first)` %S", ""},
      {"until file runs-first-0", "~\n"},
      {"& workers 2 `%HOLD(gang)` tony.worker.memory=300m", ""},
      {"until status %1 --json", "/delay~waits for "},
      {"missing runs-gang-0", ""},
      {"missing runs-gang-1", ""},
      {"missing home/jobs/%1/logs/worker-0", ""},
      {"write go-first", ""},
      {"until file runs-gang-0", "~\n"},
      {"until file runs-gang-1", "~\n"},
      {"write go-gang", ""},
      {"end 1", ""}}},
    {"EachTaskGetsItsOwnGpusAndTheNextJobWaitsForAFreeGpu",
     {{"& workers 2 `%HOLD(first)` %M tony.worker.gpus=2", ""},
      {"until file runs-first-0", "~\n"},
      {"until file runs-first-1", "~\n"},
      {"one `sort %B/runs-first-0 %B/runs-first-1` %M --logs", "out~\n0,1\n2,3\n"},
      {"& one `%HOLD(without)` %M", ""},
      {"until file runs-without-0", "out=\n"},  // the task sees no GPU
      {"& one `%HOLD(next)` %M tony.worker.gpus=1", ""},
      {"until status %2 --json", "/delay~GPU"},
      {"write go-first", ""},
      {"until file runs-next-0", "~\n"},
      {"write go-next", ""},
      {"write go-without", ""},
      {"end 0", ""},
      {"end 1", ""},
      {"end 2", ""}}},
    {"AJobGetsOnlyGpusListedInTheShellsCudaVisibleDevices",
     {{"& CUDA_VISIBLE_DEVICES=2 one `%HOLD(first)` %M tony.worker.gpus=1", ""},
      {"until file runs-first-0", "out=2\n"},
      {"& CUDA_VISIBLE_DEVICES=2,3 one `%HOLD(second)` %M tony.worker.gpus=1", ""},
      {"until file runs-second-0", "out=3\n"},
      {"CUDA_VISIBLE_DEVICES=2,3 one true %M tony.worker.gpus=3",
       "65 && err~CUDA_VISIBLE_DEVICES=2,3 of this shell allows 2"},
      {"CUDA_VISIBLE_DEVICES=GPU-4f2a one true %M tony.worker.gpus=1",
       "err~warning: CUDA_VISIBLE_DEVICES=GPU-4f2a of this shell: expected numbers or names of GPUs"},
      {"CUDA_VISIBLE_DEVICES=2,3 one true %M",
       "err~warning: CUDA_VISIBLE_DEVICES=2,3 of this shell: the job requests no GPU, so its tasks see none; set "
       "tony.worker.gpus"},
      {"& CUDA_VISIBLE_DEVICES=2,3 one `%HOLD(third)` %M tony.worker.gpus=1", ""},
      {"until status %2 --json", "/delay~1 GPU of those with the numbers 2,3: 0 of 2 are free"},
      {"write go-first", ""},
      {"write go-second", ""},
      {"write go-third", ""},
      {"end 0", ""},
      {"end 1", ""},
      {"end 2", ""}}},
    {"JobsFindAndChooseGpusByTheNamesInMachineJson",
     {{"machine {\"memory_mb\":1000,\"gpus\":[\"GPU-1a\",\"MIG-2b\",\"MIG-3c\"]}", ""},
      {"& one `%HOLD(first)` %M tony.worker.gpus=2 tony.local.gpu-devices=MIG-3c,GPU-1", ""},
      {"until file runs-first-0", "out=GPU-1a,MIG-3c\n"},
      {"one `echo $CUDA_VISIBLE_DEVICES` %M tony.worker.gpus=1", ""},
      {"& CUDA_VISIBLE_DEVICES=MIG-3c one `%HOLD(second)` %M tony.worker.gpus=1", ""},
      {"until status %1 --json", "/delay~1 GPU of those with the numbers 2: 0 of 1 are free"},
      {"one true %M tony.worker.gpus=1 tony.local.gpu-devices=MIG-4d", "65 && err~\"MIG-4d\" is not a GPU"},
      {"write go-first", ""},
      {"until file runs-second-0", "out=MIG-3c\n"},
      {"write go-second", ""},
      {"end 0", ""},
      {"end 1", ""}}},
    // A task without the variables of its job is recognized by the keeper among its ancestors.
    {"AJobSubmittedByATaskIsRefusedIfTheSubmittedJobWouldHaveToWait",
     {{"one `%RUN 300m -- true; echo small $?; %RUN 500m -- true; echo large $?; env -i PATH=$PATH HOME=$HOME "
       "TONY_HOME=$TONY_HOME TONY_LEDGER=$TONY_LEDGER %RUN 500m -- true; echo bare $?` %S --logs",
       "out~\nsmall 0\n && out~\nlarge 69\n && out~\nbare 69\n && "
       "out~which waits for 500 MB of memory: 400 of 1000 MB are free; such a job is not queued"}}},
    // A task of the parent job (%1) submits the child job (%2). The parent waits as well, so it has no reservation yet.
    {"AQueuedChildJobFailsOnceItsQueuedParentJobStarts",
     {{"& one `%HOLD(first)` %S", ""},
      {"until file runs-first-0", "~\n"},
      {"& one `%HOLD(outer)` %S", ""},
      {"until status %1 --json", "/delay~waits for "},
      {"& TONY_JOB_ID=%1 one true %S", ""},
      {"until status %2 --json", "/delay~waits for "},
      {"write go-first", ""},
      {"end 2", "1 && out~a task of job %1 submits this job, which waits for 600 MB of memory"},
      {"write go-outer", ""},
      {"end 1", ""},
      {"end 0", ""}}},
    {"AJobWithoutGpusKeepsTheUsersCudaVisibleDevices",
     {{"one `echo $CUDA_VISIBLE_DEVICES` %M -shell_env CUDA_VISIBLE_DEVICES=7", ""},
      {"log worker-0 stdout", "out=7\n"}}},
};
TABLE_TEST(QueueTest, kQueue, [](TestRow row) {
  row.cases.insert(row.cases.begin(), {"machine {\"memory_mb\":1000,\"gpus\":[0,1,2,3]}", ""});
  for (RowCase& step : row.cases) {
    step.given = std::regex_replace(step.given, std::regex("%HOLD\\((\\w+)\\)"),
                                    "echo $$CUDA_VISIBLE_DEVICES > %B/runs-$1-$$TASK_INDEX; until [ -e %B/go-$1 ]; do "
                                    "sleep 0.02; done");
  }
  RunScriptWith(
      {{"%S", "tony.worker.memory=600m"}, {"%RUN", ProgramFolder() + "/tony run --framework standalone --memory"}},
      row);
});

class QueueDeathTest : public TonyTest {
 protected:
  QueueDeathTest() { box_.SetMachine(R"({"memory_mb":1000})"); }

  // A command that writes the file "runs-NAME-INDEX" and waits for Go(name).
  std::string Hold(const std::string& name) const {
    return "echo > " + box_.File("runs-" + name) + "-$TASK_INDEX; until [ -e " + box_.File("go-" + name) +
           " ]; do sleep 0.02; done";
  }
  void Go(const std::string& name) const { box_.Write("go-" + name, ""); }
  bool Runs(const std::string& name) const { return !ReadText(box_.File("runs-" + name + "-0")).empty(); }
  bool WaitUntilRuns(const std::string& name) const {
    return WaitFor([&] { return Runs(name); });
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

TEST_F(QueueDeathTest, KillingAllProcessesOfARunningJobLetsTheWaitingJobRun) {
  const auto first = box_.StartTony(Sixty(Hold("first")));
  ASSERT_TRUE(WaitUntilRuns("first")) << first->err();
  const auto second = box_.StartTony(Sixty(Hold("second")));
  ASSERT_TRUE(Waits(JobOf(*second)));
  const std::string job = JobOf(*first);
  // A living client would restart the keeper.
  first->Signal(SIGKILL);
  ASSERT_TRUE(WaitFor([&] {
    const auto left = PidsOf(job, "");
    for (const pid_t pid : left) kill(pid, SIGKILL);
    return left.empty();
  }));
  ASSERT_TRUE(WaitUntilRuns("second"));
  Go("second");
  ExpectSuccess(*second);
}

TEST_F(QueueDeathTest, TenWaitingJobsRunInTheOrderOfTheirSubmission) {
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

TEST_F(QueueDeathTest, AWaitingJobWhoseKeeperIsKilledKeepsItsQueuePosition) {
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

TEST_F(QueueDeathTest, ARunningJobWhoseKeeperIsKilledKeepsItsReservation) {
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

}  // namespace
}  // namespace tony
