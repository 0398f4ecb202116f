#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/history/history_files.h"
#include "runtime/keeper/lost_job.h"
#include "runtime/os/file_system.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class FinalStatusTest : public ::testing::Test {
 protected:
  FinalStatusTest() {
    NewJob job;
    RoleSpec worker;
    worker.name = "worker";
    worker.instances = 2;
    worker.command = "true";
    job.spec.name = "demo";
    job.spec.roles = {worker};
    auto folder = LocalJobStore(temp_.path()).Create(job, now_);
    EXPECT_TRUE(folder.ok());
    records_ = *folder;
  }

  TempFolder temp_;
  const Instant now_ = FromMillis(1795253415000);
  JobRecords records_ = LocalJobRecords("");
};

TEST_F(FinalStatusTest, TheFinalStatusOfAJobWithoutAStatusIsMadeFromTheJobsSpec) {
  std::ofstream(records_.place() / "am.log") << std::string(10'000, '.') << "terminate called";
  const auto status = Must(EndedStatus(records_, InfraVerdict(records_, "crashed 5 times"), now_));
  EXPECT_EQ(status.job, records_.job());
  EXPECT_EQ(status.name, "demo");
  EXPECT_EQ(status.state, "FAILED");
  EXPECT_EQ(status.submitted, now_);
  EXPECT_EQ(status.ended, now_);
  ASSERT_TRUE(status.verdict);
  EXPECT_EQ(status.verdict->cls, OutcomeClass::kInfra);
  EXPECT_EQ(status.verdict->state, FinalState::kFailed);
  EXPECT_EQ(status.verdict->message, "crashed 5 times");
  EXPECT_THAT(status.verdict->stderr_tail, EndsWith("terminate called"));
  ASSERT_THAT(status.tasks, SizeIs(2));
  EXPECT_EQ(status.tasks[1].id, (TaskId{"worker", 1}));
  EXPECT_EQ(status.tasks[1].state, "done");
}

TEST_F(FinalStatusTest, TheFinalStatusShowsActiveTasksAsFailedAndEndedTasksUnchanged) {
  JobStatus last;
  last.job = records_.job();
  last.state = "RUNNING";
  last.seq = 41;
  TaskStatus active{{"worker", 0}, "active", 2, "running"};
  active.pid = 4711;
  TaskStatus done{{"worker", 1}, "done", 1, "succeeded"};
  done.outcome = Outcome{};
  last.tasks = {active, done};
  ASSERT_TRUE(records_.WriteStatus(last, Durability::kLostWithPower).ok());
  const auto status = Must(EndedStatus(records_, InfraVerdict(records_, "why"), now_));
  EXPECT_EQ(status.seq, 42);
  EXPECT_EQ(status.tasks[0].state, "done");
  EXPECT_EQ(status.tasks[0].attempt_state, "failed");
  EXPECT_EQ(status.tasks[0].pid, 0);
  EXPECT_EQ(status.tasks[0].outcome->cls, OutcomeClass::kInfra);
  EXPECT_EQ(status.tasks[1].attempt_state, "succeeded");
  EXPECT_TRUE(status.tasks[1].outcome->Succeeded());
}

TEST_F(FinalStatusTest, OutcomesSavedByExecutorsAreInTheDegradedStatusAndInTheFinalStatus) {
  JobStatus last;
  last.job = records_.job();
  last.state = "RUNNING";
  last.seq = 7;
  last.tasks = {{{"worker", 0}, "active", 2, "running"}, {{"worker", 1}, "active", 1, "running"}};
  ASSERT_TRUE(records_.WriteStatus(last, Durability::kLostWithPower).ok());
  std::filesystem::create_directories(AttemptFolder(records_.place(), {{"worker", 0}, 2}).logs);
  const Outcome three{OutcomeClass::kUserError, ExitStatus{ExitStatus::Kind::kExited, 3}, "", ""};
  ASSERT_TRUE(AttemptFolder(records_.place(), {{"worker", 0}, 2}).WriteOutcome(three).ok());
  const auto troubled = Must(DegradedStatus(records_, "journal: damaged"));
  EXPECT_EQ(troubled.trouble, "journal: damaged");
  EXPECT_EQ(troubled.state, "RUNNING");
  EXPECT_FALSE(troubled.verdict);
  EXPECT_EQ(troubled.seq, 8);
  EXPECT_EQ(troubled.tasks[0].outcome, three);
  EXPECT_EQ(troubled.tasks[1].attempt_state, "running");
  ASSERT_TRUE(records_.WriteStatus(troubled, Durability::kLostWithPower).ok());
  const auto ended = Must(EndedStatus(records_, {.state = FinalState::kFailed, .cls = OutcomeClass::kNodeLost}, now_));
  EXPECT_EQ(ended.trouble, "");
  EXPECT_EQ(ended.seq, 9);
  EXPECT_EQ(ended.tasks[0].outcome, three);
  EXPECT_EQ(ended.tasks[1].attempt_state, "lost");
  EXPECT_EQ(ended.tasks[1].outcome->cls, OutcomeClass::kNodeLost);
}

TEST_F(FinalStatusTest, AttemptsMissingInTheLastStatusAreAddedFromTheirLogFolders) {
  std::filesystem::create_directories(AttemptFolder(records_.place(), {{"worker", 1}, 2}).logs);
  ASSERT_TRUE(AttemptFolder(records_.place(), {{"worker", 1}, 2}).WriteOutcome({}).ok());
  std::filesystem::create_directories(AttemptFolder(records_.place(), {{"worker", 0}, 1}).logs);
  const auto status = Must(EndedStatus(records_, InfraVerdict(records_, "why"), now_));
  EXPECT_EQ(status.tasks[0].attempt_state, "failed");
  EXPECT_EQ(status.tasks[1].attempt, 2);
  EXPECT_EQ(status.tasks[1].attempt_state, "succeeded");
}

TEST_F(FinalStatusTest, TheFinalStatusKeepsAVerdictThatTheLastStatusAlreadyHas) {
  JobStatus last;
  last.job = records_.job();
  last.state = "SUCCEEDED";
  last.verdict = Verdict{};
  ASSERT_TRUE(records_.WriteStatus(last, Durability::kLostWithPower).ok());
  EXPECT_EQ(EndedStatus(records_, InfraVerdict(records_, "why"), now_)->state, "SUCCEEDED");
}

TEST_F(FinalStatusTest, TheFinalStatusIsMadeEvenIfTheRecordsOfSpecAndStatusAreDamaged) {
  std::ofstream(records_.place() / "spec.json") << "{";
  std::ofstream(records_.place() / "status.json") << "{";
  const auto status = Must(EndedStatus(records_, InfraVerdict(records_, "why"), now_));
  EXPECT_EQ(status.verdict->message, "why");
}

// ---- lost job

class LostJobTest : public ::testing::Test {
 protected:
  LostJobTest() {
    NewJob job;
    job.spec.roles = {{.name = "worker", .command = "true"}};
    job.spec.history_folder = temp_.path() / "tony";
    auto folder = LocalJobStore(temp_.path()).Create(job, RealClock().Now());
    EXPECT_TRUE(folder.ok());
    records_ = *folder;
  }
  void Restart() const { std::ofstream(records_.place() / "boot-id") << "another\n"; }

  TempFolder temp_;
  JobRecords records_ = LocalJobRecords("");
};

TEST_F(LostJobTest, AJobStartedSinceTheMachinesLastBootIsNotLost) {
  EXPECT_FALSE(IsLost(records_));
  ASSERT_TRUE(JobFolder(records_).WriteBoot(BootId()).ok());
  EXPECT_FALSE(IsLost(records_));
  ASSERT_TRUE(FinalizeIfLost(records_).ok());
  EXPECT_FALSE(records_.ReadStatus()->has_value());
}

TEST_F(LostJobTest, AJobStartedBeforeTheMachinesLastBootIsLost) {
  Restart();
  ASSERT_TRUE(IsLost(records_));
  const auto status = Must(LostStatus(records_));
  EXPECT_EQ(status.state, "FAILED");
  EXPECT_EQ(status.verdict->cls, OutcomeClass::kNodeLost);
  EXPECT_THAT(status.verdict->message, StartsWith("the machine was restarted at "));
  EXPECT_THAT(status.verdict->message, HasSubstr(" while the job ran"));
  EXPECT_GE(*status.ended, status.submitted);
  EXPECT_FALSE(records_.ReadStatus()->has_value()) << "nothing is written";
}

TEST_F(LostJobTest, FinalizingALostJobWritesItsFinalStatus) {
  Restart();
  ASSERT_TRUE(FinalizeIfLost(records_).ok());
  EXPECT_EQ((*records_.ReadStatus())->state, "FAILED");
  EXPECT_TRUE(std::filesystem::exists(JobFolder(records_).finished()));
}

TEST_F(LostJobTest, TheHistoryFileNameOfALostJobContainsTheStateFailed) {
  ASSERT_TRUE(BeginHistory(records_).ok());
  Restart();
  ASSERT_TRUE(FinalizeIfLost(records_).ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(**HistoryFolder(records_)))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("tony-final.xml", ::testing::EndsWith("-FAILED.jhist")));
}

TEST_F(LostJobTest, AJobWhoseKeeperLockOrAmLockIsHeldIsNotLost) {
  Restart();
  for (const char* name : {"keeper.lock", "am.lock"}) {
    const auto lock = Must(JobFolder(records_).Lock(name));
    EXPECT_FALSE(IsLost(records_)) << name;
    ASSERT_TRUE(FinalizeIfLost(records_).ok());
  }
  EXPECT_FALSE(records_.ReadStatus()->has_value());
}

class OlderFolderTest : public LostJobTest {
 protected:
  // Replaces the text `replace` in submission.json by `with`.
  void Edit(const std::string& replace, const std::string& with) const {
    const auto path = records_.place() / "submission.json";
    std::ifstream in(path);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const size_t at = text.find(replace);
    ASSERT_NE(at, std::string::npos) << text;
    std::ofstream(path) << text.replace(at, replace.size(), with);
  }
};

TEST_F(OlderFolderTest, AJobFolderWithoutARecordedBootIdIsNotTreatedAsLost) {
  Edit(StrCat("\"boot\":\"", BootId(), "\""), "\"later\":1");
  ASSERT_TRUE(records_.ReadSubmission().ok());
  EXPECT_FALSE(IsLost(records_));
}

TEST_F(OlderFolderTest, ABootIdRecordedByAKeeperOverridesTheBootIdOfTheSubmission) {
  Edit(BootId(), "another");
  EXPECT_TRUE(IsLost(records_));
  ASSERT_TRUE(JobFolder(records_).WriteBoot(BootId()).ok());
  EXPECT_FALSE(IsLost(records_)) << "a keeper of this boot has it";
}

TEST_F(OlderFolderTest, AJobOfAnotherMachineIsNotTreatedAsLost) {
  Edit(StrCat("\"host\":\"", HostName(), "\""), "\"host\":\"elsewhere\"");
  Restart();
  EXPECT_FALSE(IsLost(records_));
}

// ---- unwritten end

JobStatus Killed(const std::string& job) {
  JobStatus status{.job = {job}, .state = "KILLED", .ended = FromMillis(1'700'000'000'000)};
  status.verdict = Verdict{.state = FinalState::kKilled, .cls = OutcomeClass::kKilled, .message = "enough"};
  status.tasks.push_back({{"worker", 0}, "active"});
  return status;
}

class UnwrittenEndTest : public testing::Test {
 protected:
  const TempFolder ledger_{MemoryFolder()};
};

TEST_F(UnwrittenEndTest, AFinalStatusSavedInTheLedgerFolderIsFoundOnlyUnderItsOwnJobId) {
  ASSERT_TRUE(KeepUnwrittenEnd(ledger_.path(), Killed("local-1")).ok());
  const auto found = FindUnwrittenEnd(ledger_.path(), {"local-1"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->verdict->message, "enough");
  EXPECT_FALSE(FindUnwrittenEnd(ledger_.path(), {"local"}));
  EXPECT_FALSE(FindUnwrittenEnd(ledger_.path(), {"local-10"}));
  ForgetUnwrittenEnd(ledger_.path(), {"local-10"});
  EXPECT_TRUE(FindUnwrittenEnd(ledger_.path(), {"local-1"}));
  ForgetUnwrittenEnd(ledger_.path(), {"local-1"});
  EXPECT_TRUE(std::filesystem::is_empty(ledger_.path()));
}

TEST_F(UnwrittenEndTest, SavedFilesWithoutAValidFinalStatusAreIgnored) {
  std::ofstream(ledger_.path() / ".end-local-1.0") << "{";
  std::filesystem::create_directory(ledger_.path() / ".end-local-1.1");
  std::ofstream(ledger_.path() / ".end-local-1.2") << ToJson(Killed("local-2"));
  JobStatus running = Killed("local-1");
  running.verdict.reset();
  std::ofstream(ledger_.path() / ".end-local-1.3") << ToJson(running);
  EXPECT_FALSE(FindUnwrittenEnd(ledger_.path(), {"local-1"}));
  EXPECT_FALSE(FindUnwrittenEnd(ledger_.path() / "nowhere", {"local-1"}));
}

TEST_F(UnwrittenEndTest, ASavedFinalStatusOfAnotherUserIsIgnored_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs to be root, to make another user's file";
  const auto file = Must(KeepUnwrittenEnd(ledger_.path(), Killed("local-1")));
  ASSERT_EQ(chown(file.c_str(), 4711, 4711), 0);
  EXPECT_FALSE(FindUnwrittenEnd(ledger_.path(), {"local-1"}));
}

}  // namespace
}  // namespace tony
