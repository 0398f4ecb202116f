// Roles that run on after a group of others has ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Duration kLimit{10'000};

// A chief, and two workers that never end.
JobSpec Hanging(bool ignored, const JobBuilder& builder = {}) {
  JobSpec spec = JobBuilder(builder)
                     .Role("chief", 1)
                     .Role("worker", 2)
                     .With({.suspect_after = std::chrono::hours(1), .lost_after = std::chrono::hours(2)})
                     .Build();
  for (RoleSpec& role : spec.roles)
    if (role.name == "worker") role.outlives = {{"A", {"chief"}, kLimit, ignored}};
  return spec;
}

void End(JobDriver& driver, std::string_view task) {
  driver.Report(task, Success());
  driver.Exit(task);
}

TEST(JobGroupTest, ARoleThatRunsOnForTooLongFailsTheJob) {
  JobDriver driver(Hanging(false));
  driver.Running();
  driver.Wait(kLimit * 5);
  End(driver, "chief:0");
  EXPECT_THAT(Decisions(driver.Pass(kLimit - Duration(1))), IsEmpty());
  EXPECT_THAT(Decisions(driver.PassToDeadline()), ElementsAre("job_stopping"));
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kTimeout);
  EXPECT_THAT(driver.job().verdict()->message,
              HasSubstr("role worker ran on for longer than 10.0 s after chief had ended "
                        "(tony.application.dependency.worker.timeout.after.A)"));
}

TEST(JobGroupTest, OneThatIsIgnoredIsNotWaitedFor) {
  JobDriver driver(Hanging(true));
  driver.Running();
  End(driver, "chief:0");
  EXPECT_THAT(Decisions(driver.Pass(kLimit)), ElementsAre("role_left", "job_stopping"));
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
  EXPECT_EQ(driver.Told("worker:1"), "stop");
}

TEST(JobGroupTest, OthersAreWaitedForAllTheSame) {
  JobDriver driver(Hanging(true, JobBuilder().Role("evaluator", 1)));
  driver.Running();
  End(driver, "chief:0");
  End(driver, "worker:0");
  EXPECT_THAT(Decisions(driver.Pass(kLimit)), ElementsAre("role_left"));
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
  EXPECT_THAT(Decisions(driver.Report("evaluator:0", Success())), Contains("job_stopping"));
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
}

TEST(JobGroupTest, OneThatFailsAfterItWasIgnoredFailsTheJobStill) {
  JobDriver driver(Hanging(true, JobBuilder().NoRestarts().Role("evaluator", 1)));
  driver.Running();
  End(driver, "chief:0");
  driver.Pass(kLimit);
  driver.Report("worker:1", Failure(1));
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kFailed);
}

TEST(JobGroupTest, NothingCountsWhileOneOfTheGroupRuns) {
  JobSpec spec = Hanging(false, JobBuilder().Role("evaluator", 1));
  for (RoleSpec& role : spec.roles)
    for (Outliving& rule : role.outlives) rule.roles = {"chief", "evaluator"};
  JobDriver driver(spec);
  driver.Running();
  End(driver, "chief:0");
  EXPECT_THAT(Decisions(driver.Pass(kLimit * 10)), IsEmpty());
  End(driver, "evaluator:0");
  EXPECT_THAT(Decisions(driver.Pass(kLimit)), ElementsAre("job_stopping"));
}

// TonY's second key of a role replaced the first.
TEST(JobGroupTest, OfSeveralRulesOfARoleEachCounts) {
  JobSpec spec = Hanging(false, JobBuilder().Role("evaluator", 1));
  for (RoleSpec& role : spec.roles)
    if (role.name == "worker") role.outlives.push_back({"B", {"evaluator"}, kLimit * 2});
  for (const auto& [first, limit] : {std::pair("chief:0", kLimit), std::pair("evaluator:0", kLimit * 2)}) {
    JobDriver driver(spec);
    driver.Running();
    End(driver, first);
    EXPECT_THAT(Decisions(driver.Pass(limit - Duration(1))), IsEmpty()) << first;
    EXPECT_THAT(Decisions(driver.Pass(Duration(1))), ElementsAre("job_stopping")) << first;
  }
}

TEST(JobGroupTest, ATaskThatHasStartedAgainHasItsWholeTime) {
  JobSpec spec = Hanging(false, JobBuilder().Restarts(RestartScope::kTask, 1).Framework(FrameworkKind::kStandalone));
  JobDriver driver(spec);
  driver.Running();
  End(driver, "chief:0");
  driver.Pass(kLimit / 2);
  driver.Report("worker:0", Failure(3));
  driver.Register("worker:0#2");
  driver.Heartbeat("worker:0#2");
  EXPECT_THAT(Decisions(driver.Pass(kLimit - Duration(1))), IsEmpty());
  EXPECT_THAT(Decisions(driver.Pass(Duration(1))), ElementsAre("job_stopping"));
}

TEST(JobGroupTest, TheNextMasterKnowsWhomTheJobDoesNotWaitFor) {
  JobDriver driver(Hanging(true, JobBuilder().Role("evaluator", 1)));
  driver.Running();
  End(driver, "chief:0");
  driver.Pass(kLimit);
  driver.Replay();
  driver.Start({2});
  EXPECT_THAT(Decisions(driver.Report("evaluator:0", Success())), Contains("job_stopping"));
}

TEST(JobGroupTest, WhoEndsInTimeChangesNothing) {
  JobDriver driver(Hanging(false));
  driver.Running();
  End(driver, "chief:0");
  driver.Pass(kLimit / 2);
  End(driver, "worker:0");
  EXPECT_THAT(Decisions(driver.Report("worker:1", Success())), Contains("job_stopping"));
  EXPECT_EQ(driver.job().verdict()->message, "all tracked tasks succeeded");
}

}  // namespace
}  // namespace tony::am
