#include "runtime/records/staged_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kForms[] = {"link", "contents", "copy"};  // in the order of StagedEntry::Form

std::optional<StagedEntry::Form> FormFromString(std::string_view text) {
  const auto* form = std::ranges::find(kForms, text);
  return form == std::end(kForms) ? std::nullopt : std::optional(static_cast<StagedEntry::Form>(form - kForms));
}
constexpr TextForm kForm{[](StagedEntry::Form form) { return kForms[static_cast<size_t>(form)]; }, FormFromString,
                         "link, contents or copy"};
constexpr TextForm kPath{[](const fs::path& path) { return path.string(); },
                         [](std::string_view text) { return std::optional<fs::path>(text); }, "a path"};

struct RoleEntries {
  std::string role;
  std::vector<StagedEntry> entries;
};

void Fields(auto& io, Is<RoleEntries> auto& of_role) {
  io.Field("role", of_role.role);
  io.Field("entries", of_role.entries);
}

}  // namespace

void Fields(auto& io, Is<StagedEntry> auto& entry) {
  io.Field("name", entry.name);
  io.Field("path", entry.path, kPath);
  io.Field("form", entry.form, kForm);
}

void Fields(auto& io, Is<StagedFiles> auto& files) {
  Schema(io, 1);
  io.Field("job", files.job);
  std::vector<RoleEntries> roles;
  for (const auto& [role, entries] : files.roles) roles.push_back({role, entries});
  io.Field("roles", roles);
  if constexpr (std::decay_t<decltype(io)>::kReads)
    for (RoleEntries& read : roles) files.roles[read.role] = std::move(read.entries);
  io.Field("am", files.am);
}

std::string KeyOf(const RemoteFile& file) {
  const std::string what =
      StrCat(file.path, '\0', file.size, '\0', ToMillis(file.modified), '\0', file.is_packed ? "packed" : "",
             file.name_node.empty() ? "" : StrCat('\0', file.name_node));
  return Sha256Hex(what) + "-remote";
}

std::string ToJson(const StagedFiles& files) { return WriteJson(files); }

Result<StagedFiles> StagedFilesFromJson(std::string_view text) {
  return ReadJson<StagedFiles>(text, "manifest of staged files");
}

// Puts staged entries into an attempt's folder.
//
// The files of src_dir (kContents) are copied for each task, as the Java TonY gave a copy to each container. Copies are
// needed because programs write beside themselves and edit their configuration in place. In addition, Python resolves
// the link of a script: it searches the script's siblings where the file really is, and puts its __pycache__ there.
// Only files that are too large to be copied for hundreds of tasks become links.

namespace {

// The size above which a file becomes a link. Programs, configurations and tables are smaller. Checkpoints and data
// sets are larger, and people do not edit them in place. A hundred copies would fill a disk, and a task that copies
// such files would send no heartbeats to its AM meanwhile.
constexpr int64_t kLargestCopy = 16 << 20;

Error Gone(const fs::path& path, int error) {
  return FileError(ErrorCode::kUnavailable, "read the staged file", path, error);
}

Status MakeLink(const fs::path& target, const fs::path& link) {
  if (symlink(target.c_str(), link.c_str()) == 0 || errno == EEXIST) return Ok();
  return FileError(ErrorCode::kCannotWrite, "link", link, errno);
}

Status CopyFile(const fs::path& from, const fs::path& to, const struct stat& info) {
  const UniqueFd in(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!in.valid()) return Gone(from, errno);
  const UniqueFd out(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out.valid() && errno == EEXIST) return Ok();
  if (!out.valid()) return FileError(ErrorCode::kCannotWrite, "make", to, errno);
  TRY(CopyContent(in.get(), from, out.get(), to, [](int64_t) { return Ok(); }));
  const timespec times[2] = {info.st_mtim, info.st_mtim};
  if (fchmod(out.get(), info.st_mode & S_IXUSR ? 0700 : 0600) != 0 || futimens(out.get(), times) != 0)
    return FileError(ErrorCode::kCannotWrite, "finish", to, errno);
  return Ok();
}

Status CopyContents(const fs::path& from, const fs::path& to);

// Makes a folder of the task. Returns false if another entry has this name, such as the link of a resource. That entry
// stays.
Result<bool> MakeOwnFolder(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return FileError(ErrorCode::kCannotWrite, "make", path, errno);
  struct stat made {};
  return lstat(path.c_str(), &made) == 0 && S_ISDIR(made.st_mode);
}

Status CopyFileOrLink(const fs::path& from, const fs::path& to, const struct stat& info) {
  return info.st_size > kLargestCopy ? MakeLink(from, to) : CopyFile(from, to, info);
}

Status CopyOne(const fs::path& from, const fs::path& to) {
  struct stat info {};
  if (lstat(from.c_str(), &info) != 0) return Gone(from, errno);
  if (S_ISDIR(info.st_mode)) {
    TRY_ASSIGN(const bool is_own, MakeOwnFolder(to));
    return is_own ? CopyContents(from, to) : Ok();
  }
  if (S_ISLNK(info.st_mode)) {
    std::error_code error;
    const fs::path target = fs::read_symlink(from, error);
    return error ? Status(Gone(from, error.value())) : MakeLink(target, to);
  }
  return CopyFileOrLink(from, to, info);
}

Status CopyContents(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::directory_iterator entry(from, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    TRY(CopyOne(entry->path(), to / entry->path().filename()));
  return error ? Status(Gone(from, error.value())) : Ok();
}

// Copies a file to `name`. The NodeManager has put a link with the entry's name into the container's folder, and the
// file to copy is the target of this link.
Status CopyNamed(const fs::path& link, const fs::path& work, const fs::path& name) {
  std::error_code error;
  const fs::path file = fs::canonical(link, error);
  struct stat info {};
  if (error || stat(file.c_str(), &info) != 0) return Gone(link, error ? error.value() : errno);
  fs::path folder = work;
  for (const fs::path& part : name.parent_path()) {
    TRY_ASSIGN(const bool is_own, MakeOwnFolder(folder /= part));
    if (!is_own) return Ok();
  }
  return CopyFileOrLink(file, work / name, info);
}

}  // namespace

Status LinkStaged(const std::vector<StagedEntry>& entries, const fs::path& work) {
  for (const StagedEntry& entry : entries) {
    if (!IsThere(entry.path)) return Gone(entry.path, ENOENT);
    switch (entry.form) {
      case StagedEntry::Form::kLink:
        TRY(MakeLink(entry.path, work / entry.name));
        break;
      case StagedEntry::Form::kContents:
        TRY(CopyContents(entry.path, work));
        break;
      case StagedEntry::Form::kCopy:
        TRY(CopyNamed(entry.path, work, entry.name));
        break;
    }
  }
  return Ok();
}

}  // namespace tony
