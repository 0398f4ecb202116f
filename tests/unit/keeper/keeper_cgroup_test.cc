// The keeper, the cgroups of containers, and daemons that are hard to end. Tests of cgroups are skipped on a machine
// where no cgroup can be made.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>

#include <tuple>

#include "runtime/base/unique_fd.h"
#include "runtime/keeper/container_cgroup.h"
#include "tests/support/cgroup_look.h"
#include "tests/support/places.h"
#include "tests/support/results.h"
#include "tests/support/rough_daemon.h"
#include "tests/unit/keeper/keeper_script.h"

namespace tony {
namespace {

using ::testing::HasSubstr;

class CgroupWorld : public KeeperWorld {
 public:
  ~CgroupWorld() override { std::filesystem::remove("/dev/shm/" + name_); }
  void Find() {
    if (LookForCgroups().limits.empty()) GTEST_SKIP() << "no cgroup with a memory limit can be made";
    const auto place = Must(FindCgroupPlace());
    cgroup_ = CgroupFolder(place, records_.job(), {"1-1"});
    Begin();
  }
  std::string Limit() const {
    const auto one = ReadFile(cgroup_ / "memory.limit_in_bytes"), two = ReadFile(cgroup_ / "memory.max");
    return one.ok() ? *one : two.ok() ? *two : "none";
  }
  std::string Command(const Words& its) const {
    return Replaced(Replaced(Text(its, 2), "CGROUP", cgroup_.string()), "KEPT", "/dev/shm/" + name_ + "-kept");
  }
  static Deeds<CgroupWorld> Its() {
    return WordsOf<CgroupWorld>({
        {"cgroup", [](auto& w, auto&) { w.Find(); }},
        // Launches a container with 64 MB of memory.
        {"launch-in-64",
         [](auto& w, auto& its) {
           w.Launch(its[1], w.Command(its), {"NAME=" + w.name_}, {64, 1, 0});
         }},
        {"limit-is", [](auto& w, auto&) { return std::string(Trim(w.Limit())); }},
        {"in-cgroup",
         [](auto& w, auto& its) {
           const pid_t pid = w.PidIn(its[1]);
           return Have(std::ranges::count(ProcessesInCgroup(w.cgroup_), pid) > 0);
         }},
        {"own-cgroup-filled",
         [](auto& w, auto&) { w.Hear([&] { return !ProcessesInCgroup(w.cgroup_ / "own").empty(); }); }},
        {"cgroup-gone", [](auto& w, auto&) { return Have(!std::filesystem::exists(w.cgroup_)); }},
        {"dead",
         [](auto& w, auto& its) {
           const pid_t pid = w.PidIn(its[1]);
           w.Hear([&] { return std::ranges::count(ListProcesses(), pid, &ProcessEntry::pid) == 0; });
         }},
        {"counts",
         [](auto& w, auto& its) {
           int count = 0;
           for (size_t at = 0; (at = w.Content(its[1]).find(its.From(2), at)) != std::string::npos; ++at) ++count;
           return StrCat(count);
         }},
        {"in-shared-memory", [](auto& w, auto&) { return Have(std::filesystem::exists("/dev/shm/" + w.name_)); }},
        {"remove-kept", [](auto& w, auto&) { return Have(std::filesystem::remove("/dev/shm/" + w.name_ + "-kept")); }},
        {"log-names-it",
         [](auto& w, auto&) {
           return Have(w.Content("keeper.log")
                           .find("removed 0 MB of files from /dev/shm, because their processes have ended: " + w.name_) !=
                       std::string::npos);
         }},
    });
  }
  std::filesystem::path cgroup_;
  const std::string name_ = StrCat("tony-test-", getpid());
};

// A daemon that clears its environment, leaves its session, and writes to no log of the job.
#define HIDDEN_DAEMON "setsid env -i /bin/sh -c 'echo $$ >bare; exec sleep 1000 >/dev/null 2>&1' >/dev/null 2>&1 & "
const TestRow kCgroups[] = {
    {"AContainerRunsInACgroupWithItsMemoryLimitUntilItsExit_NeedsWritableCgroup",
     {{"cgroup | launch-in-64 1-1 echo $$ >pid; while ! [ -e go ]; do sleep 0.01; done | in-cgroup pid | limit-is",
       "yes | 67108864"},
      {"write go | end 1-1 | cgroup-gone", "code 0 | yes"}}},
    {"TheKeepersLogNamesTheCgroupVersionOnlyOnce_NeedsWritableCgroup",
     {{"cgroup | launch 1-1 exit 0 | launch 1-2 exit 0 | end 1-1 | end 1-2", "code 0 | code 0"},
      {"counts keeper.log memory limits by cgroup v | counts keeper.log memory limits", "1 | 1"}}},
    {"TheNextKeeperKillsADaemonOfADeadExecutor_NeedsWritableCgroup",
     {{"cgroup | launch 1-1 " HIDDEN_DAEMON "echo $$ >pid; exec sleep 1000 | filled pid | filled bare | hang-up", ""},
      {"kill-keeper | kill-pid pid | lives bare | cgroup-gone", "yes | no"},
      {"begin | end 1-1 | lives bare | cgroup-gone", "^unseen | no | yes"}}},  // the next keeper adopted the container
    {"KillingAContainerKillsADaemonThatClearedItsEnvironment_NeedsWritableCgroup",
     {{"cgroup | launch 1-1 " HIDDEN_DAEMON "trap '' TERM; echo $$ >pid; sleep 1000 | filled bare | filled pid", ""},
      {"kill 1-1 | end 1-1 | lives bare | cgroup-gone", "signal 9 | no | yes"}}},
    {"CgroupsMadeInsideAContainersCgroupAreRemovedWithTheContainer_NeedsWritableCgroup",
     {{"cgroup | launch-in-64 1-1 mkdir -p CGROUP/own/deep; sh -c 'echo 0 >CGROUP/own/deep/cgroup.procs; exec sleep "
       "1000' "
       "& echo $$ >pid; exec sleep 1000 | filled pid | own-cgroup-filled | kill 1-1 | end 1-1 | cgroup-gone",
       "signal 9 | yes"}}},
    {"AProgramThatCannotBeStartedLeavesNoCgroup_NeedsWritableCgroup",
     {{"cgroup | start-program 1-1 /no/such/executor | end 1-1 | cgroup-gone", "^unseen | yes"}}},
};
TABLE_TEST(KeeperCgroupTest, kCgroups, ScriptIn<CgroupWorld>());

// Fills a file in /dev/shm. The file keeps its memory, whichever process is killed.
#define FILL_SHARED_MEMORY "exec dd if=/dev/zero of=/dev/shm/$NAME bs=1M count=300 2>/dev/null | "
const TestRow kOutOfMemory[] = {
    {"AnExecutorKilledByTheKernelsOomKillerIsReportedAsOutOfMemory_NeedsWritableCgroup",
     {{"cgroup | launch-in-64 1-1 " FILL_SHARED_MEMORY "end-without-sizes 1-1",
       "signal N oom: out of memory: the container's limit of N MB was reached (peak N MB, N MB in /dev/shm and other "
       "shared memory), N process was killed by the kernel: the executor."},
      {"end 1-1", "~the container's limit of 64 MB was reached"}}},
    {"TheNextKeeperRepeatsTheOutOfMemoryReportToTheNextAm_NeedsWritableCgroup",
     {{"cgroup | launch-in-64 1-1 " FILL_SHARED_MEMORY "end 1-1 | hang-up | kill-keeper | begin | end 1-1",
       "^signal 9 oom | ~oom: "}}},
    {"AnOomKillWhileNoKeeperRunsIsReportedByTheNextKeeper_NeedsWritableCgroup",
     {{"cgroup | launch-in-64 1-1 echo $$ >pid; until [ -e go ]; do sleep 0.01; done; " FILL_SHARED_MEMORY "filled pid",
       ""},
      {"hang-up | kill-keeper | write go | dead pid | begin | end-without-sizes 1-1 | end-without-sizes 1-1",
       "^unseen oom | ~N process was killed by the kernel."}}},
    {"AnExecutorThatSurvivesTheOomKillOfItsChildIsNotReportedAsOutOfMemory_NeedsWritableCgroup",
     {{"cgroup | launch-in-64 1-1 head -c 300M /dev/zero|tail; exit 3 | end 1-1", "code 3"}}},
    {"AContainerKilledByTheKeeperIsNotReportedAsOutOfMemory_NeedsWritableCgroup",
     {{"cgroup | launch-in-64 1-1 head -c 300M /dev/zero|tail; echo $$ >pid; exec sleep 1000 | filled pid | kill 1-1",
       ""},
      {"end 1-1", "signal 9"}}},
    {"ASigkillBelowTheMemoryLimitIsNotReportedAsOutOfMemory_NeedsWritableCgroup",
     {{"cgroup | launch-in-64 1-1 kill -9 $$ | end 1-1", "signal 9"}}},
    {"SharedMemoryFilesThatAKilledProcessHadOpenAreRemoved_NeedsWritableCgroup",
     {{"cgroup | launch-in-64 1-1 echo a >KEPT; exec 3>/dev/shm/$NAME; echo $$ >pid; sleep 1000 | filled pid", ""},
      {"kill 1-1 | end 1-1 | in-shared-memory", "signal 9 | no"},
      {"remove-kept | log-names-it", "yes | yes"}}},  // no process had KEPT open
};
TABLE_TEST(KeeperOomTest, kOutOfMemory, ScriptIn<CgroupWorld>());

using KeeperCgroupOrderTest = CgroupWorld;

// The next keeper does not check a container that is recorded as ended, so the cgroup must be removed before.
TEST_F(KeeperCgroupOrderTest, ACgroupIsRemovedBeforeTheEndOfItsContainerIsRecorded_NeedsWritableCgroup) {
  Find();
  if (IsSkipped()) return;
  Launch("1-1", "while ! [ -e go ]; do sleep 0.01; done");
  ASSERT_TRUE(WaitFor([&] { return Started("1-1"); }));
  const UniqueFd changes(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  const int cgroups = inotify_add_watch(changes.get(), cgroup_.parent_path().c_str(), IN_DELETE);
  const int records = inotify_add_watch(changes.get(), (records_.place() / "containers").c_str(), IN_MODIFY);
  ASSERT_TRUE(cgroups > 0 && records > 0);
  std::ofstream(At("go")) << "";
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

// ---- The keeper and daemons that are hard to end: with cgroups that have limits, with cgroups of v2 without limits,
// and without cgroups. As root the test hides cgroups that it does not want; without root it uses the cgroups that the
// machine has.

enum class Cgroups { kAll, kUnifiedOnly, kNone };

std::string NameOf(Cgroups cgroups) {
  switch (cgroups) {
    case Cgroups::kAll:
      return "AllCgroups";
    case Cgroups::kUnifiedOnly:
      return "UnifiedCgroups_RootOnly";
    case Cgroups::kNone:
      return "NoCgroups_RootOnly";
  }
  return "";
}

// Hides cgroups from this process and from all processes that it starts.
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

class KeeperDaemonsTest : public KeeperWorld {
 protected:
  // Launches an executor that starts a daemon of this kind and runs on.
  void LaunchWith(const std::string& kind) {
    Launch("1-1",
           StrCat(TestProgram("rough_daemon"), " ", kind, " ", Lock().string(), " && echo $$ >pid; exec sleep 1000"));
    ASSERT_GT(PidIn("pid"), 0) << Content("logs/1-1/log");
    ASSERT_TRUE(DaemonLives(Lock()));
  }
  std::filesystem::path Lock() const { return records_.place() / "lock"; }
  void ExpectGoneWhenTold() {
    ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }));
    EXPECT_FALSE(DaemonLives(Lock()));
  }
  // The worst case, because no process is left that could have observed how the daemon was forked.
  void KillKeeperAndExecutor() {
    const pid_t executor = PidIn("pid");
    scheduler_.reset();
    KillKeeper(keeper_);
    kill(executor, SIGKILL);
    ASSERT_TRUE(WaitFor([&] { return ReadStat(executor).value_or(ProcessStat{.dead = true}).dead; }));
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
    Begin();
    LaunchWith(std::get<1>(GetParam()));
  }
  const HiddenCgroups hidden_{std::get<0>(GetParam())};
};

TEST_P(RoughContainerTest, AllDaemonsOfAKilledExecutorAreDeadWhenItsExitIsReported) {
  kill(PidIn("pid"), SIGKILL);
  ExpectGoneWhenTold();
}

TEST_P(RoughContainerTest, AllDaemonsOfAKilledContainerAreDeadWhenItsExitIsReported) {
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

// After the deaths of keeper and executor, only a cgroup leads to a daemon that hides.
class OrphanTest : public KeeperDaemonsTest, public testing::WithParamInterface<std::tuple<Cgroups, std::string>> {
 protected:
  void SetUp() override {
    if (!hidden_.works()) GTEST_SKIP() << "needs to be root, to hide cgroups";
    const CgroupLook look = LookForCgroups();
    if (look.limits.empty() && !look.unified) GTEST_SKIP() << "no cgroup can be made";
    Begin();
    LaunchWith(std::get<1>(GetParam()));
    KillKeeperAndExecutor();
    Begin();
  }
  const HiddenCgroups hidden_{std::get<0>(GetParam())};
};

TEST_P(OrphanTest, OrphanedDaemonsAreDeadWhenTheNextKeeperReportsTheContainersExit_NeedsWritableCgroup) {
  ExpectGoneWhenTold();
}

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
  // A daemon that was not found would live for a minute and slow down the next tests.
  void TearDown() override {
    if (DaemonLives(Lock())) EndDaemon();
  }
  void Orphan(const std::string& kind) {
    Begin();
    LaunchWith(kind);
    EXPECT_THAT(Content("keeper.log"), HasSubstr("containers run without cgroups"));
    KillKeeperAndExecutor();
    Begin();
    // Each check finds a daemon that reforks only with some probability, which is lower on a busy machine. The daemon
    // ends by itself after 60 s.
    ASSERT_TRUE(WaitFor([&] { return Exit("1-1"); }, std::chrono::seconds(50)));
  }
  const HiddenCgroups hidden_{Cgroups::kNone};
};

TEST_F(OrphanWithoutCgroupTest, AReforkingDaemonOfADeadExecutorIsFoundByItsEnvironmentMarkAndKilled_RootOnly) {
  Orphan("refork");
  EXPECT_FALSE(DaemonLives(Lock()));
}

// The escape that remains: a daemon without an ancestor of ours, a mark, a log of the job, or a cgroup. See
// README.md of runtime/keeper.
TEST_F(OrphanWithoutCgroupTest, ADaemonWithNeitherEnvironmentMarkNorOpenLogSurvivesItsExecutor_RootOnly) {
  Orphan("stopped,bare,quiet");
  EXPECT_TRUE(DaemonLives(Lock())) << "it was found: then say so in the README";
}

}  // namespace
}  // namespace tony
