// A program of the user's machine that works for a while, as `uv` that makes an environment.
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

// The program that `name` would start at a shell's prompt; empty: there is none on PATH.
std::filesystem::path FindOnPath(std::string_view name);

struct Tool {
  std::vector<std::string> words;                                  // the first: a path
  std::vector<std::pair<std::string, std::string>> environment{};  // beside ours, and in place of it
};

struct ToolEnd {
  int exit_code = 0;   // 128 + the signal that ended it
  std::string output;  // of its stdout, the first 1 MB
  std::string errors;  // of its stderr, the last 4 KB
};

// Runs it without input, in a process group of its own, and blocks until it has ended. `check` is asked ten times a
// second: an error of it ends the whole group, at first politely, and is returned. kUnavailable: it cannot be started.
Result<ToolEnd> RunTool(const Tool& tool, const std::function<Status()>& check);

// How one lock file becomes an environment: what the maker of its kind (locked_environment.h, conda_environment.h) tells
// the store, and what both need for that.

struct EnvironmentRecipe {
  std::string name;  // of the entry; another one wherever another environment would be made
  std::function<Status(const std::filesystem::path& temporary)> make;  // there, from where it is renamed to its name
};

Error RefuseLock(const std::string& why);
Error RefuseLine(size_t line, std::string_view text, std::string_view why);  // 'line 2, "torch>=2": <why>'

Result<std::string> ReadLock(const std::filesystem::path& file);  // kInvalid: not readable, or too large

// Of all that decides what is made, and of this machine's processor.
std::string NameOfEnvironment(std::initializer_list<std::string_view> parts);

// Runs the maker's program and returns what it printed. A failure is told in the last lines of its stderr, as one of
// `what`: kUnavailable where one of `network` is in them, else kInvalid.
Result<std::string> RunMaker(const std::string& what, const Tool& tool, std::initializer_list<std::string_view> network,
                             StageMeter& meter);

// An environment that is made from a lock file, once for each content, and from then on is one like any other:
// read-only, shared by jobs, and packed for the nodes of a cluster. uv makes those of Python's lock files
// (locked_environment.h), a client of conda those of conda's (conda_environment.h).

bool HasNameOfLock(const std::filesystem::path& file);  // it may be one, wherever it is

// By its name or by what is in it; also one that is refused as it stands, as environment.yml.
bool IsEnvironmentLock(const std::filesystem::path& file);

// Blocks for as long as the maker takes, which may have to fetch gigabytes. kInvalid: the lock is none, the maker
// refuses it, or there is no maker; kUnavailable: packages cannot be fetched, or a stop was asked for.
Result<StagedSource> StageLockedEnvironment(const std::filesystem::path& lock, const StageContext& context);

// Virtual environments that uv makes.
//
//   uv.lock             with the pyproject.toml beside it: its packages, without the project itself and what is for
//                       development only
//   pylock.toml, pylock.NAME.toml      as PEP 751 has them
//   requirements*.txt   in which each package has one version, as `uv pip compile` and `pip freeze` write it
//
// Two locks are the same if their bytes, uv's way to make them, and the Python that uv chooses here are. A package that
// is a folder of this machine has no place in a lock: its content may change and the lock does not.

bool IsUvLock(const std::filesystem::path& file);  // by its name

// Asks uv for its Python. The recipe may be used as long as `meter` lives.
Result<EnvironmentRecipe> UvEnvironment(const std::filesystem::path& lock, StageMeter& meter);

}  // namespace tony
