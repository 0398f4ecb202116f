// Jobs whose AM cannot be kept running, or reports that no AM can lead the job.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/keeper/am_supervision.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_folder.h"
#include "tests/support/results.h"
#include "tests/unit/keeper/unreadable_job.h"

namespace tony {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(UnreadableJobTest, AJobWithADamagedJournalFailsOnlyAfterItsRunningTasksHaveEnded) {
  RunThenDamage(kBusy);
  EXPECT_EQ((*records_.ReadStatus())->verdict, std::nullopt);
  EXPECT_THAT(Marked("1-1"), ::testing::Not(IsEmpty()));
  EXPECT_EQ(Content("ams"), "1\n2\n") << "trying again would not help";
  std::ofstream(records_.place() / "go") << "";
  ASSERT_TRUE(KeeperEnded(keeper_));
  const JobStatus status = FinalStatus();
  EXPECT_EQ(status.state, "FAILED");
  EXPECT_EQ(status.verdict->cls, OutcomeClass::kInfra);
  EXPECT_EQ(status.verdict->message, "journal: damaged at byte 12");
  EXPECT_EQ(status.trouble, "");
  EXPECT_EQ(Content("ams"), "1\n2\n");
  EXPECT_THAT(OfJob(), IsEmpty());
}

TEST_F(UnreadableJobTest, AKillRequestForAJobWithADamagedJournalGivesTasksTheirGracePeriod) {
  RunThenDamage("trap 'echo asked >termed; exit 0' TERM; until [ -e go ]; do sleep 0.01; done & >ready; wait");
  ASSERT_TRUE(records_.WriteKill({"enough"}).ok());
  ASSERT_TRUE(KeeperEnded(keeper_));
  const JobStatus status = FinalStatus();
  EXPECT_EQ(status.state, "KILLED");
  EXPECT_EQ(status.verdict->message, "enough");
  EXPECT_EQ(Content("termed"), "asked\n") << "it was given its grace";
  EXPECT_THAT(OfJob(), IsEmpty());
}

TEST_F(UnreadableJobTest, AKillRequestWithoutGracePeriodKillsTasksThatIgnoreSigterm) {
  RunThenDamage("trap '' TERM; until [ -e go ]; do sleep 0.01; done & >ready; wait");
  ASSERT_TRUE(records_.WriteKill({"enough", Duration(0)}).ok());
  ASSERT_TRUE(KeeperEnded(keeper_));
  EXPECT_EQ(FinalStatus().state, "KILLED");
}

TEST_F(UnreadableJobTest, AKillRequestThatRequiresAnOwnerIsRefusedForAJobWithADamagedJournal) {
  RunThenDamage(kBusy);
  ASSERT_TRUE(records_.WriteKill({.reason = "late", .if_owner = {"o1"}}).ok());
  ASSERT_TRUE(WaitFor([&] { return records_.ReadKills()->empty(); }));
  EXPECT_THAT(Content("keeper.log"), testing::ContainsRegex("refused the kill request .* \\(late\\)"));
  std::ofstream(records_.place() / "go") << "";
  ASSERT_TRUE(KeeperEnded(keeper_));
  EXPECT_EQ(FinalStatus().state, "FAILED");
}

TEST_F(UnreadableJobTest, TheShorterGracePeriodOfTwoKillRequestsApplies) {
  RunThenDamage("trap '' TERM; until [ -e go ]; do sleep 0.01; done & >ready; wait");
  kill(keeper_, SIGSTOP);
  ASSERT_TRUE(records_.WriteKill({"patient", Duration(60'000)}).ok());
  ASSERT_TRUE(records_.WriteKill({"at once", Duration(0)}).ok());
  kill(keeper_, SIGCONT);
  ASSERT_TRUE(KeeperEnded(keeper_));
  EXPECT_EQ(FinalStatus().verdict->message, "at once");
}

TEST_F(UnreadableJobTest, AJobWithADamagedJournalFailsWithoutWaitingForAnExecutorThatHasNoTask) {
  RunThenDamage(">ready; exec sleep 1000");
  ASSERT_TRUE(KeeperEnded(keeper_));
  EXPECT_EQ(FinalStatus().state, "FAILED");
}

TEST_F(UnreadableJobTest, TheNextKeeperAlsoLetsTasksOfAJobWithADamagedJournalFinish) {
  RunThenDamage(kBusy);
  const auto before = Marked("1-1");
  KillKeeper(keeper_);
  keeper_ = StartKeeper();
  ASSERT_TRUE(WaitFor([&] { return Content("ams") == "1\n2\n3\n"; })) << "it has to ask one to know";
  std::ofstream(records_.place() / "go") << "";
  ASSERT_TRUE(KeeperEnded(keeper_));
  EXPECT_EQ(FinalStatus().verdict->message, "journal: damaged at byte 12");
  EXPECT_EQ(Content("ams"), "1\n2\n3\n");
}

TEST_F(UnreadableJobTest, AJobWithADamagedJournalAndNoContainersFailsAtOnce) {
  std::filesystem::remove(records_.place() / "good");
  ASSERT_TRUE(KeeperEnded(StartKeeper()));
  EXPECT_EQ(FinalStatus().verdict->message, "journal: damaged at byte 12");
}

class FailedCheckTest : public KeeperFixture {
 protected:
  FailedCheckTest()
      : KeeperFixture(
            "echo $2 >>$1/ams; echo 'now tony-am[7] error: internal error in job J: check failed: a == b (c.cc:1)' >&2;"
            "exit 79") {}
};

TEST_F(FailedCheckTest, AFailedInternalCheckInTheAmFailsTheJobWithoutARestartOfTheAm) {
  ASSERT_TRUE(KeeperEnded(StartKeeper()));
  EXPECT_EQ(Content("ams"), "1\n");
  const auto status = records_.ReadStatus();
  EXPECT_EQ((*status)->verdict->message, "internal error in job J: check failed: a == b (c.cc:1)");
  EXPECT_EQ((*status)->verdict->cls, OutcomeClass::kInfra);
}

class CrashLoopTest : public KeeperFixture {
 protected:
  CrashLoopTest() : KeeperFixture("echo $2 >>$1/ams; echo \"last words\" >&2; exit 70") {}
};

TEST_F(CrashLoopTest, AJobFailsIfAmCrashesUnderTwoKeepersReachTheLimit) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(keeper::RecordDeath(records_, {loop_.Now()}).ok());
  ASSERT_TRUE(KeeperEnded(StartKeeper()));
  EXPECT_EQ(Content("ams"), "1\n");
  const auto status = records_.ReadStatus();
  EXPECT_EQ((*status)->verdict->message,
            "the application master crashed 5 times within 5 min; the last cause: exit code 70");
  EXPECT_THAT((*status)->verdict->stderr_tail, HasSubstr("last words"));
  EXPECT_THAT(keeper::ReadDeaths(records_), SizeIs(5));
}

TEST_F(CrashLoopTest, TheNextKeeperStartsNoAmForAJobThatHasAVerdict) {
  JobStatus status;
  status.job = records_.job();
  status.state = "FAILED";
  status.verdict = Verdict{.state = FinalState::kFailed};
  ASSERT_TRUE(records_.WriteStatus(status, Durability::kLostWithPower).ok());
  ASSERT_TRUE(KeeperEnded(StartKeeper()));
  EXPECT_EQ(Content("ams"), "") << "what the world was told stays so";
  EXPECT_TRUE(std::filesystem::exists(JobFolder(records_).finished()));
}

using KilledAmTest = KeeperFixture;

TEST_F(KilledAmTest, AJobSurvivesEightExternalKillsOfItsAm) {
  const pid_t keeper = StartKeeper();
  std::string ams;
  for (int epoch = 1; epoch <= 8; ++epoch) {
    ams += StrCat(epoch, "\n");
    ASSERT_TRUE(WaitFor([&] { return Content("ams") == ams; }));
    KillAm();
  }
  EXPECT_FALSE(keepers_[keeper]);
}

TEST_F(KilledAmTest, AnAmSuspendedBySigstopIsKilledAndReplaced) {
  SetLimits({"QUICK_KEEPER_SILENCE=3000"});
  StartKeeper();
  const auto stopped = Ams();
  SignalAll(stopped, SIGSTOP);
  ASSERT_TRUE(WaitFor([&] { return Content("ams").starts_with("1\n2\n"); }));
  SignalAll(stopped, SIGCONT);
  const auto now = ProcessesWithEnvironment("TONY_AM=" + records_.job().value);
  EXPECT_TRUE(std::ranges::none_of(now, [&](pid_t pid) { return pid == stopped[0]; })) << "it cannot wake";
}

TEST_F(KilledAmTest, AnOrphanedAmOfADeadKeeperIsKilledBeforeTheNextAmStarts) {
  const auto lock = Must(JobFolder(records_).Lock("am.lock"));
  ProcessSpec lost{{"/bin/sleep", "1000"}, {"TONY_AM=" + records_.job().value}, "/", "", ""};
  std::optional<ExitStatus> ended;
  ASSERT_TRUE(runner_.Start(lost, [&](ExitStatus status) { ended = status; }).ok());
  StartKeeper();
  EXPECT_TRUE(WaitFor([&] { return ended.has_value(); }));
  EXPECT_TRUE(WaitForFile("ams"));
}

}  // namespace
}  // namespace tony
