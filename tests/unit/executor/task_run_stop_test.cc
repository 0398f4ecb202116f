// Tests stops by command, by signal and by refusal, the command NEXT, with which an executor continues with the task's
// next attempt, and the loss of the AM.
#include <gtest/gtest.h>

#include "tests/unit/executor/task_run_script.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const TestRow kStops[] = {
    {"AStopCommandSendsSigtermThenSigkillAfterTheGracePeriodUntilAllProcessesHaveExited",
     {{"running, STOP 5s", "signals TERM; heartbeat stopping"},
      {"answer, pass 4999ms", "no signal"},
      {"pass 501ms", "only KILL"},
      {"exit KILL, gone", "report killed KILL, because: stopped by the application master."}}},
    {"TheReasonOfAStopIsWrittenToTheNoticeFileBeforeSigterm",
     {{"running, PREEMPT 5s", "notice by 5000 ms: preempted; signal TERM"},
      {"pass 3s, PREEMPT 5s 12", "notice by 5000 ms"},  // a second stop adds no time
      {"PREEMPT 1s 13", "notice by 4000 ms"}}},
    {"AStopNoticeIsWrittenOnlyIfTheStopHasAReasonAndTheProcessHasStarted",
     {{"{running, STOP 5s|register, PREEMPT 5s}", "no notice"}}},
    {"TheGracePeriodOfDescendantsIsNotShortenedWhenTheStoppedProcessExits",
     {{"running, STOP 5s, exit 0", ""},
      {"pass 4s", "only 0"},
      {"pass 2s", "signal KILL"},
      {"gone", "outcome killed 0, because"}}},
    {"AStoppedTaskStaysInStateStoppingUntilItsProcessIsReaped", {{"running, STOP 5s, gone", "state Stopping"}}},
    {"FurtherStopCommandsCanShortenButNotExtendTheGracePeriod",
     {{"running, STOP 5s 11, STOP 60s 12, STOP 1s 13, pass 999ms", "state Stopping"}, {"pass 1ms", "state Killing"}}},
    {"AStopCommandBeforeTheStartCommandEndsTheAttemptWithoutStartingAProcess",
     {{"register, STOP 5s", "report killed, because"}, {"START 20", "no start"}}},
    {"AStopCommandDuringAProcessStartSendsSigtermOnceTheProcessHasStarted",
     {{"register, START, STOP 5s", ""}, {"started", "signals TERM; state Stopping"}}},
    {"AProcessThatFinishesStartingAfterTheGracePeriodOfAStopIsKilledAtOnce",
     {{"register, START, STOP 0s, pass 1ms", ""}, {"started", "signals KILL"}}},
    {"AStopCommandAfterTheProcessHasExitedDoesNotChangeTheOutcome",
     {{"running, exit 3, STOP 5s, gone", "outcome user_error"}}},
    {"AReleaseCommandStopsARunningTaskAndEndsItsExecutor",
     {{"running, RELEASE", "signals TERM"}, {"exit TERM, gone", "1 keep; 1 leave; leave 0"}}},
    // ---- SIGTERM
    {"AnExecutorThatGetsSigtermStopsTheTaskSavesTheOutcomeAndExits",
     {{"running, SIGTERM", "signals TERM"},
      // The scheduler knows the reason for the SIGTERM.
      {"exit TERM, gone", "no report; keep infra TERM, because: the task's executor received SIGTERM.; leave 143"}}},
    {"AnExecutorThatGetsSigtermStillReportsAnEarlierFailure",
     {{"running, exit 3, SIGTERM, gone", "1 report; no leave"}, {"acked", "leave 143"}}},
    {"AnExecutorThatGetsSigtermTriesToReportTheOutcomeForAtMost2Seconds",
     {{"running, lose, exit 3, SIGTERM, gone, pass 1999ms", "no leave"}, {"pass 1ms", "1 leave; leave 143"}}},
    {"AnExecutorThatGetsSigtermAfterTheTaskEndedReportsTheOutcomeAgainAndExits",
     {{"running, exit 0, gone, acked", ""}, {"SIGTERM", "1 report"}, {"acked", "1 leave"}}},
    {"ASecondSigtermToTheExecutorHasNoEffect", {{"running, SIGTERM", ""}, {"SIGTERM", "nothing"}}},
    // ---- refusals
    {"ARunningAttemptIsStoppedWithoutAnOutcomeReportWhenTheAmRefusesTheAttempt",
     {{"running, refuse {stale attempt|unknown attempt|bad protocol}", "signals TERM; no report"},
      {"pass 10s", "state Killing; no report"},
      {"exit KILL, gone", "no report; 1 leave; leave 76"}}},
    {"AnExecutorExitsAtOnceWhenTheAmRefusesItsFirstRegistration",
     {{"lease 1, refuse {stale attempt|unknown attempt|wrong job|bad token|bad protocol}", "leave 76"}}},
    {"ATaskKeepsRunningWhenAnotherJobsAmAnswersAtTheAddressOfTheLostAm",
     {{"running, lose, lease 1, refuse {wrong job|bad token}", "state Running; link Searching"}}},
    // ---- process trees that survive SIGKILL
    {"TheExecutorExitsWithoutAReportIfProcessesAreStillAlive30SecondsAfterSigkill",
     {{"running, exit 3 boom, linked 29s, lives", "state Sweeping; no report"},
      {"linked 1s", ""},
      // The AM receives no end of the task before the end of the container.
      {"lives",
       "state Left; warn 2 processes, process 4711 for one, still alive 30 s after SIGKILL; no report; "
       "keep user_error 3, because: 2 processes, process 4711 for one, still alive 30 s after SIGKILL; leave 71"}}},
    {"TheExecutorExitsIfProcessesOfAStoppedTaskAreStillAlive30SecondsAfterSigkill",
     {{"running, STOP 1s, exit TERM, linked 1s", "state Killing"},
      {"linked 30s, lives", "state Left; keep killed TERM, because; leave 71"}}},
    {"ProcessesOfTheNextAttemptAlsoGet30SecondsToDieAfterSigkill",
     {{"ended, linked 60s, NEXT 3, registered, START 20, started 4243, exit 3, lives", "state Sweeping"}}},
};
TABLE_TEST(TaskRunStopTest, kStops, Script());

TEST(TaskRunStopTest, TheExecutorWaitsForProcessesBlockedInTheKernelAndWarnsEvery30Seconds) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(Duration{1000});
  task.PassLinked(Duration{1000});
  ASSERT_EQ(task.run.state(), State::kKilling);
  const TreeSurvived lives{"1 process, process 4711 for one", /*in_kernel=*/true};
  for (int i = 0; i < 65; ++i) {
    task.PassLinked(Duration{1000});
    task.Give(lives);
  }
  EXPECT_EQ(task.run.state(), State::kKilling);
  EXPECT_EQ(task.Count<WarnOfTree>(), 2);
  EXPECT_EQ(task.Count<KeepOutcome>(), 0);
  task.Exit(KilledBy(SIGKILL));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.state(), State::kEnded);
}

TEST(TaskRunStopTest, TheExecutorStopsWaitingForProcessesBlockedInTheKernelAfterFiveMinutes) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(0));
  const TreeSurvived lives{"1 process, process 4711 for one", /*in_kernel=*/true};
  for (int i = 0; i < 299; ++i) {
    task.PassLinked(Duration{1000});
    task.Give(lives);
  }
  EXPECT_EQ(task.run.state(), State::kSweeping);
  task.PassLinked(Duration{1000});
  task.actions.clear();
  task.Give(lives);
  EXPECT_EQ(task.run.state(), State::kLeft);
  EXPECT_EQ(task.Last<WarnOfTree>().what, "1 process, process 4711 for one, still alive 300 s after SIGKILL");
  EXPECT_TRUE(task.Last<KeepOutcome>().outcome.Succeeded());
}

// ---- NEXT

const TestRow kNextAttempts[] = {
    {"ACommandToBeginTheNextAttemptMakesTheExecutorRegisterThatAttempt",
     {{"ended", "state Ended"},
      {"NEXT 3",
       "state Waiting; phase waiting; no outcome; begin worker:3#3; use am.example:7001; register waiting pid 0 at "
       "task.example:4711 from worker:3#3 generation 1 & c-1"}}},  // other tasks may know the address
    {"TheNextAttemptIsLockedBeforeTheExecutorRegistersTheAttempt",
     {{"ended", ""}, {"NEXT 3", "begin worker:3#3; register; no await"}}},  // Await comes after the registration
    {"TheNumberOfTheLastReceivedCommandIsResetTo0ForTheNextAttempt",
     {{"ended, NEXT 3 1998", ""}, {"registered", "await 0 from worker:3#3"}}},
    {"TheNextAttemptRunsAndReportsItsOutcomeLikeTheFirstAttempt",
     {{"ended, NEXT 3, registered, RESUME 5", "start  generation 2 resume /ckpt/step-5"},
      {"started 5353", "heartbeat running pid 5353 & generation 2"},
      {"exit 0, gone", "1 keep; report success & worker:3#3"},
      {"NEXT 4 6", "begin worker:3#4"}}},
    {"ACommandToBeginTheNextAttemptIsIgnoredUntilTheCurrentAttemptHasEnded",
     {{"{register|register, START|running|running, exit 1|running, STOP 1s|running, STOP 0s, pass 1ms}", ""},
      {"NEXT 3 20", "no begin; await 20 from; state {Waiting|Starting|Running|Sweeping|Stopping|Killing}"}}},
    {"ACommandToBeginTheCurrentOrAnOlderAttemptIsIgnored", {{"ended, NEXT {0|1|2}", "state Ended; no begin"}}},
    {"ACommandToBeginTheNextAttemptMaySkipAttemptNumbers", {{"ended, NEXT 7", "register & worker:3#7"}}},
    {"AnExecutorThatGotSigtermBeginsNoFurtherAttempt",
     {{"ended, SIGTERM", "state Ended"}, {"NEXT 3", "no begin"}, {"acked", "leave 143"}}},
    {"AStoppedAttemptCanBeFollowedByTheNextAttempt",
     {{"running, STOP 1s, exit TERM, gone, NEXT 3, registered, START 1", "state Starting"}}},
    {"LateAnswersToCallsOfThePreviousAttemptAreIgnored",
     {{"ended, NEXT 3", ""}, {"answers-from-before, gone", "nothing; state Waiting; link Registering"}}},
    {"TheNextAttemptSendsNoCallBeforeItsRegistrationIsAnswered", {{"ended", ""}, {"NEXT 3", "no await; no report"}}},
    {"AFailureToMakeTheFolderOfAnAttemptIsReportedAfterTheAttemptRegisters",
     {{"ended", ""},
      {"NEXT 3, unbegun", "state Ended; outcome infra; no report"},
      {"registered", "1 report; report infra & worker:3#3"},
      {"START 1", "no start"}}},
    {"TheNextAttemptRegistersWithTheNewAmNamedInTheLease",
     {{"ended, NEXT 3, lose", ""}, {"lease 2 7002", "use am.example:7002; register waiting & worker:3#3"}}},
    {"TheNextAttemptEndsAsNodeLostIfItsLivingAmIsUnreachableFor31Seconds",
     {{"ended, NEXT 3, lose, cut-off 31s", "outcome node_lost"}}},
    {"AnExecutorThatWaitsForItsNextAttemptExits30MinutesAfterTheLossOfItsAm",
     {{"ended, NEXT 3, lose, pass 29min", "state Waiting"}, {"pass 1min", "leave 69"}}},
    {"AnExecutorWhoseAttemptEndedWaitsAtLeast5MinutesForTheNextAttempt",
     {{"ended, linked 5min", "state Ended; no leave"}, {"NEXT 3", "state Waiting"}}},
    {"ATaskIsStoppedWithin35SecondsIfItsLivingAmIsUnreachableAfterANotLeaderAnswer",
     {{"running, refuse not leader, cut-off 35s", "state Stopping"}}},
};
TABLE_TEST(TaskRunNextTest, kNextAttempts, Script());

TEST(TaskRunNextTest, ATaskKeepsRunningWhileItsAmAnswersNotLeaderFor5Minutes) {
  TaskRunDriver task;
  task.RunTask();
  for (int i = 0; i < 300; ++i) {
    task.Give(Refused{task.link, RefusalReason::kNotLeader});
    task.Pass(std::chrono::seconds{1});
    task.Give(LeaseRead{LeaseOf(1)});
  }
  EXPECT_EQ(task.run.state(), State::kRunning) << "who says so is there, and may rule again";
}

// ---- Losing and finding the AM, executors that are cut off or orphaned, and coincidences: equal times, repeated
// numbers, two reasons to leave, orders of actions.

const TestRow kLinks[] = {
    {"AnExecutorThatLostItsAmReadsTheLeaseAtOnceAndWatchesTheLeaseForChanges",
     // The watch precedes the read, because a change in between would otherwise be missed.
     {{"running, lose", "1 read; 1 watch; watch; read; state Running"}}},
    {"AnExecutorThatFindsNoLeaseWatchesForTheLeaseToAppear",
     // Usually the record exists, so that no watch is needed.
     {{"", "no watch"}, {"no-lease", "1 watch"}}},
    {"AnExecutorThatLostItsAmReadsTheLeaseFourTimesASecond", {{"running, lose", "1 read"}, {"pass 10s", "40 read"}}},
    {"TheRegistrationWithTheNextAmContainsTheStateOfTheTask",
     {{"running, lose", ""},
      {"lease 2 7002", "use am.example:7002; register running pid 4242 & generation 1 epoch 2"},
      // Commands that were carried out are not repeated.
      {"registered 2", "1 unwatch; await 10 from; state Running"}}},
    {"ANewAmInTheLeaseIsContactedAtOnceDespiteTheBackOff",
     {{"running, lose, lease 1, lose, lease 1", "1 use"}, {"lease 2", "1 use"}, {"lose, lease 2 7009", "1 use"}}},
    {"ANewerLeaseInterruptsAHangingRegistrationWithTheOldAm",
     {{"running, lose, lease 1, lease 2 7002", "2 use; use am.example:7001; use am.example:7002"}}},
    {"TheLostAmIsRetriedWhileTheLeaseCannotBeRead", {{"running, lose, unreadable", "use am.example:7001"}}},
    {"LateAnswersFromAnEarlierConnectionToAnAmAreIgnored",
     {{"running, lose, lease 2", ""}, {"answers-from-before", "nothing; link Registering; state Running"}}},
    {"SeveralFailedCallsOnOneConnectionCauseASingleLeaseRead", {{"running, lose, lose, lose", "1 read"}}},
    {"AnExecutorDoesNotConnectToAnAmOfAnOlderEpochThanItsLastAm",
     {{"register 5, lose", ""},
      {"lease 4 7004", "no use"},
      {"lease 5 7005, registered 4", "link Searching; no await"}}},
    {"AnAmThatAnswersNotLeaderIsTreatedAsLost",
     {{"running, refuse {not leader|stale epoch|bad request}", "link Searching; state Running; 1 read"}}},
    {"TheOutcomeIsReportedAgainToEachNewAm",
     {{"running, lose, exit 3 boom, gone", "1 keep; no report"},  // no AM to report to
      {"register 2", "1 report; no keep"},
      {"lose, register 3", "1 report; register ended; report user_error 3, stderr: boom.; no keep"}}},
    {"APhaseChangeDuringARegistrationIsReportedInAHeartbeatAfterTheRegistration",
     {{"running, lose, lease 2, SIGTERM", ""}, {"registered 2", "heartbeat stopping"}}},
};
TABLE_TEST(TaskRunLinkTest, kLinks, Script());

TEST(TaskRunLinkTest, JitterSpreadsTheLeaseReadsOfExecutors) {
  TaskRunDriver early({}, 0), late({}, 0.99);
  EXPECT_LT(*early.run.NextDeadline(), *late.run.NextDeadline());
}

TEST(TaskRunLinkTest, AnUnreachableAmIsRetriedAtOnceAndThenWithABackOffUpTo1Second) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  std::vector<int64_t> tries;
  for (int step = 0; step < 200; ++step) {
    const int before = task.Count<UseAm>();
    task.Give(LeaseRead{LeaseOf(1)});
    if (task.Count<UseAm>() > before) {
      tries.push_back((task.now - kDriverStart).count());
      task.LoseAm();
    }
    task.Pass(milliseconds{50});
  }
  ASSERT_GE(tries.size(), 8u);
  EXPECT_EQ(tries[0], 0) << "the connection may have been all that broke";
  EXPECT_LE(tries[1], 150);
  for (size_t i = 5; i < tries.size(); ++i) EXPECT_EQ(tries[i] - tries[i - 1], 1000);
}

// ---- executors that are cut off, orphaned, or without the job's folder

const TestRow kCutOffs[] = {
    {"AnExecutorCutOffFromALivingAmStopsItsTaskAfter30Seconds",
     {{"running, lose, cut-off 29750ms", "state Running"},
      {"cut-off 250ms", "state Stopping; signals TERM"},
      // The outcome may still be reported.
      {"exit TERM, gone", "keep node_lost & could not reach the application master; no leave"},
      {"register 2", "1 report"}}},
    {"ATaskWithADeadAmKeepsRunningFor29Minutes", {{"running, lose, lease 1, lose, pass 29min", "state Running"}}},
    {"ATaskIsStopped30SecondsAfterItsUnreachableAmRenewsAStaleLease",
     {{"running, lose, pass 1min, lease 1, pass 4min, cut-off 29s 2", "state Running"},
      {"cut-off 2s 2", "state Stopping"}}},
    {"ATaskIsStopped30SecondsAfterTheLastAnswerOfItsUnreachableAm",
     {{"running, standstill 28s, tick, lose, cut-off 1750ms", "state Running"}, {"cut-off 250ms", "state Stopping"}}},
    {"AnExecutorThatWasSuspendedFor5MinutesRetriesItsAmBeforeStoppingItsTask",
     {{"running, standstill 300s, tick, lose, pass 900ms", "state Running"},
      {"register, linked 5min", "state Running"}}},
    {"AnAttemptWithoutAProcessEndsAsNodeLostIfItsLivingAmIsUnreachableFor31Seconds",
     {{"cut-off 31s", "state Ended; outcome node_lost"}}},
    {"AnExecutorStopsItsTaskAndExitsAfter30MinutesWithoutAnAm",
     {{"running, lose, pass 30min", "state Stopping"}, {"exit TERM, gone", "outcome infra; 1 leave; leave 69"}}},
    {"AnExecutorThatNeverFoundAnAmExitsAfter30Minutes", {{"no-lease, pass 30min", "leave 69"}}},
    {"AnExecutorThatLostItsAmStopsItsTaskAndExitsWhenTheJobsFolderIsRemoved",
     {{"running, lose, folder-gone", "state Stopping; signals TERM"},
      {"folder-gone, exit TERM, gone",
       "outcome infra TERM, because: the job's folder was removed.; 1 leave; leave 66"}}},
    {"AnExecutorWithoutATaskExitsAtOnceWhenTheJobsFolderIsRemoved", {{"folder-gone", "leave 66"}}},
    {"AnExecutorConnectedToItsAmIgnoresARemovedJobFolder", {{"running, folder-gone", "state Running"}}},
    {"AnExecutorWhoseTaskEndedExitsAfter30MinWithoutAnAm", {{"running, exit 0, gone, lose, pass 30min", "leave 69"}}},
};
TABLE_TEST(TaskRunCutOffTest, kCutOffs, Script());

TEST(TaskRunCutOffTest, ATaskIsStoppedWhenNeitherItsAmNorTheLeaseCouldBeReachedFor31Seconds) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  for (int i = 0; i < 124; ++i) {
    task.Give(LeaseUnreadable{});
    if (task.run.link() == Link::kRegistering) task.LoseAm();
    task.Pass(milliseconds{250});
  }
  EXPECT_EQ(task.run.state(), State::kStopping);
}

TEST(TaskRunCutOffTest, ATaskKeepsRunningWhileTheConnectionQueueOfItsAmIsFull) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  // Forty minutes pass. An orphan would leave after thirty.
  for (int i = 0; i < 4 * 60 * 40; ++i) {
    task.Pass(milliseconds{250});
    task.Give(LeaseRead{LeaseOf(1, 7001, i / 8)});
    if (task.run.link() == Link::kRegistering) task.Give(ConnectionLost{task.link, /*crowded=*/true});
  }
  EXPECT_EQ(task.run.state(), State::kRunning);
  task.PassCutOff(seconds{31}, LeaseOf(1));
  EXPECT_EQ(task.run.state(), State::kStopping) << "the queue is no longer full, and nobody answers";
}

// ---- coincidences of events

const TestRow kEdges[] = {
    {"ACommandWithAnAlreadyReceivedNumberIsIgnored",
     {{"running, STOP 5s 10", "state Running"}, {"STOP 5s 11", "state Stopping"}}},
    {"ACommandToBeginTheEndedAttemptAgainIsIgnored",
     {{"ended, NEXT 2", "state Ended; no begin"}, {"NEXT 3 14", "begin worker:3#3"}}},
    {"TheExecutorBeginsTheNextAttemptBeforeRegisteringTheAttemptWithTheAm",
     {{"ended, NEXT 3", "1 register; begin; use; register"}}},
    {"AStopCommandSignalsTheTaskBeforeTheNextHeartbeat", {{"running, STOP 5s", "1 heartbeat; signal; heartbeat"}}},
    {"DescendantsAreNotKilledAtOnceWhenTheStoppedProcessExits", {{"running, STOP 5s", ""}, {"exit 0", "signals 0"}}},
    {"AnAttemptEndsAsKilledIfItsProcessFailsToStartDuringAStop",
     {{"register, START, STOP {5|0}s, pass 1ms", "state {Stopping|Killing}"},
      {"unstarted", "state Ended; outcome killed; 1 report"}}},  // the task was being stopped anyway
    {"AnExecutorCanBeReleasedAfterAFailedProcessStart",
     {{"register, START, unstarted", "state Ended"}, {"RELEASE", "leave 0"}}},
    {"SigtermAfterAReleaseCommandCausesNoOutcomeReport",
     {{"running, RELEASE, SIGTERM, exit TERM, gone", "no report; leave 0"}}},
    {"AReleaseCommandAfterSigtermCancelsTheOutcomeReport",
     {{"running, SIGTERM, RELEASE, exit TERM, gone", "no report; leave 0"}}},
    {"TheFirstOfTwoReasonsToExitDecidesTheExitCodeOfTheExecutor",
     {{"running, RELEASE, refuse stale attempt, exit TERM, gone", "leave 0"}}},
    {"ASecondSigtermDoesNotExtendThe2SecondsForTheOutcomeReport",
     {{"ended, lose, SIGTERM, pass 1s, SIGTERM, pass 999ms", "no leave"}, {"pass 1ms", "1 leave"}}},
    {"AnExecutorWithARunningTaskSendsAHeartbeatToANewAmAtOnce",
     {{"running, lose, register 2", "1 heartbeat; heartbeat running"}}},
    {"AnExecutorWhoseAmNeverAnswersStopsItsTaskAfter30Minutes",
     {{"running, lose, lease 1, pass 30min", "link Registering; state Stopping"}}},
};
TABLE_TEST(TaskRunEdgeTest, kEdges, Script());

TEST(TaskRunEdgeTest, SigkillToLeftoverProcessesIsRepeatedWithABackOffUpTo250Milliseconds) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(0));
  task.Pass(milliseconds{700});
  const auto early = task.Signals().size();
  EXPECT_GE(early, 7u);
  EXPECT_LE(early, 10u);
  task.Pass(seconds{10});
  EXPECT_EQ(task.Signals().size() - early, 40u);
}

TEST(TaskRunEdgeTest, ATaskIsStoppedAfter31SecondsIfItsAmRenewsTheLeaseButNeverAnswersCalls) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  for (int i = 0; i < 124; ++i) {
    task.Give(LeaseRead{LeaseOf(1, 7001, i)});
    task.Pass(milliseconds{250});
    ASSERT_EQ(task.run.link(), Link::kRegistering);
  }
  EXPECT_EQ(task.run.state(), State::kStopping);
}

TEST(TaskRunEdgeTest, ATaskKeepsRunningIfTheLeaseBecomesStaleExactly30SecondsAfterTheLossOfTheAm) {
  const Timers timers;
  for (const Duration late : {Duration{0}, Duration{1}}) {
    TaskRunDriver task;
    task.RunTask();
    task.LoseAm();
    const Instant last_sign = task.now + timers.cutoff_after - timers.record_fresh + late;
    while (task.now < last_sign) {
      task.Pass(std::min(timers.record_fresh - milliseconds{1}, last_sign - task.now));
      task.Give(LeaseUnreadable{});
      if (task.run.link() == Link::kRegistering) task.LoseAm();
    }
    task.Pass(timers.record_fresh);
    EXPECT_EQ(task.run.state(), late == Duration{0} ? State::kRunning : State::kStopping);
  }
}

}  // namespace
}  // namespace tony::executor
