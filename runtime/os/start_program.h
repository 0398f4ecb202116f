// Small programs of the machine that work for us, as `getent` or `uv`.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony {

// The environment of this process: "NAME=value".
std::vector<std::string> OwnEnvironment();

// Starts `words`, the first of which is a path, with `environment` (null-terminated, as environ), without input. In a
// process group of its own, so that Ctrl-C at a terminal is for us alone; with no signal blocked or ignored. `errors`:
// -1: its stderr goes nowhere. Descriptors stay the caller's, who waits for the process. kUnavailable says why not,
// without naming the program.
Result<pid_t> StartProgram(const std::vector<std::string>& words, char* const* environment, int output, int errors);

// What a small program of the machine prints: for `getent` and `id`, which know what the machine knows.

struct ProgramOutput {
  int exit_code = 0;   // 128 + the signal that ended it
  std::string output;  // its stdout
};

// Runs `words`, the first of which is a path, with our environment, without input, its stderr unread. Blocks. A program
// that says too much, or is not done within `limit`, is killed: kUnavailable, as when it cannot be started. Works also
// where someone else in this process waits for all of its children; any thread.
Result<ProgramOutput> RunProgram(const std::vector<std::string>& words, Duration limit);

// Our programs find each other in one folder: in the build tree, where they are installed, and where a job keeps its
// own.

// What a job runs, beside `tony` or the engine's adapter. A job keeps a copy of these (staging/programs.h).
inline constexpr std::string_view kJobPrograms[] = {"tony-am", "tony-executor", "tony-keeper"};
// What tasks with GPUs need beside those; release builds have it. The driver's library wants a C library to be loaded
// with, and that of the machine may be older than ours: so the executor brings its own, and the loader of that.
inline constexpr std::string_view kGpuExecutor = "tony-gpu-executor", kGpuLoader = "tony-gpu-loader";
inline constexpr std::string_view kGpuPrograms[] = {kGpuExecutor, kGpuLoader,        "libc.so.6", "libm.so.6",
                                                    "libdl.so.2", "libpthread.so.0", "librt.so.1"};

std::string SiblingProgram(std::string_view name);  // "tony-am" -> "/folder/of/this/program/tony-am"

}  // namespace tony
