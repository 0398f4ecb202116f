#include "runtime/ledger/ledger_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "runtime/ledger/process_check.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Instant kNow = FromMillis(1'700'000'100'000);

class LedgerFolderTest : public testing::Test {
 protected:
  LedgerFolderTest() { EXPECT_TRUE(folder_.Make().ok()); }

  static LedgerEntry Ask(const std::string& job, int64_t memory_mb = 100) {
    return {
        .job = {job}, .ask = {.memory_mb = memory_mb, .vcores = 3, .gpus = 2}, .since = FromMillis(1'700'000'000'000)};
  }
  HeldEntry Add(LedgerEntry entry) {
    auto session = folder_.Lock();
    EXPECT_TRUE(session.ok()) << session.error().message;
    entry.number = session->Read()->ledger.NextNumber();
    auto held = session->Add(entry);
    EXPECT_TRUE(held.ok()) << held.error().message;
    return *std::move(held);
  }
  LedgerView View() { return *folder_.Read(); }
  std::vector<std::string> Jobs() {
    std::vector<std::string> jobs;
    const LedgerView view = View();
    for (const LedgerEntry& entry : view.ledger.entries()) jobs.push_back(entry.job.value);
    return jobs;
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_.path() / name) << text; }
  // Writes a file like an entry, and locks it as the holder of an entry does.
  UniqueFd WriteHeld(const std::string& name, const std::string& text) {
    Write(name, text);
    UniqueFd fd(open((folder_.path() / name).c_str(), O_RDWR | O_CLOEXEC));
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    EXPECT_EQ(fcntl(fd.get(), F_OFD_SETLK, &lock), 0);
    return fd;
  }

  TempFolder temp_;
  LedgerFolder folder_ = *LedgerFolder::Find(temp_.path(), (temp_.path() / "ledger").string());
};

TEST_F(LedgerFolderTest, ALedgerEntryIsReadBackAsItWasWritten) {
  const HeldEntry held = Add(Ask("local-1"));
  ASSERT_THAT(View().ledger.entries(), SizeIs(1));
  LedgerEntry expected = Ask("local-1");
  expected.number = 1;
  expected.user = geteuid();
  expected.keeper = ThisKeeper();
  EXPECT_EQ(View().ledger.entries()[0], expected);
  EXPECT_THAT(Names(), ElementsAre("0000000001.local-1.waiting"));
}

TEST_F(LedgerFolderTest, AdmittingAJobRenamesItsEntryFileToRunningAndKeepsTheLock) {
  HeldEntry held = Add(Ask("local-1"));
  ASSERT_TRUE(folder_.Lock()->Admit(held, {1, 3}, kNow).ok());
  EXPECT_TRUE(held.entry.admitted());
  EXPECT_THAT(Names(), ElementsAre("0000000001.local-1.running"));
  const LedgerView view = View();
  ASSERT_THAT(view.ledger.entries(), SizeIs(1));
  EXPECT_TRUE(view.ledger.entries()[0].admitted());
  EXPECT_THAT(view.ledger.entries()[0].gpus, ElementsAre(1, 3));
}

TEST_F(LedgerFolderTest, TheNextHolderOfTheLedgerLockRemovesUnlockedEntryFiles) {
  { const HeldEntry held = Add(Ask("local-1")); }
  EXPECT_EQ(View().dead, 1);
  EXPECT_THAT(View().ledger.entries(), IsEmpty());
  EXPECT_THAT(Names(), SizeIs(1));  // a reader removes nothing
  EXPECT_EQ(folder_.Lock()->Read()->dead, 1);
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(LedgerFolderTest, AnEntryStaysValidWhileAnyProcessHoldsACopyOfItsDescriptor) {
  const pid_t child = [&] {
    const HeldEntry held = Add(Ask("local-1"));
    const pid_t pid = fork();
    if (pid == 0) {
      pause();
      _exit(0);
    }
    return pid;
  }();
  EXPECT_THAT(Jobs(), ElementsAre("local-1"));
  kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, child, &info, WEXITED), 0);
  EXPECT_THAT(Jobs(), IsEmpty());
}

TEST_F(LedgerFolderTest, AnEntryTakenOverByANewKeeperStaysValidUntilBothKeepersReleaseTheEntry) {
  HeldEntry first = Add(Ask("local-1"));
  ASSERT_TRUE(folder_.Lock()->Admit(first, {0, 1}, kNow).ok());
  auto second = *folder_.Lock()->TakeOver({"local-1"});
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->entry, first.entry);
  first.lock.Reset();
  EXPECT_THAT(Jobs(), ElementsAre("local-1"));
  second.reset();
  EXPECT_THAT(Jobs(), IsEmpty());
}

TEST_F(LedgerFolderTest, AKeeperThatTakesOverAnUnlockedAdmittedEntryQueuesTheEntryAtItsOldPosition) {
  {
    HeldEntry first = Add(Ask("local-1"));
    ASSERT_TRUE(folder_.Lock()->Admit(first, {0, 1}, kNow).ok());
  }
  const auto second = *folder_.Lock()->TakeOver({"local-1"});
  ASSERT_TRUE(second.has_value());
  EXPECT_FALSE(second->entry.admitted());
  EXPECT_EQ(second->entry.number, 1);
  EXPECT_THAT(Names(), ElementsAre("0000000001.local-1.waiting"));
}

TEST_F(LedgerFolderTest, AMissingEntryCannotBeTakenOver) {
  const HeldEntry other = Add(Ask("local-2"));
  EXPECT_FALSE(folder_.Lock()->TakeOver({"local-1"})->has_value());
}

TEST_F(LedgerFolderTest, EntryNumbersGrowAndAreNotReused) {
  HeldEntry first = Add(Ask("local-1"));
  const HeldEntry second = Add(Ask("local-2"));
  folder_.Remove(std::move(first));
  const HeldEntry third = Add(Ask("local-3"));
  EXPECT_EQ(third.entry.number, 3);
  EXPECT_THAT(Jobs(), ElementsAre("local-2", "local-3"));
}

TEST_F(LedgerFolderTest, AnEntryCountsAsChangedAfterItsAdmissionAndAfterItsRelease) {
  HeldEntry held = Add(Ask("local-1"));
  const LedgerEntry waiting = held.entry;
  EXPECT_TRUE(folder_.IsUnchanged(waiting));
  ASSERT_TRUE(folder_.Lock()->Admit(held, {}, kNow).ok());
  EXPECT_FALSE(folder_.IsUnchanged(waiting));
  EXPECT_TRUE(folder_.IsUnchanged(held.entry));
  held.lock.Reset();
  EXPECT_FALSE(folder_.IsUnchanged(held.entry));
}

TEST_F(LedgerFolderTest, OnlyOneSessionAtATimeCanHoldTheLedgerLockAndReadersNeedNoLock) {
  const auto session = Must(folder_.Lock());
  EXPECT_EQ(folder_.Lock().error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(folder_.Read().ok());
}

TEST_F(LedgerFolderTest, AMissingLedgerFolderIsReadAsAnEmptyLedger) {
  fs::remove_all(folder_.path());
  EXPECT_THAT(Jobs(), IsEmpty());
  EXPECT_EQ(folder_.Lock().error().code, ErrorCode::kNotFound);
}

TEST_F(LedgerFolderTest, UnfinishedEntryFilesOfDeadProcessesAreRemovedAndUnrelatedFilesStay) {
  Write(".new-0123", "{");
  Write("notes.txt", "mine");
  EXPECT_TRUE(folder_.Lock()->Read()->warnings.empty());
  EXPECT_THAT(Names(), ElementsAre("notes.txt"));
}

TEST_F(LedgerFolderTest, MalformedEntryFilesAreNamedInWarningsAndIgnored) {
  const HeldEntry good = Add(Ask("local-1"));
  const std::string fine = R"({"schema":1,"memory_mb":1,"vcores":1,"gpus":0,"since":0,"held_gpus":[]})";
  std::vector<UniqueFd> held;
  held.push_back(WriteHeld("0000000002.empty.waiting", ""));
  held.push_back(WriteHeld("0000000003.torn.running", fine.substr(0, 30)));
  held.push_back(WriteHeld("0000000004.huge.running", std::string(1 << 20, '[')));
  held.push_back(WriteHeld("0000000005.deep.running", std::string(60000, '[')));
  held.push_back(WriteHeld("0000000006.minus.running", R"({"memory_mb":-5})"));
  held.push_back(WriteHeld("0000000007.much.running", R"({"memory_mb":9223372036854775807})"));
  held.push_back(WriteHeld("0000000008.bytes.waiting", std::string("\0\xff\x7f", 3)));
  fs::create_directory(folder_.path() / "0000000009.folder.waiting");
  fs::create_symlink("/dev/zero", folder_.path() / "0000000010.link.waiting");
  ASSERT_EQ(mkfifo((folder_.path() / "0000000011.fifo.waiting").c_str(), 0600), 0);
  const LedgerView view = *folder_.Lock()->Read();
  EXPECT_THAT(view.ledger.entries(), ElementsAre(good.entry));
  EXPECT_THAT(view.warnings, SizeIs(10));
  EXPECT_THAT(view.warnings, testing::Contains(HasSubstr("0000000003.torn.running")));
  held.push_back(WriteHeld("0000000012.fine.waiting", fine));
  EXPECT_THAT(Jobs(), ElementsAre("local-1", "fine"));
}

TEST_F(LedgerFolderTest, FilesThatAreNotNamedLikeAnEntryAreIgnored) {
  for (const char* name : {"1.x.waiting", "0000000001..waiting", "0000000001.waiting", "-000000001.x.waiting",
                           ".waiting", "0000000001.a b.waiting", "99999999999999999999.x.running", "0000000001.x.done"})
    Write(name, "x");
  const LedgerView view = *folder_.Lock()->Read();
  EXPECT_THAT(view.warnings, IsEmpty());
  EXPECT_EQ(view.dead, 0);
  EXPECT_THAT(Names(), SizeIs(8));
}

TEST_F(LedgerFolderTest, AnEntryWithAnImpossiblyHighNumberIsRejectedAndBlocksNoJob) {
  const UniqueFd last =
      WriteHeld("999999999999999.x.waiting", R"({"memory_mb":1,"vcores":1,"gpus":0,"since":0,"held_gpus":[]})");
  const HeldEntry held = Add(Ask("local-1"));
  EXPECT_EQ(held.entry.number, 1);
  EXPECT_THAT(Jobs(), ElementsAre("local-1"));
  EXPECT_EQ(View().doubts, (std::vector<Doubt>{{"999999999999999.x.waiting", geteuid(),
                                                "the entry's queue number is too high: 999999999999999"}}));
}

TEST_F(LedgerFolderTest, AReadLockOfAnotherProcessDoesNotKeepTheEntryOfADeadJobValid) {
  UniqueFd stranger;
  {
    const HeldEntry held = Add(Ask("local-1"));
    stranger = UniqueFd(open((folder_.path() / "0000000001.local-1.waiting").c_str(), O_RDONLY | O_CLOEXEC));
    struct flock lock = {};
    lock.l_type = F_RDLCK;
    lock.l_start = 1;
    ASSERT_EQ(fcntl(stranger.get(), F_OFD_SETLK, &lock), 0);
    EXPECT_THAT(Jobs(), ElementsAre("local-1"));
  }
  EXPECT_THAT(Jobs(), IsEmpty());
  EXPECT_EQ(View().dead, 1);
}

TEST_F(LedgerFolderTest, AnEntryCanBeTakenOverEvenIfAnotherProcessHoldsAReadLockOnTheEntryFile) {
  { const HeldEntry held = Add(Ask("local-1")); }
  const UniqueFd stranger(open((folder_.path() / "0000000001.local-1.waiting").c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  ASSERT_EQ(fcntl(stranger.get(), F_OFD_SETLK, &lock), 0);
  const auto held = folder_.Lock()->TakeOver({"local-1"});
  ASSERT_TRUE(held.ok() && held->has_value()) << held.error().message;
  EXPECT_THAT(Jobs(), ElementsAre("local-1"));
  EXPECT_THAT(Names(), ElementsAre("0000000001.local-1.waiting"));
}

TEST_F(LedgerFolderTest, AnEntryFileThatOtherUsersMayWriteIsRejected) {
  const HeldEntry held = Add(Ask("local-1"));
  ASSERT_EQ(chmod((folder_.path() / "0000000001.local-1.waiting").c_str(), 0666), 0);
  EXPECT_THAT(Jobs(), IsEmpty());
  EXPECT_THAT(View().warnings,
              ElementsAre(HasSubstr("is rejected: users other than the entry's owner may write to the entry (")));
}

TEST_F(LedgerFolderTest, AnEntryFileWithAHardLinkIsReadAsOneEntry) {
  const HeldEntry held = Add(Ask("local-1"));
  fs::create_hard_link(folder_.path() / "0000000001.local-1.waiting", folder_.path() / "0000000000.local-1.waiting");
  EXPECT_THAT(Jobs(), ElementsAre("local-1"));
  EXPECT_THAT(View().doubts, SizeIs(1));
}

// Another user can make such links if fs.protected_hardlinks is 0; the file's owner can always make them.
TEST_F(LedgerFolderTest, AHardLinkNamedRunningDoesNotAdmitAQueuedEntry) {
  const fs::path waits = folder_.path() / "0000000001.local-1.waiting",
                 runs = folder_.path() / "7000000000.local-1.running";
  HeldEntry held = Add(Ask("local-1"));
  fs::create_hard_link(waits, runs);
  ASSERT_THAT(View().ledger.entries(), SizeIs(1));
  EXPECT_FALSE(View().ledger.entries()[0].admitted());
  auto session = *folder_.Lock();
  session.RemoveOtherNames(held);
  EXPECT_THAT(Names(), ElementsAre("0000000001.local-1.waiting"));
}

TEST_F(LedgerFolderTest, AHardLinkNamedWaitingDoesNotQueueAnAdmittedEntryAgain) {
  HeldEntry held = Add(Ask("local-1"));
  ASSERT_TRUE(folder_.Lock()->Admit(held, {}, kNow).ok());
  fs::create_hard_link(folder_.path() / "0000000001.local-1.running", folder_.path() / "0000000001.local-1.waiting");
  ASSERT_THAT(View().ledger.entries(), SizeIs(1));
  EXPECT_TRUE(View().ledger.entries()[0].admitted());
}

TEST_F(LedgerFolderTest, AnEntryCanBeAdmittedOrWithdrawnEvenIfAHardLinkAlreadyHasItsNewName) {
  Write("machine.json", R"({"memory_mb":1000,"gpus":[]})");
  HeldEntry first = Add(Ask("local-1", 600)), second = Add(Ask("local-2", 600));
  first.entry.ask.gpus = second.entry.ask.gpus = 0;
  auto without = *folder_.GoWithoutLock();
  ASSERT_TRUE(without.Admit(first, {}, kNow).ok());
  fs::create_hard_link(folder_.path() / "0000000002.local-2.waiting", folder_.path() / "0000000002.local-2.running");
  ASSERT_TRUE(without.Admit(second, {}, kNow).ok());
  fs::create_hard_link(folder_.path() / "0000000002.local-2.running", folder_.path() / "0000000002.local-2.waiting");
  ASSERT_FALSE(*without.ConfirmAdmission(second));
  EXPECT_THAT(Names(), ElementsAre("0000000001.local-1.running", "0000000002.local-2.waiting", "machine.json"));
  fs::create_hard_link(folder_.path() / "0000000002.local-2.waiting", folder_.path() / "0000000002.local-2.running");
  EXPECT_FALSE(View().ledger.Find({"local-2"}, geteuid())->admitted()) << "it withdrew";
}

TEST_F(LedgerFolderTest, AQueuedEntryFileRenamedToRunningCannotBeTakenOverAsARunningEntry) {
  HeldEntry held = Add(Ask("local-1"));
  fs::rename(folder_.path() / "0000000001.local-1.waiting", folder_.path() / "0000000001.local-1.running");
  fs::create_hard_link(folder_.path() / "0000000001.local-1.running", folder_.path() / "elsewhere");
  const auto taken = Must(folder_.Lock()->TakeOver({"local-1"}));
  EXPECT_FALSE(taken.has_value());
}

TEST_F(LedgerFolderTest, AnEntryWrittenByThePreviousReleaseIsRead) {
  const UniqueFd old =
      WriteHeld("0000000003.local-1.running", R"({"schema":1,"job":"local-1","memory_mb":700,"vcores":1,"gpus":1,)"
                                              R"("since":1700000000000,"held_gpus":[2]})");
  ASSERT_THAT(View().ledger.entries(), SizeIs(1));
  EXPECT_EQ(View().ledger.entries()[0].ask.memory_mb, 700);
  EXPECT_EQ(View().ledger.entries()[0].keeper.pid, 0);
  EXPECT_TRUE(View().ledger.entries()[0].admitted());
}

// Two keepers that both act without the lock do this.
TEST_F(LedgerFolderTest, TheLaterOfTwoSimultaneousAdmissionsIsWithdrawnIfTheyTogetherExceedTheMemory) {
  Write("machine.json", R"({"memory_mb":1000,"gpus":[0]})");
  HeldEntry first = Add(Ask("local-1", 600)), second = Add(Ask("local-2", 600));
  first.entry.ask.gpus = second.entry.ask.gpus = 0;
  auto without = *folder_.GoWithoutLock();
  ASSERT_TRUE(without.Admit(first, {}, kNow).ok());
  ASSERT_TRUE(*without.ConfirmAdmission(first));
  ASSERT_TRUE(without.Admit(second, {}, kNow).ok());
  EXPECT_FALSE(*without.ConfirmAdmission(second));
  EXPECT_EQ(second.entry.place, Place::kQueued);
  EXPECT_THAT(Names(), ElementsAre("0000000001.local-1.running", "0000000002.local-2.waiting", "machine.json"));
}

TEST_F(LedgerFolderTest, TheLaterOfTwoSimultaneousAdmissionsWithTheSameGpuIsWithdrawn) {
  Write("machine.json", R"({"memory_mb":1000,"gpus":[0,1,2,3]})");
  HeldEntry first = Add(Ask("local-1")), second = Add(Ask("local-2"));
  auto without = *folder_.GoWithoutLock();
  ASSERT_TRUE(without.Admit(first, {0, 1}, kNow).ok());
  ASSERT_TRUE(without.Admit(second, {1, 2}, kNow).ok());
  EXPECT_FALSE(*without.ConfirmAdmission(second));
  EXPECT_TRUE(*without.ConfirmAdmission(first));
}

TEST_F(LedgerFolderTest, AHundredMalformedEntriesCauseOnlyElevenWarnings) {
  for (int i = 100; i < 200; ++i) fs::create_directory(folder_.path() / ("0000000" + std::to_string(i) + ".x.running"));
  const HeldEntry held = Add(Ask("local-1"));
  EXPECT_THAT(Jobs(), ElementsAre("local-1"));
  EXPECT_THAT(View().warnings, SizeIs(11));
  EXPECT_THAT(View().warnings.back(), HasSubstr("has 90 more such files"));
}

TEST_F(LedgerFolderTest, MachineJsonOverridesDetectedResources) {
  Write("machine.json", R"({"memory_mb":77,"gpus":[5]})");
  EXPECT_EQ(View().ledger.machine().memory_mb, 77);
  EXPECT_THAT(View().ledger.machine().gpus, ElementsAre(5));
}

TEST_F(LedgerFolderTest, AMalformedMachineJsonIsIgnoredWithAWarning) {
  Write("machine.json", "{\"memory_mb\":\"2g\"}");
  EXPECT_THAT(View().warnings, ElementsAre(HasSubstr("machine.json is ignored: ")));
  EXPECT_GT(View().ledger.machine().memory_mb, 100);
}

TEST_F(LedgerFolderTest, TheLedgerFolderIsStickyAndWritableByAllUsers_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(fs::status(folder_.path()).permissions(), fs::perms(01777));
  const HeldEntry held = Add(Ask("local-1"));
  EXPECT_EQ(fs::status(folder_.path() / "0000000001.local-1.waiting").permissions(), fs::perms(0644));
}

// Runs `what` in a child as user 65534, and returns the child's exit code.
int AsNobody(const std::function<int()>& what) {
  const pid_t child = fork();
  if (child == 0) _exit(setgid(65534) == 0 && setuid(65534) == 0 ? what() : 99);
  siginfo_t info;
  return waitid(P_PID, child, &info, WEXITED) == 0 ? info.si_status : 98;
}

TEST_F(LedgerFolderTest, AnotherUserCanShareTheLedgerAndCannotRemoveEntriesOfRoot_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  chmod(temp_.path().c_str(), 0755);
  const HeldEntry mine = Add(Ask("local-1", 500));
  { const HeldEntry dead = Add(Ask("local-dead")); }
  const int exit = AsNobody([&] {
    auto session = folder_.Lock();
    if (!session.ok()) return 1;
    const auto view = session->Read();
    if (!view.ok() || view->ledger.entries().size() != 1 || view->dead != 1) return 2;
    LedgerEntry entry = Ask("local-2");
    entry.number = view->ledger.NextNumber();
    auto held = session->Add(entry);
    if (!held.ok() || session->Read()->ledger.entries().size() != 2) return 3;
    if (unlink((folder_.path() / "0000000001.local-1.waiting").c_str()) == 0) return 4;
    if (session->TakeOver({"local-1"})->has_value()) return 5;
    return session->Admit(*held, {}, kNow).ok() ? 0 : 6;
  });
  EXPECT_EQ(exit, 0);
  EXPECT_THAT(Jobs(), ElementsAre("local-1"));
  EXPECT_EQ(View().dead, 2);
}

TEST_F(LedgerFolderTest, AMachineJsonOwnedByAnotherUserIsIgnoredWithAWarning_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  Write("machine.json", R"({"memory_mb":1})");
  ASSERT_EQ(chown((folder_.path() / "machine.json").c_str(), 65534, 65534), 0);
  EXPECT_THAT(View().warnings, ElementsAre(HasSubstr("belongs neither to root")));
  EXPECT_GT(View().ledger.machine().memory_mb, 100);
}

TEST_F(LedgerFolderTest, AUserWithoutWriteAccessToTheSharedLedgerGetsAPrivateLedger_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  if (fs::exists("/var/lib/tony/ledger")) GTEST_SKIP() << "this machine has a shared ledger";
  const int exit = AsNobody([&] {
    const auto found = LedgerFolder::Find(temp_.path() / "home", "");
    if (!found.ok()) return 1;
    const std::string line = found->Announcement();
    return found->is_private() && found->path() == temp_.path() / "home/ledger" &&
                   line.find(found->path().string()) != std::string::npos &&
                   line.find("TONY_LEDGER") != std::string::npos
               ? 0
               : 2;
  });
  EXPECT_EQ(exit, 0);
}

TEST_F(LedgerFolderTest, TheErrorNamesALedgerFolderThatOtherUsersCannotWrite_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  chmod(temp_.path().c_str(), 0755);
  EXPECT_EQ(AsNobody([&] { return folder_.Make().ok() ? 0 : 1; }), 0);
  chmod(folder_.path().c_str(), 0755);
  const int exit = AsNobody([&] {
    const Status made = folder_.Make();
    if (made.ok() || made.error().code != ErrorCode::kCannotWrite) return 1;
    return made.error().message.find(folder_.path().string()) != std::string::npos ? 0 : 2;
  });
  EXPECT_EQ(exit, 0);
}

TEST(LedgerPlaceTest, AConfiguredLedgerFolderIsUsedAndIsNotPrivateToTheUser) {
  const auto found = Must(LedgerFolder::Find("/home/x/.tony", "/dev/shm//tony/./ledger/"));
  EXPECT_EQ(found.path(), "/dev/shm/tony/ledger");
  EXPECT_FALSE(found.is_private());
}

TEST(LedgerPlaceTest, ARelativePathOfALedgerFolderIsRefused) {
  ExpectError(LedgerFolder::Find("/home/x/.tony", "ledger"), ErrorCode::kInvalid, "~TONY_LEDGER=ledger");
}

TEST(LedgerPlaceTest, ALedgerIsRefusedOnANetworkFileSystemAndAcceptedOnALocalFileSystem) {
  for (const uint32_t magic : {0x6969u, 0xFF534D42u, 0xFE534D42u, 0x0BD00BD0u, 0x47504653u, 0x19830326u, 0x01021997u}) {
    const Status refused = CheckLedgerPlace("/net/x", FileSystemOfMagic(magic));
    ASSERT_FALSE(refused.ok()) << magic;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(refused.error().message, HasSubstr("/net/x"));
    EXPECT_THAT(refused.error().message, HasSubstr("set TONY_LEDGER"));
  }
  for (const uint32_t magic : {0xEF53u, 0x58465342u, 0x01021994u, 0x794C7630u, 0x65735546u, 0x12345u})
    EXPECT_TRUE(CheckLedgerPlace("/x", FileSystemOfMagic(magic)).ok()) << magic;
}

}  // namespace
}  // namespace tony
