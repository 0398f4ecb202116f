#include "runtime/records/hdfs/hdfs_calls.h"

#include <thread>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony {

HttpCallLimits LimitsOfRecords() {
  return {.connect = Duration(5'000), .stalled = Duration(10'000), .whole = Duration(20'000), .answer = 64 << 20};
}

BlockingHdfs::BlockingHdfs(hadoop::Hdfs::Options options)
    : largest_(static_cast<int64_t>(options.limits.answer)), hdfs_(hadoop::MakeHdfs(loop_, std::move(options))) {}

template <class T, class Start>
T BlockingHdfs::Ask(Start start) {
  const std::lock_guard lock(mutex_);
  return AwaitAnswer<T>(loop_, start);
}

Status BlockingHdfs::MakeFolders(const std::string& path) {
  return Ask<Status>([&](auto done) { return hdfs_->MakeFolders(path, 0700, done); });
}

Result<hadoop::HdfsEntry> BlockingHdfs::GetEntry(const std::string& path) {
  return Ask<Result<hadoop::HdfsEntry>>([&](auto done) { return hdfs_->GetEntry(path, done); });
}

Status BlockingHdfs::CheckAccess(const std::string& path, const std::string& action) {
  return Ask<Status>([&](auto done) { return hdfs_->CheckAccess(path, action, done); });
}

Result<std::vector<hadoop::HdfsEntry>> BlockingHdfs::List(const std::string& path) {
  return Ask<Result<std::vector<hadoop::HdfsEntry>>>([&](auto done) { return hdfs_->List(path, done); });
}

Result<bool> BlockingHdfs::Create(const std::string& path, std::string_view bytes) {
  return Ask<Result<bool>>([&](auto done) { return hdfs_->Create(path, {std::string(bytes), {}, {}}, {}, done); });
}

Result<std::string> BlockingHdfs::Read(const std::string& path) {
  return Ask<Result<std::string>>([&](auto done) { return hdfs_->Read(path, 0, largest_ + 1, done); });
}

Result<std::string> BlockingHdfs::ReadPart(const std::string& path, int64_t offset, int64_t length) {
  return Ask<Result<std::string>>([&](auto done) { return hdfs_->Read(path, offset, length, done); });
}

Result<bool> BlockingHdfs::Rename(const std::string& from, const std::string& to, hadoop::HdfsRename how) {
  return Ask<Result<bool>>([&](auto done) { return hdfs_->Rename(from, to, how, done); });
}

Result<bool> BlockingHdfs::Remove(const std::string& path) {
  return Ask<Result<bool>>([&](auto done) { return hdfs_->Remove(path, done); });
}

Result<bool> BlockingHdfs::SetXattr(const std::string& path, const std::string& name, std::string_view value) {
  return Ask<Result<bool>>(
      [&](auto done) { return hdfs_->SetXattr(path, name, value, hadoop::HdfsXattr::kIfNew, done); });
}

Result<HdfsCalls::Xattrs> BlockingHdfs::GetXattrs(const std::string& path) {
  return Ask<Result<Xattrs>>([&](auto done) { return hdfs_->GetXattrs(path, done); });
}

namespace {

using hadoop::HdfsEntry;
using hadoop::HdfsRename;

// The option whose name a NameNode puts into its error if attributes are switched off.
constexpr char kSwitch[] = "dfs.namenode.xattrs.enabled";
// The maximum number of tries of a read. A try fails only if the name is replaced between its two calls.
constexpr int kMostLooks = 5;

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string TemporaryIn(const std::string& folder) { return StrCat(folder, "/", hadoop::kUnfinishedPut, RandomHex(8)); }

}  // namespace

HdfsBytes::Tries::Tries(const HdfsRetryPolicy& patience) : patience_(patience), began_(SinceBoot()) {}

bool HdfsBytes::Tries::MayAgain(const Error& error) {
  if (error.code != ErrorCode::kUnavailable || used_ == patience_.pauses.size()) return false;
  // If attributes are switched off, a repetition will not help.
  if (error.message.find(kSwitch) != std::string::npos) return false;
  if (SinceBoot() - began_ > patience_.longest) return false;
  std::this_thread::sleep_for(patience_.pauses[used_++]);
  return true;
}

bool HdfsBytes::IsRefusedAttribute(const Error& error) const {
  if (error.message.find(kSwitch) != std::string::npos) *attributes_are_off_ = true;
  return error.code == ErrorCode::kCannotWrite || error.code == ErrorCode::kInvalid;
}

Result<std::optional<HdfsBytes::Found>> HdfsBytes::Get(const std::string& path) const {
  Tries tries(patience_);
  for (int look = 1;; ++look) {
    const auto entry = Asked(tries, [&](HdfsCalls& calls) { return calls.GetEntry(path); });
    if (!entry.ok() && IsMissing(entry.error())) return std::optional<Found>();
    if (!entry.ok()) return entry.error();
    if ((*entry).is_folder) return UnavailableError(path, ": the path is a folder");
    Found found{"", (*entry).owner};
    if ((*entry).length > 0) {
      auto bytes = Asked(tries, [&](HdfsCalls& calls) { return calls.Read(path); });
      if (!bytes.ok() && !IsMissing(bytes.error())) return bytes.error();
      if (bytes.ok()) found.bytes = *std::move(bytes);
      if (!found.bytes.empty()) return std::optional(std::move(found));
    } else {
      const auto xattrs = Asked(tries, [&](HdfsCalls& calls) { return calls.GetXattrs(path); });
      if (!xattrs.ok() && !IsMissing(xattrs.error())) return xattrs.error();
      const bool is_there = xattrs.ok() && (*xattrs).count(kBytesAttribute) != 0;
      if (is_there) found.bytes = (*xattrs).at(kBytesAttribute);
      if (is_there || (xattrs.ok() && look == kMostLooks)) return std::optional(std::move(found));
    }
    if (look == kMostLooks) return UnavailableError(path, ": the file was replaced each time it was read");
  }
}

Result<bool> HdfsBytes::Put(const std::string& path, std::string_view bytes, HdfsRename how,
                            const std::string& written_in, bool may_be_attribute) const {
  Tries tries(patience_);
  const bool in_attribute = may_be_attribute && bytes.size() <= kMostInAttribute && MayHaveAttributes();
  TRY_ASSIGN(const std::string temporary,
             Prepare(tries, written_in.empty() ? FolderOf(path) : written_in, bytes, in_attribute));
  return Move(tries, temporary, path, how);
}

Result<bool> HdfsBytes::PutFolder(const std::string& path, const std::string& place) const {
  Tries tries(patience_);
  // The name is new each time, because an unanswered call may still make a folder under the old name.
  for (;;) {
    const std::string temporary = TemporaryIn(place);
    const Status made = calls_->MakeFolders(temporary);
    if (made.ok()) return Move(tries, temporary, path, HdfsRename::kIfNew);
    if (!tries.MayAgain(made.error())) return made.error();
  }
}

// Writes a temporary file with the bytes and returns its name. Each try uses a new name, because an unanswered call may
// still write under the old one.
Result<std::string> HdfsBytes::Prepare(Tries& tries, const std::string& folder, std::string_view bytes,
                                       bool in_attribute) const {
  for (;;) {
    std::string temporary = TemporaryIn(folder);
    const Status written = Write(temporary, bytes, in_attribute);
    if (written.ok()) return temporary;
    const Error& error = written.error();
    if (!IsMissing(error)) (void)calls_->Remove(temporary);
    if (in_attribute && IsRefusedAttribute(error)) {
      in_attribute = false;
    } else if (!tries.MayAgain(error)) {
      return error;
    }
  }
}

Status HdfsBytes::Write(const std::string& temporary, std::string_view bytes, bool in_attribute) const {
  TRY_ASSIGN(const bool created, calls_->Create(temporary, in_attribute ? "" : bytes));
  if (!created) return UnavailableError(temporary, ": the name exists already");
  if (in_attribute) {
    TRY(calls_->SetXattr(temporary, kBytesAttribute, bytes));
    return Ok();
  }
  TRY_ASSIGN(const HdfsEntry entry, calls_->GetEntry(temporary));
  if (entry.length == static_cast<int64_t>(bytes.size())) return Ok();
  return UnavailableError(entry.length, " of ", bytes.size(), " bytes arrived");
}

Result<bool> HdfsBytes::Move(Tries& tries, const std::string& temporary, const std::string& path,
                             HdfsRename how) const {
  for (bool unheard = false;;) {
    const auto renamed = calls_->Rename(temporary, path, how);
    if (renamed.ok() && *renamed) return true;
    // A gateway may have sent the call to HDFS twice. If so, the first call may have renamed the file, and "not found"
    // is the answer to the second call.
    const bool is_refused = renamed.ok() || renamed.error().code == ErrorCode::kCannotWrite ||
                            renamed.error().code == ErrorCode::kNotPermitted;
    if (!is_refused) unheard = true;
    if (unheard) {
      // If the temporary file is missing, it was renamed, except if its whole folder was moved away. The folder is
      // therefore checked, too. It is checked after the file, because the move may happen at any moment.
      const auto left = Asked(tries, [&](HdfsCalls& calls) { return calls.GetEntry(temporary); });
      if (!left.ok() && IsMissing(left.error())) {
        TRY(Asked(tries, [&](HdfsCalls& calls) { return calls.GetEntry(FolderOf(temporary)); }));
        return true;
      }
      if (!left.ok()) return left.error();
    }
    if (!is_refused && tries.MayAgain(renamed.error())) continue;
    const auto removed = calls_->Remove(temporary);
    const bool is_sure = !unheard || (removed.ok() && *removed);
    return is_sure ? renamed
                   : UnavailableError(temporary, ": the NameNode did not answer the rename, which may still happen");
  }
}

}  // namespace tony
