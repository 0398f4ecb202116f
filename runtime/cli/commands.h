// The verbs of `tony`. Each is one function, which prints its answer and returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "runtime/cli/command_line.h"

namespace tony {

Result<int> RunSubmit(const CommandLine& line);
Result<int> RunInit(const CommandLine& line);
Result<int> RunRun(const CommandLine& line);
Result<int> RunPlan(const CommandLine& line);
Result<int> RunStatus(const CommandLine& line);
Result<int> RunList(const CommandLine& line);
Result<int> RunWait(const CommandLine& line);
Result<int> RunKill(const CommandLine& line);
Result<int> RunAck(const CommandLine& line);
Result<int> RunFind(const CommandLine& line);
Result<int> RunRecover(const CommandLine& line);
Result<int> RunWatch(const CommandLine& line);
Result<int> RunOutputs(const CommandLine& line);
Result<int> RunLogs(const CommandLine& line);
Result<int> RunHistory(const CommandLine& line);
Result<int> RunExplainExit(const CommandLine& line);
Result<int> RunGc(const CommandLine& line);
Result<int> RunDoctor(const CommandLine& line);
Result<int> RunVersion(const CommandLine& line);
Result<int> RunCompletion(const CommandLine& line);
Result<int> RunComplete(const CommandLine& line);
Result<int> RunHelp(const CommandLine& line);

struct Verb {
  VerbSpec verb;
  Result<int> (*run)(const CommandLine& line);
  bool in_home = true;  // it works in $TONY_HOME: as its owner, also for root (files_for_others.h)
};
std::vector<Verb> Verbs();

std::vector<std::string> JobKinds();  // those that `tony init` writes

// All of `tony`: finds the verb, parses its line, runs it; an error becomes one line on standard error, with --json one
// object on standard output too, and its exit code. `arguments` are those after the program's name.
int RunTony(const std::vector<std::string>& arguments);

}  // namespace tony
