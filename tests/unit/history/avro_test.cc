#include <gtest/gtest.h>

#include <limits>

#include "runtime/history/jhist.h"

namespace tony {
namespace {

std::string Hex(std::string_view bytes) {
  std::string text;
  char hex[3];
  for (const char byte : bytes) {
    std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(byte));
    text += hex;
  }
  return text;
}
std::string LongHex(int64_t value) { return Hex(AvroRecord().Long(value).bytes()); }

const std::string kSync = "0123456789abcdef";

// The examples of Avro's specification, and the smallest and largest numbers.
TEST(AvroTest, IntegersAreEncodedAsZigZagVarints) {
  EXPECT_EQ(LongHex(0), "00");
  EXPECT_EQ(LongHex(-1), "01");
  EXPECT_EQ(LongHex(1), "02");
  EXPECT_EQ(LongHex(-64), "7f");
  EXPECT_EQ(LongHex(64), "8001");
  EXPECT_EQ(LongHex(std::numeric_limits<int64_t>::max()), "feffffffffffffffff01");
  EXPECT_EQ(LongHex(std::numeric_limits<int64_t>::min()), "ffffffffffffffffff01");
}

TEST(AvroTest, StringsHaveALengthPrefixAndDoublesAreLittleEndian) {
  EXPECT_EQ(Hex(AvroRecord().String("foo").String("").bytes()), "06666f6f00");
  EXPECT_EQ(Hex(AvroRecord().Double(1.5).bytes()), "000000000000f83f");
}

TEST(AvroTest, AnAvroContainerConsistsOfAHeaderAndBlocksThatEndWithTheSyncMarker) {
  AvroContainer container("\"long\"", kSync);
  container.Add(AvroRecord().Long(1));
  container.Add(AvroRecord().Long(-2));
  std::string expected = std::string("Obj\1\x04\x16", 6) + "avro.schema\x0c\"long\"\x14" + "avro.codec\x08null";
  expected += std::string("\0", 1) + kSync + "\x04\x04\x02\x03" + kSync;
  EXPECT_EQ(std::move(container).Finish(), expected);
}

TEST(AvroTest, AnAvroContainerWithoutRecordsHasNoBlock) {
  EXPECT_TRUE(AvroContainer("\"long\"", kSync).Finish().ends_with(std::string("\0", 1) + kSync));
}

TEST(AvroTest, RecordsOf200KilobytesAreSplitIntoSeveralBlocks) {
  AvroContainer container("\"string\"", kSync);
  for (int i = 0; i < 5; ++i) container.Add(AvroRecord().String(std::string(40'000, 'x')));
  const std::string file = std::move(container).Finish();
  int marks = 0;
  for (size_t at = file.find(kSync); at != file.npos; at = file.find(kSync, at + 1)) ++marks;
  EXPECT_EQ(marks, 1 + 3);
}

}  // namespace
}  // namespace tony
