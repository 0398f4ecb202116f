// A whole file under its name, or none.
//
//   CREATE .put-<random> -> GETFILESTATUS: as long as it should be? -> RENAME to its name -> done(true)
//        | error               | no, or the check says no                 | there is one: DELETE, done(false)
//        +---------------------+------------------------------------------+ error: DELETE
//                                                  DELETE finds nothing: it was renamed, done(true); else done(error)
//
// HDFS closes a file whose writer is cut off, and the first part of it looks like a whole file. So nothing is written
// under its own name. A temporary file that cannot be removed stays in the folder; its name begins with
// kUnfinishedPut, and nobody reads it.
#pragma once

#include <functional>
#include <string>

#include "runtime/hadoop/webhdfs.h"

namespace tony::hadoop {

inline constexpr char kUnfinishedPut[] = ".put-";

// The folder of `path` is there: it is not made. Loop thread; the handle is the caller's and goes before `hdfs` does.
// False (only kIfNew): there is one. Errors as WebHdfs; after kUnavailable the file may be there, whole. `check`, if
// there is one, is asked when all bytes have arrived; its error ends the put, and nothing has the name.
[[nodiscard]] WebHdfs::Handle PutWhole(WebHdfs& hdfs, const std::string& path, HdfsBody body, HdfsRename how,
                                       int permission, WebHdfs::Done<Result<bool>> done,
                                       std::function<Status()> check = nullptr);

}  // namespace tony::hadoop
