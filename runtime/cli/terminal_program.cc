#include "runtime/cli/terminal_program.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "runtime/base/exit_status.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Starts the program in the folder, with the usual effects of signals. Returns 0, or the number of the error.
int Spawn(const std::string& folder, std::vector<std::string>& words, std::vector<std::string>& environment,
          pid_t& program) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGHUP}) sigaddset(&usual, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawn(&program, words.front().c_str(), &actions, &attributes, Pointers(words).data(),
                                Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

Result<int> TerminalProgram::Run(std::vector<std::string> words, std::vector<std::string> environment) {
  std::string folder = ".";
  std::erase_if(environment, [](const std::string& variable) { return variable.empty(); });
  for (const std::string& variable : environment)
    if (variable.starts_with("PWD=")) folder = variable.substr(4);
  pid_t program = 0;
  {
    const std::lock_guard lock(mutex_);
    const int error = Spawn(folder, words, environment, program);
    if (error != 0) return UnavailableError("cannot start ", words.front(), " in ", folder, ": ", ErrnoText(error));
    running_ = program;
  }
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(program), &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
  // The process is reaped under the lock, so that HangUp() signals no other process.
  const std::lock_guard lock(mutex_);
  int status = 0;
  waitpid(program, &status, 0);
  running_ = 0;
  const ExitStatus exit = FromWaitStatus(status);
  return exit.kind == ExitStatus::Kind::kExited ? exit.value : 128 + exit.value;
}

void TerminalProgram::HangUp() {
  const std::lock_guard lock(mutex_);
  if (running_ > 0) kill(running_, SIGHUP);
}

std::string ShellOfUser() {
  const char* shell = std::getenv("SHELL");
  return shell && *shell == '/' ? shell : "/bin/bash";
}

}  // namespace tony
