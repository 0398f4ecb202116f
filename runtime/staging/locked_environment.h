// Runs programs of this machine that make environments and may take long, e.g. `uv`.
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/staging/stage.h"
#include "runtime/staging/stage_source.h"

namespace tony {

// Returns the program that `name` would start at a shell's prompt; empty if no folder of PATH has it.
std::filesystem::path FindOnPath(std::string_view name);

struct Tool {
  std::vector<std::string> words;  // words[0] is a path
  // Variables added to this process's environment; they replace variables of the same names.
  std::vector<std::pair<std::string, std::string>> environment{};
};

struct ToolEnd {
  int exit_code = 0;   // if killed: 128 + the signal
  std::string output;  // first 1 MB of stdout
  std::string errors;  // last 4 KB of stderr
};

// Runs a tool without input, in a process group of its own, and blocks until it has ended. Calls `check` about ten
// times a second. If `check` returns an error, ends the whole group, first with SIGTERM, and returns that error.
// kUnavailable: the tool cannot be started.
Result<ToolEnd> RunTool(const Tool& tool, const std::function<Status()>& check);

// A recipe states how one lock file becomes an environment. Two makers return recipes, one for uv's locks and one for
// conda's locks (conda_environment.h). The functions here serve both makers.

struct EnvironmentRecipe {
  // The entry's name in the store. Two recipes have the same name only if they make the same environment.
  std::string name;
  // Makes the environment in the folder `temporary`. The caller then renames this folder to the entry's name.
  std::function<Status(const std::filesystem::path& temporary)> make;
};

Error RefuseLock(const std::string& why);
// Returns an error such as 'line 2, "torch>=2": <why>'.
Error RefuseLine(size_t line, std::string_view text, std::string_view why);

Result<std::string> ReadLock(const std::filesystem::path& file);  // kInvalid: not readable, or too large

// Returns a name for an entry, computed from `parts` and this machine's processor type. `parts` must contain everything
// that determines the environment.
std::string NameOfEnvironment(std::initializer_list<std::string_view> parts);

// Runs the maker's program, and returns what the program printed. Messages call the program `what`. If the program
// fails, the message has the last lines of its stderr. The code is kUnavailable if these lines contain one of the texts
// in `network`, which show a network failure, otherwise kInvalid.
Result<std::string> RunEnvironmentMaker(const std::string& what, const Tool& tool,
                                        std::initializer_list<std::string_view> network, StageMeter& meter);

// Functions for environments that are made from lock files. Lock files with the same content share one environment,
// which is made once. Afterwards the environment is used like any other environment: read-only, shared by jobs, and
// packed for the nodes of a cluster. uv makes environments from Python's lock files, and a client of conda from conda's
// lock files (conda_environment.h).

// Returns true if the file may be a lock, judged by its name alone. The file need not be on this machine.
bool IsLockFileName(const std::filesystem::path& file);

// Returns true if the file is a lock, judged by its name or its content. Also returns true for a file that is refused
// later, e.g. environment.yml.
bool IsEnvironmentLock(const std::filesystem::path& file);

// Makes the environment, or finds it in the store. Blocks while the maker runs. The maker may have to fetch gigabytes.
// kInvalid: the file is not a valid lock, the maker refuses it, or the maker is missing. kUnavailable: packages cannot
// be fetched, or a stop was requested.
Result<StagedSource> StageLockedEnvironment(const std::filesystem::path& lock, const StageContext& context);

// Virtual environments that uv makes.
//
//   uv.lock             with the pyproject.toml in its folder: the packages, without the project itself and without
//                       packages for development only
//   pylock.toml, pylock.NAME.toml      as in PEP 751
//   requirements*.txt   with one version for each package, as `uv pip compile` and `pip freeze` write it
//
// Two locks give the same environment if their bytes, TonY's way to call uv, and the Python that uv chooses here are
// the same. A lock may not name a package that is a folder of this machine, because its content may change while the
// lock does not.

// Returns true if the file has one of the names above.
bool IsUvLock(const std::filesystem::path& file);

// Returns a recipe; queries uv for the Python that it chooses. The recipe may be used only while `meter` exists.
Result<EnvironmentRecipe> UvEnvironment(const std::filesystem::path& lock, StageMeter& meter);

}  // namespace tony
