#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <thread>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/job_records.h"
#include "runtime/records/local_job_store.h"
#include "runtime/records/record_store.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class JobStoreTest : public ::testing::Test {
 protected:
  static NewJob SmallJob() {
    NewJob job;
    RoleSpec worker;
    worker.name = "worker";
    worker.command = "true";
    job.spec.roles = {worker};
    job.environment = {"PATH=/usr/bin:/bin", "SECRET=s"};
    return job;
  }
  std::vector<std::string> Entries(const fs::path& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    return names;
  }

  TempFolder temp_;
  const fs::path home_ = temp_.path() / "home";
  const LocalJobStore store_{home_};
  const Instant now_ = FromMillis(1795253415000);  // 2026-11-21T09:30:15Z
};

TEST_F(JobStoreTest, SecretsOfAJobAreStoredOnlyInTheFileNamedSecrets) {
  NewJob job = SmallJob();
  job.secrets = {{"DB_PASSWORD", "hush hush"}};
  const auto folder = Must(store_.Create(job, now_));
  EXPECT_EQ(*folder.ReadSecrets(), std::vector<std::string>{"DB_PASSWORD=hush hush"});
  EXPECT_EQ(std::filesystem::status(folder.place() / "secrets").permissions(), std::filesystem::perms(0600));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.place())) {
    if (!entry.is_regular_file() || entry.path() == folder.place() / "secrets") continue;
    EXPECT_EQ(ReadFile(entry.path())->find("hush hush"), std::string::npos) << entry.path();
  }
  EXPECT_FALSE(std::filesystem::exists(store_.Create(SmallJob(), now_ + Duration(5000))->place() / "secrets"));
}

TEST_F(JobStoreTest, ANewJobIsNamedByItsSubmissionTimeAndReadBackAsSubmitted) {
  const auto folder = Must(store_.Create(SmallJob(), now_));
  EXPECT_TRUE(std::regex_match(folder.job().value, std::regex("local-20261121-093015-[0-9a-f]{6}")))
      << folder.job().value;
  EXPECT_EQ(*folder.ReadSpec(), SmallJob().spec);
  EXPECT_EQ(*folder.ReadEnvironment(), SmallJob().environment);
  EXPECT_TRUE(std::regex_match(*folder.ReadToken(), std::regex("[0-9a-f]{64}")));
  const auto submission = Must(folder.ReadSubmission());
  EXPECT_EQ(submission.job, folder.job());
  EXPECT_EQ(submission.time, now_);
  EXPECT_FALSE(submission.user.empty());
  EXPECT_FALSE(submission.host.empty());
}

TEST_F(JobStoreTest, TheProgramsUsedByAJobAreRecordedInItsSubmission) {
  NewJob job = SmallJob();
  EXPECT_EQ(store_.Create(job, now_)->ReadSubmission()->programs, "");
  job.programs = "0123abcd";
  EXPECT_EQ(store_.Create(job, now_)->ReadSubmission()->programs, "0123abcd");
}

TEST_F(JobStoreTest, FilesAndFoldersOfAJobAreAccessibleOnlyToTheirOwner) {
  NewJob job = SmallJob();
  job.staged.job = {{.name = "venv", .path = home_ / "staged/abc-unpacked"}};
  job.configuration = R"([{"key":"k","value":"v","source":"default"}])";
  const mode_t before = umask(0);
  const auto folder = store_.Create(job, now_);
  umask(before);
  ASSERT_TRUE(folder.ok());
  EXPECT_TRUE(fs::exists(folder->place() / "staged.json"));
  EXPECT_EQ(*ReadFile(folder->place() / "conf.json"), job.configuration);
  for (const auto& entry : fs::recursive_directory_iterator(home_)) {
    const auto expected = entry.is_directory() ? fs::perms(0700) : fs::perms(0600);
    EXPECT_EQ(entry.status().permissions(), expected) << entry.path();
  }
}

TEST_F(JobStoreTest, FindReturnsAStoredJobAndNotFoundForAnyOtherName) {
  const auto folder = Must(store_.Create(SmallJob(), now_));
  EXPECT_EQ(store_.Find(folder.job())->place(), folder.place());
  for (const char* name : {"", ".", "..", "../jobs", "/etc", "local-20261121-093015-000000", ".new-x"}) {
    const auto none = store_.Find({name});
    ASSERT_FALSE(none.ok()) << name;
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  }
}

TEST_F(JobStoreTest, ListReturnsJobsNewestFirstAndNothingIfThereAreNoJobs) {
  EXPECT_THAT(*store_.List(), IsEmpty());
  std::vector<JobId> made;
  for (const int64_t later : {0, 2'000, 1'000})
    made.push_back(store_.Create(SmallJob(), FromMillis(ToMillis(now_) + later))->job());
  const auto listed = Must(store_.List());
  ASSERT_THAT(listed, SizeIs(3));
  EXPECT_EQ(listed[0].job(), made[1]);
  EXPECT_EQ(listed[1].job(), made[2]);
  EXPECT_EQ(listed[2].job(), made[0]);
}

TEST_F(JobStoreTest, AJobFolderLeftIncompleteByACrashedSubmitIsNotListed) {
  fs::create_directories(home_ / "jobs/.new-local-20261121-093015-abcdef");
  std::ofstream(home_ / "jobs/.new-local-20261121-093015-abcdef/spec.json") << "{";
  EXPECT_THAT(*store_.List(), IsEmpty());
  EXPECT_FALSE(store_.Find({"local-20261121-093015-abcdef"}).ok());
  EXPECT_TRUE(store_.Create(SmallJob(), now_).ok());
  EXPECT_THAT(*store_.List(), SizeIs(1));
}

TEST_F(JobStoreTest, ReadStagedReturnsTheStagedFilesOrNothingIfNoneWereStaged) {
  NewJob job = SmallJob();
  EXPECT_EQ(*store_.Create(job, now_)->ReadStaged(), std::nullopt);
  job.staged.job = {{.name = "venv", .path = home_ / "staged/abc-unpacked"}};
  const auto folder = Must(store_.Create(job, now_));
  EXPECT_EQ(*folder.ReadStaged(), job.staged);
}

TEST_F(JobStoreTest, ATonyHomeThatCannotBeCreatedIsNamedInTheError) {
  std::ofstream(temp_.path() / "file") << "";
  ExpectError(LocalJobStore(temp_.path() / "file/home").Create(SmallJob(), now_), ErrorCode::kCannotWrite,
              "make " + (temp_.path() / "file").string() + ": not a directory");
}

TEST_F(JobStoreTest, ATonyHomeOnAReadOnlyFileSystemIsNamedInTheError_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  const fs::path mounted = temp_.path() / "mounted";
  fs::create_directory(mounted);
  if (mount("none", mounted.c_str(), "tmpfs", MS_RDONLY, nullptr) != 0) GTEST_SKIP() << "no mounting here";
  const auto folder = LocalJobStore(mounted).Create(SmallJob(), now_);
  EXPECT_EQ(umount(mounted.c_str()), 0);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ErrorCode::kCannotWrite);
  EXPECT_EQ(folder.error().message, "make " + (mounted / "jobs").string() + ": read-only file system");
}

TEST_F(JobStoreTest, AnUnwritableTonyHomeIsNamedInTheError_NotAsRoot) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ExpectError(LocalJobStore("/").Create(SmallJob(), now_), "make /jobs: permission denied");
}

// ---- known records

class KnownRecordsTest : public ::testing::Test {
 protected:
  std::string Bytes(const std::string& name) const {
    const auto record = records_.Get(name);
    EXPECT_TRUE(record.ok()) << record.error().message;
    return record.ok() && *record ? (*record)->bytes : "none";
  }

  TempFolder temp_;
  const std::shared_ptr<const RecordStore> store_ = std::make_shared<LocalRecordStore>(temp_.path());
  const CachedRecords records_{store_, {{"token", "abc"}, {"secrets", std::nullopt}}};
};

TEST_F(KnownRecordsTest, CachedRecordsAreReadWithoutTheStore) {
  // The folder is not a record, so a read of the store would be an error.
  std::filesystem::create_directory(temp_.path() / "token");
  std::filesystem::create_directory(temp_.path() / "secrets");
  EXPECT_FALSE(store_->Get("token").ok());
  EXPECT_EQ(Bytes("token"), "abc");
  EXPECT_EQ(Bytes("secrets"), "none");
}

TEST_F(KnownRecordsTest, ReadsAndWritesOfUncachedRecordsGoToTheStore) {
  EXPECT_EQ(Bytes("status.json"), "none");
  ASSERT_TRUE(store_->Replace("status.json", "new", Durability::kSurvivesPowerCut).ok());
  EXPECT_EQ(Bytes("status.json"), "new");
  ASSERT_TRUE(*records_.PutNew("acked.json", "1", Durability::kSurvivesPowerCut));
  ASSERT_TRUE(records_.Replace("am.lease", "2", Durability::kSurvivesPowerCut).ok());
  EXPECT_EQ((*store_->Get("acked.json"))->bytes, "1");
  EXPECT_EQ((*store_->Get("am.lease"))->bytes, "2");
  EXPECT_THAT(*records_.List(""), ::testing::IsSupersetOf({"acked.json", "am.lease", "status.json"}));
  ASSERT_TRUE(records_.Remove("acked.json").ok());
  EXPECT_EQ(Bytes("acked.json"), "none");
  EXPECT_EQ(records_.PlaceOf("token"), store_->PlaceOf("token"));
}

// ---- record store

constexpr auto kKept = Durability::kSurvivesPowerCut;

class RecordStoreTest : public ::testing::Test {
 protected:
  std::string Bytes(const std::string& name) const {
    const auto record = store_.Get(name);
    EXPECT_TRUE(record.ok()) << record.error().message;
    return record.ok() && *record ? (*record)->bytes : "none";
  }
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(temp_.path()), {}));
  }

  TempFolder temp_;
  const LocalRecordStore store_{temp_.path()};
};

TEST_F(RecordStoreTest, AReadReturnsTheLastWrittenVersionOfARecord) {
  EXPECT_EQ(Bytes("status.json"), "none");
  ASSERT_TRUE(store_.Replace("status.json", "old", Durability::kLostWithPower).ok());
  ASSERT_TRUE(store_.Replace("status.json", std::string_view("new\0", 4), kKept).ok());
  EXPECT_EQ(Bytes("status.json"), std::string("new\0", 4));
  EXPECT_EQ((*store_.Get("status.json"))->writer, "");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(RecordStoreTest, OnlyTheFirstOfManyWritersCreatesARecord) {
  std::atomic<int> first = 0;
  std::vector<std::jthread> racers;
  for (int i = 0; i < 8; ++i)
    racers.emplace_back([&, i] {
      const auto put = store_.PutNew("acked.json", StrCat(i), kKept);
      ASSERT_TRUE(put.ok()) << put.error().message;
      if (*put) ++first;
    });
  racers.clear();
  EXPECT_EQ(first, 1);
  const std::string bytes = Bytes("acked.json");
  EXPECT_FALSE(*store_.PutNew("acked.json", "later", kKept));
  EXPECT_EQ(Bytes("acked.json"), bytes);
  EXPECT_EQ(Files(), 1u) << "nothing is left of those who came late";
}

TEST_F(RecordStoreTest, RecordsOfAFolderAreListedAndRemoved) {
  EXPECT_THAT(*store_.List("kill-requests"), IsEmpty());
  ASSERT_TRUE(store_.Replace("kill-requests/a.json", "1", Durability::kLostWithPower).ok());
  ASSERT_TRUE(store_.Replace("kill-requests/b.json", "2", Durability::kLostWithPower).ok());
  std::ofstream(temp_.path() / "kill-requests/.c.json.4f") << "half";
  EXPECT_THAT(*store_.List("kill-requests"), UnorderedElementsAre("a.json", "b.json"));
  ASSERT_TRUE(store_.Remove("kill-requests/a.json").ok());
  EXPECT_TRUE(store_.Remove("kill-requests/a.json").ok()) << "again";
  EXPECT_THAT(*store_.List("kill-requests"), UnorderedElementsAre("b.json"));
}

TEST_F(RecordStoreTest, AnUnreadableOrUnwritableRecordIsNamedInTheError) {
  std::filesystem::create_directory(temp_.path() / "status.json");
  EXPECT_THAT(store_.Get("status.json").error().message, HasSubstr(store_.PlaceOf("status.json")));
  EXPECT_THAT(store_.Replace("status.json", "", kKept).error().message, HasSubstr(store_.PlaceOf("status.json")));
  EXPECT_THAT(store_.Remove("status.json").error().message, HasSubstr(store_.PlaceOf("status.json")));
  EXPECT_EQ(store_.PutNew("missing/acked.json", "", kKept).error().code, ErrorCode::kCannotWrite);
}

TEST_F(RecordStoreTest, AWatcherIsNotifiedWhenARecordIsReplaced) {
  EventLoop loop;
  int told = 0;
  const auto watch = store_.Watch(loop, [&] { ++told; });
  ASSERT_TRUE(watch.ok()) << watch.error().message;
  ASSERT_TRUE(store_.Replace("am.lease", "1", Durability::kLostWithPower).ok());
  EXPECT_TRUE(RunUntil(loop, [&] { return told > 0; }));
}

}  // namespace
}  // namespace tony
