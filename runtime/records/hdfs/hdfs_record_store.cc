#include "runtime/records/hdfs/hdfs_record_store.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

using hadoop::HdfsEntry;
using hadoop::HdfsRename;

// Adds the record's name to an error. A code that RecordStore does not promise becomes `other`.
Error Named(Error error, ErrorCode other, const std::string& what) {
  if (error.code != ErrorCode::kUnavailable && error.code != ErrorCode::kNotPermitted) error.code = other;
  return Annotate(std::move(error), what);
}

Error Sealed(const std::string& folder) {
  return NotPermittedError(folder, " is sealed: another process now writes the records of this job");
}

}  // namespace

Status MakeRecordFolder(const std::shared_ptr<HdfsCalls>& calls, const HdfsFolder& folder) {
  const Status made = HdfsBytes(calls, {}).Ask([&](HdfsCalls& asked) { return asked.MakeFolders(folder.path); });
  return Annotate(made, StrCat("make ", folder.file_system, folder.path));
}

HdfsRecordStore::HdfsRecordStore(std::shared_ptr<HdfsCalls> calls, HdfsFolder folder, HdfsRetryPolicy patience,
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
  auto put = bytes_.Put(PathOf(name), bytes, how, written_in_, !folder_.secrets.contains(name));
  if (put.ok() || !IsMissing(put.error()) || written_in_.empty()) return put;
  const auto there = bytes_.Ask([&](HdfsCalls& calls) { return calls.GetEntry(written_in_); });
  if (there.ok() || !IsMissing(there.error())) return put;
  return Sealed(written_in_);
}

// Makes the folder of the record `name` inside the job's folder. Checks the job's folder first, because HDFS would also
// make that folder.
Status HdfsRecordStore::MakeFolderOf(const std::string& name) const {
  TRY(bytes_.Ask([&](HdfsCalls& calls) { return calls.GetEntry(folder_.path); }));
  return bytes_.Ask([&](HdfsCalls& calls) { return calls.MakeFolders(PathOf(name.substr(0, name.find('/')))); });
}

Status HdfsRecordStore::Remove(const std::string& name) const {
  std::string path = PathOf(name);
  const bool may_be_sealed = !written_in_.empty() && written_in_ != folder_.path;
  if (may_be_sealed) TRY(MoveToWrittenIn(path));
  const auto removed = bytes_.Ask([&](HdfsCalls& calls) { return calls.Remove(path); });
  if (removed.ok() || IsMissing(removed.error())) return Ok();
  return Named(removed.error(), ErrorCode::kCannotWrite, StrCat("remove ", PlaceOf(name)));
}

// Moves the record at `path` to a temporary name in the folder in which this store writes, and sets `path` to that
// name. If that folder was moved away, another process now decides about the record, which therefore stays.
Status HdfsRecordStore::MoveToWrittenIn(std::string& path) const {
  const std::string from = std::exchange(path, StrCat(written_in_, "/", hadoop::kUnfinishedPut, RandomHex(8)));
  const auto moved = bytes_.Ask([&](HdfsCalls& calls) { return calls.Rename(from, path, HdfsRename::kOverwrite); });
  if (moved.ok()) return Ok();
  const std::string what = StrCat("remove ", folder_.file_system, from);
  if (!IsMissing(moved.error())) return Named(moved.error(), ErrorCode::kCannotWrite, what);
  const auto there = bytes_.Ask([&](HdfsCalls& calls) { return calls.GetEntry(from); });
  if (there.ok()) return Sealed(written_in_);
  return IsMissing(there.error()) ? Status(Ok()) : Named(there.error(), ErrorCode::kCannotWrite, what);
}

Result<std::vector<std::string>> HdfsRecordStore::List(const std::string& folder) const {
  std::vector<std::string> names;
  const auto entries = bytes_.Ask([&](HdfsCalls& calls) { return calls.List(PathOf(folder)); });
  if (!entries.ok() && IsMissing(entries.error())) return names;
  if (!entries.ok()) return Named(entries.error(), ErrorCode::kUnavailable, StrCat("list ", PlaceOf(folder)));
  for (const HdfsEntry& entry : *entries) {
    // Names with a leading dot are files that are being written.
    if (!entry.name.starts_with('.')) names.push_back(entry.name);
  }
  return names;
}

Result<std::unique_ptr<EventLoop::Handle>> HdfsRecordStore::Watch(EventLoop&, EventLoop::Callback) const {
  return std::unique_ptr<EventLoop::Handle>();
}

std::string HdfsRecordStore::PlaceOf(const std::string& name) const { return folder_.file_system + PathOf(name); }

namespace {

constexpr std::string_view kSealed = ".sealed";
constexpr std::string_view kFrom = "from-";
constexpr std::string_view kRecord = "user.tony.";
// The number of records in one folder's attributes. A NameNode accepts 32 attributes for a file or folder.
constexpr int64_t kRecordsOfCarrier = 24;
// The maximum number of tries of a read. A try fails only if the epoch is sealed meanwhile, which happens once.
constexpr int kMostReads = 3;

}  // namespace

std::string EpochFolder(const HdfsFolder& job, Epoch epoch) { return StrCat(job.path, "/journal/", epoch.value); }

HdfsJournalStore::HdfsJournalStore(std::shared_ptr<HdfsCalls> calls, HdfsFolder job, HdfsRetryPolicy patience)
    : bytes_(std::move(calls), std::move(patience)), job_(std::move(job)) {}

Error HdfsJournalStore::Named(Error error, const std::string& what, const std::string& path) const {
  return Annotate(std::move(error), StrCat(what, " ", job_.file_system, path));
}

// Makes a folder of the journal. Fails if the job was removed, because a late writer must not make the job's folder
// again.
Result<bool> HdfsJournalStore::PutFolder(const std::string& path) const {
  TRY(bytes_.Ask([&](HdfsCalls& calls) { return calls.GetEntry(job_.path); }));
  return bytes_.PutFolder(path, JournalFolder());
}

Result<bool> HdfsJournalStore::Begin(Epoch epoch) const {
  const auto put = PutFolder(PathOf(epoch));
  if (!put.ok()) return Named(put.error(), "make", PathOf(epoch));
  return put;
}

Result<std::vector<Epoch>> HdfsJournalStore::Epochs() const {
  const std::string folder = JournalFolder();
  std::vector<Epoch> epochs;
  const auto entries = bytes_.Ask([&](HdfsCalls& calls) { return calls.List(folder); });
  if (!entries.ok() && IsMissing(entries.error())) return epochs;
  if (!entries.ok()) return Named(entries.error(), "list", folder);
  for (const HdfsEntry& entry : *entries) {
    std::string_view name = entry.name;
    if (name.ends_with(kSealed)) name.remove_suffix(kSealed.size());
    if (const auto number = ParseInt(name)) epochs.push_back(Epoch{*number});
  }
  std::ranges::sort(epochs);
  epochs.erase(std::unique(epochs.begin(), epochs.end()), epochs.end());
  return epochs;
}

Result<bool> HdfsJournalStore::Add(Epoch epoch, int64_t number, std::string_view bytes) const {
  const bool in_attribute = bytes.size() <= kMostInAttribute && bytes_.MayHaveAttributes();
  auto added = in_attribute ? AddAttribute(epoch, number, bytes) : AddFile(epoch, number, bytes);
  if (in_attribute && !added.ok() && bytes_.IsRefusedAttribute(added.error())) added = AddFile(epoch, number, bytes);
  if (added.ok()) return added;
  if (IsMissing(added.error())) return false;
  return Named(added.error(), "write", StrCat(PathOf(epoch), "/", number));
}

Result<bool> HdfsJournalStore::AddAttribute(Epoch epoch, int64_t number, std::string_view bytes) const {
  const int64_t first = (number - 1) / kRecordsOfCarrier * kRecordsOfCarrier + 1;
  const std::string carrier = StrCat(PathOf(epoch), "/", kFrom, first);
  const std::string name = StrCat(kRecord, number);
  const auto set = [&] { return bytes_.Ask([&](HdfsCalls& calls) { return calls.SetXattr(carrier, name, bytes); }); };
  auto is_new = set();
  // The carrier (the folder whose attributes are the records) does not exist. Either this is its first record, or the
  // epoch is sealed.
  if (!is_new.ok() && IsMissing(is_new.error())) {
    TRY(PutFolder(carrier));
    is_new = set();
  }
  if (!is_new.ok()) return is_new.error();
  if (*is_new) return true;
  // The attribute exists already. No other process writes in this epoch, so it may come from an earlier try of this AM
  // whose answer was lost.
  TRY_ASSIGN(const auto xattrs, bytes_.Ask([&](HdfsCalls& calls) { return calls.GetXattrs(carrier); }));
  const auto found = xattrs.find(name);
  if (found != xattrs.end() && found->second == bytes) return true;
  return NotPermittedError("another process has written this record");
}

Result<bool> HdfsJournalStore::AddFile(Epoch epoch, int64_t number, std::string_view bytes) const {
  const std::string path = StrCat(PathOf(epoch), "/", number);
  TRY_ASSIGN(const bool is_new, bytes_.Put(path, bytes, HdfsRename::kIfNew));
  if (is_new) return true;
  TRY_ASSIGN(const auto found, bytes_.Get(path));
  if (found && found->bytes == bytes) return true;
  return NotPermittedError("another process has written this record");
}

Status HdfsJournalStore::Seal(Epoch epoch) const {
  const std::string path = PathOf(epoch), sealed = StrCat(path, kSealed);
  const auto renamed = bytes_.Ask([&](HdfsCalls& calls) { return calls.Rename(path, sealed, HdfsRename::kIfNew); });
  if (renamed.ok()) return Ok();
  // The epoch may have been sealed by another process, or by an unanswered earlier call of this one.
  if (IsMissing(renamed.error())) {
    const auto there = bytes_.Ask([&](HdfsCalls& calls) { return calls.GetEntry(sealed); });
    if (there.ok()) return Ok();
  }
  return Named(renamed.error(), "seal", path);
}

Result<std::vector<JournalRecord>> HdfsJournalStore::Read(Epoch epoch) const {
  const std::string path = PathOf(epoch);
  for (int look = 1;; ++look) {
    auto records = ReadFolder(path);
    if (!records.ok() && IsMissing(records.error())) records = ReadFolder(StrCat(path, kSealed));
    if (records.ok()) return records;
    if (!IsMissing(records.error()) || look == kMostReads) return Named(records.error(), "read", path);
  }
}

// Returns the records in an epoch's folder. kNotFound: the epoch was sealed meanwhile.
Result<std::vector<JournalRecord>> HdfsJournalStore::ReadFolder(const std::string& path) const {
  TRY_ASSIGN(const auto entries, bytes_.Ask([&](HdfsCalls& calls) { return calls.List(path); }));
  std::vector<JournalRecord> records;
  for (const HdfsEntry& entry : entries) {
    const std::string file = StrCat(path, "/", entry.name);
    if (entry.name.starts_with(kFrom)) TRY(ReadAttributes(file, records));
    const auto number = ParseInt(entry.name);
    if (!number) continue;
    TRY_ASSIGN(auto found, bytes_.Get(file));
    if (!found) return NotFoundError(file, ": the file was removed");
    records.push_back({*number, std::move(found->bytes), job_.file_system + file});
  }
  std::ranges::sort(records, {}, &JournalRecord::number);
  return records;
}

Status HdfsJournalStore::ReadAttributes(const std::string& path, std::vector<JournalRecord>& records) const {
  TRY_ASSIGN(const auto xattrs, bytes_.Ask([&](HdfsCalls& calls) { return calls.GetXattrs(path); }));
  for (const auto& [name, value] : xattrs) {
    const auto number = name.starts_with(kRecord) ? ParseInt(name.substr(kRecord.size())) : std::nullopt;
    if (number) records.push_back({*number, value, StrCat(job_.file_system, path, " ", name)});
  }
  return Ok();
}

}  // namespace tony
