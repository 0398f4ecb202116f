// `tony reproduce --shell` and `--debugger`: a program at the user's terminal that takes the place of a task's program.
//
// The task's own command is replaced by one that sends its environment through a pipe and then waits. The session
// starts the program at the terminal with this environment, in the task's folder, and sends the program's exit code to
// the waiting command, which ends with it. So the job has its addresses, files and order of start as without a session.
// If this process dies, its pipe closes, and the waiting command ends, too. Secrets pass through the pipe only.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/cli/terminal_program.h"

namespace tony {

// The command of the task. The pipes are in kSessionFolder of the job's folder.
inline constexpr std::string_view kSessionFolder = "session";
std::string SessionCommand();

// Returns the words that start `command` under a debugger: pdb for a Python program, gdb for any other. kUsage: the
// command is a shell script, or the debugger cannot start it.
Result<std::vector<std::string>> DebuggerWords(const std::string& command);

class TerminalSession {
 public:
  // `words` start the program; words[0] is an absolute path.
  explicit TerminalSession(std::vector<std::string> words) : words_(std::move(words)) {}
  ~TerminalSession() { End(); }
  TerminalSession(const TerminalSession&) = delete;

  // Makes the pipes in the job's folder, and waits in a thread for the task. Call this before the job starts.
  Status Begin(const std::filesystem::path& job_folder);
  // Ends the program, if it still runs, because its job has ended.
  void End();

 private:
  void Run();
  Result<std::vector<std::string>> AwaitEnvironment();

  const std::vector<std::string> words_;
  UniqueFd environment_, end_;
  std::atomic<bool> is_over_ = false;
  TerminalProgram program_;
  std::thread thread_;
};

}  // namespace tony
