#include "runtime/staging/tool_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/start_program.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostOutput = 1 << 20, kMostErrors = 4096;
constexpr std::chrono::milliseconds kLook{100};
constexpr std::chrono::seconds kPatience{3};  // for a tool to remove what it has begun

std::vector<std::string> EnvironmentWith(const Tool& tool) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    all[std::string(line.substr(0, line.find('=')))] = line.substr(std::min(line.find('=') + 1, line.size()));
  }
  for (const auto& [name, value] : tool.environment) all[name] = value;
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) lines.push_back(StrCat(name, "=", value));
  return lines;
}

Result<pid_t> Spawn(const Tool& tool, int output, int errors) {
  std::vector<std::string> lines = EnvironmentWith(tool);
  std::vector<char*> environment;
  for (std::string& line : lines) environment.push_back(line.data());
  environment.push_back(nullptr);
  auto started = StartProgram(tool.words, environment.data(), output, errors);
  if (!started.ok()) return Annotate(started.error(), "start " + tool.words.front());
  return started;
}

// What it writes, as it comes. False: it has closed its end.
bool ReadSome(int from, std::string& text) {
  char piece[4096];
  const ssize_t size = read(from, piece, sizeof piece);
  if (size > 0) text.append(piece, static_cast<size_t>(size));
  return size > 0 || (size < 0 && (errno == EINTR || errno == EAGAIN));
}

int ExitCode(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

void EndGroup(pid_t group) {
  kill(-group, SIGTERM);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (waitpid(group, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= end) {
      kill(-group, SIGKILL);
      waitpid(group, nullptr, 0);
      return;
    }
    std::this_thread::sleep_for(kLook / 10);
  }
  kill(-group, SIGKILL);  // children that it has left
}

}  // namespace

fs::path FindOnPath(std::string_view name) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : Split(path ? path : "", ':')) {
    const fs::path program = fs::path(folder.empty() ? "." : folder) / name;
    std::error_code error;
    if (fs::is_regular_file(program, error) && access(program.c_str(), X_OK) == 0) return fs::absolute(program, error);
  }
  return {};
}

Result<ToolEnd> RunTool(const Tool& tool, const std::function<Status()>& check) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) return Error{ErrorCode::kUnavailable, StrCat("make a pipe: ", ErrnoText(errno))};
  const UniqueFd output(out[0]);
  UniqueFd to_output(out[1]);
  if (pipe2(err, O_CLOEXEC) != 0) return Error{ErrorCode::kUnavailable, StrCat("make a pipe: ", ErrnoText(errno))};
  const UniqueFd errors(err[0]);
  UniqueFd to_errors(err[1]);
  TRY_ASSIGN(const pid_t pid, Spawn(tool, to_output.get(), to_errors.get()));
  to_output = UniqueFd();
  to_errors = UniqueFd();

  ToolEnd end;
  int status = 0;
  pollfd wanted[2] = {{output.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}};
  while (waitpid(pid, &status, WNOHANG) == 0) {  // a child of its own that goes on may hold the pipes
    const Status wish = check();
    if (!wish.ok()) {
      EndGroup(pid);
      return wish.error();
    }
    const bool has_closed = wanted[0].fd < 0 && wanted[1].fd < 0;  // it is about to end, most often
    if (poll(wanted, 2, static_cast<int>((has_closed ? kLook / 20 : kLook).count())) <= 0) continue;
    if (wanted[0].revents != 0 && !ReadSome(output.get(), end.output)) wanted[0].fd = -1;
    if (wanted[1].revents != 0 && !ReadSome(errors.get(), end.errors)) wanted[1].fd = -1;
    end.output.resize(std::min(end.output.size(), kMostOutput));
    if (end.errors.size() > kMostErrors) end.errors.erase(0, end.errors.size() - kMostErrors);
  }
  for (const auto& [from, text] : {std::pair(output.get(), &end.output), std::pair(errors.get(), &end.errors)}) {
    fcntl(from, F_SETFL, O_NONBLOCK);
    pollfd left = {from, POLLIN, 0};
    while (poll(&left, 1, 0) > 0 && (left.revents & POLLIN) != 0 && ReadSome(from, *text)) {
    }
  }
  end.exit_code = ExitCode(status);
  return end;
}

}  // namespace tony
