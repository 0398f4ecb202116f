// The keeper and daemons that are hard to end, where containers have cgroups with limits, cgroups of v2 without limits,
// and none. As root the test hides what it does not want; without root it sees what the machine has.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <tuple>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "tests/support/cgroup_look.h"
#include "tests/support/places.h"
#include "tests/support/rough_daemon.h"
#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {
namespace {

using ::testing::HasSubstr;

enum class Cgroups { kAll, kUnifiedOnly, kNone };

std::string NameOf(Cgroups cgroups) {
  switch (cgroups) {
    case Cgroups::kAll:
      return "AllCgroups";
    case Cgroups::kUnifiedOnly:
      return "RootOnlyUnifiedCgroups";
    case Cgroups::kNone:
      return "RootOnlyNoCgroups";
  }
  return "";
}

// Hides cgroups from this process and all that it starts.
class HiddenCgroups {
 public:
  explicit HiddenCgroups(Cgroups seen) {
    if (seen == Cgroups::kAll) return;
    records_ = seen == Cgroups::kNone ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", records_.c_str(), "tmpfs", 0, "size=64k") != 0)
      records_.clear();
    works_ = !records_.empty();
  }
  ~HiddenCgroups() {
    if (!records_.empty()) umount2(records_.c_str(), MNT_DETACH);
  }
  HiddenCgroups(const HiddenCgroups&) = delete;
  bool works() const { return works_; }

 private:
  std::string records_;
  bool works_ = true;
};

class KeeperDaemonsTest : public KeeperFixture {
 protected:
  // Its executor has this daemon below it, and goes on.
  void LaunchWith(const std::string& kind) {
    Launch("1-1",
           StrCat(TestProgram("rough_daemon"), " ", kind, " ", Lock().string(), " && echo $$ >pid; exec sleep 1000"));
    ASSERT_TRUE(WaitFor([&] { return Content("pid").ends_with("\n"); })) << Content("logs/1-1/log");
    ASSERT_TRUE(DaemonLives(Lock()));
  }
  std::filesystem::path Lock() const { return records_.place() / "lock"; }
  pid_t Executor() const { return static_cast<pid_t>(ParseInt(Trim(Content("pid"))).value_or(0)); }
  void ExpectGoneWhenTold() {
    ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
    EXPECT_FALSE(DaemonLives(Lock()));
  }
  // The worst: nobody is left who could have seen its descent.
  void KillKeeperAndExecutor(pid_t keeper) {
    scheduler_.reset();
    KillKeeper(keeper);
    kill(Executor(), SIGKILL);
    ASSERT_TRUE(WaitFor([&] { return ReadStat(Executor()).value_or(ProcessStat{.dead = true}).dead; }));
    EXPECT_TRUE(DaemonLives(Lock()));
  }
  void EndDaemon() {
    EXPECT_TRUE(WaitFor([&] {
      for (const auto& process : ListProcesses())
        if (ReadFileOrNothing(process.pid, "cmdline").find(Lock().string()) != std::string::npos)
          kill(process.pid, SIGKILL);
      return !DaemonLives(Lock());
    }));
  }
  static std::string ReadFileOrNothing(pid_t pid, const std::string& name) {
    const auto text = ReadFile(StrCat("/proc/", pid, "/", name));
    return text.ok() ? *text : "";
  }
};

class RoughContainerTest : public KeeperDaemonsTest,
                           public testing::WithParamInterface<std::tuple<Cgroups, std::string>> {
 protected:
  void SetUp() override {
    if (!hidden_.works()) GTEST_SKIP() << "needs to be root, to hide cgroups";
    keeper_ = StartKeeper();
    BecomeAm({1});
    LaunchWith(std::get<1>(GetParam()));
  }
  const HiddenCgroups hidden_{std::get<0>(GetParam())};
  pid_t keeper_ = 0;
};

TEST_P(RoughContainerTest, NothingLivesWhenTheEndOfAKilledExecutorIsTold) {
  kill(Executor(), SIGKILL);
  ExpectGoneWhenTold();
}

TEST_P(RoughContainerTest, NothingLivesWhenTheEndOfAKilledContainerIsTold) {
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  ExpectGoneWhenTold();
}

INSTANTIATE_TEST_SUITE_P(Kinds, RoughContainerTest,
                         testing::Combine(testing::Values(Cgroups::kAll, Cgroups::kUnifiedOnly, Cgroups::kNone),
                                          testing::Values("refork", "refork,bare,quiet", "hasty", "bomb", "stopped",
                                                          "headless", "nosignal")),
                         [](const auto& test) {
                           return NameOf(std::get<0>(test.param)) + "_" + RoughName(std::get<1>(test.param));
                         });

// After the keeper's and the executor's death a cgroup alone knows a daemon that hides.
class OrphanTest : public KeeperDaemonsTest, public testing::WithParamInterface<std::tuple<Cgroups, std::string>> {
 protected:
  void SetUp() override {
    if (!hidden_.works()) GTEST_SKIP() << "needs to be root, to hide cgroups";
    const CgroupLook look = LookForCgroups();
    if (look.limits.empty() && !look.unified) GTEST_SKIP() << "no cgroup can be made";
    const pid_t keeper = StartKeeper();
    BecomeAm({1});
    LaunchWith(std::get<1>(GetParam()));
    KillKeeperAndExecutor(keeper);
    StartKeeper();
    BecomeAm({1});
  }
  const HiddenCgroups hidden_{std::get<0>(GetParam())};
};

TEST_P(OrphanTest, NeedsWritableCgroupIsGoneWhenTheNextKeeperTellsTheEnd) { ExpectGoneWhenTold(); }

INSTANTIATE_TEST_SUITE_P(Kinds, OrphanTest,
                         testing::Combine(testing::Values(Cgroups::kAll, Cgroups::kUnifiedOnly),
                                          testing::Values("refork,bare,quiet", "hasty,bare,quiet", "bomb,bare,quiet",
                                                          "stopped,bare,quiet", "headless,bare,quiet")),
                         [](const auto& test) {
                           return NameOf(std::get<0>(test.param)) + "_" + RoughName(std::get<1>(test.param));
                         });

class OrphanWithoutCgroupTest : public KeeperDaemonsTest {
 protected:
  void SetUp() override {
    if (!hidden_.works()) GTEST_SKIP() << "needs to be root, to hide cgroups";
  }
  // One that was not found would live on for a minute, and take the machine from the tests after it.
  void TearDown() override {
    if (DaemonLives(Lock())) EndDaemon();
  }
  void Orphan(const std::string& kind) {
    const pid_t keeper = StartKeeper();
    BecomeAm({1});
    LaunchWith(kind);
    EXPECT_THAT(Content("keeper.log"), HasSubstr("no cgroups for containers"));
    KillKeeperAndExecutor(keeper);
    StartKeeper();
    BecomeAm({1});
    // Each look finds a daemon that forks with some chance, and finds it less often on a busy machine. The daemon ends
    // by itself after 60 s.
    ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }, std::chrono::seconds(50)));
  }
  const HiddenCgroups hidden_{Cgroups::kNone};
};

TEST_F(OrphanWithoutCgroupTest, RootOnlyADaemonThatReforksIsFoundByItsMark) {
  Orphan("refork");
  EXPECT_FALSE(DaemonLives(Lock()));
}

// The escape that is left: no ancestor of ours, no mark, no log, no cgroup. README.md of runtime/keeper.
TEST_F(OrphanWithoutCgroupTest, RootOnlyADaemonThatClearedItsEnvironmentAndItsOutputEscapes) {
  Orphan("stopped,bare,quiet");
  EXPECT_TRUE(DaemonLives(Lock())) << "it was found: then say so in the README";
}

}  // namespace
}  // namespace tony
