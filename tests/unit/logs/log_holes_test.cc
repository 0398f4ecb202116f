#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "runtime/base/unique_fd.h"
#include "runtime/logs/local_log_source.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

class LogHolesTest : public testing::Test {
 protected:
  void Put(std::string_view text, int64_t offset) {
    ASSERT_EQ(pwrite(file_.get(), text.data(), text.size(), offset), static_cast<ssize_t>(text.size()));
  }
  LogBytes Read(int64_t offset, size_t size = 4096) {
    buffer_.assign(size, '?');
    return ReadLog(file_.get(), offset, buffer_);
  }

  TempFolder temp_;
  const UniqueFd file_{open((temp_.path() / "log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  std::string buffer_;
};

TEST_F(LogHolesTest, ALogWithoutHolesIsReadUnchanged) {
  Put("one\ntwo\n", 0);
  const LogBytes read = Read(4);
  EXPECT_EQ(read.cut, 0);
  EXPECT_EQ(buffer_.substr(0, read.size), "two\n");
}

TEST_F(LogHolesTest, ReadingAtOrAfterTheEndOfALogReturnsNothing) {
  Put("one\n", 0);
  for (const int64_t offset : {4, 5, 1'000'000}) {
    const LogBytes read = Read(offset);
    EXPECT_EQ(read.cut, 0) << offset;
    EXPECT_EQ(read.size, 0u) << offset;
  }
}

TEST_F(LogHolesTest, AReadEndsBeforeAHoleAndTheNextReadContinuesAfterTheHole) {
  Put(std::string(kMegabyte, 'a'), 0);
  Put("last\n", 8 * kMegabyte);
  LogBytes read = Read(kMegabyte - 100);
  EXPECT_EQ(read.size, 100u);
  read = Read(kMegabyte);
  EXPECT_EQ(read.cut, 7 * kMegabyte);
  EXPECT_EQ(buffer_.substr(0, read.size), "last\n");
  read = Read(3 * kMegabyte + 17);  // a cursor from before the cut
  EXPECT_EQ(read.cut, 5 * kMegabyte - 17);
  EXPECT_EQ(buffer_.substr(0, read.size), "last\n");
}

TEST_F(LogHolesTest, TheSizeOfAHoleAtTheEndOfALogIsReportedAsCutBytes) {
  ASSERT_EQ(ftruncate(file_.get(), 5 * kMegabyte), 0);
  const LogBytes read = Read(0);
  EXPECT_EQ(read.cut, 5 * kMegabyte);
  EXPECT_EQ(read.size, 0u);
}

TEST_F(LogHolesTest, HolesSeparateThePartsOfALog) {
  EXPECT_TRUE(PartsOfLog(file_.get()).empty());
  Put(std::string(kMegabyte, 'a'), 0);
  Put("last\n", 8 * kMegabyte);
  ASSERT_EQ(ftruncate(file_.get(), 16 * kMegabyte), 0);
  const auto parts = PartsOfLog(file_.get());
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].begin, 0u);
  EXPECT_EQ(parts[0].end, uint64_t{kMegabyte});
  EXPECT_EQ(parts[1].begin, uint64_t{8 * kMegabyte});
  EXPECT_TRUE(PartsOfLog(-1).empty());
}

TEST_F(LogHolesTest, NulBytesThatAProgramWroteAreReadAsOutput) {
  Put(std::string(10, '\0'), 0);
  const LogBytes read = Read(0);
  EXPECT_EQ(read.cut, 0);
  EXPECT_EQ(read.size, 10u);
}

TEST_F(LogHolesTest, AMissingFileOrADeviceReadsAsAnEmptyLog) {
  EXPECT_EQ(ReadLog(-1, 0, buffer_).size, 0u);
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ReadLog(null.get(), 0, buffer_).size, 0u);
}

}  // namespace
}  // namespace tony
