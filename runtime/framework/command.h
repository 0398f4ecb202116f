// How a role's command is started: as `bash -c` does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/os/process_runner.h"

namespace tony {

struct SimpleCommand {
  std::string program;  // absolute path of a binary
  std::vector<std::string> argv;
};

// A command for which bash would only look up the program and become it: plain words without anything that a shell
// expands, and no builtin. Nothing where bash is needed, or where in doubt: a script, a program that is not there, a
// shell that the environment configures.
std::optional<SimpleCommand> AsSimpleCommand(const std::string& command, const std::vector<std::string>& environment);

// What bash would add for the program that it becomes: its path, and bash's own depth, which it takes back.
void AddBashVariables(std::vector<std::string>& environment, const std::string& program);

// Starts the command with all else as `spec` has it. A simple one is started without bash, which saves about 1.5 ms of
// CPU; its environment is what bash would have given it. What cannot be started so is left to bash, which says why.
Result<pid_t> StartCommand(ProcessRunner& processes, const std::string& command, ProcessSpec spec,
                           const ProcessRunner::OnExit& on_exit);

}  // namespace tony
