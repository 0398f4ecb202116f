// A program of the user's machine that works for a while, as `uv` that makes an environment.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"

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

}  // namespace tony
