#include "runtime/records/looks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "runtime/records/job_folder.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

class LooksTest : public ::testing::Test {
 protected:
  void Ruled(Epoch epoch) { ASSERT_TRUE(records_.WriteLease({.epoch = epoch, .am = {SocketOf(epoch)}}).ok()); }
  void Look(const std::string& watcher = "") { ASSERT_TRUE(LeaveLook(records_, {watcher}).ok()); }
  void Append(const std::string& text) const { std::ofstream(file_, std::ios::app | std::ios::binary) << text; }
  // As if it had been touched some time ago: clocks of file systems are coarse.
  void Age() const {
    const timespec times[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file_.c_str(), times, 0), 0);
  }
  static std::string Names(const LookReader::Looks& looks) {
    std::string names;
    for (const auto& look : looks.named) names += std::to_string(look.epoch.value) + look.watcher.value + " ";
    return names;
  }

  TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path());
  const std::filesystem::path file_ = temp_.path() / "looked";
  LookReader reader_{records_};
};

TEST_F(LooksTest, NobodyLeavesASignBeforeAnAmHasRuledOrWhileOneLives) {
  Look("w1");
  Ruled({1});
  {
    const auto am = JobFolder(records_).Lock("am.lock");
    Look("w1");
  }
  EXPECT_FALSE(std::filesystem::exists(file_));
  Look("w1");
  EXPECT_TRUE(std::filesystem::exists(file_));
}

TEST_F(LooksTest, ALookIsSeenOnce) {
  Ruled({1});
  EXPECT_FALSE(reader_.Read().any);
  Look();
  EXPECT_TRUE(reader_.Read().any);
  EXPECT_FALSE(reader_.Read().any);
  Age();
  EXPECT_TRUE(reader_.Read().any);
  Look();
  EXPECT_TRUE(reader_.Read().any);
}

TEST_F(LooksTest, WatchersAreToldInTheirOrderWithTheMasterBeforeThem) {
  Ruled({1});
  Look("w1");
  Look("w2");
  Ruled({4});
  Look("w2");
  EXPECT_EQ(Names(reader_.Read()), "1w1 1w2 4w2 ");
  Look("w3");
  EXPECT_EQ(Names(reader_.Read()), "4w3 ");
  EXPECT_EQ(Names(LookReader(records_).Read()), "1w1 1w2 4w2 4w3 ");
}

TEST_F(LooksTest, WhoPollsUnderOneNameLeavesOneLineAndALookEachTime) {
  Ruled({1});
  Look("w1");
  const auto size = std::filesystem::file_size(file_);
  reader_.Read();
  Age();
  reader_.Read();
  Look("w1");
  EXPECT_EQ(std::filesystem::file_size(file_), size);
  EXPECT_TRUE(reader_.Read().any);
}

TEST_F(LooksTest, AnUnfinishedLineIsReadWhenItIsWhole) {
  Append("1 w");
  EXPECT_EQ(Names(reader_.Read()), "");
  Append("1\n");
  EXPECT_EQ(Names(reader_.Read()), "1w1 ");
}

TEST_F(LooksTest, WhatIsNoLookNamesNobody) {
  Append("garbage\n\n1\nx w1\n" + std::string(100'000, '\0') + "\n1 w2\n");
  Append("7 a b\n");
  std::string names;
  for (int i = 0; i < 5; ++i) names += Names(reader_.Read());
  EXPECT_EQ(names, "1w2 7a b ") << "and the others after it are read";
}

TEST_F(LooksTest, AFileThatWasReplacedIsReadAnew) {
  Append("1 w1\n");
  reader_.Read();
  std::filesystem::rename(file_, temp_.path() / "before");
  Append("1 w2\n");
  EXPECT_EQ(Names(reader_.Read()), "1w2 ");
}

TEST_F(LooksTest, WhatIsNoFileIsNeitherWrittenNorRead) {
  Ruled({1});
  const auto elsewhere = temp_.path() / "elsewhere";
  std::ofstream(elsewhere) << "";
  std::filesystem::create_symlink(elsewhere, file_);
  EXPECT_FALSE(LeaveLook(records_, {"w1"}).ok());
  EXPECT_EQ(std::filesystem::file_size(elsewhere), 0u);
  EXPECT_FALSE(reader_.Read().any);
  std::filesystem::remove(file_);
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_FALSE(reader_.Read().any);
}

}  // namespace
}  // namespace tony
