// Tests every row of the transition table, and that nothing else changes the state.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <set>

#include "tests/unit/executor/task_run_driver.h"
#include "tests/unit/executor/task_run_script.h"

namespace tony::executor {
namespace {

// The events that lead from the beginning into each state. CauseOf() returns the simplest cause of each trigger.
const std::map<State, std::string> kWays = {
    {State::kWaiting, "register"},
    {State::kStarting, "register, START"},
    {State::kRunning, "running"},
    {State::kSweeping, "running, exit-all 0"},
    {State::kStopping, "register, START, STOP 1s"},
    {State::kKilling, "register, START, STOP 1s, pass 1s"},
    {State::kEnded, "running, exit-all 0, gone"},
    {State::kLeft, "register, RELEASE"},
};

std::string CauseOf(Trigger trigger, State from) {
  const bool stops = from == State::kStopping || from == State::kKilling;
  switch (trigger) {
    case Trigger::kStart:
      return "START 20";
    case Trigger::kStarted:
      return "started";
    case Trigger::kNotStarted:
      return "unstarted";
    case Trigger::kExited:
      return "exit 1";
    case Trigger::kFailed:
      if (from == State::kStarting) return "started 4242 0, unstarted 1";
      return from == State::kRunning ? "exit-of 1 1" : "";
    case Trigger::kStop:
      return "STOP 1s 20";
    case Trigger::kGraceOver:
      return "pass 1500ms";
    case Trigger::kTreeGone:
      return stops ? "started, exit TERM, gone" : "gone";
    case Trigger::kGiveUp:
      return from == State::kStopping ? "lives" : "pass 30s, lives";
    case Trigger::kNext:
      return "NEXT 3 20";
    case Trigger::kLeave:
      return "RELEASE 20";
  }
  return "";
}
constexpr int kTriggers = static_cast<int>(Trigger::kLeave) + 1;

// Returns the state after the script. The task has two processes for kFailed, and one for other triggers.
State After(const std::string& script, Trigger trigger) {
  TaskRunDriver task({}, 0, trigger == Trigger::kFailed ? 2 : 1);
  for (const std::string& event : ScriptParts(script, ", ")) Happen(task, {Split(event, ' ')});
  return task.run.state();
}

TEST(TaskRunTableTest, EachTriggerListedForAStateMovesTheTaskRunToTheListedNextState) {
  ASSERT_FALSE(Transitions().empty());
  for (const auto& [from, trigger, to] : Transitions()) {
    SCOPED_TRACE(StrCat(ToString(from), " ", ToString(trigger)));
    ASSERT_EQ(After(kWays.at(from), trigger), from);
    EXPECT_EQ(After(StrCat(kWays.at(from), ", ", CauseOf(trigger, from)), trigger), to);
  }
}

TEST(TaskRunTableTest, TriggersThatAreNotListedForAStateDoNotChangeTheState) {
  for (const auto& [state, way] : kWays) {
    for (int i = 0; i < kTriggers; ++i) {
      const auto trigger = static_cast<Trigger>(i);
      // A release is also a reason to stop, so it changes every state that a stop changes.
      if (Next(state, trigger) || trigger == Trigger::kLeave) continue;
      SCOPED_TRACE(StrCat(ToString(state), " ", ToString(trigger)));
      EXPECT_EQ(After(StrCat(way, ", ", CauseOf(trigger, state)), trigger), state);
    }
  }
}

TEST(TaskRunTableTest, NoTransitionIsListedTwice) {
  const auto rows = Transitions();
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = i + 1; j < rows.size(); ++j) {
      EXPECT_FALSE(rows[i].from == rows[j].from && rows[i].trigger == rows[j].trigger) << i << " and " << j;
    }
  }
}

TEST(TaskRunTableTest, EveryStateAndTriggerHasAName) {
  for (const auto& [state, way] : kWays) EXPECT_FALSE(ToString(state).empty());
  for (int i = 0; i < kTriggers; ++i) EXPECT_FALSE(ToString(static_cast<Trigger>(i)).empty());
}

// ---- Random walks: these rules hold for every order of events.

LeasePace PaceOfOne() {
  const JobSpec spec{.roles = {{.name = "worker", .instances = 1}}};
  return LeasePace::OfSharedStore(spec, {"worker", 0});
}

class RandomWalk {
 public:
  explicit RandomWalk(unsigned seed)
      : random_(seed), task_({}, 0, 1 + static_cast<int>(seed % 3), seed % 2 ? LeasePace() : PaceOfOne()) {}

  void Step() {
    const size_t before = task_.actions.size();
    const State state = task_.run.state();
    task_.now += Duration(Below(2000));
    const Event event = Draw();
    const bool is_tick = std::holds_alternative<Tick>(event);
    task_.Give(event);
    for (size_t i = before; i < task_.actions.size(); ++i) {
      EXPECT_NE(state, State::kLeft) << "an action after it left";
      Check(task_.actions[i]);
    }
    if (task_.run.state() == State::kLeft) {
      EXPECT_FALSE(task_.run.NextDeadline());
    }
    if (is_tick && task_.run.NextDeadline()) {
      EXPECT_GT(*task_.run.NextDeadline(), task_.now)
          << "a deadline that stays due would spin: " << ToString(task_.run.state()) << ", "
          << ToString(task_.run.link());
    }
  }

 private:
  int Below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }
  int64_t SomeLink() { return Below(4) ? task_.link : Below(5); }

  Event Draw() {
    if (begun_ && Below(4) == 0) {
      begun_ = false;
      return AttemptNotBegun{};
    }
    begun_ = false;
    switch (Below(20)) {
      case 0:
      case 1:
        return LeaseRead{LeaseOf(1 + Below(4), 7000 + Below(3), Below(100))};
      case 2:
      case 3:
        return Registered{SomeLink(), {1 + Below(4)}};
      case 4:
        return CommandReceived{SomeLink(), {.number = Below(20), .kind = Command::Kind::kStart, .generation = {1}}};
      case 5:
        return CommandReceived{SomeLink(),
                               {.number = Below(60), .kind = Command::Kind::kStop, .grace = Duration(Below(5000))}};
      case 6:
        return CommandReceived{
            SomeLink(), {.number = Below(100), .kind = Below(3) ? Command::Kind::kNone : Command::Kind::kRelease}};
      case 7:
        return HeartbeatAnswered{SomeLink()};
      case 8:
        return OutcomeAcknowledged{SomeLink()};
      case 9:
        return Refused{SomeLink(), static_cast<RefusalReason>(Below(8))};
      case 10:
        return ConnectionLost{SomeLink()};
      case 11:
        return Below(2) ? Event(LeaseUnreadable{}) : Event(LeaseRead{});
      case 12:
        return Below(20) ? Event(Tick{}) : Event(TermSignal{});
      case 13:
        return Below(2) ? Event(TreeGone{}) : Event(TreeSurvived{"a process", Below(2) == 0});
      case 14:
        return ProcessEvent();
      case 15:
        return CommandReceived{SomeLink(),
                               {.number = Below(100), .kind = Command::Kind::kNext, .attempt = Below(attempt_ + 3)}};
      case 16:
        return running_.empty() ? Event(Tick{}) : Publish();
      case 17:
        return ValuesAcknowledged{SomeLink()};
      default:
        return Tick{};
    }
  }

  // A task may rewrite the file. The first value of a name counts.
  Event Publish() {
    const PublishedValues values{{Below(2) ? "ADDRESS" : "TOKEN", std::to_string(Below(100))}};
    published_.insert(values.begin(), values.end());
    return ValuesSeen{values};
  }

  // Returns a possible next event of the processes. After the order to start, the processes are started in order, until
  // perhaps one start fails; started processes exit.
  Event ProcessEvent() {
    if (to_answer_ > 0) {
      const int process = task_.processes - to_answer_;
      if (Below(4) == 0) {
        to_answer_ = 0;
        return ProcessNotStarted{{}, process};
      }
      --to_answer_;
      running_.insert(process);
      return ProcessStarted{4242 + process, process};
    }
    if (running_.empty()) return Tick{};
    const int process = *std::next(running_.begin(), Below(static_cast<int>(running_.size())));
    running_.erase(process);
    return ProcessExited{ExitCode(Below(3)), "tail", std::nullopt, process};
  }

  void Check(const Action& action) {
    if (const auto* next = std::get_if<BeginAttempt>(&action)) {
      EXPECT_TRUE(kept_) << "begun before the one before had ended";
      EXPECT_GT(next->attempt.number, attempt_);
      attempt_ = next->attempt.number;
      asked_ = false;
      kept_ = false;
      published_.clear();
      begun_ = true;
    }
    if (std::holds_alternative<StartProcesses>(action)) {
      EXPECT_FALSE(asked_) << "started twice";
      asked_ = true;
      to_answer_ = task_.processes;
    }
    if (std::holds_alternative<KeepOutcome>(action)) {
      EXPECT_TRUE(to_answer_ == 0 && running_.empty()) << "ended before its processes";
      EXPECT_FALSE(kept_);
      kept_ = true;
    }
    if (std::holds_alternative<SendOutcome>(action)) {
      EXPECT_TRUE(kept_) << "reported before it was kept";
    }
    if (const auto* call = std::get_if<SendRegister>(&action)) {
      EXPECT_EQ(call->caller.attempt.number, attempt_);
      EXPECT_GE(call->caller.epoch, epoch_);
      epoch_ = call->caller.epoch;
    }
    if (const auto* call = std::get_if<SendValues>(&action)) {
      EXPECT_EQ(task_.run.link(), Link::kLinked);
      EXPECT_EQ(call->values, published_);
      EXPECT_EQ(call->caller.attempt.number, attempt_);
    }
    if (std::holds_alternative<SendAwait>(action)) {
      EXPECT_EQ(task_.run.link(), Link::kLinked);
    }
    if (std::holds_alternative<Leave>(action)) {
      const bool gave_up = std::get<Leave>(action).exit_code == kLeftTreeAlive;  // a process may still run
      EXPECT_TRUE(kept_ || gave_up) << "left before the end";
    }
  }

  std::mt19937 random_;
  TaskRunDriver task_;
  bool asked_ = false;     // the attempt's processes were ordered
  int to_answer_ = 0;      // processes whose start has no result
  std::set<int> running_;  // started processes that still run
  bool kept_ = false;
  PublishedValues published_;
  int attempt_ = 2;
  bool begun_ = false;  // the last action began an attempt
  Epoch epoch_;
};

TEST(TaskRunRandomTest, EachAttemptStartsOnceEndsOnceAndThenReportsIn300RandomEventSequences) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomWalk walk(seed);
    for (int step = 0; step < 200; ++step) walk.Step();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tony::executor
