// The keeper and the cgroups of containers. On a machine where none can be made these are skipped.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <tuple>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/keeper/container_cgroup.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "tests/support/cgroup_look.h"
#include "tests/support/places.h"
#include "tests/support/rough_daemon.h"
#include "tests/unit/keeper/keeper_fixture.h"

namespace tony {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

// Clears its environment, leaves its session, and writes to no log of the job.
constexpr char kHiddenDaemon[] =
    "setsid env -i /bin/sh -c 'echo $$ >bare; exec sleep 1000 >/dev/null 2>&1' >/dev/null 2>&1 & ";

class KeeperCgroupTest : public KeeperFixture {
 protected:
  void SetUp() override {
    if (LookForCgroups().limits.empty()) GTEST_SKIP() << "no cgroup with a memory limit can be made";
    const auto place = FindCgroupPlace();
    ASSERT_TRUE(place.ok()) << place.error().message;
    cgroup_ = CgroupFolder(*place, records_.job(), {"1-1"});
    keeper_ = StartKeeper();
    BecomeAm({1});
  }
  std::string Limit() const {
    const auto one = ReadFile(cgroup_ / "memory.limit_in_bytes"), two = ReadFile(cgroup_ / "memory.max");
    return one.ok() ? *one : two.ok() ? *two : "none";
  }
  pid_t PidIn(const std::string& file) {
    EXPECT_TRUE(WaitFor([&] { return Content(file).ends_with("\n"); }));
    return static_cast<pid_t>(ParseInt(Trim(Content(file))).value_or(0));
  }
  static bool Lives(pid_t pid) {  // a zombie does not
    return std::ranges::count(ListProcesses(), pid, &ProcessEntry::pid) > 0;
  }
  bool Gone() const { return !std::filesystem::exists(cgroup_); }

  std::filesystem::path cgroup_;
  pid_t keeper_ = 0;
};

TEST_F(KeeperCgroupTest, NeedsWritableCgroupAContainerHasOneWithItsLimitUntilItEnds) {
  Launch("1-1", "echo $$ >pid; while ! [ -e go ]; do sleep 0.01; done", {}, {64, 1, 0});
  const pid_t executor = PidIn("pid");
  EXPECT_EQ(Limit(), StrCat(64 << 20, "\n"));
  EXPECT_THAT(ProcessesInCgroup(cgroup_), ::testing::Contains(executor));
  ASSERT_TRUE(WriteFileByRename(records_.place() / "go", "", false).ok());
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_TRUE(Gone()) << "when the end is told";
}

// What is recorded as ended is not looked at again.
TEST_F(KeeperCgroupTest, NeedsWritableCgroupItIsRemovedBeforeTheEndIsRecorded) {
  Launch("1-1", "while ! [ -e go ]; do sleep 0.01; done");
  ASSERT_TRUE(WaitFor([&] { return Started("1-1"); }));
  const UniqueFd changes(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const int cgroups = inotify_add_watch(changes.get(), cgroup_.parent_path().c_str(), IN_DELETE);
  const int records = inotify_add_watch(changes.get(), (records_.place() / "containers").c_str(), IN_MODIFY);
  ASSERT_TRUE(cgroups > 0 && records > 0);
  ASSERT_TRUE(WriteFileByRename(records_.place() / "go", "", false).ok());
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  std::vector<int> seen;
  alignas(inotify_event) char buffer[4096];
  const ssize_t size = read(changes.get(), buffer, sizeof buffer);
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    if (event->wd == records || event->name == cgroup_.filename()) seen.push_back(event->wd);
    at += static_cast<ssize_t>(sizeof *event + event->len);
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(cgroups, records));
}

TEST_F(KeeperCgroupTest, NeedsWritableCgroupTheLogSaysOnceWhereLimitsComeFrom) {
  Launch("1-1", "exit 0");
  Launch("1-2", "exit 0");
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1") && Exit("1-2"); }));
  const std::string log = Content("keeper.log");
  EXPECT_THAT(log, HasSubstr("memory limits by cgroup v"));
  EXPECT_EQ(log.find("memory limits"), log.rfind("memory limits"));
}

TEST_F(KeeperCgroupTest, NeedsWritableCgroupADaemonThatHidIsKilledAfterKeeperAndExecutorWere) {
  Launch("1-1", StrCat(kHiddenDaemon, "echo $$ >pid; exec sleep 1000"));
  const pid_t executor = PidIn("pid"), daemon = PidIn("bare");
  scheduler_.reset();
  KillKeeper(keeper_);
  kill(executor, SIGKILL);
  EXPECT_TRUE(Lives(daemon));
  EXPECT_FALSE(Gone());
  StartKeeper();
  BecomeAm({1});
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_FALSE(Lives(daemon));
  EXPECT_TRUE(Gone()) << "the next keeper took it over";
}

TEST_F(KeeperCgroupTest, NeedsWritableCgroupAKilledContainerLeavesNothingThatHid) {
  Launch("1-1", StrCat(kHiddenDaemon, "trap '' TERM; echo $$ >pid; sleep 1000"));
  const pid_t daemon = PidIn("bare");
  PidIn("pid");
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_FALSE(Lives(daemon));
  EXPECT_TRUE(Gone());
}

TEST_F(KeeperCgroupTest, NeedsWritableCgroupCgroupsMadeByTheProgramGoWithItsContainer) {
  Launch("1-1", StrCat("mkdir -p ", cgroup_.string(), "/own/deep; ", "sh -c 'echo 0 >", cgroup_.string(),
                       "/own/deep/cgroup.procs; exec sleep 1000' & ", "echo $$ >pid; exec sleep 1000"));
  PidIn("pid");
  ASSERT_TRUE(WaitFor([&] { return !ProcessesInCgroup(cgroup_ / "own").empty(); }));
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_TRUE(Gone());
}

// A file in /dev/shm, which keeps its memory whoever is killed.
constexpr char kFillSharedMemory[] = "dd if=/dev/zero of=/dev/shm/$NAME bs=1M count=300 2>/dev/null";

class KeeperOomTest : public KeeperCgroupTest {
 protected:
  ~KeeperOomTest() override { std::filesystem::remove("/dev/shm/" + name_); }
  void LaunchIn64(const std::string& command) { Launch("1-1", command, {"NAME=" + name_}, {64, 1, 0}); }
  bool WaitForEnd() {
    return WaitFor([&] { return Exit("1-1"); });
  }
  const std::string name_ = StrCat("tony-test-", getpid());
};

TEST_F(KeeperOomTest, NeedsWritableCgroupAnExecutorThatTheKernelChoseHasRunOutOfMemory) {
  LaunchIn64(StrCat("exec ", kFillSharedMemory));
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(Exit("1-1")->cls, OutcomeClass::kOom);
  EXPECT_EQ(Exit("1-1")->status, (ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL}));
  EXPECT_THAT(Exit("1-1")->error,
              MatchesRegex("out of memory: the container's limit of 64 MB was reached \\(peak [0-9]+ MB, [0-9]+ MB in "
                           "/dev/shm and other shared memory\\), 1 process was killed by the kernel, the executor"));
}

TEST_F(KeeperOomTest, NeedsWritableCgroupTheNextMasterHearsItToo) {
  LaunchIn64(StrCat("exec ", kFillSharedMemory));
  ASSERT_TRUE(WaitForEnd());
  scheduler_.reset();
  KillKeeper(keeper_);
  StartKeeper();
  BecomeAm({1});
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(Exit("1-1")->cls, OutcomeClass::kOom);
}

TEST_F(KeeperOomTest, NeedsWritableCgroupSoDoesOneWhoseEndNobodySaw) {
  LaunchIn64(StrCat("echo $$ >pid; until [ -e go ]; do sleep 0.01; done; exec ", kFillSharedMemory));
  const pid_t executor = PidIn("pid");
  scheduler_.reset();
  KillKeeper(keeper_);
  ASSERT_TRUE(WriteFileByRename(records_.place() / "go", "", false).ok());
  ASSERT_TRUE(WaitFor([&] { return !Lives(executor); }));
  StartKeeper();
  BecomeAm({1});
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(Exit("1-1")->cls, OutcomeClass::kOom);
  EXPECT_THAT(Exit("1-1")->error, EndsWith("1 process was killed by the kernel"));
}

TEST_F(KeeperOomTest, NeedsWritableCgroupAnExecutorThatSurvivesTheKillTellsTheEndItself) {
  LaunchIn64("head -c 300M /dev/zero | tail; exit 3");
  ASSERT_TRUE(WaitForEnd());
  EXPECT_FALSE(Exit("1-1")->cls);
  EXPECT_EQ(Exit("1-1")->error, "");
}

TEST_F(KeeperOomTest, NeedsWritableCgroupAnExecutorThatIsKilledByTheKeeperHasNotRunOutOfMemory) {
  LaunchIn64("head -c 300M /dev/zero | tail; echo $$ >pid; exec sleep 1000");
  PidIn("pid");
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  ASSERT_TRUE(WaitForEnd());
  EXPECT_FALSE(Exit("1-1")->cls);
}

TEST_F(KeeperOomTest, NeedsWritableCgroupAnExecutorThatIsKilledBelowItsLimitHasNotRunOutOfMemory) {
  LaunchIn64("kill -9 $$");
  ASSERT_TRUE(WaitForEnd());
  EXPECT_FALSE(Exit("1-1")->cls);
}

TEST_F(KeeperOomTest, NeedsWritableCgroupFilesInSharedMemoryGoWithTheKilledThatHadThemOpen) {
  const std::string kept = "/dev/shm/" + name_ + "-kept";
  LaunchIn64(StrCat("echo a >", kept, "; exec 3>/dev/shm/$NAME; echo $$ >pid; sleep 1000"));
  PidIn("pid");
  scheduler_->Stop({"1-1"}, StopMode::kKill);
  ASSERT_TRUE(WaitForEnd());
  EXPECT_FALSE(std::filesystem::exists("/dev/shm/" + name_));
  EXPECT_TRUE(std::filesystem::remove(kept)) << "nobody had it open";
  EXPECT_THAT(Content("keeper.log"), HasSubstr("removed from /dev/shm what ended processes had open, 0 MB: " + name_));
}

TEST_F(KeeperCgroupTest, NeedsWritableCgroupAProgramThatCannotBeStartedLeavesNone) {
  launches_[{"1-1"}] = {{"/no/such/executor"}, {}, "", {}};
  scheduler_->Launch({"1-1"}, {});
  ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
  EXPECT_TRUE(Gone());
}

// ---- The keeper and daemons that are hard to end, where containers have cgroups with limits, cgroups of v2 without limits,
// and none. As root the test hides what it does not want; without root it sees what the machine has.

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
