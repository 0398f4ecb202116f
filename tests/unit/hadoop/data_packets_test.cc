#include "runtime/hadoop/data_packets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/results.h"

namespace tony::hadoop {
namespace {

namespace hdfs = wire::hdfs;
using testing::HasSubstr;

hdfs::Checksum Crc32cOf(uint32_t chunk) {
  hdfs::Checksum checksum;
  checksum.set_type(hdfs::CHECKSUM_CRC32C);
  checksum.set_bytesperchecksum(chunk);
  return checksum;
}

std::string PacketOf(std::string_view data, int32_t claimed) {
  hdfs::PacketHeader header;
  header.set_offsetinblock(0);
  header.set_seqno(3);
  header.set_lastpacketinblock(false);
  header.set_datalen(claimed);
  return PacketBytes(header, data, 4);
}

TEST(DataPacketsTest, ChecksumsAreThoseOfTheStandards) {
  EXPECT_EQ(ChecksumOf("123456789", hdfs::CHECKSUM_CRC32), 0xcbf43926u);
  EXPECT_EQ(ChecksumOf("123456789", hdfs::CHECKSUM_CRC32C), 0xe3069283u);
  EXPECT_EQ(ChecksumOf("", hdfs::CHECKSUM_CRC32C), 0u);
  EXPECT_EQ(ChecksumOf(std::string(32, '\0'), hdfs::CHECKSUM_CRC32C), 0x8a9136aau);  // RFC 3720
}

TEST(DataPacketsTest, APacketIsReadBackOnceAllItsBytesHaveArrived) {
  const std::string bytes = PacketOf("0123456789", 10);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(Must(ReadPacket(bytes.substr(0, size), Crc32cOf(4))).has_value()) << size;
  const std::string more = bytes + "next";
  const auto packet = Must(ReadPacket(more, Crc32cOf(4)));
  ASSERT_TRUE(packet.has_value());
  EXPECT_EQ(packet->data, "0123456789");
  EXPECT_EQ(packet->checksums.size(), 12u);
  EXPECT_EQ(packet->size, bytes.size());
  EXPECT_EQ(packet->header.seqno(), 3);
  EXPECT_TRUE(IsIntact(*packet, Crc32cOf(4)));
}

TEST(DataPacketsTest, EachChangedByteOfTheDataIsDetected) {
  const std::string bytes = PacketOf("0123456789", 10);
  for (size_t i = bytes.size() - 22; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 1;
    EXPECT_FALSE(IsIntact(*Must(ReadPacket(changed, Crc32cOf(4))), Crc32cOf(4))) << i;
  }
}

TEST(DataPacketsTest, APacketWithContradictingOrExcessiveLengthsIsRefused) {
  const auto why = [](const std::string& bytes, uint32_t chunk = 4) {
    const auto packet = ReadPacket(bytes, Crc32cOf(chunk));
    EXPECT_FALSE(packet.ok());
    return packet.ok() ? "read" : packet.error().message;
  };
  for (const int32_t claimed : {9, 11, -1, 1 << 30})
    EXPECT_THAT(why(PacketOf("0123456789", claimed)), HasSubstr("claims"));
  EXPECT_THAT(why(PacketOf("0123456789", 10), 5), HasSubstr("claims"));
  EXPECT_THAT(why(std::string("\xff\xff\xff\xff\0\0", 6)), HasSubstr("4294967295 bytes"));
  EXPECT_THAT(why(std::string("\0\0\0\3\0\0", 6)), HasSubstr("3 bytes"));
  EXPECT_THAT(why(std::string("\0\0\0\4\0\1x", 7)), HasSubstr("malformed"));
}

TEST(DataPacketsTest, AMessageIsReadOnceAllItsBytesHaveArrivedAndLongMessagesAreRefused) {
  hdfs::PipelineAck ack, read;
  ack.set_seqno(-1);
  for (int i = 0; i < 100; ++i) ack.add_reply(hdfs::ERROR_CHECKSUM);
  const std::string bytes = DelimitedBytes(ack);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_EQ(Must(ReadDelimited(bytes.substr(0, size), read)), 0u);
  EXPECT_EQ(Must(ReadDelimited(bytes + "x", read)), bytes.size());
  EXPECT_EQ(read.reply_size(), 100);
  for (const char* bad : {"\xff\xff\xff", "\x81\x80\x80\x80", "\xff\xff\xff\xff\xff\x7f", "\x01x"})
    EXPECT_FALSE(ReadDelimited(bad, read).ok()) << testing::PrintToString(bad);
}

TEST(DataPacketsTest, ChecksumsThatAreNotSupportedAreRefused) {
  EXPECT_TRUE(CheckChecksum(Crc32cOf(512)).ok());
  for (const uint32_t chunk : {0u, 2u << 20}) EXPECT_FALSE(CheckChecksum(Crc32cOf(chunk)).ok());
  hdfs::Checksum none = Crc32cOf(512);
  none.set_type(hdfs::CHECKSUM_NULL);
  EXPECT_FALSE(CheckChecksum(none).ok());
}

}  // namespace
}  // namespace tony::hadoop
