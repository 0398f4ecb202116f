// Jobs that share one machine's ledger.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class LedgerTest : public TonyTest {
 protected:
  LedgerTest() { box_.SetMachine(R"({"memory_mb":1000,"gpus":[0,1]})"); }

  Words Sixty(const std::string& command) const { return One(command, {"tony.worker.memory=600m"}); }

  // Appends to the file "turns" when it begins and when it ends.
  std::string TakesATurn() const {
    const std::string turns = box_.File("turns");
    return "echo begin >> " + turns + "; sleep 0.1; echo end >> " + turns;
  }
  json::value Queue() const { return ParseJson(box_.Tony({"list", "--queue", "--json"}).out); }
  size_t Jobs(const std::string& state) const {
    size_t count = 0;
    const json::value queue = Queue();
    for (const auto& job : queue.at("jobs").as_array()) count += job.at("state").as_string() == state;
    return count;
  }
};

TEST_F(LedgerTest, AnAskBeyondTheMachineIsRefusedWithBothNumbersBeforeAnythingStarts) {
  const Ran ran = Fails(65, Workers(3, "true", {"tony.worker.memory=500m"}));
  EXPECT_EQ(ran.err,
            "tony: the job asks for 1500 MB of memory (3 tasks: worker 3 x 500 MB), this machine has 1000 MB; set "
            "tony.worker.memory or tony.worker.instances\n");
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_THAT(box_.Jobs(), IsEmpty());
}

TEST_F(LedgerTest, MoreGpusThanTheMachineHasAreRefusedToo) {
  const Ran ran = Fails(65, One("true", {"tony.worker.memory=1m", "tony.worker.gpus=3"}));
  EXPECT_THAT(ran.err, HasSubstr("asks for 3 GPUs (1 task: worker 1 x 3), this machine has 2; set tony.worker.gpus"));
}

TEST_F(LedgerTest, PlanWarnsOfWhatSubmitWouldRefuse) {
  Words words = Workers(3, "true", {"tony.worker.memory=500m"});
  words[0] = "plan";
  const Ran ran = Succeeds(words);
  EXPECT_THAT(ran.err, HasSubstr("tony: warning: the job asks for 1500 MB of memory"));
}

TEST_F(LedgerTest, JobsOfSixtyPercentTakeTurns) {
  std::vector<std::unique_ptr<Background>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(box_.StartTony(Sixty(TakesATurn())));
  for (const auto& client : clients) Ends(*client);
  EXPECT_EQ(ReadText(box_.File("turns")), "begin\nend\nbegin\nend\nbegin\nend\n");
  EXPECT_EQ(Queue().at("jobs").as_array().size(), 0u);
  ExpectNothingLeft();
}

TEST_F(LedgerTest, TheQueueShowsWhoRunsWhoWaitsAndWhy) {
  const auto first = Hold(Sixty(HoldUntilGo()));
  const auto second = box_.StartTony(Sixty("true"));
  ASSERT_TRUE(WaitFor([&] { return Jobs("waiting") == 1; })) << second->err();
  const json::value queue = Queue();
  EXPECT_EQ(queue.at("ledger").as_string(), box_.ledger().string());
  EXPECT_FALSE(queue.at("private").as_bool());
  EXPECT_EQ(queue.at("machine").at("memory_mb").as_int64(), 1000);
  EXPECT_EQ(queue.at("free").at("memory_mb").as_int64(), 400);
  const auto& jobs = queue.at("jobs").as_array();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].at("state").as_string(), "running");
  EXPECT_EQ(jobs[1].at("position").as_int64(), 2);
  EXPECT_EQ(jobs[1].at("memory_mb").as_int64(), 600);
  EXPECT_EQ(jobs[1].at("why").as_string(), "waits for 600 MB of memory: 400 of 1000 MB are free");
  EXPECT_THAT(box_.Tony({"list", "--queue"}).out, HasAll({"400 of 1000 MB of memory", "running", "waits for 600 MB"}));
  const std::string listed = box_.Tony({"list"}).out;
  EXPECT_THAT(listed, testing::ContainsRegex("^JOB +STATE +QUEUE  "));
  EXPECT_THAT(listed, testing::ContainsRegex("\nlocal-[^ ]+  (ALLOCATING|ACCEPTED) +1 of 1  "));
  GoAndEnd(*first);
  Ends(*second);
}

TEST_F(LedgerTest, AJobThatWaitsCanBeKilledAndLeavesTheQueue) {
  const auto first = Hold(Sixty(HoldUntilGo()));
  const auto second = box_.StartTony(Sixty("true"));
  ASSERT_TRUE(WaitFor([&] { return Jobs("waiting") == 1; }));
  second->Signal(SIGINT);
  Ends(*second, 130);
  EXPECT_EQ(Jobs("waiting"), 0u);
  EXPECT_EQ(Jobs("running"), 1u);
  GoAndEnd(*first);
}

TEST_F(LedgerTest, AfterEverythingWasKilledTheNextJobHasTheMachine) {
  auto first = Hold(Sixty(HoldUntilGo()));
  auto second = box_.StartTony(Sixty("true"));
  ASSERT_TRUE(WaitFor([&] { return Jobs("waiting") == 1; }));
  ASSERT_TRUE(WaitFor([&] {
    const std::vector<Process> left = box_.Processes();
    for (const Process& process : left) kill(process.pid, SIGKILL);
    return left.empty();
  }));
  EXPECT_EQ(Queue().at("jobs").as_array().size(), 0u);
  EXPECT_GE(Queue().at("dead").as_int64(), 1);
  Succeeds(One("true", {"tony.worker.memory=1000m"}));
  EXPECT_EQ(Queue().at("dead").as_int64(), 0);
}

TEST_F(LedgerTest, AnEmptyQueueSaysWhatIsFree) {
  const Ran ran = Succeeds({"list", "--queue"});
  EXPECT_EQ(ran.out, "1000 of 1000 MB of memory and 2 of 2 GPUs are free\nno jobs\n");
}

TEST_F(LedgerTest, ARelativeLedgerIsRefused) {
  const Ran ran = Fails(65, One("true"), {{"TONY_LEDGER", "here"}});
  EXPECT_THAT(ran.err, HasSubstr("TONY_LEDGER=here: expected an absolute path"));
}

TEST_F(LedgerTest, ALedgerThatCannotBeMadeIsRefusedByItsPath) {
  const Ran ran = Fails(73, One("true"), {{"TONY_LEDGER", "/proc/no/ledger"}});
  EXPECT_THAT(ran.err, HasSubstr("/proc/no"));
  EXPECT_THAT(box_.Jobs(), IsEmpty());
}

TEST_F(LedgerTest, AMachineFileThatCannotBeReadIsSaidAndLeftOut) {
  box_.SetMachine("{");
  const Ran ran = Succeeds(One("true", {LittleMemory()}));
  EXPECT_THAT(ran.err, HasSubstr("machine.json is left out: "));
}

TEST_F(LedgerTest, ARefusalSaysThatTheMachineFileIsLeftOut) {
  box_.SetMachine("{");
  const Ran ran = Fails(65, One("true", {"tony.worker.memory=100000g"}));
  EXPECT_THAT(ran.err, HasSubstr("machine.json is left out: "));
}

TEST_F(LedgerTest, TheDoctorFindsNothingInTheWayHere) {
  const Ran ran = Succeeds({"doctor", "--json"});
  const json::value report = ParseJson(ran.out);
  EXPECT_TRUE(report.at("healthy").as_bool());
  std::vector<std::string> names;
  for (const auto& check : report.at("checks").as_array()) {
    names.emplace_back(check.at("name").as_string());
    EXPECT_NE(check.at("health").as_string(), "fail") << check;
  }
  EXPECT_THAT(names, ElementsAre("home", "old jobs", "ledger", "machine", "queue", "defaults", "memory limits",
                                 "open files", "processes", "inotify", "programs", "service"));
  EXPECT_FALSE(fs::exists(box_.home() / "jobs"));  // it only looks
}

TEST_F(LedgerTest, TheDoctorSaysWhatAnOrdinaryTaskNeedsWhereItDoesNotFit) {
  const Ran ran = box_.Tony({"doctor"});
  EXPECT_THAT(ran.out, HasAll({"warn  defaults: a task asks for 2048 MB unless told otherwise; 0 fit here",
                               "-> state what a task needs: -conf tony.worker.memory=512m"}));
}

TEST_F(LedgerTest, TheDoctorFailsWhereNoJobCanRun) {
  const std::string file = box_.Write("file", "");
  const Ran home = Fails(1, {"doctor"}, {{"TONY_HOME", file + "/home"}});
  EXPECT_THAT(home.out, AllOf(StartsWith("fail  home: " + file), HasSubstr("-> set TONY_HOME")));
  const Ran ledger = Fails(1, {"doctor"}, {{"TONY_LEDGER", "relative"}});
  EXPECT_THAT(ledger.out, HasSubstr("fail  ledger: TONY_LEDGER=relative"));
}

}  // namespace
}  // namespace tony
