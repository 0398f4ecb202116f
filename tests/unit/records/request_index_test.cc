#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/records/local_request_index.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

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

TEST_F(RequestIndexTest, WhatWasWrittenIsRead) {
  EXPECT_EQ(*index_.Read(request_), std::nullopt);
  for (const RequestRecord& record : {RequestRecord{.newest_number = 4}, record_, RequestRecord{}}) {
    ASSERT_TRUE(index_.Write(request_, record).ok());
    EXPECT_EQ(*index_.Read(request_), record);
  }
  EXPECT_EQ(*index_.Read({"another"}), std::nullopt);
}

TEST_F(RequestIndexTest, AJobThatWasNeverMadeDoesNotHideTheOneThatSucceededBeforeIt) {
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

TEST_F(RequestIndexTest, ARecordOfTheReleaseWithoutDigestsIsRead) {
  ASSERT_TRUE(index_.Write(request_, {}).ok());
  MakeJob("local-1");
  std::ofstream(FolderOf(request_) / "record.json", std::ios::trunc)
      << R"({"schema":1,"request_id":"airflow://dag/run/task/-1","newest_submission":3,"job":"local-1","submission":2})";
  EXPECT_EQ(*index_.Read(request_), (RequestRecord{3, JobId{"local-1"}, 2}));
}

TEST_F(RequestIndexTest, EverythingIsPrivate) {
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

TEST_F(RequestIndexTest, IdsAndOwnersAreAnyBytes) {
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

TEST_F(RequestIndexTest, AnIdThatIsNoneIsSaidToBe) {
  const std::pair<std::string, std::string> wrong[] = {
      {"", "request id: is empty"},
      {std::string(4097, 'a'), "request id: has 4097 bytes, at most 4096 are possible"},
      {std::string("a\0b", 3), "request id: has a NUL byte"}};
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

TEST_F(RequestIndexTest, ADamagedRecordIsNamedAndNeverNone) {
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

TEST_F(RequestIndexTest, ARecordOfAnotherIdIsNotTakenForItsOwn) {
  ASSERT_TRUE(index_.Write({"another"}, record_).ok());
  fs::rename(FolderOf({"another"}), FolderOf(request_));
  const auto read = index_.Read(request_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message,
            "read " + (FolderOf(request_) / "record.json").string() + ": belongs to another request id");
}

TEST_F(RequestIndexTest, ARevocationCountsForTenMinutesAndForItsOwnerAlone) {
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

TEST_F(RequestIndexTest, ADamagedRevocationIsNamed) {
  ASSERT_TRUE(index_.Revoke(request_, owner_, now_).ok());
  const fs::path file = FolderOf(request_) / ("revoked-" + Sha256Hex(owner_.value) + ".json");
  std::ofstream(file, std::ios::trunc) << "{\"schema\":1}";
  const auto revoked = index_.IsRevoked(request_, owner_, now_);
  ASSERT_FALSE(revoked.ok());
  EXPECT_EQ(revoked.error().message.find("read " + file.string() + ": "), 0u) << revoked.error().message;
}

TEST_F(RequestIndexTest, ARevocationNeedsNoLock) {
  const auto lock = index_.Lock(request_, kLong);
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(index_.Revoke(request_, owner_, now_).ok());
  EXPECT_TRUE(*index_.IsRevoked(request_, owner_, now_));
}

TEST_F(RequestIndexTest, TheLockIsWaitedForAndTheWaitHasAnEnd) {
  auto lock = index_.Lock(request_, kLong);
  ASSERT_TRUE(lock.ok()) << lock.error().message;
  const auto other = index_.Lock({"another"}, Duration(0));
  EXPECT_TRUE(other.ok());
  const auto refused = index_.Lock(request_, Duration(0));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message, "lock " + (FolderOf(request_) / "lock").string() + ": another process holds it");
  std::jthread waits([&] { EXPECT_TRUE(index_.Lock(request_, kLong).ok()); });
  lock->reset();
}

// What a submit does: looks, and makes the job if there is none.
TEST_F(RequestIndexTest, OfTwentyProcessesThatContendOneFindsNothing) {
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

TEST_F(RequestIndexTest, ThreadsThatContendLoseNoWriteWhileTheFolderIsSweptUnderThem) {
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

TEST_F(RequestIndexTest, RevocationsArriveWhileTheFolderIsSweptUnderThem) {
  std::jthread sweeper([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_TRUE(index_.Sweep(FromMillis(0), now_, false).ok());
  });
  for (int i = 0; i < 50; ++i) {
    const RequestId request{"r" + std::to_string(i)};
    const auto revoked = index_.Revoke(request, owner_, now_);
    ASSERT_TRUE(revoked.ok()) << revoked.error().message;
    EXPECT_TRUE(*index_.IsRevoked(request, owner_, now_));
  }
}

TEST_F(RequestIndexTest, SweepForgetsWhatHasNoJobAndWasNotTouchedForLong) {
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

TEST_F(RequestIndexTest, SweepRemovesRevocationsThatHaveExpiredAndNoOthers) {
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

TEST_F(RequestIndexTest, SweepLeavesWhatIsLockedOrDamaged) {
  const Instant future = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()) + kLong;
  ASSERT_TRUE(index_.Write(request_, {.newest_number = 1}).ok());
  const auto lock = index_.Lock(request_, kLong);
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(index_.Write({"damaged"}, {.newest_number = 1}).ok());
  std::ofstream(FolderOf({"damaged"}) / "record.json", std::ios::trunc) << "{";
  EXPECT_EQ(*index_.Sweep(future, now_, false), 0);
  EXPECT_TRUE((*index_.Read(request_)).has_value());
  EXPECT_FALSE(index_.Read({"damaged"}).ok());
}

}  // namespace
}  // namespace tony
