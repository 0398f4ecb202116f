// A sweep removes entries from the store, and a concurrent submit does not notice it.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/os/file_lock.h"
#include "tests/support/results.h"
#include "tests/support/rounds.h"
#include "tests/unit/staging/staging_bed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SweepTest : public StagingTest {
 protected:
  Result<EntryStore::Swept> Sweep(const std::set<std::string>& kept, Duration ago, bool dry_run = false) const {
    return EntryStore::Sweep(
        StagedStore::FolderOf(home_), [&]() -> Result<std::set<std::string>> { return kept; }, RealClock().Now() - ago,
        Duration(0), dry_run);
  }
  static constexpr Duration kInTheFuture{-3'600'000};
};

TEST_F(SweepTest, ASweepRemovesOldStagedEntriesThatNoJobRefersTo) {
  Write(src_ / "package/a", "1");
  const fs::path first = Staged(JobOfFolder());
  Write(src_ / "package/a", "2");
  const fs::path second = Staged(JobOfFolder());
  Write(home_ / "staged/.new-abc/x", "x");
  Write(home_ / "staged/.busy-abc", "");
  EXPECT_THAT(Sweep({first.filename()}, Duration(3'600'000), true)->names, SizeIs(2)) << "temporaries only";
  EXPECT_EQ(InStore().size(), 4u) << "a dry run";
  const auto swept = Must(Sweep({first.filename()}, kInTheFuture));
  EXPECT_GT(swept.bytes, 0);
  EXPECT_THAT(InStore(), testing::ElementsAre(first.filename().string()));
}

TEST_F(SweepTest, ASweepFailsWhileASubmitIsStaging) {
  Write(src_ / "a", "1");
  const fs::path entry = Staged(JobOfFolder());
  {
    const auto store = StagedStore::Open(home_, {});
    const auto swept = Sweep({}, kInTheFuture);
    ASSERT_FALSE(swept.ok());
    EXPECT_EQ(swept.error().code, ErrorCode::kUnavailable);
    EXPECT_TRUE(fs::exists(entry));
  }
  EXPECT_TRUE(Sweep({}, kInTheFuture).ok());
  EXPECT_THAT(InStore(), IsEmpty());
  EXPECT_EQ(Staged(JobOfFolder()), entry) << "and it is made again";
}

TEST_F(SweepTest, ASweepRemovesNothingWhenNoStoreExists) { EXPECT_THAT(Sweep({}, kInTheFuture)->names, IsEmpty()); }

// Leaves what a submit leaves if it is killed while it makes an entry.
class SweepBesideASubmitTest : public SweepTest {
 protected:
  // Removing so many files takes as long as many tries of a process that waits for the lock.
  static constexpr int kFiles = 1000;

  SweepBesideASubmitTest() {
    Write(src_ / "package/a", "1");
    Write(src_ / "b", "2");
    name_ = Staged(JobOfFolder()).filename().string();
    EXPECT_TRUE(RemoveTree(home_ / "staged" / name_).ok());
  }
  // The half-made entry appears in one rename, because the other process removes what it finds.
  void LeaveAHalf(int files) const {
    for (int i = 0; i < files; ++i) Write(home_ / "half/package" / std::to_string(i), "");
    fs::rename(home_ / "half", home_ / "staged" / StrCat(".new-", name_, ".0123abcd"));
    Write(home_ / "staged" / (".busy-" + name_), "");
  }
  void ExpectWhole() const {
    EXPECT_EQ(Text(home_ / "staged" / name_ / "package/a"), "1");
    EXPECT_EQ(Text(home_ / "staged" / name_ / "b"), "2");
  }

  std::string name_;
};

TEST_F(SweepBesideASubmitTest, ASubmitWaitsUntilASweepHasRemovedHalfMadeEntries) {
  LeaveAHalf(kFiles);
  std::promise<void> looking;
  std::jthread gc([&] {
    const auto swept = EntryStore::Sweep(
        StagedStore::FolderOf(home_),
        [&]() -> Result<std::set<std::string>> {
          looking.set_value();
          return std::set<std::string>();
        },
        Instant(), Duration(0), false);
    EXPECT_TRUE(swept.ok());
  });
  looking.get_future().wait();
  // Open() waits until the sweep has released the store.
  const auto store = StagedStore::Open(home_, {});
  ASSERT_TRUE(store.ok());
  const std::set<std::string> left = InStore();
  EXPECT_EQ(left.count(StrCat(".new-", name_, ".0123abcd")), 0u);
  EXPECT_EQ(left.count(".busy-" + name_), 0u);
}

// The store stays locked from the reading of the jobs' references until every entry to remove has lost its name.
TEST_F(SweepTest, ASweepKeepsTheStoreLockedUntilAllRemovableEntriesAreRenamed) {
  // Renaming so many entries takes as long as many tries to lock.
  constexpr int kEntries = 2000;
  for (int i = 0; i < kEntries; ++i) Write(home_ / "staged" / StrCat("entry-", i), "");
  const fs::path lock = home_ / "staged/.lock";
  const auto busy = [&] { return !LockFile(lock, LockKind::kShared, [] { return true; }).ok(); };
  std::jthread submit;
  std::atomic<int> left = -1;
  const auto swept = EntryStore::Sweep(
      StagedStore::FolderOf(home_),
      [&]() -> Result<std::set<std::string>> {
        EXPECT_TRUE(busy());
        submit = std::jthread([&] {
          while (busy()) {
          }
          left =
              static_cast<int>(std::ranges::count_if(InStore(), [](const auto& n) { return n.starts_with("entry-"); }));
        });
        return std::set<std::string>();
      },
      RealClock().Now() - kInTheFuture, Duration(0), false);
  submit.join();
  ASSERT_TRUE(swept.ok()) << swept.error().message;
  EXPECT_THAT(swept->names, SizeIs(kEntries));
  EXPECT_EQ(left, 0);
}

TEST_F(SweepBesideASubmitTest, SubmitsStageCompleteEntriesWhileAnotherProcessSweepsRepeatedly) {
  const pid_t gc = fork();
  ASSERT_GE(gc, 0);
  if (gc == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // kills the sweeper with the test
    for (;;) (void)Sweep({}, Duration(3'600'000));
  }
  for (int round = 0; round < Rounds(40) && !HasFailure(); ++round) {
    LeaveAHalf(200);
    (void)Staged(JobOfFolder());
    ExpectWhole();
    EXPECT_TRUE(RemoveTree(home_ / "staged" / name_).ok());
  }
  kill(gc, SIGKILL);
  waitpid(gc, nullptr, 0);
}

TEST_F(SweepTest, TwoConcurrentSweepsBothSucceedAndLeaveTheStoreEmpty) {
  for (int i = 0; i < 1000; ++i) Write(home_ / "staged/.old-x.abcd" / std::to_string(i % 20) / std::to_string(i), "");
  Write(home_ / "staged/.lock", "");
  std::vector<std::jthread> both;
  for (int i = 0; i < 2; ++i) {
    both.emplace_back([&] {
      const auto swept = EntryStore::Sweep(
          StagedStore::FolderOf(home_), [] { return Result<std::set<std::string>>(std::set<std::string>()); },
          Instant(), Duration(30'000), false);
      EXPECT_TRUE(swept.ok()) << swept.error().message;
    });
  }
  both.clear();
  EXPECT_THAT(InStore(), IsEmpty());
}

TEST(FileLockTest, ALockOnADeletedFileDoesNotLockANewFileOfTheSameName) {
  TempFolder temp;
  const fs::path path = temp.path() / "lock";
  const auto never = [] { return true; };
  const auto first = Must(LockFile(path, LockKind::kExclusive, never));
  EXPECT_EQ(LockFile(path, LockKind::kShared, never).error().code, ErrorCode::kUnavailable);
  fs::remove(path);
  const auto second = LockFile(path, LockKind::kExclusive, never);
  EXPECT_TRUE(second.ok());
}

}  // namespace
}  // namespace tony
