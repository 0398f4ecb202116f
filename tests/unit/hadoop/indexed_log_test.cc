#include "runtime/hadoop/indexed_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/hadoop/java_objects.h"
#include "tests/support/indexed_logs.h"

namespace tony::hadoop {
namespace {

using testing::HasSubstr;

constexpr size_t kFooter = 36;

struct IndexedFile {
  std::string bytes;
  int64_t read = 0;  // the number of bytes read

  Result<AggregatedLog> Find(const std::string& container, const std::string& stream, int64_t most = 1 << 20) {
    const ReadRange range = [this](int64_t offset, int64_t length) -> Result<std::string> {
      EXPECT_GE(offset, 0);
      EXPECT_LE(offset + length, static_cast<int64_t>(bytes.size()));
      read += length;
      return bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(length));
    };
    return ReadAggregatedLog(range, static_cast<int64_t>(bytes.size()), container, stream, most);
  }
  std::string Text(const std::string& container, const std::string& stream, int64_t most = 1 << 20) {
    const auto log = Find(container, stream, most);
    return log.ok() ? log->tail : log.error().message;
  }

  size_t index() const { return bytes.rfind(std::string_view("\xac\xed\0\5", 4)); }
  // Replaces a text in the index and corrects the index's length.
  void Change(std::string_view from, std::string_view to) {
    const size_t begin = index(), at = bytes.find(from, begin);
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at, from.size(), to);
    const size_t length = bytes.size() - kFooter - begin;
    bytes[bytes.size() - kFooter + 2] = static_cast<char>(length >> 8);
    bytes[bytes.size() - kFooter + 3] = static_cast<char>(length);
  }
};

IndexedFile Plain() { return {std::string(kIndexedLogs)}; }
IndexedFile Rolled() { return {std::string(kRolledLogs)}; }

TEST(IndexedLogTest, EachLogOfAContainerIsFound) {
  IndexedFile file = Plain();
  EXPECT_EQ(file.Text(kIndexedContainer, "stdout"), "started\n");
  EXPECT_EQ(file.Text(kIndexedContainer, "app.log"), "last\n");
  EXPECT_EQ(file.Text(kIndexedContainer, "app.log", 3), "st\n");
  const auto other = file.Find(kIndexedContainer, "stderr"), nobody = file.Find(kRolledContainer, "stdout");
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->is_log);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code, ErrorCode::kNotFound);
}

TEST(IndexedLogTest, CompressedUploadsOfOneLogAreJoinedInTheOrderOfUpload) {
  IndexedFile file = Rolled();
  const auto log = file.Find(kRolledContainer, "app.log");
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->tail, "roll one\nroll two\nlast\n");
  EXPECT_EQ(log->size, 23);
  const auto end = file.Find(kRolledContainer, "app.log", 9);
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->tail, "two\nlast\n");
  EXPECT_EQ(end->size, 23);
  EXPECT_EQ(file.Text(kRolledContainer, "app.log", 5), "last\n");
  // The time of the first upload follows the class's description. A later time moves this upload behind the other one.
  file.Change(std::string_view("xp\0\0\1\xa2", 6), std::string_view("xp\0\0\2\xa2", 6));
  EXPECT_EQ(file.Text(kRolledContainer, "app.log"), "last\nroll one\nroll two\n");
}

TEST(IndexedLogTest, OnlyTheIndexAndTheEndOfTheLogAreRead) {
  IndexedFile file = Plain();
  file.bytes.insert(file.index(), 8 << 20, '-');
  EXPECT_EQ(file.Text(kIndexedContainer, "app.log", 3), "st\n");
  EXPECT_EQ(file.read, kLogWindow + 3);
}

TEST(IndexedLogTest, AFileThatIsCutAnywhereIsInvalidUnlessAnEarlierUploadEndsThere) {
  for (const IndexedFile& whole : {Plain(), Rolled()}) {
    for (size_t length = 0; length < whole.bytes.size(); ++length) {
      IndexedFile cut{whole.bytes.substr(0, length)};
      const auto log = cut.Find(kRolledContainer, "app.log");
      if (whole.bytes == kRolledLogs && length == kFirstRoll) {
        EXPECT_EQ(log.ok() ? log->tail : log.error().message, "roll one\nroll two\n");
      } else {
        ASSERT_FALSE(log.ok()) << length;
        EXPECT_EQ(log.error().code, ErrorCode::kInvalid) << length;
      }
    }
  }
}

TEST(IndexedLogTest, AnIndexThatIsCutAnywhereOrCorruptDoesNotCrashTheReader) {
  const IndexedFile whole = Rolled();
  const std::string index = whole.bytes.substr(whole.index(), whole.bytes.size() - kFooter - whole.index());
  ASSERT_TRUE(FindInIndex(index, kRolledContainer, "app.log").ok());
  for (size_t length = 0; length < index.size(); ++length) {
    const auto found = FindInIndex(index.substr(0, length), kRolledContainer, "app.log");
    ASSERT_FALSE(found.ok()) << length;
    EXPECT_EQ(found.error().code, ErrorCode::kInvalid) << length;
  }
  for (size_t at = whole.index(); at < whole.bytes.size(); ++at) {
    IndexedFile changed = whole;
    changed.bytes[at] = static_cast<char>(changed.bytes[at] ^ (at % 2 ? 0x55 : 0x81));
    (void)changed.Find(kRolledContainer, "app.log").ok();  // returns without a crash
  }
}

TEST(IndexedLogTest, AnUnsupportedCompressionIsNamedInTheError) {
  IndexedFile file = Rolled();
  file.Change(std::string_view("t\0\2gz", 5), std::string_view("t\0\3lzo", 6));
  EXPECT_EQ(file.Text(kRolledContainer, "app.log"), "the compression of the log is \"lzo\", expected none or gz");
}

TEST(IndexedLogTest, AForeignClassIsNamedInTheError) {
  IndexedFile file = Plain();
  file.Change("$IndexedLogsMeta", "$IndexedLogsBeta");
  EXPECT_THAT(file.Text(kIndexedContainer, "stdout"), HasSubstr("$IndexedLogsBeta in place of"));
  IndexedFile other = Plain();
  other.Change("$IndexedFileLogMeta", "$IndexedFileLogBeta");
  EXPECT_THAT(other.Text(kIndexedContainer, "stdout"), HasSubstr("$IndexedFileLogBeta in place of"));
}

TEST(IndexedLogTest, AnUploadMarkNamesTheFileAndItsValidLength) {
  const std::string content("\0\0\0\x1dlocalhost_16811_1796001182516\0\0\0\0\0\0\4\x4f", 41);
  const auto mark = ReadUploadMark(content);
  ASSERT_TRUE(mark.ok()) << mark.error().message;
  EXPECT_EQ(mark->file, "localhost_16811_1796001182516");
  EXPECT_EQ(mark->valid, 1103);
  for (size_t length = 0; length < content.size(); ++length)
    EXPECT_FALSE(ReadUploadMark(content.substr(0, length)).ok()) << length;
}

// Java objects that no node writes.

const std::string kMagic("\xac\xed\0\5", 4);
// A class description. `parent` follows it in the stream.
std::string ClassOf(const std::string& name, char flags, const std::string& parent = "p") {
  return "r" + std::string{'\0', static_cast<char>(name.size())} + name + std::string(8, 'v') + flags +
         std::string(2, '\0') + "x" + parent;
}
const std::string kFirstHandle("q\0\x7e\0\0", 5);

std::string FailureOf(const std::string& bytes) {
  const auto objects = JavaObjects::Parse(kMagic + bytes);
  return objects.ok() ? "" : objects.error().message;
}

TEST(JavaObjectsTest, AnObjectThatIsNestedTooDeeplyIsRejected) {
  std::string bytes = "s" + ClassOf("A", 3);
  for (int i = 0; i < 1000; ++i) bytes += "s" + kFirstHandle;
  EXPECT_EQ(FailureOf(bytes), "the Java object is nested too deeply");
  std::string classes = "s";
  for (int i = 0; i < 1000; ++i) classes += ClassOf("A", 2, "");
  EXPECT_EQ(FailureOf(classes), "the Java object has too many classes");
}

TEST(JavaObjectsTest, AClassThatIsItsOwnParentIsRejected) {
  EXPECT_THAT(FailureOf("s" + ClassOf("A", 2, kFirstHandle)), HasSubstr("malformed Java object"));
}

TEST(JavaObjectsTest, TooManyObjectsOrValuesAreRejected) {
  std::string strings = "s" + ClassOf("A", 3), nulls = strings;
  for (int i = 0; i < 1 << 19; ++i) strings += std::string("t\0\0", 3);
  EXPECT_EQ(FailureOf(strings), "the Java object contains too many objects");
  nulls.append((2 << 20) + 1, 'p');
  EXPECT_EQ(FailureOf(nulls), "the Java object contains too many values");
}

TEST(JavaObjectsTest, LengthsBeyondTheEndAreRejected) {
  EXPECT_EQ(FailureOf(std::string("|\xff\xff\xff\xff\xff\xff\xff\xff", 9)), "the Java object ends early");
  EXPECT_EQ(FailureOf("s" + ClassOf("A", 3) + std::string("z\xff\xff\xff\xff", 5)), "the Java object ends early");
}

TEST(JavaObjectsTest, UnsupportedTypesAreRejected) {
  EXPECT_THAT(FailureOf("v"), HasSubstr("unsupported type 118"));
  EXPECT_THAT(FailureOf("u" + ClassOf("[I", 2)), HasSubstr("unsupported array"));
  EXPECT_EQ(FailureOf("s" + ClassOf("A", 12)), "unsupported Java class A");
}

}  // namespace
}  // namespace tony::hadoop
