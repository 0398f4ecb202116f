#include "runtime/ledger/ledger_witness.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runtime/ledger/ledger_folder.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SeenProcess Keeper(const std::string& command_line) {
  return {.pid = 1, .user = 7, .name = "tony-keeper", .command_line = command_line};
}

TEST(LedgerWitnessTest, AKeeperOrAnExecutorRunsTheJobWhoseFolderItNames) {
  const LedgerEntry entry = {.job = {"local-1"}, .user = 7};
  EXPECT_TRUE(Runs(Keeper(std::string("tony-keeper\0/home/x/.tony/jobs/local-1\0", 39)), entry));
  SeenProcess executor = Keeper("tony-executor /h/jobs/local-10 /h/jobs/local-1/x");
  executor.name = "tony-executor";
  EXPECT_TRUE(Runs(executor, entry));
}

TEST(LedgerWitnessTest, AnotherUsersOrAnotherJobsOrAnotherProgramDoesNot) {
  const LedgerEntry entry = {.job = {"local-1"}, .user = 7};
  EXPECT_FALSE(Runs(Keeper("tony-keeper /jobs/local-10"), entry));
  EXPECT_FALSE(Runs(Keeper("tony-keeper local-1"), entry));
  SeenProcess other = Keeper("/jobs/local-1");
  other.user = 8;
  EXPECT_FALSE(Runs(other, entry));
  other = Keeper("/jobs/local-1");
  other.name = "python3";
  EXPECT_FALSE(Runs(other, entry));
}

TEST(LedgerWitnessTest, ThisProcessIsSeenAsItIs) {
  const auto self = LookAtProcess(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->user, geteuid());
  EXPECT_EQ(self->start, ThisKeeper().start);
  EXPECT_THAT(self->command_line, HasSubstr("ledger_test"));
  EXPECT_FALSE(LookAtProcess(0));
}

TEST(LedgerWitnessTest, WhatWouldNotPrintIsLeftOutOfADescription) {
  SeenProcess process = {.pid = 12, .user = 4'000'000'000, .name = "a\033[2Jb\n"};
  EXPECT_EQ(Describe(process), "process 12 (a?[2Jb?) of 4000000000");
}

TEST(LedgerWitnessTest, OwnEntriesAreBelievedUnseen) {
  EXPECT_EQ(Witnesses().Of({.job = {"x"}, .user = geteuid()}), Witness::kRuns);
}

TEST(LedgerWitnessTest, AsRootAnEntryOfAUserWithoutSuchAProcessHasNoWitness) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: others may not see all processes";
  EXPECT_EQ(Witnesses().Of({.job = {"no-such-job"}, .user = 4'000'000}), Witness::kNone);
}

TEST(LedgerLockTest, HoldersAreFoundByTheFolder) {
  const std::string locks =
      "1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 fe:00:77 0 EOF\n"
      "2: -> FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF\n3: FLOCK  ADVISORY  READ 14 fe:01:77 0 EOF\n"
      "4: FLOCK  ADVISORY  READ 15 fe:00:78 0 EOF\n5: OFDLCK ADVISORY  READ -1 fe:00:77 0 EOF\n6: FLOCK\n\n";
  EXPECT_THAT(LockHoldersIn(locks, makedev(0xfe, 0), 77), ElementsAre(12));
  EXPECT_THAT(LockHoldersIn("", makedev(0xfe, 0), 77), IsEmpty());
}

TEST(LedgerLockTest, AnotherProcessThatHoldsItIsSeenAndWeAreNot) {
  const TempFolder folder;
  const UniqueFd own(open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(own.get(), LOCK_SH), 0);
  EXPECT_THAT(LockHolders(folder.path()), IsEmpty());
  EXPECT_THAT(DescribeHolders({}), HasSubstr("cannot be seen"));
}

}  // namespace
}  // namespace tony
