// Any process may die or hang at any moment, alone or together with another one: the verdict is the same, and no
// attempt runs twice.
#include <tuple>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class LivenessTest : public TonyTest {
 protected:
  // Starts two workers that append each start to a file. A killed program counts as a failure of the program, so the
  // gang has a restart budget.
  void StartJob(const Words& more = {}) {
    const std::string note = "echo $TASK_INDEX $TONY_ATTEMPT >> " + box_.File("starts") + "; ";
    client_ =
        Hold(Workers(2, note + HoldUntilGo(), {"tony.restart.gang.budget=5", "tony.restart.backoff-ms=10"}) + more, 2);
  }
  std::vector<pid_t> Victims(const std::string& what) const {
    if (what == "task") return {static_cast<pid_t>(std::stoi(ReadText(Running("worker-0"))))};
    const std::vector<pid_t> pids = box_.Pids(what);
    return pids.empty() ? pids : std::vector<pid_t>{pids.front()};
  }
  void ExpectNoAttemptTwice() const {
    std::ifstream starts(box_.File("starts"));
    std::multiset<std::string> seen;
    for (std::string line; std::getline(starts, line);) seen.insert(line);
    for (const std::string& start : seen) EXPECT_EQ(seen.count(start), 1u) << "task and attempt " << start;
  }
  void ExpectSuccess() {
    const Ran ran = client_->Wait();
    EXPECT_EQ(ran.exit, 0) << ran.err << ran.out << ReadText(box_.JobFolder(Job()) / "keeper.log");
    ExpectNoAttemptTwice();
    ExpectNothingLeft();
  }

  std::unique_ptr<Background> client_;
};

using Two = std::tuple<std::string, std::string>;
class AnyTwoTest : public LivenessTest, public testing::WithParamInterface<Two> {};

std::string NameOfTwo(const testing::TestParamInfo<Two>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param);
  std::erase(name, '-');
  return name;
}

TEST_P(AnyTwoTest, TheJobSucceedsWhenTwoProcessesAreKilledAtTheSameMoment) {
  StartJob();
  std::vector<pid_t> victims = Victims(std::get<0>(GetParam()));
  for (const pid_t pid : Victims(std::get<1>(GetParam()))) victims.push_back(pid);
  ASSERT_FALSE(victims.empty());
  SignalAll(victims, SIGKILL);
  Go();
  ExpectSuccess();
}

INSTANTIATE_TEST_SUITE_P(Pairs, AnyTwoTest,
                         testing::Values(Two("task", "task"), Two("tony-executor", "tony-executor"),
                                         Two("tony-am", "tony-am"), Two("tony-keeper", "tony-keeper"),
                                         Two("task", "tony-executor"), Two("task", "tony-am"),
                                         Two("task", "tony-keeper"), Two("tony-executor", "tony-am"),
                                         Two("tony-executor", "tony-keeper"), Two("tony-am", "tony-keeper")),
                         NameOfTwo);

class WhileStartingTest : public LivenessTest, public testing::WithParamInterface<Two> {};

// Kills the first program. As soon as its successor exists, kills the successor and the second program.
TEST_P(WhileStartingTest, TheJobSucceedsWhenAReplacementProcessIsKilledTogetherWithAnotherProcess) {
  StartJob();
  const std::string first = std::get<0>(GetParam()), second = std::get<1>(GetParam());
  const std::vector<pid_t> old = box_.Pids(first);
  ASSERT_FALSE(old.empty());
  kill(old.front(), SIGKILL);
  std::vector<pid_t> victims;
  ASSERT_TRUE(WaitFor([&] {
    for (const pid_t pid : box_.Pids(first))
      if (std::ranges::find(old, pid) == old.end()) victims.push_back(pid);
    return !victims.empty();
  })) << client_->err();
  for (const pid_t pid : Victims(second)) victims.push_back(pid);
  SignalAll(victims, SIGKILL);
  Go();
  ExpectSuccess();
}

INSTANTIATE_TEST_SUITE_P(Pairs, WhileStartingTest,
                         testing::Values(Two("tony-am", "tony-keeper"), Two("tony-am", "tony-executor"),
                                         Two("tony-am", "task"), Two("tony-keeper", "tony-am"),
                                         Two("tony-keeper", "tony-executor"), Two("tony-keeper", "task"),
                                         Two("tony-executor", "tony-am"), Two("tony-executor", "tony-keeper")),
                         NameOfTwo);

TEST_F(LivenessTest, TheJobSucceedsAfterKeeperAndMasterWereKilledTogetherSevenTimes) {
  StartJob();
  for (int round = 0; round < 7; ++round) {
    ASSERT_TRUE(WaitFor([&] { return Reachable(); })) << client_->err();
    std::vector<pid_t> victims = box_.Pids("tony-keeper");
    for (const pid_t pid : box_.Pids("tony-am")) victims.push_back(pid);
    // All processes are stopped first. Otherwise the process that dies later might restart the other one.
    SignalAll(victims, SIGSTOP);
    SignalAll(victims, SIGKILL);
    ASSERT_TRUE(WaitFor([&] {
      for (const char* program : {"tony-keeper", "tony-am"})
        for (const pid_t pid : box_.Pids(program))
          if (std::ranges::find(victims, pid) != victims.end()) return false;
      return true;
    }));
  }
  Go();
  ExpectSuccess();
}

TEST_F(LivenessTest, TwoSimultaneousWaitCommandsRestartOnlyOneKeeper) {
  StartJob();
  client_->Signal(SIGKILL);
  client_->Wait();
  for (const char* program : {"tony-keeper", "tony-am"}) SignalAll(program, SIGSTOP);
  for (const char* program : {"tony-keeper", "tony-am"}) SignalAll(program, SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return box_.Pids("tony-keeper").empty() && box_.Pids("tony-am").empty(); }));
  const auto other = box_.StartTony({"wait", Job()});
  client_ = box_.StartTony({"wait", Job()});
  ASSERT_TRUE(WaitFor([&] { return Reachable(); })) << client_->err() << other->err();
  EXPECT_EQ(box_.Pids("tony-am").size(), 1u);
  EXPECT_TRUE(WaitFor([&] { return box_.Pids("tony-keeper").size() == 1u; })) << "the second leaves";
  GoAndEnd(*other);
  ExpectSuccess();
  EXPECT_EQ(ReadText(box_.JobFolder(Job()) / "epoch"), "2\n");
}

TEST_F(LivenessTest, AMasterWhoseKeeperIsPausedLosesItsLeaseUntilTheKeeperContinues) {
  StartJob(Conf("tony.am.lease-ms=700"));
  const std::vector<pid_t> keeper = box_.Pids("tony-keeper");
  SignalAll(keeper, SIGSTOP);
  EXPECT_TRUE(WaitFor([&] { return !Reachable(); })) << "it rules on without its arbiter";
  SignalAll(keeper, SIGCONT);
  EXPECT_TRUE(WaitFor([&] { return Reachable(); }));
  Go();
  ExpectSuccess();
  EXPECT_EQ(ReadText(box_.JobFolder(Job()) / "epoch"), "1\n");
}

// The AM is stopped for longer than all timers of its executors, and then continues: no task is restarted, and nothing
// is done twice.
TEST_F(LivenessTest, AMasterPausedForLongerThanTheLostTimeoutDoesNotRestartTasks) {
  StartJob(Confs({"tony.am.lease-ms=700", "tony.task.heartbeat-interval-ms=100", "tony.task.record-fresh-ms=500",
                  "tony.task.cutoff-after-ms=2200", "tony.task.stop-grace-ms=500", "tony.task.lost-after-ms=7800"}));
  const std::string before = ReadText(Running("worker-0")) + ReadText(Running("worker-1"));
  const std::vector<pid_t> am = box_.Pids("tony-am");
  SignalAll(am, SIGSTOP);
  // The pause is longer than tony.task.lost-after-ms.
  WaitFor([] { return false; }, Limit(8200));
  SignalAll(am, SIGCONT);
  ASSERT_TRUE(WaitFor([&] { return Reachable(); })) << client_->err();
  EXPECT_EQ(ReadText(Running("worker-0")) + ReadText(Running("worker-1")), before);
  Go();
  ExpectSuccess();
  EXPECT_THAT(client_->err(), testing::Not(HasSubstr("restart ")));
}

// The keeper is dead and its AM hangs, so neither restarts the other. The waiting client notices that.
TEST_F(LivenessTest, AKilledKeeperIsReplacedEvenIfItsMasterHangs) {
  StartJob();
  const std::vector<pid_t> am = box_.Pids("tony-am");
  SignalAll(am, SIGSTOP);
  SignalAll("tony-keeper", SIGKILL);
  ASSERT_TRUE(WaitFor([&] {
    const std::vector<pid_t> now = box_.Pids("tony-am");
    return !now.empty() && std::ranges::find(now, am.front()) == now.end();
  })) << client_->err();
  Go();
  ExpectSuccess();
}

// A stopped process holds the keeper's lock and its reservation in the ledger. The client that waits for the keeper
// ends that process, and reports it.
TEST_F(LivenessTest, AKillReplacesAKeeperStoppedBySigstopAndEndsTheJob) {
  StartJob();
  const std::string keeper = "process " + std::to_string(box_.Pids("tony-keeper").front()) + " (tony-keeper)";
  SignalAll("tony-keeper", SIGSTOP);
  constexpr Limit kReplaced(90'000);  // three times the promised time
  const Ran killed = box_.StartTony({"kill", Job()})->Wait(kReplaced);
  EXPECT_EQ(killed.exit, 0) << killed.err;
  EXPECT_THAT(killed.err, HasAll({"waits for the keeper of job " + Job() + ", " + keeper, "stopped (state T)"}));
  Ends(*client_, 1);
  ExpectNothingLeft();
}

class DamagedJournalTest : public LivenessTest {
 protected:
  // Starts a job, waits until both tasks run, and replaces the AM by a new one, which finds its journal damaged in the
  // middle.
  void StartAndDamage() {
    StartJob();
    ASSERT_TRUE(WaitFor([&] { return client_->err().find("job running") != std::string::npos; }));
    for (const char* program : {"tony-keeper", "tony-am"}) SignalAll(program, SIGSTOP);
    SignalAll("tony-am", SIGKILL);
    {
      std::fstream journal(box_.JobFolder(Job()) / "journal", std::ios::in | std::ios::out | std::ios::binary);
      ASSERT_TRUE(journal);
      journal.seekp(40);
      journal.put('\x7f');
    }
    SignalAll("tony-keeper", SIGCONT);
    ASSERT_TRUE(WaitFor([&] { return client_->err().find("degraded: ") != std::string::npos; })) << client_->err();
  }
};

TEST_F(DamagedJournalTest, ADamagedJournalIsReportedDuringTheJobAndInTheVerdict) {
  StartAndDamage();
  EXPECT_THAT(client_->err(), HasSubstr("damaged at byte "));
  EXPECT_THAT(box_.Tony({"status", Job()}).out, HasSubstr("  degraded: "));
  for (const char* task : {"worker-0", "worker-1"}) EXPECT_EQ(kill(std::stoi(ReadText(Running(task))), 0), 0);
  Go();
  const Ran ran = Ends(*client_, 1);
  EXPECT_THAT(ran.out, HasSubstr("damaged at byte "));
  const auto status = Status();
  ExpectJson(status, {{"/state", "FAILED"}, {"/verdict/class", "infra"}});
  EXPECT_EQ(Text(status, "/tasks/0/attempt_state"), "succeeded") << "what the task did is not lost";
  EXPECT_FALSE(ReadText(box_.JobFolder(Job()) / "journal").empty()) << "nothing is deleted";
  ExpectNoAttemptTwice();
  ExpectNothingLeft();
}

TEST_F(DamagedJournalTest, AKillEndsAJobWhoseJournalIsDamaged) {
  StartAndDamage();
  const Ran ran = Succeeds({"kill", Job(), "--reason", "no use"});
  EXPECT_THAT(ran.out, HasSubstr("KILLED: no use"));
  Ends(*client_, 1);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
