// Starts processes and tells when they end. Seam: BoostProcessRunner and a fake.
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
  std::vector<std::string> env;     // "NAME=value"; exactly this, nothing is inherited
  std::string directory;            // absolute
  std::string stdout_file;          // appended to; made 0600; "" is /dev/null
  std::string stderr_file;          // may equal stdout_file
  bool own_session = true;          // setsid(): its pid is its session and process group
  std::vector<int> inherited = {};  // descriptors that it has too, under the same numbers; above 2, still the caller's
  std::string program;              // absolute path; "": argv[0], which is one
  // cgroup.procs of the cgroup that it starts in, open for writing, still the caller's; -1: that of the caller. One
  // that does not let it in is not entered, and that is no error.
  int cgroup = -1;
  // The value for the process's /proc/self/oom_score_adj, which its children inherit. "": the caller's own. A value
  // that may not be set is ignored: raising needs no right, and lowering does.
  std::string oom_score_adj = {};
};

class ProcessRunner {
 public:
  using OnExit = std::function<void(ExitStatus)>;
  virtual ~ProcessRunner() = default;
  // Standard input is /dev/null, every descriptor but those inherited is closed, signal mask and handlers are the
  // default ones. A program that cannot be started (missing, not executable, arguments too long, bad directory) is an
  // error here that names it, never an exit code. `on_exit` is called once, on the loop, after the process has been
  // reaped.
  virtual Result<pid_t> Start(const ProcessSpec& spec, OnExit on_exit) = 0;

  // For a subreaper: a living child of this process that was not started here, or one that has ended and was not
  // reaped. `on_exit` as above. An error leaves it as it is.
  virtual Status Adopt(pid_t child, OnExit on_exit) = 0;

  // For a subreaper, on SIGCHLD: reaps every ended child, also those that were not started here. Those that were have
  // their `on_exit`. True: no child is left, living or dead, and so no descendant.
  virtual bool ReapStrangers() = 0;
};

}  // namespace tony
