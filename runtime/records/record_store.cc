#include "runtime/records/record_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"
#include "runtime/os/users.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// The owner of the file is its writer. A name in the file's content would prove nothing, because any user with write
// access could put another name there.
std::string WriterOf(int file) {
  struct stat info = {};
  return fstat(file, &info) == 0 ? OtherUser(info.st_uid) : "";
}

}  // namespace

Result<std::optional<StoredRecord>> LocalRecordStore::Get(const std::string& name) const {
  const fs::path file = folder_ / name;
  const auto opened = OpenRegularFile(file, O_RDONLY);
  if (!opened.ok() && opened.error().code == ErrorCode::kNotFound) return std::optional<StoredRecord>();
  if (!opened.ok()) return Annotate(opened.error(), StrCat("open ", file.string()));
  TRY_ASSIGN(std::string bytes, ReadAll(opened->fd.get(), file));
  return std::optional(StoredRecord{std::move(bytes), WriterOf(opened->fd.get())});
}

Result<bool> LocalRecordStore::PutNew(const std::string& name, std::string_view bytes, Durability durability) const {
  const fs::path file = folder_ / name;
  const fs::path whole = file.parent_path() / StrCat(".", file.filename().string(), ".", RandomHex(6));
  const bool durable = durability == Durability::kSurvivesPowerCut;
  const Status written = WriteNewFile(whole, bytes, durable);
  const int error = written.ok() && link(whole.c_str(), file.c_str()) != 0 ? errno : 0;
  unlink(whole.c_str());
  if (!written.ok()) return written.error();
  if (error == EEXIST) return false;
  if (error != 0) return FileError(ErrorCode::kCannotWrite, "make", file, error);
  if (durable) TRY(SyncPath(file.parent_path()));
  return true;
}

Status LocalRecordStore::Replace(const std::string& name, std::string_view bytes, Durability durability) const {
  const fs::path file = folder_ / name;
  if (file.parent_path() != folder_) TRY(MakeFolder(file.parent_path()));
  return WriteFileByRename(file, bytes, durability == Durability::kSurvivesPowerCut);
}

Status LocalRecordStore::Remove(const std::string& name) const {
  const fs::path file = folder_ / name;
  if (unlink(file.c_str()) == 0 || errno == ENOENT) return Ok();
  return FileError(ErrorCode::kCannotWrite, "remove", file, errno);
}

Result<std::vector<std::string>> LocalRecordStore::List(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder_ / folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    // Names with a leading dot are files that are being written.
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  if (error) return FileError(ErrorCode::kUnavailable, "read", folder_ / folder, error.value());
  return names;
}

Result<std::unique_ptr<EventLoop::Handle>> LocalRecordStore::Watch(EventLoop& loop, EventLoop::Callback fn) const {
  return WatchFolder(loop, folder_, std::move(fn));
}

std::string LocalRecordStore::PlaceOf(const std::string& name) const { return (folder_ / name).string(); }

}  // namespace tony
