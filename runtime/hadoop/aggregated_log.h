// A log out of what NodeManagers leave of an application in HDFS when yarn.log-aggregation-enable is on, in Hadoop's
// TFile format (LogAggregationTFileController, which is what a cluster has unless it says otherwise): a file for each
// node, in it an entry for each container, in it all its logs, one after the other.
//
//   file    magic, blocks, BCFile.index and other meta blocks, meta index, its offset (8), version (4), magic (16)
//   block   entries; as they are ("none"), or as one zlib stream ("gz")
//   entry   length of the key, key; value in chunks, of which all but the last have a length below 0
//   value   of each log: name, length as digits, and so many bytes
//
// Numbers are TFile's own variable-length ones. Names within keys and values are Java's: two bytes of length before
// them. What is not looked for is skipped without being read, where it is not compressed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/base/result.h"

namespace tony::hadoop {

// Bytes of a file, from `offset` on: as many as are asked for.
using ReadRange = std::function<Result<std::string>(int64_t offset, int64_t length)>;

struct AggregatedLog {
  int64_t size = 0;     // of the log
  std::string tail;     // its last bytes
  bool is_log = false;  // else the container is there, and has no log of that name
};

// At most `most` bytes of the log `stream` of a container, out of a file of `length` bytes. kNotFound: it has nothing
// of the container. kInvalid: it is no such file, or not as it should be, or compressed in another way. Others: as of
// `read`.
Result<AggregatedLog> ReadAggregatedLog(const ReadRange& read, int64_t length, const std::string& container,
                                        const std::string& stream, int64_t most);

}  // namespace tony::hadoop
