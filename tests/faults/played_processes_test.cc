// runtime/os and executor/usage_sampler on a machine with simulated processes, which do what real processes do too
// rarely, or at moments that no test can choose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "executor/usage_watch.h"
#include "runtime/base/strings.h"
#include "runtime/os/process_tree.h"
#include "tests/faults/played_machine_test.h"
#include "tests/support/run_until.h"

namespace tony {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const pid_t kUs = getpid();

// Pids that neither this process nor any real process has.
constexpr pid_t kChild = 4'000'010, kGrandchild = 4'000'020, kOther = 4'000'030, kLate = 4'000'040;
constexpr const char* kMark = "TONY_CONTAINER=job/1-1";

class PlayedProcessesTest : public PlayedMachineTest {
 protected:
  void BecomesAStranger(pid_t pid, pid_t parent = 1) { machine_.Add(pid, {.parent = parent, .start = "900"}); }
};

// ---- reused pids ----

TEST_F(PlayedProcessesTest, AProcessThatReusesADescendantsPidBeforeTheSignalIsNotSignalled) {
  machine_.Add(kChild, {.parent = kUs, .ignored = {SIGTERM}});
  machine_.Add(kGrandchild, {.parent = kChild});
  At(StrCat("signal ", kGrandchild), 1, [&] { BecomesAStranger(kGrandchild); });
  EXPECT_THAT(SignalDescendants(SIGTERM).living, UnorderedElementsAre(kChild, kGrandchild));
  EXPECT_THAT(Signalled(), ElementsAre(kChild));
}

TEST_F(PlayedProcessesTest, AProcessThatReusesADescendantsPidBeforeThePidfdIsOpenedIsNotSignalled) {
  machine_.Add(kChild, {.parent = kUs, .ignored = {SIGTERM}});
  machine_.Add(kGrandchild, {.parent = kChild});
  for (const int nth : {1, 2}) {
    machine_.Add(kGrandchild, {.parent = kChild});
    machine_.signals.clear();
    At(StrCat("hold ", kGrandchild), nth, [&] { BecomesAStranger(kGrandchild); });
    SignalDescendants(SIGTERM);
    EXPECT_THAT(Signalled(), ElementsAre(kChild)) << nth;
  }
}

TEST_F(PlayedProcessesTest, UnrelatedProcessesThatReuseThePidsOfAProcessTreeAreNotSignalled) {
  for (const bool seen : {false, true}) {
    machine_.Add(kChild, {.parent = kUs, .ignored = {SIGTERM}});
    machine_.Add(kGrandchild, {.parent = kChild});
    At(StrCat("hold ", kGrandchild), seen ? 2 : 1, [&] {
      BecomesAStranger(kChild);
      BecomesAStranger(kGrandchild, kChild);
    });
    SignalDescendants(SIGTERM);
    EXPECT_THAT(machine_.signals, SizeIs(seen ? 1 : 0));
    EXPECT_THAT(machine_.signals, Each(PlayedSignal{kChild, "100", SIGTERM}));
  }
}

TEST_F(PlayedProcessesTest, AReusedPidIsDetectedByTheStartTimeIfPidfdsAreUnsupported) {
  machine_.errors["hold"] = ENOSYS;
  machine_.Add(kChild, {.parent = kUs, .ignored = {SIGTERM}});
  machine_.Add(kGrandchild, {.parent = kChild});
  // The new process has the same parent, so only its start time differs.
  At(StrCat(kGrandchild, "/stat"), 4, [&] { BecomesAStranger(kGrandchild, kChild); });
  SignalDescendants(SIGTERM);
  EXPECT_THAT(Signalled(), ElementsAre(kChild));
}

TEST_F(PlayedProcessesTest, AProcessThatReusesAListedPidIsNotSignalled) {
  machine_.Add(kOther, {});
  machine_.Add(kLate, {});
  const auto seen = ListProcesses();
  BecomesAStranger(kOther);
  SignalIfUnchanged(seen, {kOther, kLate}, SIGKILL);
  EXPECT_THAT(machine_.signals, ElementsAre(PlayedSignal{kLate, "100", SIGKILL}));
}

TEST_F(PlayedProcessesTest, AProcessThatReusesThePidOfAProcessFoundByEnvironmentIsNotSignalled) {
  machine_.Add(kOther, {.environment = {kMark}});
  machine_.Add(kLate, {.environment = {kMark}});
  At(StrCat("hold ", kOther), 1, [&] { BecomesAStranger(kOther); });
  SignalWithEnvironment(kMark, SIGKILL);
  EXPECT_THAT(Signalled(), ElementsAre(kLate));
}

TEST_F(PlayedProcessesTest, TheEndOfAProcessIsReportedEvenIfItsPidIsReused) {
  for (const int error : {0, ENOSYS, EPERM}) {
    if (error != 0) machine_.errors["hold"] = error;
    machine_.Add(kOther, {});
    EventLoop loop;
    const HeldProcess held(kOther);
    ASSERT_TRUE(held.valid());
    EXPECT_EQ(held.ReportsEnd(), error == 0);
    bool has_ended = false;
    const auto watch = held.WhenEnded(loop, [&] { has_ended = true; });
    EXPECT_FALSE(RunUntil(
        loop, [&] { return has_ended; }, 3 * kCheckInterval));
    BecomesAStranger(kOther);
    EXPECT_TRUE(RunUntil(loop, [&] { return has_ended; })) << error;
    EXPECT_FALSE(held.Signal(SIGKILL));
    EXPECT_EQ(errno, ESRCH);
  }
  EXPECT_THAT(Signalled(), IsEmpty());
}

// ---- forks during a listing ----

TEST_F(PlayedProcessesTest, AProcessListIncludesAChildWhoseParentExitsDuringTheListing) {
  machine_.Add(kChild, {.parent = kUs, .environment = {kMark}});
  machine_.Add(kLate, {.parent = 1});  // the kernel's next entry by then
  At(StrCat(kChild, "/stat"), 1, [&] {
    machine_.Add(kGrandchild, {.parent = kUs, .environment = {kMark}});
    machine_.Reap(kChild);
  });
  EXPECT_THAT(ProcessesWithEnvironment(kMark), ElementsAre(kGrandchild));
}

// The process forks whenever it runs during a listing, as long as there is room.
TEST_F(PlayedProcessesTest, AForkBombIsSuspendedAndThenKilled) {
  constexpr size_t kRoom = 40;
  pid_t last = kChild;
  machine_.Add(kChild, {.parent = kUs});
  machine_.before = [&](const std::string& what) {
    if (!what.ends_with("/stat")) return;
    for (const pid_t pid : machine_.Living()) {
      if (machine_.Find(pid)->state != 'S' || machine_.Living().size() >= kRoom) continue;
      ++last;
      machine_.Add(last, {.parent = pid, .start = std::to_string(last)});
    }
  };
  for (int calls = 0; calls < 3 && !machine_.Living().empty(); ++calls) {
    KillDescendants();
    for (const pid_t pid : ChildrenOf(kUs))
      if (machine_.Find(pid)->state == 'Z') machine_.Reap(pid);
  }
  EXPECT_THAT(machine_.Living(), IsEmpty());
  EXPECT_LT(last, kChild + 200) << "it forked on after it was to be stopped";
}

// The case of a shell without a trap, whose program saves its work at SIGTERM.
TEST_F(PlayedProcessesTest, TheOrphanOfASignalledProcessIsSignalledToo) {
  for (const bool kernel_tells_children : {true, false}) {
    if (!kernel_tells_children) machine_.errors[StrCat(kUs, "/task/", kUs, "/children")] = ENOENT;
    machine_.Add(kChild, {.parent = kUs});
    machine_.Add(kGrandchild, {.parent = kChild, .ignored = {SIGTERM}});
    machine_.signals.clear();
    SignalDescendants(SIGTERM);
    EXPECT_THAT(Signalled(), UnorderedElementsAre(kChild, kGrandchild)) << kernel_tells_children;
    EXPECT_EQ(machine_.Find(kGrandchild)->parent, kUs);
  }
}

TEST_F(PlayedProcessesTest, AProcessStartedByASignalHandlerIsNotSignalled) {
  machine_.Add(kChild, {.parent = kUs, .ignored = {SIGTERM}});
  machine_.Add(kGrandchild, {.parent = kChild, .ignored = {SIGTERM}});
  machine_.before = [this](const std::string& what) {
    if (!machine_.signals.empty() && what.ends_with("/stat")) machine_.Add(kLate, {.parent = kGrandchild});
  };
  SignalDescendants(SIGTERM);
  EXPECT_THAT(Signalled(), ElementsAre(kChild, kGrandchild));
  ASSERT_THAT(machine_.Living(), Contains(kLate));
}

TEST_F(PlayedProcessesTest, AChildOrphanedDuringATreeWalkIsSignalledByTheNextWalk) {
  machine_.Add(kChild, {.parent = kUs, .ignored = {SIGTERM}});
  machine_.Add(kGrandchild, {.parent = kChild});
  At(StrCat("hold ", kGrandchild), 1, [&] { machine_.Reap(kChild); });
  SignalDescendants(SIGTERM);
  EXPECT_THAT(Signalled(), IsEmpty()) << "held by nobody, it may be a stranger";
  machine_.before = nullptr;
  SignalDescendants(SIGTERM);
  EXPECT_THAT(Signalled(), ElementsAre(kGrandchild));
}

// ---- states of processes ----

TEST_F(PlayedProcessesTest, AProcessWhoseMainThreadHasEndedIsKilledWithItsChildren) {
  machine_.Add(kChild, {.parent = kUs, .state = 'Z', .threads = 3, .ignored = {SIGTERM}});
  machine_.Add(kGrandchild, {.parent = kChild, .forked_by = 2});
  EXPECT_THAT(Descendants(kUs), UnorderedElementsAre(kChild, kGrandchild));
  EXPECT_THAT(SignalDescendants(SIGTERM).living, UnorderedElementsAre(kChild, kGrandchild));
  const TreeWalk walk = KillDescendants();
  EXPECT_THAT(walk.living, IsEmpty()) << "after the first round";
  EXPECT_THAT(machine_.Living(), IsEmpty());
}

TEST_F(PlayedProcessesTest, AProcessBlockedInTheKernelIsReportedAsUninterruptible) {
  machine_.Add(kChild, {.parent = kUs, .state = 'D'});
  machine_.Add(kGrandchild, {.parent = kChild});
  const TreeWalk walk = KillDescendants();
  EXPECT_THAT(walk.living, ElementsAre(kChild));
  EXPECT_EQ(walk.uninterruptible, 1u);
  EXPECT_EQ(walk.Describe(), StrCat("1 process, e.g. process ", kChild));
  EXPECT_THAT(machine_.Living(), ElementsAre(kChild));
}

// ---- unreadable processes ----

TEST_F(PlayedProcessesTest, ProcessesAreListedEvenIfTheEnvironmentOfAnotherProcessIsUnreadable) {
  machine_.Add(kChild, {.parent = kUs});
  machine_.Add(kOther, {.environment = {kMark}, .user = 4711});
  machine_.Add(kLate, {.environment = {kMark}});
  machine_.errors[StrCat(kOther, "/environ")] = EACCES;
  EXPECT_THAT(ProcessesWithEnvironment(kMark), ElementsAre(kLate));
  std::vector<pid_t> listed;
  for (const auto& process : ListProcesses())
    if (process.pid >= kChild) listed.push_back(process.pid);
  EXPECT_THAT(listed, ElementsAre(kChild, kOther, kLate)) << "each once";
}

TEST_F(PlayedProcessesTest, TheProcessListingFailsIfFileDescriptorsOrMemoryRunOut) {
  machine_.Add(kChild, {.parent = kUs});
  machine_.Add(kLate, {.environment = {kMark}});
  ASSERT_TRUE(TryListProcesses().ok());
  const std::string stat = StrCat(kChild, "/stat"), environment = StrCat(kChild, "/environ");
  for (const std::string& what : {std::string(), stat, "read " + stat, environment}) {
    for (const int error : {EMFILE, ENFILE, ENOMEM}) {
      machine_.errors = {{what, error}};
      const auto listed = TryListProcesses();
      EXPECT_TRUE(!listed.ok() && listed.error().code == ErrorCode::kUnavailable) << what;
      EXPECT_EQ(ProcessesWithEnvironment(kMark).size(), what.empty() ? 0u : 1u) << what << ": the others are there";
    }
  }
  machine_.errors = {{stat, ESRCH}, {environment, EACCES}};
  EXPECT_TRUE(TryListProcesses().ok());
}

TEST_F(PlayedProcessesTest, OwnChildrenReturnsUnknownInsteadOfAnEmptyListIfFileDescriptorsRunOut) {
  machine_.Add(kChild, {.parent = kUs});
  for (const std::string& what : {StrCat(kUs, "/task"), StrCat(kUs, "/task/", kUs, "/children")}) {
    ASSERT_EQ(OwnChildren(), std::vector<pid_t>{kChild});
    // The first access only checks the file, which takes no descriptor.
    bool is_looked_for = false;
    machine_.before = [&](const std::string& now) {
      if (now == what && (now.ends_with("task") || std::exchange(is_looked_for, true)))
        machine_.errors = {{what, EMFILE}};
    };
    EXPECT_FALSE(OwnChildren()) << what;
    machine_.before = nullptr;
    machine_.errors.clear();
  }
}

TEST_F(PlayedProcessesTest, AProcessMissingFromTheProcessListIsKilledThroughTheProcChildrenFile) {
  machine_.Add(kChild, {.parent = kUs});
  machine_.Add(kGrandchild, {.parent = kChild});
  machine_.unlisted = {kChild};
  EXPECT_THAT(Descendants(kUs), IsEmpty()) << "below one that is missing";
  KillDescendants();
  EXPECT_THAT(machine_.Living(), IsEmpty());
}

TEST_F(PlayedProcessesTest, DescendantsAreFoundByListingProcIfThereIsNoProcChildrenFile) {
  machine_.Add(kChild, {.parent = kUs});
  machine_.Add(kGrandchild, {.parent = kChild});
  machine_.Add(kOther, {});
  machine_.errors[StrCat(kUs, "/task/", kUs, "/children")] = ENOENT;
  EXPECT_FALSE(OwnChildren());
  EXPECT_THAT(SignalDescendants(SIGKILL).living, UnorderedElementsAre(kChild, kGrandchild));
  EXPECT_THAT(Signalled(), UnorderedElementsAre(kChild, kGrandchild));
}

// ---- holding a process ----

TEST_F(PlayedProcessesTest, AProcessIsIdentifiedByItsStatFileOnlyIfPidfdsAreUnsupportedOrForbidden) {
  machine_.Add(kOther, {});
  const std::string hold = StrCat("hold ", kOther);
  for (const int error : {ESRCH, ENOMEM, EMFILE}) {
    machine_.errors[hold] = error;
    const HeldProcess held(kOther);
    EXPECT_EQ(errno, error);
    EXPECT_FALSE(held.valid()) << error;
  }
  for (const int error : {ENOSYS, EPERM}) {
    machine_.errors[hold] = error;
    const HeldProcess held(kOther);
    EXPECT_TRUE(held.valid() && !held.ReportsEnd()) << error;
    EXPECT_TRUE(held.Signal(0)) << error;
  }
}

TEST_F(PlayedProcessesTest, SignallingReturnsEpermForAForbiddenProcessAndEsrchForAnExitedProcess) {
  for (const bool with_pidfds : {true, false}) {
    if (!with_pidfds) machine_.errors["hold"] = ENOSYS;
    machine_.Add(kOther, {.user = 0});
    const HeldProcess held(kOther);
    machine_.errors[StrCat("signal ", kOther)] = EPERM;
    EXPECT_FALSE(held.Signal(SIGKILL));
    EXPECT_EQ(errno, EPERM);
    machine_.errors.erase(StrCat("signal ", kOther));
    machine_.Reap(kOther);
    EXPECT_FALSE(held.Signal(SIGKILL));
    EXPECT_EQ(errno, ESRCH);
  }
}

TEST_F(PlayedProcessesTest, OnlyDirectChildrenAreSignalledIfNoPidfdCanBeOpened) {
  machine_.Add(kChild, {.parent = kUs});
  machine_.Add(kGrandchild, {.parent = kChild});
  for (const pid_t pid : {kChild, kGrandchild}) machine_.errors[StrCat("hold ", pid)] = ENOMEM;
  SignalDescendants(SIGTERM);
  EXPECT_THAT(Signalled(), ElementsAre(kChild)) << "nobody else can get the number of a child that is not reaped";
}

TEST_F(PlayedProcessesTest, AProcessDoesNotCountAsEndedIfItsStatFileCannotBeRead) {
  machine_.errors["hold"] = ENOSYS;
  machine_.Add(kOther, {});
  EventLoop loop;
  const HeldProcess held(kOther);
  bool has_ended = false;
  const auto watch = held.WhenEnded(loop, [&] { has_ended = true; });
  machine_.errors[StrCat("read ", kOther, "/stat")] = ENOMEM;
  EXPECT_FALSE(RunUntil(
      loop, [&] { return has_ended; }, 3 * kCheckInterval));
  EXPECT_FALSE(held.Signal(SIGKILL));
  EXPECT_EQ(errno, ENOMEM);
  machine_.errors.clear();
  machine_.End(kOther);
  EXPECT_TRUE(RunUntil(loop, [&] { return has_ended; }));
}

// ---- resource usage ----

TEST_F(PlayedProcessesTest, ResourceUsageIsTheTotalOfTheDescendantsAliveThroughoutTheSample) {
  const executor::UsageSampler sampler;
  const int64_t page = sysconf(_SC_PAGESIZE), ticks = sysconf(_SC_CLK_TCK);
  machine_.Add(kChild, {.parent = kUs, .threads = 2, .ticks = 3 * ticks, .pages = 10});
  machine_.Add(kGrandchild, {.parent = kChild, .forked_by = 1, .ticks = ticks, .pages = 5});
  machine_.Add(kOther, {.parent = kUs, .ticks = 7 * ticks, .pages = 100});
  At(StrCat(kOther, "/stat"), 1, [&] { machine_.Reap(kOther); });
  const executor::TreeSample sample = sampler.Sample();
  EXPECT_EQ(sample.memory_bytes, 15 * page);
  EXPECT_EQ(sample.cpu, Duration(4000));
}

}  // namespace
}  // namespace tony
