// A program at the user's terminal that runs in the folder and with the variables of a task.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

class TerminalProgram {
 public:
  // Starts the program words[0], an absolute path, in the folder that PWD in `environment` names, and waits for it. It
  // has the standard streams of this process, and is in its process group. Returns the exit code, or 128 + the signal.
  // kUnavailable: it cannot be started.
  Result<int> Run(std::vector<std::string> words, std::vector<std::string> environment);
  // Sends SIGHUP to the program if it runs. Any thread may call this.
  void HangUp();

 private:
  std::mutex mutex_;
  pid_t running_ = 0;  // guarded by mutex_; 0: none
};

// Returns the user's shell, $SHELL or bash.
std::string ShellOfUser();

}  // namespace tony
