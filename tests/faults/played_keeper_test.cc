// How the local scheduler judges the machine's processes, on a machine with simulated processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <set>

#include "runtime/base/strings.h"
#include "runtime/keeper/container_cgroup.h"
#include "runtime/keeper/containers.h"
#include "runtime/keeper/sweep.h"
#include "runtime/ledger/process_check.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/users.h"
#include "tests/faults/played_machine_test.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::keeper {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr pid_t kKeeper = 4'000'010, kExecutor = 4'000'020, kTask = 4'000'030, kOther = 4'000'040;
constexpr uid_t kStranger = 4711;
const JobId kJob{"local-1"};

// ---- process checks of ledger entries ----

class PlayedProcessCheckTest : public PlayedMachineTest {
 protected:
  static PlayedProcess Keeper() {
    return {.start = "100",
            .name = "tony-keeper",
            .command_line = StrCat("tony-keeper", '\0', "/h/jobs/local-1", '\0'),
            .user = kStranger};
  }
  static LedgerEntry Entry() { return {.job = kJob, .user = kStranger, .keeper = {.pid = kKeeper, .start = "100"}}; }
};

TEST_F(PlayedProcessCheckTest, ALedgerEntryIsConfirmedByARunningKeeperWithTheJobsCommandLine) {
  machine_.Add(kKeeper, Keeper());
  EXPECT_EQ(ProcessChecker().Of(Entry()), ProcessCheck::kRuns);
}

TEST_F(PlayedProcessCheckTest, ALedgerEntryIsNotConfirmedByAnotherProcessWithTheKeepersPid) {
  machine_.Add(kKeeper, {.start = "900", .name = "python3", .command_line = "/h/jobs/local-1", .user = kStranger});
  EXPECT_EQ(ProcessChecker().Of(Entry()), ProcessCheck::kNone);
  PlayedProcess other = Keeper();
  other.user = kStranger + 1;
  machine_.Add(kKeeper, other);
  EXPECT_EQ(ProcessChecker().Of(Entry()), ProcessCheck::kNone);
}

TEST_F(PlayedProcessCheckTest, ALedgerEntryIsNotConfirmedByAZombieKeeper) {
  PlayedProcess keeper = Keeper();
  keeper.state = 'Z';
  machine_.Add(kKeeper, keeper);
  EXPECT_EQ(ProcessChecker().Of(Entry()), ProcessCheck::kNone);
}

TEST_F(PlayedProcessCheckTest, ALedgerEntryIsConfirmedByAnExecutorThatOutlivesItsKeeper) {
  PlayedProcess executor = Keeper();
  executor.name = "tony-executor";
  machine_.Add(kExecutor, executor);
  EXPECT_EQ(ProcessChecker().Of(Entry()), ProcessCheck::kRuns);
  machine_.Reap(kExecutor);
  EXPECT_EQ(ProcessChecker().Of(Entry()), ProcessCheck::kNone);
}

TEST_F(PlayedProcessCheckTest, ALedgerEntryIsConfirmedByTheExecutorIfTheKeeperExitsDuringTheCheck) {
  machine_.Add(kKeeper, Keeper());
  machine_.Add(kExecutor, Keeper());
  for (const char* file : {"stat", "status", "cmdline"}) {
    machine_.Add(kKeeper, Keeper());
    At(StrCat(kKeeper, "/", file), 1, [&] { machine_.Reap(kKeeper); });
    EXPECT_EQ(ProcessChecker().Of(Entry()), ProcessCheck::kRuns) << file;
  }
}

TEST_F(PlayedProcessCheckTest, AKeeperIsFoundOnlyByTheFullJobIdAndUser) {
  machine_.Add(kKeeper, Keeper());
  const auto found = FindKeeper(kJob, kStranger);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->pid, kKeeper);
  EXPECT_FALSE(FindKeeper(kJob, kStranger + 1));
  for (const char* word : {"", "jobs", "local-", "1", "local-10"}) EXPECT_FALSE(FindKeeper({word}, kStranger)) << word;
  PlayedProcess executor = Keeper();
  executor.name = "tony-executor";
  machine_.Add(kKeeper, executor);
  EXPECT_FALSE(FindKeeper(kJob, kStranger));
}

// ---- leftover processes that a sweep ends ----

class PlayedSweepTest : public PlayedMachineTest {
 protected:
  static SweepScope Scope(const std::filesystem::path& logs) {
    return {.job = kJob,
            .keeper = kKeeper,
            .live = {{"1-1"}},
            .is_own_child = [](pid_t pid) { return pid == kExecutor; },
            .writes_logs = [logs](pid_t pid) { return WritesBelow(pid, logs); },
            .live_executors = {kExecutor}};
  }
  void AddKeeperAndExecutor() {
    machine_.Add(kKeeper, {});
    machine_.Add(kExecutor, {.parent = kKeeper, .environment = {"TONY_CONTAINER=local-1/1-1"}});
  }
  std::vector<pid_t> Leftovers() { return FindLeftovers(ListProcesses(), Scope("/h/jobs/local-1/logs")).pids; }
};

TEST_F(PlayedSweepTest, ADaemonThatWritesToTheJobsLogsCountsAsALeftoverProcess) {
  AddKeeperAndExecutor();
  machine_.Add(kOther, {.files = {{STDERR_FILENO, "/h/jobs/local-1/logs/worker-0/1/stderr"}}});
  EXPECT_THAT(Leftovers(), ElementsAre(kOther));
  machine_.Find(kOther)->files = {{STDERR_FILENO, "/h/jobs/local-10/logs/worker-0/1/stderr"}};
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(PlayedSweepTest, AProcessIsNotALeftoverWhileItsParentIsMissingFromTheProcessList) {
  AddKeeperAndExecutor();
  machine_.Add(kTask, {.parent = kExecutor});
  machine_.Add(kOther, {.parent = kTask, .files = {{STDOUT_FILENO, "/h/jobs/local-1/logs/worker-0/1/stdout"}}});
  machine_.unlisted = {kTask};
  EXPECT_THAT(Leftovers(), IsEmpty()) << "it may be below a live executor, and is";
  machine_.unlisted.clear();
  EXPECT_THAT(Leftovers(), IsEmpty());
  machine_.Find(kTask)->parent = 1;
  EXPECT_THAT(Leftovers(), ElementsAre(kOther));
}

TEST_F(PlayedSweepTest, AProcessWithAnUnreadableEnvironmentIsALeftoverOnlyIfTheKeeperIsItsParent) {
  AddKeeperAndExecutor();
  machine_.Add(kTask, {.parent = kKeeper, .environment = {"TONY_CONTAINER=local-1/1-1"}});
  machine_.Add(kOther, {.environment = {"TONY_CONTAINER=local-1/1-2"}});
  EXPECT_THAT(Leftovers(), ElementsAre(kOther));
  machine_.errors[StrCat(kOther, "/environ")] = EACCES;
  EXPECT_THAT(Leftovers(), IsEmpty());
  // The keeper adopts orphans of its descendants.
  machine_.Find(kOther)->parent = kKeeper;
  EXPECT_THAT(Leftovers(), ElementsAre(kOther));
}

TEST_F(PlayedSweepTest, AProcessThatReusesThePidOfALeftoverProcessIsNotKilled) {
  AddKeeperAndExecutor();
  machine_.Add(kTask, {.environment = {"TONY_CONTAINER=local-1/1-2"}});
  machine_.Add(kOther, {.environment = {"TONY_CONTAINER=local-1/1-2"}});
  const auto processes = ListProcesses();
  const auto victims = FindLeftovers(processes, Scope("/h/jobs/local-1/logs"));
  At(StrCat("hold ", kTask), 1, [&] { machine_.Add(kTask, {.start = "900"}); });
  SignalIfUnchanged(processes, victims.pids, SIGKILL);
  EXPECT_THAT(Signalled(), ElementsAre(kOther));
}

// ---- processes that a keeper ends after their container has ended ----

class PlayedContainersTest : public PlayedMachineTest {
 protected:
  // An earlier keeper had two executors. One still lives and has left us a daemon, and the other has ended.
  PlayedContainersTest() {
    std::filesystem::create_directories(folder_.path() / "local-1/containers");
    const ContainerRecords records(job_);
    for (const auto& [id, pid] : {std::pair("1-1", kExecutor), std::pair("1-2", kOther)})
      EXPECT_TRUE(records.Launching({id}, {}, "").ok() && records.Started({id}, pid, "100").ok());
    machine_.Add(kExecutor, {.environment = {"TONY_CONTAINER=local-1/1-1"}});
    machine_.Add(kTask, {.parent = getpid(), .environment = {"TONY_CONTAINER=local-1/1-1"}});
  }
  // True if a container ends within this time.
  bool OneEnds(Duration limit = std::chrono::seconds(20)) {
    return RunUntil(
        loop_, [this] { return !ended_.empty(); }, limit);
  }
  void SweepWith(const std::map<std::string, int>& errors) {
    ASSERT_TRUE(containers_.Adopt().ok());
    machine_.errors = errors;
    EXPECT_EQ(OneEnds(Duration(100)), errors.empty());
    machine_.errors.clear();
    EXPECT_TRUE(OneEnds());
  }

  const TempFolder folder_{MemoryFolder()};
  const JobRecords job_ = LocalJobRecords(folder_.path() / "local-1");
  EventLoop loop_;
  BoostProcessRunner runner_{loop_};
  std::set<std::string> ended_;
  std::map<std::string, ContainerExited> told_;
  Containers containers_{loop_,
                         runner_,
                         job_,
                         {},
                         {[](auto&) {},
                          [this](auto& exited) {
                            ended_.insert(exited.container.value);
                            told_[exited.container.value] = exited;
                          }},
                         /*patience=*/Duration(300)};
};

TEST_F(PlayedContainersTest, ADaemonOfALiveContainerIsNotSignalled) {
  SweepWith({});
  EXPECT_THAT(Signalled(), IsEmpty());
}

TEST_F(PlayedContainersTest, ADaemonWithAnUnreadableEnvironmentIsCheckedAgainInsteadOfSignalled) {
  SweepWith({{StrCat(kTask, "/environ"), EMFILE}});
  EXPECT_THAT(Signalled(), IsEmpty());
}

TEST_F(PlayedContainersTest, AProcessThatReusesTheExecutorsPidIsNotTakenForTheExecutor) {
  machine_.Reap(kTask);
  At(StrCat("hold ", kExecutor), 1, [&] { machine_.Add(kExecutor, {.start = "900"}); });
  ASSERT_TRUE(containers_.Adopt().ok());
  ASSERT_EQ(containers_.Running(), 0u);
  EXPECT_TRUE(RunUntil(loop_, [this] { return ended_.size() == 2; }));
  EXPECT_THAT(Signalled(), IsEmpty());
}

// A process that forks and ends without pause escapes every list of all processes once pids wrap around.
TEST_F(PlayedContainersTest, AContainerDoesNotEndWhileAnUnlistedChildProcessLives) {
  constexpr pid_t kStuck = kOther + 10;
  machine_.Add(kStuck, {.parent = getpid(), .environment = {"TONY_CONTAINER=local-1/1-2"}, .state = 'D'});
  machine_.unlisted.insert(kStuck);
  ASSERT_TRUE(containers_.Adopt().ok());
  EXPECT_FALSE(OneEnds(Duration(50)));
  machine_.Reap(kStuck);
  EXPECT_TRUE(OneEnds());
  EXPECT_THAT(ended_, ElementsAre("1-2"));
}

TEST_F(PlayedContainersTest, AProcessBlockedInTheKernelIsReportedAndDoesNotDelayTheContainersEnd) {
  constexpr pid_t kStuck = kOther + 10;
  machine_.Add(kStuck, {.parent = getpid(), .environment = {"TONY_CONTAINER=local-1/1-2"}, .state = 'D'});
  ASSERT_TRUE(containers_.Adopt().ok());
  ASSERT_TRUE(OneEnds());
  EXPECT_TRUE(told_["1-2"].left);
  EXPECT_EQ(told_["1-2"].error,
            StrCat("process ", kStuck, " (played) of ", UserName(geteuid()),
                   " does not end: the kernel holds it (state D) until its disk, network or device responds, or its "
                   "cgroup is thawed"));
  EXPECT_EQ(containers_.Left(), told_["1-2"].error);
  machine_.Reap(kStuck);
  EXPECT_TRUE(RunUntil(loop_, [this] { return containers_.Left().empty(); }));
  EXPECT_FALSE(told_["1-2"].left);
}

TEST_F(PlayedContainersTest, AnUnkillableProcessOfAnotherUserIsReportedWithTheUserName) {
  constexpr pid_t kRoots = kOther + 10;
  machine_.Add(kRoots, {.parent = getpid(), .name = "sleep", .user = kStranger});
  machine_.errors[StrCat("signal ", kRoots)] = EPERM;
  ASSERT_TRUE(containers_.Adopt().ok());
  ASSERT_TRUE(OneEnds());
  EXPECT_TRUE(told_["1-2"].left);
  EXPECT_EQ(told_["1-2"].error, StrCat("process ", kRoots, " (sleep) of ", UserName(kStranger), " cannot be ended by ",
                                       UserName(geteuid()), "; to end it, run as root: kill -9 ", kRoots));
}

// No container can be named as the process's own: the container whose end is reported first gets it, and the others
// have nothing left.
TEST_F(PlayedContainersTest, AnUnkillableProcessOfAnotherUserIsReportedByOnlyOneContainer) {
  constexpr pid_t kRoots = kOther + 10;
  machine_.Reap(kExecutor);
  machine_.Reap(kTask);
  machine_.Add(kRoots, {.parent = getpid(), .user = kStranger});
  machine_.errors[StrCat("signal ", kRoots)] = EPERM;
  ASSERT_TRUE(containers_.Adopt().ok());
  ASSERT_TRUE(RunUntil(loop_, [this] { return ended_.size() == 2; }));
  EXPECT_NE(told_["1-1"].left, told_["1-2"].left);
  EXPECT_FALSE(containers_.AnyToEnd());
}

// ---- members of a container's cgroup ----

class PlayedCgroupTest : public PlayedMachineTest {
 protected:
  PlayedCgroupTest() { machine_.MakeCgroup(cgroup_.path()); }
  PlayedProcess Member() const { return {.cgroup = cgroup_.path()}; }

  const TempFolder cgroup_{MemoryFolder()};
};

TEST_F(PlayedCgroupTest, AProcessThatReusesThePidOfACgroupMemberIsNotKilled) {
  machine_.Add(kTask, Member());
  machine_.Add(kOther, Member());
  At(StrCat("hold ", kTask), 1, [&] { machine_.Add(kTask, {.start = "900"}); });
  EXPECT_TRUE(KillCgroup(cgroup_.path()));
  EXPECT_THAT(Signalled(), ElementsAre(kOther));
  machine_.before = nullptr;
  EXPECT_FALSE(KillCgroup(cgroup_.path())) << "nothing lives in it";
}

TEST_F(PlayedCgroupTest, AForkBombIsSuspendedBeforeItIsKilled) {
  constexpr pid_t kMost = kOther + 200;
  pid_t last = kOther;
  machine_.Add(kOther, Member());
  machine_.before = [&](const std::string& what) {
    if (!what.starts_with("signal ") || last == kMost) return;
    for (const pid_t pid : machine_.Living()) {
      if (machine_.Find(pid)->state != 'S' || machine_.Living().size() >= 20) continue;
      PlayedProcess child = Member();
      child.parent = pid;
      ++last;
      machine_.Add(last, child);
    }
  };
  for (int calls = 0; calls < 5 && KillCgroup(cgroup_.path());) ++calls;
  EXPECT_THAT(machine_.Living(), IsEmpty());
  EXPECT_LT(last, kMost);
}

TEST_F(PlayedCgroupTest, KillingACgroupMemberIsRetriedIfNoPidfdCanBeOpened) {
  machine_.Add(kTask, Member());
  machine_.errors[StrCat("hold ", kTask)] = ENOMEM;
  EXPECT_TRUE(KillCgroup(cgroup_.path()));
  EXPECT_THAT(Signalled(), IsEmpty());
  machine_.errors.clear();
  EXPECT_TRUE(KillCgroup(cgroup_.path()));
  EXPECT_FALSE(KillCgroup(cgroup_.path()));
}

TEST_F(PlayedCgroupTest, KillCgroupReportsAPopulatedCgroupWhileAMemberIsInUninterruptibleSleep) {
  PlayedProcess stuck = Member();
  stuck.state = 'D';
  machine_.Add(kTask, stuck);
  for (int calls = 0; calls < 3; ++calls) EXPECT_TRUE(KillCgroup(cgroup_.path()));
  machine_.Reap(kTask);
  EXPECT_FALSE(KillCgroup(cgroup_.path()));
}

}  // namespace
}  // namespace tony::keeper
