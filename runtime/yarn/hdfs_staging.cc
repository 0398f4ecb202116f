#include "runtime/yarn/hdfs_staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/records/entry_store.h"
#include "runtime/staging/pack_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

using hadoop::HdfsEntry;
using hadoop::HdfsRename;
using hadoop::LocalResource;

constexpr std::string_view kPacked = ".tar.gz";
constexpr int kOwnersAlone = 0700;
// Others may enter the folder of programs, and cannot list it.
constexpr int kForPrograms = 0711;
constexpr int kOthersMayEnter = 01, kOthersMayRead = 04, kOthersMayWrite = 022, kSticky = 01000;
constexpr int kShared = 0755;
constexpr int64_t kReadAtOnce = 1 << 20;
// An upload is retried if its connection breaks. A DataNode that refuses the bytes also closes the connection,
// sometimes before its reason is read.
constexpr int kMostTries = 3;

LocalResource::Kind KindOf(bool is_archive) {
  return is_archive ? LocalResource::Kind::kArchive : LocalResource::Kind::kFile;
}

// An upload may last a day while bytes keep moving. Between the last byte and the answer a DataNode may be busy.
constexpr Duration kLongestUpload = std::chrono::hours(24), kLongestStall = std::chrono::seconds(60);

// Creates a file without a name. The file disappears when its descriptor is closed.
Result<UniqueFd> Scratch(const fs::path& folder) {
  std::string path = (folder / "tony-pack-XXXXXX").string();
  UniqueFd fd(mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid() || unlink(path.c_str()) != 0) return FileError(ErrorCode::kCannotWrite, "make", path, errno);
  return fd;
}

struct Body {
  UniqueFd fd;
  int64_t size = 0;
};

class Sending {
 public:
  Sending(const HdfsStore& store, const StageWatch& watch)
      : store_(store), watch_(watch), meter_(watch), hdfs_(hadoop::MakeHdfs(loop_, [&] {
          hadoop::Hdfs::Options options = store.hdfs;
          options.limits.whole = kLongestUpload;
          options.limits.stalled = kLongestStall;
          return options;
        }())) {}

  Status PrepareFolder();
  Status LetOthersEnter();
  Status PrepareSharedFolder();
  Status CheckShared(const std::string& path, const HdfsEntry& entry) const;
  Status CheckContent(const HdfsSource& source, const std::string& path, const HdfsEntry& entry);
  Result<LocalResource> Send(const HdfsSource& source);

 private:
  // Runs the loop until the call is done. A requested stop ends the call.
  template <class T, class Start>
  T Await(Start start) {
    std::optional<T> result;
    const hadoop::Hdfs::Handle handle = start([&](T value) {
      result = std::move(value);
      loop_.Stop();
    });
    while (!result && meter_.CheckStop().ok()) loop_.Run();
    return result ? *std::move(result) : T(meter_.CheckStop().error());
  }
  Result<HdfsEntry> Look(const std::string& path) {
    return Await<Result<HdfsEntry>>([&](auto done) { return hdfs_->GetEntry(path, done); });
  }
  Status SetPermission(const std::string& path, int permission) {
    return Await<Status>([&](auto done) { return hdfs_->SetPermission(path, permission, done); });
  }
  Result<Body> Open(const HdfsSource& source, bool is_folder);
  Error ReasonOf(const Error& broken, int fd);
  Status Upload(const HdfsSource& source, const std::string& path, bool is_folder, HdfsRename how);

  const HdfsStore& store_;
  const StageWatch& watch_;
  LocalResource::Visibility visibility_ = LocalResource::Visibility::kPrivate;
  // The owner of HDFS's root folder, which is usually the user as whom the NameNode runs. Set for shared programs.
  std::string administrator_;
  StageMeter meter_;
  EventLoop loop_;
  const std::unique_ptr<hadoop::Hdfs> hdfs_;
  const std::stop_callback<std::function<void()>> stopped_{watch_.stop,
                                                           [this] { loop_.Post([this] { loop_.Stop(); }); }};
};

bool IsShared(const HdfsStore& store) { return store.use == HdfsStore::Use::kSharedPrograms; }

Status Sending::PrepareFolder() {
  if (IsShared(store_)) return PrepareSharedFolder();
  const bool is_for_programs = store_.use == HdfsStore::Use::kOwnPrograms;
  const int permission = is_for_programs ? kForPrograms : kOwnersAlone;
  TRY(Await<Status>([&](auto done) { return hdfs_->MakeFolders(store_.folder, permission, done); }));
  TRY_ASSIGN(const HdfsEntry folder, Look(store_.folder));
  if (folder.permission != permission) TRY(SetPermission(store_.folder, permission));
  return is_for_programs ? LetOthersEnter() : Ok();
}

Status Sending::PrepareSharedFolder() {
  const auto known = Look(store_.folder);
  if (!known.ok()) {
    if (known.error().code != ErrorCode::kNotFound) return known.error();
    TRY(Await<Status>([&](auto done) { return hdfs_->MakeFolders(store_.folder, kShared, done); }));
  }
  TRY_ASSIGN(const HdfsEntry root, Look("/"));
  administrator_ = root.owner;
  for (fs::path folder = store_.folder;; folder = folder.parent_path()) {
    TRY_ASSIGN(const HdfsEntry entry, Look(folder.string()));
    TRY(CheckShared(folder.string(), entry));
    if (folder == folder.root_path()) break;
  }
  visibility_ = LocalResource::Visibility::kPublic;
  return Ok();
}

// Returns kNotPermitted if another user could replace the folder or file, or if not everybody can use it. In a
// sticky folder, users cannot replace the entries of other users.
Status Sending::CheckShared(const std::string& path, const HdfsEntry& entry) const {
  const std::string& user = store_.hdfs.user;
  if (entry.owner != user && entry.owner != administrator_)
    return NotPermittedError(path, " belongs to user ", entry.owner, "; expected ", user, " or ", administrator_,
                             ", the owner of HDFS's root folder");
  const bool is_sticky = (entry.permission & kSticky) != 0 && path != store_.folder;
  if ((entry.permission & kOthersMayWrite) != 0 && !is_sticky)
    return NotPermittedError("others than ", entry.owner, " may write to ", path, ": hdfs dfs -chmod go-w ", path);
  const int needed = entry.is_folder ? kOthersMayEnter : kOthersMayRead;
  if ((entry.permission & needed) == 0)
    return NotPermittedError("not everybody may use ", path, ": hdfs dfs -chmod o+", entry.is_folder ? "x " : "r ",
                             path);
  return Ok();
}

// Returns kInvalid if a shared program is not the one that its name identifies.
Status Sending::CheckContent(const HdfsSource& source, const std::string& path, const HdfsEntry& entry) {
  Sha256 hash;
  for (int64_t at = 0; at < entry.length; at += kReadAtOnce) {
    TRY_ASSIGN(const std::string bytes, Await<Result<std::string>>([&](auto done) {
                 return hdfs_->Read(path, at, std::min(kReadAtOnce, entry.length - at), done);
               }));
    hash.Update(bytes);
  }
  if (source.name.starts_with(hash.Hex())) return Ok();
  return InvalidError(path, " is not the program that its name says; its owner ", entry.owner, " has to remove it");
}

// Lets others enter the parent folder, which is the user's own folder for TonY. Its other folders are private. Then
// checks the folders above, which are not TonY's, as a node does before it fetches a public resource.
Status Sending::LetOthersEnter() {
  bool is_ours = true;
  for (fs::path folder = fs::path(store_.folder).parent_path();; folder = folder.parent_path()) {
    const auto entry = Look(folder.string());
    if (!entry.ok()) return entry.error().code == ErrorCode::kNotPermitted ? Ok() : entry.status();
    if (!(entry->permission & kOthersMayEnter)) {
      if (!is_ours) return Ok();
      TRY(SetPermission(folder.string(), entry->permission | kOthersMayEnter));
    }
    if (folder == folder.root_path()) break;
    is_ours = false;
  }
  visibility_ = LocalResource::Visibility::kPublic;
  return Ok();
}

// Opens the bytes to send: the file itself, or the folder's archive.
Result<Body> Sending::Open(const HdfsSource& source, bool is_folder) {
  Body body;
  if (is_folder) {
    TRY_ASSIGN(body.fd, Scratch(store_.scratch));
    TRY(PackFolder(source.path, body.fd.get(), [this](int64_t) { return meter_.CheckStop(); }));
  } else {
    body.fd = UniqueFd(open(source.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!body.fd.valid()) return FileError(ErrorCode::kInvalid, "read", source.path, errno);
  }
  struct stat info {};
  if (fstat(body.fd.get(), &info) != 0) return FileError(ErrorCode::kInvalid, "read", source.path, errno);
  body.size = info.st_size;
  return body;
}

// Returns why the connection broke in every try. This function sends a single byte to find the reason. If HDFS refuses
// that byte, no other bytes are under way, so the answer can be read.
Error Sending::ReasonOf(const Error& broken, int fd) {
  const std::string path = StrCat(store_.folder, "/", hadoop::kUnfinishedPut, "reason-", RandomHex(8));
  const FilePart byte{.fd = fd, .length = 1};
  const auto put = Await<Result<bool>>(
      [&](auto done) { return PutCompleteFile(*hdfs_, path, {.file = byte}, HdfsRename::kIfNew, 0600, done); });
  if (!put.ok()) return put.error().code == ErrorCode::kUnavailable ? broken : put.error();
  (void)Await<Result<bool>>([&](auto done) { return hdfs_->Remove(path, done); });
  return broken;
}

Status Sending::Upload(const HdfsSource& source, const std::string& path, bool is_folder, HdfsRename how) {
  meter_.Begin(source.path.string());
  std::string before = source.manifest;
  if (before.empty()) {
    TRY_ASSIGN(before, ManifestOf(source.path));
  }
  TRY_ASSIGN(const Body body, Open(source, is_folder));
  meter_.Expect(body.size);
  const auto check_unchanged = [&]() -> Status {
    const auto after = ManifestOf(source.path);
    if (after.ok() && *after == before) return Ok();
    return UnavailableError("cannot send ", source.path.string(), ": the file changed while it was sent");
  };
  int64_t told = 0;
  const auto on_moved = [&](int64_t moved) {
    if (moved <= told) return;        // these bytes were reported before
    (void)meter_.Done(moved - told);  // a stop is checked between callbacks
    (void)meter_.Copied(moved - told);
    told = moved;
  };
  const FilePart part{.fd = body.fd.get(), .length = body.size};
  Result<bool> put = false;
  for (int tries = 1; tries <= kMostTries; ++tries) {
    put = Await<Result<bool>>([&](auto done) {
      const int permission = store_.use == HdfsStore::Use::kFiles ? 0600 : 0644;
      return PutCompleteFile(*hdfs_, path, {.file = part, .on_moved = on_moved}, how, permission, done, check_unchanged);
    });
    if (put.ok() || put.error().code != ErrorCode::kUnavailable) break;
    TRY(meter_.CheckStop());
  }
  // Small files may have reported no progress.
  if (put.ok()) on_moved(body.size);
  if (put.ok()) return Ok();
  TRY(meter_.CheckStop());
  TRY(check_unchanged());  // the source may have become shorter
  const bool broke = put.error().code == ErrorCode::kUnavailable && body.size > 1;
  return Annotate(broke ? ReasonOf(put.error(), body.fd.get()) : put.error(), "cannot send " + source.path.string());
}

Result<LocalResource> Sending::Send(const HdfsSource& source) {
  struct stat info {};
  if (stat(source.path.c_str(), &info) != 0) return FileError(ErrorCode::kInvalid, "read", source.path, errno);
  const bool is_folder = S_ISDIR(info.st_mode);
  const std::string path = StrCat(store_.folder, "/", source.name, is_folder ? kPacked : "");
  auto entry = Look(path);
  if (!entry.ok() && entry.error().code != ErrorCode::kNotFound) return entry.error();
  // The length of a folder's archive is not compared. Only packing it again would give the length, and another
  // release of zlib may give another length.
  const bool is_right = entry.ok() && !entry->is_folder && (is_folder || entry->length == info.st_size);
  // A shared program is never replaced, because jobs of other users may need it.
  if (IsShared(store_) ? !entry.ok() : !is_right) {
    const Status sent = Upload(source, path, is_folder, entry.ok() ? HdfsRename::kOverwrite : HdfsRename::kIfNew);
    if (!sent.ok() && sent.error().code == ErrorCode::kNotPermitted && IsShared(store_))
      return NotPermittedError(sent.error().message, "; the owner of the folder has to run: hdfs dfs -put ",
                               source.path.string(), " ", path);
    TRY(sent);
    entry = Look(path);
    if (!entry.ok()) return entry.error();
  }
  if (IsShared(store_)) {
    TRY(CheckShared(path, *entry));
    const bool is_own = entry->owner == store_.hdfs.user && entry->length == info.st_size;
    if (!is_own) TRY(CheckContent(source, path, *entry));
  }
  return LocalResource{.scheme = "hdfs",
                       .host = store_.name_node.host,
                       .port = store_.name_node.port,
                       .path = path,
                       .size = entry->length,
                       .modified = entry->modified,
                       .kind = KindOf(path.ends_with(kPacked)),
                       .visibility = visibility_};
}

}  // namespace

std::vector<HdfsSource> SelectSources(const StagedFiles& files) {
  std::vector<HdfsSource> sources;
  std::set<fs::path> seen;
  const auto add = [&](const std::vector<StagedEntry>& entries) {
    for (const StagedEntry& entry : entries) {
      const std::string name = entry.path.filename().string();
      if (files.remote.contains(name)) continue;
      if (seen.insert(entry.path).second) sources.push_back({name, name, entry.path});
    }
  };
  add(files.job);
  for (const auto& [role, entries] : files.roles) add(entries);
  add(files.am);
  return sources;
}

Result<HdfsSource> FileSource(std::string key, const fs::path& file) {
  // The manifest is read first, so that any later change is detected.
  TRY_ASSIGN(std::string manifest, ManifestOf(file));
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return FileError(ErrorCode::kInvalid, "read", file, errno);
  TRY_ASSIGN(const std::string hash, Sha256OfFile(fd.get(), file, [](int64_t) { return Ok(); }));
  const std::string_view end = file.string().ends_with(kPacked) ? kPacked : "";
  return HdfsSource{std::move(key), StrCat(hash, end), file, std::move(manifest)};
}

Result<HdfsFiles> SendToHdfs(const HdfsStore& store, const std::vector<HdfsSource>& sources, const StageWatch& watch) {
  Sending sending(store, watch);
  TRY(sending.PrepareFolder());
  HdfsFiles files;
  for (const HdfsSource& source : sources) {
    TRY_ASSIGN(files[source.key], sending.Send(source));
  }
  return files;
}

namespace {

struct SentFile {
  std::string key;
  LocalResource file;
};
struct SentFiles {
  std::vector<SentFile> files;
};

void Fields(auto& io, Is<SentFile> auto& sent) {
  auto& file = sent.file;
  bool is_archive = file.kind == LocalResource::Kind::kArchive;
  bool is_public = file.visibility == LocalResource::Visibility::kPublic;
  io.Field("key", sent.key);
  io.Field("scheme", file.scheme);
  io.Field("host", file.host);
  io.Field("port", file.port, Between{-1, 65535});
  io.Field("path", file.path);
  io.Field("size", file.size);
  io.Field("modified", file.modified);
  io.Field("archive", is_archive);
  io.IfSet("public", is_public);
  if constexpr (std::decay_t<decltype(io)>::kReads) {
    file.kind = KindOf(is_archive);
    file.visibility = is_public ? LocalResource::Visibility::kPublic : LocalResource::Visibility::kPrivate;
  }
}

void Fields(auto& io, Is<SentFiles> auto& sent) {
  Schema(io, 1);
  io.Field("files", sent.files);
}

}  // namespace

std::string ToJson(const HdfsFiles& files) {
  SentFiles sent;
  for (const auto& [key, file] : files) sent.files.push_back({key, file});
  return WriteJson(sent);
}

Result<HdfsFiles> HdfsFilesFromJson(std::string_view text) {
  TRY_ASSIGN(SentFiles sent, ReadJson<SentFiles>(text, "list of files in HDFS"));
  HdfsFiles files;
  for (SentFile& each : sent.files) files[each.key] = std::move(each.file);
  return files;
}

}  // namespace tony
