#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <regex>

#include "runtime/os/files.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST_F(JobStoreTest, SecretsAreInTheirOwnFileAndInNoOther) {
  NewJob job = SmallJob();
  job.secrets = {{"DB_PASSWORD", "hush hush"}};
  const auto folder = store_.Create(job, now_);
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(*folder->ReadSecrets(), std::vector<std::string>{"DB_PASSWORD=hush hush"});
  EXPECT_EQ(std::filesystem::status(folder->place() / "secrets").permissions(), std::filesystem::perms(0600));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder->place())) {
    if (!entry.is_regular_file() || entry.path() == folder->place() / "secrets") continue;
    EXPECT_EQ(ReadFile(entry.path())->find("hush hush"), std::string::npos) << entry.path();
  }
  EXPECT_FALSE(std::filesystem::exists(store_.Create(SmallJob(), now_ + Duration(5000))->place() / "secrets"));
}

TEST_F(JobStoreTest, JobIsNamedByItsTimeAndReadBack) {
  const auto folder = store_.Create(SmallJob(), now_);
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_TRUE(std::regex_match(folder->job().value, std::regex("local-20261121-093015-[0-9a-f]{6}")))
      << folder->job().value;
  EXPECT_EQ(*folder->ReadSpec(), SmallJob().spec);
  EXPECT_EQ(*folder->ReadEnvironment(), SmallJob().environment);
  EXPECT_TRUE(std::regex_match(*folder->ReadToken(), std::regex("[0-9a-f]{64}")));
  const auto submission = folder->ReadSubmission();
  ASSERT_TRUE(submission.ok());
  EXPECT_EQ(submission->job, folder->job());
  EXPECT_EQ(submission->time, now_);
  EXPECT_FALSE(submission->user.empty());
  EXPECT_FALSE(submission->host.empty());
}

TEST_F(JobStoreTest, TheProgramsOfAJobAreRecorded) {
  NewJob job = SmallJob();
  EXPECT_EQ(store_.Create(job, now_)->ReadSubmission()->programs, "");
  job.programs = "0123abcd";
  EXPECT_EQ(store_.Create(job, now_)->ReadSubmission()->programs, "0123abcd");
}

TEST_F(JobStoreTest, EverythingIsPrivate) {
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

TEST_F(JobStoreTest, FindsItsJobsAndNoOthers) {
  const auto folder = store_.Create(SmallJob(), now_);
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(store_.Find(folder->job())->place(), folder->place());
  for (const char* name : {"", ".", "..", "../jobs", "/etc", "local-20261121-093015-000000", ".new-x"}) {
    const auto none = store_.Find({name});
    ASSERT_FALSE(none.ok()) << name;
    EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  }
}

TEST_F(JobStoreTest, ListIsNewestFirstAndEmptyBeforeTheFirstJob) {
  EXPECT_THAT(*store_.List(), IsEmpty());
  std::vector<JobId> made;
  for (const int64_t later : {0, 2'000, 1'000})
    made.push_back(store_.Create(SmallJob(), FromMillis(ToMillis(now_) + later))->job());
  const auto listed = store_.List();
  ASSERT_TRUE(listed.ok());
  ASSERT_THAT(*listed, SizeIs(3));
  EXPECT_EQ((*listed)[0].job(), made[1]);
  EXPECT_EQ((*listed)[1].job(), made[2]);
  EXPECT_EQ((*listed)[2].job(), made[0]);
}

TEST_F(JobStoreTest, SubmitThatDiedHalfWayLeavesNoJob) {
  fs::create_directories(home_ / "jobs/.new-local-20261121-093015-abcdef");
  std::ofstream(home_ / "jobs/.new-local-20261121-093015-abcdef/spec.json") << "{";
  EXPECT_THAT(*store_.List(), IsEmpty());
  EXPECT_FALSE(store_.Find({"local-20261121-093015-abcdef"}).ok());
  EXPECT_TRUE(store_.Create(SmallJob(), now_).ok());
  EXPECT_THAT(*store_.List(), SizeIs(1));
}

TEST_F(JobStoreTest, StagedFilesAreReadBackAndNoneIsNoFile) {
  NewJob job = SmallJob();
  EXPECT_EQ(*store_.Create(job, now_)->ReadStaged(), std::nullopt);
  job.staged.job = {{.name = "venv", .path = home_ / "staged/abc-unpacked"}};
  const auto folder = store_.Create(job, now_);
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_EQ(*folder->ReadStaged(), job.staged);
}

TEST_F(JobStoreTest, HomeThatCannotBeMadeIsNamed) {
  std::ofstream(temp_.path() / "file") << "";
  const auto folder = LocalJobStore(temp_.path() / "file/home").Create(SmallJob(), now_);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ErrorCode::kCannotWrite);
  EXPECT_EQ(folder.error().message, "make " + (temp_.path() / "file").string() + ": not a directory");
}

TEST_F(JobStoreTest, ReadOnlyHomeIsNamed_NeedsRoot) {
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

TEST_F(JobStoreTest, HomeOfAnotherIsNamed_NotAsRoot) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const auto folder = LocalJobStore("/").Create(SmallJob(), now_);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().message, "make /jobs: permission denied");
}

}  // namespace
}  // namespace tony
