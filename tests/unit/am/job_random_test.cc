// Runs whole jobs under many seeds, with tasks that fail, executors that freeze, people who kill the job, and masters
// that die. Every job ends, its journal replays to the same state, and its timers neither spin nor oversleep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "am/core/job.h"
#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/gang_run.h"

namespace tony::am {
namespace {

constexpr uint32_t kSeeds = 100;

std::vector<TaskId> TasksOf(const JobSpec& spec) {
  std::vector<TaskId> tasks;
  for (const RoleSpec& role : spec.roles) {
    for (int index = 0; index < role.instances; ++index) tasks.push_back({role.name, index});
  }
  return tasks;
}

using Random = std::mt19937;
bool OneIn(Random& random, unsigned n) { return random() % n == 0; }

void AllowRestarts(Random& random, JobBuilder& builder) {
  constexpr std::array kFrameworks = {FrameworkKind::kStandalone, FrameworkKind::kTensorflow, FrameworkKind::kPytorch,
                                      FrameworkKind::kStaged};
  builder.Framework(kFrameworks[random() % kFrameworks.size()]).LostRestarts(static_cast<int>(random() % 4));
  for (size_t level = 0; level < kRestartScopes; ++level) {
    if (OneIn(random, 2)) builder.Restarts(static_cast<RestartScope>(level), static_cast<int>(1 + random() % 2));
  }
  if (OneIn(random, 3)) builder.Checkpoints("/checkpoints", 2);
  if (OneIn(random, 2)) builder.Settle(Duration(300));
}

// Plans the disturbances of a task's first attempts. Later attempts end as the plan of the task says.
void Disturb(Random& random, const TaskId& task, GangPlan& plan) {
  if (OneIn(random, 10)) plan.frozen.insert({task, 1});
  if (OneIn(random, 10)) plan.preempted.insert({task, 1});
  if (OneIn(random, 4)) plan.attempt_ends[{task, 1}] = Failure(1);
  if (OneIn(random, 6)) plan.attempt_ends[{task, 2}] = Failure(2);
}

GangRun::Script RandomScript(uint32_t seed) {
  Random random(seed);
  const auto one_in = [&](unsigned n) { return OneIn(random, n); };
  JobBuilder builder;
  builder.Role("worker", 1 + static_cast<int>(random() % 3)).RegistrationTimeout(Duration(20000));
  if (one_in(4)) builder.Completes(1, one_in(2) ? 1 : 0);
  if (one_in(2)) builder.Role("ps", 1, Completion::kUntracked);
  if (one_in(2)) {
    builder.Role("board", 1, Completion::kSidecar);
    if (one_in(2)) builder.OutlivesRestarts("board");
  }
  if (one_in(4)) builder.Role("shard", 3).Completes(one_in(2) ? 2 : 0, one_in(2) ? 2 : 0);
  if (one_in(8)) builder.TonysRule();
  if (one_in(3)) builder.Timeout(Duration(30000));
  if (one_in(4)) {
    builder.NoRestarts();
  } else {
    AllowRestarts(random, builder);
  }

  GangRun::Script script{.spec = builder.Build(), .seed = seed};
  for (const TaskId& task : TasksOf(script.spec)) {
    Disturb(random, task, script.plan);
    if (one_in(8)) continue;  // runs until stopped or lost
    script.plan.ends[task] = one_in(6) ? Failure(3) : Success();
  }
  for (size_t at = random() % 30; one_in(2) && at < 100; at += random() % 30)
    script.deaths.push_back({at, /*after_acting=*/one_in(2)});
  script.plan.checkpoints = static_cast<int>(random() % 4);
  if (one_in(3)) script.kill_in = static_cast<JobState>(1 + random() % 4);
  // A task that neither ends nor freezes would run for ever, and some jobs never restart.
  if ((!script.kill_in || script.kill_in == JobState::kRestarting) && script.spec.timeout.count() == 0)
    script.spec.timeout = Duration(200000);
  return script;
}

// Expects that the job decides something or sets a later deadline at its next deadline, and decides nothing before it.
void ExpectSoundDeadline(const Job& job, Instant now) {
  const auto deadline = job.NextDeadline();
  if (!deadline || job.Ended()) return;
  Job at_deadline = job, before = job;
  const Instant woken = std::max(now, *deadline);
  const CoreStepResult turn = RunCoreStep(at_deadline, TimePassed{}, woken);
  const auto next = at_deadline.NextDeadline();
  EXPECT_TRUE(!turn.decisions.empty() || !next || *next > woken) << "it would be woken again and again";
  const Instant early = std::max(now, *deadline - Duration(1));
  const bool oversleeps = early < *deadline && !RunCoreStep(before, TimePassed{}, early).decisions.empty();
  EXPECT_FALSE(oversleeps);
}

std::string SnapshotText(const Job& job) { return ToJson(job.Snapshot("alice", {})); }

TEST(JobRandomTest, EveryRandomJobEnds) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    GangRun run(RandomScript(seed));
    run.ToTheEnd();
    ASSERT_TRUE(run.job().Ended()) << SnapshotText(run.job());
    ASSERT_TRUE(run.job().verdict());
    EXPECT_FALSE(run.world().took_back_a_command());
    EXPECT_THAT(run.world().Running(), testing::IsEmpty());
    for (const TaskStatus& task : run.job().Snapshot("", {}).tasks) EXPECT_EQ(task.state, "done");
  }
}

TEST(JobRandomTest, TimersOfRandomJobsFireOnTimeAndNeverSpin) {
  for (uint32_t seed = 0; seed < kSeeds / 2; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    GangRun::Script script = RandomScript(seed);
    script.look = ExpectSoundDeadline;
    GangRun(std::move(script)).ToTheEnd();
    if (HasFailure()) return;
  }
}

TEST(JobRandomTest, RandomJobsCoverRestartsOfEveryScopeAndRestartsAfterLosses) {
  std::set<std::pair<RestartScope, bool>> begun;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    GangRun run(RandomScript(seed));
    run.ToTheEnd();
    std::map<int, std::pair<RestartScope, bool>> decided;
    for (const Decision& decision : run.journal()) {
      if (const auto* d = std::get_if<RestartDecided>(&decision.body)) decided[d->number] = {d->scope, d->charged};
      if (const auto* d = std::get_if<RestartBegan>(&decision.body)) begun.insert(decided.at(d->number));
    }
  }
  for (const RestartScope scope : {RestartScope::kTask, RestartScope::kRole, RestartScope::kGang, RestartScope::kJob})
    EXPECT_TRUE(begun.contains({scope, true})) << ToString(scope);
  EXPECT_TRUE(begun.contains({RestartScope::kTask, false}));
  EXPECT_TRUE(begun.contains({RestartScope::kGang, false}));
}

TEST(JobRandomTest, JournalsOfRandomJobsReplayToTheSameState) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    GangRun run(RandomScript(seed));
    run.ToTheEnd();

    const auto replayed = run.Replayed();

    ASSERT_EQ(SnapshotText(*replayed), SnapshotText(run.job()));
    EXPECT_EQ(replayed->NextDeadline(), run.job().NextDeadline());
  }
}

TEST(JobRandomTest, JournalsOfRandomJobsSurviveARoundTripThroughJson) {
  for (uint32_t seed = 0; seed < kSeeds / 5; ++seed) {
    GangRun run(RandomScript(seed));
    run.ToTheEnd();
    for (const Decision& decision : run.journal()) {
      const auto read = DecisionFromJson(ToJson(decision));
      ASSERT_TRUE(read.ok()) << read.error().message;
      ASSERT_EQ(ToJson(*read), ToJson(decision));
    }
  }
}

TEST(JobRandomTest, TheSameSeedGivesTheSameJob) {
  GangRun first(RandomScript(7)), second(RandomScript(7));
  first.ToTheEnd();
  second.ToTheEnd();

  EXPECT_EQ(SnapshotText(first.job()), SnapshotText(second.job()));
}

}  // namespace
}  // namespace tony::am
