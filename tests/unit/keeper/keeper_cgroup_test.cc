// The keeper and the cgroups of containers. On a machine where none can be made these are skipped.
#include <gmock/gmock.h>
#include <sys/inotify.h>

#include <algorithm>
#include <csignal>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/keeper/container_cgroup.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "tests/support/cgroup_look.h"
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

}  // namespace
}  // namespace tony
