// HDFS by its REST interface, WebHDFS: names are the NameNode's, bytes go to and from the DataNodes that it names.
//
// Loop thread only. Each call returns its handle; destroying that ends the call, and what was asked for may be done or
// not. `done` is called once, never inside the call, and may destroy the handle. All handles are gone before the
// WebHdfs is. Paths are absolute: "/user/eve/x". Nothing is asked twice: whose answer was lost looks again.
//
// Errors name the operation, the path and Hadoop's exception: kNotFound, kNotPermitted, kUnavailable (no answer,
// standby, safe mode, and whatever may pass; the work may be done all the same), kCannotWrite (quota, full disks, a
// folder where a file is, ...), kInvalid (a path, or an answer that is none).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

struct HdfsEntry {
  std::string name;  // in its folder; of GetEntry() empty
  bool is_folder = false;
  int64_t length = 0;  // bytes
  Instant modified{};
  int permission = 0;  // 0640
  std::string owner, group;
  int64_t id = 0;  // of what has the name now: never given again
};

struct HdfsBody {
  std::string bytes;
  std::optional<FilePart> file;           // in place of `bytes`
  std::function<void(int64_t)> on_moved;  // as HttpCall::on_moved

  int64_t length() const { return file ? file->length : static_cast<int64_t>(bytes.size()); }
};

struct HdfsCreation {
  bool overwrite = false;
  bool make_parents = false;  // else kNotFound: who writes late does not make a folder anew that was moved away
  int permission = 0600;      // as it is: HDFS takes no umask from us
};

enum class HdfsRename { kIfNew, kOverwrite };
enum class HdfsXattr { kIfNew, kOverwrite };

class WebHdfs {
 public:
  using Handle = std::unique_ptr<EventLoop::Handle>;
  template <class T>
  using Done = std::function<void(T)>;

  struct Options {
    std::string base;                             // "http://nn.example.org:9870"
    std::string user;                             // whom a cluster without Kerberos believes
    HttpCallLimits limits = {.answer = 4 << 20};  // 1000 entries of a folder, or 32 attributes of 16 KB as hex
  };

  WebHdfs(EventLoop& loop, Options options);

  [[nodiscard]] Handle MakeFolders(const std::string& path, int permission, Done<Status> done);  // harmless if there
  [[nodiscard]] Handle GetEntry(const std::string& path, Done<Result<HdfsEntry>> done);
  // `action` is as "r-x". kNotPermitted: the user may not.
  [[nodiscard]] Handle CheckAccess(const std::string& path, const std::string& action, Done<Status> done);
  // In the order of names. In a large folder it is several calls, so it may miss what is moved meanwhile.
  [[nodiscard]] Handle List(const std::string& path, Done<Result<std::vector<HdfsEntry>>> done);
  // False: there is one, and it is as it was. A file whose writing ends in an error may be there with the first part of
  // its bytes, and nothing shows that: see webhdfs.h.
  [[nodiscard]] Handle Create(const std::string& path, HdfsBody body, const HdfsCreation& how, Done<Result<bool>> done);
  [[nodiscard]] Handle Append(const std::string& path, HdfsBody body, Done<Status> done);
  // At most `length` bytes from `offset` on, fewer where the file ends. kInvalid if they are more than Options::limits
  // allow.
  [[nodiscard]] Handle Read(const std::string& path, int64_t offset, int64_t length, Done<Result<std::string>> done);
  // Never into a folder of that name, which is an error. False (only kIfNew): there is a file `to`.
  [[nodiscard]] Handle Rename(const std::string& from, const std::string& to, HdfsRename how, Done<Result<bool>> done);
  // A folder with what is in it. False: there was nothing.
  [[nodiscard]] Handle Remove(const std::string& path, Done<Result<bool>> done);
  [[nodiscard]] Handle SetPermission(const std::string& path, int permission, Done<Status> done);
  // `name` is as "user.tony.x". A NameNode takes 32 of 16 KiB each, as it comes. False (only kIfNew): there is one.
  [[nodiscard]] Handle SetXattr(const std::string& path, const std::string& name, std::string_view value, HdfsXattr how,
                                Done<Result<bool>> done);
  [[nodiscard]] Handle GetXattrs(const std::string& path, Done<Result<std::map<std::string, std::string>>> done);

 private:
  using Query = std::vector<std::pair<std::string, std::string>>;
  struct Operation {
    std::string method, name, path;
    Query query;
    std::string Subject() const { return name + " " + path; }
  };
  class Steps;
  class Listing;

  HttpCall CallFor(const Operation& operation) const;
  Handle Ask(const Operation& operation, Done<Result<HttpResponse>> done);
  Handle AskDataNode(const Operation& operation, HttpCall data, Done<Result<HttpResponse>> done);
  Handle SendBytes(const Operation& operation, HdfsBody body, Done<Result<HttpResponse>> done);

  Options options_;
  HttpClient http_;
};

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

inline constexpr char kUnfinishedPut[] = ".put-";

// The folder of `path` is there: it is not made. Loop thread; the handle is the caller's and goes before `hdfs` does.
// False (only kIfNew): there is one. Errors as WebHdfs; after kUnavailable the file may be there, whole. `check`, if
// there is one, is asked when all bytes have arrived; its error ends the put, and nothing has the name.
[[nodiscard]] WebHdfs::Handle PutWhole(WebHdfs& hdfs, const std::string& path, HdfsBody body, HdfsRename how,
                                       int permission, WebHdfs::Done<Result<bool>> done,
                                       std::function<Status()> check = nullptr);

}  // namespace tony::hadoop
