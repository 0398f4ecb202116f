// The replay refuses a journal with impossible decisions. No such journal may fail a check or crash the AM.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

constexpr char kTwoTasks[] = "worker*2";
const TaskId kFirst{"worker", 0}, kSecond{"worker", 1}, kStrange{"ps", 0};
const AttemptId kOne{kFirst, 1}, kTwo{kSecond, 1};
const ContainerId kOnes = ContainerOf("worker:0"), kTwos = ContainerOf("worker:1"), kNobodys{"unknown"};

TEST(JobDamageTest, ReplayErrorsNameTheImpossibleDecision) { ExpectDamaged(kTwoTasks, "running", {GangAllocated{}}); }

TEST(JobDamageTest, AJournalThatAcceptsTheJobTwiceIsRejected) { ExpectDamaged(kTwoTasks, "start", {JobAccepted{}}); }

TEST(JobDamageTest, AJournalEntryThatRequestsAnUnknownTaskOrAttemptIsRejected) {
  ExpectDamaged(kTwoTasks, "start, replay 2",
                {ContainersRequested{{{kStrange, 1}}}, ContainersRequested{{{{"worker", 2}, 1}}},
                 ContainersRequested{{{kFirst, 2}}}});
}

TEST(JobDamageTest, AJournalEntryThatRequestsATaskTwiceIsRejected) {
  ExpectDamaged(kTwoTasks, "start, replay 2", {ContainersRequested{{kOne, kOne}}});
}

TEST(JobDamageTest, AJournalEntryThatAssignsAContainerToASecondAttemptIsRejected) {
  ExpectDamaged(kTwoTasks, "start, grant worker:0", {ContainerAssigned{kTwo, kOnes, "node"}});
}

TEST(JobDamageTest, AJournalEntryThatSkipsAGenerationIsRejected) {
  ExpectDamaged(kTwoTasks, "gathering", {GenerationFormed{{2}}});
}

// This check runs in a process of its own, because a wrong implementation would end the process.
TEST(JobDamageTest, AJournalEntryThatFormsTheGangWithoutEveryTaskIsRejected) {
  JobDriver driver = DriverAfter(kTwoTasks, "start, replay 2");
  ASSERT_TRUE(driver.job().Evolve({driver.now(), ContainersRequested{{kOne}}}).ok());
  ASSERT_TRUE(driver.job().Evolve({driver.now(), GangAllocated{}}).ok());
  EXPECT_EXIT(std::exit(driver.job().Evolve({driver.now(), GenerationFormed{{1}}}).ok() ? 1 : 0),
              testing::ExitedWithCode(0), "");
}

TEST(JobDamageTest, AJournalEntryThatKillsOrEndsAnUnknownOrEndedContainerIsRejected) {
  ExpectDamaged(kTwoTasks, "running, report worker:0 success, deadline",
                {ContainerKillOrdered{kOnes}, ContainerKillOrdered{kNobodys}, ContainerEnded{kNobodys}});
  ExpectDamaged(kTwoTasks, "running, report worker:0 success, deadline, exit worker:0",
                {ContainerEnded{kOnes}, ContainerKillOrdered{kOnes}});
}

TEST(JobDamageTest, AJournalEntryAboutHeartbeatsOfAnUnknownAttemptIsRejected) {
  ExpectDamaged(kTwoTasks, "running", {AttemptSuspected{{kStrange, 1}}, HeartbeatsReturned{{{"worker", 2}, 1}}});
}

TEST(JobDamageTest, AJournalEntryThatEndsAJobThatIsNotStoppingIsRejected) {
  ExpectDamaged(kTwoTasks, "running", {GraceShortened{Duration(1)}, JobEnded{}});
}

// Swaps some decisions, and may drop one. If `stops` is set, it stops at the first refused decision, as a replay does.
void ExpectNoCrashInDisorder(const char* job_words, const JobDriver& driver, bool stops, unsigned most_swaps) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 3000; ++round) {
    std::vector<Decision> decisions = driver.journal();
    for (unsigned i = 0; i < 1 + random() % most_swaps; ++i)
      std::swap(decisions[random() % decisions.size()], decisions[random() % decisions.size()]);
    if (!stops || random() % 2 == 0)
      decisions.erase(decisions.begin() + static_cast<std::ptrdiff_t>(random() % decisions.size()));
    Job job({"job-1"}, JobOf(job_words));
    for (const Decision& decision : decisions) {
      const auto evolved = job.Evolve(decision);
      EXPECT_TRUE(evolved.ok() || evolved.error().code == ErrorCode::kInvalid);
      if (!evolved.ok() && stops) break;
    }
  }
}

TEST(JobDamageTest, ReorderedDecisionsAreAppliedOrRejectedWithoutACrash) {
  const JobDriver driver = DriverAfter(
      kTwoTasks, "running, report worker:0 success, deadline, report worker:1 fails 1, exit worker:0 worker:1");
  ASSERT_TRUE(driver.job().Ended());
  ExpectNoCrashInDisorder(kTwoTasks, driver, /*stops=*/false, 5);
}

// ---- impossible decisions about restarts

constexpr char kCheckpointed[] = "worker*2 pytorch gang=2 checkpoints=3";
constexpr char kToRestart[] = "running, report worker:0 fails 1";  // worker:1 has to stop
// worker:1 has stopped, and the search for a checkpoint has not finished.
constexpr char kToLook[] = "running, report worker:0 fails 1, report worker:1 killed";

RestartDecided Decided(int number, std::vector<TaskId> tasks, const AttemptId& cause = kOne,
                       RestartScope scope = RestartScope::kTask) {
  return {.number = number, .scope = scope, .cause = cause, .tasks = std::move(tasks)};
}

TEST(JobRestartDamageTest, AJournalledRestartWithAWrongNumberOrTaskListIsRejected) {
  ExpectDamaged(kCheckpointed, "running",
                {Decided(0, {kFirst}), Decided(2, {kFirst}), Decided(1, {}), Decided(1, {kStrange}),
                 Decided(1, {{"worker", 2}})});
  ExpectDamaged(kCheckpointed, kToRestart, {Decided(1, {kFirst})});
}

TEST(JobRestartDamageTest, AJournalledRestartCausedByAnUnknownAttemptIsRejected) {
  ExpectDamaged(kCheckpointed, "running", {Decided(1, {kFirst}, {kFirst, 2}), Decided(1, {kFirst}, {kStrange, 1})});
}

TEST(JobRestartDamageTest, AJournalledRestartIsRejectedBeforeContainerRequestsAndWhileTheJobStops) {
  ExpectDamaged(kCheckpointed, "start, replay 2", {Decided(1, {kFirst})});
  ExpectDamaged(kCheckpointed, "running, kill", {Decided(1, {kFirst, kSecond}, kOne, RestartScope::kGang)});
}

TEST(JobRestartDamageTest, AJournalledCheckpointSearchWithoutAPendingRestartIsRejected) {
  ExpectDamaged(kCheckpointed, "running", {CheckpointSearchStarted{1}});
  ExpectDamaged(kCheckpointed, kToRestart, {CheckpointSearchStarted{2}, CheckpointNoted{1, {}}});
  ExpectDamaged(kCheckpointed, kToLook, {CheckpointNoted{2, {}}});
}

TEST(JobRestartDamageTest, AJournalledRestartThatBeginsTooEarlyOrWithWrongTasksIsRejected) {
  const std::vector<RenewedAttempt> both = {{{kFirst, 2}, kOnes}, {{kSecond, 2}, kTwos}};
  ASSERT_TRUE(DriverAfter(kCheckpointed, kToLook).job().Evolve({JobDriver::kStart, RestartBegan{1, both, {}}}).ok());
  ExpectDamaged(kCheckpointed, "running", {RestartBegan{1, both, {}}});
  ExpectDamaged(kCheckpointed, kToRestart, {RestartBegan{1, both, {}}});
  ExpectDamaged(kCheckpointed, kToLook,
                {RestartBegan{2, both, {}}, RestartBegan{1, {both[0]}, {}}, RestartBegan{1, both, {{kFirst, 2}}},
                 RestartBegan{1, {both[0], both[0]}, {}}});
}

TEST(JobRestartDamageTest, AJournalledNextAttemptWithAWrongNumberOrContainerIsRejected) {
  const RenewedAttempt fine = {{kSecond, 2}, kTwos};
  ExpectDamaged(
      kCheckpointed, kToLook,
      {RestartBegan{1, {{{kFirst, 3}, kOnes}, fine}, {}}, RestartBegan{1, {{{kFirst, 1}, kOnes}, fine}, {}},
       RestartBegan{1, {{{kFirst, 2}, kTwos}, fine}, {}}, RestartBegan{1, {{{kFirst, 2}, kNobodys}, fine}, {}},
       RestartBegan{1, {{{kStrange, 2}, kOnes}, fine}, {}}, RestartBegan{1, {fine}, {{kFirst, 3}}}});
  ExpectDamaged(kCheckpointed, std::string(kToLook) + ", exit worker:0",
                {RestartBegan{1, {{{kFirst, 2}, kOnes}, fine}, {}}});
}

TEST(JobRestartDamageTest, AJournalledStopOfAnUnknownOrEndedOrStoppingAttemptIsRejected) {
  ExpectDamaged(
      kCheckpointed, "running",
      {AttemptStopping{{kFirst, 2}, Killed(), Duration(0)}, AttemptStopping{{kStrange, 1}, Killed(), Duration(0)}});
  ExpectDamaged(kCheckpointed, kToRestart,
                {AttemptStopping{kOne, Killed(), Duration(0)}, AttemptStopping{kTwo, Killed(), Duration(0)}});
}

TEST(JobRestartDamageTest, ReorderedDecisionsAreAppliedOrRejectedWithoutACrash) {
  // The job of this test has every kind of event that concerns restarts.
  const JobDriver driver = DriverAfter(
      kCheckpointed,
      "running, report worker:0 fails 1, report worker:1 killed, see 1 1, all-registered, all-run, preempt worker:1#2 "
      "2s, "
      "report worker:1#2 worker:0#2 killed, exit worker:1#2, see 2 2, all-up, end worker:0#3 worker:1#3 success");
  ASSERT_EQ(driver.Status().state, "SUCCEEDED");
  ExpectNoCrashInDisorder(kCheckpointed, driver, /*stops=*/true, 3);
}

}  // namespace
}  // namespace tony::am
