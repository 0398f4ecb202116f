#include "runtime/records/user_home.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_folder.h"
#include "tests/support/results.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uid_t kAlice = 70001, kMallory = 70003;

TEST(TonyHomeTest, TonyHomeIsAbsoluteAndDefaultsToDotTonyInTheUsersHome) {
  setenv("TONY_HOME", "relative/../home", 1);
  EXPECT_EQ(*TonyHome(), fs::current_path() / "home");
  unsetenv("TONY_HOME");
  setenv("HOME", "/home/ada", 1);
  EXPECT_EQ(*TonyHome(), "/home/ada/.tony");
  setenv("TONY_HOME", "", 1);
  EXPECT_EQ(*TonyHome(), "/home/ada/.tony");
}

class UserHomeTest : public ::testing::Test {
 protected:
  UserHomeTest() { fs::create_directory(named_); }
  static void Make(const fs::path& folder, uid_t owner, mode_t mode) {
    fs::create_directories(folder);
    ASSERT_EQ(chown(folder.c_str(), owner, owner), 0);
    ASSERT_EQ(chmod(folder.c_str(), mode), 0);
  }
  fs::path Found(uid_t user) const {
    const auto home = FindHome(named_, user);
    EXPECT_TRUE(home.ok()) << home.error().message;
    return home.ok() ? home->path : fs::path();
  }
  std::string Refused(uid_t user) const {
    const auto home = FindHome(named_, user);
    EXPECT_FALSE(home.ok()) << home->path;
    if (home.ok()) return "";
    EXPECT_EQ(home.error().code, ErrorCode::kNotPermitted);
    return home.error().message;
  }

  TempFolder temp_;
  const fs::path named_ = temp_.path() / "home";
  const fs::path alices_ = named_ / std::to_string(kAlice);
};

TEST_F(UserHomeTest, ATonyHomeOwnedByTheUserNeedsNoSubfolderForTheUser) {
  for (const mode_t mode : {0700, 0755, 0777, 01700}) {
    chmod(named_.c_str(), mode);
    EXPECT_EQ(Found(geteuid()), named_) << std::oct << mode;
  }
  fs::remove(named_);
  EXPECT_EQ(Found(geteuid()), named_) << "to be made";
}

TEST_F(UserHomeTest, AGroupWritableTonyHomeLosesGroupWriteAccessAndItsProgramsFolder) {
  setenv("TONY_HOME", named_.c_str(), 1);
  fs::create_directories(named_ / "programs/x");
  fs::create_directories(named_ / "jobs");
  chmod(named_.c_str(), 0755);
  EXPECT_EQ(*TonyHome(), named_);
  EXPECT_TRUE(fs::exists(named_ / "programs/x"));
  chmod(named_.c_str(), 0775);
  EXPECT_TRUE(FindHome(named_, geteuid())->is_open);
  EXPECT_EQ(*TonyHome(), named_);
  EXPECT_EQ(fs::status(named_).permissions(), fs::perms(0755));
  EXPECT_FALSE(fs::exists(named_ / "programs"));
  EXPECT_TRUE(fs::exists(named_ / "jobs"));
}

TEST_F(UserHomeTest, ASharedTonyHomeHasASubfolderForEachUser) {
  chmod(named_.c_str(), 01777);
  EXPECT_EQ(Found(kAlice), alices_);
  const auto own = Must(FindHome(named_, geteuid()));
  EXPECT_EQ(own.path, named_ / std::to_string(geteuid()));
  EXPECT_TRUE(own.is_below);
  EXPECT_FALSE(own.is_there);
}

TEST_F(UserHomeTest, ASharedTonyHomeThatAlreadyHasJobsOfTheUserNeedsNoSubfolder) {
  fs::create_directory(named_ / "jobs");
  chmod(named_.c_str(), 01777);
  EXPECT_EQ(Found(geteuid()), named_);
}

class UserHomeTest_NeedsRoot : public UserHomeTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "giving files to others needs root";
  }
};

TEST_F(UserHomeTest_NeedsRoot, AWorldWritableTonyHomeIsRejectedIfAnotherUserOwnsAnEntryInIt) {
  setenv("TONY_HOME", named_.c_str(), 1);
  Make(named_ / "jobs", kMallory, 0777);
  chmod(named_.c_str(), 0777);
  for (int look = 0; look < 2; ++look) {
    ExpectError(TonyHome(), ErrorCode::kNotPermitted,
                StrCat("~", (named_ / "jobs").string() + ", which belongs to uid 70003: remove this entry, or give"));
  }
}

TEST_F(UserHomeTest_NeedsRoot, AUserGetsASubfolderInASharedTonyHomeThatHoldsJobsOfAnotherUser) {
  Make(named_, 0, 01777);
  Make(named_ / "jobs", kMallory, 0777);
  EXPECT_EQ(Found(kAlice), alices_);
}

TEST_F(UserHomeTest_NeedsRoot, RootUsesTheTonyHomeOfAnotherUserWithoutASubfolder) {
  Make(named_, kAlice, 0700);
  EXPECT_EQ(Found(0), named_);
}

TEST_F(UserHomeTest_NeedsRoot, AWorldWritableTonyHomeWithoutStickyBitIsRejected) {
  Make(named_, 0, 0777);
  EXPECT_EQ(Refused(kAlice), "home " + named_.string() + " belongs to root and has mode 0777, so others could " +
                                 "replace your folder in it; its owner or root must run: chmod 1777 " +
                                 named_.string());
}

TEST_F(UserHomeTest_NeedsRoot, ASubfolderThatRootCreatedForTheUserIsUsed) {
  Make(named_, 0, 0755);
  Make(alices_, kAlice, 0700);
  EXPECT_EQ(Found(kAlice), alices_);
}

TEST_F(UserHomeTest_NeedsRoot, TheSubfolderOfAUserIsRejectedIfAnotherUserOwnsIt) {
  Make(named_, 0, 01777);
  Make(alices_, kMallory, 0777);
  EXPECT_EQ(Refused(kAlice), "home " + alices_.string() +
                                 " belongs to uid 70003 and has mode 0777, expected a folder of uid 70001; uid 70003 "
                                 "or root must remove it");
  fs::remove(alices_);
  Make(temp_.path() / "trap", kAlice, 0700);
  fs::create_symlink(temp_.path() / "trap", alices_);
  ASSERT_EQ(lchown(alices_.c_str(), kMallory, kMallory), 0);
  EXPECT_THAT(Refused(kAlice), HasSubstr(alices_.string() + " is a link that belongs to uid 70003"));
  fs::remove(alices_);
  std::ofstream(alices_) << "";
  EXPECT_THAT(Refused(kAlice), HasSubstr(alices_.string() + " is a file that belongs to root; root must remove it"));
}

TEST_F(UserHomeTest_NeedsRoot, AGroupWritableSubfolderOfAUserIsRejected) {
  Make(named_, 0, 01777);
  Make(alices_, kAlice, 0770);
  EXPECT_THAT(Refused(kAlice), HasSubstr("check its content, then run chmod 0700 " + alices_.string()));
  Make(alices_, kAlice, 0755);
  EXPECT_EQ(Found(kAlice), alices_);
}

// ---- folder presence

using std::chrono_literals::operator""s;

class FolderPresenceTest : public ::testing::Test {
 protected:
  FolderPresenceTest() { fs::create_directory(path_); }
  bool IsGoneAfter(Duration time) {
    bool gone = false;
    for (const Instant end = now_ + time; now_ < end;) gone = presence().IsGone(now_ += 1s);
    return gone;
  }
  FolderPresence& presence() {
    if (!presence_) presence_.emplace(path_);
    return *presence_;
  }

  TempFolder temp_;
  const fs::path path_ = temp_.path() / "job-1";
  std::optional<FolderPresence> presence_;
  Instant now_{1000s};
};

TEST_F(FolderPresenceTest, AnExistingJobFolderIsReportedPresent) { EXPECT_FALSE(IsGoneAfter(60s)); }

TEST_F(FolderPresenceTest, AMissingJobFolderIsReportedRemovedAfterMoreThan9SecondsOfChecks) {
  IsGoneAfter(5s);
  fs::remove(path_);
  EXPECT_FALSE(IsGoneAfter(9s));
  EXPECT_TRUE(IsGoneAfter(3s));
  EXPECT_EQ(presence().RemovedError().code, ErrorCode::kNotFound);
  EXPECT_EQ(presence().RemovedError().message, path_.string() + ": the job's folder was removed");
}

TEST_F(FolderPresenceTest, AJobFolderReplacedByANewFolderOfTheSameNameIsReportedRemoved) {
  IsGoneAfter(1s);
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_TRUE(IsGoneAfter(12s)) << "also where the file system gives the number of the removed one";
}

TEST_F(FolderPresenceTest, AJobFolderThatReappearsWithin9SecondsIsReportedPresent) {
  IsGoneAfter(1s);
  fs::rename(path_, temp_.path() / "elsewhere");
  EXPECT_FALSE(IsGoneAfter(9s));
  fs::create_directory_symlink("elsewhere", path_);
  EXPECT_FALSE(IsGoneAfter(30s)) << "it is the same by another way";
  fs::remove(path_);
  EXPECT_FALSE(IsGoneAfter(9s)) << "the count began anew";
}

TEST_F(FolderPresenceTest, AnHourWithoutChecksRestartsThe9SecondWaitForAMissingJobFolder) {
  IsGoneAfter(1s);
  fs::remove(path_);
  EXPECT_FALSE(IsGoneAfter(2s));
  now_ += 3600s;
  EXPECT_FALSE(IsGoneAfter(9s));
  EXPECT_TRUE(IsGoneAfter(3s));
}

TEST_F(FolderPresenceTest, AFileSystemErrorIsNotReportedAsARemovedJobFolder) {
  IsGoneAfter(1s);
  fs::rename(path_, temp_.path() / "elsewhere");
  fs::create_symlink("job-1", path_);  // ELOOP
  EXPECT_FALSE(IsGoneAfter(60s));
}

}  // namespace
}  // namespace tony
