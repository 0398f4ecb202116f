#include "runtime/hadoop/aggregated_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/support/tfile_writer.h"

namespace tony::hadoop {
namespace {

using testing::HasSubstr;

constexpr int64_t kMost = 1 << 20;

struct AggregatedFile {
  std::string bytes;
  int64_t read = 0;  // the number of bytes read

  Result<AggregatedLog> Find(const std::string& container, const std::string& stream, int64_t most = kMost) {
    const ReadRange range = [this](int64_t offset, int64_t length) -> Result<std::string> {
      EXPECT_GE(offset, 0);
      EXPECT_LE(offset + length, static_cast<int64_t>(bytes.size()));
      read += length;
      return bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(length));
    };
    return ReadAggregatedLog(range, static_cast<int64_t>(bytes.size()), container, stream, most);
  }
  std::string Text(const std::string& container, const std::string& stream) {
    const auto log = Find(container, stream);
    return log.ok() ? log->tail : log.error().message;
  }
  Error Failure() {
    const auto log = Find("container_1", "stdout");
    EXPECT_FALSE(log.ok());
    return log.ok() ? Error{} : log.error();
  }
};

// Returns a file with three containers in two blocks.
AggregatedFile Usual(const std::string& compression, size_t chunk = 1 << 20) {
  TFileWriter writer(compression, chunk);
  writer.Add("VERSION", std::string("\0\0\0\1", 4));
  writer.Add("APPLICATION_OWNER", TFileWriter::JavaText("eve"));
  writer.AddContainer("container_1", {{"stderr", ""}, {"stdout", "one\n"}});
  writer.AddContainer("container_2", {{"stdout", "two\n"}, {"stderr", "bad\nthing\n"}});
  writer.EndBlock();
  writer.AddContainer("container_3", {{"directory.info", std::string(5000, 'x')}, {"stdout", "three\n"}});
  return {writer.Finish()};
}

TEST(AggregatedLogTest, EachLogOfEachContainerIsFound) {
  for (const char* compression : {"none", "gz"}) {
    for (const size_t chunk : {1, 3, 1 << 20}) {
      AggregatedFile file = Usual(compression, chunk);
      EXPECT_EQ(file.Text("container_1", "stdout"), "one\n") << compression << chunk;
      EXPECT_EQ(file.Text("container_2", "stderr"), "bad\nthing\n") << compression << chunk;
      EXPECT_EQ(file.Text("container_3", "stdout"), "three\n") << compression << chunk;
    }
  }
}

TEST(AggregatedLogTest, AnEmptyLogIsDistinguishedFromAMissingLog) {
  AggregatedFile file = Usual("none");
  const auto empty = file.Find("container_1", "stderr"), other = file.Find("container_1", "executor.log");
  ASSERT_TRUE(empty.ok() && other.ok());
  EXPECT_TRUE(empty->is_log);
  EXPECT_EQ(empty->size, 0);
  EXPECT_FALSE(other->is_log);
}

TEST(AggregatedLogTest, FindReturnsNotFoundForAContainerMissingFromTheLogFile) {
  const auto log = Usual("gz").Find("container_4", "stdout");
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, ErrorCode::kNotFound);
}

TEST(AggregatedLogTest, OnlyTheEndOfALongLogIsRead) {
  std::string text(8 << 20, '-');
  text.replace(text.size() - 5, 5, "last\n");
  for (const char* compression : {"none", "gz"}) {
    TFileWriter writer(compression);
    writer.AddContainer("container_1", {{"stdout", text}, {"stderr", "bad\n"}});
    writer.AddContainer("container_2", {{"stdout", text}});
    AggregatedFile file{writer.Finish()};
    const auto log = file.Find("container_2", "stdout", 10);
    ASSERT_TRUE(log.ok()) << log.error().message;
    EXPECT_EQ(log->size, static_cast<int64_t>(text.size()));
    EXPECT_EQ(log->tail, "-----last\n");
    // The limit allows one window for each of the sixteen chunks; a compressed file has a hundredth of the size.
    EXPECT_LT(file.read, 2 << 20) << compression;
  }
}

TEST(AggregatedLogTest, LogsFrom0BytesTo8MiBAreRead) {
  for (const int64_t size : {0, 127, 128, 5119, 5120, 1 << 20, (1 << 20) + 1, 1 << 23}) {
    TFileWriter writer("none", 1 << 24);
    const std::string text(static_cast<size_t>(size), 'x');
    writer.AddContainer("container_1", {{"stdout", text}});
    const auto log = AggregatedFile{writer.Finish()}.Find("container_1", "stdout", 1 << 24);
    ASSERT_TRUE(log.ok()) << size << log.error().message;
    EXPECT_EQ(log->tail.size(), text.size());
  }
}

TEST(AggregatedLogTest, ATruncatedLogFileIsInvalidAndACorruptFileDoesNotCrashTheReader) {
  const std::string whole = Usual("gz").bytes;
  for (size_t length = 0; length < whole.size(); ++length) {
    AggregatedFile cut{whole.substr(0, length)};
    EXPECT_EQ(cut.Failure().code, ErrorCode::kInvalid) << length;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    AggregatedFile changed{whole};
    changed.bytes[at] ^= 0x55;
    (void)changed.Find("container_3", "stdout").ok();  // returns without a crash
  }
  AggregatedFile other{std::string(1000, 'x')};
  EXPECT_THAT(other.Failure().message, HasSubstr("not a valid aggregated log"));
}

TEST(AggregatedLogTest, ALogFileWhoseIndexHasTooManyBlocksIsRejected) {
  TFileWriter writer("none");
  writer.AddContainer("container_1", {{"stdout", "one\n"}});
  AggregatedFile file{writer.Finish((1 << 20) + 1)};
  EXPECT_EQ(file.Failure().message, "not a valid aggregated log: the number of blocks is wrong");
}

TEST(AggregatedLogTest, AnUnsupportedCompressionIsNamedInTheError) {
  TFileWriter writer("lzo");
  writer.AddContainer("container_1", {{"stdout", "one\n"}});
  AggregatedFile file{writer.Finish()};
  EXPECT_EQ(file.Failure().message, "the compression of the log is \"lzo\", expected none or gz");
}

}  // namespace
}  // namespace tony::hadoop
