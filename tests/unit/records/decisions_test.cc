#include "runtime/records/decisions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/records/history.h"
#include "tests/support/results.h"
#include "tests/unit/records/sample_decisions.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

// Journals of earlier releases contain these names.
constexpr std::string_view kNames[] = {
    "epoch_began",      "job_accepted",       "containers_requested",   "container_assigned", "gang_allocated",
    "attempt_launched", "attempt_registered", "generation_formed",      "attempt_ran",        "attempt_suspected",
    "attempt_heard",    "attempt_ended",      "container_kill_ordered", "container_ended",    "job_stopping",
    "stop_hurried",     "job_ended",          "restart_decided",        "checkpoint_sought",  "checkpoint_noted",
    "restart_began",    "attempt_stopping",   "owner_changed",          "watcher_changed",    "kill_planned",
    "kill_voided",      "listing_sought",     "checkpoints_listed",     "values_published",   "stage_opened",
    "role_left",        "failure_tolerated",  "role_finished",
};

TEST(DecisionsTest, TheSampleDecisionsIncludeEachKindOfDecisionOnce) {
  const std::vector<Decision> decisions = OneOfEachKind();

  ASSERT_EQ(decisions.size(), std::variant_size_v<DecisionBody>);
  for (size_t i = 0; i < decisions.size(); ++i) EXPECT_EQ(decisions[i].body.index(), i);
}

TEST(DecisionsTest, CheckpointsRecordedInJournalsOfEarlierReleasesHaveAnUnknownWriter) {
  const auto noted = Must(DecisionFromJson(R"({"time":5,"decision":"checkpoint_noted","restart":1,)"
                                           R"("newest":{"path":"/c/s-4","step":4,"modified":3}})"));
  EXPECT_EQ(std::get<CheckpointNoted>(noted.body).newest->writer, CheckpointWriter::kUnknown);
}

// Journals of releases before named ports have no such field.
TEST(DecisionsTest, ATaskRegistrationWithoutNamedPortsIsReadAndWrittenUnchanged) {
  const std::string text = R"({"time":5,"decision":"attempt_registered","task":"worker:0","attempt":1,)"
                           R"("host":"n","port":4711})";
  const auto read = Must(DecisionFromJson(text));
  EXPECT_EQ(std::get<AttemptRegistered>(read.body).ports, NamedPorts());
  EXPECT_EQ(ToJson(read), text);
}

TEST(DecisionsTest, ADecisionToOpenAStageIsReadBackWithTheRoleOfTheStage) {
  const std::string text = R"({"time":5,"decision":"stage_opened","role":"worker"})";
  const auto read = Must(DecisionFromJson(text));
  EXPECT_EQ(std::get<StageOpened>(read.body).role, "worker");
  EXPECT_EQ(ToJson(read), text);
}

TEST(DecisionsTest, ANamedPortAbove65535IsRejected) {
  EXPECT_FALSE(DecisionFromJson(R"({"time":5,"decision":"attempt_registered","task":"worker:0","attempt":1,)"
                                R"("host":"n","port":4711,"ports":{"data":70000}})")
                   .ok());
}

// Journals of earlier releases have no asker.
TEST(DecisionsTest, APlannedKillIsReadBackWithOrWithoutItsRequester) {
  const Decision planned{FromMillis(5),
                         KillPlanned{1, {.reason = "late", .due = FromMillis(9), .asker = "root (uid 0)"}}};
  const auto read = Must(DecisionFromJson(ToJson(planned)));
  EXPECT_EQ(std::get<KillPlanned>(read.body).request.asker, "root (uid 0)");
  const std::string without = ToJson(Decision{FromMillis(5), KillPlanned{1, {.reason = "late", .due = FromMillis(9)}}});
  EXPECT_EQ(without.find("asker"), std::string::npos) << without;
  EXPECT_EQ(std::get<KillPlanned>(DecisionFromJson(without)->body).request.asker, "");
}

TEST(DecisionsTest, DecisionsOfEveryKindAreReadBackFromJsonUnchanged) {
  for (const Decision& decision : OneOfEachKind()) {
    const std::string json = ToJson(decision);
    SCOPED_TRACE(json);

    const Result<Decision> read = DecisionFromJson(json);

    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->time, decision.time);
    EXPECT_EQ(read->body.index(), decision.body.index());
    EXPECT_EQ(ToJson(*read), json);
  }
}

TEST(DecisionsTest, OutcomesVerdictsAndContainersAreReadBackFromJson) {
  const std::vector<Decision> decisions = OneOfEachKind();
  const auto back = [](const Decision& decision) { return DecisionFromJson(ToJson(decision)); };

  for (const Decision& decision : decisions) {
    const auto read = Must(back(decision));
    if (const auto* ended = std::get_if<AttemptEnded>(&decision.body)) {
      EXPECT_EQ(std::get<AttemptEnded>(read.body).outcome, ended->outcome);
    }
    if (const auto* stopping = std::get_if<JobStopping>(&decision.body)) {
      EXPECT_EQ(std::get<JobStopping>(read.body).verdict, stopping->verdict);
      EXPECT_EQ(std::get<JobStopping>(read.body).grace, stopping->grace);
    }
    if (const auto* assigned = std::get_if<ContainerAssigned>(&decision.body)) {
      EXPECT_EQ(std::get<ContainerAssigned>(read.body).attempt, assigned->attempt);
      EXPECT_EQ(std::get<ContainerAssigned>(read.body).container, assigned->container);
    }
    if (const auto* stopping = std::get_if<AttemptStopping>(&decision.body)) {
      EXPECT_EQ(std::get<AttemptStopping>(read.body).because, stopping->because);
      EXPECT_EQ(std::get<AttemptStopping>(read.body).grace, stopping->grace);
    }
  }
}

TEST(DecisionsTest, ADecisionIsWrittenAsOneLineOfJsonInTheDocumentedFormat) {
  const Decision decision{Instant(Duration(1'700'000'000'123)),
                          ContainerAssigned{{{"worker", 3}, 2}, {"7-1"}, "node-7"}};

  EXPECT_EQ(ToJson(decision), R"({"time":1700000000123,"decision":"container_assigned","task":"worker:3","attempt":2,)"
                              R"("container":"7-1","host":"node-7"})");
  for (const Decision& any : OneOfEachKind()) EXPECT_THAT(ToJson(any), Not(HasSubstr("\n")));
}

TEST(DecisionsTest, DecisionNamesMatchThoseInJournalsOfEarlierReleases) {
  const std::vector<Decision> decisions = OneOfEachKind();

  ASSERT_EQ(decisions.size(), std::size(kNames));
  for (size_t i = 0; i < decisions.size(); ++i) EXPECT_EQ(Name(decisions[i]), kNames[i]);
}

TEST(DecisionsTest, RestartAndCheckpointDecisionsAreWrittenInTheDocumentedFormat) {
  const AttemptId ps{{"ps", 0}, 2}, worker{{"worker", 3}, 2};
  const Instant time(Duration(5));
  const auto json = [&](DecisionBody body) { return ToJson({time, std::move(body)}); };

  EXPECT_EQ(json(RestartDecided{
                1, RestartScope::kGang, worker, "why", true, {ps.task, worker.task}, FromMillis(9), Duration(7)}),
            R"({"time":5,"decision":"restart_decided","restart":1,"scope":"gang","task":"worker:3","attempt":2,)"
            R"("reason":"why","charged":true,"tasks":["ps:0","worker:3"],"not_before":9,"grace_ms":7})");
  EXPECT_EQ(json(CheckpointSearchStarted{1}), R"({"time":5,"decision":"checkpoint_sought","restart":1})");
  EXPECT_EQ(json(CheckpointNoted{1, std::nullopt}), R"({"time":5,"decision":"checkpoint_noted","restart":1})");
  EXPECT_EQ(json(CheckpointNoted{1, Checkpoint{"/c/s-4", 4, FromMillis(3)}}),
            R"({"time":5,"decision":"checkpoint_noted","restart":1,)"
            R"("newest":{"path":"/c/s-4","step":4,"modified":3,"writer":"this_job"}})");
  EXPECT_EQ(json(ListingStarted{}), R"({"time":5,"decision":"listing_sought"})");
  EXPECT_EQ(json(CheckpointsListed{{.folder = "/c", .there = {{"s-4", 11, 22, 33}, {"s-5", 12, 23, 34, true}}}}),
            R"({"time":5,"decision":"checkpoints_listed","folder":"/c","there":[)"
            R"({"name":"s-4","inode":11,"bytes":22,"modified_ns":33},)"
            R"({"name":"s-5","inode":12,"bytes":23,"modified_ns":34,"earlier_job":true}]})");
  EXPECT_EQ(json(RestartBegan{1, {{worker, {"7-1"}}}, {ps}}),
            R"({"time":5,"decision":"restart_began","restart":1,)"
            R"("renewed":[{"task":"worker:3","attempt":2,"container":"7-1"}],)"
            R"("requested":[{"task":"ps:0","attempt":2}]})");
}

TEST(DecisionsTest, ARestartDecisionIsReadBackWithItsScopeAndTasks) {
  for (const Decision& decision : OneOfEachKind()) {
    const auto read = Must(DecisionFromJson(ToJson(decision)));
    if (const auto* decided = std::get_if<RestartDecided>(&decision.body)) {
      const auto& back = std::get<RestartDecided>(read.body);
      EXPECT_EQ(back.tasks, decided->tasks);
      EXPECT_EQ(back.not_before, decided->not_before);
      EXPECT_EQ(back.scope, decided->scope);
    }
    if (const auto* began = std::get_if<RestartBegan>(&decision.body)) {
      const auto& back = std::get<RestartBegan>(read.body);
      ASSERT_EQ(back.renewed.size(), began->renewed.size());
      EXPECT_EQ(back.renewed[0].container, began->renewed[0].container);
      EXPECT_EQ(back.requested, began->requested);
    }
  }
}

TEST(DecisionsTest, AnUnknownFieldOfADecisionIsIgnored) {
  const auto read = DecisionFromJson(R"({"time":5,"decision":"job_accepted","weather":"fine"})");

  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(std::holds_alternative<JobAccepted>(read->body));
}

TEST(DecisionsTest, AnUnknownDecisionIsRejectedWithItsNameInTheError) {
  const auto read = DecisionFromJson(R"({"time":5,"decision":"gang_disbanded"})");

  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(read.error().message, HasSubstr("gang_disbanded"));
}

TEST(DecisionsTest, MalformedDecisionRecordsOfAJournalAreRejected) {
  const std::string texts[] = {
      "",
      "{",
      "[]",
      "7",
      R"({"decision":"job_accepted"})",
      R"({"time":"now","decision":"job_accepted"})",
      R"({"time":5})",
      R"({"time":5,"decision":7})",
      R"({"time":5,"decision":"epoch_began"})",
      R"({"time":5,"decision":"epoch_began","epoch":0})",
      R"({"time":5,"decision":"containers_requested","attempts":[{"task":"worker","attempt":1}]})",
      R"({"time":5,"decision":"containers_requested","attempts":[{"task":"worker:0"}]})",
      R"({"time":5,"decision":"container_assigned","task":"worker:0","attempt":0,"container":"c","host":"h"})",
      R"({"time":5,"decision":"attempt_registered","task":"worker:0","attempt":1,"host":"h","port":65536})",
      R"({"time":5,"decision":"attempt_ended","task":"worker:0","attempt":1})",
      R"({"time":5,"decision":"attempt_ended","task":"worker:0","attempt":1,"outcome":{"class":"bored"}})",
      R"({"time":5,"decision":"job_stopping","grace_ms":1})",
      R"({"time":5,"decision":"restart_decided","restart":0,"scope":"gang"})",
      R"({"time":5,"decision":"restart_decided","restart":1,"scope":"cluster","task":"worker:0","attempt":1,)"
      R"("reason":"","charged":true,"tasks":[],"not_before":0,"grace_ms":0})",
      R"({"time":5,"decision":"restart_decided","restart":1,"scope":"task","task":"worker:0","attempt":1,)"
      R"("reason":"","charged":true,"tasks":["worker"],"not_before":0,"grace_ms":0})",
      R"({"time":5,"decision":"checkpoint_noted","restart":1,"newest":{"path":"/c"}})",
      R"({"time":5,"decision":"restart_began","restart":1,"renewed":[{"task":"worker:0","attempt":1}],"requested":[]})",
      R"({"time":5,"decision":"restart_began","restart":1,"renewed":[]})",
      R"({"time":5,"decision":"attempt_stopping","task":"worker:0","attempt":1,"grace_ms":1})",
  };
  for (const std::string& text : texts) {
    const auto read = DecisionFromJson(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << text;
  }
}

// ---- describe

constexpr Instant kStart = Instant(Duration(1'700'000'000'000));

TEST(DescribeTest, AnEventLineShowsTheElapsedTimeTheUtcTimeTheNameAndTheDetails) {
  const AttemptId worker{{"worker", 3}, 2};

  EXPECT_EQ(EventLine({kStart + Duration(1250), ContainerAssigned{worker, {"1-4"}, "node-7"}}, kStart),
            "     1.250  2023-11-14T22:13:21.250Z  container_assigned      worker:3#2 in 1-4 on node-7");
  EXPECT_EQ(EventLine({kStart, JobAccepted{}}, kStart), "     0.000  2023-11-14T22:13:20.000Z  job_accepted");
}

TEST(DescribeTest, EveryKindOfDecisionIsDescribedInOneLineWithItsName) {
  for (const Decision& decision : OneOfEachKind()) {
    const std::string line = EventLine(decision, kStart);
    EXPECT_THAT(line, HasSubstr(std::string(Name(decision))));
    EXPECT_THAT(line, Not(HasSubstr("\n")));
  }
}

TEST(DescribeTest, ARestartDecisionIsDescribedWithItsTasksAndReason) {
  const RestartDecided restart{.number = 2,
                               .scope = RestartScope::kGang,
                               .cause = {{"worker", 1}, 1},
                               .reason = "worker:1 failed on node-3: exit code 3 (user_error)",
                               .charged = false,
                               .tasks = {{"ps", 0}, {"worker", 1}}};

  EXPECT_EQ(
      Describe(Decision{kStart, restart}),
      "restart 2 (gang, not charged): ps:0 worker:1; because worker:1 failed on node-3: exit code 3 (user_error)");
}

TEST(DescribeTest, AnOutcomeIsDescribedByItsExitStatusItsClassAndItsMessage) {
  EXPECT_EQ(Describe(Outcome{.cls = OutcomeClass::kOom, .exit = ExitStatus{ExitStatus::Kind::kSignaled, 9}}),
            "signal 9 (SIGKILL), oom");
  EXPECT_EQ(Describe(Outcome{.cls = OutcomeClass::kInfra, .message = "a\nb"}), "infra, a b");
}

TEST(DescribeTest, TheDescriptionOf1000AttemptsNamesTheFirst8AndCountsTheRest) {
  ContainersRequested request;
  for (int i = 0; i < 1000; ++i) request.attempts.push_back({{"worker", i}, 1});

  EXPECT_THAT(Describe(Decision{kStart, request}), testing::EndsWith("worker:7#1 and 992 more"));
}

// ---- history

constexpr Instant kSubmitted = Instant(Duration(1'700'000'000'000));
const AttemptId kFirst{{"worker", 0}, 1}, kSecond{{"worker", 0}, 2};

// A list of decisions, each with its time in milliseconds after the submission.
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

TimeBreakdown Ledger(int64_t waiting, int64_t running, int64_t restarting, int64_t stopping) {
  return {Duration(waiting), Duration(running), Duration(restarting), Duration(stopping)};
}

TEST(HistoryTest, TheDurationOfAJobIsSplitIntoWaitingTimeRunningTimeAndStoppingTime) {
  const JobHistory history = Told().Accepted().Formed(300, 1).Stopped(1300, 1450).Read();

  EXPECT_EQ(history.time, Ledger(300, 1000, 0, 150));
  const auto at = [](int64_t ms) { return kSubmitted + Duration(ms); };
  EXPECT_EQ(history.phases, (std::vector<JobPhase>{{JobPhaseKind::kWaiting, kSubmitted, at(300)},
                                                   {JobPhaseKind::kRunning, at(300), at(1300)},
                                                   {JobPhaseKind::kStopping, at(1300), at(1450)}}));
  EXPECT_EQ(history.time.Total(), *history.ended - kSubmitted);
}

TEST(HistoryTest, TimeFromAGangRestartUntilTheGangRunsAgainCountsAsRestartingTime) {
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

TEST(HistoryTest, TimeDuringARestartOfASingleTaskCountsAsRunningTime) {
  const JobHistory history =
      Told().Accepted().Formed(300, 1).Restart(500, 1, RestartScope::kTask).Stopped(1000, 1100).Read();

  EXPECT_EQ(history.time, Ledger(300, 700, 0, 100));
}

TEST(HistoryTest, TheLastPhaseOfAnUnfinishedJobIsCountedUntilNow) {
  EXPECT_EQ(Told().Accepted().Formed(300, 1).Read(/*now=*/450).time, Ledger(300, 150, 0, 0));
  EXPECT_EQ(Told().Read(/*now=*/450).time, Ledger(450, 0, 0, 0)) << "nobody has ruled yet";
}

TEST(HistoryTest, AJobKilledWhileWaitingHasNoRunningTime) {
  EXPECT_EQ(Told().Accepted().Stopped(40, 50).Read().time, Ledger(40, 0, 0, 10));
}

TEST(HistoryTest, PhaseDurationsAddUpToTheJobDurationForEveryPrefixOfTheJournal) {
  std::vector<Decision> decisions = OneOfEachKind();
  for (size_t size = 0; size <= decisions.size(); ++size) {
    const std::vector<Decision> part(decisions.begin(), decisions.begin() + static_cast<std::ptrdiff_t>(size));
    const Instant until = kSubmitted + Duration(777'777);
    const JobHistory history = HistoryOf(part, kSubmitted, until);
    EXPECT_EQ(history.time.Total(), history.ended.value_or(until) - kSubmitted) << size;
  }
}

TEST(HistoryTest, AttemptsAreListedWithTheirOutcomes) {
  const Outcome failed{.cls = OutcomeClass::kUserError, .exit = ExitStatus{.value = 3}};
  const JobHistory history = Told()
                                 .Accepted()
                                 .At(20, ContainerAssigned{kFirst, {"1-1"}, "node-1", "http://node-1:8042/x"})
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
  EXPECT_EQ(history.attempts[1].log_url, "http://node-1:8042/x");
  EXPECT_FALSE(history.attempts[0].is_renewed);
  EXPECT_TRUE(history.attempts[1].is_renewed);
  EXPECT_FALSE(history.attempts[1].outcome);
  ASSERT_EQ(history.restarts.size(), 1U);
  EXPECT_EQ(history.restarts[0].began, kSubmitted + Duration(410));
}

}  // namespace
}  // namespace tony
