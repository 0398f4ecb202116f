// Small tests of the checker: each makes one thing wrong in a right history.
#include "tests/sim/history_checker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/strings.h"
#include "tests/sim/scenario.h"
#include "tests/sim/timeline.h"

namespace tony::sim {
namespace {

const AttemptId kWorker{{"worker", 0}, 1};
const Plan& ThePlan() {
  static const Plan& plan = *new Plan(QuietPlan(2));
  return plan;
}

History RightHistory() { return sim::RightHistory(ThePlan()); }

void ExpectComplaint(const History& history, const std::string& text) {
  sim::ExpectComplaint(ThePlan(), history, text);
}

TEST(HistoryCheckerTest, TheCheckerAcceptsACorrectHistory) {
  EXPECT_EQ(Join(HistoryChecker::Check(ThePlan().spec, RightHistory()), "\n"), "");
}

TEST(HistoryCheckerTest, ASecondProcessStartOfAnAttemptIsNoticed) {
  History history = RightHistory();
  const ProcessStarted start = FirstOf<ProcessStarted>(history);
  InsertBefore(history, First<StatusWritten>(history), start);
  ExpectComplaint(history, "was started again");
}

TEST(HistoryCheckerTest, TwoSimultaneousProcessesOfATaskAreNoticed) {
  History history = RightHistory();
  ProcessStarted second = FirstOf<ProcessStarted>(history);
  second.attempt.number = 2;
  InsertBefore(history, First<ProcessEnded>(history), second);
  ExpectComplaint(history, "two processes of worker:");
}

TEST(HistoryCheckerTest, AProcessThatRunsAfterTheEndOfTheJobIsNoticed) {
  History history = RightHistory();
  history.events().erase(First<ProcessEnded>(history));
  ExpectComplaint(history, "the final status came before the last process had ended");
  ExpectComplaint(history, "runs after the end of the job");
}

TEST(HistoryCheckerTest, AProcessStartedBeforeTheGangHasFormedIsNoticed) {
  History history = RightHistory();
  const Event start = First<ProcessStarted>(history)->event;
  InsertBefore(history, First<JournalWritten>(history), start);
  ExpectComplaint(history, "started before the gang had formed");
}

TEST(HistoryCheckerTest, ATaskStoppedForNoReasonIsNoticed) {
  History history = RightHistory();
  const ProcessStarted start = FirstOf<ProcessStarted>(history);
  InsertBefore(history, First<ProcessEnded>(history), ProcessSignalled{start.attempt, start.pid, 15});
  ExpectComplaint(history, "is being stopped for no reason");
}

TEST(HistoryCheckerTest, AWrongExitStatusInTheJournalIsNoticed) {
  History history = RightHistory();
  FirstOf<ProcessEnded>(history).exit.value = 7;
  ExpectComplaint(history, "has another exit status in the journal");
  ExpectComplaint(history, "SUCCEEDED, but worker:");
}

TEST(HistoryCheckerTest, AMissingExitStatusInTheJournalIsNoticed) {
  History history = RightHistory();
  RewriteJournal(history, [](auto& decisions) {
    for (Decision& decision : decisions) {
      if (auto* ended = std::get_if<AttemptEnded>(&decision.body)) ended->outcome = {.cls = OutcomeClass::kInfra};
    }
  });
  ExpectComplaint(history, "the exit status of worker:0#1 was lost");
}

TEST(HistoryCheckerTest, ASecondOutcomeOfAnAttemptIsNoticed) {
  History history = RightHistory();
  RewriteJournal(history, [](auto& decisions) {
    const auto ended = std::ranges::find_if(decisions, Is<AttemptEnded>);
    if (ended != decisions.end()) decisions.push_back(*ended);
  });
  ExpectComplaint(history, "ended twice");
}

TEST(HistoryCheckerTest, AMissingOutcomeIsNoticed) {
  History history = RightHistory();
  RewriteJournal(history, [](auto& decisions) { std::erase_if(decisions, Is<AttemptEnded>); });
  ExpectComplaint(history, "has no outcome at the end of the job");
  ExpectComplaint(history, "acknowledged an outcome that is not in the journal");
  ExpectComplaint(history, "SUCCEEDED before enough have succeeded");
}

TEST(HistoryCheckerTest, AVerdictThatContradictsTheOutcomesIsNoticed) {
  const auto with = [](FinalState state, OutcomeClass cls) {
    History history = RightHistory();
    RewriteJournal(history, [=](auto& decisions) {
      for (Decision& decision : decisions) {
        if (auto* stopping = std::get_if<JobStopping>(&decision.body))
          stopping->verdict = {state, cls, "", {}, {}, {}, {}};
      }
    });
    FirstOf<StatusWritten>(history).verdict = {state, cls, "", {}, {}, {}, {}};
    return history;
  };
  ExpectComplaint(with(FinalState::kKilled, OutcomeClass::kKilled), "KILLED, and nobody may ask for it");
  ExpectComplaint(with(FinalState::kFailed, OutcomeClass::kInfra), "FAILED although enough have succeeded");
  ExpectComplaint(with(FinalState::kFailed, OutcomeClass::kTimeout), "FAILED without a reason");
}

TEST(HistoryCheckerTest, AMissingJobStopAfterATaskFailureIsNoticed) {
  History history = RightHistory();
  RewriteJournal(history, [](auto& decisions) {
    const auto ended = std::ranges::find_if(decisions, Is<AttemptEnded>);
    if (ended != decisions.end()) std::get<AttemptEnded>(ended->body).outcome.cls = OutcomeClass::kUserError;
  });
  ExpectComplaint(history, "failed");
  ExpectComplaint(history, "although the job has to stop");
}

TEST(HistoryCheckerTest, AStatusThatDiffersFromTheJournalIsNoticed) {
  History history = RightHistory();
  FirstOf<StatusWritten>(history).verdict.message = "another";
  ExpectComplaint(history, "the final status differs from the journal");
}

TEST(HistoryCheckerTest, AMessageThatPrecedesItsJournalEntryIsNoticed) {
  const auto early = [](const Event& event) {
    History history = RightHistory();
    InsertBefore(history, First<JournalWritten>(history), event);
    return history;
  };
  const Epoch epoch{1};
  ExpectComplaint(early(Told{epoch, kWorker, Command::Kind::kStart, {1}, 0}), "told to start a generation");
  ExpectComplaint(early(Told{epoch, kWorker, Command::Kind::kStop, {}, 0}), "is told to stop");
  ExpectComplaint(early(Told{epoch, kWorker, Command::Kind::kRelease, {}, 0}), "released with no outcome");
  ExpectComplaint(early(OutcomeAcknowledged{epoch, kWorker, {}}), "acknowledged an outcome");
  ExpectComplaint(early(KillAcknowledged{epoch}), "acknowledged a kill");
  ExpectComplaint(early(Ordered{epoch, Ordered::What::kLaunch, {"1-1"}, {}}), "an order for a container");
  ExpectComplaint(early(Ordered{epoch, Ordered::What::kFinish, {}, {}}), "the keeper was dismissed");
}

TEST(HistoryCheckerTest, ActionsOfADeadAmAreNoticed) {
  History history = RightHistory();
  const auto end = First<StatusWritten>(history);
  InsertBefore(history, end, AmGone{{1}});
  ExpectComplaint(history, "am 1 is over, yet it wrote the final status");
  InsertBefore(history, First<StatusWritten>(history), KeeperListens{{2}});
  ExpectComplaint(history, "an order of am 1 after the keeper had heard am 2");
}

TEST(HistoryCheckerTest, AnExecutorThatObeysAnOlderAmIsNoticed) {
  History history = RightHistory();
  InsertBefore(history, First<ExecutorObeyed>(history), ExecutorBound{kWorker, {5}});
  InsertBefore(history, First<StatusWritten>(history), ExecutorObeyed{kWorker, {4}});
  ExpectComplaint(history, "worker:0#1 obeyed am 4");
}

TEST(HistoryCheckerTest, AJournalThatLostItsLastDecisionsIsNoticed) {
  History history = RightHistory();
  const size_t size = FirstOf<JournalWritten>(history).bytes.size();
  InsertBefore(history, First<ProcessEnded>(history), JournalOpened{{1}, size});
  ExpectComplaint(history, "whole decisions are");
}

TEST(HistoryCheckerTest, AJobThatDoesNotEndIsNoticed) {
  History history = RightHistory();
  history.events().erase(First<JobClosed>(history));
  ExpectComplaint(history, "the job has not ended");
}

TEST(HistoryCheckerTest, AnIgnoredKillRequestIsNoticed) {
  History history = RightHistory();
  InsertBefore(history, First<AmBegan>(history), KillWritten{});
  const Instant late = First<ProcessEnded>(history)->time;
  for (int i = 0; i < 4; ++i) InsertBefore(history, First<ProcessEnded>(history), LeaseWritten{{1}});
  ASSERT_GT(late - Timeline::kStart, Duration(5'000));
  ExpectComplaint(history, "the kill request is ignored");
}

}  // namespace
}  // namespace tony::sim
