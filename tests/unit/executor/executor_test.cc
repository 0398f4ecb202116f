#include "executor/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "runtime/os/file_lock.h"
#include "tests/support/fake_process_runner.h"
#include "tests/support/script.h"
#include "tests/unit/executor/executor_bed.h"
#include "tests/unit/executor/task_run_script.h"

namespace tony::executor {
namespace {

// An executor with fake processes, and the AM for which the row speaks. Each word waits until its effect is visible.
struct ExecutorWorld {
  explicit ExecutorWorld(const std::string& role = "worker") : bed("python3 train.py", role) {}

  void Await(const std::function<bool()>& condition) { ASSERT_TRUE(bed.Until(condition)); }
  AttemptFolder Folder(int number = 1) const { return AttemptFolder(bed.records.place(), {bed.attempt.task, number}); }
  void Start() {
    ASSERT_TRUE(bed.Start(processes));
    Await([&] { return !processes.started.empty(); });
  }
  void AwaitHeartbeat() {
    Await([&] { return !bed.am.heartbeats.empty(); });
    pid = bed.am.heartbeats.front().argument.pid;
  }
  std::string Reported() {
    Outcome outcome = bed.Reported().value_or(Outcome{});
    outcome.usage.reset();
    return OutcomeText(outcome);
  }
  // Returns `text` with "@" in place of the path of the job's folder.
  std::string Told(std::string text) const { return Replaced(std::move(text), bed.records.place().string(), "@"); }
  static Deeds<ExecutorWorld> Its() {
    return {
        {"rule", [](auto& w, auto& its) { w.bed.Rule(its.Number(1)); }},
        {"begin", [](auto& w, auto&) { w.bed.Begin(w.processes); }},
        {"ports",
         [](auto& w, auto&) {
           w.bed.ports = {{"control", 4712}, {"data", 4713}};
         }},
        {"processes", [](auto& w, auto& its) { w.bed.spec.roles[0].processes = static_cast<int>(its.Number(1)); }},
        {"staged", [](auto& w, auto&) { w.bed.spec.framework = FrameworkKind::kStaged; }},
        // "start" plays the AM up to the START command, after which a process is started. "start-and-heartbeat" also
        // waits for the first heartbeat.
        {"start", [](auto& w, auto&) { w.Start(); }},
        {"start-and-heartbeat", [](auto& w, auto&) { w.Start(), w.AwaitHeartbeat(); }},
        {"heartbeat",
         [](auto& w, auto&) {
           w.AwaitHeartbeat();
           return StrCat("phase ", ToString(w.bed.am.heartbeats.front().argument.phase));
         }},
        {"registered",
         [](auto& w, auto&) {
           w.Await([&] { return !w.bed.am.registers.empty(); });
           const auto& call = w.bed.am.registers.back();
           std::string text = StrCat(ToString(call.caller.attempt), " at ", ToString(call.argument.endpoint));
           for (const auto& [name, port] : call.argument.ports) text += StrCat(" ", name, "=", port);
           if (call.argument.pid > 0) text += call.argument.pid == w.pid ? " with its process" : " with another";
           return StrCat(text, " to epoch ", call.caller.epoch.value);
         }},
        {"used", [](auto& w, auto&) { return ToString(w.bed.am.used.back()); }},
        {"answer-register", [](auto& w, auto&) { w.bed.am.Answer(w.bed.am.registers, Answer<Epoch>(Epoch{1})); }},
        {"refuse-register",
         [](auto& w, auto&) {
           w.bed.am.Answer(w.bed.am.registers, Answer<Epoch>(Refusal{RefusalReason::kStaleAttempt, "replaced"}));
         }},
        {"awaits", [](auto& w, auto&) { w.Await([&] { return !w.bed.am.awaits.empty(); }); }},
        {"break", [](auto& w, auto& its) { w.bed.am.Break(its.From(1)); }},
        {"uses",
         [](auto& w, auto& its) {
           w.Await([&] { return ToString(w.bed.am.used.back()) == its[1] && !w.bed.am.registers.empty(); });
         }},
        {"acknowledge-outcome",
         [](auto& w, auto&) { w.bed.am.Answer(w.bed.am.outcomes, Answer<Acknowledged>(Acknowledged{})); }},
        {"acknowledge-values",
         [](auto& w, auto&) { w.bed.am.Answer(w.bed.am.published, Answer<Acknowledged>(Acknowledged{})); }},
        {"RELEASE", [](auto& w, auto&) { EXPECT_TRUE(w.bed.Order({.number = 9, .kind = Command::Kind::kRelease})); }},
        {"NEXT",
         [](auto& w, auto&) {
           EXPECT_TRUE(w.bed.Order({.number = 2, .kind = Command::Kind::kNext, .generation = {1}, .attempt = 2}));
         }},
        {"RESUME",
         [](auto& w, auto& its) {
           EXPECT_TRUE(w.bed.Order({.number = 3,
                                    .kind = Command::Kind::kStart,
                                    .generation = {2},
                                    .cluster_spec = ExecutorBed::ClusterJson(),
                                    .resume_from = its[1]}));
         }},
        {"SIGTERM", [](auto& w, auto&) { w.bed.executor->Terminate(); }},
        {"left",
         [](auto& w, auto&) {
           w.Await([&] { return w.bed.exit_code.has_value(); });
           return w.bed.exit_code == kLeftReleased     ? "released"
                  : w.bed.exit_code == kLeftRefused    ? "refused"
                  : w.bed.exit_code == kLeftTerminated ? "terminated"
                                                       : "otherwise";
         }},
        // ---- the task's processes
        {"starts-fail",
         // "starts-fail 1 69 why": after one successful start the next one fails with error code 69.
         [](auto& w, auto& its) {
           w.processes.starts_before_failure = static_cast<size_t>(its.Number(1));
           w.processes.failure = Error{static_cast<ErrorCode>(its.Number(2)), its.From(3)};
         }},
        {"exit",
         // The process in the newest heartbeat exits, or the n-th process after it.
         [](auto& w, auto& its) {
           const bool signaled = !isdigit(its[1].at(0));
           const ExitStatus status = signaled ? KilledBy(*SignalFromString(its[1])) : ExitCode(its.Number(1));
           w.processes.Exit(static_cast<pid_t>(w.pid + its.Number(2)), status);
         }},
        {"started",
         [](auto& w, auto& its) {
           w.Await([&] { return w.processes.started.size() == static_cast<size_t>(its.Number(1)); });
         }},
        {"tried", [](auto& w, auto&) { return StrCat(w.processes.started.size(), " starts"); }},
        {"in",
         [](auto& w, auto& its) {  // a process's folder, stdout and stderr
           const ProcessSpec& its_spec = w.processes.started.at(static_cast<size_t>(its.Number(1)));
           return w.Told(StrCat(its_spec.directory, " ", its_spec.stdout_file, " ", its_spec.stderr_file));
         }},
        {"last", [](auto& w, auto&) { return w.Told(w.processes.started.back().stdout_file); }},
        {"runs", [](auto& w, auto&) { return w.processes.started.front().argv.back(); }},
        {"has",
         [](auto& w, auto& its) {  // checks an environment variable
           const auto& env = w.processes.started.at(static_cast<size_t>(its.Number(1))).env;
           return std::ranges::count(env, Replaced(its[2], "@", w.bed.records.place().string())) > 0 ? "yes" : "no";
         }},
        {"reported", [](auto& w, auto&) { return w.Reported(); }},
        {"reported-of", [](auto& w, auto&) { return ToString(w.bed.am.outcomes.front().caller.attempt); }},
        {"unreported", [](auto& w, auto&) { return StrCat(w.bed.am.outcomes.size(), " outcomes"); }},
        {"kept",
         [](auto& w, auto& its) {
           const auto kept = w.Folder(static_cast<int>(its.Number(1))).ReadOutcome();
           if (!kept.ok() || !*kept) return std::string("none");
           Outcome outcome = **kept;
           outcome.usage.reset();
           return OutcomeText(outcome);
         }},
        {"outputs",
         [](auto& w, auto&) {
           return w.bed.am.reported_outputs ? "outputs " + w.bed.am.reported_outputs->text : "no outputs";
         }},
        {"published",
         [](auto& w, auto&) {
           w.Await([&] { return !w.bed.am.published.empty(); });
           std::string text = "values";
           for (const auto& [name, value] : w.bed.am.published.front().argument) text += StrCat(" ", name, "=", value);
           return text;
         }},
        // ---- files in the sources, the work folder and the logs
        {"source",
         [](auto& w, auto& its) {
           EXPECT_TRUE(WriteNewFile(w.bed.records.place() / "src" / its[1], its.From(2), false).ok());
         }},
        {"secret",
         [](auto& w, auto& its) {
           EXPECT_TRUE(WriteNewFile(w.bed.records.place() / "secrets", its[1] + '\0', false).ok());
         }},
        {"work", [](auto& w, auto& its) { EXPECT_TRUE(WriteNewFile(w.bed.InWork(its[1]), its.From(2), false).ok()); }},
        {"log", [](auto& w,
                   auto& its) { EXPECT_TRUE(WriteNewFile(w.Folder().logs / its[1], its.From(2) + "\n", false).ok()); }},
        {"in-the-way",
         [](auto& w, auto& its) {
           EXPECT_TRUE(WriteNewFile(w.Folder(static_cast<int>(its.Number(1))).logs, "no folder", false).ok());
         }},
        {"work-has",
         [](auto& w, auto& its) {
           const auto file = w.bed.InWork(its[1]);
           return std::filesystem::exists(std::filesystem::symlink_status(file)) ? Content(file) : "nothing";
         }},
        {"logs-have",
         [](auto& w, auto& its) {
           const auto file = w.Folder().logs / its[1];
           return std::filesystem::exists(file) ? Content(file) : "nothing";
         }},
        {"locked",
         [](auto& w, auto& its) {
           return IsFileLocked(w.Folder(static_cast<int>(its.Number(1))).logs / "lock") ? "yes" : "no";
         }},
    };
  }

  ExecutorBed bed;
  FakeProcessRunner processes{bed.loop};
  int64_t pid = 0;  // from the newest awaited heartbeat
};

const TestRow kExecutors[] = {
    {"TheExecutorRegistersWithTheAmNamedInTheLeaseRecord",
     {{"rule 1 | begin | registered | used", "worker:0#1 at 127.0.0.1:4711 to epoch 1 | am.1.sock"}}},
    {"TheExecutorRegistersThePortsThatAreReservedForItsTask",
     {{"ports | rule 1 | begin | registered", "worker:0#1 at 127.0.0.1:4711 control=4712 data=4713 to epoch 1"}}},
    {"AnExecutorStartedWithoutALeaseRecordRegistersOnceARecordIsWritten",
     {{"begin | rule 1 | registered", "^worker:0#1"}}},
    {"TheExecutorStartsTheTasksCommandInTheTasksWorkFolder",
     {{"source train.py print() | start | runs | work-has train.py", "~train.py | print()"},
      {"in 0", "@/work/worker-0/1 @/logs/worker-0/1/stdout @/logs/worker-0/1/stderr"},
      {"has 0 TONY_TASK=worker:0 | has 0 HOME=/home/ada", "yes | yes"}}},
    {"TheExecutorSendsAHeartbeatWithPhaseRunningOnceTheProcessRuns", {{"start | heartbeat", "phase running"}}},
    {"AReportedOutcomeIsAlreadyOnDisk",
     {{"start-and-heartbeat | log stderr boom | exit 3 | reported | kept 1",
       "user_error 3, because: its last line: boom, stderr: boom\n. | "
       "user_error 3, because: its last line: boom, stderr: boom\n."}}},
    {"OutputsOfTheChiefTaskAreAlreadyOnDiskWhenTheExecutorReportsSuccess",
     {{"source tony-output.json {\"old\":1} | start-and-heartbeat | work-has tony-output.json", "nothing"},
      {"work tony-output.json {\"new\":1} | exit 0 | reported | logs-have output.json | outputs",
       "^success | {\"new\":1} | outputs {\"new\":1}"}}},
    {"OutputsOfAFailedProcessAreNeitherSavedNorReported",
     {{"start-and-heartbeat | work tony-output.json {} | exit 3 | reported | logs-have output.json | outputs",
       "^user_error | nothing | no outputs"}}},
    {"TheOutcomeNamesTheReasonWhyAProcessCouldNotBeStarted",
     {{"starts-fail 0 66 start /bin/bash: no such file or directory | start | reported",
       "infra, because: start /bin/bash: no such file or directory."}}},
    {"EachProcessOfATaskHasItsOwnLogFilesAndProcessIndex",
     {{"processes 2 | start | started 2 | in 0 | in 1",
       "~/stdout @ | @/work/worker-0/1 @/logs/worker-0/1/stdout-1 @/logs/worker-0/1/stderr-1"},
      {"has 0 TONY_PROCESS_INDEX=0 | has 1 TONY_PROCESS_INDEX=1", "yes | yes"}}},
    {"AFailureIsReportedWithTheErrorFileAndStderrOfTheFailedProcess",
     {{"processes 2 | start-and-heartbeat | log stderr fine | log stderr-1 boom", ""},
      {"work tony-error-1.json {\"class\":\"oom\",\"message\":\"too big\"} | exit 3 1 | exit TERM | reported",
       "^oom 3, because: too big, stderr: boom\n, process 1"}}},
    {"AFailedProcessStartStopsTheAlreadyRunningProcessesOfTheTask",
     // The third process is not started.
     {{"processes 3 | starts-fail 1 69 start /bin/bash: no memory | start | heartbeat | last",
       "phase stopping | @/logs/worker-0/1/stdout-1"},
      {"exit TERM | reported", "~, because: start /bin/bash: no memory, process 1."}}},
    {"ATooLongEnvironmentIsReportedAsAUserConfigError",
     {{"starts-fail 0 65 start /bin/bash: argument list too long | start | reported", "^user_config"}}},
    {"AnExecutorThatLosesItsAmRegistersWithTheNextAmNamedInTheLeaseRecord",
     {{"start-and-heartbeat | break connection reset | registered", "^worker:0#1"},  // the same address is tried first
      {"break connection refused | rule 2 | uses am.2.sock | registered", "~ with its process to epoch 2"}}},
    {"TheExecutorExitsWhenTheAmReleasesTheExecutor",
     {{"start-and-heartbeat | exit 0 | reported | acknowledge-outcome | RELEASE | left", "^success | released"}}},
    {"TheExecutorExitsWithoutStartingAProcessWhenTheAmRefusesTheAttempt",
     {{"rule 1 | begin | registered | refuse-register | left | tried", "~ | refused | 0 starts"}}},
    {"SigtermBeforeTheTaskStartsEndsTheExecutorWithoutAReport",
     {{"rule 1 | begin | registered | answer-register | awaits | SIGTERM | left | unreported",
       "~ | terminated | 0 outcomes"}}},
};
TABLE_TEST(ExecutorTest, kExecutors, ScriptIn<ExecutorWorld>());

const TestRow kPublishing[] = {
    {"TheExecutorSendsPublishedValuesToTheAm",
     {{"staged | source tony-publish ADDRESS=old | start-and-heartbeat", ""},
      {"has 0 TONY_PUBLISH_FILE=@/work/driver-0/1/tony-publish | work tony-publish ADDRESS=here:1\n | published",
       "yes | values ADDRESS=here:1"}}},
    {"SecretsAreMaskedInPublishedValues",
     {{"staged | secret PW=here:1 | start-and-heartbeat | work tony-publish ADDRESS=here:1\n | published",
       "values ADDRESS=***"}}},
    {"TheOutcomeIsReportedAfterTheAmAcknowledgesThePublishedValues",
     {{"staged | start-and-heartbeat | work tony-publish ADDRESS=here:1\n | exit 0 | published | unreported",
       "values ADDRESS=here:1 | 0 outcomes"},
      {"acknowledge-values | reported", "^success"}}},
};
TABLE_TEST(PublishingExecutorTest, kPublishing, ScriptIn<ExecutorWorld>(std::string("driver")));

// Tests the shell between one attempt and the next.
const TestRow kNextAttempts[] = {
    {"TheNextAttemptIsLockedBeforeTheExecutorRegistersTheAttempt",
     {{"start-and-heartbeat | exit 3 | reported | acknowledge-outcome | NEXT | registered | locked 2",
       "^user_error | ^worker:0#2 | yes"}}},
    {"TheNextAttemptHasItsOwnWorkFolderAndLogFolder",
     {{"start-and-heartbeat | exit 3 | reported | acknowledge-outcome | NEXT | registered",
       "^user_error | ^worker:0#2"},
      {"answer-register | RESUME /ckpt/step-5 | started 2 | in 1",
       "@/work/worker-0/2 @/logs/worker-0/2/stdout @/logs/worker-0/2/stderr"},
      {"has 1 TONY_ATTEMPT=2 | has 1 TONY_RESUME_FROM=/ckpt/step-5", "yes | yes"}}},
    {"AnAttemptThatCannotBeginDoesNotOverwriteTheOutcomeOfThePreviousAttempt",
     {{"start-and-heartbeat | exit 3 | reported | acknowledge-outcome | in-the-way 2 | NEXT | registered",
       "^user_error | ^worker:0#2"},
      {"answer-register | reported | reported-of | kept 1", "^infra | worker:0#2 | ^user_error"}}},
};
TABLE_TEST(ExecutorNextTest, kNextAttempts, ScriptIn<ExecutorWorld>());

// The action StartProcesses starts its process at once, and that start is the next event. The executor must still
// perform the action SendAwait, which follows StartProcesses, before it handles that event.
TEST(ExecutorOrderTest, AllActionsOfAnEventArePerformedBeforeTheNextEventIsHandled) {
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
  ExecutorBed bed{"python3 train.py"};
  FakeProcessRunner processes{bed.loop};
  Watched am(bed.loop);
  Executor executor({bed.loop, am, processes, {}}, bed.records, bed.spec,
                    {.job = {"job-1"}, .attempt = bed.attempt, .container = {"c-1"}, .token = "secret"},
                    {"127.0.0.1", 4711}, 0.0);
  bed.Rule(1);
  executor.Begin([](int) {});
  ASSERT_TRUE(bed.Until([&] { return !am.registers.empty(); }));
  am.Answer(am.registers, Answer<Epoch>(Epoch{1}));
  ASSERT_TRUE(bed.Until([&] { return !am.awaits.empty(); }));
  am.Answer(
      am.awaits,
      Answer<Command>(Command{
          .number = 1, .kind = Command::Kind::kStart, .generation = {1}, .cluster_spec = ExecutorBed::ClusterJson()}));
  ASSERT_TRUE(bed.Until([&] { return !am.heartbeats.empty(); }));
  EXPECT_THAT(am.calls, testing::ElementsAre("await 0", "await 1", "heartbeat"));
}

TEST(ExecutorTokensTest, NewerTokensOfTheClusterReplaceTheOldOnesOnce) {
  ExecutorBed bed{"python3 train.py"};
  FakeProcessRunner processes{bed.loop};
  std::vector<int64_t> replaced;
  bed.tokens = {5, {}};
  bed.replace_tokens = [&](const ClusterTokens& tokens) {
    replaced.push_back(tokens.number);
    return tokens.number == 7 ? Status(Error{ErrorCode::kCannotWrite, "the disk is full"}) : Ok();
  };
  ASSERT_TRUE(bed.Start(processes));
  // Sends tokens, and returns the number that the executor names in its next Await.
  const auto send = [&](int64_t number) {
    EXPECT_TRUE(bed.Order({.tokens = ClusterTokens{number, {}, "tokens"}}));
    EXPECT_TRUE(bed.Until([&] { return !bed.am.awaits.empty(); }));
    return bed.am.awaits.front().caller.tokens;
  };
  ASSERT_TRUE(bed.Until([&] { return !bed.am.awaits.empty(); }));
  EXPECT_EQ(bed.am.awaits.front().caller.tokens, 5);
  EXPECT_EQ(send(6), 6);
  EXPECT_EQ(send(6), 6);
  EXPECT_EQ(send(7), 7) << "the master does not send tokens again that cannot be stored";
  EXPECT_EQ(send(4), 7);
  EXPECT_THAT(replaced, testing::ElementsAre(6, 7));
}

TEST(ExecutorTokensTest, ATaskFindsANoticeBeforeItsTokensEndUntilFreshOnesCome) {
  ExecutorBed bed{"python3 train.py"};
  FakeProcessRunner processes{bed.loop};
  const Instant now = RealClock().Now();
  bed.tokens = {ToMillis(now - std::chrono::hours(1)), now + std::chrono::minutes(5)};
  bed.replace_tokens = [](const ClusterTokens&) { return Ok(); };
  ASSERT_TRUE(bed.Start(processes));
  const auto notice = bed.InWork("tony-notice.json");
  ASSERT_TRUE(bed.Until([&] { return std::filesystem::exists(notice); }));
  EXPECT_THAT(*ReadFile(notice), testing::HasSubstr(ToIso8601(bed.tokens.until)));
  EXPECT_TRUE(bed.Order({.tokens = ClusterTokens{ToMillis(now), now + std::chrono::hours(1), "fresh"}}));
  EXPECT_TRUE(bed.Until([&] { return !std::filesystem::exists(notice); }));
}

}  // namespace
}  // namespace tony::executor
