// Starts small programs of the machine that work for TonY, e.g. `getent` or `uv`.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony {

// Returns the environment of this process as "NAME=value" texts.
std::vector<std::string> OwnEnvironment();

// The descriptors that become the standard streams of a program. The caller owns them.
struct ProgramStreams {
  int input = -1;  // -1: no input
  int output = -1;
  int errors = -1;  // -1: discarded
};

// Starts the program `words[0]`, a path, with the arguments `words` and `environment` (null-terminated, as environ). The
// program has a process group of its own, so that Ctrl-C at a terminal reaches only this process. No signal is blocked
// or ignored. The caller must wait for the process. kUnavailable: the message gives the reason without the program's
// name.
Result<pid_t> StartProgram(const std::vector<std::string>& words, char* const* environment,
                           const ProgramStreams& streams);

// Runs a small program of the machine and returns its output, e.g. of `getent` and `id`, which know all users of the
// machine.

struct ProgramOutput {
  int exit_code = 0;   // if killed: 128 + the signal
  std::string output;  // stdout of the program
};

// Runs the program `words[0]`, a path, with the arguments `words` and this process's environment, without input;
// discards stderr. Blocks. A program that prints more than 1 MB, or is not done within `limit`, is killed.
// kUnavailable: the program was killed or could not be started. The function works even if other code in this process
// waits for all children. Any thread may call it.
Result<ProgramOutput> RunProgram(const std::vector<std::string>& words, Duration limit);

// The programs of TonY find each other in one folder: in the build tree, in the installation, or in the copy that a job
// keeps.

// The programs that a job runs, besides `tony` and the adapter of a workflow engine. A job keeps a copy of these
// programs (staging/programs.h).
inline constexpr std::string_view kJobPrograms[] = {"tony-am", "tony-executor", "tony-keeper"};
// Further programs for tasks with GPUs; release builds include them. The GPU driver's library needs a C library, and
// the machine's C library may be older than the one of the build. The executor for GPUs therefore has its own C
// library, and its own loader for that library.
inline constexpr std::string_view kGpuExecutor = "tony-gpu-executor", kGpuLoader = "tony-gpu-loader";
inline constexpr std::string_view kGpuPrograms[] = {kGpuExecutor, kGpuLoader,        "libc.so.6", "libm.so.6",
                                                    "libdl.so.2", "libpthread.so.0", "librt.so.1"};

std::string SiblingProgram(std::string_view name);  // "tony-am" -> "/folder/of/this/program/tony-am"

}  // namespace tony
