// Reading and writing the small files of a job. Everything made here is private to the user, whatever the umask.
// Errors name the path: "make /x/jobs: read-only file system".
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

// With `code`, but kUnavailable where the process may have no more descriptors.
Error FileError(ErrorCode code, std::string_view what, const std::filesystem::path& path, int error);

Result<std::string> ReadFile(const std::filesystem::path& path);  // kNotFound, kNotPermitted, else kUnavailable

struct RegularFile {
  UniqueFd fd;
  int64_t size = 0;
};
// Opens what others may have put there: a link of this name is not followed, and a FIFO not waited for; anything but a
// regular file is refused. `access`: O_RDONLY or O_WRONLY; `folder`: where a relative path begins. kNotFound: there is
// nothing. kInvalid: what is there is something else. kNotPermitted, kUnavailable. The message says why, without the
// path.
Result<RegularFile> OpenRegularFile(const std::filesystem::path& path, int access, int folder = AT_FDCWD);

// A new file of mode 0600; kCannotWrite if there is one. `durable` here and below: it survives a power cut.
Status WriteNewFile(const std::filesystem::path& path, std::string_view content, bool durable);
// Readers see the old content or the new, never a part, also when two processes write at once. A writer that dies
// leaves at most a file with a leading dot.
Status WriteFileByRename(const std::filesystem::path& path, std::string_view content, bool durable);

// Makes the file if there is none. What a writer that failed or died has left of a line is cut off before, so it
// neither spoils this one nor counts. One writer at a time.
Status AppendLine(const std::filesystem::path& path, std::string_view line);

// A folder or regular file of this user's, no link, that nobody else may write: nobody can have exchanged it or put
// something into it, except root.
bool IsOursAlone(const std::filesystem::path& path);

bool IsThere(const std::filesystem::path& path);  // something of that name, also a link that leads nowhere
// The same where a wrong no would do harm: kNotPermitted, kUnavailable where nobody can tell.
Result<bool> TryIsThere(const std::filesystem::path& path);

Status MakeFolder(const std::filesystem::path& path);  // and those above it, 0700 each; harmless if it is there
Status SyncPath(const std::filesystem::path& path);    // a file's content, or the names in a folder
// Files or folders, at once: their file system commits them together, which takes the time of one or two.
Status SyncTogether(const std::vector<std::filesystem::path>& paths);
// The names in these folders below `home`, in home, and home's own: whoever made them may have died before a sync.
Status SyncHome(const std::filesystem::path& home, std::vector<std::filesystem::path> folders);
Result<std::string> ReadAll(int fd, const std::filesystem::path& path);  // to its end; kUnavailable
Status WriteAll(int fd, std::string_view content, const std::filesystem::path& path);

std::string RandomHex(int bytes);  // from the kernel's random source

// Copies one file's content the cheapest way that the file system has: shared blocks, the kernel alone, or by hand.

// Called with the bytes since the last call; an error ends the copying with it.
using OnCopied = std::function<Status(int64_t bytes)>;

// From where `from` stands to its end, into the empty file `to`. kInvalid: it cannot be read; kCannotWrite. The paths
// are for messages. A failure leaves a part.
Status CopyContent(int from, const std::filesystem::path& from_path, int to, const std::filesystem::path& to_path,
                   const OnCopied& on_copied);

// Files that are read whole and parsed; what is wrong with one names its path. Private to the store.

// `parse`: content -> Result.
template <class Parse>
auto ReadParsed(const std::filesystem::path& path, Parse parse) -> decltype(parse(std::string_view())) {
  TRY_ASSIGN(const std::string content, ReadFile(path));
  return Annotate(parse(content), "read " + path.string());
}

// As ReadParsed(), but nothing where there is no file.
template <class T>
Result<std::optional<T>> ReadOptional(const std::filesystem::path& path, Result<T> (*parse)(std::string_view)) {
  auto parsed = ReadParsed(path, parse);
  if (parsed.ok()) return std::optional<T>(*std::move(parsed));
  if (parsed.error().code == ErrorCode::kNotFound) return std::optional<T>();
  return parsed.error();
}

// Removes what is no longer wanted, also where its folders may not be written.

// A file, or a folder with all that is in it; its folders are made writable first. Links are removed, never followed,
// and what another file system has, which is mounted at or below the path, stays. Harmless if there is none.
// kCannotWrite names the first thing that stayed; all else is removed.
Status RemoveTree(const std::filesystem::path& path);

}  // namespace tony
