// Small tests of the checker for restarts and outages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"
#include "tests/sim/history_checker.h"
#include "tests/sim/scenario.h"
#include "tests/sim/timeline.h"

namespace tony::sim {
namespace {

const AttemptId kSecond{kWorker0, 2};

// A gang of two tasks that restarts once in its executors, from a checkpoint.
const Plan& RestartPlan() {
  static const Plan& plan = *new Plan(PlanOf(
      "worker*2 pytorch gang=1 checkpoints=3, all runs 8s, worker:0 saves 1s, worker:1 first runs 5500ms fails 3"));
  return plan;
}

History Right() { return RightHistory(RestartPlan()); }

void ExpectNoticed(const History& history, const std::string& text) { ExpectComplaint(RestartPlan(), history, text); }

template <class T>
void ExpectNoticedIf(const std::function<void(T&)>& change, const std::string& text) {
  History history = Right();
  RewriteEach<T>(history, change);
  ExpectNoticed(history, text);
}

// Returns the place of the second start of worker:0.
std::vector<Seen>::iterator Restarted(History& history) {
  return std::ranges::find_if(history.events(), [](const Seen& seen) {
    const auto* start = std::get_if<ProcessStarted>(&seen.event);
    return start && start->attempt == kSecond;
  });
}

TEST(HistoryCheckerRestartTest, TheCheckerAcceptsACorrectHistory) {
  EXPECT_EQ(Join(HistoryChecker::Check(RestartPlan().spec, Right()), "\n"), "");
}

TEST(HistoryCheckerRestartTest, ARestartWithTheWrongScopeOrBudgetOrBackOffOrTasksIsNoticed) {
  using Decided = RestartDecided;
  ExpectNoticedIf<Decided>([](Decided& d) { d.scope = RestartScope::kJob; }, "of a job, not of a gang");
  ExpectNoticedIf<Decided>([](Decided& d) { d.charged = false; }, "is charged to the wrong budget");
  ExpectNoticedIf<Decided>([](Decided& d) { d.not_before += Duration(1); }, "has the wrong back-off");
  ExpectNoticedIf<Decided>([](Decided& d) { d.tasks.pop_back(); }, "of the wrong tasks");
  ExpectNoticedIf<Decided>([](Decided& d) { d.cause = {kWorker0, 1}; }, "for no reason");
  ExpectNoticedIf<Decided>([](Decided& d) { d.number = 2; }, "is not the next one");
}

TEST(HistoryCheckerRestartTest, ARestartWithoutARestartBudgetIsNoticed) {
  Plan strict = RestartPlan();
  strict.spec.restart.levels = {};
  ExpectComplaint(strict, Right(), "although the job has to stop");
  ExpectComplaint(strict, Right(), "restart 1 for no reason");
}

TEST(HistoryCheckerRestartTest, AMissingRestartIsNoticedIfRestartBudgetIsLeft) {
  Plan stingy = RestartPlan();
  stingy.spec.restart.levels = {};
  History history = RightHistory(stingy);
  ExpectNoticed(history, "worker:1#1 has to start again");
}

TEST(HistoryCheckerRestartTest, ARestartThatBeginsTooEarlyIsNoticed) {
  ExpectNoticedIf<RestartDecided>([](RestartDecided& d) { d.not_before += Duration(1'000); },
                                  "before its back-off was over");
  History history = Right();
  RewriteJournal(history, [](auto& decisions) {
    std::erase_if(decisions, [](const Decision& decision) {
      const auto* ended = std::get_if<AttemptEnded>(&decision.body);
      return ended && ended->attempt == AttemptId{kWorker0, 1};
    });
  });
  ExpectNoticed(history, "restart 1 before the end of worker:0");
  ExpectNoticed(history, "worker:0#2 before the end of the last one");
  ExpectNoticedIf<AttemptEnded>([](AttemptEnded& d) { d.reported = false; }, "is known to be gone");
}

TEST(HistoryCheckerRestartTest, ARestartWithWrongAttemptNumbersOrContainersIsNoticed) {
  using Began = RestartBegan;
  ExpectNoticedIf<Began>([](Began& d) { ++d.renewed[0].attempt.number; }, "is not the next one");
  ExpectNoticedIf<Began>([](Began& d) { std::swap(d.renewed[0].container, d.renewed[1].container); },
                         "cannot go on in");
  ExpectNoticedIf<Began>([](Began& d) { d.renewed.pop_back(); }, "with other tasks than decided");
  ExpectNoticedIf<Began>(
      [](Began& d) {
        d.requested.push_back(d.renewed[0].attempt);
        d.renewed.erase(d.renewed.begin());
      },
      "gets a new container for no reason");
  ExpectNoticedIf<Began>([](Began& d) { d.number = 7; }, "began and was not decided");
}

TEST(HistoryCheckerRestartTest, AGangThatReturnsItsContainersTooEarlyOrTooLateIsNoticed) {
  const Plan plan = PlanOf(
      "worker*2 pytorch gang=1 checkpoints=3 yarn hold=20s, all runs 8s granted 30s, worker:0 saves 1s, worker:1 first "
      "runs 5500ms fails 3, at 31s kill-executor worker:0");
  const History right = RightHistory(plan);
  Plan patient = plan, hasty = plan;
  patient.spec.yarn.gang_hold = Duration(25'000);
  hasty.spec.yarn.gang_hold = Duration(1'000);
  ExpectComplaint(patient, right, "gives back containers for no reason");
  ExpectComplaint(hasty, right, "containers are held for too long");
}

TEST(HistoryCheckerRestartTest, AGangThatFormsBeforeAllTasksRegisterIsNoticed) {
  History history = Right();
  RewriteJournal(history, [](auto& decisions) { std::erase_if(decisions, Is<AttemptRegistered>); });
  ExpectNoticed(history, "the gang formed without worker:0");
}

TEST(HistoryCheckerRestartTest, AMissingOrWrongCheckpointSearchResultIsNoticed) {
  using Noted = CheckpointNoted;
  ExpectNoticedIf<Noted>([](Noted& d) { d.newest->step = 9; }, "noted a checkpoint that never was");
  ExpectNoticedIf<Noted>([](Noted& d) { d.newest.reset(); }, "there was a newer checkpoint than the one noted");
  History history = Right();
  RewriteJournal(history, [](auto& decisions) {
    std::erase_if(decisions, Is<CheckpointSearchStarted>);
    std::erase_if(decisions, Is<CheckpointNoted>);
  });
  ExpectNoticed(history, "did not look for a checkpoint");
}

// The AM read the checkpoint before it was overwritten, and wrote its note afterwards.
TEST(HistoryCheckerRestartTest, TheCheckerAcceptsACheckpointOverwrittenBetweenSearchAndJournalWrite) {
  History history = Right();
  std::optional<Checkpoint> noted;
  const auto note = std::ranges::find_if(history.events(), [&](const Seen& seen) {
    const auto* written = std::get_if<JournalWritten>(&seen.event);
    const auto decoded = DecodeJournal(EncodeHeader() + (written ? written->bytes : ""));
    if (!decoded.ok()) return false;
    for (const Decision& decision : decoded->decisions)
      if (const auto* body = std::get_if<CheckpointNoted>(&decision.body)) noted = body->newest;
    return noted.has_value();
  });
  ASSERT_TRUE(noted);
  noted->modified += Duration(1);
  InsertBefore(history, note, CheckpointWritten{kSecond, *noted});
  EXPECT_EQ(Join(HistoryChecker::Check(RestartPlan().spec, history), "\n"), "");
}

TEST(HistoryCheckerRestartTest, TooManyRestartsWithoutProgressAreNoticed) {
  Plan plan = PlanOf(
      "worker*1 task=9 checkpoints=3, all runs 1s, worker:0 first runs 100ms fails 3 first runs 100ms fails 3 first "
      "runs "
      "100ms fails 3");
  const History history = RightHistory(plan);
  EXPECT_EQ(Join(HistoryChecker::Check(plan.spec, history), "\n"), "");
  plan.spec.checkpoint.most_fruitless = 2;
  ExpectComplaint(plan, history, "although restarts do not help any more");
}

TEST(HistoryCheckerRestartTest, AProcessStartedInAnOldGenerationIsNoticed) {
  History history = Right();
  std::get<ProcessStarted>(Restarted(history)->event).generation = {1};
  ExpectNoticed(history, "was started in generation 1 after the next had formed");
}

TEST(HistoryCheckerRestartTest, AProcessStartedWithAWrongClusterSpecOrCheckpointIsNoticed) {
  History history = Right();
  std::get<ProcessStarted>(Restarted(history)->event).cluster_spec += " ";
  ExpectNoticed(history, "got another cluster spec");
  history = Right();
  std::get<ProcessStarted>(Restarted(history)->event).resume_from = "";
  ExpectNoticed(history, "worker:0#2 resumes from ''");
  history = Right();
  FirstOf<ProcessStarted>(history).resume_from = "/checkpoints/worker-0-5000";
  ExpectNoticed(history, "#1 resumes from");
}

TEST(HistoryCheckerRestartTest, AnUnjournalledAttemptIsNoticed) {
  History history = Right();
  FirstOf<AttemptBegun>(history).attempt.number = 3;
  ExpectNoticed(history, "goes on, which is not in the journal");
  history = Right();
  InsertBefore(history, First<AttemptBegun>(history), Told{{1}, {kWorker0, 1}, Command::Kind::kNext, {}, 3});
  ExpectNoticed(history, "is told to go on as an attempt that is not in the journal");
  history = Right();
  InsertBefore(history, Restarted(history), Told{{1}, kSecond, Command::Kind::kStart, {1}, 0});
  ExpectNoticed(history, "is told to start an old generation");
}

TEST(HistoryCheckerRestartTest, AStopCommandWithoutAJournalledDecisionIsNoticed) {
  History history = Right();
  InsertBefore(history, Restarted(history), Told{{1}, kSecond, Command::Kind::kStop, {1}, 0});
  ExpectNoticed(history, "worker:0#2 is told to stop, which is not in the journal");
}

TEST(HistoryCheckerRestartTest, AStopCommandDuringAJournalProblemIsNoticedOnlyIfTheTaskWasSignalled) {
  History history = Right();
  const auto place = Restarted(history) - history.events().begin();
  InsertBefore(history, history.events().begin() + place, JournalStuck{{1}, true});
  InsertBefore(history, history.events().begin() + place + 1, Told{{1}, kSecond, Command::Kind::kStop, {1}, 0});
  InsertBefore(history, history.events().begin() + place + 2, JournalStuck{{1}, false});
  const std::string complaint = "worker:0 was told to stop, which was never written";
  EXPECT_THAT(Join(HistoryChecker::Check(RestartPlan().spec, history), "\n"),
              testing::Not(testing::HasSubstr(complaint)))
      << "it has ended by itself";
  InsertBefore(history, history.events().begin() + place + 2, ProcessSignalled{kSecond, 0, 15});
  ExpectNoticed(history, complaint);
}

TEST(HistoryCheckerRestartTest, AnExcessiveOverlapOfTwoProcessesOfATaskIsNoticed) {
  const auto with = [](Duration overlap) {
    History history = Right();
    history.bounds.overlap = overlap;
    const auto first = std::get<ProcessStarted>(First<ProcessStarted>(history)->event).attempt;
    const ContainerId container = FirstOf<ProcessStarted>(history).container;
    ProcessStarted second = FirstOf<ProcessStarted>(history);
    ++second.attempt.number;
    const auto end = First<ProcessEnded>(history) - history.events().begin();
    InsertBefore(history, First<CheckpointWritten>(history), ContainerToldGone{container});
    InsertBefore(history, history.events().begin() + end + 1, second);
    EXPECT_EQ(first.number, 1);
    return history;
  };
  ExpectNoticed(with(Duration(0)), "is said to be gone and is not");
  ExpectNoticed(with(Duration(100)), "two processes of worker:");
}

TEST(HistoryCheckerRestartTest, AnAttemptThatIsDeclaredLostTooEarlyIsNoticed) {
  const Plan plan = PlanOf("worker*2, all runs 300s, at 5s cut worker:0 100s");
  const History right = RightHistory(plan);
  EXPECT_EQ(Join(HistoryChecker::Check(plan.spec, right), "\n"), "");

  Plan patient = plan;
  patient.spec.timers.lost_after = Duration(70'000);
  ExpectComplaint(patient, right, "is given up too early");

  History unrenewed = right;
  std::erase_if(unrenewed.events(), [](const Seen& seen) {
    return std::holds_alternative<LeaseWritten>(seen.event) && seen.time - Timeline::kStart > Duration(10'000);
  });
  ExpectComplaint(plan, unrenewed, "is given up while the lease record is not renewed");

  History runs = right;
  runs.events().erase(First<ProcessEnded>(runs));
  ExpectComplaint(plan, runs, "is given up, but its process runs");
}

TEST(HistoryCheckerRestartTest, AProcessThatLongOutlivesItsLostAttemptIsNoticed) {
  const Plan plan = PlanOf("worker*1, all runs 100s, at 5s lie-about worker:0 90s");
  History history = RightHistory(plan);
  EXPECT_EQ(Join(HistoryChecker::Check(plan.spec, history), "\n"), "");
  const auto end = First<ProcessEnded>(history);
  const Seen ended = *end;
  history.events().erase(end);
  history.events().insert(First<StatusWritten>(history), {First<StatusWritten>(history)->time, ended.event});
  ExpectComplaint(plan, history, "ran on long after it was given up");
}

TEST(HistoryCheckerRestartTest, AnAmThatRenewsItsLeaseWithoutLeadershipIsNoticed) {
  const Plan plan = PlanOf("worker*1, all runs 30s");
  History history = RightHistory(plan);
  std::erase_if(history.events(), [](const Seen& seen) {
    return std::holds_alternative<ArbiterHeard>(seen.event) && seen.time > Timeline::kStart + Duration(1'000);
  });
  ExpectComplaint(plan, history, "has lost its arbiter, yet it renewed its lease");
}

TEST(HistoryCheckerRestartTest, AKeeperThatGivesUpOnALivingAmIsNoticed) {
  History history = Right();
  InsertBefore(history, First<StatusWritten>(history),
               KeeperGaveUp{{FinalState::kFailed, OutcomeClass::kInfra, "", {}, {}, {}, {}}});
  ExpectNoticed(history, "the keeper gave up too early");
  ExpectNoticed(history, "the keeper gave up an AM that lives");
}

TEST(HistoryCheckerRestartTest, AnIgnoredJobTimeoutIsNoticed) {
  Plan limited = PlanOf("worker*1, all runs 30s");
  History history = RightHistory(limited);
  limited.spec.timeout = Duration(10'000);
  ExpectComplaint(limited, history, "a time limit is ignored");
}

TEST(HistoryCheckerRestartTest, TheRemovalOfWrittenDecisionsFromTheJournalIsNoticed) {
  History history = Right();
  const size_t size = FirstOf<JournalWritten>(history).bytes.size();
  InsertBefore(history, Restarted(history), JournalCutBack{{1}, size});
  ExpectNoticed(history, "written decisions were taken back");
}

}  // namespace
}  // namespace tony::sim
