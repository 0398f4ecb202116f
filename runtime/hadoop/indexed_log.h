// Reads container logs that NodeManagers leave in HDFS in the indexed format (IFile; Hadoop's class is
// LogAggregationIndexedFileController). Some distributions of Hadoop use it by default. Each node writes one file per
// application. If the application requested uploads while it runs, a node appends to its file, and begins another file
// after a size limit.
//
//   file     id (32), pieces, index, its length (4, big-endian), id (32)
//   append   line end (1), pieces, index of all pieces in the file, its length, id
//   piece    what the node uploaded of a log at one time; uncompressed ("none"), or as one zlib stream ("gz")
//   index    IndexedLogsMeta, a Java object (java_objects.h): compression, and for each upload the time, and the name,
//            size and place of the pieces of each container
//
// The id is the SHA-256 hash of the application's name. An older index within the file is not used.
//
// While a node appends, a file NODE-checksum exists beside the node's files. It names the file, and the length that the
// file had before. It stays if the node dies. The bytes behind that length are not valid then.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/aggregated_log.h"

namespace tony::hadoop {

struct LogPiece {
  int64_t uploaded = 0;  // milliseconds since 1970
  int64_t size = 0;      // bytes of text
  LogRegion stored;
};

struct IndexedLog {
  std::string compression;
  bool has_container = false;
  // False if the container has no log of the requested name.
  bool is_log = false;
  std::vector<LogPiece> pieces;  // in the order of upload
};

// Returns the pieces of the log `stream` of a container. `index` is the index of a file. kInvalid: the index is
// malformed, or has other classes. Pure.
Result<IndexedLog> FindInIndex(std::string_view index, const std::string& container, const std::string& stream);

// Does what ReadAggregatedLog() does, for a file in the indexed format.
Result<AggregatedLog> ReadIndexedLog(const ReadRange& read, int64_t length, const std::string& container,
                                     const std::string& stream, int64_t most);

inline constexpr std::string_view kUploadMarkEnd = "-checksum";
struct UploadMark {
  std::string file;
  // The length of the valid part in bytes. 0: the file has no valid part.
  int64_t valid = 0;
};
// Returns what the content of a file NODE-checksum says. kInvalid: the content is malformed. Pure.
Result<UploadMark> ReadUploadMark(std::string_view content);

}  // namespace tony::hadoop
