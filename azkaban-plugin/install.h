// The file operations of an installation. What they make may be read by every user, whatever the umask, and is on the
// disk before it gets its name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/cli/command_line.h"

namespace tony::azkaban {

// The folder `tony` as it shall be.
struct PluginContent {
  std::string private_text, plugin_text;
  std::vector<std::filesystem::path> programs;  // copied to bin
  std::filesystem::path old;                    // an installation whose further files are carried over; empty: none
};

// The names in `old` that are not ours.
std::vector<std::string> FurtherFiles(const std::filesystem::path& old);

// The same file, or the same bytes.
bool IsSameProgram(const std::filesystem::path& one, const std::filesystem::path& other);

bool IsBuilt(const std::filesystem::path& folder, const PluginContent& content);  // texts, programs and modes
Status BuildPlugin(const std::filesystem::path& folder, const PluginContent& content);

// Held by one installation at a time of those that work beside `jobtypes`. kUnavailable: another one has it.
Result<UniqueFd> LockBeside(const std::filesystem::path& jobtypes);

// A new folder beside `jobtypes`, on its file system; removed with the object.
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

// What killed installations left beside `jobtypes`.
std::vector<std::filesystem::path> Leftovers(const std::filesystem::path& jobtypes);

// Gives `made` the name `place`. What was there stands at `made` then, exchanged in one step; with nothing there it is
// a plain rename.
Status PutInPlace(const std::filesystem::path& made, const std::filesystem::path& place);

// The first name beside `jobtypes` that is free for what `name` in it was: NAME.replaced-1.
std::filesystem::path FreeAside(const std::filesystem::path& jobtypes, std::string_view name);

// `tony-azkaban install JOBTYPES_FOLDER`: makes `tony` and its aliases job types of an executor server, or upgrades
// them.

VerbSpec InstallVerb();

// `arguments`: those after the verb. Prints what it did; the exit code, or an error that left everything as it was.
// Killed at any moment it leaves each job type as it was or as it shall be, and at most a folder beside
// JOBTYPES_FOLDER, which the next run removes: Azkaban reads every folder in there and does not start with a broken
// one.
Result<int> RunInstall(const std::vector<std::string>& arguments);

}  // namespace tony::azkaban
