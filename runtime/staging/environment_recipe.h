// How one lock file becomes an environment: what the maker of its kind (uv_environment.h, conda_environment.h) tells
// the store, and what both need for that.
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/staging/stage_meter.h"
#include "runtime/staging/tool_run.h"

namespace tony {

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

}  // namespace tony
