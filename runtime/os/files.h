// Reading and writing the small files of a job. Everything made here is private to the user, whatever the umask.
// Errors name the path: "make /x/jobs: read-only file system".
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <filesystem>
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

}  // namespace tony
