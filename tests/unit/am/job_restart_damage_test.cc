// What a damaged journal may say of restarts, and is not believed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "am/core/job.h"
#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::HasSubstr;

const TaskId kFirst{"worker", 0}, kSecond{"worker", 1};

JobBuilder WithCheckpoints() {
  return JobBuilder().Role("worker", 2).Framework(FrameworkKind::kPytorch).Restarts(kGang, 2).Checkpoints("/ckpt");
}

// worker:0 has failed, worker:1 is to stop.
JobDriver Restarting() {
  JobDriver driver(WithCheckpoints().Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  return driver;
}

// And has stopped; the look for a checkpoint is not over.
JobDriver Looking() {
  JobDriver driver = Restarting();
  driver.Report("worker:1", Killed());
  return driver;
}

void ExpectRefused(JobDriver driver, const DecisionBody& body) {
  const int64_t seq = driver.job().seq();
  const Decision decision{driver.now(), body};
  SCOPED_TRACE(ToJson(decision));
  const auto evolved = driver.job().Evolve(decision);
  ASSERT_FALSE(evolved.ok());
  EXPECT_EQ(evolved.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(evolved.error().message, HasSubstr(StrCat("decision ", seq + 1, " (", Name(decision), ")")));
}

JobDriver Running() {
  JobDriver driver(WithCheckpoints().Build());
  driver.Running();
  return driver;
}

RestartDecided Decided(int number, std::vector<TaskId> tasks) {
  return {.number = number, .scope = kTask, .cause = AttemptOf("worker:0"), .tasks = std::move(tasks)};
}

TEST(JobRestartDamageTest, RestartsAreNumberedInOrderAndConcernTasksOfTheJob) {
  ExpectRefused(Running(), Decided(0, {kFirst}));
  ExpectRefused(Running(), Decided(2, {kFirst}));
  ExpectRefused(Running(), Decided(1, {}));
  ExpectRefused(Running(), Decided(1, {{"ps", 0}}));
  ExpectRefused(Running(), Decided(1, {{"worker", 2}}));
  ExpectRefused(Restarting(), Decided(1, {kFirst}));
}

TEST(JobRestartDamageTest, ARestartHasACauseThatWas) {
  RestartDecided decided = Decided(1, {kFirst});
  decided.cause.number = 2;
  ExpectRefused(Running(), decided);
  decided.cause = {{"ps", 0}, 1};
  ExpectRefused(Running(), decided);
}

TEST(JobRestartDamageTest, NoTaskRestartsBeforeItWasEverAskedForOrWhenTheJobStops) {
  JobDriver accepted(WithCheckpoints().Build());
  accepted.Accepted();
  accepted.Replay(2);
  ExpectRefused(std::move(accepted), Decided(1, {kFirst}));
  JobDriver stopping = Running();
  stopping.Kill();
  RestartDecided gang = Decided(1, {kFirst, kSecond});
  gang.scope = kGang;
  ExpectRefused(std::move(stopping), gang);
}

TEST(JobRestartDamageTest, OnlyAnOpenRestartLooksForACheckpoint) {
  ExpectRefused(Running(), CheckpointSought{1});
  ExpectRefused(Restarting(), CheckpointSought{2});
  ExpectRefused(Restarting(), CheckpointNoted{1, {}});
  ExpectRefused(Looking(), CheckpointNoted{2, {}});
}

TEST(JobRestartDamageTest, ARestartBeginsOnceWithAllOfItsTasksAndWhenAllHaveEnded) {
  const ContainerId first = ContainerOf("worker:0"), second = ContainerOf("worker:1");
  const std::vector<RenewedAttempt> both = {{{kFirst, 2}, first}, {{kSecond, 2}, second}};
  ASSERT_TRUE(Looking().job().Evolve({JobDriver::kStart, RestartBegan{1, both, {}}}).ok());

  ExpectRefused(Running(), RestartBegan{1, both, {}});
  ExpectRefused(Looking(), RestartBegan{2, both, {}});
  ExpectRefused(Restarting(), RestartBegan{1, both, {}});
  ExpectRefused(Looking(), RestartBegan{1, {both[0]}, {}});
  ExpectRefused(Looking(), RestartBegan{1, both, {{kFirst, 2}}});
  ExpectRefused(Looking(), RestartBegan{1, {both[0], both[0]}, {}});
}

TEST(JobRestartDamageTest, OnlyTheNextAttemptIsRenewedAndOnlyInItsOwnContainer) {
  const ContainerId first = ContainerOf("worker:0"), second = ContainerOf("worker:1");
  const RenewedAttempt fine = {{kSecond, 2}, second};
  ExpectRefused(Looking(), RestartBegan{1, {{{kFirst, 3}, first}, fine}, {}});
  ExpectRefused(Looking(), RestartBegan{1, {{{kFirst, 1}, first}, fine}, {}});
  ExpectRefused(Looking(), RestartBegan{1, {{{kFirst, 2}, second}, fine}, {}});
  ExpectRefused(Looking(), RestartBegan{1, {{{kFirst, 2}, {"unknown"}}, fine}, {}});
  ExpectRefused(Looking(), RestartBegan{1, {{{{"ps", 0}, 2}, first}, fine}, {}});
  ExpectRefused(Looking(), RestartBegan{1, {fine}, {{kFirst, 3}}});
  JobDriver gone = Looking();
  gone.Exit("worker:0");
  ExpectRefused(std::move(gone), RestartBegan{1, {{{kFirst, 2}, first}, fine}, {}});
}

TEST(JobRestartDamageTest, OnlyWhoWorksIsToldToStop) {
  ExpectRefused(Running(), AttemptStopping{{kFirst, 2}, Killed(), Duration(0)});
  ExpectRefused(Running(), AttemptStopping{{{"ps", 0}, 1}, Killed(), Duration(0)});
  ExpectRefused(Restarting(), AttemptStopping{{kFirst, 1}, Killed(), Duration(0)});
  ExpectRefused(Restarting(), AttemptStopping{{kSecond, 1}, Killed(), Duration(0)});
}

// A whole job with all there is of restarts.
std::vector<Decision> Journal() {
  JobDriver driver = Restarting();
  driver.Report("worker:1", Killed());
  driver.SeeCheckpoint(1, Checkpoint{"/ckpt/step-1", 1, driver.now()});
  driver.RegisterAll().RunAll();
  driver.Preempt("worker:1#2", Duration(2000));
  driver.Report("worker:1#2", Killed());
  driver.Report("worker:0#2", Killed());
  driver.Exit("worker:1#2");
  driver.SeeCheckpoint(2, Checkpoint{"/ckpt/step-2", 2, driver.now()});
  driver.GrantAll().RegisterAll().RunAll();
  driver.Report("worker:0#3", Success());
  driver.Report("worker:1#3", Success());
  driver.Exit("worker:0#3");
  driver.Exit("worker:1#3");
  CHECK(driver.Status().state == "SUCCEEDED");
  return driver.journal();
}

// As a replay does, it stops where something is refused.
TEST(JobRestartDamageTest, DecisionsInDisorderAreRefusedOrAcceptedButNeverCrash) {
  std::mt19937 random(20261121);
  const std::vector<Decision> journal = Journal();
  const JobSpec spec = WithCheckpoints().Build();
  for (int round = 0; round < 3000; ++round) {
    std::vector<Decision> decisions = journal;
    for (unsigned i = 0; i < 1 + random() % 3; ++i)
      std::swap(decisions[random() % decisions.size()], decisions[random() % decisions.size()]);
    if (random() % 2 == 0)
      decisions.erase(decisions.begin() + static_cast<std::ptrdiff_t>(random() % decisions.size()));
    Job job({"job-1"}, spec);
    for (const Decision& decision : decisions) {
      const auto evolved = job.Evolve(decision);
      if (evolved.ok()) continue;
      EXPECT_EQ(evolved.error().code, ErrorCode::kInvalid);
      break;
    }
  }
}

}  // namespace
}  // namespace tony::am
