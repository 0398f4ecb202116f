// Where the ledger is.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "runtime/base/strings.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/os/files.h"
#include "runtime/os/tilde.h"
#include "runtime/records/job_folder.h"
#include "runtime/records/user_home.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVariable = "TONY_LEDGER";
constexpr const char* kShared = "/var/lib/tony/ledger";

// Why we cannot keep the ledger of all users there; empty: we can.
std::string WhyNotShared() {
  const fs::path there = NearestExisting(kShared);
  struct stat status = {};
  if (stat(there.c_str(), &status) != 0 || access(there.c_str(), R_OK | W_OK | X_OK) != 0)
    return StrCat(kShared, " may not be ", there == kShared ? "written" : "made", ": ", ErrnoText(errno));
  // Who owns the folder may remove every entry in it.
  if (status.st_uid != 0 && status.st_uid != geteuid()) return StrCat(kShared, " belongs to another user");
  return "";
}

// All users of the machine may add files, and nobody may remove those of others.
Status MakeShared(const fs::path& path) {
  std::error_code error;
  if (path.has_relative_path() && !fs::is_directory(path.parent_path(), error)) {
    TRY(MakeFolder(path.parent_path()));
    for (fs::path above = path.parent_path(); above.has_relative_path(); above = above.parent_path()) {
      // MakeFolder() makes them private; only those that are so and ours are opened to who passes through.
      struct stat status = {};
      if (stat(above.c_str(), &status) != 0 || status.st_uid != geteuid() || (status.st_mode & 0777) != 0700) break;
      if (chmod(above.c_str(), 0755) != 0) return FileError(ErrorCode::kCannotWrite, "open to all", above, errno);
    }
  }
  if (mkdir(path.c_str(), 0700) != 0)
    return errno == EEXIST ? Ok() : Status(FileError(ErrorCode::kCannotWrite, "make", path, errno));
  if (chmod(path.c_str(), 01777) != 0) return FileError(ErrorCode::kCannotWrite, "open to all", path, errno);
  return Ok();
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Status CheckLedgerPlace(const fs::path& path, const FileSystem& file_system) {
  if (!file_system.network) return Ok();
  return Error{ErrorCode::kInvalid,
               StrCat("the ledger cannot be ", path.string(), ": on ", file_system.type,
                      ", a network file system, locks do not tell which jobs live on this machine; set ", kVariable,
                      " to a folder on a disk of this machine, such as /dev/shm/tony-ledger")};
}

Result<LedgerFolder> LedgerFolder::Find(const fs::path& home, const std::string& configured) {
  LedgerFolder folder(ExpandTilde(configured), "");
  if (configured.empty()) {
    folder.why_private_ = WhyNotShared();
    folder.path_ = folder.is_private() ? home / "ledger" : fs::path(kShared);
  } else if (!folder.path_.is_absolute()) {
    return Error{ErrorCode::kInvalid, StrCat(kVariable, "=", configured, ": expected an absolute path")};
  }
  folder.path_ = folder.path_.lexically_normal();
  if (!folder.path_.has_filename()) folder.path_ = folder.path_.parent_path();  // "/x/ledger/"
  TRY_ASSIGN(const FileSystem file_system, FileSystemOf(folder.path_));
  TRY(CheckLedgerPlace(folder.path_, file_system));
  return folder;
}

Result<LedgerFolder> LedgerFolder::FindHere() {
  TRY_ASSIGN(const fs::path home, TonyHome());
  return Find(home, Variable("TONY_LEDGER"));
}

Result<LedgerFolder> LedgerFolder::FindFor(const JobRecords& records) {
  TRY_ASSIGN(const auto environment, records.ReadEnvironment());
  const std::string prefix = StrCat(kVariable, "=");
  std::string configured;
  for (const std::string& variable : environment) {
    if (variable.starts_with(prefix)) configured = variable.substr(prefix.size());
  }
  return Find(JobFolder(records).home(), configured);
}

std::string LedgerFolder::Announcement() const {
  return StrCat("the ledger is private (", path_.string(), "), as ", why_private_,
                "; jobs of other users are not counted. Make that folder with mode 1777, or set ", kVariable);
}

Status LedgerFolder::Make() const {
  std::error_code error;
  if (fs::is_directory(path_, error)) {
    if (access(path_.c_str(), W_OK | X_OK) == 0) return Ok();
    return FileError(ErrorCode::kCannotWrite, "write to", path_, errno);
  }
  return geteuid() == 0 && !is_private() ? MakeShared(path_) : MakeFolder(path_);
}

}  // namespace tony
