// Job::CheckInvariants() finds impossible states. Each row damages a correct state by a decision that Evolve() accepts.
// The transition tables do not cover what this decision contradicts, so that only CheckInvariants() finds it.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

struct Damage {
  std::string name;
  std::string check;
  std::function<void(JobDriver&)> before;
  std::vector<DecisionBody> decisions;
  JobSpec spec = TwoWorkers();
};

void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

const auto kUntilAccepted = [](JobDriver& driver) { driver.Accepted(); };
const auto kUntilRegistered = [](JobDriver& driver) {
  driver.Gathering();
  driver.Register("worker:0");
};
const auto kUntilRunning = [](JobDriver& driver) { driver.Running(); };
const auto kUntilOneSucceeded = [](JobDriver& driver) {
  driver.Running();
  driver.Report("worker:0", Success());
};
const AttemptId kDamaged = AttemptOf("worker:0");
const JobStopping kStopDecided{{.state = FinalState::kFailed}, Duration(0)};

RestartDecided RestartInScope(RestartScope scope, bool charged) {
  return {.number = 1, .scope = scope, .cause = kDamaged, .charged = charged, .tasks = {kDamaged.task}};
}

const std::vector<Damage>& Damages() {
  static const auto& damages = *new std::vector<Damage>{
      {"AProcessRanWithoutAStartCommand",
       "!attempt.started || was_told_to_run",
       kUntilRegistered,
       {AttemptRan{kDamaged, 7}}},
      {"ValuesArePublishedBeforeTheTaskStarts",
       "attempt.values.empty() || was_told_to_run",
       kUntilRegistered,
       {ValuesPublished{kDamaged, {{"ADDRESS", "here:1"}}}}},
      {"AnAttemptWithoutAnAddressMissesHeartbeats",
       "!attempt.suspect || attempt.endpoint || attempt.renewed",
       kUntilAccepted,
       {AttemptSuspected{kDamaged}}},
      {"AnEndedAttemptMissesHeartbeats",
       "!attempt.suspect || !has_ended",
       kUntilOneSucceeded,
       {AttemptSuspected{kDamaged}}},
      {"ARunningAttemptHasNoContainer",
       "container.state != ContainerState::kGone || IsFinal(attempt->state)",
       kUntilRunning,
       {ContainerEnded{ContainerOf("worker:0")}}},
      {"ARoleIsFinishedWithoutSuccesses",
       "!IsFinished(role.name) || HasEnough(role, ends)",
       kUntilRunning,
       {RoleFinished{"worker"}}},
      {"ARoleIsIgnoredWithoutATimeLimit",
       "!left_.contains(role.name) || !role.outlives.empty()",
       kUntilRunning,
       {RoleDetached{"worker", "A"}}},
      {"AContainerRequestIsPendingAfterTheJobStops",
       "epoch_.value == 0 || !containers_.NextWithdrawn()",
       kUntilAccepted,
       {kStopDecided}},
      {"TheJobEndsBeforeItsContainers",
       "!Ended() || containers_.left() == 0",
       kUntilRunning,
       {kStopDecided, JobEnded{}}},
      {"AKillIsPlannedUnderAnUnmetCondition",
       "Holds(plan, claim_.owner, watcher_)",
       kUntilRunning,
       {KillPlanned{1, {.if_owner = {"stranger"}, .due = JobDriver::kStart + Duration(10'000)}}}},
      {"TheGangRestartsBeyondItsBudget",
       "charged[static_cast<size_t>(scope)] <= budget.most",
       kUntilOneSucceeded,
       {RestartInScope(RestartScope::kGang, /*charged=*/true)}},
      {"RestartsAfterLossesExceedTheLossBudget",
       "free <= spec.restart.lost.most",
       kUntilOneSucceeded,
       {RestartInScope(RestartScope::kTask, /*charged=*/false)},
       JobBuilder().Role("worker", 2).LostRestarts(0, Duration(0)).Build()},
      {"ACheckpointSearchStartsWhileTasksRun",
       "!restart.sought || restart.ending.empty()",
       kUntilRunning,
       {RestartInScope(RestartScope::kTask, /*charged=*/false), CheckpointSearchStarted{1}}},
      {"ARestartIsPendingWhileTheJobStops",
       "!verdict_ || restarts_.open().empty()",
       kUntilRunning,
       {kStopDecided, RestartInScope(RestartScope::kTask, /*charged=*/false)}},
      {"ContainersAreRequestedForOnlySomeTasksOfARole",
       "first == 0 || spec.FindRole(role)->max_parallel > 0",
       [](JobDriver& driver) {
         driver.Accepted();
         driver.Replay(2);
       },
       {ContainersRequested{{kDamaged}}}},
  };
  return damages;
}

class JobInvariantsTest : public testing::TestWithParam<Damage> {
 protected:
  void SetUp() override {
    OnFailedCheck([](const std::string& failure) { throw std::runtime_error(failure); });
  }
  void TearDown() override { OnFailedCheck(nullptr); }
};

TEST_P(JobInvariantsTest, CheckInvariantsDetectsAnImpossibleState) {
  JobDriver driver(GetParam().spec);
  GetParam().before(driver);
  driver.job().CheckInvariants();
  for (const DecisionBody& body : GetParam().decisions) {
    const auto evolved = driver.job().Evolve({driver.now(), body});
    ASSERT_TRUE(evolved.ok()) << evolved.error().message << ": more than a CHECK finds it";
  }
  std::string failure = "none";
  try {
    driver.job().CheckInvariants();
  } catch (const std::runtime_error& failed) {
    failure = failed.what();
  }
  EXPECT_NE(failure.find(GetParam().check), std::string::npos) << failure;
}

INSTANTIATE_TEST_SUITE_P(Damages, JobInvariantsTest, testing::ValuesIn(Damages()),
                         [](const auto& damage) { return damage.param.name; });

}  // namespace
}  // namespace tony::am
