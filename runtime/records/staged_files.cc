#include "runtime/records/staged_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"

namespace tony {
namespace {

namespace json = boost::json;

std::string_view ToString(StagedEntry::Form form) {
  switch (form) {
    case StagedEntry::Form::kLink:
      return "link";
    case StagedEntry::Form::kContents:
      return "contents";
    case StagedEntry::Form::kCopy:
      return "copy";
  }
  return "";
}

std::optional<StagedEntry::Form> FormFromString(std::string_view text) {
  for (const auto form : {StagedEntry::Form::kLink, StagedEntry::Form::kContents, StagedEntry::Form::kCopy}) {
    if (text == ToString(form)) return form;
  }
  return std::nullopt;
}

json::array ToArray(const std::vector<StagedEntry>& entries) {
  json::array array;
  for (const StagedEntry& entry : entries)
    array.push_back(json::object{{"name", entry.name}, {"path", entry.path.string()}, {"form", ToString(entry.form)}});
  return array;
}

Result<std::vector<StagedEntry>> ReadEntries(JsonReader& fields, std::string_view name) {
  std::vector<StagedEntry> entries;
  for (JsonReader& item : fields.List(name)) {
    StagedEntry entry{.name = item.String("name"), .path = item.String("path")};
    const auto form = FormFromString(item.String("form"));
    if (!form) item.Fail("form", "link, contents or copy");
    TRY(item.status());
    entry.form = *form;
    entries.push_back(std::move(entry));
  }
  TRY(fields.status());
  return entries;
}

}  // namespace

std::string KeyOf(const RemoteFile& file) {
  const std::string what =
      StrCat(file.path, '\0', file.size, '\0', ToMillis(file.modified), '\0', file.is_packed ? "packed" : "");
  return Sha256Hex(what) + "-remote";
}

std::string ToJson(const StagedFiles& files) {
  json::array roles;
  for (const auto& [role, entries] : files.roles)
    roles.push_back(json::object{{"role", role}, {"entries", ToArray(entries)}});
  return SerializeJson(
      json::object{{"schema", 1}, {"job", ToArray(files.job)}, {"roles", roles}, {"am", ToArray(files.am)}});
}

Result<StagedFiles> StagedFilesFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "manifest of staged files"));
  JsonReader fields(document);
  fields.Int("schema", 1, 1);
  TRY(fields.status());
  StagedFiles files;
  TRY_ASSIGN(files.job, ReadEntries(fields, "job"));
  TRY_ASSIGN(files.am, ReadEntries(fields, "am"));
  for (JsonReader& role : fields.List("roles")) {
    const std::string name = role.String("role");
    TRY_ASSIGN(files.roles[name], ReadEntries(role, "entries"));
  }
  TRY(fields.status());
  return files;
}

// Puts staged entries into an attempt's folder.
//
// The files of the user's own folder (kContents) are copies of the task's own, as TonY gave each container: programs
// write beside themselves, edit their configuration in place, and Python, which resolves a script's link, looks for
// the script's siblings and puts its __pycache__ where the file really is. Only what is too large to copy for each of
// hundreds of tasks is a link.

namespace {

namespace fs = std::filesystem;

// Programs, configurations and tables are below this; checkpoints and data sets, which nobody edits in place, above. A
// hundred tasks that copied those would fill a disk, and each would be silent to its AM meanwhile.
constexpr int64_t kLargestCopy = 16 << 20;

Error Gone(const fs::path& path, int error) { return FileError(ErrorCode::kUnavailable, "read staged", path, error); }

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

// False: something else has the name, as a resource's link, and keeps it.
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

// A NodeManager has put a link of the entry's name into the container's folder.
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
