// Tests an attempt from its start to its end: one or several processes, the time limit, the usage, and published
// values.
#include "executor/task_run.h"

#include <gtest/gtest.h>

#include "tests/unit/executor/task_run_script.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TestRow kAttempts[] = {
    {"ANewExecutorFirstReadsTheLeaseRecord", {{"", "1 read; link Searching"}}},
    {"ARegistrationWithTheTasksAddressIsSentToTheAmNamedInTheLease",
     {{"lease 1", "use am.example:7001; register waiting pid 0 at task.example:4711 from worker:3#2 & secret"}}},
    {"ARegisteredExecutorAwaitsCommandsWithNumbersAbove0", {{"register", "link Linked; 1 await; await 0 from"}}},
    {"AStartCommandStartsTheProcessAndTheExecutorAwaitsTheNextCommand",
     {{"register, START 10", "start {spec} generation 1; await 10 from & generation 1"}}},
    {"RepeatedStartCommandsStartTheProcessOnlyOnce",
     {{"register, START 10, START 10, started, START 10, START 13", "1 start"}}},
    {"ACommandWithAnOlderNumberIsIgnored", {{"running, STOP 1s 9", "state Running; await 10 from"}}},
    {"TheExecutorAsksAgainForCommandsAfterAnAnswerWithoutACommand",
     {{"register", "1 await"}, {"NONE", "1 await; state Waiting"}}},
    {"TheStartOfTheProcessIsReportedAtOnceInAHeartbeat",
     {{"register, START", "no heartbeat"}, {"started", "1 heartbeat; heartbeat running pid 4242"}}},
    {"HeartbeatsAreSentEverySecondButNotWhileAHeartbeatIsUnanswered",
     {{"running, pass 999ms", "no heartbeat"},
      {"pass 1ms", "1 heartbeat"},
      {"pass 3s", "no heartbeat"},  // the first heartbeat is still unanswered
      {"answer, pass 1s", "1 heartbeat"}}},
    {"ASuccessIsSavedAndThenReportedOnceTheWholeProcessTreeHasExited",
     {{"running, exit 0", "no keep"},  // its tree may still run
      {"gone", "state Ended; keep success 0.; report success 0."}}},
    {"AFailureIsReportedWithTheLastLinesOfStderr",
     {{"running, exit 3 Traceback: out of cheese, gone",
       "keep user_error 3, stderr: Traceback: out of cheese.; report user_error 3, stderr: Traceback: out of "
       "cheese."}}},
    {"TheEvidenceOfAFailedProcessDecidesTheOutcome",
     {{"running, judged, gone", "report oom 3, because: judged, stderr: tail, permanent."}}},
    {"AStoppedTaskIsReportedAsKilledEvenIfTheFailureEvidenceSaysOutOfMemory",
     {{"running, STOP 1s, judged, gone", "report killed"}}},
    {"SigkillToLeftoverProcessesIsRepeatedUntilAllHaveExited",
     {{"running, exit 0, pass 1s", "only KILL"}, {"gone", "outcome success"}}},
    {"AProcessThatCannotBeStartedIsReportedAsAnInfraFailure",
     {{"register, START, unstarted", "report infra, because: no such program."}}},
    {"AnExecutorWhoseTaskEndedExitsOnlyAfterAReleaseCommand",
     {{"running, exit 0, gone, acked, linked 100s", "no leave"}, {"RELEASE", "1 leave; leave 0; never"}}},
    {"EventsAreIgnoredAfterTheExecutorWasReleased",
     {{"register, RELEASE", "leave 0"}, {"START 20, SIGTERM, tick", "nothing"}}},
};
TABLE_TEST(TaskRunTest, kAttempts, Script());

// The first heartbeat may be answered late, or after the second if answers overtake each other.
TEST(TaskRunTest, ATaskWithoutAnAmIsStopped30SecondsAfterTheLastAnsweredHeartbeatWasSent) {
  for (const bool second : {false, true}) {
    TaskRunDriver task;
    task.Register();
    task.Start();
    task.Pass(seconds{1});
    const Instant before = task.Last<SendHeartbeat>().sent;
    task.Pass(milliseconds{900});
    task.Give(ProcessStarted{4242});
    const Instant after = task.Last<SendHeartbeat>().sent;
    EXPECT_EQ(after - before, milliseconds{900});
    task.Give(HeartbeatAnswered{task.link, second ? after : before});
    task.LoseAm();
    task.PassCutOff((second ? after : before) + Timers().cutoff_after - task.now - milliseconds{1}, LeaseOf(1, 7001));
    EXPECT_EQ(task.run.state(), State::kRunning);
    task.PassCutOff(milliseconds{1}, LeaseOf(1, 7001));
    EXPECT_EQ(task.run.state(), State::kStopping) << second;
  }
}

// ---- three processes

const std::string kLimitText = "ran longer than 20.0 s (tony.task.executor.execution-timeout-ms)";

const TestRow kThreeProcesses[] = {
    {"ATaskOfThreeProcessesIsReportedAsRunningOnceAllThreeHaveStarted",
     {{"register, START", "1 start"},
      {"started 4242 0, started 4243 1", "state Starting"},
      {"started 4244 2", "state Running; heartbeat running pid 4242"}}},
    {"TheSuccessOfOneProcessDoesNotStopTheOtherProcesses",
     {{"running, exit-of 0 0, exit-of 2 0", "state Running; no signal"},
      {"exit-of 1 0", "state Sweeping"},
      {"gone", "outcome success 0."}}},
    {"HeartbeatsContainThePidOfTheFirstProcessUntilThatProcessExits",
     {{"running, exit-of 2 0, pass 1s", "heartbeat running pid 4242"},
      {"answer now, exit-of 0 0, pass 1s", "1 heartbeat; heartbeat running pid 0"}}},
    {"OtherProcessesGetSigtermAndAfter10SecondsSigkillWhenOneProcessFails",
     {{"running, exit-of 1 3", "state Stopping; signals TERM"},
      {"exit-of 0 TERM", "no signal"},
      {"pass 9999ms", "state Stopping"},
      {"pass 1ms", "state Killing; signals KILL; no outcome"}}},  // process 2 still runs
    {"TheOutcomeOfTheFirstFailedProcessIsReportedAfterAllProcessesHaveExited",
     {{"running, judged 1, exit-of 0 4, gone", "state Stopping; no report"},  // the third has not been reaped
      {"exit-of 2 TERM, gone",
       "report oom 3, because: judged, stderr: tail, permanent, process 1.; "
       "outcome oom 3, because: judged, stderr: tail, permanent, process 1."}}},
    {"TheFailureOfTheLastRunningProcessFailsTheTask",
     // No process is left to terminate.
     {{"running, exit-of 0 0, exit-of 1 0, exit-of 2 5", "state Sweeping; signals KILL"},
      {"gone", "outcome user_error 5, process 2."}}},
    {"AStopCommandSignalsAllProcessesAndTheOutcomeNamesNoProcess",
     {{"running, STOP 1s", "signals TERM"},
      {"exit-of 2 TERM, exit-of 0 1, exit-of 1 0, gone",
       "outcome killed TERM, because: stopped by the application master."}}},
    {"AStopCommandAfterAFailureShortensTheGracePeriodAndKeepsTheFailureAsOutcome",
     {{"running, exit-of 1 3, STOP 100ms, pass 100ms", "state Killing"},
      {"exit-of 0 KILL, exit-of 2 KILL, gone", "outcome user_error 3, process 1."}}},
    {"AFailedProcessStartTerminatesTheProcessesThatAlreadyRun",
     {{"register, START, started 4242 0, unstarted 1", "state Stopping; signals TERM; no outcome"},
      {"exit-of 0 TERM, gone", "outcome infra, because: no such program, process 1."}}},
    {"AFailedStartOfTheFirstProcessEndsTheAttempt",
     {{"register, START, unstarted 0", "outcome infra, because: no such program."}}},
    {"AStopCommandDuringStartupTerminatesAllProcessesOnceAllHaveStarted",
     {{"register, START, STOP 1s", ""},
      {"started 4242 0, started 4243 1", "no signal"},
      {"started 4244 2", "signals TERM"}}},
    {"AStopDuringStartupTerminatesStartedProcessesWhenAnotherProcessFailsToStart",
     {{"register, START, STOP 1s, started 4242 0", ""},
      {"unstarted 1", "signals TERM"},
      {"exit-of 0 TERM, gone", "outcome killed"}}},
    {"TheNextAttemptStartsAllProcessesAgain",
     {{"running, exit-of 0 3, exit-of 1 TERM, exit-of 2 TERM, gone", "state Ended"},
      {"NEXT 3, registered, START 20, started 5000 0, started 5001 1, started 5002 2", "state Running"},
      {"exit-all 0, gone", "outcome success"}}},
};
TABLE_TEST(TaskRunProcessesTest, kThreeProcesses, Script({}, 3));

// ---- the time limit of the processes, 20 seconds

const TestRow kLimits[] = {
    {"ATaskAboveItsTimeLimitIsStoppedAndTheOutcomeNamesTheLimit",
     {{"running, linked 19999ms", "no signal"},
      {"pass 1ms", "notice by 25000 ms: " + kLimitText + "; signals TERM"},
      {"exit 0 the last line, gone", "report timeout 0, because: " + kLimitText + ", stderr: the last line."}}},
    {"ATaskAboveItsTimeLimitIsKilledAfterTheGracePeriod",
     {{"running, linked 20s", "signals TERM"}, {"linked 5s, pass 1ms", "signals KILL"}}},
    {"TheTimeLimitStopsATaskThatHasLostItsAm", {{"running, lose, pass 20s", "signals TERM"}}},
    {"EachAttemptHasTheFullTimeLimit",
     {{"running, linked 19s, exit 3, gone, acked, NEXT 3, register, START 14, started 4343", ""},
      {"linked 19s", "no signal"},
      {"linked 1s", "signals TERM"}}},
    {"NoSignalIsSentAtTheTimeLimitOfAnEndedAttempt", {{"ended 0, linked 40s", "no signal"}}},
    {"ATaskStoppedBeforeItsTimeLimitIsReportedAsKilled",
     {{"running, linked 19s, STOP 5s, linked 2s, exit TERM, gone", "report killed"}}},
};
const Timers kLimited = {.grace = seconds{5}, .execution_limit = seconds{20}};
TABLE_TEST(TaskRunLimitTest, kLimits, Script(kLimited));

const TestRow kLimitOfTwo[] = {
    {"TheTimeLimitIsCountedFromTheStartOfTheLastProcess",
     {{"register, linked 20s, START, started 4242 0, linked 20s", "no signal"},  // the second has not started yet
      {"started 4243 1, linked 19999ms", "no signal"},
      {"linked 1ms", "signals TERM"}}},
};
TABLE_TEST(TaskRunLimitTest, kLimitOfTwo, Script(kLimited, 2));

// ---- usage

const TestRow kUsage[] = {
    {"AHeartbeatContainsTheNewestUsageSample",
     {{"running, linked 2s, used 1, used 2", "no heartbeat"},  // usage waits for the next heartbeat
      {"pass 2s", "heartbeat running pid 4242 used 2 "}}},
    {"HeartbeatsBeforeTheFirstUsageSampleContainNoUsage",
     {{"register, START, started", "heartbeat running pid 4242 unmeasured"}}},
    {"TheOutcomeContainsTheUsageOfTheWholeAttempt",
     {{"running, used 1, exit 3, used 9, gone", "keep user_error 3, used 9.; report user_error 3, used 9."}}},
    {"TheOutcomeOfAnAttemptThatNeverRanContainsNoUsage",
     {{"register, STOP 0s", "1 report; report killed, because: stopped by the application master."}}},
    {"TheFirstHeartbeatOfTheNextAttemptContainsNoUsage",
     {{"running, used 1, exit 3, gone, acked, NEXT 3, registered", ""},
      {"START 20, started 4243", "1 heartbeat; heartbeat running pid 4243 unmeasured"}}},
};
TABLE_TEST(TaskRunUsageTest, kUsage, Script());

// ---- Published values: each value reaches the AM once, whatever happens to the task.

const TestRow kValues[] = {
    {"APublishedValueIsSentToTheAmOnce",
     {{"running, published A=here", "1 values; values A=here from & generation 1"},
      {"published A=here, values-acked, values-acked, published A=here", "no values"}}},
    {"NewPublishedValuesAreSentAfterTheAmAcknowledgesTheEarlierValues",
     {{"running, published A=here, published A=here B=t", "1 values"},
      {"values-acked", "values A=here B=t from"},
      {"values-acked", "no values"}}},
    {"ALaterValuePublishedUnderTheSameNameIsIgnored",
     {{"running, published A=here, values-acked", ""}, {"published A=there B=t", "values A=here B=t from"}}},
    {"UnacknowledgedValuesAreSentToTheNextAm",
     {{"running, published A=here, lose", ""},
      {"register 2", "values A=here from & epoch 2"},
      {"values-acked, lose", ""},
      // The second AM has the value in its journal.
      {"register 3", "no values"}}},
    {"ALateAnswerOfALostAmDoesNotAcknowledgePublishedValues",
     {{"running, published A=here, lose, register 2, values-acked-before, lose", ""}, {"register 3", "1 values"}}},
    {"ValuesPublishedWhileTheAmIsLostAreSentToTheNextAm",
     {{"running, lose, published A=here", "no values"}, {"register 2", "1 values"}}},
    // An AM that knows of the end accepts no more values, and this AM may be the next one.
    {"TheOutcomeIsReportedAfterTheAmHasAcknowledgedTheValues",
     {{"running, published A=here, exit 0, gone", "state Ended; no report"},
      {"lose", ""},
      {"register 2", "1 values; no report"},
      {"values-acked", "1 report"}}},
    {"AnExecutorThatGetsSigtermWaitsAtMost2SecondsForValuesToBeAcknowledged",
     {{"running, published A=here, SIGTERM, exit TERM, gone, pass 2s", "leave 143"}}},
    {"TheNextAttemptSendsNoPublishedValuesBeforeItsProcessRuns",
     {{"running, published A=here, values-acked", "1 values"},
      {"exit 3, gone, acked, NEXT 3, published A=here, registered", "no values"},  // no process runs yet
      {"START, started 4243, published A=here", "1 values; values A=here from worker:3#3"}}},
};
TABLE_TEST(TaskRunPublishTest, kValues, Script());

}  // namespace
}  // namespace tony::executor
