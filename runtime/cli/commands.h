// The verbs of `tony`. Each verb is one function, which prints an answer and returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "runtime/cli/command_line.h"

namespace tony {

Result<int> RunSubmit(const CommandLine& line);
Result<int> RunInit(const CommandLine& line);
Result<int> RunRun(const CommandLine& line);
Result<int> RunSweep(const CommandLine& line);
// `tony sweep --resume`: runs the missing trials of another job.
Result<int> ResumeSweep(const CommandLine& line);
Result<int> RunNotebook(const CommandLine& line);
Result<int> RunPlan(const CommandLine& line);
Result<int> RunStatus(const CommandLine& line);
Result<int> RunList(const CommandLine& line);
Result<int> RunWait(const CommandLine& line);
Result<int> RunKill(const CommandLine& line);
Result<int> RunAck(const CommandLine& line);
Result<int> RunCredentials(const CommandLine& line);
Result<int> RunFind(const CommandLine& line);
Result<int> RunRecover(const CommandLine& line);
Result<int> RunReproduce(const CommandLine& line);
Result<int> RunShell(const CommandLine& line);
Result<int> RunWatch(const CommandLine& line);
Result<int> RunOutputs(const CommandLine& line);
Result<int> RunLogs(const CommandLine& line);
Result<int> RunHistory(const CommandLine& line);
Result<int> RunPortal(const CommandLine& line);
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
  // True if the verb works in $TONY_HOME. If root starts such a verb, the process takes the rights of the home's owner
  // (files_for_others.h).
  bool in_home = true;
};
std::vector<Verb> Verbs();

// Returns the kinds of jobs that `tony init` can write.
std::vector<std::string> JobKinds();

// Runs the whole program: finds the verb, parses the rest of the command line, and runs the verb. Returns the exit
// code. An error becomes one line on standard error and, with --json, also one object on standard output. `arguments`
// does not include the program's name.
int RunTony(const std::vector<std::string>& arguments);

}  // namespace tony
