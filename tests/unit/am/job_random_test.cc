// Whole jobs under many seeds, with tasks that fail, executors that freeze, people who kill and masters that die.
// Whatever happens: the job ends, its journal replays to the same state, and its timers neither spin nor oversleep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "am/job.h"
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

GangRun::Script RandomScript(uint32_t seed) {
  std::mt19937 random(seed);
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  JobBuilder builder;
  builder.Role("worker", 1 + static_cast<int>(random() % 3)).RegistrationTimeout(Duration(20000));
  if (one_in(2)) builder.Role("ps", 1, Completion::kUntracked);
  if (one_in(2)) builder.Role("board", 1, Completion::kSidecar);
  if (one_in(3)) builder.Timeout(Duration(30000));

  GangRun::Script script{.spec = builder.Build(), .seed = seed};
  for (const TaskId& task : TasksOf(script.spec)) {
    if (one_in(10)) script.plan.frozen.insert(task);
    if (one_in(8)) continue;  // runs until it is stopped, or lost
    script.plan.ends[task] = one_in(6) ? Failure(3) : Success();
  }
  for (size_t at = random() % 30; one_in(2) && at < 100; at += random() % 30)
    script.deaths.push_back({at, /*after_acting=*/one_in(2)});
  if (one_in(3)) script.kill_in = static_cast<JobState>(1 + random() % 3);
  // A task that neither ends nor freezes would run for ever.
  if (!script.kill_in && script.spec.timeout.count() == 0) script.spec.timeout = Duration(200000);
  return script;
}

// At its next deadline the job has something to decide or another deadline; before it, nothing.
void ExpectSoundDeadline(const Job& job, Instant now) {
  const auto deadline = job.NextDeadline();
  if (!deadline || job.Ended()) return;
  Job at_deadline = job, before = job;
  const Instant woken = std::max(now, *deadline);
  const TurnResult turn = TakeTurn(at_deadline, TimePassed{}, woken);
  const auto next = at_deadline.NextDeadline();
  EXPECT_TRUE(!turn.decisions.empty() || !next || *next > woken) << "it would be woken again and again";
  const Instant early = std::max(now, *deadline - Duration(1));
  const bool oversleeps = early < *deadline && !TakeTurn(before, TimePassed{}, early).decisions.empty();
  EXPECT_FALSE(oversleeps);
}

std::string Everything(const Job& job) { return ToJson(job.Snapshot("alice", {})); }

TEST(JobRandomTest, EveryJobEnds) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    GangRun run(RandomScript(seed));
    run.ToTheEnd();
    ASSERT_TRUE(run.job().Ended()) << Everything(run.job());
    ASSERT_TRUE(run.job().verdict());
    EXPECT_FALSE(run.world().took_back_a_command());
    EXPECT_THAT(run.world().Running(), testing::IsEmpty());
    for (const TaskStatus& task : run.job().Snapshot("", {}).tasks) EXPECT_EQ(task.state, "done");
  }
}

TEST(JobRandomTest, ItsTimersNeitherSpinNorOversleep) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    GangRun::Script script = RandomScript(seed);
    script.look = ExpectSoundDeadline;
    GangRun(std::move(script)).ToTheEnd();
    if (HasFailure()) return;
  }
}

TEST(JobRandomTest, ItsJournalReplaysToTheSameState) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    GangRun run(RandomScript(seed));
    run.ToTheEnd();

    const auto replayed = run.Replayed();

    ASSERT_EQ(Everything(*replayed), Everything(run.job()));
    EXPECT_EQ(replayed->NextDeadline(), run.job().NextDeadline());
  }
}

TEST(JobRandomTest, ItsJournalSurvivesTheWayThroughJson) {
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

  EXPECT_EQ(Everything(first.job()), Everything(second.job()));
}

}  // namespace
}  // namespace tony::am
