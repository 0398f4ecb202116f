#include "runtime/records/hdfs/hdfs_record_store.h"

#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

using hadoop::HdfsEntry;
using hadoop::HdfsRename;

// One of those that RecordStore promises.
Error Named(Error error, ErrorCode other, const std::string& what) {
  if (error.code != ErrorCode::kUnavailable && error.code != ErrorCode::kNotPermitted) error.code = other;
  return Annotate(std::move(error), what);
}

}  // namespace

Status MakeRecordFolder(const std::shared_ptr<HdfsCalls>& calls, const HdfsFolder& folder) {
  const Status made = HdfsBytes(calls, {}).Ask([&](HdfsCalls& asked) { return asked.MakeFolders(folder.path); });
  return made.ok() ? Ok() : Annotate(made.error(), StrCat("make ", folder.file_system, folder.path));
}

HdfsRecordStore::HdfsRecordStore(std::shared_ptr<HdfsCalls> calls, HdfsFolder folder, HdfsPatience patience,
                                 std::string written_in)
    : bytes_(std::move(calls), std::move(patience)), folder_(std::move(folder)), written_in_(std::move(written_in)) {}

Result<std::optional<StoredRecord>> HdfsRecordStore::Get(const std::string& name) const {
  auto found = bytes_.Get(PathOf(name));
  if (!found.ok()) return Named(found.error(), ErrorCode::kUnavailable, StrCat("read ", PlaceOf(name)));
  if (!*found) return std::optional<StoredRecord>();
  const std::string& owner = (**found).owner;
  const bool is_own = folder_.user.empty() || owner == folder_.user;
  return std::optional(StoredRecord{std::move((**found).bytes), is_own ? "" : StrCat("user ", owner)});
}

Result<bool> HdfsRecordStore::PutNew(const std::string& name, std::string_view bytes, Durability) const {
  return Put(name, bytes, HdfsRename::kIfNew);
}

Status HdfsRecordStore::Replace(const std::string& name, std::string_view bytes, Durability) const {
  TRY(Put(name, bytes, HdfsRename::kOverwrite));
  return Ok();
}

Result<bool> HdfsRecordStore::Put(const std::string& name, std::string_view bytes, HdfsRename how) const {
  auto put = PutOnce(name, bytes, how);
  if (!put.ok() && IsMissing(put.error()) && name.find('/') != std::string::npos) {
    const Status made = MakeFolderOf(name);
    put = made.ok() ? PutOnce(name, bytes, how) : made.error();
  }
  if (!put.ok()) return Named(put.error(), ErrorCode::kCannotWrite, StrCat("write ", PlaceOf(name)));
  return put;
}

Result<bool> HdfsRecordStore::PutOnce(const std::string& name, std::string_view bytes, HdfsRename how) const {
  auto put = bytes_.Put(PathOf(name), bytes, how, written_in_);
  if (put.ok() || !IsMissing(put.error()) || written_in_.empty()) return put;
  const auto there = bytes_.Ask([&](HdfsCalls& calls) { return calls.GetEntry(written_in_); });
  if (there.ok() || !IsMissing(there.error())) return put;
  return Error{ErrorCode::kNotPermitted, StrCat(written_in_, " is sealed: others write the records of this job")};
}

// HDFS has no call that makes one folder and not those above it.
Status HdfsRecordStore::MakeFolderOf(const std::string& name) const {
  TRY(bytes_.Ask([&](HdfsCalls& calls) { return calls.GetEntry(folder_.path); }));
  return bytes_.Ask([&](HdfsCalls& calls) { return calls.MakeFolders(PathOf(name.substr(0, name.find('/')))); });
}

Status HdfsRecordStore::Remove(const std::string& name) const {
  const auto removed = bytes_.Ask([&](HdfsCalls& calls) { return calls.Remove(PathOf(name)); });
  if (removed.ok() || IsMissing(removed.error())) return Ok();
  return Named(removed.error(), ErrorCode::kCannotWrite, StrCat("remove ", PlaceOf(name)));
}

Result<std::vector<std::string>> HdfsRecordStore::List(const std::string& folder) const {
  std::vector<std::string> names;
  const auto entries = bytes_.Ask([&](HdfsCalls& calls) { return calls.List(PathOf(folder)); });
  if (!entries.ok() && IsMissing(entries.error())) return names;
  if (!entries.ok()) return Named(entries.error(), ErrorCode::kUnavailable, StrCat("list ", PlaceOf(folder)));
  for (const HdfsEntry& entry : *entries) {
    if (!entry.name.starts_with('.')) names.push_back(entry.name);  // else it is being written
  }
  return names;
}

Result<std::unique_ptr<EventLoop::Handle>> HdfsRecordStore::Watch(EventLoop&, EventLoop::Callback) const {
  return std::unique_ptr<EventLoop::Handle>();
}

std::string HdfsRecordStore::PlaceOf(const std::string& name) const { return folder_.file_system + PathOf(name); }

}  // namespace tony
