#include "runtime/hadoop/data_packets.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/base/strings.h"
#include "runtime/hadoop/credentials.h"

namespace tony::hadoop {
namespace {

namespace hdfs = wire::hdfs;

constexpr int kDataVersion = 28;  // DataTransferProtocol.DATA_TRANSFER_VERSION
constexpr size_t kPacketLengths = 6;
constexpr size_t kChecksumSize = 4;
constexpr uint32_t kLongestPacket = 16 << 20;  // PacketReceiver.MAX_PACKET_SIZE
// The longest message in practice has the addresses of a pipeline and a token, 2 KB.
constexpr uint64_t kLongestMessage = 64 << 10;
constexpr uint32_t kLargestChunk = 1 << 20;

bool ParseMessage(std::string_view bytes, google::protobuf::MessageLite& message) {
  return message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())) && message.IsInitialized();
}

// Eight tables, so that eight bytes are added at a time. Each table has the remainders of a byte with
// a number of zero bytes behind it: 0 in the first table, 7 in the last one.
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

constexpr CrcTables MakeCrcTables(uint32_t reversed_polynomial) {
  CrcTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? reversed_polynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t table = 1; table < tables.size(); ++table)
    for (size_t byte = 0; byte < 256; ++byte)
      tables[table][byte] = tables[table - 1][byte] >> 8 ^ tables[0][tables[table - 1][byte] & 255];
  return tables;
}

constexpr CrcTables kCrc32 = MakeCrcTables(0xEDB88320);
constexpr CrcTables kCrc32c = MakeCrcTables(0x82F63B78);

uint32_t Crc(const CrcTables& tables, std::string_view bytes) {
  const auto byte_at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  uint32_t crc = ~uint32_t{0};
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint32_t next = 0;
    for (size_t i = 0; i < 4; ++i) next ^= tables[7 - i][(crc >> (8 * i) & 255) ^ byte_at(i)];
    for (size_t i = 4; i < 8; ++i) next ^= tables[7 - i][byte_at(i)];
    crc = next;
  }
  for (size_t i = 0; i < bytes.size(); ++i) crc = crc >> 8 ^ tables[0][(crc & 255) ^ byte_at(i)];
  return ~crc;
}

}  // namespace

uint32_t ChecksumOf(std::string_view bytes, hdfs::ChecksumType type) {
  return Crc(type == hdfs::CHECKSUM_CRC32 ? kCrc32 : kCrc32c, bytes);
}

std::string DelimitedBytes(const google::protobuf::MessageLite& message) {
  std::string out;
  size_t size = message.ByteSizeLong();
  for (; size > 0x7f; size >>= 7) out.push_back(static_cast<char>(size | 0x80));
  out.push_back(static_cast<char>(size));
  return out + message.SerializeAsString();
}

std::string OperationBytes(DataOperation operation, const google::protobuf::MessageLite& message) {
  return StrCat(std::string{0, kDataVersion, static_cast<char>(operation)}, DelimitedBytes(message));
}

Result<size_t> ReadDelimited(std::string_view bytes, google::protobuf::MessageLite& message) {
  uint64_t size = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    size |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (size > kLongestMessage || i == 3) break;
    if (byte > 0x7f) continue;
    if (bytes.size() - i - 1 < size) return size_t{0};
    if (!ParseMessage(bytes.substr(i + 1, size), message))
      return InvalidError("the bytes are not a message of the type ", message.GetTypeName());
    return i + 1 + static_cast<size_t>(size);
  }
  if (bytes.size() < 4 && size <= kLongestMessage) return size_t{0};
  return InvalidError("a message is longer than ", kLongestMessage, " bytes");
}

std::string PacketBytes(const hdfs::PacketHeader& header, std::string_view data, uint32_t chunk) {
  const size_t chunks = (data.size() + chunk - 1) / chunk;
  const std::string head = header.SerializeAsString();
  std::string out;
  out.reserve(kPacketLengths + head.size() + chunks * kChecksumSize + data.size());
  AppendBigEndian(out, kChecksumSize + chunks * kChecksumSize + data.size(), 4);
  AppendBigEndian(out, head.size(), 2);
  out += head;
  for (size_t i = 0; i < chunks; ++i)
    AppendBigEndian(out, ChecksumOf(data.substr(i * chunk, chunk), hdfs::CHECKSUM_CRC32C), 4);
  return out.append(data);
}

Status CheckChecksum(const hdfs::Checksum& checksum) {
  const bool is_known = checksum.type() == hdfs::CHECKSUM_CRC32 || checksum.type() == hdfs::CHECKSUM_CRC32C;
  const uint32_t chunk = checksum.bytesperchecksum();
  if (is_known && chunk > 0 && chunk <= kLargestChunk) return Ok();
  return InvalidError("checksums of type ", static_cast<int>(checksum.type()), " for ", chunk,
                      " bytes each are not supported; expected CRC32 or CRC32C for 1 to ", kLargestChunk, " bytes");
}

Result<std::optional<Packet>> ReadPacket(std::string_view bytes, const hdfs::Checksum& checksum) {
  if (bytes.size() < kPacketLengths) return std::optional<Packet>();
  const uint64_t rest = BigEndian(bytes.substr(0, 4)), head = BigEndian(bytes.substr(4, 2));
  if (rest < kChecksumSize || rest > kLongestPacket) return InvalidError("a packet has ", rest, " bytes");
  Packet packet;
  packet.size = kPacketLengths + head + rest - kChecksumSize;
  if (bytes.size() < packet.size) return std::optional<Packet>();
  if (!ParseMessage(bytes.substr(kPacketLengths, head), packet.header))
    return InvalidError("a packet's header is malformed");
  const int64_t length = packet.header.datalen();
  const int64_t chunk = checksum.bytesperchecksum();
  const int64_t checksums = length < 0 ? 0 : (length + chunk - 1) / chunk * static_cast<int64_t>(kChecksumSize);
  if (length < 0 || checksums + length != static_cast<int64_t>(rest - kChecksumSize))
    return InvalidError("a packet of ", rest, " bytes claims to have ", length, " bytes of data");
  packet.checksums = bytes.substr(kPacketLengths + head, static_cast<size_t>(checksums));
  packet.data = bytes.substr(packet.size - static_cast<size_t>(length), static_cast<size_t>(length));
  return std::optional(std::move(packet));
}

bool IsIntact(const Packet& packet, const hdfs::Checksum& checksum) {
  const size_t chunk = checksum.bytesperchecksum();
  for (size_t i = 0; i * kChecksumSize < packet.checksums.size(); ++i)
    if (BigEndian(packet.checksums.substr(i * kChecksumSize, kChecksumSize)) !=
        ChecksumOf(packet.data.substr(i * chunk, chunk), checksum.type()))
      return false;
  return true;
}

}  // namespace tony::hadoop
