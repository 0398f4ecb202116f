#include "runtime/history/jhist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kSubmitted = Instant(Duration(1'700'000'000'000));
const JhistJob kJob{
    .application = "application_20261121093015_5188252", .submitted = kSubmitted, .host = "am", .tasks = 2};
const AttemptId kPs{{"ps", 0}, 1}, kWorker{{"worker", 3}, 1}, kSecond{{"worker", 3}, 2};

Instant At(int64_t ms) { return kSubmitted + Duration(ms); }

// Decisions, each with its time in milliseconds after the submission, and the end of the job.
class Told {
 public:
  Told& Decide(int64_t ms, DecisionBody body) {
    decisions_.push_back({At(ms), std::move(body)});
    return *this;
  }
  Told& Start(int64_t ms, const AttemptId& attempt, const std::string& container, const std::string& host = "node-1") {
    Decide(ms, ContainerAssigned{attempt, {container}, host});
    return Decide(ms, AttemptLaunched{attempt});
  }
  Told& End(int64_t ms, const AttemptId& attempt, const Outcome& outcome) {
    return Decide(ms, AttemptEnded{attempt, outcome});
  }
  Told& Task(const AttemptId& newest, const Outcome& outcome) {
    TaskStatus task{.id = newest.task, .attempt = newest.number};
    task.outcome = outcome;
    status_.tasks.push_back(task);
    return *this;
  }
  std::vector<JhistEvent> Ended(int64_t ms) {
    status_.ended = At(ms);
    status_.verdict = Verdict();
    return JhistEvents(kJob, decisions_, status_);
  }
  std::vector<JhistEvent> Running() { return JhistEvents(kJob, decisions_, std::nullopt); }

 private:
  std::vector<Decision> decisions_;
  JobStatus status_;
};

Outcome Success() { return {}; }
Outcome Exit3() { return {.cls = OutcomeClass::kUserError, .exit = ExitStatus{ExitStatus::Kind::kExited, 3}}; }
Outcome Killed() { return {.cls = OutcomeClass::kKilled, .message = "stopped with its job"}; }

JhistEvent Inited() { return {kSubmitted, JhistApplicationInited{kJob.application, 2, "am"}}; }
JhistEvent Started(int64_t ms, const AttemptId& attempt, const std::string& container) {
  return {At(ms), JhistTaskStarted{attempt.task, "node-1", container}};
}
JhistEvent Finished(int64_t ms, const AttemptId& attempt, const std::string& status, const std::string& diagnostic) {
  return {At(ms), JhistTaskFinished{attempt.task, status, {}, diagnostic}};
}
JhistEvent Application(int64_t ms, int finished, int failed) {
  return {At(ms), JhistApplicationFinished{kJob.application, finished, failed}};
}

TEST(JhistTest, AQueuedJobHasOnlyTheApplicationInitedEvent) { EXPECT_THAT(Told().Running(), ElementsAre(Inited())); }

TEST(JhistTest, ASuccessfulJobHasStartAndFinishEventsOfEachTaskAndOfTheApplication) {
  EXPECT_THAT(Told()
                  .Start(10, kPs, "1-1")
                  .Start(11, kWorker, "1-2")
                  .End(500, kWorker, Success())
                  .End(600, kPs, Killed())
                  .Task(kPs, Killed())
                  .Task(kWorker, Success())
                  .Ended(700),
              ElementsAre(Inited(), Started(10, kPs, "1-1"), Started(11, kWorker, "1-2"),
                          Finished(500, kWorker, "SUCCEEDED", "NA"),
                          Finished(600, kPs, "FINISHED", "killed, stopped with its job"), Application(700, 2, 0)));
}

TEST(JhistTest, EachAttemptOfATaskHasAStartEventAndAFinishEventInOrder) {
  EXPECT_THAT(
      Told()
          .Start(10, kWorker, "1-1")
          .End(100, kWorker, Exit3())
          .Start(200, kSecond, "1-2")
          .End(300, kSecond, Success())
          .Task(kSecond, Success())
          .Ended(400),
      ElementsAre(Inited(), Started(10, kWorker, "1-1"), Finished(100, kWorker, "FAILED", "exit code 3, user_error"),
                  Started(200, kSecond, "1-2"), Finished(300, kSecond, "SUCCEEDED", "NA"), Application(400, 1, 0)));
}

TEST(JhistTest, AnAttemptRestartedInTheSameExecutorHasItsStartEventAtTheTimeOfTheRestart) {
  RestartBegan began{.number = 1};
  began.renewed = {{kSecond, {"1-1"}}};
  EXPECT_THAT(Told().Start(10, kWorker, "1-1").End(100, kWorker, Exit3()).Decide(150, began).Running(),
              ElementsAre(Inited(), Started(10, kWorker, "1-1"),
                          Finished(100, kWorker, "FAILED", "exit code 3, user_error"), Started(150, kSecond, "1-1")));
}

TEST(JhistTest, TheStartEventOfAnAttemptHasTheTimeOfRegistrationIfNoLaunchWasRecorded) {
  EXPECT_THAT(Told()
                  .Decide(10, ContainerAssigned{kWorker, {"1-1"}, "node-1"})
                  .Decide(20, AttemptRegistered{kWorker, {}})
                  .End(100, kWorker, Success())
                  .Running(),
              ElementsAre(Inited(), Started(20, kWorker, "1-1"), Finished(100, kWorker, "SUCCEEDED", "NA")));
}

TEST(JhistTest, AnAttemptThatWasNeverLaunchedHasNoEvent) {
  EXPECT_THAT(Told().End(100, kWorker, Killed()).Running(), ElementsAre(Inited()));
}

TEST(JhistTest, AnAttemptWhoseEndIsRecordedTwiceHasOneFinishEvent) {
  EXPECT_THAT(Told().Start(10, kPs, "1-1").End(20, kPs, Success()).End(30, kPs, Killed()).Running(),
              ElementsAre(Inited(), Started(10, kPs, "1-1"), Finished(20, kPs, "SUCCEEDED", "NA")));
}

TEST(JhistTest, ATaskWithoutARecordedEndHasItsFinishEventAtTheEndOfTheJob) {
  const Outcome lost{.cls = OutcomeClass::kNodeLost, .message = "ended with its job"};
  EXPECT_THAT(Told().Start(10, kWorker, "1-1").Task(kWorker, lost).Ended(400),
              ElementsAre(Inited(), Started(10, kWorker, "1-1"),
                          Finished(400, kWorker, "FAILED", "node_lost, ended with its job"), Application(400, 1, 1)));
}

TEST(JhistTest, MemoryAndGpuMetricsAreWrittenUnderTonysMetricNames) {
  Outcome outcome;
  outcome.usage = Usage{.mean_memory_bytes = 1000, .most_memory_bytes = 3000};
  outcome.usage->gpu = GpuUsage{.mean_percent = 40, .most_percent = 95};
  const auto events = Told().Start(10, kPs, "1-1").End(20, kPs, outcome).Running();
  EXPECT_THAT(std::get<JhistTaskFinished>(events.back().body).metrics,
              ElementsAre(JhistMetric{"MAX_MEMORY_BYTES", 3000}, JhistMetric{"AVG_MEMORY_BYTES", 1000},
                          JhistMetric{"MAX_GPU_UTILIZATION", 95}, JhistMetric{"AVG_GPU_UTILIZATION", 40}));
}

TEST(JhistTest, MetricsThatWereNotMeasuredAreLeftOut) {
  Outcome outcome;
  outcome.usage = Usage{.mean_memory_bytes = 1000, .most_memory_bytes = 3000};
  const auto measured = Told().Start(10, kPs, "1-1").End(20, kPs, outcome).Running();
  EXPECT_EQ(std::get<JhistTaskFinished>(measured.back().body).metrics.size(), 2u);
  const auto none = Told().Start(10, kPs, "1-1").End(20, kPs, Success()).Running();
  EXPECT_THAT(std::get<JhistTaskFinished>(none.back().body).metrics, IsEmpty());
}

// The bytes of each kind of event. tests/e2e/jhist_test.cc checks that a stock reader accepts them.
TEST(JhistTest, AnEventIsEncodedAsTypeThenRecordThenTime) {
  const std::string sync = "0123456789abcdef";
  const auto body = [&](const JhistEvent& event) {
    std::string file = EncodeJhist({event}, sync);
    file.resize(file.size() - sync.size());
    // Skips the number of events and of bytes.
    return file.substr(file.rfind(sync) + sync.size() + 2);
  };
  const Instant time = Instant(Duration(1));
  const std::string zero("\0", 1), one_ms = "\x02";
  EXPECT_EQ(body({time, JhistApplicationInited{"a", 3, "h"}}), zero + zero +
                                                                   "\x02"
                                                                   "a"
                                                                   "\x06"
                                                                   "\x02"
                                                                   "h" +
                                                                   zero + one_ms);
  EXPECT_EQ(body({time, JhistApplicationFinished{"a", 2, 1}}),
            "\x02\x02\x02"
            "a"
            "\x04\x02" +
                zero + one_ms);
  EXPECT_EQ(body({time, JhistTaskStarted{{"w", 4}, "h", "c"}}),
            "\x04\x04\x02"
            "w"
            "\x08\x02"
            "h"
            "\x02\x02"
            "c" +
                one_ms);
  EXPECT_EQ(body({time, JhistTaskFinished{{"w", 0}, "S", {{"m", 0}}, "NA"}}),
            "\x06\x06\x02"
            "w" +
                zero +
                "\x02"
                "S"
                "\x02\x02"
                "m" +
                std::string(8, '\0') + zero +
                "\x02\x04"
                "NA" +
                one_ms);
}

}  // namespace
}  // namespace tony
