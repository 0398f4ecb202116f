#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kJobs = 100;  // as many as are worth a file here

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
  // What is known is not looked at: after this only the file can tell that it has finished.
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

TEST_F(FinishedNamesTest, WhatWasKeptIsKnownWithoutALook) {
  KeepAll();
  Unmark(Name(0));
  Unmark(Name(99));
  FinishedNames names(jobs_, kJobs);
  for (size_t number = 0; number < kJobs; ++number) EXPECT_TRUE(names.HasFinished(Name(number))) << number;
}

TEST_F(FinishedNamesTest, FewAreNotWorthAFile) {
  FinishedNames names(jobs_, kJobs);
  for (size_t number = 1; number < kJobs; ++number) names.HasFinished(Name(number));
  names.Keep();
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(FinishedNamesTest, AJobThatHasNotFinishedIsNeverKept) {
  Unmark(Name(50));
  Finish("local-1");  // it came when the clock stood back
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

TEST_F(FinishedNamesTest, AJobThatCameLaterIsLookedAtAndTheOthersStayKnown) {
  KeepAll();
  fs::create_directories(jobs_ / "local-30000");
  Unmark(Name(10));
  FinishedNames names(jobs_, kJobs);
  EXPECT_TRUE(names.HasFinished(Name(9)));
  EXPECT_FALSE(names.HasFinished("local-30000"));
  EXPECT_TRUE(names.HasFinished(Name(10)));
}

TEST_F(FinishedNamesTest, JobsThatWereRemovedAreForgottenWithTheNextFile) {
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

TEST_F(FinishedNamesTest, AFileThatIsTornMakesNoJobFinished) {
  KeepAll();
  const std::string whole = *ReadFile(file_);
  Unmark(Name(1));
  fs::create_directories(jobs_ / "local-2000");  // the beginning of another's name
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

TEST_F(FinishedNamesTest, WhatIsNoFileOfThisFolderCountsForNothing) {
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

TEST_F(FinishedNamesTest, WhereItCannotBeWrittenNothingIsLeft) {
  fs::create_directories(file_ / "in the way");
  KeepAll();
  EXPECT_EQ(std::distance(fs::directory_iterator(jobs_), fs::directory_iterator()), static_cast<ptrdiff_t>(kJobs) + 1);
}

TEST_F(FinishedNamesTest, TheNewestJobsAreTheSameWithTheFileAndWithoutIt) {
  Unmark(Name(3));  // it runs
  Finish("local-1");
  const LocalJobStore store(home_.path());
  const auto expect_newest = [&](const std::string& file) {
    const auto newest = store.ListNewest(2);
    ASSERT_TRUE(newest.ok());
    ASSERT_EQ(newest->jobs.size(), 3u) << file;
    EXPECT_EQ(newest->jobs[0].job().value, Name(99)) << file;
    EXPECT_EQ(newest->jobs[1].job().value, Name(98)) << file;
    EXPECT_EQ(newest->jobs[2].job().value, Name(3)) << file;
    EXPECT_EQ(newest->left_out, 98u) << file;
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
