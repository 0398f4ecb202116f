// The bytes of the DataNodes' protocol. Pure functions; private to this folder, because it exposes protobuf types.
//
//   client: version (2 bytes), operation (1 byte), message      DataNode: BlockOpResponse, and after SUCCESS
//     read, at the end ClientReadStatus                            packets
//     write, then packets                                          a PipelineAck for each packet
//
//   message: its length as a varint, its bytes
//   packet: length of checksums and data plus 4 (4 bytes), length of the header (2 bytes), PacketHeader, 4 bytes
//     of checksum for each chunk of the data, data. The last packet of a block has no data.
//
// Received lengths are not trusted: messages and packets above a limit are refused.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/hadoop/wire/hdfs.pb.h"

namespace tony::hadoop {

enum class DataOperation : char { kWriteBlock = 80, kReadBlock = 81 };  // Op
std::string OperationBytes(DataOperation operation, const google::protobuf::MessageLite& message);
std::string DelimitedBytes(const google::protobuf::MessageLite& message);

// Reads the message at the start of `bytes`, and returns the number of its bytes. 0: more bytes are needed. kInvalid:
// the message is too long or of another type.
Result<size_t> ReadDelimited(std::string_view bytes, google::protobuf::MessageLite& message);

uint32_t ChecksumOf(std::string_view bytes, wire::hdfs::ChecksumType type);  // CRC32 or CRC32C

// Returns a packet whose checksums are CRC32C.
std::string PacketBytes(const wire::hdfs::PacketHeader& header, std::string_view data, uint32_t chunk);

struct Packet {
  wire::hdfs::PacketHeader header;
  std::string_view checksums, data;  // parts of the bytes
  size_t size = 0;                   // bytes of the whole packet
};
// Returns the packet at the start of `bytes`. nullopt: more bytes are needed. kInvalid: the lengths contradict each
// other or exceed the limits, or the number of checksums is wrong.
Result<std::optional<Packet>> ReadPacket(std::string_view bytes, const wire::hdfs::Checksum& checksum);
// Returns whether the data has its checksums.
bool IsIntact(const Packet& packet, const wire::hdfs::Checksum& checksum);

// Returns kInvalid if the checksum's type is unknown, or the size of a chunk is out of bounds.
Status CheckChecksum(const wire::hdfs::Checksum& checksum);

}  // namespace tony::hadoop
