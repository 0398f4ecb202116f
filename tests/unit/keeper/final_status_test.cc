#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/keeper/lost_job.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::EndsWith;
using ::testing::SizeIs;

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

TEST_F(FinalStatusTest, JobWithoutAStatusGetsOneFromItsSpec) {
  std::ofstream(records_.place() / "am.log") << std::string(10'000, '.') << "terminate called";
  const auto status = EndedStatus(records_, InfraVerdict(records_, "crashed 5 times"), now_);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->job, records_.job());
  EXPECT_EQ(status->name, "demo");
  EXPECT_EQ(status->state, "FAILED");
  EXPECT_EQ(status->submitted, now_);
  EXPECT_EQ(status->ended, now_);
  ASSERT_TRUE(status->verdict);
  EXPECT_EQ(status->verdict->cls, OutcomeClass::kInfra);
  EXPECT_EQ(status->verdict->state, FinalState::kFailed);
  EXPECT_EQ(status->verdict->message, "crashed 5 times");
  EXPECT_THAT(status->verdict->stderr_tail, EndsWith("terminate called"));
  ASSERT_THAT(status->tasks, SizeIs(2));
  EXPECT_EQ(status->tasks[1].id, (TaskId{"worker", 1}));
  EXPECT_EQ(status->tasks[1].state, "done");
}

TEST_F(FinalStatusTest, LastStatusIsContinued) {
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
  const auto status = EndedStatus(records_, InfraVerdict(records_, "why"), now_);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->seq, 42);
  EXPECT_EQ(status->tasks[0].state, "done");
  EXPECT_EQ(status->tasks[0].attempt_state, "failed");
  EXPECT_EQ(status->tasks[0].pid, 0);
  EXPECT_EQ(status->tasks[0].outcome->cls, OutcomeClass::kInfra);
  EXPECT_EQ(status->tasks[1].attempt_state, "succeeded");
  EXPECT_TRUE(status->tasks[1].outcome->Succeeded());
}

TEST_F(FinalStatusTest, WhatAnExecutorKeptIsNotLost) {
  JobStatus last;
  last.job = records_.job();
  last.state = "RUNNING";
  last.seq = 7;
  last.tasks = {{{"worker", 0}, "active", 2, "running"}, {{"worker", 1}, "active", 1, "running"}};
  ASSERT_TRUE(records_.WriteStatus(last, Durability::kLostWithPower).ok());
  std::filesystem::create_directories(AttemptFolder(records_.place(), {{"worker", 0}, 2}).logs);
  const Outcome three{OutcomeClass::kUserError, ExitStatus{ExitStatus::Kind::kExited, 3}, "", ""};
  ASSERT_TRUE(AttemptFolder(records_.place(), {{"worker", 0}, 2}).WriteOutcome(three).ok());
  const auto troubled = TroubledStatus(records_, "journal: damaged");
  ASSERT_TRUE(troubled.ok());
  EXPECT_EQ(troubled->trouble, "journal: damaged");
  EXPECT_EQ(troubled->state, "RUNNING");
  EXPECT_FALSE(troubled->verdict);
  EXPECT_EQ(troubled->seq, 8);
  EXPECT_EQ(troubled->tasks[0].outcome, three);
  EXPECT_EQ(troubled->tasks[1].attempt_state, "running");
  ASSERT_TRUE(records_.WriteStatus(*troubled, Durability::kLostWithPower).ok());
  const auto ended = EndedStatus(records_, {.state = FinalState::kFailed, .cls = OutcomeClass::kNodeLost}, now_);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->trouble, "");
  EXPECT_EQ(ended->seq, 9);
  EXPECT_EQ(ended->tasks[0].outcome, three);
  EXPECT_EQ(ended->tasks[1].attempt_state, "lost");
  EXPECT_EQ(ended->tasks[1].outcome->cls, OutcomeClass::kNodeLost);
}

TEST_F(FinalStatusTest, AttemptsThatTheDocumentDoesNotKnowYetAreFoundByTheirLogs) {
  std::filesystem::create_directories(AttemptFolder(records_.place(), {{"worker", 1}, 2}).logs);
  ASSERT_TRUE(AttemptFolder(records_.place(), {{"worker", 1}, 2}).WriteOutcome({}).ok());
  std::filesystem::create_directories(AttemptFolder(records_.place(), {{"worker", 0}, 1}).logs);
  const auto status = EndedStatus(records_, InfraVerdict(records_, "why"), now_);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->tasks[0].attempt_state, "failed");
  EXPECT_EQ(status->tasks[1].attempt, 2);
  EXPECT_EQ(status->tasks[1].attempt_state, "succeeded");
}

TEST_F(FinalStatusTest, VerdictThatIsThereStays) {
  JobStatus last;
  last.job = records_.job();
  last.state = "SUCCEEDED";
  last.verdict = Verdict{};
  ASSERT_TRUE(records_.WriteStatus(last, Durability::kLostWithPower).ok());
  EXPECT_EQ(EndedStatus(records_, InfraVerdict(records_, "why"), now_)->state, "SUCCEEDED");
}

TEST_F(FinalStatusTest, DamagedSpecAndStatusAreNoObstacle) {
  std::ofstream(records_.place() / "spec.json") << "{";
  std::ofstream(records_.place() / "status.json") << "{";
  const auto status = EndedStatus(records_, InfraVerdict(records_, "why"), now_);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->verdict->message, "why");
}

}  // namespace
}  // namespace tony
