#include "runtime/keeper/containers.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/os/process_tree.h"
#include "tests/support/living_process.h"
#include "tests/support/no_more_files.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::keeper {
namespace {

class ContainersTest : public ::testing::Test {
 protected:
  ContainersTest() { std::filesystem::create_directories(temp_.path() / "job-1/containers"); }
  void Record(const ContainerId& id, pid_t pid) const {
    const ContainerRecords records(job_);
    EXPECT_TRUE(records.Launching(id, {}, "").ok());
    if (pid > 0) EXPECT_TRUE(records.Started(id, pid, StartTime(pid)).ok());
  }
  // How many a keeper adopts that can open `files` more; nothing: it refuses to go on.
  std::optional<size_t> AdoptedWith(size_t files) {
    EventLoop loop;
    (void)loop.After(Duration(0), [] {});  // opens what a loop needs
    BoostProcessRunner runner(loop);
    Containers containers(loop, runner, job_, {}, {});
    const NoMoreFiles shortage(files);
    return containers.Adopt().ok() ? std::optional(containers.Running()) : std::nullopt;
  }

  TempFolder temp_;
  const JobRecords job_ = LocalJobRecords(temp_.path() / "job-1");
};

TEST_F(ContainersTest, ExecutorsThatCannotBeLookedAtAreNotTakenForGone) {
  const LivingProcess first("A=1"), second("A=1"), third("A=1");
  Record({"1-1"}, first.pid());
  Record({"1-2"}, second.pid());
  Record({"1-3"}, third.pid());
  for (const size_t files : {0, 1, 2, 3, 4, 5}) EXPECT_EQ(AdoptedWith(files).value_or(3), 3u) << files;
  EXPECT_EQ(AdoptedWith(10), 3u);
}

TEST_F(ContainersTest, NorIsOneThatOnlyItsMarkTellsOf) {
  const LivingProcess recorded("A=1");
  const LivingProcess marked(StrCat(kContainerMark, "=", ContainerMark(job_.job(), {"1-2"})));
  Record({"1-1"}, recorded.pid());
  Record({"1-2"}, 0);
  for (const size_t files : {2, 3, 4}) EXPECT_EQ(AdoptedWith(files).value_or(2), 2u) << files;
  EXPECT_EQ(AdoptedWith(10), 2u);
}

// With none it cannot list them, with one not look at them.
TEST_F(ContainersTest, NorIsOneTakenForIdleThatCannotBeLookedAt) {
  for (const size_t files : {0, 1}) {
    const pid_t child = fork();
    if (child == 0) {
      const pid_t parent = getpid();
      const bool is_below = fork() == 0;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (is_below && getppid() != parent) _exit(0);  // killed before it was to be told
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

// The folder stands for a cgroup v2, which the kernel would not let anybody write in.
TEST_F(ContainersTest, AnExecutorThatDiedWhereTheKernelKilledForMemoryHasRunOutOfIt) {
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

TEST_F(ContainersTest, AnExecutorThatIsGoneKeepsNoKeeperFromGoingOn) {
  Record({"1-1"}, 0);
  EXPECT_EQ(AdoptedWith(10), 0u);
}

}  // namespace
}  // namespace tony::keeper
