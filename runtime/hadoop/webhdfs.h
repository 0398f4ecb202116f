// `WebHdfs` accesses HDFS through its REST interface, WebHDFS. The NameNode handles names. Bytes go to and from the
// DataNodes that the NameNode selects.
//
// Loop thread only. Each call returns a handle. Destroying the handle cancels the call; the operation may then have
// been done or not. `done` is called once, never inside the call, and may destroy the handle. All handles must be
// destroyed before the WebHdfs. Paths are absolute: "/user/eve/x". A caller that gets no answer must read the state of
// HDFS, because nothing is retried. There is one exception: if a NameNode cannot be reached, or answers that it is in
// standby or starting, it has not executed the call, and the call goes to the next NameNode.
//
// Errors name the operation, the path and Hadoop's exception. kUnavailable: no answer, standby, safe mode, and other
// temporary conditions; the operation may still be done. kCannotWrite: quota, full disks, a folder at the path of the
// file, and so on. kInvalid: a bad path, or an answer that is not WebHDFS'. Other codes: kNotFound, kNotPermitted (also
// DistrustError()).
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
#include "runtime/hadoop/credentials.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

// The key of a NameNode's address with HTTPS. Errors of its certificate begin with this key.
inline constexpr char kHttpsAddressKey[] = "dfs.namenode.https-address";

struct HdfsEntry {
  // Name in its folder. Empty in the result of GetEntry().
  std::string name;
  bool is_folder = false;
  int64_t length = 0;  // bytes
  Instant modified{};
  int permission = 0;  // e.g. 0640
  std::string owner, group;
  // Id of the file or folder, which HDFS never assigns again.
  int64_t id = 0;
};

struct HdfsBody {
  std::string bytes;
  std::optional<FilePart> file;           // sent instead of `bytes`
  std::function<void(int64_t)> on_moved;  // passed on as HttpCall::on_moved

  int64_t length() const { return file ? file->length : static_cast<int64_t>(bytes.size()); }
};

struct HdfsCreation {
  bool overwrite = false;
  // False: a missing folder is the error kNotFound. With true, a late writer could create a folder again after it was
  // moved away.
  bool make_parents = false;
  // The permission of the new file. HDFS does not reduce it, because this client sends no umask.
  int permission = 0600;
};

enum class HdfsRename { kIfNew, kOverwrite };
enum class HdfsXattr { kIfNew, kOverwrite };

class WebHdfs {
 public:
  using Handle = std::unique_ptr<EventLoop::Handle>;
  template <class T>
  using Done = std::function<void(T)>;

  struct Options {
    // The NameNodes, of which one is active, e.g. {"http://nn1.example.org:9870", "http://nn2.example.org:9870"}.
    std::vector<std::string> bases;
    // For NameNodes and DataNodes with https. Null: the authorities of this machine.
    std::shared_ptr<const HttpTrust> trust = nullptr;
    // User name, which a cluster without Kerberos trusts. Not sent if `token` is set.
    std::string user;
    // Returns the text of the token (credentials.h) that proves the user's identity to a cluster with Kerberos. Called
    // for each call, and may block. `refused` is the token that a NameNode has just refused, because it has ended.
    // Empty: no token was refused. The function returns the refused token again if it has no other.
    std::function<Result<std::string>(const std::string& refused)> token = nullptr;
    // The limit of an answer, 4 MiB, is enough for 1000 entries of a folder, or for 32 attributes of 16 KB as hex.
    HttpCallLimits limits = {.answer = 4 << 20};
  };

  WebHdfs(EventLoop& loop, Options options);

  // Creates a folder and its parents. Succeeds if the folder already exists.
  [[nodiscard]] Handle MakeFolders(const std::string& path, int permission, Done<Status> done);
  [[nodiscard]] Handle GetEntry(const std::string& path, Done<Result<HdfsEntry>> done);
  // Returns a new token for the user who has a Kerberos ticket (gss_context.h), or for `proxied`, whom this user
  // impersonates (hadoop.proxyuser.*), unless it is empty. `renewer` is the principal that may renew the token. May
  // block while Kerberos answers.
  [[nodiscard]] Handle GetToken(const std::string& renewer, const std::string& proxied, Done<Result<Token>> done);
  // Renews a token whose renewer is the owner of the Kerberos ticket, and returns the time at which the token ends
  // then.
  [[nodiscard]] Handle RenewToken(const Token& token, Done<Result<Instant>> done);
  [[nodiscard]] Handle GetHomeFolder(Done<Result<std::string>> done);
  // Checks the user's access to `path`. `action` has the form "r-x". kNotPermitted: access is denied.
  [[nodiscard]] Handle CheckAccess(const std::string& path, const std::string& action, Done<Status> done);
  // Lists a folder in the order of names. A large folder takes several calls. Entries that are moved meanwhile may be
  // missed.
  [[nodiscard]] Handle List(const std::string& path, Done<Result<std::vector<HdfsEntry>>> done);
  // Creates a file. `done` receives false if the file already exists; that file stays unchanged. After an error the
  // file may exist with only the first part of its bytes, and nothing shows that. PutCompleteFile() avoids this.
  [[nodiscard]] Handle Create(const std::string& path, HdfsBody body, const HdfsCreation& how, Done<Result<bool>> done);
  [[nodiscard]] Handle Append(const std::string& path, HdfsBody body, Done<Status> done);
  // Reads at most `length` bytes from `offset` on, fewer at the end of the file. kInvalid: more bytes than
  // Options::limits allow.
  [[nodiscard]] Handle Read(const std::string& path, int64_t offset, int64_t length, Done<Result<std::string>> done);
  // Renames a file or folder. An existing folder `to` is an error: nothing is moved into it. With kIfNew, `done`
  // receives false if a file `to` exists.
  [[nodiscard]] Handle Rename(const std::string& from, const std::string& to, HdfsRename how, Done<Result<bool>> done);
  // Removes a file, or a folder with its content. `done` receives false if `path` did not exist.
  [[nodiscard]] Handle Remove(const std::string& path, Done<Result<bool>> done);
  [[nodiscard]] Handle SetPermission(const std::string& path, int permission, Done<Status> done);
  // Sets an attribute. `name` has the form "user.tony.x". By default, a NameNode accepts 32 attributes of 16 KiB each.
  // With kIfNew, `done` receives false if the attribute already exists.
  [[nodiscard]] Handle SetXattr(const std::string& path, const std::string& name, std::string_view value, HdfsXattr how,
                                Done<Result<bool>> done);
  [[nodiscard]] Handle GetXattrs(const std::string& path, Done<Result<std::map<std::string, std::string>>> done);

 private:
  using Query = std::vector<std::pair<std::string, std::string>>;
  struct Operation {
    std::string method, name, path;
    Query query;
    bool uses_ticket = false;  // instead of Options::token
    std::string Subject() const { return name + " " + path; }
  };
  class Steps;
  class Listing;

  Result<HttpCall> CallFor(Steps& steps, const Operation& operation, const std::string& base) const;
  void AskNameNode(Steps& steps, const Operation& operation, size_t tries, const Done<Result<HttpResponse>>& done);
  Handle Ask(const Operation& operation, Done<Result<HttpResponse>> done);
  Handle AskDataNode(const Operation& operation, HttpCall data, Done<Result<HttpResponse>> done);
  Handle SendBytes(const Operation& operation, HdfsBody body, Done<Result<HttpResponse>> done);

  EventLoop& loop_;
  Options options_;
  HttpClient http_;
};

// `PutCompleteFile` writes a whole file under its name, or no file.
//
//   CREATE .put-<random> -> GETFILESTATUS: does the length match? ---> RENAME to its name -> done(true)
//        | error               | no, or `check` fails                     | name exists: DELETE, done(false)
//        +---------------------+------------------------------------------+ error: DELETE
//                                                  DELETE finds nothing: it was renamed, done(true); else done(error)
//
// HDFS closes a file whose writer is cut off, and the first part of the file looks like a whole file. Therefore nothing
// is written under the final name. A temporary file that cannot be removed stays in the folder. Its name begins with
// kUnfinishedPut, and readers ignore it.

inline constexpr char kUnfinishedPut[] = ".put-";

// Writes a file. The folder of `path` must exist. Loop thread; the caller owns the handle and must destroy it before
// `hdfs`. With kIfNew, `done` receives false if the file already exists. Errors are those of WebHdfs. After
// kUnavailable the whole file may exist. `check`, if set, is called when all bytes have arrived. If `check` returns an
// error, no file with that name is written.
[[nodiscard]] WebHdfs::Handle PutCompleteFile(WebHdfs& hdfs, const std::string& path, HdfsBody body, HdfsRename how,
                                              int permission, WebHdfs::Done<Result<bool>> done,
                                              std::function<Status()> check = nullptr);

}  // namespace tony::hadoop
