// When one member of a collective dies, the others fail of it, and may be heard first. A failure that would end the
// job waits a moment for the one that explains it.
#include <gmock/gmock.h>

#include "am/core/judgement.h"
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kSettling[] = {
    {"AFailureThatNothingPaysForIsJudgedWhenItHasSettled",
     {{"running, report worker:1 fails 1", "attempt_ended; worker:1 told none; worker:0 told start 1; deadline +300ms"},
      {"pass 299ms", "nothing"},
      {"pass 1ms", "job_stopping; verdict of worker:1 user_error; worker:1 told release; worker:0 told stop"}}},
    {"OfSeveralFailuresTheFirstIsTheVerdict",
     {{"running, report worker:1 fails 1, wait 100ms, report worker:0 fails 2, deadline", "verdict of worker:1"}}},
    {"ALostMemberHeardMeanwhileExplainsItAndTheGangRestartsFree",
     {{"running, report worker:1 fails 1, wait 299ms, exit worker:0",
       "attempt_ended container_ended restart_decided; restart gang free of worker:0#1"},
      {"report worker:2 killed", "worker:1 told next 2; worker:0 told release"},
      {"all-granted, all-registered", "worker:1#2 told start 2; verdict none"}}},
    {"WhatHasABudgetRestartsAtOnce", {{"+gang=1: running, report worker:1 fails 1", "attempt_ended restart_decided"}}},
    {"WhatNoRestartCouldHelpIsJudgedAtOnce", {{"running, report worker:1 oom", "attempt_ended job_stopping"}}},
    {"ATaskAloneIsJudgedAtOnce",
     {{"job worker*1 pytorch settle=300ms: running, report worker:0 fails 1", "attempt_ended job_stopping"}}},
    {"TheLastOfACollectiveIsJudgedAtOnce",
     {{"running, report worker:0 worker:1 success, report worker:2 fails 1", "attempt_ended job_stopping"}}},
    {"WhenNobodyIsLeftToExplainItItIsJudged",
     {{"running, report worker:0 fails 1, report worker:1 fails 2, report worker:2 fails 3",
       "attempt_ended job_stopping; verdict any"}}},
    {"TasksThatNobodyIsConnectedToAreJudgedAtOnce",
     {{"job worker*3 settle=300ms standalone: running, report worker:0 fails 1", "attempt_ended job_stopping"}}},
    {"AKillInBetweenIsTheVerdict",
     {{"running, report worker:1 fails 1, kill enough", "job_stopping; verdict KILLED; worker:1 told release"}}},
    {"ANewMasterJudgesAtTheSameTime",
     {{"running, report worker:1 fails 1, standstill 299ms, master 2", "epoch_began; worker:1 told none"},
      {"pass 1ms", "job_stopping; verdict of worker:1"}}},
    {"ANewMasterThatComesLateJudgesAtOnce",
     {{"running, report worker:1 fails 1, standstill 300ms, master 2", "epoch_began job_stopping"}}},
    {"AFailureOfAnothersMakingWaitsTenTimesAsLong",
     {{"running, report worker:0 fails 1 peer", "attempt_ended; deadline +3s"},
      {"deadline", "job_stopping; verdict of worker:0"}}},
    {"AFailureOfAnothersMakingGivesWayToOneThatComesLater",
     {{"running, report worker:0 fails 1 peer, wait 2400ms, report worker:2 fails 3", "deadline +300ms"},
      {"deadline", "job_stopping; verdict of worker:2"}}},
    {"AFailureOfAnothersMakingGivesWayAlsoWhenItIsDueFirst",
     {{"running, report worker:0 fails 1 peer, wait 2900ms, report worker:2 fails 3, pass 100ms",
       "verdict of worker:2"}}},
    {"AFailureOfAnothersMakingGivesWayToWhatNoRestartCouldHelp",
     {{"running, report worker:0 fails 1 peer, report worker:2 oom", "verdict of worker:2"}}},
    {"ARestartThatIsPaidForNamesTheBetterCauseToo",
     {{"+gang=1: running, report worker:0 fails 1 peer", "attempt_ended"},
      {"report worker:2 fails 3", "restart of worker:2#1"}}},
    {"AFailureOfAnothersMakingThatIsFreeWaitsToo",
     {{"running, report worker:0 fails 1 peer transient", "attempt_ended"}, {"deadline", "has restart_decided"}}},
    {"TheLastOfAllThatFailGivesWayToTheFirstOfItsOwnMaking",
     {{"running, report worker:0 fails 1 peer, report worker:1 fails 3, report worker:2 fails 1 peer",
       "verdict of worker:1"}}},
    {"ManyFailuresOfAnothersMakingWaitForTheFirstOfThem",
     {{"job worker*5 pytorch settle=300ms: running, report worker:3 fails 1 peer, wait 10ms, report worker:0 fails 1 "
       "peer, wait 10ms, report worker:1 fails 1 peer, wait 10ms, deadline",
       "verdict of worker:3"}}},
    {"WhereAllFailOfAnothersMakingTheFirstOfThemIsTheVerdict",
     {{"running, report worker:1 fails 1 peer, wait 10ms, report worker:0 fails 1 peer, wait 10ms, report worker:2 "
       "fails 1 peer, wait 10ms",
       "verdict of worker:1"}}},
    {"ASidecarThatLosesItsConnectionHurriesNobodysJudgement",
     {{"+board*1:sidecar: running, report worker:0 board:0 fails 1 peer", "verdict none"}}},
    {"WhoSendsNoHeartbeatsIsTheProbableCause",
     {{"running, wait 4s, heartbeat worker:0 worker:2, pass 1s, report worker:0 fails 1 peer, pass 3s",
       "verdict says `~; worker:1 sends no heartbeats`"}}},
    {"WhoExitedEarlyIsNamedAsTheProbableCause",
     {{"running, report worker:2 success, report worker:0 fails 1 peer, deadline",
       "verdict says `~; worker:2 had ended with exit code 0`"}}},
    {"WhoseAddressIsNamedIsTheProbableCause",
     {{"running, report worker:0 fails 1 peer says `node-worker-1:4001: Connection refused`, deadline",
       "verdict says `~; the address is that of worker:1 (running)`"}}},
    {"TheRankThatACollectiveWaitedForIsNamed",
     {{"running, report worker:0 fails 1 hung peer says `[Rank 0]: Rank 2 failed to pass monitoredBarrier in 1000 ms`, "
       "deadline",
       "verdict says `~; did not take part: worker:2 (running)`"}}},
    {"WhereACollectiveTimedOutInAllOthersTheOneThatStillRunsIsNamed",
     {{"running, report worker:2 fails 1 peer, report worker:0 fails 1 hung peer says `Watchdog caught collective "
       "operation timeout`, deadline",
       "verdict of worker:0 says `~; did not take part: worker:1 (running) (hung)`"}}},
    {"ALongerPortIsAnotherAddress",
     {{"running, report worker:0 fails 1 peer says `node-worker-1:40017: Connection refused`, deadline",
       "verdict says `!the address is`"}}},
    {"AContainerThatGoesWhileItSettlesChangesNoVerdict",
     {{"running, report worker:1 fails 1, exit worker:1", "container_ended"}, {"deadline", "job_stopping"}}},
};
TABLE_TEST(JobSettleTest, kSettling, Script("worker*3 pytorch settle=300ms"));

TEST(JobSettleTest, RanksThatReportsName) {
  using testing::ElementsAre;
  EXPECT_THAT(SilentRanks("[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 1000 ms"), ElementsAre(1, 3));
  EXPECT_THAT(
      SilentRanks("lagging/dead/mismatched ranks that caused the desync are:\n\t   - [2] joined but didn't join"),
      ElementsAre(2));
  EXPECT_THAT(SilentRanks("Timed out waiting for ranks: 1, 2 within 60 s"), ElementsAre(1, 2));
  EXPECT_THAT(SilentRanks("Connection closed by peer [127.0.0.1]:36341"), ElementsAre());
  EXPECT_THAT(SilentRanks("waiting for ranks 99999999999"), ElementsAre());
}

TEST(JobSettleTest, RanksCountOverTheProcessesOfAllTrackedTasks) {
  JobSpec spec = JobBuilder().Role("worker", 3).Role("board", 1, Completion::kSidecar).Build();
  for (RoleSpec& role : spec.roles) role.processes = role.name == "worker" ? 2 : 1;
  EXPECT_EQ(TaskOfRank(spec, 0), (TaskId{"worker", 0}));
  EXPECT_EQ(TaskOfRank(spec, 3), (TaskId{"worker", 1}));
  EXPECT_EQ(TaskOfRank(spec, 6), std::nullopt);
}

}  // namespace
}  // namespace tony::am
