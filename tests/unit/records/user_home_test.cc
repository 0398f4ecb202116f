#include "runtime/records/user_home.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uid_t kAlice = 70001, kMallory = 70003;

TEST(TonyHomeTest, IsAbsoluteAndFallsBackToTheUsersHome) {
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

TEST_F(UserHomeTest, AFolderOfTheUsersOwnIsUsedItself) {
  for (const mode_t mode : {0700, 0755, 0777, 01700}) {
    chmod(named_.c_str(), mode);
    EXPECT_EQ(Found(geteuid()), named_) << std::oct << mode;
  }
  fs::remove(named_);
  EXPECT_EQ(Found(geteuid()), named_) << "to be made";
}

TEST_F(UserHomeTest, AFolderOfTheUsersOwnThatOthersMayWriteIsClosedAndItsProgramsGo) {
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

TEST_F(UserHomeTest, ASharedFolderHasAFolderForEachUser) {
  chmod(named_.c_str(), 01777);
  EXPECT_EQ(Found(kAlice), alices_);
  const auto own = FindHome(named_, geteuid());
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->path, named_ / std::to_string(geteuid()));
  EXPECT_TRUE(own->is_below);
  EXPECT_FALSE(own->is_there);
}

TEST_F(UserHomeTest, JobsThatWereThereBeforeItWasSharedStayWhereTheyAre) {
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

TEST_F(UserHomeTest_NeedsRoot, WhatSomebodyElsePutIntoAnOpenFolderIsRefusedAndNamed) {
  setenv("TONY_HOME", named_.c_str(), 1);
  Make(named_ / "jobs", kMallory, 0777);
  chmod(named_.c_str(), 0777);
  for (int look = 0; look < 2; ++look) {
    const auto home = TonyHome();
    ASSERT_FALSE(home.ok());
    EXPECT_EQ(home.error().code, ErrorCode::kNotPermitted);
    EXPECT_THAT(home.error().message,
                HasSubstr((named_ / "jobs").string() + " belongs to uid 70003: remove that, or give"));
  }
}

TEST_F(UserHomeTest_NeedsRoot, OthersJobsInASharedFolderAreNotTheUsers) {
  Make(named_, 0, 01777);
  Make(named_ / "jobs", kMallory, 0777);
  EXPECT_EQ(Found(kAlice), alices_);
}

TEST_F(UserHomeTest_NeedsRoot, RootLooksAtTheJobsOfTheUserWhoseFolderItIs) {
  Make(named_, kAlice, 0700);
  EXPECT_EQ(Found(0), named_);
}

TEST_F(UserHomeTest_NeedsRoot, AFolderThatOthersMayRenameInIsRefused) {
  Make(named_, 0, 0777);
  EXPECT_EQ(Refused(kAlice), "home " + named_.string() + " belongs to root and has mode 0777, so that others could " +
                                 "exchange your folder in it; its owner or root: chmod 1777 " + named_.string());
}

TEST_F(UserHomeTest_NeedsRoot, AFolderThatAnAdministratorMadeForTheUserIsUsed) {
  Make(named_, 0, 0755);
  Make(alices_, kAlice, 0700);
  EXPECT_EQ(Found(kAlice), alices_);
}

TEST_F(UserHomeTest_NeedsRoot, WhateverSomebodyElsePutsInTheUsersPlaceIsRefusedAndNamed) {
  Make(named_, 0, 01777);
  Make(alices_, kMallory, 0777);
  EXPECT_EQ(Refused(kAlice), "home " + alices_.string() + " belongs to uid 70003 and has mode 0777, and not to uid " +
                                 "70001; uid 70003 or root must remove it");
  fs::remove(alices_);
  Make(temp_.path() / "trap", kAlice, 0700);
  fs::create_symlink(temp_.path() / "trap", alices_);
  ASSERT_EQ(lchown(alices_.c_str(), kMallory, kMallory), 0);
  EXPECT_THAT(Refused(kAlice), HasSubstr(alices_.string() + " is a link of uid 70003"));
  fs::remove(alices_);
  std::ofstream(alices_) << "";
  EXPECT_THAT(Refused(kAlice), HasSubstr(alices_.string() + " is a file of root; root must remove it"));
}

TEST_F(UserHomeTest_NeedsRoot, AFolderOfTheUsersThatOthersMayWriteIsRefused) {
  Make(named_, 0, 01777);
  Make(alices_, kAlice, 0770);
  EXPECT_THAT(Refused(kAlice), HasSubstr("look at what is in it, then chmod 0700 " + alices_.string()));
  Make(alices_, kAlice, 0755);
  EXPECT_EQ(Found(kAlice), alices_);
}

}  // namespace
}  // namespace tony
