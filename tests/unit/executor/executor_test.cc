#include "executor/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "runtime/os/file_lock.h"
#include "tests/support/fake_process_runner.h"
#include "tests/support/results.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;

class ExecutorTest : public testing::Test {
 protected:
  ExecutorBed bed_{"python3 train.py"};
  FakeProcessRunner processes_{bed_.loop};
};

TEST_F(ExecutorTest, RegistersWithTheAmThatTheLeaseRecordNames) {
  bed_.Rule(1);
  bed_.Begin(processes_);
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.registers.empty(); }));
  EXPECT_THAT(bed_.am.used, ElementsAre(Address(SocketName{"am.1.sock"})));
  EXPECT_EQ(bed_.am.registers.front().argument.endpoint, (Endpoint{"127.0.0.1", 4711}));
}

TEST_F(ExecutorTest, RegistersThePortsThatAreReservedForItsTask) {
  bed_.ports = {{"control", 4712}, {"data", 4713}};
  bed_.Rule(1);
  bed_.Begin(processes_);
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.registers.empty(); }));
  EXPECT_EQ(bed_.am.registers.front().argument.ports, bed_.ports);
}

TEST_F(ExecutorTest, WaitsForAnAmToAppear) {
  bed_.Begin(processes_);
  bed_.Rule(1);
  EXPECT_TRUE(bed_.Until([&] { return !bed_.am.registers.empty(); }));
}

TEST_F(ExecutorTest, StartsTheCommandInItsWorkFolder) {
  ASSERT_TRUE(WriteNewFile(bed_.records.place() / "src" / "train.py", "print()", false).ok());
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return !processes_.started.empty(); }));
  const ProcessSpec& process = processes_.started.front();
  EXPECT_THAT(process.argv.back(), EndsWith("train.py"));
  EXPECT_EQ(process.directory, AttemptFolder(bed_.records.place(), bed_.attempt).work.string());
  EXPECT_EQ(process.stdout_file, (AttemptFolder(bed_.records.place(), bed_.attempt).logs / "stdout").string());
  EXPECT_EQ(process.stderr_file, (AttemptFolder(bed_.records.place(), bed_.attempt).logs / "stderr").string());
  EXPECT_THAT(process.env, Contains("TONY_TASK=worker:0"));
  EXPECT_THAT(process.env, Contains("HOME=/home/ada"));
  EXPECT_EQ(Content(bed_.InWork("train.py")), "print()");
}

TEST_F(ExecutorTest, TellsTheAmThatTheProcessRuns) {
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.heartbeats.empty(); }));
  EXPECT_EQ(bed_.am.heartbeats.front().argument.phase, Phase::kRunning);
}

TEST_F(ExecutorTest, HasTheOutcomeOnDiskWhenItReportsIt) {
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.heartbeats.empty(); }));
  ASSERT_TRUE(WriteNewFile(AttemptFolder(bed_.records.place(), bed_.attempt).logs / "stderr", "boom\n", false).ok());
  processes_.Exit(static_cast<pid_t>(bed_.am.heartbeats.front().argument.pid), {ExitStatus::Kind::kExited, 3});
  const auto reported = bed_.Reported();
  ASSERT_TRUE(reported);
  const ExitStatus exit{ExitStatus::Kind::kExited, 3};
  EXPECT_EQ(*reported, (Outcome{.cls = OutcomeClass::kUserError,
                                .exit = exit,
                                .message = "its last line: boom",
                                .stderr_tail = "boom\n",
                                .usage = reported->usage}));
  const auto kept = Must(AttemptFolder(bed_.records.place(), bed_.attempt).ReadOutcome());
  EXPECT_EQ(kept, reported);
}

TEST_F(ExecutorTest, HasTheChiefsOutputsOnDiskWhenItReportsSuccess) {
  ASSERT_TRUE(WriteNewFile(bed_.records.place() / "src" / "tony-output.json", "{\"old\":1}", false).ok());
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.heartbeats.empty(); }));
  const auto file = bed_.InWork("tony-output.json");
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(file))) << "what came with the sources";
  ASSERT_TRUE(WriteNewFile(file, "{\"new\":1}", false).ok());
  processes_.Exit(static_cast<pid_t>(bed_.am.heartbeats.front().argument.pid), {});
  ASSERT_TRUE(bed_.Reported());
  EXPECT_EQ(Content(AttemptFolder(bed_.records.place(), bed_.attempt).logs / "output.json"), "{\"new\":1}");
  EXPECT_EQ(bed_.am.reported_outputs, KeptOutputs{.text = "{\"new\":1}"});
}

TEST_F(ExecutorTest, KeepsNoOutputsOfAProcessThatFailed) {
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.heartbeats.empty(); }));
  ASSERT_TRUE(WriteNewFile(bed_.InWork("tony-output.json"), "{}", false).ok());
  processes_.Exit(static_cast<pid_t>(bed_.am.heartbeats.front().argument.pid), {ExitStatus::Kind::kExited, 3});
  ASSERT_TRUE(bed_.Reported());
  EXPECT_FALSE(std::filesystem::exists(AttemptFolder(bed_.records.place(), bed_.attempt).logs / "output.json"));
  EXPECT_EQ(bed_.am.reported_outputs, std::nullopt);
}

TEST_F(ExecutorTest, SaysWhyAProcessCouldNotBeStarted) {
  processes_.failure = Error{ErrorCode::kNotFound, "start /bin/bash: no such file or directory"};
  ASSERT_TRUE(bed_.Start(processes_));
  const auto reported = bed_.Reported();
  ASSERT_TRUE(reported);
  EXPECT_EQ(reported->cls, OutcomeClass::kInfra);
  EXPECT_EQ(reported->message, "start /bin/bash: no such file or directory");
}

TEST_F(ExecutorTest, EachProcessHasItsOwnLogsAndErrorFile) {
  bed_.spec.roles[0].processes = 2;
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return processes_.started.size() == 2; }));
  const auto logs = AttemptFolder(bed_.records.place(), bed_.attempt).logs;
  EXPECT_EQ(processes_.started[0].stdout_file, (logs / "stdout").string());
  EXPECT_EQ(processes_.started[1].stdout_file, (logs / "stdout-1").string());
  EXPECT_EQ(processes_.started[1].stderr_file, (logs / "stderr-1").string());
  EXPECT_THAT(processes_.started[0].env, Contains("TONY_PROCESS_INDEX=0"));
  EXPECT_THAT(processes_.started[1].env, Contains("TONY_PROCESS_INDEX=1"));
}

TEST_F(ExecutorTest, AFailureIsToldInTheWordsOfTheProcessThatFailed) {
  bed_.spec.roles[0].processes = 2;
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.heartbeats.empty(); }));
  const auto logs = AttemptFolder(bed_.records.place(), bed_.attempt).logs;
  ASSERT_TRUE(WriteNewFile(logs / "stderr", "fine\n", false).ok());
  ASSERT_TRUE(WriteNewFile(logs / "stderr-1", "boom\n", false).ok());
  ASSERT_TRUE(WriteNewFile(bed_.InWork("tony-error-1.json"), R"({"class":"oom","message":"too big"})", false).ok());
  const auto first = static_cast<pid_t>(bed_.am.heartbeats.front().argument.pid);
  processes_.Exit(first + 1, {ExitStatus::Kind::kExited, 3});
  processes_.Exit(first, {ExitStatus::Kind::kSignaled, SIGTERM});
  const auto reported = bed_.Reported();
  ASSERT_TRUE(reported);
  EXPECT_EQ(reported->cls, OutcomeClass::kOom);
  EXPECT_EQ(reported->message, "too big");
  EXPECT_EQ(reported->stderr_tail, "boom\n");
  EXPECT_EQ(reported->process, 1);
}

TEST_F(ExecutorTest, WhenAProcessCannotBeStartedThoseBeforeItAreEnded) {
  bed_.spec.roles[0].processes = 3;
  processes_.failure = Error{ErrorCode::kUnavailable, "start /bin/bash: no memory"};
  processes_.starts_before_failure = 1;
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.heartbeats.empty(); }));
  EXPECT_THAT(processes_.started.back().stdout_file, EndsWith("/stdout-1")) << "the third is not tried";
  EXPECT_EQ(bed_.am.heartbeats.front().argument.phase, Phase::kStopping);
  processes_.Exit(static_cast<pid_t>(bed_.am.heartbeats.front().argument.pid), {ExitStatus::Kind::kSignaled, SIGTERM});
  const auto reported = bed_.Reported();
  ASSERT_TRUE(reported);
  EXPECT_EQ(reported->message, "start /bin/bash: no memory");
  EXPECT_EQ(reported->process, 1);
  EXPECT_EQ(reported->exit, std::nullopt);
}

TEST_F(ExecutorTest, TooMuchEnvironmentIsTheUsersFault) {
  processes_.failure = Error{ErrorCode::kInvalid, "start /bin/bash: argument list too long"};
  ASSERT_TRUE(bed_.Start(processes_));
  const auto reported = bed_.Reported();
  ASSERT_TRUE(reported);
  EXPECT_EQ(reported->cls, OutcomeClass::kUserConfig);
}

TEST_F(ExecutorTest, FollowsTheLeaseRecordToTheNextAm) {
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.heartbeats.empty(); }));
  const int64_t pid = bed_.am.heartbeats.front().argument.pid;
  bed_.am.Break("connection reset");
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.registers.empty(); })) << "the same address is tried first";
  bed_.am.Break("connection refused");
  bed_.Rule(2);
  ASSERT_TRUE(bed_.Until(
      [&] { return bed_.am.used.back() == Address(SocketName{"am.2.sock"}) && !bed_.am.registers.empty(); }));
  EXPECT_EQ(bed_.am.registers.back().argument.phase, Phase::kRunning);
  EXPECT_EQ(bed_.am.registers.back().argument.pid, pid);
  EXPECT_EQ(bed_.am.registers.back().caller.epoch, Epoch{2});
}

TEST_F(ExecutorTest, LeavesWhenReleased) {
  ASSERT_TRUE(bed_.Start(processes_));
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.heartbeats.empty(); }));
  processes_.Exit(static_cast<pid_t>(bed_.am.heartbeats.front().argument.pid), {});
  ASSERT_TRUE(bed_.Reported());
  bed_.am.Answer(bed_.am.outcomes, Answer<Acknowledged>(Acknowledged{}));
  ASSERT_TRUE(bed_.Order({.number = 9, .kind = Command::Kind::kRelease}));
  ASSERT_TRUE(bed_.Until([&] { return bed_.exit_code.has_value(); }));
  EXPECT_EQ(bed_.exit_code, kLeftReleased);
}

TEST_F(ExecutorTest, LeavesWhenTheAttemptIsRefused) {
  bed_.Rule(1);
  bed_.Begin(processes_);
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.registers.empty(); }));
  bed_.am.Answer(bed_.am.registers, Answer<Epoch>(Refusal{RefusalReason::kStaleAttempt, "replaced by worker:0#2"}));
  ASSERT_TRUE(bed_.Until([&] { return bed_.exit_code.has_value(); }));
  EXPECT_EQ(bed_.exit_code, kLeftRefused);
  EXPECT_TRUE(processes_.started.empty());
}

TEST_F(ExecutorTest, OnSigtermBeforeTheStartItLeaves) {
  bed_.Rule(1);
  bed_.Begin(processes_);
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.registers.empty(); }));
  bed_.am.Answer(bed_.am.registers, Answer<Epoch>(Epoch{1}));
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.awaits.empty(); }));
  bed_.executor->Terminate();
  ASSERT_TRUE(bed_.Until([&] { return bed_.exit_code.has_value(); }));
  EXPECT_EQ(bed_.exit_code, kLeftTerminated);
  EXPECT_TRUE(bed_.am.outcomes.empty());
}

class PublishingExecutorTest : public testing::Test {
 protected:
  PublishingExecutorTest() { bed_.spec.framework = FrameworkKind::kStaged; }
  bool StartTask() {
    return bed_.Start(processes_) && bed_.Until([&] { return !bed_.am.heartbeats.empty(); });
  }
  void Publish() { ASSERT_TRUE(WriteNewFile(bed_.InWork("tony-publish"), "ADDRESS=here:1\n", false).ok()); }

  ExecutorBed bed_{"python3 drive.py", "driver"};
  FakeProcessRunner processes_{bed_.loop};
};

TEST_F(PublishingExecutorTest, TellsTheAmWhatItsTaskPublishes) {
  ASSERT_TRUE(WriteNewFile(bed_.records.place() / "src" / "tony-publish", "ADDRESS=old\n", false).ok());
  ASSERT_TRUE(StartTask());
  EXPECT_THAT(processes_.started.front().env, Contains("TONY_PUBLISH_FILE=" + bed_.InWork("tony-publish").string()));
  Publish();
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.published.empty(); }));
  EXPECT_EQ(bed_.am.published.front().argument, (PublishedValues{{"ADDRESS", "here:1"}}));
}

TEST_F(PublishingExecutorTest, ASecretOfItsTaskIsMaskedInWhatThatPublishes) {
  ASSERT_TRUE(WriteNewFile(bed_.records.place() / "secrets", std::string("PW=here:1\0", 10), false).ok());
  ASSERT_TRUE(StartTask());
  Publish();
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.published.empty(); }));
  EXPECT_EQ(bed_.am.published.front().argument, (PublishedValues{{"ADDRESS", "***"}}));
}

TEST_F(PublishingExecutorTest, ReportsTheEndWhenItsLastWordsAreAcknowledged) {
  ASSERT_TRUE(StartTask());
  Publish();
  processes_.Exit(static_cast<pid_t>(bed_.am.heartbeats.front().argument.pid), {ExitStatus::Kind::kExited, 0});
  ASSERT_TRUE(bed_.Until([&] { return !bed_.am.published.empty(); }));
  EXPECT_TRUE(bed_.am.outcomes.empty());
  bed_.am.Answer(bed_.am.published, Answer<Acknowledged>(Acknowledged{}));
  ASSERT_TRUE(bed_.Reported());
  EXPECT_TRUE(bed_.Reported()->Succeeded());
}

// ---- The shell between one attempt and the next, and the order in which it does what it is told.

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
