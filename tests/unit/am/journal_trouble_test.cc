// Tests a disk that is full or fails under the journal: nothing is lost, nothing counts as written before it is, and
// work continues when the disk recovers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <mutex>
#include <sstream>

#include "am/journal.h"
#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"
#include "tests/support/job_builder.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/am/journal_texts.h"
#include "tests/unit/records/sample_decisions.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The behaviour of the disk. The test changes it while the journal's thread runs.
struct Disk {
  std::atomic<size_t> room{SIZE_MAX};    // bytes that still fit
  std::atomic<bool> fails_sync{false};   // syncs of an existing file fail
  std::atomic<bool> fails_fresh{false};  // a new file cannot be made
  // Syncs of a file after an earlier sync of the same file failed.
  std::atomic<int> old_syncs{0};
  std::atomic<int> replaced{0};
};

// The real file, on a disk that behaves as the Disk prescribes.
class FileOnDisk : public JournalFile {
 public:
  FileOnDisk(std::unique_ptr<JournalFile> file, Disk& disk) : file_(std::move(file)), disk_(disk) {}

  Status Append(std::string_view bytes) override {
    const size_t room = disk_.room;
    if (bytes.size() <= room) {
      if (room != SIZE_MAX) disk_.room -= bytes.size();
      return file_->Append(bytes);
    }
    // A disk that fills up writes the part for which it has room.
    EXPECT_TRUE(file_->Append(bytes.substr(0, room)).ok());
    return Error{ErrorCode::kCannotWrite, "no space left on device"};
  }
  Status CutTo(size_t size) override { return file_->CutTo(size); }
  Status Sync() override {
    if (spoiled_) ++disk_.old_syncs;
    if (!disk_.fails_sync) return file_->Sync();
    spoiled_ = true;
    return Error{ErrorCode::kCannotWrite, "sync: input/output error"};
  }
  Status Replace(std::string_view content) override {
    if (disk_.fails_fresh) return Error{ErrorCode::kCannotWrite, "rewrite the journal: input/output error"};
    spoiled_ = false;
    ++disk_.replaced;
    return file_->Replace(content);
  }
  void NoteWritten(size_t size) override { file_->NoteWritten(size); }

 private:
  const std::unique_ptr<JournalFile> file_;
  Disk& disk_;
  bool spoiled_ = false;
};

class JournalTroubleTest : public testing::Test {
 protected:
  JournalTroubleTest() { Open(); }

  void Open() {
    journal_.reset();
    auto opened = OpenJournalFile(path_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    read_ = opened->decisions;
    opened->file = std::make_unique<FileOnDisk>(std::move(opened->file), disk_);
    journal_ = std::make_unique<LocalJournal>(loop_, *std::move(opened));
    journal_->SetFailureCallback([this](const std::string& why) { told_.push_back(why.empty() ? "over" : why); });
  }
  void Append(const std::vector<Decision>& decisions) {
    ++expected_;
    journal_->Append(decisions, [this] { told_.emplace_back("written"); });
  }
  void RunUntilWritten() {
    EXPECT_TRUE(RunUntil(
        loop_, [this] { return std::ranges::count(told_, "written") == static_cast<std::ptrdiff_t>(expected_); }));
  }
  void RunUntilTold(const std::string& what) {
    EXPECT_TRUE(RunUntil(loop_, [&] { return !told_.empty() && told_.back() == what; })) << what;
  }
  std::vector<Decision> OnDisk() const {
    const auto decoded = DecodeJournal(Bytes(path_));
    EXPECT_TRUE(decoded.ok());
    return decoded.ok() ? decoded->decisions : std::vector<Decision>();
  }

  const std::vector<Decision> kSome = OneOfEachKind();
  const Decision kEnd = {{}, JobEnded{}};  // this decision is synced
  const TempFolder folder_;
  const std::string path_ = (folder_.path() / "journal").string();
  Disk disk_;
  EventLoop loop_;
  std::vector<Decision> read_;
  std::vector<std::string> told_;  // reports, in order
  size_t expected_ = 0;
  std::unique_ptr<LocalJournal> journal_;
};

TEST_F(JournalTroubleTest, AFullDiskIsReportedOnceAndDelaysAppendsUntilTheDiskHasRoom) {
  Append({kSome[0]});
  RunUntilWritten();
  disk_.room = 10;
  Append({kSome[1]});
  Append({kSome[2]});
  RunUntilTold("no space left on device");

  disk_.room = SIZE_MAX;
  RunUntilWritten();

  EXPECT_THAT(told_, ElementsAre("written", "no space left on device", "over", "written", "written"));
  EXPECT_EQ(Json(OnDisk()), Json({kSome[0], kSome[1], kSome[2]}));
}

// Appends that come while the disk is busy are written together.
TEST_F(JournalTroubleTest, AppendsThatWaitForTheDiskShareOneSync) {
  disk_.room = 0;
  Append({kSome[0]});
  RunUntil(loop_, [this] { return !told_.empty(); });
  for (int i = 0; i < 1000; ++i) Append({kEnd});
  disk_.room = SIZE_MAX;

  RunUntilWritten();

  EXPECT_EQ(journal_->counts().syncs, 1);
}

TEST_F(JournalTroubleTest, TheEndOfTheJobIsSyncedEvenIfWrittenTogetherWithOtherDecisions) {
  disk_.room = 0;
  Append({kSome[0]});
  RunUntil(loop_, [this] { return !told_.empty(); });
  Append({kSome[1], kEnd});
  Append({kSome[2]});
  disk_.room = SIZE_MAX;

  RunUntilWritten();

  EXPECT_EQ(journal_->counts().syncs, 1);
}

TEST_F(JournalTroubleTest, APartiallyWrittenAppendIsRemovedBeforeTheWriteIsRepeated) {
  disk_.room = EncodeHeader().size() + EncodeTurn({kSome[0]}).size() + 20;
  Append({kSome[0]});
  RunUntilWritten();
  Append({kSome[1]});
  RunUntilTold("no space left on device");
  disk_.room = SIZE_MAX;

  RunUntilWritten();

  EXPECT_EQ(Bytes(path_), EncodeHeader() + EncodeTurn({kSome[0]}) + EncodeTurn({kSome[1]}));
}

TEST_F(JournalTroubleTest, TheNextMasterReadsExactlyTheConfirmedAppends) {
  Append({kSome[0]});
  RunUntilWritten();
  disk_.room = 10;
  Append({kSome[1]});
  RunUntilTold("no space left on device");

  // The old master dies without waiting for room.
  Open();

  EXPECT_EQ(Json(read_), Json({kSome[0]}));
  disk_.room = SIZE_MAX;
  Append({kSome[2]});
  // The answer to the dead master's append is not delivered.
  --expected_;
  RunUntilWritten();
  EXPECT_EQ(Json(OnDisk()), Json({kSome[0], kSome[2]}));
}

TEST_F(JournalTroubleTest, ANewJournalWaitsUntilTheDiskHasRoomForTheHeader) {
  disk_.room = 3;
  Append({kSome[0]});
  RunUntilTold("no space left on device");
  disk_.room = SIZE_MAX;
  RunUntilWritten();
  EXPECT_EQ(Json(OnDisk()), Json({kSome[0]}));
}

TEST_F(JournalTroubleTest, AFailedSyncIsNeverRepeatedOnTheSameFile) {
  Append({kEnd});
  RunUntilWritten();
  disk_.fails_sync = true;
  disk_.fails_fresh = true;
  Append({kEnd});
  RunUntilTold("rewrite the journal: input/output error");
  disk_.fails_sync = false;
  EXPECT_EQ(disk_.replaced, 0);

  disk_.fails_fresh = false;
  RunUntilWritten();
  Append({kEnd});
  RunUntilWritten();

  EXPECT_EQ(disk_.replaced, 1);
  EXPECT_EQ(disk_.old_syncs, 0);
  EXPECT_EQ(Json(OnDisk()), Json({kEnd, kEnd, kEnd}));
  EXPECT_THAT(told_, ElementsAre("written", "sync: input/output error", "rewrite the journal: input/output error",
                                 "over", "written", "written"));
}

TEST_F(JournalTroubleTest, ARewrittenJournalIsANewFileAtTheSamePath) {
  Append({kSome[0]});
  RunUntilWritten();
  const std::ifstream before(path_, std::ios::binary);
  disk_.fails_sync = true;
  Append({kEnd});
  RunUntilWritten();
  disk_.fails_sync = false;
  Append({kSome[2]});
  RunUntilWritten();

  std::ostringstream old;
  old << before.rdbuf();
  EXPECT_EQ(old.str(), EncodeHeader() + EncodeTurn({kSome[0]}) + EncodeTurn({kEnd}));
  EXPECT_EQ(Json(OnDisk()), Json({kSome[0], kEnd, kSome[2]}));
  Open();
  EXPECT_EQ(read_.size(), 3U);
}

TEST_F(JournalTroubleTest, DestroyingAJournalDoesNotWaitForRoomOnTheDisk) {
  disk_.room = 0;
  Append({kSome[0]});
  RunUntilTold("no space left on device");

  journal_.reset();  // returns without waiting

  EXPECT_THAT(OnDisk(), IsEmpty());
}

// Limits the size of the files of this process to `bytes` while the object exists.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(size_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(JournalTroubleTest, AFileSizeLimitIsTreatedLikeAFullDisk) {
  Append({kSome[0]});
  RunUntilWritten();
  {
    const FileSizeLimit limit(Bytes(path_).size() + 10);
    Append({kEnd});
    RunUntilTold("file too large");
  }
  RunUntilWritten();
  EXPECT_EQ(Json(OnDisk()), Json({kSome[0], kEnd}));
}

// Starts a thousand tasks turn by turn, as the shell does it.
TEST_F(JournalTroubleTest, StartingAThousandTasksNeedsAtMost50JournalSyncs) {
  JobDriver driver(JobBuilder().Role("worker", 1000).Build());
  driver.Start();
  size_t appended = 0, turns = 0;
  const auto append = [&] {
    const std::vector<Decision> turn(driver.journal().begin() + static_cast<std::ptrdiff_t>(appended),
                                     driver.journal().end());
    appended = driver.journal().size();
    ++turns;
    Append(turn);
  };
  append();
  for (int i = 0; i < 1000; ++i) {
    const std::string task = StrCat("worker:", i);
    driver.Grant(task);
    append();
    driver.ConfirmLaunch(task);
    append();
    driver.Register(task);
    append();
  }
  for (int i = 0; i < 1000; ++i) {
    driver.Heartbeat(StrCat("worker:", i));
    append();
  }
  RunUntilWritten();

  EXPECT_EQ(driver.job().state(), JobState::kRunning);
  EXPECT_EQ(OnDisk().size(), appended);
  EXPECT_LE(journal_->counts().syncs, 50);
  EXPECT_LE(journal_->counts().writes, static_cast<int64_t>(turns));
  RecordProperty("turns", static_cast<int>(turns));
  RecordProperty("writes", static_cast<int>(journal_->counts().writes));
}

}  // namespace
}  // namespace tony::am
