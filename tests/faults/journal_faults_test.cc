// The journal of an application master on a disk where each operation fails in turn.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "am/journal.h"
#include "runtime/records/journal_format.h"
#include "tests/faults/faulty_disk.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::am {
namespace {

namespace fs = std::filesystem;

const Instant kNow = FromMillis(1'700'000'000'000);

std::string Record() { return EncodeRecord(ToJson(Decision{kNow, JobAccepted{}})); }

std::string JournalIn(const fs::path& folder) { return folder / "journal"; }

size_t DecisionsIn(const fs::path& folder) {
  const auto opened = OpenJournalFile(JournalIn(folder));
  EXPECT_TRUE(opened.ok()) << opened.error().message;
  return opened.ok() ? opened->decisions.size() : 0;
}

void WriteFirst(const fs::path& folder) {
  const auto opened = OpenJournalFile(JournalIn(folder));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const std::string text = EncodeHeader() + Record();
  ASSERT_TRUE(opened->file->Append(text).ok());
  ASSERT_TRUE(opened->file->Sync().ok());
  opened->file->NoteWritten(text.size());
}

TEST(JournalFaultsTest, AnAppendIsCompleteOrTheNextWriterRemovesThePartialRecord) {
  TryEveryFault({.prepare = WriteFirst,
                 .call = [](auto& folder) -> Status {
                   TRY_ASSIGN(const auto opened, OpenJournalFile(JournalIn(folder)));
                   if (opened.torn_bytes > 0) TRY(opened.file->CutTo(opened.content.size()));
                   TRY(opened.file->Append(Record()));
                   TRY(opened.file->Sync());
                   opened.file->NoteWritten(opened.content.size() + Record().size());
                   return Ok();
                 },
                 .look =
                     [](auto& folder, bool done) {
                       const size_t decisions = DecisionsIn(folder);
                       EXPECT_GE(decisions, done ? 2u : 1u);
                       EXPECT_LE(decisions, 3u);
                     },
                 .names_the_file = false});
}

TEST(JournalFaultsTest, AFailedRewriteLeavesTheOldOrTheNewJournal) {
  TryEveryFault({.prepare = WriteFirst,
                 .call = [](auto& folder) -> Status {
                   TRY_ASSIGN(const auto opened, OpenJournalFile(JournalIn(folder)));
                   return opened.file->Replace(EncodeHeader() + Record() + Record());
                 },
                 .look =
                     [](auto& folder, bool done) {
                       const size_t decisions = DecisionsIn(folder);
                       EXPECT_TRUE(decisions == 2 || (!done && decisions == 1)) << decisions;
                     },
                 .names_the_file = false});
}

// Replace() may fail before or after its rename. Later records go to the file that then has the journal's name.
TEST(JournalFaultsTest, ARecordAppendedAfterAFailedRewriteIsInTheCurrentJournalFile) {
  for (int nth = 1;; ++nth) {
    const TempFolder folder(MemoryFolder());
    WriteFirst(folder.path());
    const auto opened = OpenJournalFile(JournalIn(folder.path()));
    ASSERT_TRUE(opened.ok());
    FaultyDisk disk(folder.path(), {.nth = nth, .error = EIO, .stays = false});
    (void)opened->file->Replace(EncodeHeader() + Record() + Record());
    disk.Repair();
    const size_t before = DecisionsIn(folder.path());
    EXPECT_TRUE(opened->file->Append(Record()).ok());
    EXPECT_EQ(DecisionsIn(folder.path()), before + 1) << disk.point();
    if (!disk.HasFailed()) break;
  }
}

TEST(JournalFaultsTest, AJournalWriteInterruptedByASignalIsRetriedAtOnce) {
  const TempFolder folder(MemoryFolder());
  WriteFirst(folder.path());
  const auto opened = OpenJournalFile(JournalIn(folder.path()));
  ASSERT_TRUE(opened.ok());
  FaultyDisk disk(folder.path(), {.nth = 1, .error = EINTR, .stays = false});
  EXPECT_TRUE(opened->file->Append(Record()).ok());
  EXPECT_EQ(disk.failed(), "write");
  disk.Repair();
  EXPECT_EQ(DecisionsIn(folder.path()), 2u);
}

ino_t InodeOf(const fs::path& file) {
  struct stat info {};
  EXPECT_EQ(stat(file.c_str(), &info), 0);
  return info.st_ino;
}

// Expects that a decision is reported as written only when it is in the file, however often the disk refuses it.
// Returns false if no operation failed.
bool TryToWriteTheEnd(const DiskFault& fault) {
  const TempFolder folder(MemoryFolder());
  EventLoop loop;
  auto opened = LocalJournal::Open(loop, JournalIn(folder.path()));
  EXPECT_TRUE(opened.ok());
  int written = 0;
  std::string trouble;
  opened->journal->Append({{kNow, JobAccepted{}}}, [&] { ++written; });
  EXPECT_TRUE(RunUntil(loop, [&] { return written == 1; }));
  const ino_t before = InodeOf(JournalIn(folder.path()));

  FaultyDisk disk(folder.path(), fault);
  SCOPED_TRACE(testing::Message() << "fault " << fault.nth);
  opened->journal->SetFailureCallback([&](const std::string& why) { trouble = why; });
  opened->journal->Append({{kNow, JobEnded{}}}, [&] { ++written; });
  EXPECT_TRUE(RunUntil(loop, [&] { return written == 2 || !trouble.empty(); }));
  disk.Repair();
  EXPECT_TRUE(RunUntil(loop, [&] { return written == 2 && trouble.empty(); })) << disk.point();
  EXPECT_EQ(DecisionsIn(folder.path()), 2u) << disk.point();
  // The kernel may have dropped data that it could not write, and may report success for the next sync of the same
  // file.
  if (disk.failed() == "fdatasync") {
    EXPECT_NE(InodeOf(JournalIn(folder.path())), before) << disk.point();
  }
  opened->journal.reset();
  return disk.HasFailed();
}

TEST(JournalFaultsTest, ADecisionReportedAsWrittenIsInTheJournalFile) {
  for (const int error : {EIO, ENOSPC}) {
    for (const bool stays : {false, true}) {
      int nth = 1;
      while (TryToWriteTheEnd({nth, error, stays})) ++nth;
      EXPECT_GT(nth, 2) << "a write and a sync at least";
    }
  }
}

}  // namespace
}  // namespace tony::am
