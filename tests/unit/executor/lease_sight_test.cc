// Tests when executors read a lease record that is in a store of the whole job (HDFS), and what they conclude from it.
#include "executor/lease_sight.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "tests/unit/executor/task_run_script.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

LeasePace PaceOf(int tasks, int index, Timers timers = {}) {
  const JobSpec spec{.roles = {{.name = "ps", .instances = 1}, {.name = "worker", .instances = tasks - 1}},
                     .timers = timers};
  return LeasePace::OfSharedStore(spec, index == 0 ? TaskId{"ps", 0} : TaskId{"worker", index - 1});
}

// An executor whose task runs.
TaskRunDriver Running(const LeasePace& pace, double jitter = 0) {
  TaskRunDriver task({}, jitter, 1, pace);
  task.RunTask();
  return task;
}

// Lets an executor lose its AM, which never answers again. Returns the times of its reads since then.
std::vector<Duration> ReadsOf(const LeasePace& pace, double jitter, Duration lost_after, Duration length) {
  TaskRunDriver task = Running(pace, jitter);
  task.PassLinked(lost_after);
  task.actions.clear();
  task.LoseAm();
  std::vector<Duration> reads;
  for (const Instant end = task.now + length; task.now < end;) {
    const auto next = task.run.NextDeadline();
    task.now = std::max(task.now, std::min(next.value_or(end), end));
    task.Give(Tick{});
    for (int left = task.Count<ReadLease>(); left > 0; --left) reads.push_back(task.now - kDriverStart);
    task.Forget<ReadLease>();
    task.LoseAm();
  }
  return reads;
}

// Returns the most reads within a second.
size_t MostInASecond(std::vector<Duration> reads) {
  std::ranges::sort(reads);
  std::deque<Duration> recent;
  size_t most = 0;
  for (const Duration read : reads) {
    recent.push_back(read);
    while (read - recent.front() >= seconds{1}) recent.pop_front();
    most = std::max(most, recent.size());
  }
  return most;
}

// All executors of a job lose their AM, at moments that are spread over `spread`.
std::vector<Duration> ReadsOfJob(int tasks, Duration spread, Duration length) {
  std::vector<Duration> all;
  for (int i = 0; i < tasks; ++i) {
    const double jitter = (i * 373 % tasks) / static_cast<double>(tasks);
    const auto lost = Duration(static_cast<int64_t>(static_cast<double>(spread.count()) * jitter));
    const auto reads = ReadsOf(PaceOf(tasks, i), jitter, lost, length);
    all.insert(all.end(), reads.begin(), reads.end());
  }
  return all;
}

TEST(LeasePaceTest, AThousandExecutorsWithoutAnAmReadTheLeaseAtMost200TimesPerSecondInTotal) {
  for (const Duration spread : {Duration(0), Duration(6'000)}) {
    const auto reads = ReadsOfJob(1000, spread, seconds{12});
    EXPECT_LE(MostInASecond(reads), 200u) << spread.count();
    EXPECT_GE(reads.size(), 2000u);
  }
}

TEST(LeasePaceTest, EachOf1000ExecutorsFirstReadsTheLeaseWithin5SecondsOfLosingItsAm) {
  std::vector<Duration> first;
  for (int i = 0; i < 1000; ++i) first.push_back(PaceOf(1000, i).First(kDriverStart) - kDriverStart);
  EXPECT_LT(*std::ranges::max_element(first), seconds{5});
  EXPECT_LE(MostInASecond(first), 200u);
}

TEST(LeasePaceTest, ExecutorsOfASmallJobReadTheLeaseOfALostAmAtOnceThenEvery2To10Seconds) {
  for (const double jitter : {0.0, 0.5, 0.99}) {
    for (int i = 0; i < 2; ++i) {
      const auto reads = ReadsOf(PaceOf(2, i), jitter, Duration(0), seconds{100});
      EXPECT_LE(reads[0], milliseconds{10});
      for (size_t n = 1; n < reads.size(); ++n) {
        EXPECT_GE(reads[n] - reads[n - 1], milliseconds{1990}) << n;
        EXPECT_LE(reads[n] - reads[n - 1], seconds{10}) << n;
      }
      EXPECT_LE(reads[1] - reads[0], seconds{3});
      EXPECT_GE(reads.back() - reads[reads.size() - 2], milliseconds{9990});
    }
  }
}

// Later reads could not show in time that the executor is cut off.
TEST(LeasePaceTest, LeaseReadsOfAnExecutorAreAtMost10SecondsApartInAJobOf10000Tasks) {
  for (const int index : {0, 1, 9'999}) {
    const auto reads = ReadsOf(PaceOf(10'000, index), 0.5, Duration(0), seconds{60});
    EXPECT_LE(reads[0], seconds{10});
    for (size_t n = 1; n < reads.size(); ++n) EXPECT_LE(reads[n] - reads[n - 1], seconds{10});
  }
}

TEST(LeasePaceTest, TheGapBetweenTwoLeaseReadsIsShorterThanTheTimeThatALeaseStaysFresh) {
  for (const Duration fresh : {Duration(1), Duration(300), Duration(3'000), Duration(15'000), Duration(600'000)}) {
    const Timers timers{.record_fresh = fresh};
    const LeasePace pace = PaceOf(4000, 17, timers);
    const Duration apart = pace.Next(kDriverStart, pace.longest()) - kDriverStart + LeasePace::ReadLimit(timers);
    EXPECT_LT(apart, std::max(fresh, Duration(3)));
  }
}

TEST(LeasePaceTest, EachOf300TasksFirstReadsTheLeaseAtADifferentTime) {
  std::map<Duration, int> moments;
  for (int i = 0; i < 300; ++i) ++moments[PaceOf(300, i).First(kDriverStart) - kDriverStart];
  EXPECT_EQ(moments.size(), 300u);
}

// ---- what a TaskRun does

const TestRow kSharedStore[] = {
    {"AnExecutorThatLosesItsAmRetriesThatAmAtOnceWithoutReadingTheLease",
     {{"running, lose", "use am.example:7001; register running pid 4242; no read; no watch; link Registering"}}},
    {"TheLostAmIsRetriedWithABackOffFrom100MillisecondsTo1Second",
     {{"running, lose, lose", "1 use"},
      {"pass 99ms", "no use"},
      {"pass 1ms, lose, pass 199ms", "1 use"},
      {"pass 1ms, lose, pass 400ms, lose, pass 800ms, lose, pass 1s, lose", "4 use; state Running"}}},
    {"TheLeaseIsReadWhileARetryOfTheLostAmHangs", {{"running, lose, pass 5ms", "1 read; 1 use; link Registering"}}},
    {"AnExecutorConnectedToItsAmDoesNotReadTheLease", {{"running, linked 5min", "no read"}}},
    {"AStartingExecutorReadsTheLeaseAgainOnlyIfItsAmDoesNotAnswer",
     {{"lease 1, pass 1900ms", "1 read"}, {"pass 2s", "1 read"}, {"registered, linked 5min", "no read"}}},
    {"AReconnectedExecutorStopsReadingTheLease",
     {{"running, lose, pass 4ms, registered, linked 5min", "no read; state Running"}}},
    {"ANewAmInTheLeaseIsContactedAtOnceDespiteTheBackOff",
     {{"running, lose, lose", ""},
      {"lease 2 7002", "use am.example:7002; register running pid 4242"},
      {"registered 2", "await; state Running"}}},
    {"ANewAmInTheLeaseInterruptsAHangingRetryOfTheLostAm",
     {{"running, lose, lease 2 7002", "2 use; use am.example:7001; use am.example:7002"}}},
    // Another process serves at the same address. It has another epoch.
    {"AReconnectedExecutorKeepsItsConnectionWhenALateLeaseReadNamesTheSameAm",
     {{"running, lose, pass 5ms, registered 2", "link Linked"}, {"lease 2 7001", "nothing; link Linked"}}},
    {"AReconnectedExecutorIgnoresALateLeaseReadThatNamesAnOlderAm",
     {{"running, lose, lease 2 7002, registered 2", ""}, {"lease 1 7001", "nothing; link Linked"}}},
    {"AReconnectedExecutorSwitchesToANewerAmNamedInALateLeaseRead",
     {{"running, lose, registered 1", ""}, {"lease 2 7002", "use am.example:7002"}}},
    {"NoFileWatchIsSetForAMissingLease", {{"running, lose, lose, no-lease", "no watch; state Running"}}},
    {"ATaskThatLostItsAmIsStoppedIfTheJobsFolderIsMissing",
     {{"running, lose, folder-gone", "state Stopping; signals TERM"}}},
    {"AnAmThatAnswersNotLeaderTwiceIsCalledAgainAfter100Ms",
     {{"running, refuse not leader", "1 use"}, {"refuse not leader", "no use"}, {"pass 100ms", "1 use"}}},
    {"TheNextAttemptRegistersWithoutReadingTheLease", {{"ended, NEXT 3, pass 1s, registered, linked 1min", "no read"}}},
    // ---- cut off or orphaned, with the slowest reads
    {"ATaskThatLostItsAmIsStoppedAfter30SecondsIfTheLeaseIsStillRenewed",
     {{"running, lose, reads fresh 29750ms", "state Running"}, {"reads fresh 250ms", "state Stopping"}}},
    // The new AM may have been the leader since the last contact.
    {"ATaskWhoseReplacedAmRefusesItIsStoppedAfter30SecondsIfItCannotReachTheNewAm",
     {{"running, refuse not leader, cut-off 29750ms 2", "state Running"}, {"cut-off 500ms 2", "state Stopping"}}},
    {"ATaskThatLostItsAmIsStoppedAfter30SecondsIfTheLeaseCannotBeRead",
     {{"running, lose, reads nothing 29750ms", "state Running"}, {"reads nothing 250ms", "state Stopping"}}},
    {"ATaskThatLostItsAmKeepsRunningFor29MinutesIfTheLeaseIsNotRenewed",
     {{"running, lose, reads stale 29min", "state Running"}, {"reads stale 1min", "state Stopping"}}},
    {"ATaskKeepsRunningIfItsUnreachableAmDiesWithin8Seconds",
     {{"running, lose, reads fresh 8s, reads stale 29min", "state Running"}}},
    {"ATaskIsStopped29To46SecondsAfterItsUnreachableAmResumesRenewingTheLease",
     {{"running, lose, reads stale 1min, reads fresh 29s", "state Running"}, {"reads fresh 17s", "state Stopping"}}},
    {"EachLossOfTheAmRestartsThe30MinuteLimitForATaskWithoutAnAm",
     {{"running, lose, reads stale 1min, lease 2 7002, registered 2, linked 1min, lose, reads stale 29min",
       "state Running"}}},
    {"AnAttemptWithoutAProcessEndsAsNodeLostIfItsLivingAmIsUnreachableFor32Seconds",
     {{"lease 1, lose, reads fresh 29s", "state Waiting"}, {"reads fresh 3s", "outcome node_lost"}}},
};
TABLE_TEST(SharedStoreTest, kSharedStore, Script({}, 1, PaceOf(2, 1)));

// ---- the cut-off in jobs of any size, and for any moment of the loss

TEST(SharedStoreTest, ATaskCutOffFromItsLivingAmIsStoppedWithin35SecondsInJobsOfUpTo10000Tasks) {
  for (const int tasks : {2, 200, 1000, 2000, 10'000}) {
    for (const int index : {0, tasks / 2, tasks - 1}) {
      TaskRunDriver task = Running(PaceOf(tasks, index), index / static_cast<double>(tasks));
      task.LoseAm();
      task.PassReading(seconds{29}, "fresh");
      EXPECT_EQ(task.run.state(), State::kRunning) << tasks << " " << index;
      // A slow read may be under way at the cut-off.
      task.PassReading(seconds{6}, "fresh");
      EXPECT_EQ(task.run.state(), State::kStopping) << tasks << " " << index;
    }
  }
}

// The executor notices the death of a whole node late, by a call without an answer.
TEST(SharedStoreTest, ATaskKeepsRunningForAMinuteAfterItsAmDiesInJobsOfUpTo10000Tasks) {
  for (const int tasks : {2, 200, 1000, 2000, 10'000}) {
    for (const int index : {0, tasks / 2, tasks - 1}) {
      TaskRunDriver task = Running(PaceOf(tasks, index), index / static_cast<double>(tasks));
      task.Pass(Timers().heartbeat + CallTimeout({}));
      task.LoseAm();
      task.PassReading(seconds{60}, "stale");
      EXPECT_EQ(task.run.state(), State::kRunning) << tasks << " " << index;
    }
  }
}

// ---- whether an AM lives

constexpr Instant kStart{seconds{1000}};

SeenLease Renewal(int64_t renewal) { return {{1}, SocketName{"am.1.sock"}, renewal}; }

TEST(LeaseSightTest, AnAmWithoutALeaseIsNotConsideredAlive) {
  LeaseSight sight(seconds{15});
  EXPECT_FALSE(sight.alive());
  sight.Read(std::nullopt, kStart);
  EXPECT_FALSE(sight.alive());
}

TEST(LeaseSightTest, AnUnchangedLeaseBecomesStale15SecondsAfterItsFirstRead) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Read(Renewal(1), kStart + seconds{10});
  EXPECT_EQ(sight.alive()->until, kStart + seconds{15});
}

TEST(LeaseSightTest, ALeaseRenewedBeforeItIsStaleStaysFreshWithoutAGap) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Read(Renewal(2), kStart + seconds{10});
  EXPECT_EQ(sight.alive()->since, kStart);
  EXPECT_EQ(sight.alive()->until, kStart + seconds{25});
}

TEST(LeaseSightTest, AnAmThatRenewsAStaleLeaseIsAliveFromTheFirstReadOfTheRenewedLease) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Read(Renewal(1), kStart + seconds{15});
  sight.Read(Renewal(2), kStart + seconds{16});
  EXPECT_EQ(sight.alive()->since, kStart + seconds{16});
}

TEST(LeaseSightTest, ALeaseRenewalSeenExactlyWhenTheLeaseBecomesStaleStartsANewAlivePeriod) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Read(Renewal(1), kStart + seconds{15});
  sight.Read(Renewal(2), kStart + seconds{15});
  EXPECT_EQ(sight.alive()->since, kStart + seconds{15});
}

TEST(LeaseSightTest, AFailedLeaseReadAfterAMinuteDoesNotRestartTheAlivePeriodOfTheAm) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Unreadable(kStart + seconds{60});
  EXPECT_EQ(sight.alive()->since, kStart);
}

TEST(LeaseSightTest, AnUnreadableLeaseStoreCountsAsAFreshlyRenewedLease) {
  LeaseSight sight(seconds{15});
  sight.Unreadable(kStart);
  sight.Unreadable(kStart + seconds{10});
  EXPECT_EQ(sight.alive()->since, kStart);
  EXPECT_EQ(sight.alive()->until, kStart + seconds{25});
}

TEST(LeaseSightTest, AnAmThatAnswersNotLeaderIsNotAliveUntilItsLeaseIsRenewed) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.MarkNotLeader({1}, kStart + seconds{3});
  EXPECT_EQ(sight.alive()->until, kStart + seconds{3});
  sight.Read(Renewal(1), kStart + seconds{4});
  EXPECT_EQ(sight.alive()->until, kStart + seconds{3}) << "the same record is no sign of life";
  sight.Read(Renewal(2), kStart + seconds{5});
  EXPECT_EQ(sight.alive()->since, kStart + seconds{5}) << "a renewed one is, from then on";
}

TEST(LeaseSightTest, ARenewalThatIsTheFirstReadAfterANotLeaderAnswerStartsANewAlivePeriod) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.MarkNotLeader({1}, kStart + seconds{3});
  sight.Read(Renewal(2), kStart + seconds{5});
  EXPECT_EQ(sight.alive()->since, kStart + seconds{5});
}

TEST(LeaseSightTest, ANotLeaderAnswerOfAnEarlierAmDoesNotEndTheAlivePeriodOfALaterAm) {
  LeaseSight sight(seconds{15});
  const auto later = [](int64_t renewal) { return SeenLease{{2}, SocketName{"am.2.sock"}, renewal}; };
  sight.Read(later(1), kStart);
  sight.MarkNotLeader({1}, kStart + seconds{3});
  sight.Read(later(2), kStart + seconds{5});
  EXPECT_EQ(sight.alive()->since, kStart);
}

TEST(LeaseSightTest, AFailedLeaseReadAfterANotLeaderAnswerDoesNotStartANewAlivePeriod) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.MarkNotLeader({1}, kStart + seconds{3});
  sight.Unreadable(kStart + seconds{5});
  EXPECT_EQ(sight.alive()->since, kStart);
}

TEST(LeaseSightTest, ANotLeaderAnswerAloneDoesNotProveThatAnAmIsAlive) {
  LeaseSight sight(seconds{15});
  sight.MarkNotLeader({1}, kStart);
  EXPECT_FALSE(sight.alive());
}

TEST(LeaseSightTest, TheFirstLeaseReadAfterAnAnswerDoesNotExtendTheAlivePeriodOfTheAm) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Heard(kStart + seconds{60}, kStart + seconds{60});
  sight.Read(Renewal(13), kStart + seconds{70});
  EXPECT_EQ(sight.alive()->until, kStart + seconds{75}) << "its AM may have died just after the last answer";
  sight.Read(Renewal(14), kStart + seconds{80});
  EXPECT_EQ(sight.alive()->since, kStart + seconds{60});
  EXPECT_EQ(sight.alive()->until, kStart + seconds{95});
}

TEST(LeaseSightTest, AnAnswerProvesThatTheAmIsAliveFromTheCallUntil15SecondsAfterTheAnswer) {
  LeaseSight sight(seconds{15});
  sight.Heard(kStart, kStart + seconds{3});
  EXPECT_EQ(sight.alive()->since, kStart);
  EXPECT_EQ(sight.alive()->until, kStart + seconds{18});
}

}  // namespace
}  // namespace tony::executor
