#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/records/attempt_folder.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
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

TEST_F(FolderPresenceTest, AFolderThatIsThereIsNotGone) { EXPECT_FALSE(IsGoneAfter(60s)); }

TEST_F(FolderPresenceTest, OneThatWasRemovedIsGoneAfterSomeLooks) {
  IsGoneAfter(5s);
  fs::remove(path_);
  EXPECT_FALSE(IsGoneAfter(9s));
  EXPECT_TRUE(IsGoneAfter(3s));
  EXPECT_EQ(presence().GoneError().code, ErrorCode::kNotFound);
  EXPECT_EQ(presence().GoneError().message, path_.string() + ": the job's folder was removed");
}

TEST_F(FolderPresenceTest, AnotherFolderOfItsNameIsNotIt) {
  IsGoneAfter(1s);
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_TRUE(IsGoneAfter(12s)) << "also where the file system gives the number of the removed one";
}

TEST_F(FolderPresenceTest, OneThatIsBackInTimeWasNotGone) {
  IsGoneAfter(1s);
  fs::rename(path_, temp_.path() / "elsewhere");
  EXPECT_FALSE(IsGoneAfter(9s));
  fs::create_directory_symlink("elsewhere", path_);
  EXPECT_FALSE(IsGoneAfter(30s)) << "it is the same by another way";
  fs::remove(path_);
  EXPECT_FALSE(IsGoneAfter(9s)) << "the count began anew";
}

TEST_F(FolderPresenceTest, WhoStoodStillLooksAnew) {
  IsGoneAfter(1s);
  fs::remove(path_);
  EXPECT_FALSE(IsGoneAfter(2s));
  now_ += 3600s;
  EXPECT_FALSE(IsGoneAfter(9s));
  EXPECT_TRUE(IsGoneAfter(3s));
}

TEST_F(FolderPresenceTest, AFailureOfTheFileSystemProvesNothing) {
  IsGoneAfter(1s);
  fs::rename(path_, temp_.path() / "elsewhere");
  fs::create_symlink("job-1", path_);  // ELOOP
  EXPECT_FALSE(IsGoneAfter(60s));
}

}  // namespace
}  // namespace tony
