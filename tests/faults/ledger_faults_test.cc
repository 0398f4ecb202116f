// The ledger (queue) of a machine on a disk where each operation fails in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/ledger/ledger_folder.h"
#include "tests/faults/faulty_disk.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

const Instant kNow = FromMillis(1'700'000'100'000);

LedgerFolder FolderIn(const fs::path& folder) { return *LedgerFolder::Find(folder, (folder / "ledger").string()); }

LedgerEntry Ask(const std::string& job, int64_t number) {
  return {.number = number, .job = {job}, .ask = {.memory_mb = 100, .vcores = 3, .gpus = 2}, .since = kNow};
}

class LedgerFaultsTest : public testing::Test {
 protected:
  static Status AddTo(const fs::path& folder, const std::string& job, int64_t number, std::optional<HeldEntry>& held) {
    const LedgerFolder ledger = FolderIn(folder);
    TRY(ledger.Make());
    TRY_ASSIGN(LedgerSession session, ledger.Lock());
    TRY_ASSIGN(held, session.Add(Ask(job, number)));
    return Ok();
  }
  // Adds two entries of live keepers and admits the first.
  void AddTwo(const fs::path& folder) {
    one_.reset();
    two_.reset();
    fs::create_directories(folder / "ledger");
    std::ofstream(folder / "ledger/machine.json") << R"({"memory_mb": 1000, "gpus": [0, 1, 2, 3]})";
    ASSERT_TRUE(AddTo(folder, "local-1", 1, one_).ok());
    ASSERT_TRUE(AddTo(folder, "local-2", 2, two_).ok());
    ASSERT_TRUE(FolderIn(folder).Lock()->Admit(*one_, {0, 1}, kNow).ok());
  }
  static void ExpectTwo(const fs::path& folder) {
    const auto view = FolderIn(folder).Read();
    ASSERT_TRUE(view.ok()) << view.error().message;
    EXPECT_THAT(view->warnings, testing::IsEmpty());
    ASSERT_EQ(view->ledger.entries().size(), 2u);
    const LedgerEntry* one = view->ledger.Find({"local-1"}, geteuid());
    EXPECT_TRUE(one && one->admitted());
    EXPECT_THAT(one->gpus, testing::ElementsAre(0, 1));
  }

  std::optional<HeldEntry> one_, two_;
};

// An entry that is overlooked has its resources given away twice, and a machine without its limits has no resources to
// give. An entry that cannot be read is left out with a warning; a shortage of descriptors must not count as such.
Status ExpectAllSeen(const LedgerView& view) {
  const bool all = view.ledger.entries().size() == 2 && view.dead == 0 && view.ledger.machine().memory_mb == 1000;
  const std::string warning = view.warnings.empty() ? "" : view.warnings.front();
  EXPECT_TRUE(all || warning.find(" is ignored: ") != std::string::npos) << warning;
  EXPECT_EQ(warning.find("too many open files"), std::string::npos) << warning;
  return Ok();
}

TEST_F(LedgerFaultsTest, ALedgerReadThatMissesALiveEntryFailsOrWarns) {
  TryEveryFault({.prepare = [this](auto& folder) { AddTwo(folder); },
                 .call = [](auto& folder) -> Status {
                   TRY_ASSIGN(const LedgerView view, FolderIn(folder).Read());
                   return ExpectAllSeen(view);
                 },
                 .look = [](auto& folder, bool) { ExpectTwo(folder); }});
}

TEST_F(LedgerFaultsTest, RemovingADeadLedgerEntryKeepsLiveEntries) {
  TryEveryFault({.prepare =
                     [this](auto& folder) {
                       AddTwo(folder);
                       std::optional<HeldEntry> dead;
                       ASSERT_TRUE(AddTo(folder, "local-3", 3, dead).ok());
                     },
                 .call = [](auto& folder) -> Status {
                   TRY_ASSIGN(LedgerSession session, FolderIn(folder).Lock());
                   return StatusOf(session.Read());
                 },
                 .look = [](auto& folder, bool) { ExpectTwo(folder); }});
}

TEST_F(LedgerFaultsTest, ALedgerEntryIsAddedWholeOrNotAtAll) {
  TryEveryFault({.prepare = [](auto& folder) { ASSERT_TRUE(FolderIn(folder).Make().ok()); },
                 .call =
                     [](auto& folder) {
                       std::optional<HeldEntry> held;
                       return AddTo(folder, "local-1", 1, held);
                     },
                 .look =
                     [](auto& folder, bool done) {
                       const bool is_there = fs::exists(folder / "ledger/0000000001.local-1.waiting");
                       EXPECT_TRUE(is_there || !done);
                       const auto view = FolderIn(folder).Read();
                       ASSERT_TRUE(view.ok()) << view.error().message;
                       EXPECT_EQ(view->dead, is_there ? 1 : 0);
                       EXPECT_THAT(view->warnings, testing::IsEmpty());
                       // Read() under the lock removes entries without a holder.
                       EXPECT_TRUE(FolderIn(folder).Lock()->Read().ok());
                       EXPECT_TRUE(fs::is_empty(folder / "ledger"));
                     }});
}

TEST_F(LedgerFaultsTest, ADiskFaultDuringATakeoverLeavesTheLedgerEntryAdmitted) {
  TryEveryFault({.prepare = [this](auto& folder) { AddTwo(folder); },
                 .call = [](auto& folder) -> Status {
                   TRY_ASSIGN(LedgerSession session, FolderIn(folder).Lock());
                   TRY_ASSIGN(const auto taken, session.TakeOver({"local-1"}));
                   // a job without an entry adds another
                   EXPECT_TRUE(taken && taken->entry.admitted());
                   return Ok();
                 },
                 .look = [](auto& folder, bool) { ExpectTwo(folder); }});
}

TEST_F(LedgerFaultsTest, ADiskFaultDuringAdmissionLeavesTheLedgerEntryAdmittedOrWaiting) {
  TryEveryFault({.prepare = [this](auto& folder) { AddTwo(folder); },
                 .call = [this](auto& folder) -> Status {
                   TRY_ASSIGN(LedgerSession session, FolderIn(folder).Lock());
                   return session.Admit(*two_, {2, 3}, kNow);
                 },
                 .look =
                     [](auto& folder, bool done) {
                       const auto view = FolderIn(folder).Read();
                       ASSERT_TRUE(view.ok()) << view.error().message;
                       const LedgerEntry* two = view->ledger.Find({"local-2"}, geteuid());
                       ASSERT_TRUE(two) << testing::PrintToString(view->warnings);
                       EXPECT_TRUE(two->admitted() || !done);
                       if (two->admitted()) {
                         EXPECT_THAT(two->gpus, testing::ElementsAre(2, 3));
                       }
                     }});
}

TEST_F(LedgerFaultsTest, ADiskFaultDuringAMoveLeavesTheLedgerEntryInItsOldOrNewQueuePosition) {
  TryEveryFault({.prepare = [this](auto& folder) { AddTwo(folder); },
                 .call = [this](auto& folder) -> Status {
                   TRY_ASSIGN(LedgerSession session, FolderIn(folder).Lock());
                   return session.Move(*two_, Place::kDeferred, 7);
                 },
                 .look =
                     [](auto& folder, bool done) {
                       const auto view = FolderIn(folder).Read();
                       ASSERT_TRUE(view.ok()) << view.error().message;
                       const LedgerEntry* two = view->ledger.Find({"local-2"}, geteuid());
                       ASSERT_TRUE(two);
                       EXPECT_EQ(two->number, two->place == Place::kDeferred ? 7 : 2);
                       EXPECT_TRUE(two->place == Place::kDeferred || !done);
                     }});
}

}  // namespace
}  // namespace tony
