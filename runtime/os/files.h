// Reads and writes the small files of a job. Every file and folder that these functions create is private to the user,
// with any umask. Error messages name the path: "make /x/jobs: read-only file system".
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// Returns an error with `code`. If `error` means that too many descriptors are open, returns kUnavailable instead.
Error FileError(ErrorCode code, std::string_view what, const std::filesystem::path& path, int error);

// Returns the content of the file. Errors: kNotFound, kNotPermitted, otherwise kUnavailable.
Result<std::string> ReadFile(const std::filesystem::path& path);

struct RegularFile {
  UniqueFd fd;
  int64_t size = 0;
};
// Opens a file in a place where other users may have put something. A symbolic link of this name is not followed, and a
// FIFO does not block the call; everything except a regular file is refused. `access`: O_RDONLY or O_WRONLY. `folder`:
// the descriptor where a relative path begins. kNotFound: the name does not exist. kInvalid: the name is not a regular
// file. Other errors: kNotPermitted, kUnavailable. The message gives the reason without the path.
Result<RegularFile> OpenRegularFile(const std::filesystem::path& path, int access, int folder = AT_FDCWD);

// Creates a file of mode 0600 with the content. kCannotWrite: e.g. the file exists. In this function and the next one,
// `durable` makes the file survive a power failure.
Status WriteNewFile(const std::filesystem::path& path, std::string_view content, bool durable);
// Replaces the file by a rename. Readers see the old content or the new, never a part, also when two processes write at
// once. A writer that dies leaves at most a temporary file with a leading dot in its name.
Status WriteFileByRename(const std::filesystem::path& path, std::string_view content, bool durable);

// Appends a line; creates the file if it is missing. First cuts off an incomplete last line, which a failed or killed
// writer may have left. Otherwise that line would become a part of the new line. Only one writer at a time.
Status AppendLine(const std::filesystem::path& path, std::string_view line);

// Returns true if `path` is a folder or a regular file, not a link, that belongs to this user and that other users may
// not write. Only this user and root can have replaced it or put something into it.
bool IsPrivateToUser(const std::filesystem::path& path);

// Returns true if the name exists, also for a symbolic link that leads nowhere.
bool IsThere(const std::filesystem::path& path);
// Like IsThere(), except that an error is returned if the file system does not answer whether the name exists
// (kNotPermitted, kUnavailable). Callers use this function if a wrong "false" would do harm.
Result<bool> TryIsThere(const std::filesystem::path& path);

// Creates the folder and the missing folders above it, mode 0700 each; does nothing if the folder exists.
Status MakeFolder(const std::filesystem::path& path);
// Makes a file's content, or the names in a folder, durable (fsync).
Status SyncPath(const std::filesystem::path& path);
// Syncs files or folders in parallel. Their file system commits them together, which takes the time of one or two
// syncs.
Status SyncInParallel(const std::vector<std::filesystem::path>& paths);
// Makes the names in `folders` (below `home`), in `home` and in the folder above `home` durable. The process that
// created them may have died before it synced them.
Status SyncHome(const std::filesystem::path& home, std::vector<std::filesystem::path> folders);
// Reads `fd` to its end; `path` is for messages. Error: kUnavailable.
Result<std::string> ReadAll(int fd, const std::filesystem::path& path);
Status WriteAll(int fd, std::string_view content, const std::filesystem::path& path);

// Returns `bytes` random bytes from the kernel, as hexadecimal digits.
std::string RandomHex(int bytes);

// CopyContent() copies the content of a file in the cheapest way that the file system supports: shared blocks
// (FICLONE), copy_file_range(2), or read and write.

// A function that receives the number of bytes copied since its last call. If it returns an error, the copy ends with
// that error.
using OnCopied = std::function<Status(int64_t bytes)>;

// Copies the content of `from`, which must be at its beginning, into the empty file `to`. kInvalid: `from` cannot be
// read. kCannotWrite: `to` cannot be written. The paths are for messages. A failure leaves a partial copy.
Status CopyContent(int from, const std::filesystem::path& from_path, int to, const std::filesystem::path& to_path,
                   const OnCopied& on_copied);

// The following functions read a whole file and parse its content. Their error messages name the path.

// Returns the Result of `parse` for the content of the file.
template <class Parse>
auto ReadParsed(const std::filesystem::path& path, Parse parse) -> decltype(parse(std::string_view())) {
  TRY_ASSIGN(const std::string content, ReadFile(path));
  return Annotate(parse(content), "read " + path.string());
}

// Like ReadParsed(), but returns nullopt if the file does not exist.
template <class T>
Result<std::optional<T>> ReadOptional(const std::filesystem::path& path, Result<T> (*parse)(std::string_view)) {
  auto parsed = ReadParsed(path, parse);
  if (parsed.ok()) return std::optional<T>(*std::move(parsed));
  if (parsed.error().code == ErrorCode::kNotFound) return std::optional<T>();
  return parsed.error();
}

// Removal of folders with all their content, even if the folders are not writable.

// Removes a file, or a folder with all its content; makes folders writable first. Links are removed and never followed.
// Content of other file systems, which are mounted at or below the path, stays. Does nothing if the path does not
// exist. kCannotWrite names the first entry that could not be removed; everything else is removed.
Status RemoveTree(const std::filesystem::path& path);

}  // namespace tony
