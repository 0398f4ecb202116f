// Interface for starting processes and for being notified of their exit. Implementations: BoostProcessRunner, and a
// fake in tests.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/base/exit_status.h"
#include "runtime/base/result.h"

namespace tony {

struct ProcessSpec {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value"; nothing else is inherited
  std::string directory;         // absolute path
  std::string stdout_file;       // appended to, created 0600; "": /dev/null
  std::string stderr_file;       // may equal stdout_file
  // True: the process calls setsid(), so its pid is also the session ID and the process group ID.
  bool own_session = true;
  // Descriptors above 2 that the process receives under the same numbers; the caller still owns them.
  std::vector<int> inherited = {};
  // Absolute path of the executable. Empty: argv[0], which must then be an absolute path.
  std::string program;
  // An open, writable cgroup.procs of the cgroup in which the process starts; -1: the caller's cgroup. The caller still
  // owns the descriptor. If the cgroup refuses the process, the process stays in the caller's cgroup, without an error.
  int cgroup = -1;
  // The value for the process's /proc/self/oom_score_adj, which its children inherit; "": the caller's value. A value
  // that may not be set is ignored: raising it needs no privilege, lowering it does.
  std::string oom_score_adj = {};
};

class ProcessRunner {
 public:
  using OnExit = std::function<void(ExitStatus)>;
  virtual ~ProcessRunner() = default;
  // Starts a process and returns its pid. Standard input is /dev/null. All descriptors except the standard streams and
  // the inherited ones are closed. Signal mask and handlers are the defaults. If the program cannot be started
  // (missing, not executable, arguments too long, bad directory), the result is an error whose message names the
  // program, never an exit code. `on_exit` is called once, on the loop, after the process has been reaped.
  virtual Result<pid_t> Start(const ProcessSpec& spec, OnExit on_exit) = 0;

  // For a subreaper: watches a child of this process that was not started here. The child may have ended, but must not
  // be reaped yet. `on_exit` is called as for Start(). An error leaves the child as it is.
  virtual Status Adopt(pid_t child, OnExit on_exit) = 0;

  // For a subreaper, on SIGCHLD: reaps every ended child, including children that were not started here. For children
  // that were started here, `on_exit` is called. Returns true if no child is left, living or zombie, and therefore no
  // descendant.
  virtual bool ReapAllChildren() = 0;
};

}  // namespace tony
