#include "tests/sim/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"
#include "tests/sim/history_checker.h"
#include "tests/sim/timeline.h"
#include "tests/sim/world.h"
#include "tests/support/job_words.h"

namespace tony::sim {

testing::AssertionResult IsRight(const Plan& plan, const World& world) {
  const auto complaints = HistoryChecker::Check(plan.spec, world.history());
  if (complaints.empty()) return testing::AssertionSuccess();
  World again(plan, Flaw::kNone, /*with_trace=*/true);
  again.Run();
  return testing::AssertionFailure() << Join(complaints, "\n") << "\n" << again.history().trace();
}

void ExpectVerdict(const World& world, FinalState state, OutcomeClass cls) {
  ASSERT_TRUE(world.status().has_value());
  EXPECT_EQ(ToString(world.status()->state), ToString(state)) << world.status()->message;
  EXPECT_EQ(ToString(world.status()->cls), ToString(cls)) << world.status()->message;
}

void CrashAtEveryStep(Plan plan, FinalState state, OutcomeClass cls) {
  World reference(plan);
  reference.Run();
  ASSERT_TRUE(IsRight(plan, reference));
  ExpectVerdict(reference, state, cls);
  const int64_t steps = reference.crashes().steps();
  ASSERT_GT(steps, 20);
  for (int64_t step = 1; step <= steps; ++step) {
    plan.am.crash_at_steps = {step};
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world)) << "crash at step " << step;
    EXPECT_EQ(Count<AmGone>(world.history()), Count<AmBegan>(world.history())) << "crash at step " << step;
    EXPECT_LE(Count<AmBegan>(world.history()), 2) << "crash at step " << step;
    ExpectVerdict(world, state, cls);
  }
}

std::vector<Decision> DecisionsOf(const History& history) {
  auto journal = DecodeJournal(history.journal);
  CHECK(journal.ok());
  return std::move(journal->decisions);
}

namespace {

TaskId TaskNamed(const std::string& name) { return *ParseTaskId(name); }

// ---- plans

void AddToProcess(ProcessPlan& process, const std::string& word, Words& its) {
  if (word == "runs") return void(process.run = TimeOf(its.Next()));
  if (word == "fails") return void(process.exit_code = static_cast<int>(its.Number()));
  if (word == "obeys") return void(process.obeys_term = TimeOf(its.Next()));
  if (word == "deaf") return process.obeys_term.reset();
  if (word == "saves") return void(process.checkpoint_every = TimeOf(its.Next()));
  if (word == "publishes") return void(process.publish_after = TimeOf(its.Next()));
  if (word == "silent") return process.publish_after.reset();
  if (word == "leaves-children") return void(process.leaves_children = true);
  EXPECT_EQ(word, "children-stay") << "no such word of a process";
  process.children_stay = true;
}

void AddToTask(TaskPlan& task, Words its) {
  ProcessPlan* attempt = &task.process;
  ProcessPlan* process = attempt;
  while (its.any()) {
    const std::string word = its.Next();
    if (word == "granted") {
      task.grant = TimeOf(its.Next());
    } else if (word == "launched") {
      task.launch = TimeOf(its.Next());
    } else if (word == "launches-fail") {
      task.launches_failing = static_cast<int>(its.Number());
    } else if (word == "cannot-begin") {
      task.cannot_begin = true;
    } else if (word == "first") {
      process = attempt = &task.earlier.emplace_back(task.process);
    } else if (word == "alone") {
      attempt->beside.clear();
    } else if (word == "beside") {
      process = &attempt->beside.emplace_back();
    } else {
      AddToProcess(*process, word, its);
    }
  }
}

Fault CutOf(Words& its) {
  CutNetwork cut{.task = TaskNamed(its.Next()), .length = TimeOf(its.Next())};
  cut.store_too = its.Skip("store");
  if (its.Skip("requests")) cut.direction = CutNetwork::Direction::kRequests;
  if (its.Skip("answers")) cut.direction = CutNetwork::Direction::kAnswers;
  return cut;
}

Fault KillOf(Words& its) {
  if (!its.Skip("if-owner") && !its.Skip("if-watcher"))
    return AskKill{its.Skip("within") ? TimeOf(its.Next()) : Duration(-1)};
  const std::string name = its.Next();
  if (!its.any()) return AskConditionalKill{{.if_owner = {name}}, {}};
  return AskConditionalKill{{.if_watcher = {name}}, TimeOf(its.Next())};
}

Fault FaultOf(Words& its) {
  const std::string word = its.Next();
  if (word == "crash-am") return CrashAm{its.any() ? static_cast<int>(its.Number()) : 0};
  if (word == "freeze-am") return FreezeAm{TimeOf(its.Next())};
  if (word == "fill-disk") return FillDisk{TimeOf(its.Next())};
  if (word == "fail-sync") return FailSync{};
  if (word == "double-am") return DoubleAm{its.any() ? TimeOf(its.Next()) : Duration(0)};
  if (word == "lock-lease") return LockLease{TimeOf(its.Next())};
  if (word == "freeze-keeper") return FreezeKeeper{TimeOf(its.Next())};
  if (word == "kill-keeper") return KillKeeper{TimeOf(its.Next())};
  if (word == "kill-executor") return KillExecutor{TaskNamed(its.Next())};
  if (word == "cut") return CutOf(its);
  if (word == "end") return EndContainer{TaskNamed(its.Next()), FromName<OutcomeClass>(its.Next())};
  if (word == "preempt") return Preempt{TaskNamed(its.Next()), TimeOf(its.Next())};
  if (word == "lose") return LoseNode{TaskNamed(its.Next()), TimeOf(its.Next()), its.Skip("dies")};
  if (word == "lie-about") return LieAboutEnd{TaskNamed(its.Next()), TimeOf(its.Next())};
  if (word == "doubt") return DoubtEnd{TaskNamed(its.Next())};
  if (word == "attach") return AskAttach{{.owner = {its.Next()}}};
  if (word == "look") return AskLook{{its.Next()}};
  EXPECT_EQ(word, "kill") << "no such fault";
  return KillOf(its);
}

void AddTime(Plan& plan, const std::string& word, Duration time) {
  if (word == "watch") return void(plan.claim.watch_timeout = time);
  if (word == "look-takes") return void(plan.am.longest_look = time);
  if (word == "patience") return void(plan.am.patience = time);
  if (word == "shared-store") return void(plan.shared_store = time);
  if (word == "execution") return void(plan.spec.timers.execution_limit = time);
  if (word == "orphan") return void(plan.spec.timers.orphan_timeout = time);
  EXPECT_EQ(word, "drift") << "no such word of a plan";
  plan.clocks = {.most_drift = 10'000, .most_offset = time};
}

void AddToPlan(Plan& plan, const std::string& part) {
  Words its(part);
  if (const auto tasks = its.Tasks(); !tasks.empty()) {
    for (const std::string& task : tasks) AddToTask(plan.tasks.at(TaskNamed(task)), its);
    return;
  }
  const std::string word = its.Next();
  if (word == "all") {
    for (auto& [id, task] : plan.tasks) AddToTask(task, its);
    return;
  }
  if (word == "at") {
    const Duration at = TimeOf(its.Next());
    plan.faults.push_back({at, FaultOf(its)});
  } else if (word == "others") {
    plan.of_others = {{"/checkpoints/other-900", 900'000, FromMillis(1), CheckpointWriter::kOthers}};
  } else if (word == "latest") {
    plan.spec.checkpoint.resume_latest = true;
  } else if (word == "owner") {
    plan.claim.owner = {its.Next()};
  } else if (word == "seed") {
    plan.seed = static_cast<uint64_t>(its.Number());
  } else {
    AddTime(plan, word, TimeOf(its.Next()));
  }
  EXPECT_FALSE(its.any()) << "too many words: " << part;
}

// ---- expected results

std::vector<ProcessStarted> StartsOf(const World& world, const std::string& task) {
  auto all = All<ProcessStarted>(world.history());
  if (!task.empty()) std::erase_if(all, [&](const auto& start) { return start.attempt.task != TaskNamed(task); });
  return all;
}

int64_t CountOf(const World& world, Words& its) {
  const std::string what = its.Next();
  if (what == "starts") return std::ssize(StartsOf(world, its.Skip("of") ? its.Next() : ""));
  if (what == "containers") return Count<ContainerBegan>(world.history());
  if (what == "begun") return Count<AttemptBegun>(world.history());
  if (what == "signals") return Count<ProcessSignalled>(world.history());
  if (what == "ams") return Count<AmBegan>(world.history());
  if (what == "crashes") return Count<AmGone>(world.history());
  return std::ranges::count_if(DecisionsOf(world.history()),
                               [&](const Decision& decision) { return Name(decision) == what; });
}

// "over in 10s": nothing happens later; "tasks over in 10s": no process ends later.
void ExpectOver(const World& world, Duration limit, bool tasks_only) {
  ASSERT_FALSE(world.history().events().empty());
  for (const Seen& seen : world.history().events()) {
    const bool counts = !tasks_only || std::holds_alternative<ProcessEnded>(seen.event);
    EXPECT_TRUE(!counts || seen.time - Timeline::kStart < limit);
  }
}

void ExpectStart(const ProcessStarted& start, Words& its) {
  while (its.any()) {
    const std::string word = its.Next();
    const std::string text = word == "generation" ? StrCat(start.generation.value)
                             : word == "attempt"  ? StrCat(start.attempt.number)
                                                  : start.resume_from;
    EXPECT_EQ(its.Next(), text) << word;
  }
}

void ExpectRestart(const World& world, Words& its) {
  const auto restarts = Decided<RestartDecided>(world.history());
  const size_t number = static_cast<size_t>(its.Number());
  ASSERT_LE(number, restarts.size());
  const RestartDecided& restart = restarts[number - 1];
  while (its.any()) {
    const std::string word = its.Next();
    const std::string text =
        StrCat(" ", ToString(restart.scope), restart.charged ? " charged " : " free ", restart.tasks.size(), " ");
    EXPECT_NE(text.find(" " + word + " "), std::string::npos) << text;
  }
}

// "exit 7 of 2" means the exit status of the process with index 2.
void ExpectOutcome(const World& world, const std::string& attempt, Words& its) {
  its.Skip("exit");
  const ExitStatus exit{.value = static_cast<int>(its.Number())};
  its.Skip("of");
  const int64_t process = its.Number();
  for (const AttemptEnded& ended : Decided<AttemptEnded>(world.history())) {
    if (ToString(ended.attempt) != attempt) continue;
    EXPECT_EQ(ended.outcome.exit, exit);
    EXPECT_EQ(ended.outcome.process, process);
    return;
  }
  ADD_FAILURE() << "it has not ended";
}

void ExpectEnd(const Plan& plan, const World& world, FinalState state, Words& its) {
  const OutcomeClass cls = FromName<OutcomeClass>(its.Next()).value();
  ExpectVerdict(world, state, cls);
  if (its.Skip("everywhere")) CrashAtEveryStep(plan, state, cls);
  if (its.Skip("says")) ExpectText(its.Next(), world.status()->message);
}

void Expect(const Plan& plan, const World& world, const std::string& word, Words& its) {
  if (const auto count = ParseInt(word)) {
    EXPECT_EQ(CountOf(world, its), *count);
    return;
  }
  if (const auto state = FromName<FinalState>(word)) return ExpectEnd(plan, world, *state, its);
  if (word == "restart") return ExpectRestart(world, its);
  if (word == "over" && its.Skip("in")) return ExpectOver(world, TimeOf(its.Next()), false);
  if (word == "tasks" && its.Skip("over") && its.Skip("in")) return ExpectOver(world, TimeOf(its.Next()), true);
  // "start 1 driver:0": this task is the first to start
  if (word == "start") {
    const auto number = static_cast<size_t>(its.Number());
    EXPECT_EQ(ToString(All<ProcessStarted>(world.history()).at(number - 1).attempt.task), its.Next());
    return;
  }
  if (word.find('#') != std::string::npos) return ExpectOutcome(world, word, its);
  if (word == "first" || word == "last") {
    const auto starts = StartsOf(world, its.Next());
    ASSERT_FALSE(starts.empty());
    return ExpectStart(word == "first" ? starts.front() : starts.back(), its);
  }
  ASSERT_EQ(word, "undisturbed") << "no such expectation";
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Count<ProcessStarted>(world.history()), static_cast<int>(plan.tasks.size()));
  EXPECT_EQ(Count<ProcessSignalled>(world.history()), 0);
}

// "[1-3/1]" becomes "{1|2|3}".
std::string WithRanges(std::string text) {
  for (size_t open; (open = text.find('[')) != std::string::npos;) {
    const size_t close = text.find(']', open);
    const auto [from, rest] = Halves(text.substr(open + 1, close - open - 1), '-');
    const auto [to, step] = Halves(rest, '/');
    std::vector<std::string> numbers;
    for (int64_t n = ParseInt(from).value(); n <= ParseInt(to).value(); n += ParseInt(step).value())
      numbers.push_back(StrCat(n));
    text.replace(open, close + 1 - open, "{" + Join(numbers, "|") + "}");
  }
  return text;
}

}  // namespace

Plan PlanOf(std::string_view text) {
  Plan plan = QuietPlan(0);
  const auto parts = PartsBetween(text, ", ");
  AddToJob(plan.spec, parts.at(0));
  if (!plan.spec.checkpoint.directory.empty()) plan.spec.checkpoint.directory = "/checkpoints";
  std::erase_if(plan.spec.roles, [](const RoleSpec& role) { return role.instances == 0; });
  for (const TaskId& task : TasksOf(plan.spec)) plan.tasks[task] = {};
  for (size_t i = 1; i < parts.size(); ++i) AddToPlan(plan, parts[i]);
  return plan;
}

void ExpectPlan(const Plan& plan, const std::string& expected) {
  World world(plan);
  world.Run();
  ASSERT_TRUE(IsRight(plan, world));
  for (const std::string& part : PartsBetween(expected, "; ")) {
    SCOPED_TRACE(part);
    Words its(part);
    Expect(plan, world, its.Next(), its);
    EXPECT_FALSE(its.any()) << "and what is: " << its.Rest();
  }
}

void CheckPlan(const RowCase& row) { PlansLike("", "")(row); }

std::function<void(const RowCase&)> PlansLike(std::string job, std::string rest) {
  return [=](const RowCase& row) {
    size_t most = 1;
    for (size_t number = 0; number < most; ++number) {
      const size_t comma = std::min(row.given.size(), row.given.find(", "));
      std::string given = StrCat(job, " ", row.given.substr(0, comma), rest, row.given.substr(comma));
      given = Chosen(WithRanges(std::move(given)), number, most);
      SCOPED_TRACE(given);
      ExpectPlan(PlanOf(given), Chosen(row.expected, number, most));
    }
  };
}

History RightHistory(const Plan& plan) {
  World world(plan);
  world.Run();
  return world.history();
}

void InsertBefore(History& history, std::vector<Seen>::iterator place, Event event) {
  history.events().insert(place, {place->time, std::move(event)});
}

void RewriteJournal(History& history, const std::function<void(std::vector<Decision>&)>& change) {
  const std::string header = EncodeHeader();
  history.journal.clear();
  for (Seen& seen : history.events()) {
    auto* written = std::get_if<JournalWritten>(&seen.event);
    if (!written) continue;
    const bool first = history.journal.empty();
    auto decoded = DecodeJournal(first ? written->bytes : header + written->bytes);
    CHECK(decoded.ok());
    change(decoded->decisions);
    written->at = history.journal.size();
    written->bytes = first ? header : "";
    for (const Decision& decision : decoded->decisions) written->bytes += EncodeTurn({decision});
    history.journal += written->bytes;
  }
}

void ExpectComplaint(const Plan& plan, const History& history, const std::string& text) {
  const std::string complaints = Join(HistoryChecker::Check(plan.spec, history), "\n");
  EXPECT_NE(complaints.find(text), std::string::npos) << "expected '" << text << "' in:\n" << complaints;
}

}  // namespace tony::sim
