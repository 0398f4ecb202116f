// Runs a program of the user's machine that works for a while, e.g. `uv`, which makes an environment.
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

// How one lock file becomes an environment. uv's locks and conda's locks (conda_environment.h) each have a maker: it
// gives the store a recipe. The functions here serve both makers.

struct EnvironmentRecipe {
  // The entry's name in the store. Two recipes have the same name only if they make the same environment.
  std::string name;
  // Makes the environment in the folder `temporary`, which is renamed to the entry's name afterwards.
  std::function<Status(const std::filesystem::path& temporary)> make;
};

Error RefuseLock(const std::string& why);
// Returns an error such as 'line 2, "torch>=2": <why>'.
Error RefuseLine(size_t line, std::string_view text, std::string_view why);

Result<std::string> ReadLock(const std::filesystem::path& file);  // kInvalid: not readable, or too large

// Returns the name for `parts`, which must contain everything that decides what is made. Adds this machine's processor.
std::string NameOfEnvironment(std::initializer_list<std::string_view> parts);

// Runs the maker's program, which messages call `what`, and returns what the program printed. The message of a failure
// has the last lines of its stderr. The code is kUnavailable if these contain one of the texts in `network`, else
// kInvalid.
Result<std::string> RunEnvironmentMaker(const std::string& what, const Tool& tool,
                                        std::initializer_list<std::string_view> network, StageMeter& meter);

// An environment that is made from a lock file, once for each content. After that it is an environment like any other:
// read-only, shared by jobs, and packed for the nodes of a cluster. uv makes environments from Python's lock files, and
// a client of conda from conda's lock files (conda_environment.h).

// Returns true if the name may be a lock's, also if the file is not on this machine.
bool IsLockFileName(const std::filesystem::path& file);

// Returns true if the file is a lock, by its name or its content. Also true for a file that is refused later, as
// environment.yml.
bool IsEnvironmentLock(const std::filesystem::path& file);

// Makes the environment, or finds it in the store. Blocks while the maker runs, which may have to fetch gigabytes.
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
