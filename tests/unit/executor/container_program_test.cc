// Runs the program tony-executor in a container that is built as a NodeManager builds it from a master's launch
// context: links, credentials, environment, and the script launch_container.sh. The test plays the AM at a real RPC
// server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>

#include "runtime/base/strings.h"
#include "runtime/hadoop/webhdfs_answer.h"
#include "runtime/net/sockets.h"
#include "runtime/net/tls.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/rpc/rpc_server.h"
#include "runtime/yarn/executor_context.h"
#include "tests/support/places.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/executor/scripted_am.h"
#include "tests/unit/hadoop/fake_name_node.h"
#include "tests/unit/yarn/node_script.h"

namespace tony::executor {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kContainer = "container_1700000000000_0001_01_000002";

class ContainerProgramTest : public testing::Test {
 protected:
  ContainerProgramTest() {
    BecomeSubreaper();
    for (const char* folder : {"cache", "container", "logs"}) fs::create_directory(temp_.path() / folder);
    fs::create_symlink(ProgramFolder() + "/tony-executor", cache_ / "tony-executor");
    Cache("aa", "the data");
    fs::create_directory(cache_ / "bb-tree");
    Cache("bb-tree/train.sh", "echo trained\n");
    // The job has a name of its own, because tests that run at the same time search for the processes of their own job.
    job_.job = {StrCat("application_1700000000000_", getpid())};
    job_.spec.framework = FrameworkKind::kStandalone;
    job_.secrets = {std::string(64, 'a'), {"DB_PASSWORD=sesame"}, certificates_.executor};
    job_.lease = {{1}, {at_}, 1};
    job_.staged.job = {{.name = "data", .path = "/store/aa"},
                       {.path = "/store/bb-tree", .form = StagedEntry::Form::kContents}};
    for (const char* key : {"tony-executor", "aa", "bb-tree"}) job_.files[key] = {};
  }
  ~ContainerProgramTest() override { SignalAll(Descendants(getpid()), SIGKILL); }

  void Cache(const std::string& name, const std::string& content) const { std::ofstream(cache_ / name) << content; }

  // Prepares the container as the NodeManager does before it runs the script.
  void Localize(const std::string& command) {
    job_.spec.roles = {{.name = "worker", .command = command}};
    const auto context = MakeExecutorContext(job_, {.attempt = {{"worker", 0}, 1}});
    ASSERT_TRUE(context.ok()) << context.error().message;
    std::ofstream(container_ / "container_tokens") << EncodeCredentials(context->credentials);
    const std::map<std::string, std::string> own = {{"CONTAINER_ID", kContainer},
                                                    {"NM_HOST", "127.0.0.1"},
                                                    {"LOG_DIRS", logs_},
                                                    {"PWD", container_},
                                                    {"HADOOP_TOKEN_FILE_LOCATION", container_ / "container_tokens"}};
    std::string script = "#!/bin/bash\nset -o pipefail -e\n";
    for (const auto& [name, value] : context->environment) script += ExportLine(name, value, logs_);
    for (const auto& [name, value] : own) script += ExportLine(name, value, logs_);
    for (const auto& [name, file] : context->files)
      script += StrCat("ln -sf -- \"", (cache_ / name).string(), "\" \"", name, "\"\n");
    std::ofstream(container_ / "launch_container.sh") << script << CommandLine(context->command, logs_);
  }

  void Rule(ScriptedAm& am) { RuleAt(at_, am); }
  void RuleAt(const Endpoint& at, ScriptedAm& am) {
    auto server = StartRpcServer(loop_, {.at = {at}, .tls = *MakeTlsServer(certificates_.master)}, am);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
  }

  std::shared_ptr<std::optional<ExitStatus>> Run(const std::vector<std::string>& argv) {
    auto exit = std::make_shared<std::optional<ExitStatus>>();
    const auto pid = processes_.Start({.argv = argv,
                                       .env = {"PATH=/usr/bin:/bin", "OF_THE_NODE=1"},
                                       .directory = container_,
                                       .stderr_file = (logs_ / "prelaunch.err").string()},
                                      [exit](ExitStatus status) { *exit = status; });
    EXPECT_TRUE(pid.ok());
    launched_ = pid.ok() ? *pid : 0;
    return exit;
  }
  std::shared_ptr<std::optional<ExitStatus>> Launch() { return Run({"/bin/bash", container_ / "launch_container.sh"}); }

  bool Until(const std::function<bool()>& condition) { return RunUntil(loop_, condition); }
  std::string Text(const fs::path& file) const {
    const auto text = ReadFile(file);
    return text.ok() ? *text : text.error().message;
  }
  static ExitStatus Exited(int code) { return {ExitStatus::Kind::kExited, code}; }

  static Endpoint FreePort() { return *BoundAddress(*ListenOn({kLoopback, 0})); }

  TempFolder temp_;
  const Endpoint at_ = FreePort();
  const JobCertificates certificates_ = *MakeJobCertificates("a-job", RealClock().Now(), std::chrono::hours(1));
  const fs::path cache_ = temp_.path() / "cache", container_ = temp_.path() / "container",
                 logs_ = temp_.path() / "logs";
  ExecutorInputs job_;
  EventLoop loop_;
  BoostProcessRunner processes_{loop_};
  std::unique_ptr<RpcServer> server_;
  pid_t launched_ = 0;
};

TEST_F(ContainerProgramTest, ATaskReadsItsStagedFilesAndWritesItsLogsToTheContainersLogFolder) {
  Localize("cat data; . ./train.sh; pwd -P; echo words >&2; exit 3");
  ScriptedAm am({1});
  Rule(am);
  const auto exit = Launch();
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  EXPECT_EQ(**exit, Exited(0)) << Text(logs_ / "prelaunch.err") << Text(logs_ / "executor.log");
  ASSERT_EQ(am.outcomes.size(), 1u);
  EXPECT_EQ(am.outcomes[0].exit, Exited(3));
  EXPECT_EQ(am.outcomes[0].stderr_tail, "words\n");
  EXPECT_EQ(am.registered[0].endpoint.host, "127.0.0.1");
  EXPECT_EQ(Text(logs_ / "stdout"),
            StrCat("the datatrained\n", (container_ / ".tony-job/work/worker-0/1").string(), "\n"));
  EXPECT_EQ(Text(logs_ / "stderr"), "words\n");
  EXPECT_THAT(Text(logs_ / "executor.log"), HasSubstr("task worker:0#1"));
  EXPECT_TRUE(fs::equivalent(logs_, container_ / ".tony-job/logs/worker-0/1"));
}

// Orders two attempts in one container, one after the other.
class RestartingAm : public ScriptedAm {
 public:
  using ScriptedAm::ScriptedAm;
  void Await(const Caller&, int64_t since, Reply<Command> reply) override {
    waiting_.emplace_back(since, reply);
    Answer();
  }
  void ReportOutcome(const Caller&, const AttemptReport& report, Reply<std::monostate> reply) override {
    outcomes.push_back(report.outcome);
    reply.Success({});
    Answer();
  }

 private:
  void Answer() {
    using Kind = Command::Kind;
    const ClusterSpec cluster{{1}, {{"worker", {registered.back().endpoint}}}};
    const std::vector<Command> commands = {
        {.number = 1, .kind = Kind::kStart, .generation = {1}, .cluster_spec = ToJson(cluster)},
        {.number = 2, .kind = Kind::kNext, .attempt = 2},
        {.number = 3, .kind = Kind::kStart, .generation = {1}, .cluster_spec = ToJson(cluster)},
        {.number = 4, .kind = Kind::kRelease}};
    const int64_t known = outcomes.empty() ? 1 : outcomes.size() == 1 ? 3 : 4;
    for (auto& [since, reply] : std::exchange(waiting_, {})) {
      if (since < known) {
        reply.Success(commands[static_cast<size_t>(since)]);
      } else {
        waiting_.emplace_back(since, reply);
      }
    }
  }
  std::vector<std::pair<int64_t, Reply<Command>>> waiting_;
};

// A node moves only the files directly in the log folder.
TEST_F(ContainerProgramTest, LogsOfLaterAttemptsAreRegularFilesDirectlyInTheContainersLogFolder) {
  Localize("echo out $TONY_ATTEMPT; echo err $TONY_ATTEMPT >&2; exit 3");
  RestartingAm am({1});
  Rule(am);
  const auto exit = Launch();
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  ASSERT_EQ(am.outcomes.size(), 2u) << Text(logs_ / "executor.log");
  EXPECT_EQ(am.outcomes[1].stderr_tail, "err 2\n");
  const AttemptId second{{"worker", 0}, 2};
  for (const auto& [stream, text] : std::map<std::string, std::string>{{"stdout", "out"}, {"stderr", "err"}}) {
    EXPECT_EQ(Text(logs_ / NameInContainer(stream, {second.task, 1}, true)), text + " 1\n");
    const fs::path later = logs_ / NameInContainer(stream, second, false);
    EXPECT_EQ(Text(later), text + " 2\n") << later;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(later))) << later;
    EXPECT_EQ(fs::status(later).permissions() & fs::perms::group_read, fs::perms::group_read) << later;
  }
  EXPECT_TRUE(fs::equivalent(logs_ / "executor.log", logs_ / "attempts/2/executor.log"));
}

TEST_F(ContainerProgramTest, StderrOfTheContainerContainsTheReasonWhyTheExecutorCannotStart) {
  Localize("true");
  fs::remove(cache_ / "tony-executor");
  Cache("tony-executor", "not executable");
  const auto exit = Launch();
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  EXPECT_EQ(**exit, Exited(126));
  EXPECT_THAT(Text(logs_ / "stderr"), HasSubstr("/tony-executor: Permission denied"));
}

TEST_F(ContainerProgramTest, TheEnvironmentOfATaskHasTheJobsVariablesAndNoTokenOrKeyOfTheExecutor) {
  job_.spec.container_env = {{"OF_CONTAINER", "c"}};
  job_.spec.execution_env = {{"OF_EXECUTION", "e $HOME"}};
  Localize("env -0");
  ScriptedAm am({1});
  Rule(am);
  const auto exit = Launch();
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  const std::string variables = Text(logs_ / "stdout") + '\0';
  for (const auto& [name, value] : std::map<std::string, std::string>{{"OF_CONTAINER", "c"},
                                                                      {"OF_EXECUTION", "e $HOME"},
                                                                      {"DB_PASSWORD", "sesame"},
                                                                      {"OF_THE_NODE", "1"},
                                                                      {"TONY_TASK", "worker:0"},
                                                                      {"CONTAINER_ID", kContainer},
                                                                      {"TONY_JOB_ID", job_.job.value}})
    EXPECT_EQ(VariableIn(variables, name), value) << name;
  EXPECT_TRUE(fs::equivalent(VariableIn(variables, "TONY_LOG_DIR"), logs_));
  for (const char* secret : {"aaaa", "PRIVATE KEY"}) EXPECT_THAT(variables, Not(HasSubstr(secret)));
  for (const char* shown : {"launch_container.sh"}) {
    const std::string text = Text(container_ / shown);
    for (const char* secret : {"aaaa", "PRIVATE KEY", "sesame", "OF_EXECUTION"})
      EXPECT_THAT(text, Not(HasSubstr(secret)));
  }
}

TEST_F(ContainerProgramTest, JobRecordsInTheContainerArePrivateAndTaskLogsAreReadableByTheGroup) {
  Localize("true");
  ScriptedAm am({1});
  Rule(am);
  const auto exit = Launch();
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  const auto mode = [](const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
  };
  EXPECT_EQ(mode(container_ / ".tony-job"), 0700u);
  for (const char* record : {"spec.json", "token", "secrets", "staged.json", "am.lease"})
    EXPECT_EQ(mode(container_ / ".tony-job" / record), 0600u) << record;
  EXPECT_EQ(mode(logs_ / "stdout"), 0640u);
  EXPECT_EQ(mode(logs_ / "stderr"), 0640u);
}

TEST_F(ContainerProgramTest, ALargeJobSpecIsReadFromALocalizedFile) {
  job_.files[kSpecFile] = {};
  job_.spec.execution_env["LARGE"] = std::string(100'000, 'x');
  Localize("echo ${#LARGE}");
  Cache(kSpecFile, ToJson(job_.spec));
  ScriptedAm am({1});
  Rule(am);
  const auto exit = Launch();
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  EXPECT_EQ(Text(logs_ / "stdout"), "100000\n");
}

TEST_F(ContainerProgramTest, ASecondLaunchInTheSameContainerFolderRunsTheTaskAgain) {
  Localize("true");
  ScriptedAm first({1});
  Rule(first);
  const auto exit = Launch();
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  ScriptedAm second({1});
  server_ = nullptr;
  Rule(second);
  const auto again = Launch();
  ASSERT_TRUE(Until([&] { return again->has_value(); }));
  EXPECT_EQ(**again, Exited(0)) << Text(logs_ / "executor.log");
  EXPECT_EQ(second.outcomes.size(), 1u);
}

TEST_F(ContainerProgramTest, ATaskEndsWithClassNodeLostIfItsAmIsUnreachableForTheConfiguredCutOffTime) {
  job_.spec.timers.record_fresh = Duration(300);
  job_.spec.timers.cutoff_after = Duration(600);
  Localize("touch started; sleep 1000");
  ScriptedAm am({1});
  Rule(am);
  const auto exit = Launch();
  ASSERT_TRUE(Until([&] { return IsThere(container_ / ".tony-job/work/worker-0/1/started"); }));
  server_ = nullptr;
  ASSERT_TRUE(Until([&] { return IsThere(logs_ / "outcome.json"); }));
  Rule(am);
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  ASSERT_EQ(am.outcomes.size(), 1u);
  EXPECT_EQ(am.outcomes[0].cls, OutcomeClass::kNodeLost);
}

// ---- an AM that dies, and the next one

class ContainerTakeoverTest : public ContainerProgramTest {
 protected:
  ContainerTakeoverTest() {
    job_.lease_place = {{{kLoopback, name_node_.server().port()}}, "/jobs/j", "eve"};
    name_node_.folders["/jobs/j"] = "700";
    WriteLease({{1}, {at_}, 7});
  }
  void WriteLease(const LeaseRecord& lease) {
    name_node_.files["/jobs/j/am.lease"] = "";
    name_node_.xattrs["/jobs/j/am.lease"] = {{"user.tony.bytes", hadoop::ToHexText(ToJson(lease))}};
  }
  // Runs the task until the first AM dies. The task ends once a file `end` is in its folder.
  void LoseMaster() {
    Localize("while [ ! -e end ]; do sleep 0.01; done; exit 3");
    Rule(first_);
    exit_ = Launch();
    ASSERT_TRUE(Until([&] { return !first_.heartbeats.empty() && first_.heartbeats.back().pid > 0; }));
    server_ = nullptr;
  }
  // Expects that the task goes on under `am`, and that its end is reported there.
  void ExpectGoesOn(ScriptedAm& am) {
    ASSERT_TRUE(Until([&] { return !am.registered.empty(); }));
    EXPECT_EQ(am.registered[0].phase, Phase::kRunning);
    EXPECT_EQ(am.registered[0].pid, first_.heartbeats.back().pid);
    std::ofstream(container_ / ".tony-job/work/worker-0/1/end") << "";
    ASSERT_TRUE(Until([&] { return exit_->has_value(); }));
    EXPECT_EQ(**exit_, Exited(0)) << Text(logs_ / "executor.log");
    ASSERT_EQ(am.outcomes.size(), 1u);
    EXPECT_EQ(am.outcomes[0].exit, Exited(3));
  }

  hadoop::FakeNameNode name_node_{loop_};
  ScriptedAm first_{{1}}, second_{{2}};
  std::shared_ptr<std::optional<ExitStatus>> exit_;
};

TEST_F(ContainerTakeoverTest, ARunningTaskContinuesUnderANewAmAtAnotherAddress) {
  LoseMaster();
  const Endpoint other = FreePort();
  RuleAt(other, second_);
  WriteLease({{2}, {other}, 1});
  ExpectGoesOn(second_);
}

TEST_F(ContainerTakeoverTest, ARunningTaskContinuesUnderANewAmAtTheSameAddressEvenIfHdfsFails) {
  name_node_.does_not_do = "GETXATTRS";
  LoseMaster();
  Rule(second_);
  ExpectGoesOn(second_);
}

TEST_F(ContainerTakeoverTest, AnExecutorThatReachesItsAmDoesNotReadTheLeaseInHdfs) {
  Localize("exit 3");
  Rule(first_);
  exit_ = Launch();
  ASSERT_TRUE(Until([&] { return exit_->has_value(); }));
  EXPECT_TRUE(name_node_.server().requests().empty());
}

TEST_F(ContainerTakeoverTest, ATaskIsStoppedAfterTheConfiguredCutOffTimeIfItsAmAndHdfsAreUnreachable) {
  name_node_.does_not_do = "GETXATTRS";
  job_.spec.timers.record_fresh = Duration(300);
  job_.spec.timers.cutoff_after = Duration(600);
  LoseMaster();
  ASSERT_TRUE(Until([&] { return IsThere(logs_ / "outcome.json"); }));
  EXPECT_THAT(Text(logs_ / "outcome.json"),
              HasSubstr("could not reach the application master within tony.task.cutoff-after-ms"));
  EXPECT_THAT(Text(logs_ / "executor.log"), HasSubstr("the lease record cannot be read"));
}

TEST_F(ContainerTakeoverTest, AnExecutorThatLostItsAmExitsWhenTheJobsFolderInHdfsIsMissing) {
  name_node_.files.clear();
  name_node_.folders.clear();
  job_.spec.timers.record_fresh = Duration(3'000);
  LoseMaster();
  ASSERT_TRUE(Until([&] { return exit_->has_value(); }));
  EXPECT_EQ(**exit_, Exited(66)) << Text(logs_ / "executor.log");
}

// A task that ignores SIGTERM, runs in a session of its own, and has a child in another session.
constexpr const char* kStubborn = "trap '' TERM; setsid sleep 1000 & touch started; while :; do sleep 1; done";

class ContainerEndTest : public ContainerProgramTest {
 protected:
  void StartStubborn() {
    Localize(kStubborn);
    Rule(am_);
  }
  bool IsStarted() {
    return Until([&] { return IsThere(container_ / ".tony-job/work/worker-0/1/started"); });
  }
  // The container has three processes: the script became the front process, the guard is its child, and the executor is
  // the guard's child.
  pid_t Guard() const { return ChildrenOf(launched_).at(0); }
  pid_t ExecutorItself() const { return ChildrenOf(Guard()).at(0); }
  void NothingIsLeftOnceKilled(pid_t pid) {
    ASSERT_FALSE(OfTheTask().empty());
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    ASSERT_TRUE(Until([&] { return OfTheTask().empty(); }));
    ASSERT_TRUE(Until([&] { return Descendants(getpid()).empty(); }));
  }
  std::vector<pid_t> OfTheTask() const { return ProcessesWithEnvironment("TONY_JOB_ID=" + job_.job.value); }

  ScriptedAm am_{{1}};
};

TEST_F(ContainerEndTest, ATaskThatIgnoresSigtermIsKilledWithin5SecondsOfTheNodeManagersSigterm) {
  StartStubborn();
  const auto exit = Launch();
  ASSERT_TRUE(IsStarted());
  kill(-launched_, SIGTERM);
  ASSERT_TRUE(RunUntil(
      loop_, [&] { return exit->has_value(); }, Duration(5000)));
  EXPECT_EQ(**exit, Exited(143));
  EXPECT_TRUE(am_.outcomes.empty()) << "YARN says why: its memory limit, for one";
  EXPECT_EQ(Descendants(getpid()), std::vector<pid_t>());
}

TEST_F(ContainerEndTest, ATaskIsKilledWhenTheParentOfItsContainerScriptIsKilled) {
  StartStubborn();
  const auto exit = Run({"/bin/bash", "-c", "/bin/bash launch_container.sh & wait"});
  ASSERT_TRUE(IsStarted());
  ASSERT_FALSE(OfTheTask().empty());
  kill(launched_, SIGKILL);
  ASSERT_TRUE(Until([&] { return OfTheTask().empty(); }));
}

TEST_F(ContainerEndTest, KillingAnExecutorKillsItsTask) {
  StartStubborn();
  const auto exit = Launch();
  ASSERT_TRUE(IsStarted());
  NothingIsLeftOnceKilled(ExecutorItself());
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  EXPECT_EQ(**exit, Exited(137)) << "what the NodeManager tells";
}

TEST_F(ContainerEndTest, ATaskIsKilledWhenTheGuardProcessThatStartedItsExecutorIsKilled) {
  StartStubborn();
  const auto exit = Launch();
  ASSERT_TRUE(IsStarted());
  NothingIsLeftOnceKilled(Guard());
}

// A NodeManager sends this KILL if its TERM had no effect in time.
TEST_F(ContainerEndTest, ATaskIsKilledWhenTheProcessGroupOfItsContainerIsKilled) {
  StartStubborn();
  const auto exit = Launch();
  ASSERT_TRUE(IsStarted());
  NothingIsLeftOnceKilled(-launched_);
}

TEST_F(ContainerEndTest, ATaskWithASuspendedExecutorIsKilledWhenTheContainersProcessGroupIsKilled) {
  StartStubborn();
  const auto exit = Launch();
  ASSERT_TRUE(IsStarted());
  ASSERT_EQ(kill(ExecutorItself(), SIGSTOP), 0);
  NothingIsLeftOnceKilled(-launched_);
}

TEST_F(ContainerProgramTest, StartingTheExecutorOutsideOfAContainerIsAUsageError) {
  const auto exit = Run({ProgramFolder() + "/tony-executor", "--container", logs_});
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  EXPECT_EQ(**exit, Exited(64));
  EXPECT_THAT(Text(logs_ / "prelaunch.err"), HasSubstr("HADOOP_TOKEN_FILE_LOCATION is not set"));
}

TEST_F(ContainerProgramTest, TheExecutorRefusesADamagedCredentialsFile) {
  Localize("true");
  std::ofstream(container_ / "container_tokens") << "HDTS";
  const auto exit = Launch();
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  EXPECT_EQ(**exit, Exited(65));
}

}  // namespace
}  // namespace tony::executor
