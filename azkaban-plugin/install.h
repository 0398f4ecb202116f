// The file operations of an installation. Every file that they make is readable for all users, whatever the umask, and
// is on disk before it gets its final name.
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
  // An installation whose further files are carried over; empty: none.
  std::filesystem::path old;
};

// Returns the names in `old` that an installation does not write itself.
std::vector<std::string> FurtherFiles(const std::filesystem::path& old);

// Returns true if both are the same file or have the same bytes.
bool IsSameProgram(const std::filesystem::path& one, const std::filesystem::path& other);

bool IsBuilt(const std::filesystem::path& folder, const PluginContent& content);  // Compares texts, programs and modes.
Status BuildPlugin(const std::filesystem::path& folder, const PluginContent& content);

// Takes the lock that only one installation next to `jobtypes` can hold at a time. Returns kUnavailable if another
// installation holds it.
Result<UniqueFd> LockBeside(const std::filesystem::path& jobtypes);

// A new folder next to `jobtypes`, on the same file system; removed with the object.
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

// Gives `made` the name `place`. An existing `place` is exchanged with `made` in one step, so that the old content is
// at `made` afterwards. If `place` does not exist, `made` is renamed.
Status PutInPlace(const std::filesystem::path& made, const std::filesystem::path& place);

// Returns the first free name next to `jobtypes` for an entry `name` that is replaced: NAME.replaced-1, and so on.
std::filesystem::path FreeAside(const std::filesystem::path& jobtypes, std::string_view name);

// `tony-azkaban install JOBTYPES_FOLDER`: makes `tony` and its aliases job types of an executor server, or upgrades
// them.

VerbSpec InstallVerb();

// `arguments` are the words after the verb. Prints what was done. Returns the exit code, or an error that left
// everything unchanged. A kill at any moment leaves each job type in its old or its new state, and at most a folder
// next to JOBTYPES_FOLDER, which the next run removes. That folder is outside, because Azkaban reads every folder in
// JOBTYPES_FOLDER and does not start with a broken one.
Result<int> RunInstall(const std::vector<std::string>& arguments);

}  // namespace tony::azkaban
