// The file operations of an installation. Every file that they make is readable for all users, whatever the umask, and
// is synced to disk before it gets its final name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/cli/command_line.h"

namespace tony::azkaban {

// The intended content of the folder `tony`.
struct PluginContent {
  std::string private_text, plugin_text;
  std::vector<std::filesystem::path> programs;  // copied to the folder bin
  // An existing installation whose further files are copied; empty if no installation exists.
  std::filesystem::path old;
};

// Returns the names of the files in `old` that an installation does not write itself.
std::vector<std::string> FurtherFiles(const std::filesystem::path& old);

// Returns true if both paths lead to the same file, or to files with the same bytes.
bool IsSameProgram(const std::filesystem::path& one, const std::filesystem::path& other);

// Returns true if texts, programs and modes in `folder` are equal to `content`.
bool IsBuilt(const std::filesystem::path& folder, const PluginContent& content);
Status BuildPlugin(const std::filesystem::path& folder, const PluginContent& content);

// Takes a lock that prevents two installations next to `jobtypes` at the same time. Returns kUnavailable if another
// installation holds the lock.
Result<UniqueFd> LockBeside(const std::filesystem::path& jobtypes);

// A new folder next to `jobtypes`, on the same file system. The destructor removes the folder.
class WorkFolder {
 public:
  static Result<WorkFolder> Make(const std::filesystem::path& jobtypes);
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ~WorkFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit WorkFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Returns the folders that killed installations left next to `jobtypes`.
std::vector<std::filesystem::path> Leftovers(const std::filesystem::path& jobtypes);

// Puts `made` into `place`. If `place` exists, the two are exchanged in one step, so the old content is at `made`
// afterwards. Otherwise `made` is renamed.
Status PutInPlace(const std::filesystem::path& made, const std::filesystem::path& place);

// Returns the first free name next to `jobtypes` for an entry `name` that is being replaced: NAME.replaced-1,
// NAME.replaced-2, and so on.
std::filesystem::path FreeAside(const std::filesystem::path& jobtypes, std::string_view name);

// `tony-azkaban install JOBTYPES_FOLDER`: installs the job type `tony` and its aliases for an executor server, or
// upgrades them.

VerbSpec InstallVerb();

// `arguments` are the words after the verb. Prints what was done. Returns the exit code, or an error if nothing was
// changed. A kill at any moment leaves each job type in its old or its new state. It may also leave a folder next to
// JOBTYPES_FOLDER, which the next run removes. That folder is not inside JOBTYPES_FOLDER, because Azkaban reads every
// folder there and does not start if one of them is incomplete.
Result<int> RunInstall(const std::vector<std::string>& arguments);

}  // namespace tony::azkaban
