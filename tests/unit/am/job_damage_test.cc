// A journal that says what cannot be is refused when it is replayed, whatever it says: no check, no crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "am/core/job.h"
#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::HasSubstr;

void ExpectRefused(JobDriver& driver, const DecisionBody& body) {
  const int64_t seq = driver.job().seq();
  const auto evolved = driver.job().Evolve({driver.now(), body});
  ASSERT_FALSE(evolved.ok());
  EXPECT_EQ(evolved.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(evolved.error().message, HasSubstr(StrCat("decision ", seq + 1, " (")));
  EXPECT_EQ(driver.job().seq(), seq);
}

TEST(JobDamageTest, TheErrorNamesTheDecisionByNumberAndKind) {
  JobDriver driver(TwoWorkers());
  driver.Running();

  const auto evolved = driver.job().Evolve({driver.now(), GangAllocated{}});

  ASSERT_FALSE(evolved.ok());
  EXPECT_THAT(evolved.error().message,
              HasSubstr(StrCat("decision ", driver.journal().size() + 1, " (gang_allocated)")));
}

TEST(JobDamageTest, AJobIsAcceptedOnce) {
  JobDriver driver(TwoWorkers());
  driver.Accepted();

  ExpectRefused(driver, JobAccepted{});
}

TEST(JobDamageTest, OnlyTasksOfTheSpecAreAskedForAndTheirFirstAttemptFirst) {
  for (const AttemptId& id : {AttemptId{{"ps", 0}, 1}, AttemptId{{"worker", 2}, 1}, AttemptId{{"worker", 0}, 2}}) {
    JobDriver driver(TwoWorkers());
    driver.Accepted();
    driver.Replay(2);
    ExpectRefused(driver, ContainersRequested{{id}});
  }
}

TEST(JobDamageTest, NoTaskIsAskedForTwice) {
  JobDriver driver(TwoWorkers());
  driver.Accepted();
  driver.Replay(2);

  ExpectRefused(driver, ContainersRequested{{AttemptOf("worker:0"), AttemptOf("worker:0")}});
}

TEST(JobDamageTest, AContainerHasOneAttempt) {
  JobDriver driver(TwoWorkers());
  driver.Accepted();
  driver.Grant("worker:0");

  ExpectRefused(driver, ContainerAssigned{AttemptOf("worker:1"), ContainerOf("worker:0"), "node"});
}

TEST(JobDamageTest, GenerationsAreFormedInOrder) {
  JobDriver driver(TwoWorkers());
  driver.Gathering();

  ExpectRefused(driver, GenerationFormed{{2}});
}

// In a process of its own: the wrong answer would end it.
TEST(JobDamageTest, AGangFormedWithoutEveryTaskIsRefused) {
  JobDriver driver(TwoWorkers());
  driver.Accepted();
  driver.Replay(2);
  ASSERT_TRUE(driver.job().Evolve({driver.now(), ContainersRequested{{AttemptOf("worker:0")}}}).ok());
  ASSERT_TRUE(driver.job().Evolve({driver.now(), GangAllocated{}}).ok());

  EXPECT_EXIT(std::exit(driver.job().Evolve({driver.now(), GenerationFormed{{1}}}).ok() ? 1 : 0),
              testing::ExitedWithCode(0), "");
}

TEST(JobDamageTest, OnlyContainersThatAreHeldAreKilledOrEnd) {
  JobDriver driver(TwoWorkers());
  driver.Running();
  driver.Report("worker:0", Success());
  driver.PassToDeadline();
  ExpectRefused(driver, ContainerKillOrdered{ContainerOf("worker:0")});
  ExpectRefused(driver, ContainerKillOrdered{{"unknown"}});
  ExpectRefused(driver, ContainerEnded{{"unknown"}});
  driver.Exit("worker:0");

  ExpectRefused(driver, ContainerEnded{ContainerOf("worker:0")});
  ExpectRefused(driver, ContainerKillOrdered{ContainerOf("worker:0")});
}

TEST(JobDamageTest, SilenceAndSignsOfLifeNeedAnAttempt) {
  JobDriver driver(TwoWorkers());
  driver.Running();

  ExpectRefused(driver, AttemptSuspected{AttemptOf("ps:0")});
  ExpectRefused(driver, AttemptHeard{AttemptOf("worker:2")});
}

TEST(JobDamageTest, OnlyAJobThatStopsIsHurriedOrEnds) {
  JobDriver driver(TwoWorkers());
  driver.Running();

  ExpectRefused(driver, StopHurried{Duration(1)});
  ExpectRefused(driver, JobEnded{});
}

TEST(JobDamageTest, DecisionsInDisorderAreRefusedOrAcceptedButNeverCrash) {
  std::mt19937 random(20261121);
  JobDriver driver(TwoWorkers());
  driver.Running();
  driver.Report("worker:0", Success());
  driver.PassToDeadline();
  driver.Report("worker:1", Failure(1));
  driver.Exit("worker:0");
  driver.Exit("worker:1");
  ASSERT_TRUE(driver.job().Ended());
  for (int round = 0; round < 3000; ++round) {
    std::vector<Decision> decisions = driver.journal();
    for (int i = 0; i < 3; ++i)
      std::swap(decisions[random() % decisions.size()], decisions[random() % decisions.size()]);
    decisions.erase(decisions.begin() + static_cast<std::ptrdiff_t>(random() % decisions.size()));
    Job job({"job-1"}, TwoWorkers());
    for (const Decision& decision : decisions) {
      const auto evolved = job.Evolve(decision);
      EXPECT_TRUE(evolved.ok() || evolved.error().code == ErrorCode::kInvalid);
    }
  }
}

}  // namespace
}  // namespace tony::am
