// The shell between one attempt and the next, and the order in which it does what it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/os/file_lock.h"
#include "tests/support/fake_process_runner.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

class ExecutorNextTest : public testing::Test {
 protected:
  // From START of the first attempt to its outcome, which is acknowledged.
  bool RunFirst() {
    if (!bed_.Start(processes_) || !bed_.Until([this] { return !bed_.am.heartbeats.empty(); })) return false;
    processes_.Exit(static_cast<pid_t>(bed_.am.heartbeats.front().argument.pid), {ExitStatus::Kind::kExited, 3});
    if (!bed_.Reported()) return false;
    bed_.am.Answer(bed_.am.outcomes, Answer<Acknowledged>(Acknowledged{}));
    return true;
  }
  bool BeginSecond() {
    return bed_.Order({.number = 2, .kind = Command::Kind::kNext, .generation = {1}, .attempt = 2}) &&
           bed_.Until([this] { return !bed_.am.registers.empty(); });
  }

  ExecutorBed bed_{"python3 train.py"};
  FakeProcessRunner processes_{bed_.loop};
  const AttemptId second_{bed_.attempt.task, 2};
};

TEST_F(ExecutorNextTest, TheNextAttemptIsLockedBeforeTheAmHearsOfIt) {
  ASSERT_TRUE(RunFirst());
  ASSERT_TRUE(BeginSecond());
  EXPECT_EQ(bed_.am.registers.front().caller.attempt, second_);
  EXPECT_TRUE(IsLockTaken(AttemptFolder(bed_.records.place(), second_).logs / "lock"));
}

TEST_F(ExecutorNextTest, TheNextAttemptHasFoldersOfItsOwn) {
  ASSERT_TRUE(RunFirst());
  ASSERT_TRUE(BeginSecond());
  bed_.am.Answer(bed_.am.registers, Answer<Epoch>(Epoch{1}));
  ASSERT_TRUE(bed_.Order({.number = 3,
                          .kind = Command::Kind::kStart,
                          .generation = {2},
                          .cluster_spec = ExecutorBed::ClusterJson(),
                          .resume_from = "/ckpt/step-5"}));
  ASSERT_TRUE(bed_.Until([this] { return processes_.started.size() == 2; }));
  EXPECT_EQ(processes_.started[1].directory, AttemptFolder(bed_.records.place(), second_).work.string());
  EXPECT_EQ(processes_.started[1].stdout_file, (AttemptFolder(bed_.records.place(), second_).logs / "stdout").string());
  EXPECT_EQ(processes_.started[1].stderr_file, (AttemptFolder(bed_.records.place(), second_).logs / "stderr").string());
  EXPECT_THAT(processes_.started[1].env, testing::Contains("TONY_ATTEMPT=2"));
  EXPECT_THAT(processes_.started[1].env, testing::Contains("TONY_RESUME_FROM=/ckpt/step-5"));
}

TEST_F(ExecutorNextTest, AnAttemptThatCannotBeginLeavesTheOutcomeOfTheOneBeforeAlone) {
  ASSERT_TRUE(RunFirst());
  ASSERT_TRUE(
      WriteNewFile(AttemptFolder(bed_.records.place(), second_).logs, "where its folder should be", false).ok());
  ASSERT_TRUE(BeginSecond());
  bed_.am.Answer(bed_.am.registers, Answer<Epoch>(Epoch{1}));
  const auto reported = bed_.Reported();
  ASSERT_TRUE(reported);
  EXPECT_EQ(reported->cls, OutcomeClass::kInfra);
  EXPECT_EQ(bed_.am.outcomes.front().caller.attempt, second_);
  const auto kept = AttemptFolder(bed_.records.place(), bed_.attempt).ReadOutcome();
  ASSERT_TRUE(kept.ok() && *kept);
  EXPECT_EQ((*kept)->cls, OutcomeClass::kUserError);
}

// The process of StartProcesses is started at once, and that is the next event; but SendAwait stood behind that action.
TEST_F(ExecutorNextTest, AllThatAnEventAsksForIsDoneBeforeTheNextEvent) {
  class Watched : public FakeAm {
   public:
    using FakeAm::FakeAm;
    void Await(const Caller& caller, int64_t since, OnAnswer<Command> done) override {
      calls.push_back("await " + std::to_string(since));
      FakeAm::Await(caller, since, std::move(done));
    }
    void Heartbeat(const Caller& caller, const Progress& progress, OnAnswer<Acknowledged> done) override {
      calls.emplace_back("heartbeat");
      FakeAm::Heartbeat(caller, progress, std::move(done));
    }
    std::vector<std::string> calls;
  };
  Watched am(bed_.loop);
  Executor executor({bed_.loop, am, processes_, {}}, bed_.records, bed_.spec,
                    {.job = {"job-1"}, .attempt = bed_.attempt, .container = {"c-1"}, .token = "secret"},
                    {"127.0.0.1", 4711}, 0.0);
  bed_.Rule(1);
  executor.Begin([](int) {});
  ASSERT_TRUE(bed_.Until([&] { return !am.registers.empty(); }));
  am.Answer(am.registers, Answer<Epoch>(Epoch{1}));
  ASSERT_TRUE(bed_.Until([&] { return !am.awaits.empty(); }));
  am.Answer(
      am.awaits,
      Answer<Command>(Command{
          .number = 1, .kind = Command::Kind::kStart, .generation = {1}, .cluster_spec = ExecutorBed::ClusterJson()}));
  ASSERT_TRUE(bed_.Until([&] { return !am.heartbeats.empty(); }));
  EXPECT_THAT(am.calls, testing::ElementsAre("await 0", "await 1", "heartbeat"));
}

}  // namespace
}  // namespace tony::executor
