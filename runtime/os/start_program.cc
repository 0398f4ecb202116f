#include "runtime/os/start_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"

namespace tony {

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable; ++variable) variables.emplace_back(*variable);
  return variables;
}

Result<pid_t> StartProgram(const std::vector<std::string>& words, char* const* environment,
                           const ProgramStreams& streams) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const auto become = [&files](int from, int to, int mode) {
    if (from < 0) {
      posix_spawn_file_actions_addopen(&files, to, "/dev/null", mode, 0);
    } else {
      posix_spawn_file_actions_adddup2(&files, from, to);
    }
  };
  become(streams.input, STDIN_FILENO, O_RDONLY);
  become(streams.output, STDOUT_FILENO, O_WRONLY);
  become(streams.errors, STDERR_FILENO, O_WRONLY);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], &files, &attributes, argv.data(), environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return UnavailableError(ErrnoText(error));
  return pid;
}

namespace {

// The greatest size of an output in bytes, enough for the groups of a user in 65,536 groups.
constexpr size_t kMostOutput = 1 << 20;

Error NoAnswer(const std::vector<std::string>& words, const std::string& why) {
  return UnavailableError(Join(words, " "), ": ", why);
}

// Reads to the end of the output; nullopt if it is longer than kMostOutput, or has not ended by `end`.
std::optional<std::string> ReadAll(int from, std::chrono::steady_clock::time_point end) {
  std::string text;
  char piece[4096];
  while (text.size() <= kMostOutput) {
    const auto left = std::chrono::ceil<Duration>(end - std::chrono::steady_clock::now());
    pollfd wanted = {from, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&wanted, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    const ssize_t size = ready > 0 ? read(from, piece, sizeof piece) : -1;
    if (size == 0) return text;
    if (size < 0) return std::nullopt;
    text.append(piece, static_cast<size_t>(size));
  }
  return std::nullopt;
}

// Returns the exit code of the child. If other code in this process waits for all children, it may have reaped this
// child, and the exit code is lost. In that case the output decides: the result is 0 if the program printed something,
// and otherwise 2, by which getent reports an unknown key.
int ExitCodeOf(pid_t pid, bool said_something) {
  int status = 0;
  pid_t ended;
  do ended = waitpid(pid, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended < 0) return said_something ? 0 : 2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ProgramOutput> RunProgram(const std::vector<std::string>& words, Duration limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return NoAnswer(words, ErrnoText(errno));
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const auto started = StartProgram(words, environ, {.output = to.get()});
  if (!started.ok()) return NoAnswer(words, started.error().message);
  const pid_t pid = *started;
  to = UniqueFd();
  auto output = ReadAll(from.get(), end);
  if (!output) kill(-pid, SIGKILL);
  const int exit_code = ExitCodeOf(pid, output && !output->empty());
  if (!output) return NoAnswer(words, StrCat("no answer within ", limit.count(), " ms"));
  return ProgramOutput{exit_code, *std::move(output)};
}

std::string SiblingProgram(std::string_view name) {
  // The error is ignored, because without /proc no part of TonY works.
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name).string();
}

}  // namespace tony
