// `Hdfs` accesses the files of a cluster. The NameNode handles names. Bytes go to and from the DataNodes that the
// NameNode selects. There are three implementations: `WebHdfs` (webhdfs.h) uses the REST interface, `RpcHdfs`
// (rpc_hdfs.h) the protocols of Hadoop's own clients, and `GatewayHdfs` (hdfs.cc) both.
//
// Loop thread only. Each call returns a handle. Destroying the handle cancels the call; the operation may then have
// been done or not. `done` is called once, never inside the call, and may destroy the handle. All handles must be
// destroyed before the Hdfs. Paths are absolute: "/user/eve/x". A caller that gets no answer must read the state of
// HDFS, because nothing is retried. There is one exception: if a NameNode cannot be reached, or answers that it is in
// standby or starting, it has not executed the call, and the call goes to the next NameNode.
//
// Errors name the operation, the path and Hadoop's exception. kUnavailable: no answer, standby, safe mode, and other
// temporary conditions; the operation may still be done. kCannotWrite: quota, full disks, a folder at the path of the
// file, and so on. kInvalid: a bad path, or an answer that is not HDFS'. Other codes: kNotFound, kNotPermitted (also
// DistrustError()).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/net/http_client.h"

namespace tony::hadoop {

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
  std::function<void(int64_t)> on_moved;  // as HttpCall::on_moved

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

// How HDFS is called by RPC.
struct HdfsRpc {
  // The NameNodes' RPC servers, e.g. {{"nn1.example.org", 8020}}. Of several NameNodes one is active. Empty: WebHDFS is
  // used.
  std::vector<Endpoint> name_nodes = {};
  // The principal of the NameNodes, such as "nn/_HOST@EXAMPLE.ORG". Only calls that use a ticket need it.
  std::string principal = {};
  // Connections to DataNodes begin with an exchange that proves a block's token (dfs.data.transfer.protection).
  bool proves_data_transfer = false;
  bool operator==(const HdfsRpc&) const = default;
};

class Hdfs {
 public:
  using Handle = std::unique_ptr<EventLoop::Handle>;
  template <class T>
  using Done = std::function<void(T)>;

  struct Options {
    // The web servers of the NameNodes, e.g. {"http://nn1.example.org:9870", "http://nn2.example.org:9870"}.
    std::vector<std::string> bases = {};
    HdfsRpc rpc = {};
    // For NameNodes and DataNodes with https. Null: the authorities of this machine.
    std::shared_ptr<const HttpTrust> trust = nullptr;
    // User name, which a cluster without Kerberos trusts. Not sent if `token` is set.
    std::string user = {};
    // Returns the text of the token (credentials.h) that proves the user's identity to a cluster with Kerberos. Called
    // for each call, and may block. `refused` is the token that a NameNode has just refused, because it has ended.
    // Empty: no token was refused. The function returns the refused token again if it has no other.
    using FindToken = std::function<Result<std::string>(const std::string& refused)>;
    FindToken token = nullptr;
    // A server through which the bytes of files go, e.g. "http://gate.example.org:14000", and its tokens. All other
    // calls go to the NameNodes by RPC. Empty: none.
    std::string gateway = {};
    FindToken gateway_token = nullptr;
    // Returns the text of the token for the key management server of encryption zones. Null: the server trusts `user`.
    std::function<Result<std::string>()> kms_token = nullptr;
    // The limit of an answer, 4 MiB, is enough for 1000 entries of a folder, or for 32 attributes of 16 KB as hex.
    HttpCallLimits limits = {.answer = 4 << 20};
  };

  virtual ~Hdfs() = default;

  // Creates a folder and its parents. Succeeds if the folder already exists.
  [[nodiscard]] virtual Handle MakeFolders(const std::string& path, int permission, Done<Status> done) = 0;
  [[nodiscard]] virtual Handle GetEntry(const std::string& path, Done<Result<HdfsEntry>> done) = 0;
  // Returns a new token for the user who has a Kerberos ticket (gss_context.h), or for `proxied`, whom this user
  // impersonates (hadoop.proxyuser.*), unless it is empty. `renewer` is the principal that may renew the token. May
  // block while Kerberos answers.
  [[nodiscard]] virtual Handle GetToken(const std::string& renewer, const std::string& proxied,
                                        Done<Result<Token>> done) = 0;
  // Returns the URI of the key management server of the cluster's encryption zones; empty: it has none.
  [[nodiscard]] virtual Handle GetKeyProvider(Done<Result<std::string>> done) = 0;
  // Renews a token whose renewer is the owner of the Kerberos ticket, and returns the time at which the token ends
  // then.
  [[nodiscard]] virtual Handle RenewToken(const Token& token, Done<Result<Instant>> done) = 0;
  // Checks the user's access to `path`. `action` has the form "r-x". kNotPermitted: access is denied.
  [[nodiscard]] virtual Handle CheckAccess(const std::string& path, const std::string& action, Done<Status> done) = 0;
  // Lists a folder in the order of names. A large folder takes several calls. Entries that are moved meanwhile may be
  // missed.
  [[nodiscard]] virtual Handle List(const std::string& path, Done<Result<std::vector<HdfsEntry>>> done) = 0;
  // Creates a file. `done` receives false if the file already exists; that file stays unchanged. After an error the
  // file may exist with only the first part of its bytes, and nothing shows that. PutCompleteFile() avoids this.
  [[nodiscard]] virtual Handle Create(const std::string& path, HdfsBody body, const HdfsCreation& how,
                                      Done<Result<bool>> done) = 0;
  [[nodiscard]] virtual Handle Append(const std::string& path, HdfsBody body, Done<Status> done) = 0;
  // Reads at most `length` bytes from `offset` on, fewer at the end of the file. kInvalid: more bytes than
  // Options::limits allow.
  [[nodiscard]] virtual Handle Read(const std::string& path, int64_t offset, int64_t length,
                                    Done<Result<std::string>> done) = 0;
  // Renames a file or folder. An existing folder `to` is an error: nothing is moved into it. With kIfNew, `done`
  // receives false if a file `to` exists.
  [[nodiscard]] virtual Handle Rename(const std::string& from, const std::string& to, HdfsRename how,
                                      Done<Result<bool>> done) = 0;
  // Removes a file, or a folder with its content. `done` receives false if `path` did not exist.
  [[nodiscard]] virtual Handle Remove(const std::string& path, Done<Result<bool>> done) = 0;
  [[nodiscard]] virtual Handle SetPermission(const std::string& path, int permission, Done<Status> done) = 0;
  // Sets an attribute. `name` has the form "user.tony.x". By default, a NameNode accepts 32 attributes of 16 KiB each.
  // With kIfNew, `done` receives false if the attribute already exists.
  [[nodiscard]] virtual Handle SetXattr(const std::string& path, const std::string& name, std::string_view value,
                                        HdfsXattr how, Done<Result<bool>> done) = 0;
  [[nodiscard]] virtual Handle GetXattrs(const std::string& path,
                                         Done<Result<std::map<std::string, std::string>>> done) = 0;
};

// Returns the implementation that `options` select.
std::unique_ptr<Hdfs> MakeHdfs(EventLoop& loop, Hdfs::Options options);

// The limit of entries in a folder that List() returns. Each entry takes about 300 bytes of memory.
inline constexpr size_t kMostHdfsEntries = 200'000;
// The slowest accepted rate of a transfer. The limit of a call grows by the time that its body takes at this rate.
inline constexpr int64_t kLeastBytesPerMillisecond = 1 << 10;

// `PutCompleteFile` writes a whole file under its name, or no file.
//
//   create .put-<random> -> get its entry: does the length match? ---> rename to its name -> done(true)
//        | error               | no, or `check` fails                     | name exists: remove, done(false)
//        +---------------------+------------------------------------------+ error: remove
//                                         `remove` finds nothing: it was renamed, done(true); else done(error)
//
// HDFS closes a file whose writer is cut off, and the first part of the file looks like a whole file. Therefore nothing
// is written under the final name. A temporary file that cannot be removed stays in the folder. Its name begins with
// kUnfinishedPut, and readers ignore it.

inline constexpr char kUnfinishedPut[] = ".put-";

// Writes a file. The folder of `path` must exist. Loop thread; the caller owns the handle and must destroy it before
// `hdfs`. With kIfNew, `done` receives false if the file already exists. Errors are those of Hdfs. After kUnavailable
// the whole file may exist. `check`, if set, is called when all bytes have arrived. If `check` returns an error, no
// file with that name is written.
[[nodiscard]] Hdfs::Handle PutCompleteFile(Hdfs& hdfs, const std::string& path, HdfsBody body, HdfsRename how,
                                           int permission, Hdfs::Done<Result<bool>> done,
                                           std::function<Status()> check = nullptr);

}  // namespace tony::hadoop
