// The tests use folders laid out like cgroupfs, in which files do not appear by themselves, and real cgroups if the
// machine lets them be made.
#include "runtime/keeper/container_cgroup.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <tuple>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "tests/support/cgroup_look.h"
#include "tests/support/places.h"
#include "tests/support/results.h"
#include "tests/support/rough_daemon.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ContainerCgroupTest : public ::testing::Test {
 protected:
  fs::path In(const std::string& name) const { return temp_.path() / name; }
  void Write(const std::string& name, const std::string& text = "") const {
    fs::create_directories(In(name).parent_path());
    std::ofstream(In(name)) << text;
  }
  std::string Content(const std::string& name) const { return ReadFile(In(name)).ok() ? *ReadFile(In(name)) : "none"; }

  TempFolder temp_;
};

TEST_F(ContainerCgroupTest, NoParentCgroupIsFoundOnASystemWithoutCgroups) {
  EXPECT_FALSE(FindCgroupPlace(temp_.path()).ok());
  EXPECT_EQ(DescribeMemoryLimits(temp_.path()), "none: this system has no cgroups");
}

TEST_F(ContainerCgroupTest, ACgroupWhoseChildrenCannotGetMemoryLimitsIsNamedInTheError) {
  Write("proc/self/cgroup", "0::/user.slice/x\n");
  Write("sys/fs/cgroup/user.slice/x/cgroup.procs");
  Write("sys/fs/cgroup/cgroup.procs");
  ExpectError(FindCgroupPlace(temp_.path()),
              "cgroups in " + In("sys/fs/cgroup/user.slice/x").string() + " have no memory limit");
  EXPECT_TRUE(fs::is_empty(In("sys/fs/cgroup/user.slice/x/cgroup.procs"))) << "nothing was moved";
}

// A folder with the trial's name stands for a cgroup that gets its files from the kernel.
TEST_F(ContainerCgroupTest, ContainerCgroupsAreMadeInTheNearestAncestorCgroupThatDelegatesMemoryLimits) {
  const std::string trial = StrCat("tony-trial-", getpid());
  Write("proc/self/cgroup", "0::/user.slice/app.slice/x.scope\n");
  Write("sys/fs/cgroup/user.slice/app.slice/x.scope/cgroup.procs");
  Write("sys/fs/cgroup/user.slice/app.slice/cgroup.procs");
  Write("sys/fs/cgroup/user.slice/app.slice/" + trial + "/memory.max", "max\n");
  const auto place = Must(FindCgroupPlace(temp_.path()));
  EXPECT_EQ(place.version, CgroupVersion::kTwo);
  EXPECT_EQ(place.folder, In("sys/fs/cgroup/user.slice/app.slice"));
  EXPECT_EQ(DescribeMemoryLimits(temp_.path()), "by cgroup v2 below " + place.folder.string());
}

TEST_F(ContainerCgroupTest, ContainerCgroupsOfV1AreNeverMadeAboveTheKeepersOwnCgroup) {
  const std::string trial = StrCat("tony-trial-", getpid());
  Write("proc/self/cgroup", "4:memory:/docker/7\n0::/\n");
  Write("sys/fs/cgroup/memory/docker/7/cgroup.procs");
  Write("sys/fs/cgroup/memory/docker/cgroup.procs");
  Write("sys/fs/cgroup/memory/docker/" + trial + "/memory.limit_in_bytes");
  EXPECT_FALSE(FindCgroupPlace(temp_.path()).ok());
  Write("sys/fs/cgroup/memory/docker/7/" + trial + "/memory.limit_in_bytes");
  ASSERT_TRUE(FindCgroupPlace(temp_.path()).ok());
  EXPECT_EQ(FindCgroupPlace(temp_.path())->folder, In("sys/fs/cgroup/memory/docker/7"));
  EXPECT_EQ(FindCgroupPlace(temp_.path())->version, CgroupVersion::kOne);
}

TEST_F(ContainerCgroupTest, ACgroupNameContainsTheJobIdAndTheContainerId) {
  EXPECT_EQ(CgroupFolder({CgroupVersion::kTwo, "/cg"}, {"local-1"}, {"1-2"}), "/cg/tony-local-1-1-2");
}

TEST_F(ContainerCgroupTest, MakingACgroupV2SetsTheMemoryLimitAndZeroSwapAndTheCpuWeight) {
  for (const char* name : {"c/memory.max", "c/memory.swap.max", "c/cpu.weight", "c/cgroup.procs"}) Write(name);
  ASSERT_TRUE(MakeCgroup(In("c"), {300, 4, 0}).ok());
  EXPECT_EQ(Content("c/memory.max"), "314572800");
  EXPECT_EQ(Content("c/memory.swap.max"), "0");
  EXPECT_EQ(Content("c/cpu.weight"), "400");
}

TEST_F(ContainerCgroupTest, CgroupFilesThatTheKernelLacksAreNotWritten) {
  for (const char* name : {"c/memory.max", "c/cgroup.procs"}) Write(name);
  ASSERT_TRUE(MakeCgroup(In("c"), {300, 4, 0}).ok());
  EXPECT_EQ(Content("c/memory.swap.max"), "none");
  EXPECT_EQ(Content("c/cpu.weight"), "none");
}

TEST_F(ContainerCgroupTest, MakingACgroupV1SetsTheSameLimitForMemoryAndForMemoryPlusSwap) {
  for (const char* name : {"c/memory.limit_in_bytes", "c/memory.memsw.limit_in_bytes", "c/cgroup.procs"}) Write(name);
  ASSERT_TRUE(MakeCgroup(In("c"), {300, 4, 0}).ok());
  EXPECT_EQ(Content("c/memory.limit_in_bytes"), "314572800");
  EXPECT_EQ(Content("c/memory.memsw.limit_in_bytes"), "314572800");
}

TEST_F(ContainerCgroupTest, MakingACgroupOutsideOfCgroupfsFailsAndNamesTheMissingFile) {
  ExpectError(MakeCgroup(In("c"), {300, 4, 0}), StrCat("~", In("c/memory.limit_in_bytes").string()));
  EXPECT_FALSE(MakeCgroup(In("no/such"), {}).ok());
}

TEST_F(ContainerCgroupTest, TheProcessListOfACgroupIncludesProcessesOfNestedCgroups) {
  EXPECT_THAT(ProcessesInCgroup(In("c")), IsEmpty());
  Write("c/cgroup.procs", "12\n13\n");
  Write("c/made/by/user/cgroup.procs", "14\n");
  Write("c/made/cgroup.procs", "\n");
  EXPECT_THAT(ProcessesInCgroup(In("c")), UnorderedElementsAre(12, 13, 14));
}

TEST_F(ContainerCgroupTest, RemovingACgroupRemovesItsChildrenFirst) {
  fs::create_directories(In("c/made/by/user"));
  EXPECT_TRUE(RemoveCgroup(In("c")).ok());
  EXPECT_FALSE(fs::exists(In("c")));
  EXPECT_TRUE(RemoveCgroup(In("c")).ok()) << "harmless";
  Write("c/busy");
  EXPECT_THAT(RemoveCgroup(In("c")).error().message, HasSubstr("remove " + In("c").string()));
}

TEST_F(ContainerCgroupTest, OnlyEmptyTonyCgroupsOlderThanAGivenAgeAreRemoved) {
  for (const char* name : {"p/tony-job-1-1", "p/tony-job-1-2", "p/system.slice"}) fs::create_directories(In(name));
  Write("p/tony-job-1-2/busy");
  const CgroupPlace place{CgroupVersion::kTwo, In("p")};
  RemoveForgottenCgroups(place, std::chrono::hours(1));
  EXPECT_TRUE(fs::exists(In("p/tony-job-1-1"))) << "too young";
  RemoveForgottenCgroups(place, std::chrono::seconds(0));
  EXPECT_FALSE(fs::exists(In("p/tony-job-1-1")));
  EXPECT_TRUE(fs::exists(In("p/tony-job-1-2")) && fs::exists(In("p/system.slice")));
}

TEST_F(ContainerCgroupTest, OomKillsOfACgroupV2AreReadFromItsChildrenIfItsOwnCountIsZero) {
  Write("c/memory.max", "67108864\n");
  EXPECT_EQ(OomKillsOfTree(In("c")), 0);
  Write("c/memory.events", "oom 3\noom_kill 3\noom_group_kill 0\n");
  Write("c/made/memory.events", "oom_kill 2\n");
  EXPECT_EQ(OomKillsOfTree(In("c")), 3) << "of these two below";
  Write("c/memory.events", "oom_kill 0\n");
  EXPECT_EQ(OomKillsOfTree(In("c")), 2) << "memory_localevents";
}

TEST_F(ContainerCgroupTest, OomKillsOfACgroupV1TreeAreTheSumOverAllCgroupsOfTheTree) {
  Write("c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  Write("c/made/by/user/memory.oom_control", "oom_kill 2\n");
  EXPECT_EQ(OomKillsOfTree(In("c")), 3);
}

TEST_F(ContainerCgroupTest, AFailcntAboveZeroIsCountedAsOneOomKillIfTheKernelDoesNotCountOomKills) {
  Write("c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");
  Write("c/memory.failcnt", "0\n");
  EXPECT_EQ(OomKillsOfTree(In("c")), 0);
  Write("c/memory.failcnt", "106\n");
  EXPECT_EQ(OomKillsOfTree(In("c")), 1);
  Write("c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  EXPECT_EQ(OomKillsOfTree(In("c")), 0) << "the limit was reached, and nobody killed";
  EXPECT_EQ(OomKillsOfTree(In("no/such")), 0);
}

TEST(CgroupLookTest, TheCgroupSearchOfTheTestsFindsTheSameUsableCgroupsAsTheKeeper) {
  const CgroupLook look = LookForCgroups();
  EXPECT_EQ(FindCgroupPlace().ok(), !look.limits.empty());
  EXPECT_EQ(FindPlaceWithoutLimits().ok(), look.unified);
}

class RealCgroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (LookForCgroups().limits.empty()) GTEST_SKIP() << "no cgroup with a memory limit can be made";
    const auto place = Must(FindCgroupPlace());
    cgroup_ = CgroupFolder(place, {StrCat("test-", getpid())}, {"1-1"});
  }
  void TearDown() override {
    if (!cgroup_.empty()) {
      EXPECT_TRUE(RemoveCgroup(cgroup_).ok());
    }
  }
  fs::path cgroup_;
};

TEST_F(RealCgroupTest, AProcessThatEntersACgroupIsListedUntilTheProcessEnds_NeedsWritableCgroup) {
  const auto procs = Must(MakeCgroup(cgroup_, {64, 1, 0}));
  EXPECT_TRUE(MakeCgroup(cgroup_, {64, 1, 0}).ok()) << "harmless";
  const pid_t child = fork();
  if (child == 0) {
    if (write(procs.get(), "0", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  // Wait until the child has entered the cgroup or has ended.
  while (ProcessesInCgroup(cgroup_).empty() && waitpid(child, nullptr, WNOHANG) == 0) usleep(1000);
  EXPECT_THAT(ProcessesInCgroup(cgroup_), UnorderedElementsAre(child));
  EXPECT_FALSE(RemoveCgroup(cgroup_).ok()) << "something lives in it";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(ProcessesInCgroup(cgroup_), IsEmpty());
  EXPECT_TRUE(RemoveCgroup(cgroup_).ok());
}

TEST_F(RealCgroupTest, AnOomKillByTheKernelIsCountedInTheRealCgroup_NeedsWritableCgroup) {
  const auto procs = Must(MakeCgroup(cgroup_, {64, 1, 0}));
  EXPECT_EQ(OomKillsOfTree(cgroup_), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (write(procs.get(), "0", 1) == 1) execl("/bin/sh", "sh", "-c", "head -c 300M /dev/zero | tail", nullptr);
    _exit(1);
  }
  waitpid(child, nullptr, 0);
  EXPECT_GE(OomKillsOfTree(cgroup_), 1);
}

TEST_F(RealCgroupTest, TheThreadThatSpeedsUpCgroupMovesCanBeStopped_NeedsWritableCgroup) {
  std::jthread warmth = KeepCgroupsWarm();
  EXPECT_TRUE(warmth.joinable());
  warmth.request_stop();
}

// Uses real cgroups of both versions, not folders laid out like cgroupfs.
class KillCgroupTest : public ::testing::TestWithParam<std::tuple<CgroupVersion, std::string>> {
 protected:
  void SetUp() override {
    const bool one = std::get<0>(GetParam()) == CgroupVersion::kOne;
    const CgroupLook look = LookForCgroups();
    if (one ? look.limits != "v1" : !look.unified) GTEST_SKIP() << "no cgroup of this version can be made";
    const auto place = Must(one ? FindCgroupPlace() : FindPlaceWithoutLimits());
    ASSERT_EQ(place.version, std::get<0>(GetParam()));
    cgroup_ = CgroupFolder(place, {StrCat("kill-", getpid())}, {"1-1"});
  }
  // Starts the test program `rough_daemon` in the cgroup. The program exits once its daemon lives; the daemon stays in
  // the cgroup.
  void StartDaemon() {
    const auto procs = Must(MakeCgroupWithoutLimits(cgroup_));
    const std::string daemon = TestProgram("rough_daemon");
    const pid_t child = fork();
    if (child == 0) {
      if (write(procs.get(), "0", 1) == 1)
        execl(daemon.c_str(), daemon.c_str(), std::get<1>(GetParam()).c_str(), lock_.c_str(), nullptr);
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    ASSERT_TRUE(DaemonLives(lock_));
  }

  TempFolder temp_;
  const fs::path lock_ = temp_.path() / "lock";
  fs::path cgroup_;
};

TEST_P(KillCgroupTest, KillingACgroupEndsDaemonsThatReforkOrIgnoreSignals_NeedsWritableCgroup) {
  StartDaemon();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (KillCgroup(cgroup_) && std::chrono::steady_clock::now() < limit) usleep(1000);
  EXPECT_FALSE(KillCgroup(cgroup_)) << "nothing lives in it";
  EXPECT_FALSE(DaemonLives(lock_));
  EXPECT_THAT(ProcessesInCgroup(cgroup_), IsEmpty());
  while (!RemoveCgroup(cgroup_).ok() && std::chrono::steady_clock::now() < limit) usleep(1000);
  EXPECT_FALSE(fs::exists(cgroup_));
}

INSTANTIATE_TEST_SUITE_P(Kinds, KillCgroupTest,
                         testing::Combine(testing::Values(CgroupVersion::kOne, CgroupVersion::kTwo),
                                          testing::ValuesIn(RoughKinds())),
                         [](const auto& test) {
                           return std::string(ToString(std::get<0>(test.param))) + "_" +
                                  RoughName(std::get<1>(test.param));
                         });

TEST_F(ContainerCgroupTest, AV2ParentCgroupWithoutAMemoryControllerIsUsedWithoutLimits) {
  Write("proc/self/cgroup", "4:memory:/user\n0::/user.slice/x\n");
  Write("sys/fs/cgroup/memory/user/tasks");
  Write("sys/fs/cgroup/unified/user.slice/x/cgroup.procs");
  EXPECT_FALSE(FindCgroupPlace(temp_.path()).ok());
  EXPECT_FALSE(FindPlaceWithoutLimits(temp_.path()).ok()) << "no cgroup could be made";
  Write(StrCat("sys/fs/cgroup/unified/user.slice/x/tony-trial-", getpid(), "/cgroup.procs"));
  const auto place = Must(FindPlaceWithoutLimits(temp_.path()));
  EXPECT_EQ(place.version, CgroupVersion::kTwo);
  EXPECT_EQ(place.folder, In("sys/fs/cgroup/unified/user.slice/x"));
  EXPECT_FALSE(place.limits);
}

TEST_F(ContainerCgroupTest, KillingAPopulatedCgroupWritesToTheCgroupKillFile) {
  for (const char* name : {"c/cgroup.kill", "c/cgroup.procs"}) Write(name);
  Write("c/cgroup.events", "populated 0\nfrozen 0\n");
  EXPECT_FALSE(KillCgroup(In("c")));
  EXPECT_EQ(Content("c/cgroup.kill"), "");
  Write("c/cgroup.events", "populated 1\nfrozen 0\n");
  EXPECT_TRUE(KillCgroup(In("c")));
  EXPECT_EQ(Content("c/cgroup.kill"), "1");
}

}  // namespace
}  // namespace tony
