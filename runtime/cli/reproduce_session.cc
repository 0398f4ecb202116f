#include "runtime/cli/reproduce_session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/cli/output.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnvironmentPipe = "environment", kEndPipe = "end";
constexpr int kPollMs = 50;

// Splits a command into words as a shell does. nullopt: a shell would do more than that.
std::optional<std::vector<std::string>> ShellWords(std::string_view command) {
  std::vector<std::string> words;
  bool in_word = false;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == ' ' || c == '\t') {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    if (c == '\'' || c == '"') {
      const size_t end = command.find(c, i + 1);
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view quoted = command.substr(i + 1, end - i - 1);
      if (c == '"' && quoted.find_first_of("$`\\!") != std::string_view::npos) return std::nullopt;
      words.back() += quoted;
      i = end;
    } else if (c == '\\' && i + 1 < command.size() && command[i + 1] != '\n') {
      words.back() += command[++i];
    } else if (std::string_view(";|&<>$`*?[](){}~#!\\\n").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      words.back() += c;
    }
  }
  if (words.empty() || words.front().find('=') != std::string::npos) return std::nullopt;
  return words;
}

bool IsPython(const std::string& program) {
  const std::string name = fs::path(program).filename().string();
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

// Returns the index of -m, or of the first word of Python that is not an option. Returns 0 with -c, and without a
// program.
size_t ProgramOfPython(const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-m") return i;
    if (words[i] == "-X" || words[i] == "-W") {
      ++i;
    } else if (!words[i].starts_with('-')) {
      return i;
    } else if (words[i] == "-" || words[i].starts_with("-c")) {
      return 0;
    }
  }
  return 0;
}

}  // namespace

// The task's folder is work/ROLE-INDEX/ATTEMPT of the job's folder.
std::string SessionCommand() {
  const std::string folder = StrCat("../../../", kSessionFolder, "/");
  return StrCat("env -0 > ", folder, kEnvironmentPipe, "; read -r code < ", folder, kEndPipe, "; exit \"${code:-1}\"");
}

Result<std::vector<std::string>> DebuggerWords(const std::string& command) {
  const Error refused{ErrorCode::kUsage, StrCat("--debugger: the task's command is not a single program: ", command,
                                                "; use --shell, and start the debugger in it")};
  auto words = ShellWords(command);
  if (!words) return refused;
  std::vector<std::string> debugger = {"/bin/bash", "-c", "exec \"$@\"", "bash"};
  if (IsPython(words->front())) {
    const size_t program = ProgramOfPython(*words);
    if (program == 0) return refused;
    words->insert(words->begin() + static_cast<ptrdiff_t>(program), {"-m", "pdb"});
  } else {
    words->insert(words->begin(), {"gdb", "--args"});
  }
  debugger.insert(debugger.end(), words->begin(), words->end());
  return debugger;
}

Status TerminalSession::Begin(const fs::path& job_folder) {
  const fs::path folder = job_folder / kSessionFolder;
  TRY(MakeFolder(folder));
  for (const std::string_view name : {kEnvironmentPipe, kEndPipe})
    if (mkfifo((folder / name).c_str(), 0600) != 0)
      return FileError(ErrorCode::kCannotWrite, "make", folder / name, errno);
  environment_.Reset(open((folder / kEnvironmentPipe).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  // The pipe is open in both directions, so that the waiting command can open it at any time.
  end_.Reset(open((folder / kEndPipe).c_str(), O_RDWR | O_CLOEXEC));
  if (!environment_.valid() || !end_.valid()) return FileError(ErrorCode::kCannotWrite, "open", folder, errno);
  thread_ = std::thread([this] { Run(); });
  return Ok();
}

void TerminalSession::End() {
  if (!thread_.joinable()) return;
  is_over_ = true;
  program_.HangUp();
  thread_.join();
}

void TerminalSession::Run() {
  auto environment = AwaitEnvironment();
  if (!environment.ok()) return Say(StrCat("tony: ", environment.error().message));
  if (environment->empty()) return;
  const auto code = program_.Run(words_, *std::move(environment));
  if (!code.ok()) Say(StrCat("tony: ", code.error().message));
  const Status sent = WriteAll(end_.get(), StrCat(code.ok() ? *code : 1, "\n"), "the pipe of the task");
  if (!sent.ok()) Say(StrCat("tony: ", sent.error().message));
}

// Returns the variables of the task; empty if the job ended before.
Result<std::vector<std::string>> TerminalSession::AwaitEnvironment() {
  std::string text;
  while (!is_over_) {
    pollfd ready{.fd = environment_.get(), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kPollMs) <= 0) continue;
    char buffer[4096];
    const ssize_t got = read(environment_.get(), buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return UnavailableError("cannot read the task's environment: ", ErrnoText(errno));
    if (got == 0) return Split(text, '\0');
    text.append(buffer, static_cast<size_t>(got));
  }
  return std::vector<std::string>();
}

}  // namespace tony
