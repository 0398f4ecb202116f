// Tests of records of request ids in HDFS, while answers get lost or come late, and submits from several machines meet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/base/strings.h"
#include "runtime/os/sha256.h"
#include "runtime/records/local_request_index.h"
#include "runtime/yarn/yarn_jobs.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/records/hdfs/fake_hdfs.h"

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Fate = FakeHdfs::Fate;

const RequestId kRequest{"airflow://dag/run/task/-1"};
const OwnerToken kOwner{"o1"};
const JobId kFirstJob{"application_1700000000000_0001"};
const JobId kOtherJob{"application_1700000000000_0002"};
const Instant kNow = FromMillis(1'795'253'415'000);
const Instant kFuture = FromMillis(4'000'000'000'000);

class RequestBed {
 public:
  explicit RequestBed(size_t tries = 4) : tries_(tries) { EXPECT_TRUE(hdfs->MakeFolders("/u/.tony/jobs").ok()); }

  // Returns the index of one machine. Machines share nothing except HDFS.
  RecordRequestIndex Index(std::shared_ptr<const RequestIndex> older = nullptr) const {
    RequestPlace place = RequestsBy(hdfs, cluster, Tries(tries_));
    place.make = [this](const std::string& folder) {
      const std::string path = StrCat(kRequests, "/", folder);
      return HdfsBytes(hdfs, Tries(tries_)).Ask([&](HdfsCalls& calls) { return calls.MakeFolders(path); });
    };
    place.older = std::move(older);
    return RecordRequestIndex(std::move(place));
  }
  HdfsRecordStore RecordsOfJob(const JobId& job) const {
    return HdfsRecordStore(hdfs, {"", FolderOf(job), "eve"}, Tries(tries_));
  }
  static std::string FolderOf(const JobId& job) { return StrCat("/u/.tony/jobs/", job.value); }
  void UploadJob(const JobId& job) const { EXPECT_TRUE(hdfs->MakeFolders(FolderOf(job)).ok()); }
  Result<bool> Make(const JobId& job) const { return RecordsOfJob(job).PutNew(kSubmissionRecord, "{}", kKept); }
  void LayAndMake(const JobId& job) const {
    UploadJob(job);
    EXPECT_TRUE(Make(job).ok());
  }
  static std::string NameOf(const RequestId& request, const std::string& what) {
    const std::string hash = Sha256Hex(request.value);
    return StrCat(kRequests, "/", hash.substr(0, 2), "/", hash.substr(2), ".", what, ".json");
  }
  std::vector<std::string> Requests() const {
    std::vector<std::string> files;
    for (const std::string& file : hdfs->Files())
      if (file.starts_with(kRequests)) files.push_back(file);
    return files;
  }
  static RequestRecord After(const std::optional<RequestRecord>& record, const JobId& job) {
    RequestRecord next{.job = job};
    if (record) next.revision = record->revision;
    if (record) next.coming = record->coming;
    return next;
  }

  static constexpr const char* kRequests = "/u/.tony/requests";
  const std::shared_ptr<FakeHdfs> hdfs = std::make_shared<FakeHdfs>();
  const YarnCluster cluster{.name_node = {"nn", 8020}, .user = "eve", .home = "/u"};

 private:
  const size_t tries_;
};

class YarnRequestsTest : public testing::Test, protected RequestBed {
 protected:
  const RecordRequestIndex here_ = Index(), there_ = Index();
};

TEST_F(YarnRequestsTest, ARequestRecordWrittenOnOneMachineIsReadOnAnotherMachine) {
  EXPECT_EQ(*there_.Read(kRequest), std::nullopt);
  LayAndMake(kFirstJob);
  const RequestRecord record{3, kFirstJob, 2, {"o0"}, {{{"files", "f1"}}}, {"monday"}};
  ASSERT_TRUE(*here_.Write(kRequest, record));
  auto read = *there_.Read(kRequest);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->revision, 1);
  read->revision = 0;
  EXPECT_EQ(*read, record);
  EXPECT_EQ(*there_.Read({"another"}), std::nullopt);
  EXPECT_THAT(Requests(), ElementsAre(NameOf(kRequest, "1")));
}

TEST_F(YarnRequestsTest, OnlyTheFirstOfTwoConcurrentUpdatesOfARequestRecordIsWritten) {
  LayAndMake(kFirstJob);
  ASSERT_TRUE(*here_.Write(kRequest, {.job = kFirstJob}));
  EXPECT_FALSE(*there_.Write(kRequest, {.job = kOtherJob})) << "the first one";
  const auto seen = *here_.Read(kRequest);
  ASSERT_TRUE(*there_.Write(kRequest, After(*there_.Read(kRequest), kFirstJob)));
  EXPECT_FALSE(*here_.Write(kRequest, After(seen, kOtherJob)));
  EXPECT_EQ((**here_.Read(kRequest)).job, kFirstJob);
  EXPECT_EQ((**here_.Read(kRequest)).revision, 2);
}

TEST_F(YarnRequestsTest, RequestIdsAndOwnerTokensMayContainAnyByteExceptNul) {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
  LayAndMake(kFirstJob);
  for (const std::string& id : {every, std::string(4096, '\xff'), std::string("../../x")}) {
    ASSERT_TRUE(*here_.Write({id}, {1, kFirstJob, 1, {every}}));
    EXPECT_EQ((**there_.Read({id})).adopter, OwnerToken{every});
    ASSERT_TRUE(here_.Revoke({id}, {every}, kNow).ok());
    EXPECT_TRUE(*there_.IsRevoked({id}, {every}, kNow));
  }
  EXPECT_EQ(here_.Write({""}, {}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(here_.Read({std::string("a\0b", 3)}).error().code, ErrorCode::kUsage);
}

TEST_F(YarnRequestsTest, ARevocationAppliesOnlyToTheNamedOwnerAndExpiresAfterTenMinutes) {
  EXPECT_FALSE(*there_.IsRevoked(kRequest, kOwner, kNow));
  ASSERT_TRUE(here_.Revoke(kRequest, kOwner, kNow).ok());
  EXPECT_TRUE(*there_.IsRevoked(kRequest, kOwner, kNow + kRevocationLasts - Duration(1)));
  EXPECT_FALSE(*there_.IsRevoked(kRequest, kOwner, kNow + kRevocationLasts));
  EXPECT_FALSE(*there_.IsRevoked(kRequest, {"o2"}, kNow));
  EXPECT_EQ(*there_.Read(kRequest), std::nullopt);
}

TEST_F(YarnRequestsTest, AJobThatIsBeingCreatedIsReportedTogetherWithThePreviousJob) {
  LayAndMake(kFirstJob);
  RequestRecord record{.job = kOtherJob, .job_number = 1};
  record.before = {kFirstJob, 1, {"o0"}};
  UploadJob(kOtherJob);
  ASSERT_TRUE(*here_.Write(kRequest, record));
  const auto seen = **there_.Read(kRequest);
  EXPECT_EQ(seen.job, kFirstJob);
  EXPECT_EQ(seen.coming, kOtherJob);
  ASSERT_TRUE(*Make(kOtherJob));
  EXPECT_EQ((**there_.Read(kRequest)).job, kOtherJob);
  EXPECT_EQ((**there_.Read(kRequest)).coming, std::nullopt);
}

TEST_F(YarnRequestsTest, AJobThatIsBeingCreatedIsCancelledByANewerRequestRecord) {
  UploadJob(kFirstJob);
  ASSERT_TRUE(*here_.Write(kRequest, {.job = kFirstJob}));
  const auto seen = *there_.Read(kRequest);
  ASSERT_EQ(seen->coming, kFirstJob);
  UploadJob(kOtherJob);
  ASSERT_TRUE(*there_.Write(kRequest, After(seen, kOtherJob)));
  EXPECT_FALSE(Make(kFirstJob).ok()) << "its submit stood still, and goes on";
  EXPECT_EQ(hdfs->GetEntry(FolderOf(kFirstJob)).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(*Make(kOtherJob));
  EXPECT_EQ((**here_.Read(kRequest)).job, kOtherJob);
}

// A job with a lower number may not be made after this.
TEST_F(YarnRequestsTest, AJobThatIsBeingCreatedIsCancelledByAHigherSubmissionNumber) {
  UploadJob(kFirstJob);
  ASSERT_TRUE(*here_.Write(kRequest, {.newest_number = 1, .job = kFirstJob, .job_number = 1}));
  RequestRecord raised = **there_.Read(kRequest);
  EXPECT_EQ(raised.job, std::nullopt);
  raised.newest_number = 2;
  ASSERT_TRUE(*there_.Write(kRequest, raised));
  EXPECT_FALSE(Make(kFirstJob).ok());
  EXPECT_EQ((**here_.Read(kRequest)).newest_number, 2);
}

TEST_F(YarnRequestsTest, ARequestRecordIsNotReplacedIfItsJobWasCreatedAfterTheRecordWasRead) {
  UploadJob(kFirstJob);
  ASSERT_TRUE(*here_.Write(kRequest, {.job = kFirstJob}));
  const auto seen = *there_.Read(kRequest);
  ASSERT_TRUE(*Make(kFirstJob));
  EXPECT_FALSE(*there_.Write(kRequest, After(seen, kOtherJob)));
  EXPECT_EQ((**there_.Read(kRequest)).job, kFirstJob);
}

// The job's folder has another name while a collector gives the job up.
TEST_F(YarnRequestsTest, AJobIsStillReportedAsBeingCreatedIfAGarbageCollectorRenamedItsFolder) {
  LayAndMake(kFirstJob);
  ASSERT_TRUE(*here_.Write(kRequest, {.job = kFirstJob}));
  const std::string old = StrCat("/u/.tony/jobs/.old-", kFirstJob.value);
  ASSERT_TRUE(*hdfs->Rename(FolderOf(kFirstJob), old, hadoop::HdfsRename::kIfNew));
  EXPECT_EQ((**there_.Read(kRequest)).coming, kFirstJob);
  int looks = 0;
  hdfs->before = [&](std::string_view call) {
    // The calls query the record, the submission and the folder; the fourth queries the folder's other name.
    if (call != "GETFILESTATUS" || ++looks != 4) return;
    hdfs->before = nullptr;
    ASSERT_TRUE(*hdfs->Rename(old, FolderOf(kFirstJob), hadoop::HdfsRename::kIfNew));
  };
  EXPECT_EQ((**there_.Read(kRequest)).coming, kFirstJob);
  EXPECT_EQ((**there_.Read(kRequest)).coming, std::nullopt);
}

TEST_F(YarnRequestsTest, ARemovedJobIsNotReportedAsStillBeingCreated) {
  LayAndMake(kFirstJob);
  ASSERT_TRUE(*here_.Write(kRequest, {.job = kFirstJob}));
  ASSERT_TRUE(*hdfs->Remove(FolderOf(kFirstJob)));
  EXPECT_EQ((**there_.Read(kRequest)).coming, std::nullopt);
}

TEST_F(YarnRequestsTest, ReadingADamagedRequestRecordFails) {
  ASSERT_TRUE(*here_.Write(kRequest, {.newest_number = 1}));
  const HdfsRecordStore store(hdfs, {"hdfs://nn:8020", kRequests, "eve"}, Tries(1));
  const std::string name = NameOf(kRequest, "1").substr(std::string(kRequests).size() + 1);
  for (const std::string text : {"", "{", R"({"schema":3})"}) {
    ASSERT_TRUE(store.Replace(name, text, kKept).ok());
    ExpectError(there_.Read(kRequest), "~read hdfs://nn:8020/u/.tony/requests/");
  }
  ASSERT_TRUE(*here_.Write({"another"}, {.newest_number = 1}));
  ASSERT_TRUE(*hdfs->Rename(NameOf({"another"}, "1"), NameOf(kRequest, "1"), hadoop::HdfsRename::kOverwrite));
  EXPECT_THAT(there_.Read(kRequest).error().message, HasSubstr("belongs to another request id"));
}

TEST_F(YarnRequestsTest, LocalRequestRecordsOfAnOlderReleaseAreReadAndCopiedToHdfs) {
  const TempFolder home;
  const auto older = std::make_shared<LocalRequestIndex>(
      home.path() / "yarn", [this](const JobId& job) { return Result<bool>(hdfs->GetEntry(FolderOf(job)).ok()); });
  LayAndMake(kFirstJob);
  LayAndMake(kOtherJob);
  RequestRecord record{2, kOtherJob, 2};
  record.before = {kFirstJob, 1, {}};
  ASSERT_TRUE(*older->Write(kRequest, record));
  const RecordRequestIndex index = Index(older);
  EXPECT_EQ(**index.Read(kRequest), record);
  EXPECT_EQ(*there_.Read(kRequest), std::nullopt) << "another machine has not heard of it";
  RequestRecord next = **index.Read(kRequest);
  next.newest_number = 3;
  ASSERT_TRUE(*index.Write(kRequest, next));
  EXPECT_EQ((**there_.Read(kRequest)).job, kOtherJob);
  EXPECT_EQ(*older->Sweep(kFuture, kNow, false), 0) << "its job is there";
}

TEST_F(YarnRequestsTest, GarbageCollectionRemovesOldRequestRecordsWithoutAJob) {
  LayAndMake(kFirstJob);
  ASSERT_TRUE(*here_.Write({"with a job"}, {.job = kFirstJob}));
  ASSERT_TRUE(*here_.Write({"without"}, {.job = kOtherJob}));
  ASSERT_TRUE(*here_.Write({"never had one"}, {.newest_number = 1}));
  EXPECT_EQ(*there_.Sweep(FromMillis(0), kNow, false), 0);
  EXPECT_EQ(*there_.Sweep(kFuture, kNow, /*dry_run=*/true), 2);
  EXPECT_EQ(Requests().size(), 3u);
  EXPECT_EQ(*there_.Sweep(kFuture, kNow, false), 2);
  EXPECT_THAT(Requests(), ElementsAre(NameOf({"with a job"}, "1")));
  EXPECT_EQ(*there_.Sweep(kFuture, kNow, false), 0);
}

TEST_F(YarnRequestsTest, GarbageCollectionKeepsRecordsOfPreviousJobsAndOfJobsBeingCreated) {
  LayAndMake(kFirstJob);
  RequestRecord record{.job = kOtherJob};
  record.before = {kFirstJob, 1, {}};
  ASSERT_TRUE(*here_.Write({"before"}, record));
  EXPECT_EQ(*there_.Sweep(kFuture, kNow, false), 0);
  UploadJob(kOtherJob);
  ASSERT_TRUE(*here_.Write({"coming"}, {.job = kOtherJob}));
  EXPECT_EQ(*there_.Sweep(kFuture, kNow, false), 0);
}

TEST_F(YarnRequestsTest, GarbageCollectionRemovesOlderRecordRevisionsAndExpiredRevocations) {
  LayAndMake(kFirstJob);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(*here_.Write(kRequest, After(*here_.Read(kRequest), kFirstJob)));
  ASSERT_TRUE(here_.Revoke(kRequest, kOwner, kNow).ok());
  ASSERT_TRUE(here_.Revoke(kRequest, {"o2"}, kNow + Duration(1)).ok());
  EXPECT_EQ(*there_.Sweep(FromMillis(0), kNow + kRevocationLasts, false), 0);
  EXPECT_THAT(Requests(), ElementsAre(NameOf(kRequest, "3"), NameOf(kRequest, "revoked-" + Sha256Hex("o2"))));
  EXPECT_EQ((**there_.Read(kRequest)).revision, 3);
  ASSERT_TRUE(here_.Revoke({"only revoked"}, kOwner, kNow).ok());
  EXPECT_EQ(*there_.Sweep(kFuture, kNow, false), 0);
  EXPECT_EQ(*there_.Sweep(kFuture, kNow + kRevocationLasts, false), 1);
}

// The submit of the old record was suspended for hours. A new record starts at revision 1 again.
TEST_F(YarnRequestsTest, AnUpdateOfARemovedRequestRecordIsRejected) {
  ASSERT_TRUE(*here_.Write(kRequest, {.newest_number = 1}));
  const auto seen = *here_.Read(kRequest);
  ASSERT_EQ(*there_.Sweep(kFuture, kNow, false), 1);
  UploadJob(kFirstJob);
  ASSERT_TRUE(*there_.Write(kRequest, {.job = kFirstJob}));
  ASSERT_TRUE(*hdfs->Remove(NameOf(kRequest, "1")));  // the new record is removed, too
  EXPECT_FALSE(*here_.Write(kRequest, After(seen, kOtherJob)));
  EXPECT_THAT(Requests(), IsEmpty());
}

// A seed of the random test below found this case.
TEST_F(YarnRequestsTest, AWriteOfTheFirstRevisionOfARequestRecordFailsIfALaterRevisionExists) {
  LayAndMake(kFirstJob);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(*here_.Write(kRequest, After(*here_.Read(kRequest), kFirstJob)));
  ASSERT_EQ(*there_.Sweep(FromMillis(0), kNow, false), 0);
  ASSERT_THAT(Requests(), ElementsAre(NameOf(kRequest, "2")));
  EXPECT_FALSE(*there_.Write(kRequest, After(std::nullopt, kOtherJob))) << "it read when there was none";
  EXPECT_EQ((**here_.Read(kRequest)).job, kFirstJob);
}

TEST_F(YarnRequestsTest, AWriteOfARequestRecordSucceedsEvenIfAnHdfsAnswerIsLost) {
  for (const Fate fate : {Fate::kUnheard, Fate::kNotDone, Fate::kRepeated}) {
    const RequestId request{StrCat("r", static_cast<int>(fate))};
    for (const std::string_view lost : {"CREATE", "SETXATTR", "RENAME", "LISTSTATUS"}) {
      const auto seen = *here_.Read(request);
      bool is_lost = false;
      hdfs->fate = [&](std::string_view call) {
        return call != lost || std::exchange(is_lost, true) ? Fate::kAnswered : fate;
      };
      const auto written = here_.Write(request, After(seen, kFirstJob));
      ASSERT_TRUE(written.ok() && *written) << lost;
      hdfs->fate = nullptr;
    }
    EXPECT_EQ((**there_.Read(request)).revision, 4);
  }
}

// The answer to the rename is lost, and the query that would find its result fails once.
TEST(YarnRequestsOnce, ARequestRecordIsWrittenEvenIfTheRenameResponseIsLostAndTheFirstCheckFails) {
  const RequestBed bed(1);
  int lost = 0;
  bed.hdfs->fate = [&](std::string_view call) {
    if (lost == 0 && call == "RENAME") return ++lost, Fate::kUnheard;
    if (lost == 1 && call == "GETFILESTATUS") return ++lost, Fate::kNotDone;
    return Fate::kAnswered;
  };
  const auto written = bed.Index().Write(kRequest, {.newest_number = 1});
  ASSERT_EQ(lost, 2);
  EXPECT_TRUE(written.ok() && *written);
}

// Submits of one request from several machines interrupt each other at random calls, and some of them die. Answers get
// lost, abandoned calls are executed late, and collections run. Only one job may result.
class RequestRace {
 public:
  explicit RequestRace(uint32_t seed) : random_(seed) {
    bed_.hdfs->before = [this](std::string_view) {
      while (OneOf(4) == 0 && bed_.hdfs->RunLate(random_())) {
      }
      if (depth_ > 0 && depth_ < 4 && OneOf(15) == 0) Begin();
    };
    bed_.hdfs->fate = [this](std::string_view) {
      return OneOf(100) < 12 ? static_cast<Fate>(1 + OneOf(4)) : Fate::kAnswered;
    };
  }
  void Run() {
    for (int i = 0; i < 4; ++i) Begin();
    bed_.hdfs->before = nullptr;
    bed_.hdfs->fate = nullptr;
    while (bed_.hdfs->RunLate(random_())) {
    }
    depth_ = 1;
    const auto last = Submit(/*mortal=*/false);
    ASSERT_TRUE(last) << "the last one, whom nobody disturbs";
    ASSERT_THAT(Made(), ElementsAre(last->value));
    for (const JobId& job : found_) EXPECT_EQ(job, *last) << "who was told of a job was told of this one";
  }

 private:
  uint32_t OneOf(uint32_t count) { return random_() % count; }

  void Begin() {
    ++depth_;
    if (OneOf(6) == 0) {
      (void)bed_.Index().Sweep(OneOf(2) ? kFuture : FromMillis(0), kNow, false);
    } else if (const auto job = Submit(/*mortal=*/true)) {
      found_.push_back(*job);
    }
    --depth_;
  }

  // Follows the steps of a client's submit. Returns nullopt if the submit died, or if it has to be tried again.
  std::optional<JobId> Submit(bool mortal) {
    const RecordRequestIndex index = bed_.Index();
    const JobId own{StrCat("application_1700000000000_", 1000 + jobs_++)};
    const auto dies = [&] { return mortal && OneOf(12) == 0; };
    for (int round = 0;; ++round) {
      if (round == 100) ADD_FAILURE() << "it goes round for ever";
      if (round == 100 || dies()) return std::nullopt;
      const auto seen = index.Read(kRequest);
      if (!seen.ok()) return std::nullopt;
      if (*seen && (*seen)->job && !(*seen)->coming) {
        const auto there = bed_.RecordsOfJob(*(*seen)->job).Get(kSubmissionRecord);
        if (!there.ok()) return std::nullopt;
        if (*there) return (*seen)->job;
      }
      if (dies()) return std::nullopt;
      const HdfsBytes bytes(bed_.hdfs, Tries(4));
      const auto folder = RequestBed::FolderOf(own);
      const bool is_laid = laid_.contains(own.value);
      if (!is_laid && !bytes.PutFolder(folder, "/u/.tony/jobs").ok()) return std::nullopt;
      laid_.insert(own.value);
      if (dies()) return std::nullopt;
      const auto written = index.Write(kRequest, RequestBed::After(*seen, own));
      if (!written.ok()) return std::nullopt;
      if (!*written) continue;
      if (dies()) return std::nullopt;
      if (const auto made = bed_.Make(own); made.ok()) return own;
      (void)bytes.Ask([&](HdfsCalls& calls) { return calls.Remove(folder); });
      return std::nullopt;
    }
  }

  std::vector<std::string> Made() const {
    std::vector<std::string> jobs;
    for (const std::string& file : bed_.hdfs->Files()) {
      const size_t end = file.find(StrCat("/", kSubmissionRecord));
      if (end != std::string::npos) jobs.push_back(file.substr(sizeof "/u/.tony/jobs", end - sizeof "/u/.tony/jobs"));
    }
    return jobs;
  }

  std::mt19937 random_;
  RequestBed bed_;
  int depth_ = 0, jobs_ = 0;
  std::set<std::string> laid_;
  std::vector<JobId> found_;
};

TEST(YarnRequestsSeeds, ConcurrentSubmitsOfARequestCreateOneJob) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    RequestRace(seed).Run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tony
