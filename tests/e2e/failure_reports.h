// Failures that are injected into real jobs, with the words that the report of each failure must have. A change of
// policy or wording must not shorten this list.
#pragma once

#include <string>
#include <vector>

namespace tony {

enum class Need { kNothing, kPython, kRoot, kMemoryLimit };

struct InjectedFailure {
  std::string name;
  // A command for `bash -c` in each task. @F is the path of failing_program, @D is a folder that the tasks of the job
  // share.
  std::string command;
  std::string cls = "user_error";
  // Texts that the line of the first cause must have.
  std::vector<std::string> says;
  // Words in the last output lines (stderr or stdout) of the report, or in the reason of a restart.
  std::vector<std::string> shows = {};
  // The report must not have any of these texts.
  std::vector<std::string> denies = {};
  // The task that is the first cause; empty if the cause is not a task.
  std::string task = "worker:0";
  // The number of tasks; more than one run as workers of one collective operation.
  int tasks = 1;
  std::vector<std::string> conf = {};  // KEY=VALUE
  Need need = Need::kNothing;
};

std::vector<InjectedFailure> FailuresOfShells();
std::vector<InjectedFailure> FailuresBySignals();
std::vector<InjectedFailure> FailuresOfNativeCode();
std::vector<InjectedFailure> FailuresOfPython();
std::vector<InjectedFailure> FailuresOfMachines();
std::vector<InjectedFailure> FailuresOfCollectives();

}  // namespace tony
