// Calls to DataNodes: each reads or writes one block over a connection of its own. Private to this folder, because it
// exposes protobuf types.
//
//   connecting ---> proving (dfs.data.transfer.protection, dfs.encrypt.data.transfer) ---> moving packets -> done, once
//        \____________________________ any failure, or no byte moves for a while __________________________/
//
// Loop thread only. A call belongs to the owner of its handle. Destroying the handle cuts the connection. `done` is
// never called inside a function of this file, and may destroy the handle.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/digest_md5.h"
#include "runtime/hadoop/file_coding.h"
#include "runtime/hadoop/hdfs.h"
#include "runtime/hadoop/wire/hdfs.pb.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

struct DataNodeContext {
  EventLoop& loop;
  HttpCallLimits limits;
  std::string client_name;
  // Options::rpc.proves_data_transfer: blocks' tokens prove the identity.
  bool proves_tokens = false;
  // The key of a cluster that encrypts all data. Not set: it does not.
  std::optional<DigestLogin> key = std::nullopt;
};

// A part of a block that is read from the DataNode `location` of the block.
struct BlockPart {
  wire::hdfs::LocatedBlock block;
  int location = 0;
  uint64_t offset = 0;  // in the block
  uint64_t length = 0;
};
// kUnavailable: the DataNode does not answer, refuses, or the bytes do not match their checksums.
[[nodiscard]] Hdfs::Handle ReadBlock(const DataNodeContext& context, const BlockPart& part,
                                     Hdfs::Done<Result<std::string>> done);

// The content of a new block. The owner keeps `body` as long as the handle lives.
struct BlockContent {
  wire::hdfs::LocatedBlock block;
  const HdfsBody* body = nullptr;
  int64_t offset = 0;  // in the body
  int64_t length = 0;
  uint32_t chunk = 512;  // bytes for each checksum
  // Set: the bytes are encrypted before they are sent. The body begins at `body_offset` of the file.
  std::optional<FileCipher> cipher = std::nullopt;
  uint64_t body_offset = 0;
  // Receives the number of bytes of this block that were sent. Must not destroy the handle.
  std::function<void(int64_t)> on_moved;
};
struct BlockFailure {
  Error why;
  // The DataNode that has probably failed.
  int location = 0;
};
// Writes to the first DataNode of the block, which passes the bytes on to the others. Receives nullopt when all have
// the bytes. kInvalid: the body cannot be read, so a repetition does not help.
[[nodiscard]] Hdfs::Handle WriteBlock(const DataNodeContext& context, const BlockContent& content,
                                      Hdfs::Done<std::optional<BlockFailure>> done);

}  // namespace tony::hadoop
