// Failures that are injected into real jobs, and what the report of each has to say: the list that a change of policy
// or of words must not shorten.
#pragma once

#include <string>
#include <vector>

namespace tony {

enum class Need { kNothing, kPython, kRoot, kMemoryLimit };

struct InjectedFailure {
  std::string name;
  // As for `bash -c`, in each task. @F is failing_program, @D a folder that the tasks of the job share.
  std::string command;
  std::string cls = "user_error";
  std::vector<std::string> says;         // in the line of the first cause
  std::vector<std::string> shows = {};   // in the last words on stderr or stdout, or in a restart's reason
  std::vector<std::string> denies = {};  // nowhere in the report
  std::string task = "worker:0";         // the first cause; "": no task's
  int tasks = 1;                         // more than one: a collective of workers
  std::vector<std::string> conf = {};    // KEY=VALUE
  Need need = Need::kNothing;
};

std::vector<InjectedFailure> FailuresOfShells();
std::vector<InjectedFailure> FailuresBySignals();
std::vector<InjectedFailure> FailuresOfNativeCode();
std::vector<InjectedFailure> FailuresOfPython();
std::vector<InjectedFailure> FailuresOfMachines();
std::vector<InjectedFailure> FailuresOfCollectives();

}  // namespace tony
