#include "runtime/keeper/containers.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/environment.h"
#include "runtime/keeper/sweep.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "tests/support/living_process.h"
#include "tests/support/no_more_files.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::keeper {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ContainersTest : public ::testing::Test {
 protected:
  ContainersTest() { std::filesystem::create_directories(temp_.path() / "job-1/containers"); }
  void Record(const ContainerId& id, pid_t pid) const {
    const ContainerRecords records(job_);
    EXPECT_TRUE(records.Launching(id, {}, "").ok());
    if (pid > 0) EXPECT_TRUE(records.Started(id, pid, StartTime(pid)).ok());
  }
  // Returns how many containers a keeper adopts if it can open `files` more files; nullopt if the keeper refuses to
  // continue.
  std::optional<size_t> AdoptedWith(size_t files) {
    EventLoop loop;
    (void)loop.After(Duration(0), [] {});  // opens the loop's own files
    BoostProcessRunner runner(loop);
    Containers containers(loop, runner, job_, {}, {});
    const NoMoreFiles shortage(files);
    return containers.Adopt().ok() ? std::optional(containers.Running()) : std::nullopt;
  }

  TempFolder temp_;
  const JobRecords job_ = LocalJobRecords(temp_.path() / "job-1");
};

TEST_F(ContainersTest, ExecutorsWithARecordedPidCountAsRunningWhenFileDescriptorsRunOut) {
  const LivingProcess first("A=1"), second("A=1"), third("A=1");
  Record({"1-1"}, first.pid());
  Record({"1-2"}, second.pid());
  Record({"1-3"}, third.pid());
  for (const size_t files : {0, 1, 2, 3, 4, 5}) EXPECT_EQ(AdoptedWith(files).value_or(3), 3u) << files;
  EXPECT_EQ(AdoptedWith(10), 3u);
}

TEST_F(ContainersTest, AnExecutorWithoutARecordedPidCountsAsRunningWhenFileDescriptorsRunOut) {
  const LivingProcess recorded("A=1");
  const LivingProcess marked(StrCat(kContainerMark, "=", ContainerMark(job_.job(), {"1-2"})));
  Record({"1-1"}, recorded.pid());
  Record({"1-2"}, 0);
  for (const size_t files : {2, 3, 4}) EXPECT_EQ(AdoptedWith(files).value_or(2), 2u) << files;
  EXPECT_EQ(AdoptedWith(10), 2u);
}

// With no free descriptor the keeper cannot list processes, and with one it can list them and not check them.
TEST_F(ContainersTest, AnExecutorWithATaskIsNotStoppedAsIdleWhenFileDescriptorsRunOut) {
  for (const size_t files : {0, 1}) {
    const pid_t child = fork();
    if (child == 0) {
      const pid_t parent = getpid();
      const bool is_below = fork() == 0;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (is_below && getppid() != parent) _exit(0);  // the parent died before prctl()
      for (;;) pause();
    }
    Record({"1-1"}, child);
    EventLoop loop;
    (void)loop.After(Duration(0), [] {});
    BoostProcessRunner runner(loop);
    Containers containers(loop, runner, job_, {}, {});
    EXPECT_TRUE(containers.Adopt().ok());
    {
      const NoMoreFiles shortage(files);
      containers.StopIdle();
    }
    kill(child, SIGKILL);
    siginfo_t end = {};
    ASSERT_EQ(waitid(P_PID, child, &end, WEXITED), 0);
    EXPECT_EQ(end.si_status, SIGKILL) << files;
  }
}

// The folder stands for a cgroup v2, because a test cannot write these files in a real one.
TEST_F(ContainersTest, TheNextKeeperReportsOutOfMemoryIfTheExecutorsCgroupCountedOomKills) {
  const auto cgroup = temp_.path() / "cgroup";
  std::filesystem::create_directories(cgroup / "made");
  std::ofstream(cgroup / "memory.peak") << (64 << 20) << "\n";
  const auto end_with = [&](const std::string& below) {
    std::ofstream(cgroup / "memory.max") << (64 << 20) << "\n";
    std::ofstream(cgroup / "made/memory.events") << below;
    std::filesystem::remove(job_.place() / "containers/1-1");
    EXPECT_TRUE(ContainerRecords(job_).Launching({"1-1"}, {}, cgroup).ok());
    EXPECT_TRUE(ContainerRecords(job_).Started({"1-1"}, 1, "of-another").ok());
    EventLoop loop;
    BoostProcessRunner runner(loop);
    std::optional<ContainerExited> exited;
    Containers containers(loop, runner, job_, {}, {nullptr, [&](const ContainerExited& end) { exited = end; }});
    EXPECT_TRUE(containers.Adopt().ok());
    EXPECT_TRUE(RunUntil(loop, [&] { return exited.has_value(); }));
    return exited ? exited->error : "none";
  };
  EXPECT_EQ(
      end_with("oom 2\noom_kill 2\n"),
      "out of memory: the container's limit of 64 MB was reached (peak 64 MB), 2 processes were killed by the kernel");
  EXPECT_EQ(end_with("oom 2\noom_kill 0\n"), "");
}

TEST_F(ContainersTest, TheNextKeeperDoesNotTakeOverAnExecutorThatHasExited) {
  Record({"1-1"}, 0);
  EXPECT_EQ(AdoptedWith(10), 0u);
}

// ---- container records

class ContainerRecordsTest : public ::testing::Test {
 protected:
  ContainerRecordsTest() { EXPECT_TRUE(MakeFolder(temp_.path() / "containers").ok()); }
  ContainerRecord Read(const std::string& id) const {
    const auto all = records_.ReadAll();
    EXPECT_TRUE(all.ok());
    const auto found = std::ranges::find(*all, ContainerId{id}, &ContainerRecord::id);
    EXPECT_NE(found, all->end());
    return found == all->end() ? ContainerRecord{} : *found;
  }

  TempFolder temp_;
  const ContainerRecords records_{LocalJobRecords(temp_.path())};
};

TEST_F(ContainerRecordsTest, AContainerRecordShowsLaunchAndStartAndExit) {
  ASSERT_TRUE(records_.Launching({"1-1"}, {}, "").ok());
  EXPECT_EQ(Read("1-1").pid, 0);
  EXPECT_FALSE(Read("1-1").exited);
  ASSERT_TRUE(records_.Started({"1-1"}, 4711, "12345").ok());
  EXPECT_EQ(Read("1-1").pid, 4711);
  EXPECT_EQ(Read("1-1").start_time, "12345");
  EXPECT_FALSE(Read("1-1").exited);
  const ExitStatus status{ExitStatus::Kind::kSignaled, 9};
  ASSERT_TRUE(records_.Exited({{"1-1"}, status, ""}).ok());
  ASSERT_TRUE(Read("1-1").exited);
  EXPECT_EQ(Read("1-1").exited->status, status);
  EXPECT_EQ(Read("1-1").exited->error, "");
}

TEST_F(ContainerRecordsTest, ARecordedContainerExitIsReadBackWithExitCodeOrErrorOrUnknownStatus) {
  const ExitStatus three{ExitStatus::Kind::kExited, 3};
  ASSERT_TRUE(records_.Exited({{"1-1"}, three, ""}).ok());
  ASSERT_TRUE(records_.Exited({{"1-2"}, std::nullopt, "start /x y: no\nsuch file"}).ok());
  ASSERT_TRUE(records_.Exited({{"1-3"}, std::nullopt, ""}).ok());
  EXPECT_EQ(Read("1-1").exited->status, three);
  EXPECT_FALSE(Read("1-2").exited->status);
  EXPECT_EQ(Read("1-2").exited->error, "start /x y: no such file");
  EXPECT_EQ(Read("1-2").exited->container.value, "1-2");
  ASSERT_TRUE(Read("1-3").exited);
  EXPECT_FALSE(Read("1-3").exited->status);
}

TEST_F(ContainerRecordsTest, GpusAndCgroupAreRecordedAtLaunch) {
  ASSERT_TRUE(records_.Launching({"1-1"}, {0, 3}, "/sys/fs/cgroup/a b/tony-x").ok());
  ASSERT_TRUE(records_.Launching({"1-2"}, {}, "").ok());
  ASSERT_TRUE(records_.Started({"1-1"}, 4711, "12345").ok());
  EXPECT_EQ(Read("1-1").gpus, (std::vector<int>{0, 3}));
  EXPECT_EQ(Read("1-1").cgroup, "/sys/fs/cgroup/a b/tony-x");
  EXPECT_EQ(Read("1-1").pid, 4711);
  EXPECT_TRUE(Read("1-2").gpus.empty());
  EXPECT_EQ(Read("1-2").cgroup, "");
}

TEST_F(ContainerRecordsTest, IncompleteAndUnknownLinesOfAContainerRecordAreIgnored) {
  std::ofstream(temp_.path() / "containers/1-1") << "launching\nstarted 4711 12345\nexited 0 ";
  std::ofstream(temp_.path() / "containers/1-2") << "launching\nstarted 47";
  std::ofstream(temp_.path() / "containers/1-3") << "\n\nx y\nexited x y\n";
  std::ofstream(temp_.path() / "containers/.hidden") << "exited 0 \n";
  EXPECT_EQ(Read("1-1").pid, 4711);
  EXPECT_FALSE(Read("1-1").exited);
  EXPECT_EQ(Read("1-2").pid, 0);
  EXPECT_FALSE(Read("1-3").exited);
  EXPECT_EQ(records_.ReadAll()->size(), 3u);
}

TEST_F(ContainerRecordsTest, AMissingFolderOfContainerRecordsIsReadAsEmpty) {
  EXPECT_TRUE(ContainerRecords(LocalJobRecords(temp_.path() / "missing")).ReadAll()->empty());
}

TEST(IsContainerNameTest, ContainerNamesThatAreNotValidFileNamesAreRefused) {
  EXPECT_TRUE(IsContainerName({"1-23"}));
  for (const char* bad : {"", ".", "..", "../x", "a/b", "a b", "a\n"}) EXPECT_FALSE(IsContainerName({bad})) << bad;
  EXPECT_FALSE(IsContainerName({std::string(65, 'x')}));
}

// ---- gpus

TEST(GpusTest, TheFreeGpusWithTheLowestNumbersArePicked) {
  EXPECT_EQ(PickGpus({3, 1, 0, 2}, {}, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(PickGpus({0, 1, 2, 3}, {0, 2}, 2), (std::vector<int>{1, 3}));
  EXPECT_EQ(PickGpus({4, 7}, {9}, 0), std::vector<int>());
}

TEST(GpusTest, NoGpusArePickedIfTooFewAreFree) {
  EXPECT_EQ(PickGpus({0, 1}, {1}, 2), std::nullopt);
  EXPECT_EQ(PickGpus({}, {}, 1), std::nullopt);
}

TEST(GpusTest, TheEnvironmentOfAContainerListsItsGpusAndSetsThePciBusOrder) {
  EXPECT_THAT(GpuEnvironment({1, 3}, true),
              ElementsAre("CUDA_VISIBLE_DEVICES=1,3", "NVIDIA_VISIBLE_DEVICES=1,3", "CUDA_DEVICE_ORDER=PCI_BUS_ID"));
}

TEST(GpusTest, AContainerWithoutGpusCannotSeeTheMachinesGpus) {
  EXPECT_THAT(GpuEnvironment({1, 4}, true, {{0, "GPU-a"}, {4, "MIG-b"}}),
              ElementsAre("CUDA_VISIBLE_DEVICES=1,MIG-b", "NVIDIA_VISIBLE_DEVICES=1,MIG-b",
                          "CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  EXPECT_THAT(GpuEnvironment({}, true), ElementsAre("CUDA_VISIBLE_DEVICES="));
  EXPECT_THAT(GpuEnvironment({}, false), IsEmpty());
}

// ---- log writers

// A child that has opened the file with `flags` as its descriptor `fd`.
class Child {
 public:
  Child(const std::filesystem::path& file, int flags, int fd) {
    int ready[2];
    if (pipe(ready) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      const int opened = open(file.c_str(), flags | O_CREAT, 0600);
      const int other = fd == STDOUT_FILENO ? STDERR_FILENO : STDOUT_FILENO;
      if (dup2(opened, fd) < 0 || close(other) != 0 || write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(LogWritersTest, AProcessWithALogOpenForWritingAsStdoutOrStderrIsALogWriter) {
  const TempFolder temp;
  EXPECT_TRUE(WritesBelow(Child(temp.path() / "stdout", O_WRONLY | O_APPEND, STDOUT_FILENO).pid(), temp.path()));
  EXPECT_TRUE(WritesBelow(Child(temp.path() / "stderr", O_RDWR, STDERR_FILENO).pid(), temp.path()));
}

TEST(LogWritersTest, AProcessThatOnlyReadsALogIsNotALogWriter) {
  const TempFolder temp;
  EXPECT_FALSE(WritesBelow(Child(temp.path() / "stdout", O_RDONLY, STDOUT_FILENO).pid(), temp.path()));
}

TEST(LogWritersTest, AProcessThatWritesToTheFolderLogs2IsNotAWriterOfTheFolderLogs) {
  const TempFolder temp;
  std::filesystem::create_directory(temp.path() / "logs");
  std::filesystem::create_directory(temp.path() / "logs2");
  EXPECT_FALSE(WritesBelow(Child(temp.path() / "logs2/stdout", O_WRONLY, STDOUT_FILENO).pid(), temp.path() / "logs"));
  EXPECT_FALSE(WritesBelow(999999999, temp.path()));
}

// ---- sweep

constexpr pid_t kKeeper = 100;

ProcessEntry Marked(pid_t pid, pid_t parent, const std::string& container, const std::string& job = "job") {
  std::string environment = StrCat("PATH=/bin", '\0', "TONY_JOB_ID=", job, '\0');
  if (!container.empty()) environment += StrCat("TONY_CONTAINER=", job, "/", container, '\0');
  return {pid, parent, environment};
}
ProcessEntry Bare(pid_t pid, pid_t parent) { return {pid, parent, ""}; }

SweepScope Scope(std::set<ContainerId> live, std::set<pid_t> own) {
  return {{"job"}, kKeeper, std::move(live), [own = std::move(own)](pid_t pid) { return own.contains(pid); }};
}

TEST(SweepTest, ProcessesMarkedForAnEndedContainerAreSelectedForKillingRegardlessOfTheirParent) {
  const auto victims =
      FindLeftovers({Marked(200, 1, "1-1"), Marked(201, kKeeper, "1-1"), Marked(202, 1, "1-2")}, Scope({{"1-2"}}, {}));
  EXPECT_THAT(victims.pids, UnorderedElementsAre(200, 201));
  EXPECT_TRUE(victims.MayBeOf({"1-1"}));
  EXPECT_FALSE(victims.MayBeOf({"1-2"}));
}

TEST(SweepTest, TheAmAndLiveExecutorsAndTheirChildrenAreNotSelectedForKilling) {
  const auto victims = FindLeftovers(
      {Bare(kKeeper, 1), Marked(150, kKeeper, ""), Marked(200, kKeeper, "1-1"), Bare(201, 200), Bare(1, 0), Bare(2, 1)},
      Scope({{"1-1"}}, {150, 200}));
  EXPECT_THAT(victims.pids, IsEmpty());
}

TEST(SweepTest, UnmarkedOrphansOfTheKeeperAndTheirDescendantsAreSelectedForKilling) {
  const auto victims =
      FindLeftovers({Bare(kKeeper, 1), Bare(300, kKeeper), Bare(301, 300), Bare(302, 301)}, Scope({}, {}));
  EXPECT_THAT(victims.pids, UnorderedElementsAre(300, 301, 302));
  EXPECT_TRUE(victims.MayBeOf({"1-1"})) << "whose they are is not known";
}

TEST(SweepTest, AnOrphanMarkedForALiveContainerIsNotSelectedForKilling) {
  const auto victims = FindLeftovers({Marked(300, kKeeper, "1-2"), Marked(301, kKeeper, "1-1")}, Scope({{"1-2"}}, {}));
  EXPECT_THAT(victims.pids, ElementsAre(301));
}

TEST(SweepTest, UnmarkedLogWritersAreSelectedForKillingUnlessTheyDescendFromALiveExecutor) {
  SweepScope scope = Scope({{"1-1"}}, {});
  scope.live_executors = {200};
  const std::vector<ProcessEntry> processes = {Marked(200, 1, "1-1"), Bare(201, 200), Bare(202, 201),  Bare(300, 1),
                                               Bare(301, 300),        Bare(400, 1),   Bare(kKeeper, 1)};
  EXPECT_THAT(FindLeftovers(processes, scope).pids, IsEmpty());
  scope.writes_logs = [](pid_t pid) { return pid == 202 || pid == 300 || pid == kKeeper; };
  const auto victims = FindLeftovers(processes, scope);
  EXPECT_THAT(victims.pids, UnorderedElementsAre(300, 301)) << "all below a live executor are spared";
  EXPECT_TRUE(victims.MayBeOf({"1-2"}));
  EXPECT_THAT(FindAllOfJob({Bare(300, 1), Bare(kKeeper, 1)}, scope), ElementsAre(300));
}

TEST(SweepTest, ALeftoverProcessWithoutAKnownContainerMayBelongToAnyContainer) {
  Victims victims = FindLeftovers({Bare(300, 1)}, Scope({}, {}));
  EXPECT_TRUE(victims.Empty());
  victims.containers.insert({"1-1"});
  EXPECT_FALSE(victims.Empty());
  EXPECT_TRUE(victims.MayBeOf({"1-1"}));
  EXPECT_FALSE(victims.MayBeOf({"1-2"}));
  victims.strays = true;
  EXPECT_TRUE(victims.MayBeOf({"1-2"}));
}

// The parent of process 202 ended between two lines of the process list, so 202 may be below a live executor.
TEST(SweepTest, ALogWriterWhoseParentIsMissingInTheProcessListIsNotSelectedForKilling) {
  SweepScope scope = Scope({{"1-1"}}, {});
  scope.live_executors = {200};
  scope.writes_logs = [](pid_t pid) { return pid == 202; };
  EXPECT_THAT(FindLeftovers({Marked(200, 1, "1-1"), Bare(202, 201)}, scope).pids, IsEmpty());
  EXPECT_THAT(FindLeftovers({Marked(200, 1, "1-1"), Bare(202, 1)}, scope).pids, ElementsAre(202));
}

TEST(SweepTest, ProcessesOfOtherJobsAreNeverSelectedForKilling) {
  EXPECT_THAT(FindLeftovers({Marked(300, 1, "1-1", "job2"), Marked(301, 1, "1-1", "xjob")}, Scope({}, {})).pids,
              IsEmpty());
  EXPECT_THAT(FindAllOfJob({Marked(300, 1, "1-1", "job2"), Marked(301, 1, "", "jo")}, Scope({}, {})), IsEmpty());
}

TEST(SweepTest, TheKeeperIsNeverSelectedForKillingEvenIfItsEnvironmentHasAContainerMark) {
  ProcessEntry keeper = Marked(kKeeper, 1, "1-1");
  EXPECT_THAT(FindLeftovers({keeper}, Scope({}, {})).pids, IsEmpty());
  EXPECT_THAT(FindAllOfJob({keeper}, Scope({}, {})), IsEmpty());
}

TEST(SweepTest, AllProcessesOfAnEndedJobAreFoundByEnvironmentMarkOrByDescent) {
  EXPECT_THAT(FindAllOfJob({Bare(kKeeper, 1), Marked(150, kKeeper, ""), Marked(200, 1, "1-1"), Bare(300, kKeeper),
                            Bare(301, 300), Bare(400, 1)},
                           Scope({}, {})),
              ElementsAre(150, 200, 300, 301));
}

}  // namespace
}  // namespace tony::keeper
