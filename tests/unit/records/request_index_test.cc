#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/records/local_job_store.h"
#include "runtime/records/local_request_index.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Duration kLong{60'000};

class RequestIndexTest : public ::testing::Test {
 protected:
  fs::path FolderOf(const RequestId& request) const { return home_ / "requests" / Sha256Hex(request.value); }
  void MakeJob(const std::string& job) { fs::create_directories(home_ / "jobs" / job); }

  TempFolder temp_;
  const fs::path home_ = temp_.path() / "home";
  const LocalRequestIndex index_{home_};
  const RequestId request_{"airflow://dag/run/task/-1"};
  const OwnerToken owner_{"o1"};
  const RequestRecord record_{3,         JobId{"local-1"}, 2, OwnerToken{"o0"}, {{{"files", "f1"}, {"roles", "r1"}}},
                              {"monday"}};
  const Instant now_ = FromMillis(1'795'253'415'000);
};

TEST_F(RequestIndexTest, AWrittenRequestRecordIsReadBack) {
  EXPECT_EQ(*index_.Read(request_), std::nullopt);
  for (const RequestRecord& record : {RequestRecord{.newest_number = 4}, record_, RequestRecord{}}) {
    ASSERT_TRUE(index_.Write(request_, record).ok());
    EXPECT_EQ(*index_.Read(request_), record);
  }
  EXPECT_EQ(*index_.Read({"another"}), std::nullopt);
}

TEST_F(RequestIndexTest, ReadingARequestRecordReturnsThePreviousJobIfTheNewJobWasNeverCreated) {
  const RequestRecord before{.newest_number = 2,
                             .job = JobId{"old"},
                             .job_number = 2,
                             .adopter = {"o0"},
                             .digest = {{{"files", "f0"}}},
                             .run = {"sunday"}};
  RequestRecord record{.newest_number = 2, .job = JobId{"new"}, .job_number = 2};
  record.before = {JobId{"old"}, 2, {"o0"}, before.digest, before.run};
  MakeJob("old");
  ASSERT_TRUE(index_.Write(request_, record).ok());
  EXPECT_EQ(*index_.Read(request_), before);
  EXPECT_EQ(*index_.Sweep(FromMillis(ToMillis(now_) * 2), now_, /*dry_run=*/true), 0);
  MakeJob("new");
  EXPECT_EQ(*index_.Read(request_), record);
}

TEST_F(RequestIndexTest, ARequestRecordWithoutDigestsFromAnEarlierReleaseIsRead) {
  ASSERT_TRUE(index_.Write(request_, {}).ok());
  MakeJob("local-1");
  std::ofstream(FolderOf(request_) / "record.json", std::ios::trunc)
      << R"({"schema":1,"request_id":"airflow://dag/run/task/-1","newest_submission":3,"job":"local-1","submission":2})";
  EXPECT_EQ(*index_.Read(request_), (RequestRecord{3, JobId{"local-1"}, 2}));
}

TEST_F(RequestIndexTest, FilesAndFoldersOfARequestAreAccessibleOnlyToTheirOwner) {
  const mode_t before = umask(0);
  ASSERT_TRUE(index_.Lock(request_, kLong).ok());
  ASSERT_TRUE(index_.Write(request_, record_).ok());
  ASSERT_TRUE(index_.Revoke(request_, owner_, now_).ok());
  umask(before);
  for (const auto& entry : fs::recursive_directory_iterator(home_)) {
    const auto expected = entry.is_directory() ? fs::perms(0700) : fs::perms(0600);
    EXPECT_EQ(entry.status().permissions(), expected) << entry.path();
  }
}

TEST_F(RequestIndexTest, RequestIdsAndOwnerTokensMayContainAnyByteExceptNul) {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) every.push_back(static_cast<char>(byte));
  for (const std::string& id : {every, std::string(4096, '\xff'), std::string("../../x"), std::string("%41")}) {
    const RequestRecord record{1, JobId{"j"}, 1, OwnerToken{every}};
    ASSERT_TRUE(index_.Write({id}, record).ok());
    EXPECT_EQ(*index_.Read({id}), record);
    ASSERT_TRUE(index_.Revoke({id}, {every}, now_).ok());
    EXPECT_TRUE(*index_.IsRevoked({id}, {every}, now_));
  }
  EXPECT_EQ(*index_.Read({"A"}), std::nullopt);
}

TEST_F(RequestIndexTest, ARequestIdIsRejectedIfItIsEmptyOrTooLongOrContainsNul) {
  const std::pair<std::string, std::string> wrong[] = {
      {"", "the request id is empty"},
      {std::string(4097, 'a'), "the request id has 4097 bytes, expected at most 4096"},
      {std::string("a\0b", 3), "the request id contains a NUL byte"}};
  for (const auto& [id, message] : wrong) {
    EXPECT_EQ(RequestIndex::CheckId({id}).error().message, message);
    EXPECT_EQ(index_.Lock({id}, kLong).error().code, ErrorCode::kUsage);
    EXPECT_EQ(index_.Read({id}).error().message, message);
    EXPECT_EQ(index_.Write({id}, {}).error().message, message);
    EXPECT_EQ(index_.Revoke({id}, owner_, now_).error().message, message);
    EXPECT_EQ(index_.IsRevoked({id}, owner_, now_).error().message, message);
  }
  EXPECT_FALSE(fs::exists(home_));
}

TEST_F(RequestIndexTest, ADamagedRequestRecordIsRejectedWithItsFileName) {
  const fs::path file = FolderOf(request_) / "record.json";
  ASSERT_TRUE(MakeFolder(file.parent_path()).ok());
  const std::string whole = R"("schema":1,"request_id":"airflow://dag/run/task/-1")";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"schema\":3}"), "{" + whole + "}",
        "{" + whole + R"(,"newest_submission":1,"job":"j"})", "{" + whole + R"(,"newest_submission":1,"job":7})",
        "{" + whole + R"(,"newest_submission":"1"})",
        std::string(R"({"schema":1,"request_id":"%4","newest_submission":1})"),
        std::string(R"({"schema":1,"request_id":"%4z","newest_submission":1})")}) {
    std::ofstream(file, std::ios::trunc) << text;
    const auto read = index_.Read(request_);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(read.error().message.find("read " + file.string() + ": "), 0u) << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(RequestIndexTest, ARequestRecordOfAnotherRequestIdIsRejected) {
  ASSERT_TRUE(index_.Write({"another"}, record_).ok());
  fs::rename(FolderOf({"another"}), FolderOf(request_));
  ExpectError(index_.Read(request_), "the record " + (FolderOf(request_) / "record.json").string() +
                                         " belongs to another request id, so it is damaged or was copied there");
}

TEST_F(RequestIndexTest, ARevocationAppliesOnlyToTheNamedOwnerAndExpiresAfterTenMinutes) {
  EXPECT_FALSE(*index_.IsRevoked(request_, owner_, now_));
  ASSERT_TRUE(index_.Revoke(request_, owner_, now_).ok());
  EXPECT_TRUE(*index_.IsRevoked(request_, owner_, now_));
  EXPECT_TRUE(*index_.IsRevoked(request_, owner_, now_ + kRevocationLasts - Duration(1)));
  EXPECT_FALSE(*index_.IsRevoked(request_, owner_, now_ + kRevocationLasts));
  EXPECT_FALSE(*index_.IsRevoked(request_, {"o2"}, now_));
  EXPECT_FALSE(*index_.IsRevoked(request_, {}, now_));
  EXPECT_FALSE(*index_.IsRevoked({"another"}, owner_, now_));
  EXPECT_EQ(index_.Revoke(request_, {}, now_).error().code, ErrorCode::kUsage);
}

TEST_F(RequestIndexTest, ADamagedRevocationFileIsNamedInTheError) {
  ASSERT_TRUE(index_.Revoke(request_, owner_, now_).ok());
  const fs::path file = FolderOf(request_) / ("revoked-" + Sha256Hex(owner_.value) + ".json");
  std::ofstream(file, std::ios::trunc) << "{\"schema\":1}";
  const auto revoked = index_.IsRevoked(request_, owner_, now_);
  ASSERT_FALSE(revoked.ok());
  EXPECT_EQ(revoked.error().message.find("read " + file.string() + ": "), 0u) << revoked.error().message;
}

TEST_F(RequestIndexTest, AnOwnerCanBeRevokedWhileTheRequestLockIsHeld) {
  const auto lock = Must(index_.Lock(request_, kLong));
  ASSERT_TRUE(index_.Revoke(request_, owner_, now_).ok());
  EXPECT_TRUE(*index_.IsRevoked(request_, owner_, now_));
}

TEST_F(RequestIndexTest, LockingARequestFailsIfTheLockIsHeldPastTheTimeout) {
  auto lock = Must(index_.Lock(request_, kLong));
  const auto other = index_.Lock({"another"}, Duration(0));
  EXPECT_TRUE(other.ok());
  ExpectError(index_.Lock(request_, Duration(0)), ErrorCode::kUnavailable,
              "cannot lock " + (FolderOf(request_) / "lock").string() + ": another process holds the lock");
  std::jthread waits([&] { EXPECT_TRUE(index_.Lock(request_, kLong).ok()); });
  lock.reset();
}

// Each process does what a submit does: it reads the record, and makes the job if it finds none.
TEST_F(RequestIndexTest, OnlyOneOf20ProcessesThatLockARequestCreatesItsRecord) {
  constexpr int kProcesses = 20;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto lock = index_.Lock(request_, kLong);
      const auto record = index_.Read(request_);
      if (!lock.ok() || !record.ok()) _exit(2);
      if (*record) _exit(0);
      _exit(index_.Write(request_, {.job = JobId{"mine"}}).ok() ? 1 : 2);
    }
    children.push_back(child);
  }
  int found_nothing = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_NE(WEXITSTATUS(status), 2);
    found_nothing += WEXITSTATUS(status);
  }
  EXPECT_EQ(found_nothing, 1);
}

TEST_F(RequestIndexTest, TwentyThreadsLoseNoUpdateOfARequestDuringGarbageCollection) {
  constexpr int kThreads = 20;
  MakeJob("j");
  std::jthread sweeper([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_TRUE(index_.Sweep(FromMillis(0), now_, false).ok());
  });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        const auto lock = index_.Lock(request_, kLong);
        ASSERT_TRUE(lock.ok()) << lock.error().message;
        const auto record = index_.Read(request_);
        ASSERT_TRUE(record.ok());
        const int64_t number = *record ? (**record).newest_number + 1 : 1;
        ASSERT_TRUE(index_.Write(request_, {number, JobId{"j"}, number}).ok());
      });
    }
  }
  EXPECT_EQ((**index_.Read(request_)).newest_number, kThreads);
}

TEST_F(RequestIndexTest, NoRevocationIsLostDuringGarbageCollection) {
  std::jthread sweeper([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_TRUE(index_.Sweep(FromMillis(0), now_, false).ok());
  });
  for (int i = 0; i < 50; ++i) {
    const RequestId request{"r" + std::to_string(i)};
    Must(index_.Revoke(request, owner_, now_));
    EXPECT_TRUE(*index_.IsRevoked(request, owner_, now_));
  }
}

TEST_F(RequestIndexTest, GarbageCollectionRemovesOldRequestsWithoutAJob) {
  const Instant future = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()) + kLong;
  MakeJob("here");
  ASSERT_TRUE(index_.Write({"with a job"}, {1, JobId{"here"}, 1}).ok());
  ASSERT_TRUE(index_.Write({"without"}, {1, JobId{"gone"}, 1}).ok());
  ASSERT_TRUE(index_.Write({"never had one"}, {.newest_number = 1}).ok());
  EXPECT_EQ(*index_.Sweep(FromMillis(0), now_, false), 0);
  EXPECT_EQ(*index_.Sweep(future, now_, /*dry_run=*/true), 2);
  EXPECT_TRUE(fs::exists(FolderOf({"without"})));
  EXPECT_EQ(*index_.Sweep(future, now_, false), 2);
  EXPECT_FALSE(fs::exists(FolderOf({"without"})));
  EXPECT_FALSE(fs::exists(FolderOf({"never had one"})));
  EXPECT_NE(*index_.Read({"with a job"}), std::nullopt);
  EXPECT_EQ(*index_.Sweep(future, now_, false), 0);
}

TEST_F(RequestIndexTest, GarbageCollectionRemovesOnlyExpiredRevocations) {
  MakeJob("here");
  ASSERT_TRUE(index_.Write(request_, {1, JobId{"here"}, 1}).ok());
  ASSERT_TRUE(index_.Revoke(request_, owner_, now_).ok());
  ASSERT_TRUE(index_.Revoke(request_, {"o2"}, now_ + Duration(1000)).ok());
  ASSERT_TRUE(index_.Sweep(FromMillis(0), now_ + kRevocationLasts, false).ok());
  EXPECT_FALSE(*index_.IsRevoked(request_, owner_, now_));
  EXPECT_TRUE(*index_.IsRevoked(request_, {"o2"}, now_ + kRevocationLasts));
  ASSERT_TRUE(index_.Revoke({"only revoked"}, owner_, now_).ok());
  EXPECT_EQ(*index_.Sweep(FromMillis(0), now_, false), 0);
  EXPECT_EQ(*index_.Sweep(FromMillis(0), now_ + kRevocationLasts, false), 1);
}

TEST_F(RequestIndexTest, GarbageCollectionKeepsLockedAndDamagedRequests) {
  const Instant future = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()) + kLong;
  ASSERT_TRUE(index_.Write(request_, {.newest_number = 1}).ok());
  const auto lock = Must(index_.Lock(request_, kLong));
  ASSERT_TRUE(index_.Write({"damaged"}, {.newest_number = 1}).ok());
  std::ofstream(FolderOf({"damaged"}) / "record.json", std::ios::trunc) << "{";
  EXPECT_EQ(*index_.Sweep(future, now_, false), 0);
  EXPECT_TRUE((*index_.Read(request_)).has_value());
  EXPECT_FALSE(index_.Read({"damaged"}).ok());
}

// ---- finished names

constexpr size_t kJobs = 100;  // smallest number worth a file

class FinishedNamesTest : public ::testing::Test {
 protected:
  FinishedNamesTest() {
    for (size_t number = 0; number < kJobs; ++number) Finish(Name(number));
  }

  static std::string Name(size_t number) { return StrCat("local-", 20000 + number); }
  void Finish(const std::string& name) {
    fs::create_directories(jobs_ / name);
    std::ofstream(jobs_ / name / "finished") << "";
  }
  // Removes the job's mark. Afterwards only the file shows that the job has finished, because the folder of a known
  // name is not checked.
  void Unmark(const std::string& name) const { fs::remove(jobs_ / name / "finished"); }
  void KeepAll() const {
    FinishedNames names(jobs_, kJobs);
    for (size_t number = 0; number < kJobs; ++number) EXPECT_TRUE(names.HasFinished(Name(number)));
    names.Keep();
  }
  void WriteKnown(const std::string& text) const { std::ofstream(file_, std::ios::trunc) << text; }
  bool Knows(const std::string& name) const { return FinishedNames(jobs_).HasFinished(name); }

  TempFolder home_;
  const fs::path jobs_ = home_.path() / "jobs";
  const fs::path file_ = jobs_ / ".finished";
};

TEST_F(FinishedNamesTest, AJobInTheListOfFinishedJobsIsReportedFinishedWithoutReadingItsFolder) {
  KeepAll();
  Unmark(Name(0));
  Unmark(Name(99));
  FinishedNames names(jobs_, kJobs);
  for (size_t number = 0; number < kJobs; ++number) EXPECT_TRUE(names.HasFinished(Name(number))) << number;
}

TEST_F(FinishedNamesTest, TheListOfFinishedJobsIsWrittenOnlyAfter100JobFoldersWereChecked) {
  FinishedNames names(jobs_, kJobs);
  for (size_t number = 1; number < kJobs; ++number) names.HasFinished(Name(number));
  names.Keep();
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(FinishedNamesTest, AnUnfinishedJobIsNotWrittenToTheListOfFinishedJobs) {
  Unmark(Name(50));
  Finish("local-1");  // made while the clock was behind
  FinishedNames names(jobs_, kJobs);
  EXPECT_TRUE(names.HasFinished("local-1"));
  for (size_t number = 0; number < kJobs; ++number) EXPECT_EQ(names.HasFinished(Name(number)), number != 50) << number;
  names.Keep();
  Unmark("local-1");
  FinishedNames again(jobs_);
  EXPECT_TRUE(again.HasFinished("local-1"));
  EXPECT_TRUE(again.HasFinished(Name(49)));
  EXPECT_FALSE(again.HasFinished(Name(50)));
  EXPECT_TRUE(again.HasFinished(Name(51)));
}

TEST_F(FinishedNamesTest, TheFolderOfAJobNewerThanTheListOfFinishedJobsIsChecked) {
  KeepAll();
  fs::create_directories(jobs_ / "local-30000");
  Unmark(Name(10));
  FinishedNames names(jobs_, kJobs);
  EXPECT_TRUE(names.HasFinished(Name(9)));
  EXPECT_FALSE(names.HasFinished("local-30000"));
  EXPECT_TRUE(names.HasFinished(Name(10)));
}

TEST_F(FinishedNamesTest, RemovedJobsAreDroppedWhenTheListOfFinishedJobsIsNextWritten) {
  KeepAll();
  Unmark(Name(64));
  Unmark(Name(65));
  EXPECT_FALSE(Knows(Name(65))) << "too many before it have gone: it is looked at";
  FinishedNames names(jobs_, kJobs);
  EXPECT_TRUE(names.HasFinished(Name(64))) << "some before it have gone";
  for (size_t number = 2000; number < 2000 + kJobs; ++number) {
    Finish(Name(number));
    names.HasFinished(Name(number));
  }
  names.Keep();
  EXPECT_THAT(*ReadFile(file_), Not(HasSubstr(Name(63) + "\n")));
  EXPECT_THAT(*ReadFile(file_), HasSubstr(Name(64) + "\n"));
}

TEST_F(FinishedNamesTest, ATruncatedListOfFinishedJobsMarksNoUnfinishedJobAsFinished) {
  KeepAll();
  const std::string whole = *ReadFile(file_);
  Unmark(Name(1));
  fs::create_directories(jobs_ / "local-2000");  // a prefix of another name
  const size_t second = whole.find(Name(1) + "\n");
  for (size_t size = 0; size < second + Name(1).size() + 1; ++size) {
    WriteKnown(whole.substr(0, size));
    EXPECT_FALSE(Knows(Name(1))) << size;
    EXPECT_FALSE(Knows("local-2000")) << size;
  }
  WriteKnown(whole);
  EXPECT_TRUE(Knows(Name(1)));
  WriteKnown(whole.substr(0, second) + std::string(whole.size() - second, '\0'));
  EXPECT_FALSE(Knows(Name(1)));
}

TEST_F(FinishedNamesTest, TheListOfFinishedJobsIsIgnoredIfItsFileIsACopyOrASymlinkOrAPipe) {
  KeepAll();
  const std::string whole = *ReadFile(file_);
  Unmark(Name(0));
  const std::string name = Name(0) + "\n";
  WriteKnown("finished jobs of 1:1\n" + name);
  EXPECT_FALSE(Knows(Name(0))) << "of a folder that was copied";
  WriteKnown(name);
  EXPECT_FALSE(Knows(Name(0)));
  WriteKnown(whole);
  fs::rename(file_, home_.path() / "elsewhere");
  fs::create_symlink(home_.path() / "elsewhere", file_);
  EXPECT_FALSE(Knows(Name(0))) << "a link";
  fs::remove(file_);
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_FALSE(Knows(Name(0)));
  EXPECT_TRUE(Knows(Name(1)));
  EXPECT_FALSE(FinishedNames(home_.path() / "nowhere").HasFinished(Name(1)));
}

TEST_F(FinishedNamesTest, AFailedWriteOfTheListOfFinishedJobsLeavesNoTemporaryFile) {
  fs::create_directories(file_ / "in the way");
  KeepAll();
  EXPECT_EQ(std::distance(fs::directory_iterator(jobs_), fs::directory_iterator()), static_cast<ptrdiff_t>(kJobs) + 1);
}

TEST_F(FinishedNamesTest, ListNewestReturnsTheSameJobsWithAndWithoutTheListOfFinishedJobs) {
  Unmark(Name(3));  // the job runs
  Finish("local-1");
  const LocalJobStore store(home_.path());
  const auto expect_newest = [&](const std::string& file) {
    const auto newest = Must(store.ListNewest(2));
    ASSERT_EQ(newest.jobs.size(), 3u) << file;
    EXPECT_EQ(newest.jobs[0].job().value, Name(99)) << file;
    EXPECT_EQ(newest.jobs[1].job().value, Name(98)) << file;
    EXPECT_EQ(newest.jobs[2].job().value, Name(3)) << file;
    EXPECT_EQ(newest.left_out, 98u) << file;
  };
  expect_newest("none");
  FinishedNames names(jobs_, kJobs);
  for (const auto& entry : fs::directory_iterator(jobs_)) names.HasFinished(entry.path().filename().string());
  names.Keep();
  ASSERT_TRUE(fs::exists(file_));
  expect_newest("kept");
  fs::resize_file(file_, fs::file_size(file_) / 2);
  expect_newest("torn");
  fs::remove(file_);
  expect_newest("removed");
}

}  // namespace
}  // namespace tony
