#include "runtime/records/checkpoints.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/records/checkpoint_holder.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

CheckpointListing ListCheckpoints(const CheckpointSpec& spec) {
  return tony::ListCheckpoints(LocalCheckpointFolder(spec.directory), spec);
}
Result<std::optional<Checkpoint>> NewestCheckpoint(const CheckpointSpec& spec, const CheckpointListing& listing) {
  return tony::NewestCheckpoint(LocalCheckpointFolder(spec.directory), spec, listing);
}

TEST(CheckpointNamesTest, TheStepOfACheckpointIsTheLastNumberInItsName) {
  EXPECT_EQ(StepOf("ckpt-0007.npz"), 7);
  EXPECT_EQ(StepOf("step_100"), 100);
  EXPECT_EQ(StepOf("epoch=2-step=100.ckpt"), 100);
  EXPECT_EQ(StepOf("model.ckpt-250.index"), 250);
  EXPECT_EQ(StepOf("42"), 42);
  EXPECT_EQ(StepOf("latest"), -1);
  EXPECT_EQ(StepOf(""), -1);
  EXPECT_EQ(StepOf("-5"), 5);
  EXPECT_EQ(StepOf("ckpt-9223372036854775807"), INT64_MAX);
  EXPECT_EQ(StepOf("ckpt-9223372036854775808"), -1);
}

TEST(CheckpointNamesTest, ADecimalMetricInACheckpointNameIsNotTakenAsTheStep) {
  EXPECT_EQ(StepOf("epoch=2-val_loss=0.50.ckpt"), 2);
  EXPECT_EQ(StepOf("weights.03-0.15.hdf5"), 3);
  EXPECT_EQ(StepOf("0.25"), -1);
}

TEST(CheckpointNamesTest, ADigitInTheFileExtensionIsNotTakenAsTheStep) {
  EXPECT_EQ(StepOf("weights.05.h5"), 5);
  EXPECT_EQ(StepOf("weights.hdf5"), -1);
  EXPECT_EQ(StepOf("ckpt-3.pt2"), 3);
}

TEST(CheckpointNamesTest, CheckpointNamesAreMatchedByAShellGlobPattern) {
  EXPECT_TRUE(IsCheckpointName("ckpt-1.npz", "*"));
  EXPECT_TRUE(IsCheckpointName("ckpt-1.npz", "ckpt-[0-9]*.npz"));
  EXPECT_FALSE(IsCheckpointName("model-1.npz", "ckpt-*"));
  EXPECT_FALSE(IsCheckpointName("ckpt-1.npz", "ckpt"));
  EXPECT_FALSE(IsCheckpointName(".ckpt-1", "*"));
  EXPECT_TRUE(IsCheckpointName(".ckpt-1", ".ckpt-*"));
  for (const char* pattern : {"*", ".*", ".?", "..", "."}) {
    EXPECT_FALSE(IsCheckpointName(".", pattern)) << pattern;
    EXPECT_FALSE(IsCheckpointName("..", pattern)) << pattern;
  }
  EXPECT_FALSE(IsCheckpointName("ckpt-\xE9-1", "*")) << "it could not be written into the journal";
}

TEST(CheckpointNamesTest, ATemporaryFileIsACheckpointOnlyIfThePatternContainsTmp) {
  for (const char* name :
       {"ckpt-7.npz.tmp", "x.tmp.npz", "100.orbax-checkpoint-tmp-17", "tmp-checkpoint-500", "a.TEMP"}) {
    EXPECT_FALSE(IsCheckpointName(name, "*")) << name;
  }
  EXPECT_TRUE(IsCheckpointName("template-1", "*"));
  EXPECT_TRUE(IsCheckpointName("ckpt-7.tmp", "*.tmp"));
}

TEST(CheckpointNamesTest, CheckpointsAreOrderedByModificationTimeAndThenByStep) {
  const auto at = [](int64_t step, int64_t time) { return Checkpoint{"/x", step, FromMillis(time)}; };
  EXPECT_FALSE(IsNewer(at(10, 1), at(9, 2)));
  EXPECT_TRUE(IsNewer(at(9, 2), at(10, 1)));
  EXPECT_TRUE(IsNewer(at(10, 1), at(9, 1)));
  EXPECT_TRUE(IsNewer(at(0, 1), at(-1, 1)));
  EXPECT_TRUE(IsNewer(at(-1, 2), at(-1, 1)));
  EXPECT_FALSE(IsNewer(at(5, 1), at(5, 1)));
}

class CheckpointsTest : public testing::Test {
 protected:
  void Write(const std::string& name, int64_t time = 1'000'000) {
    std::ofstream(folder_.path() / name) << "weights";
    SetTime(name, time);
  }
  void SetTime(const std::string& name, int64_t time) {
    const timespec when{.tv_sec = time / 1000, .tv_nsec = time % 1000 * 1'000'000};
    const timespec times[2] = {when, when};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder_.path() / name).c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }
  Result<std::optional<Checkpoint>> NewestIn(const fs::path& folder) const {
    return NewestCheckpoint({folder, "*", 3}, {.folder = folder});
  }
  std::string Newest(const std::string& pattern = "*") {
    const auto newest = NewestCheckpoint({folder_.path(), pattern, 3}, {.folder = folder_.path()});
    if (!newest.ok()) return newest.error().message;
    if (!*newest) return "none";
    EXPECT_EQ(fs::path((*newest)->path).parent_path(), folder_.path());
    return fs::path((*newest)->path).filename();
  }
  TempFolder folder_;
};

TEST_F(CheckpointsTest, AMissingOrEmptyFolderHasNoCheckpoint) {
  EXPECT_EQ(Newest(), "none");
  const auto missing = Must(NewestIn(folder_.path() / "none/at/all"));
  EXPECT_FALSE(missing);
}

TEST_F(CheckpointsTest, TheLastModifiedCheckpointIsTheNewestEvenIfAnOlderFileHasAHigherStep) {
  Write("ckpt-9", 1000);
  Write("ckpt-10", 3000);
  Write("ckpt-50", 2000);
  const auto newest = Must(NewestIn(folder_.path()));
  ASSERT_TRUE(newest);
  EXPECT_EQ(*newest, (Checkpoint{folder_.path() / "ckpt-10", 10, FromMillis(3000)}));
}

// Copied or restored checkpoints may have equal times.
TEST_F(CheckpointsTest, TheCheckpointWithTheHighestStepIsTheNewestIfModificationTimesAreEqual) {
  Write("ckpt-9");
  Write("ckpt-10");
  EXPECT_EQ(Newest(), "ckpt-10");
}

// The files have the names that tools use, in the order in which the tools write them.
TEST_F(CheckpointsTest, TheNewestCheckpointIsFoundAmongFilesNamedByCommonTrainingTools) {
  const std::vector<std::vector<std::string>> folders = {
      {"epoch=1-val_loss=0.99.ckpt", "epoch=2-val_loss=0.50.ckpt", "epoch=3-val_loss=0.33.ckpt"},
      {"weights.01-0.95.hdf5", "weights.02-0.15.hdf5"},
      {"model_2026-12-31.pt", "model_2027-01-01.pt"},
      {"best.pt", "last.pt"},
      {"checkpoint-500/model.safetensors", "runs/Nov28/events.out.tfevents.17.host.9.0", "trainer_state.json"},
      {"checkpoint-1000/model.safetensors", "checkpoint-500/trainer_state.json"},
      {"global_step100/mp_rank_00_model_states.pt", "latest", "zero_to_fp32.py"},
      {"100/default/manifest.ocdbt", "100/_CHECKPOINT_METADATA", "101.orbax-checkpoint-tmp-3/default/d"},
      {"ckpt-3.json", "config.json", "train.log"},
      {"iter_0000010/mp_rank_00/model_optim_rng.pt", "latest_checkpointed_iteration.txt", "log-99.txt"},
      {"model_1.pt", "model_2.pt.tmp"},
      {"ckpt_1.pt", "ckpt_2/weights.bin.incomplete", "ckpt_2/meta.bin"},
  };
  const std::vector<std::string> newest = {"epoch=3-val_loss=0.33.ckpt",
                                           "weights.02-0.15.hdf5",
                                           "model_2027-01-01.pt",
                                           "last.pt",
                                           "checkpoint-500",
                                           "checkpoint-1000",
                                           "global_step100",
                                           "100",
                                           "ckpt-3.json",
                                           "iter_0000010",
                                           "model_1.pt",
                                           "ckpt_1.pt"};
  for (size_t i = 0; i < folders.size(); ++i) {
    for (const auto& entry : fs::directory_iterator(folder_.path())) fs::remove_all(entry);
    int64_t time = 1'000'000;
    for (const auto& name : folders[i]) {
      fs::create_directories((folder_.path() / name).parent_path());
      Write(name, ++time);
    }
    EXPECT_EQ(Newest(), newest[i]);
  }
}

TEST_F(CheckpointsTest, AnOlderNonEmptyCheckpointIsPreferredToANewerEmptyFile) {
  Write("ckpt-1", 1000);
  ASSERT_EQ(close(creat((folder_.path() / "ckpt-2").c_str(), 0600)), 0);
  EXPECT_EQ(Newest(), "ckpt-1");
  fs::remove(folder_.path() / "ckpt-1");
  EXPECT_EQ(Newest(), "ckpt-2");
}

TEST_F(CheckpointsTest, AYamlFileIsACheckpointOnlyIfThePatternNamesItsExtension) {
  Write("state.yaml");
  EXPECT_EQ(Newest(), "none");
  EXPECT_EQ(Newest("*.yaml"), "state.yaml");
}

// Removing files of an old checkpoint, for example to save space, does not make it the newest checkpoint.
TEST_F(CheckpointsTest, ACheckpointStoredAsAFolderIsDatedByItsNewestFile) {
  for (const char* name : {"step-1", "step-2"}) fs::create_directory(folder_.path() / name);
  Write("step-1/weights", 1000);
  Write("step-1/optimizer", 1000);
  Write("step-2/weights", 2000);
  fs::remove(folder_.path() / "step-1/optimizer");
  EXPECT_EQ(Newest(), "step-2");
}

TEST_F(CheckpointsTest, AFileThatIsStillGrowingIsNotTheNewestCheckpoint) {
  Write("ckpt-1", 1000);
  Write("ckpt-2", 2000);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    std::ofstream out(folder_.path() / "ckpt-2", std::ios::app);
    while (!done) out << "more" << std::flush;
  });
  const auto newest = tony::NewestCheckpoint(LocalCheckpointFolder(folder_.path()), {folder_.path(), "*", 3},
                                             {.folder = folder_.path()}, Duration(20));
  done = true;
  writer.join();
  ASSERT_TRUE(newest.ok() && *newest);
  EXPECT_EQ((*newest)->path, folder_.path() / "ckpt-1");
}

TEST_F(CheckpointsTest, CheckpointsWithoutStepsAreOrderedByModificationTime) {
  Write("best", 2000);
  Write("last", 2001);
  Write("first", 1000);
  EXPECT_EQ(Newest(), "last");
}

TEST_F(CheckpointsTest, AFolderCanBeTheNewestCheckpoint) {
  Write("step_1");
  fs::create_directory(folder_.path() / "step_2");
  Write("step_2/weights");
  EXPECT_EQ(Newest(), "step_2");
}

TEST_F(CheckpointsTest, LinksAndSpecialFilesAreNotCheckpoints) {
  Write("ckpt-1");
  fs::create_symlink("/etc", folder_.path() / "ckpt-2");
  fs::create_symlink("../nowhere", folder_.path() / "ckpt-3");
  ASSERT_EQ(mkfifo((folder_.path() / "ckpt-4").c_str(), 0600), 0);
  EXPECT_EQ(Newest(), "ckpt-1");
}

TEST_F(CheckpointsTest, OnlyFilesThatMatchThePatternAreCheckpoints) {
  Write("ckpt-1.npz");
  Write("ckpt-2.npz.tmp");
  Write(".ckpt-3.npz");
  Write("log-4.txt");
  EXPECT_EQ(Newest("ckpt-*.npz"), "ckpt-1.npz");
  EXPECT_EQ(Newest("nothing-*"), "none");
}

TEST_F(CheckpointsTest, FindingTheNewestCheckpointFailsIfTheFolderIsUnreadable_NotAsRoot) {
  Write("file");
  ExpectError(NewestIn(folder_.path() / "file"), ErrorCode::kUnavailable,
              StrCat("open ", (folder_.path() / "file").string(), ": not a directory"));
  if (geteuid() == 0) GTEST_SKIP() << "root may read every folder";
  fs::create_directory(folder_.path() / "closed");
  fs::permissions(folder_.path() / "closed", fs::perms::none);
  const auto closed = NewestIn(folder_.path() / "closed");
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code, ErrorCode::kNotPermitted);
}

// ---- writers of checkpoints

class CheckpointListingTest : public CheckpointsTest {
 protected:
  CheckpointSpec Spec(bool latest = false) const { return {folder_.path(), "*", 3, latest}; }
  CheckpointListing List() const {
    CheckpointListing listing = ListCheckpoints(Spec());
    EXPECT_EQ(listing.unknown, "");
    return listing;
  }
  // Returns name and writer of the newest checkpoint, e.g. "ckpt-1 this_job".
  std::string Newest(const CheckpointListing& listing, bool latest = false) const {
    const auto newest = NewestCheckpoint(Spec(latest), listing);
    if (!newest.ok()) return newest.error().message;
    if (!*newest) return "none";
    return StrCat(fs::path((*newest)->path).filename().string(), " ", ToString((*newest)->writer));
  }
};

TEST_F(CheckpointListingTest, OnlyCheckpointsWrittenSinceTheJobStartBelongToTheJob) {
  Write("ckpt-99");
  const CheckpointListing before = List();
  EXPECT_EQ(Newest(before), "none");
  EXPECT_EQ(Newest(before, /*latest=*/true), "ckpt-99 others");

  Write("ckpt-1");

  EXPECT_EQ(Newest(before), "ckpt-1 this_job");
  EXPECT_EQ(Newest(before, /*latest=*/true), "ckpt-99 others");
}

TEST_F(CheckpointListingTest, ANewCheckpointBelongsToTheJobEvenIfAnExistingCheckpointHasALaterTime) {
  Write("ckpt-99", 2'000'000'000'000);
  const CheckpointListing before = List();

  Write("ckpt-1", 1000);

  EXPECT_EQ(Newest(before), "ckpt-1 this_job");
}

TEST_F(CheckpointListingTest, AnExistingCheckpointBelongsToTheJobOnceItsTimeOrSizeOrInodeChanges) {
  Write("ckpt-1");
  const CheckpointListing before = List();
  Write("beside");
  fs::rename(folder_.path() / "beside", folder_.path() / "ckpt-1");
  EXPECT_EQ(Newest(before), "ckpt-1 this_job") << "another inode with the same size and time";

  const CheckpointListing renamed = List();
  std::ofstream(folder_.path() / "ckpt-1", std::ios::app) << "more";
  SetTime("ckpt-1", 1'000'000);
  EXPECT_EQ(Newest(renamed), "ckpt-1 this_job") << "another size";

  const CheckpointListing larger = List();
  EXPECT_EQ(Newest(larger), "none");
  SetTime("ckpt-1", 1'000'001);
  EXPECT_EQ(Newest(larger), "ckpt-1 this_job") << "another time";
}

TEST_F(CheckpointListingTest, ACheckpointStoredAsAFolderBelongsToTheJobOnceANestedFileChanges) {
  fs::create_directories(folder_.path() / "step_7/shards");
  Write("step_7/shards/0");
  fs::create_symlink("/", folder_.path() / "step_7/link");
  const CheckpointListing before = List();
  EXPECT_EQ(Newest(before), "none");

  SetTime("step_7/shards/0", 4'000'000'000'000);

  EXPECT_EQ(Newest(before), "step_7 this_job");
}

TEST_F(CheckpointListingTest, AReplacedSymbolicLinkIsNotANewCheckpoint) {
  Write("ckpt-1");
  fs::create_symlink("ckpt-1", folder_.path() / "latest");
  const CheckpointListing before = List();
  fs::remove(folder_.path() / "latest");
  fs::create_symlink("./ckpt-1", folder_.path() / "latest");

  EXPECT_EQ(Newest(before), "none");
}

TEST_F(CheckpointListingTest, CheckpointsBelongToTheJobIfTheirFolderDidNotExistAtTheJobStart) {
  const CheckpointSpec spec{folder_.path() / "a/b", "*", 3};
  const CheckpointListing before = ListCheckpoints(spec);
  EXPECT_EQ(before.unknown, "");
  fs::create_directories(folder_.path() / "a/b/step_1");

  const auto newest = Must(NewestCheckpoint(spec, before));
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->writer, CheckpointWriter::kThisJob);
}

TEST_F(CheckpointListingTest, ACheckpointFolderIsRejectedIfItsSymlinkWasRedirectedAfterTheJobStart) {
  fs::create_directory(folder_.path() / "one");
  fs::create_directories(folder_.path() / "other/step_9");
  fs::create_directory_symlink("one", folder_.path() / "link");
  const CheckpointSpec spec{folder_.path() / "link", "*", 3};
  const CheckpointListing before = ListCheckpoints(spec);
  EXPECT_EQ(before.folder, folder_.path() / "one");
  fs::remove(folder_.path() / "link");
  fs::create_directory_symlink("other", folder_.path() / "link");

  ExpectError(NewestCheckpoint(spec, before),
              StrCat("checkpoints in ", spec.directory, ": the path leads to ", (folder_.path() / "other").string(),
                     " now, and led to ", before.folder, " when the job began"));
}

TEST_F(CheckpointListingTest, CheckpointsHaveAnUnknownWriterIfTheListingAtTheJobStartFailed) {
  fs::create_symlink("loop", folder_.path() / "loop");
  const CheckpointListing looped = ListCheckpoints({folder_.path() / "loop", "*", 3});
  EXPECT_NE(looped.unknown.find("too many levels of symbolic links"), std::string::npos) << looped.unknown;

  Write("ckpt-1");
  const CheckpointListing unknown{.folder = folder_.path(), .unknown = "why"};
  EXPECT_EQ(Newest(unknown),
            StrCat("checkpoints in ", folder_.path().string(), ": the job that wrote them is unknown: why"));
  EXPECT_EQ(Newest(unknown, /*latest=*/true), "ckpt-1 unknown");
}

TEST_F(CheckpointListingTest, AListingOfMoreThan10000CheckpointsFails) {
  const auto make = [&](size_t i) { ASSERT_EQ(close(creat((folder_.path() / StrCat("c-", i)).c_str(), 0600)), 0); };
  for (size_t i = 0; i < kMostCheckpoints; ++i) make(i);
  EXPECT_EQ(List().there.size(), kMostCheckpoints);
  make(kMostCheckpoints);

  EXPECT_EQ(ListCheckpoints(Spec()).unknown,
            "the folder has more than 10000 checkpoints; set tony.checkpoint.pattern so that fewer names match");
}

TEST_F(CheckpointListingTest, AJobThatContinuesEarlierJobsUsesTheirCheckpoints) {
  Write("ckpt-99");
  const CheckpointListing first = List();
  Write("ckpt-12");
  CheckpointListing second = List();
  second.there = first.Continued(second.there);
  EXPECT_EQ(Newest(second), "ckpt-12 earlier_job");
  Write("ckpt-13");
  CheckpointListing third = List();
  third.there = second.Continued(third.there);

  EXPECT_EQ(Newest(third), "ckpt-13 earlier_job");
  fs::remove(folder_.path() / "ckpt-13");
  EXPECT_EQ(Newest(third), "ckpt-12 earlier_job") << "the first one's is still its own";
}

// ---- checkpoint holder

class CheckpointHolderTest : public testing::Test {
 protected:
  JobId Make() {
    JobSpec spec;
    spec.roles.push_back({.name = "worker", .command = "true"});
    const auto made = LocalJobStore(home_.path()).Create({.spec = spec}, Instant(Duration(++time_)));
    EXPECT_TRUE(made.ok());
    return made->job();
  }
  void End(const JobId& job) {
    JobStatus status{.job = job, .state = "FAILED", .verdict = Verdict{.state = FinalState::kFailed}};
    ASSERT_TRUE(
        LocalJobRecords(home_.path() / "jobs" / job.value).WriteStatus(status, Durability::kLostWithPower).ok());
  }
  CheckpointHolder Take(const JobId& job, const fs::path& folder = "/ckpt") {
    const auto holder = TakeCheckpointFolder(home_.path(), folder, job);
    EXPECT_TRUE(holder.ok()) << holder.error().message;
    return holder.ok() ? *holder : CheckpointHolder();
  }
  TempFolder home_;
  int64_t time_ = 0;
};

TEST_F(CheckpointHolderTest, ACheckpointFolderIsHeldByOneJobAtATime) {
  const JobId first = Make(), second = Make();
  EXPECT_EQ(Take(first), (CheckpointHolder{first, std::nullopt}));
  EXPECT_EQ(Take(second), (CheckpointHolder{first, std::nullopt}));
  EXPECT_EQ(Take(second, "/other"), (CheckpointHolder{second, std::nullopt}));
  EXPECT_EQ(Take(first), (CheckpointHolder{first, std::nullopt})) << "its next master asks again";

  End(first);

  EXPECT_EQ(Take(second), (CheckpointHolder{second, first}));
  EXPECT_EQ(Take(second), (CheckpointHolder{second, first}));
  EXPECT_EQ(*HolderOf(home_.path(), "/ckpt"), (CheckpointHolder{second, first}));
}

TEST_F(CheckpointHolderTest, RemovingAJobReleasesItsCheckpointFolder) {
  const JobId first = Make(), second = Make();
  Take(first);
  fs::remove_all(home_.path() / "jobs" / first.value);

  EXPECT_EQ(Take(second), (CheckpointHolder{second, first}));
}

TEST_F(CheckpointHolderTest, AcquiringACheckpointFolderFailsIfItsHolderRecordIsDamaged) {
  const JobId job = Make();
  Take(job);
  for (const auto& entry : fs::directory_iterator(home_.path() / "checkpoint-folders")) {
    if (entry.path().filename() != ".lock") std::ofstream(entry.path()) << "{}";
  }
  EXPECT_FALSE(TakeCheckpointFolder(home_.path(), "/ckpt", job).ok());
}

TEST_F(CheckpointHolderTest, GarbageCollectionRemovesTheCheckpointHolderRecordsOfRemovedJobs) {
  ASSERT_TRUE(SweepCheckpointHolders(home_.path()).ok());
  const JobId gone = Make(), kept = Make();
  Take(gone, "/gone");
  Take(kept, "/kept");
  fs::remove_all(home_.path() / "jobs" / gone.value);

  ASSERT_TRUE(SweepCheckpointHolders(home_.path()).ok());

  EXPECT_FALSE(*HolderOf(home_.path(), "/gone"));
  EXPECT_TRUE(*HolderOf(home_.path(), "/kept"));
}

// ---- record checkpoint holders

const JobId kFirst{"application_1_0001"}, kSecond{"application_1_0002"}, kThird{"application_1_0003"};

// Calls `before_put` once, before the next record is written.
class RacedStore : public LocalRecordStore {
 public:
  using LocalRecordStore::LocalRecordStore;
  Result<bool> PutNew(const std::string& name, std::string_view bytes, Durability durability) const override {
    if (auto race = std::exchange(before_put, nullptr)) race();
    return LocalRecordStore::PutNew(name, bytes, durability);
  }
  mutable std::function<void()> before_put;
};

class RecordCheckpointHoldersTest : public ::testing::Test {
 protected:
  RecordCheckpointHoldersTest() { std::filesystem::create_directory(temp_.path() / "checkpoint-folders"); }
  std::string Take(const JobId& job) const {
    const auto holder = holders_.Take("hdfs://nn:8020/ckpt", job);
    if (!holder.ok()) return holder.error().message;
    return holder->before ? holder->job.value + " after " + holder->before->value : holder->job.value;
  }
  std::vector<std::string> Records() const { return *store_->List("checkpoint-folders"); }

  const TempFolder temp_;
  const std::shared_ptr<RacedStore> store_ = std::make_shared<RacedStore>(temp_.path());
  std::set<JobId> ended_;
  const RecordCheckpointHolders holders_{store_,
                                         [this](const JobId& job) -> Result<bool> { return ended_.count(job) > 0; }};
};

TEST_F(RecordCheckpointHoldersTest, AJobHoldsItsCheckpointFolderUntilTheJobHasEnded) {
  EXPECT_EQ(Take(kFirst), kFirst.value);
  EXPECT_EQ(Take(kFirst), kFirst.value) << "asked again";
  EXPECT_EQ(Take(kSecond), kFirst.value);
  ended_ = {kFirst};
  EXPECT_EQ(Take(kSecond), kSecond.value + " after " + kFirst.value);
  EXPECT_EQ(*holders_.Find("hdfs://nn:8020/ckpt"), (CheckpointHolder{kSecond, kFirst}));
  EXPECT_FALSE(*holders_.Find("hdfs://nn:8020/other"));
}

TEST_F(RecordCheckpointHoldersTest, OnlyOneOfTwoRacingJobsBecomesHolderOfACheckpointFolder) {
  store_->before_put = [this] { EXPECT_EQ(Take(kSecond), kSecond.value); };
  EXPECT_EQ(Take(kFirst), kSecond.value);
  EXPECT_THAT(Records(), SizeIs(1));
}

TEST_F(RecordCheckpointHoldersTest, ASlowJobLosesTheRaceForACheckpointFolderEvenIfOldHolderRecordsAreRemoved) {
  EXPECT_EQ(Take(kFirst), kFirst.value);
  ended_ = {kFirst, kSecond};
  store_->before_put = [this] {
    EXPECT_EQ(Take(kSecond), kSecond.value + " after " + kFirst.value);
    EXPECT_EQ(Take(kThird), kThird.value + " after " + kSecond.value);
    for (const std::string& name : Records()) {
      if (name.find(".3.") == std::string::npos) {
        EXPECT_TRUE(store_->Remove("checkpoint-folders/" + name).ok());
      }
    }
  };
  EXPECT_EQ(Take(JobId{"late"}), kThird.value + " after " + kSecond.value) << "the third job's own answer";
  EXPECT_THAT(Records(), SizeIs(1));
}

TEST_F(RecordCheckpointHoldersTest, GarbageCollectionKeepsHolderRecordsUntilTheJobThatHoldsTheFolderIsRemoved) {
  EXPECT_EQ(Take(kFirst), kFirst.value);
  ended_ = {kFirst};
  EXPECT_EQ(Take(kSecond), kSecond.value + " after " + kFirst.value);
  const auto is_there = [](const JobId& job) -> Result<bool> { return job == kSecond; };
  EXPECT_TRUE(holders_.Sweep(is_there).ok());
  EXPECT_THAT(Records(), SizeIs(2));
  EXPECT_TRUE(holders_.Sweep([](const JobId&) -> Result<bool> { return false; }).ok());
  EXPECT_THAT(Records(), IsEmpty());
}

}  // namespace
}  // namespace tony
