#include "runtime/records/history.h"

#include <gtest/gtest.h>

#include "tests/unit/records/sample_decisions.h"

namespace tony {
namespace {

constexpr Instant kSubmitted = Instant(Duration(1'700'000'000'000));
const AttemptId kFirst{{"worker", 0}, 1}, kSecond{{"worker", 0}, 2};

// Decisions, each at its milliseconds after the submission.
class Told {
 public:
  Told& At(int64_t ms, DecisionBody body) {
    decisions_.push_back({kSubmitted + Duration(ms), std::move(body)});
    return *this;
  }
  Told& Accepted() { return At(10, JobAccepted{}).At(10, EpochBegan{{1}}).At(10, ContainersRequested{{kFirst}}); }
  Told& Formed(int64_t ms, int64_t generation) { return At(ms, GenerationFormed{{generation}}); }
  Told& Restart(int64_t ms, int number, RestartScope scope) {
    return At(ms, RestartDecided{.number = number, .scope = scope, .cause = kFirst, .tasks = {kFirst.task}});
  }
  Told& Stopped(int64_t from, int64_t until) { return At(from, JobStopping{}).At(until, JobEnded{}); }
  JobHistory Read(int64_t now = 1'000'000) const {
    return HistoryOf(decisions_, kSubmitted, kSubmitted + Duration(now));
  }

 private:
  std::vector<Decision> decisions_;
};

TimeLedger Ledger(int64_t waiting, int64_t running, int64_t restarting, int64_t stopping) {
  return {Duration(waiting), Duration(running), Duration(restarting), Duration(stopping)};
}

TEST(HistoryTest, AJobThatRanOnceWaitedRanAndStopped) {
  const JobHistory history = Told().Accepted().Formed(300, 1).Stopped(1300, 1450).Read();

  EXPECT_EQ(history.time, Ledger(300, 1000, 0, 150));
  EXPECT_EQ(history.time.Total(), *history.ended - kSubmitted);
}

TEST(HistoryTest, FromAGangRestartUntilTheNextGenerationIsRestarting) {
  const JobHistory history = Told()
                                 .Accepted()
                                 .Formed(300, 1)
                                 .Restart(500, 1, RestartScope::kGang)
                                 .Restart(600, 2, RestartScope::kJob)
                                 .Formed(900, 2)
                                 .Stopped(1000, 1100)
                                 .Read();

  EXPECT_EQ(history.time, Ledger(300, 300, 400, 100));
  EXPECT_EQ(history.generation, Generation{2});
}

TEST(HistoryTest, AJobRunsOnWhileOneTaskIsRestarted) {
  const JobHistory history =
      Told().Accepted().Formed(300, 1).Restart(500, 1, RestartScope::kTask).Stopped(1000, 1100).Read();

  EXPECT_EQ(history.time, Ledger(300, 700, 0, 100));
}

TEST(HistoryTest, AJobThatHasNotEndedIsCountedUntilNow) {
  EXPECT_EQ(Told().Accepted().Formed(300, 1).Read(/*now=*/450).time, Ledger(300, 150, 0, 0));
  EXPECT_EQ(Told().Read(/*now=*/450).time, Ledger(450, 0, 0, 0)) << "nobody has ruled yet";
}

TEST(HistoryTest, AJobThatWasKilledWhileItWaitedNeverRan) {
  EXPECT_EQ(Told().Accepted().Stopped(40, 50).Read().time, Ledger(40, 0, 0, 10));
}

TEST(HistoryTest, TheLedgerAddsUpWhateverTheJournal) {
  std::vector<Decision> decisions = OneOfEachKind();
  for (size_t size = 0; size <= decisions.size(); ++size) {
    const std::vector<Decision> part(decisions.begin(), decisions.begin() + static_cast<std::ptrdiff_t>(size));
    const Instant until = kSubmitted + Duration(777'777);
    const JobHistory history = HistoryOf(part, kSubmitted, until);
    EXPECT_EQ(history.time.Total(), history.ended.value_or(until) - kSubmitted) << size;
  }
}

TEST(HistoryTest, AttemptsAreToldWithTheirOutcomes) {
  const Outcome failed{.cls = OutcomeClass::kUserError, .exit = ExitStatus{.value = 3}};
  const JobHistory history = Told()
                                 .Accepted()
                                 .At(20, ContainerAssigned{kFirst, {"1-1"}, "node-1"})
                                 .Formed(300, 1)
                                 .At(310, AttemptRan{kFirst, 7})
                                 .At(400, AttemptEnded{kFirst, failed})
                                 .Restart(400, 1, RestartScope::kGang)
                                 .At(410, RestartBegan{1, {{kSecond, {"1-1"}}}, {}})
                                 .Read();

  ASSERT_EQ(history.attempts.size(), 2U);
  EXPECT_EQ(history.attempts[0].id, kFirst);
  EXPECT_EQ(history.attempts[0].host, "node-1");
  EXPECT_EQ(history.attempts[0].outcome, failed);
  EXPECT_EQ(*history.attempts[0].ended - *history.attempts[0].started, Duration(90));
  EXPECT_EQ(history.attempts[1].id, kSecond);
  EXPECT_EQ(history.attempts[1].host, "node-1") << "the container of the one before";
  EXPECT_FALSE(history.attempts[1].outcome);
  ASSERT_EQ(history.restarts.size(), 1U);
  EXPECT_EQ(history.restarts[0].began, kSubmitted + Duration(410));
}

}  // namespace
}  // namespace tony
