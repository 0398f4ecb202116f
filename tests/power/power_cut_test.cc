// Tests of all that runtime/records/README.md promises to survive a power cut. Each writes with the product's code,
// cuts at every point, and reads with the product's code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "am/journal.h"
#include "runtime/cli/commands.h"
#include "runtime/client/job_access.h"
#include "runtime/history/ended_log.h"
#include "runtime/keeper/lost_job.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/records/checkpoint_holder.h"
#include "runtime/records/entry_store.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/journal_format.h"
#include "runtime/records/local_job_store.h"
#include "runtime/records/local_request_index.h"
#include "runtime/records/request_index.h"
#include "runtime/staging/programs.h"
#include "tests/power/recorded_disk.h"
#include "tests/support/run_until.h"
#include "tests/support/small_job.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

class PowerCutTest : public testing::Test {
 protected:
  static fs::path HomeIn(const fs::path& folder) { return folder / ".tony"; }
  static NewJob OfRequest() {
    NewJob job = SmallJob();
    job.request = request_id_;
    return job;
  }
  JobRecords CreateJob() const {
    const auto folder = LocalJobStore(home_).Create(OfRequest(), now_);
    EXPECT_TRUE(folder.ok()) << folder.error().message;
    return *folder;
  }
  // Returns the number of the newest submission that the record has; 0: none.
  static int64_t NumberIn(const PowerCut& cut) {
    const auto record = LocalRequestIndex(HomeIn(cut.left)).Read(request_id_);
    EXPECT_TRUE(record.ok()) << cut.point << ": " << record.error().message;
    return record.ok() && *record ? (*record)->newest_number : 0;
  }

  inline static const RequestId request_id_{"request"};
  const TempFolder temp_;
  const fs::path home_ = HomeIn(temp_.path());
  const Instant now_ = RealClock().Now();
  RecordedDisk disk_{temp_.path()};
};

TEST_F(PowerCutTest, ARequestRecordSurvivesAPowerCutUndamaged) {
  const LocalRequestIndex index(home_);
  ASSERT_TRUE(index.Write(request_id_, {.newest_number = 1}).ok());
  disk_.Promise("first");
  ASSERT_TRUE(index.Write(request_id_, {.newest_number = 2}).ok());
  disk_.Promise("second");
  disk_.ForEachCut(
      [](const PowerCut& cut) { EXPECT_GE(NumberIn(cut), static_cast<int64_t>(cut.promised.size())) << cut.point; });
}

TEST_F(PowerCutTest, ARequestRecordInUnsyncedFoldersSurvivesAPowerCut) {
  const fs::path folder = home_ / "requests" / Sha256Hex(request_id_.value);
  ASSERT_TRUE(MakeFolder(folder).ok());
  ASSERT_TRUE(
      WriteFileByRename(folder / "record.json", ToJson(KeptRequest{request_id_, {.newest_number = 1}}), true).ok());
  ASSERT_TRUE(LocalRequestIndex(home_).Write(request_id_, {.newest_number = 2}).ok());
  disk_.Promise("second");
  disk_.ForEachCut([](const PowerCut& cut) { EXPECT_TRUE(NumberIn(cut) == 2 || cut.promised.empty()) << cut.point; });
}

TEST_F(PowerCutTest, TheRevocationOfAnOwnerSurvivesAPowerCut) {
  const OwnerToken owner{"owner"};
  ASSERT_TRUE(LocalRequestIndex(home_).Revoke(request_id_, owner, now_).ok());
  disk_.Promise("revoked");
  disk_.ForEachCut([&](const PowerCut& cut) {
    const auto revoked = LocalRequestIndex(HomeIn(cut.left)).IsRevoked(request_id_, owner, now_);
    ASSERT_TRUE(revoked.ok()) << cut.point;
    EXPECT_TRUE(*revoked || cut.promised.empty()) << cut.point;
  });
}

TEST_F(PowerCutTest, ANewJobIsEitherCompleteOrAbsentAfterAPowerCut) {
  const JobRecords created = CreateJob();
  disk_.Promise("created");
  disk_.ForEachCut([&](const PowerCut& cut) {
    const auto folder = LocalJobStore(HomeIn(cut.left)).Find(created.job());
    EXPECT_TRUE(folder.ok() || cut.promised.empty()) << cut.point;
    if (!folder.ok()) return;
    EXPECT_TRUE(folder->ReadSpec().ok()) << cut.point;
    EXPECT_TRUE(folder->ReadSubmission().ok()) << cut.point;
    EXPECT_TRUE(folder->ReadToken().ok()) << cut.point;
    EXPECT_EQ(folder->ReadEnvironment()->size(), 1u) << cut.point;
    const auto staged = folder->ReadStaged();
    EXPECT_TRUE(staged.ok() && *staged) << cut.point;
    EXPECT_EQ(ReadFile(folder->place() / "conf.json").ok() ? *ReadFile(folder->place() / "conf.json") : "none", "{}")
        << cut.point;
  });
}

// Before a job's end the only promise is that the job can be found to be lost.
TEST_F(PowerCutTest, TheVerdictAndTheAcknowledgementOfAJobSurviveAPowerCut) {
  const JobRecords records = CreateJob();
  disk_.Promise("created");
  JobStatus status = {.job = records.job(), .state = "RUNNING", .submitted = now_};
  ASSERT_TRUE(records.WriteStatus(status, Durability::kLostWithPower).ok());
  ASSERT_TRUE(records.WriteKill({.reason = "enough"}).ok());
  status.state = "SUCCEEDED";
  status.verdict = Verdict{.state = FinalState::kSucceeded};
  ASSERT_TRUE(records.WriteStatus(status, Durability::kSurvivesPowerCut).ok());
  disk_.Promise("verdict");
  ASSERT_TRUE(Acknowledge(records, {"owner"}).ok());
  disk_.Promise("acknowledged");
  disk_.ForEachCut([&](const PowerCut& cut) {
    if (!cut.promised.contains("created")) return;
    const JobRecords left = *LocalJobStore(HomeIn(cut.left)).Find(records.job());
    ASSERT_TRUE(JobFolder(left).WriteBoot("an earlier one").ok());
    const auto stored = StoredStatus(left);
    ASSERT_TRUE(stored.ok()) << cut.point << ": " << stored.error().message;
    ASSERT_TRUE(stored->verdict) << cut.point;
    const bool ended_well = stored->verdict->state == FinalState::kSucceeded;
    EXPECT_TRUE(ended_well || !cut.promised.contains("verdict")) << cut.point;
    EXPECT_TRUE(fs::exists(left.place() / "acked.json") || !cut.promised.contains("acknowledged")) << cut.point;
  });
}

TEST_F(PowerCutTest, TheVerdictOfALostJobSurvivesAPowerCut) {
  const JobRecords records = CreateJob();
  ASSERT_TRUE(EndLostJob(records).ok());
  disk_.Promise("settled");
  disk_.ForEachCut([&](const PowerCut& cut) {
    if (!cut.promised.contains("settled")) return;
    const auto status = LocalJobStore(HomeIn(cut.left)).Find(records.job())->ReadStatus();
    EXPECT_TRUE(status.ok() && *status && (*status)->verdict) << cut.point;
  });
}

TEST_F(PowerCutTest, AJobRemovedByGcIsStillInTheHistoryAfterAPowerCut) {
  const JobRecords records = CreateJob();
  const JobStatus ended = {.job = records.job(),
                           .state = "SUCCEEDED",
                           .submitted = now_,
                           .ended = now_ - Duration(3'600'000),
                           .verdict = Verdict{.state = FinalState::kSucceeded}};
  ASSERT_TRUE(records.WriteStatus(ended, Durability::kSurvivesPowerCut).ok());
  disk_.Promise("ended");
  setenv("TONY_HOME", home_.c_str(), 1);
  EXPECT_EQ(RunTony({"gc", "--older-than", "1m"}), 0);
  unsetenv("TONY_HOME");
  bool removed = false;
  disk_.ForEachCut([&](const PowerCut& cut) {
    if (!cut.promised.contains("ended")) return;
    const bool is_there = LocalJobStore(HomeIn(cut.left)).Find(records.job()).ok();
    const auto log = EndedLog(HomeIn(cut.left)).Read();
    const bool is_told = log.ok() && log->text().find(records.job().value) != std::string_view::npos;
    EXPECT_TRUE(is_there || is_told) << cut.point;
    removed |= !is_there;
  });
  EXPECT_TRUE(removed);
}

class JournalPowerCutTest : public PowerCutTest {
 protected:
  static std::vector<Decision> Decisions(const PowerCut& cut) {
    auto opened = am::OpenJournalFile(cut.left / "journal");
    EXPECT_TRUE(opened.ok()) << cut.point << ": " << opened.error().message;
    return opened.ok() ? opened->decisions : std::vector<Decision>();
  }
  const std::string path_ = temp_.path() / "journal";
};

TEST_F(JournalPowerCutTest, TheJobEndedRecordInTheJournalSurvivesAPowerCut) {
  EventLoop loop;
  auto opened = am::LocalJournal::Open(loop, path_);
  ASSERT_TRUE(opened.ok());
  int written = 0;
  opened->journal->Append({{now_, JobAccepted{}}}, [&] { ++written; });
  ASSERT_TRUE(RunUntil(loop, [&] { return written == 1; }));
  opened->journal->Append({{now_, JobEnded{}}}, [&] {
    disk_.Promise("end");
    ++written;
  });
  ASSERT_TRUE(RunUntil(loop, [&] { return written == 2; }));
  opened->journal.reset();
  disk_.ForEachCut(
      [](const PowerCut& cut) { EXPECT_TRUE(Decisions(cut).size() == 2 || cut.promised.empty()) << cut.point; });
}

TEST_F(JournalPowerCutTest, AJournalHasEitherItsOldOrItsNewContentAfterAPowerCutDuringARewrite) {
  const auto text = [this](int count) {
    std::string records = EncodeHeader();
    for (int i = 0; i < count; ++i) records += EncodeRecord(ToJson(Decision{now_, JobAccepted{}}));
    return records;
  };
  auto opened = am::OpenJournalFile(path_);
  ASSERT_TRUE(opened.ok());
  ASSERT_TRUE(opened->file->Append(text(1)).ok());
  ASSERT_TRUE(opened->file->Sync().ok());
  disk_.Promise("old");
  ASSERT_TRUE(opened->file->Replace(text(2)).ok());
  disk_.Promise("new");
  disk_.ForEachCut([](const PowerCut& cut) { EXPECT_GE(Decisions(cut).size(), cut.promised.size()) << cut.point; });
}

// An entry that has its final name is trusted from then on, and a job refers to its entries.
TEST_F(PowerCutTest, AStagedFileOfACreatedJobIsCompleteAfterAPowerCut) {
  const EntryStore::Maker maker{.make = [](const fs::path& entry) -> Status {
    TRY(MakeFolder(entry / "lib"));
    return WriteNewFile(entry / "lib/a.py", "content", /*durable=*/false);
  }};
  const auto store = EntryStore::Open(home_ / "staged", {});
  ASSERT_TRUE(store.ok() && store->Keep("entry", {}, maker).ok());
  CreateJob();
  disk_.Promise("created");
  disk_.ForEachCut([&](const PowerCut& cut) {
    const fs::path entry = HomeIn(cut.left) / "staged/entry";
    const auto content = ReadFile(entry / "lib/a.py");
    EXPECT_TRUE((cut.promised.empty() && !fs::exists(entry)) || (content.ok() && *content == "content")) << cut.point;
  });
}

TEST_F(PowerCutTest, StoredProgramsWithAManifestAreCompleteAfterAPowerCut) {
  const TempFolder installed;
  const fs::path program = installed.path() / "tony-am";
  std::ofstream(program) << "#!/bin/sh\n";
  fs::permissions(program, fs::perms::owner_all);
  const auto kept = StorePrograms(home_, {program}, now_);
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  disk_.Promise("kept");
  disk_.ForEachCut([&](const PowerCut& cut) {
    const fs::path entry = HomeIn(cut.left) / "programs" / kept->hash;
    const auto manifest = ReadFile(entry / "manifest"), copy = ReadFile(entry / "tony-am");
    EXPECT_TRUE(!manifest.ok() || (copy.ok() && *copy == "#!/bin/sh\n")) << cut.point;
    EXPECT_TRUE(!manifest.ok() || manifest->ends_with("tony-am\n")) << cut.point;
  });
}

TEST_F(PowerCutTest, TheHolderRecordOfACheckpointFolderSurvivesAPowerCut) {
  ASSERT_TRUE(TakeCheckpointFolder(home_, "/checkpoints", {"job"}).ok());
  disk_.Promise("taken");
  disk_.ForEachCut([](const PowerCut& cut) {
    const auto holder = HolderOf(HomeIn(cut.left), "/checkpoints");
    ASSERT_TRUE(holder.ok()) << cut.point;
    EXPECT_TRUE(*holder || cut.promised.empty()) << cut.point;
  });
}

}  // namespace
}  // namespace tony
