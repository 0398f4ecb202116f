// Runs the built `tony` on a pseudo-terminal, as a person would, and reads its screen.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/places.h"
#include "tests/support/screen_reader.h"
#include "tests/support/tony_runner.h"

namespace tony {

class TerminalRun {
 public:
  TerminalRun(const Sandbox& box, std::vector<std::string> arguments, TerminalSize size,
              std::map<std::string, std::string> variables = {})
      : screen_(size) {
    const winsize window = Window(size);
    std::vector<std::string> argv = {ProgramFolder() + "/tony"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    std::vector<std::string> env = box.Environment(variables);
    std::vector<char*> argument_pointers, variable_pointers;
    for (std::string& text : argv) argument_pointers.push_back(text.data());
    for (std::string& text : env) variable_pointers.push_back(text.data());
    argument_pointers.push_back(nullptr);
    variable_pointers.push_back(nullptr);
    pid_ = forkpty(&terminal_, nullptr, nullptr, &window);
    if (pid_ == 0) {
      HearAllSignals();
      if (chdir(box.folder().c_str()) != 0) _exit(125);
      execve(argument_pointers[0], argument_pointers.data(), variable_pointers.data());
      _exit(125);
    }
    EXPECT_GT(pid_, 0);
  }
  ~TerminalRun() {
    if (!ended_) kill(pid_, SIGKILL);
    if (!ended_) waitpid(pid_, nullptr, 0);
    if (terminal_ >= 0) close(terminal_);
  }
  TerminalRun(const TerminalRun&) = delete;

  // Reads until the screen shows a whole drawing and `condition` holds for it. False if the time is up or the terminal
  // was closed.
  bool WaitFor(const std::function<bool(const ScreenReader&)>& condition, Limit limit = kGenerous) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!screen_.IsDrawn() || !condition(screen_)) {
      if (std::chrono::steady_clock::now() >= end || !ReadSome(Limit(100))) return false;
    }
    return true;
  }
  bool WaitForText(const std::string& text) {
    return WaitFor([&text](const ScreenReader& screen) { return screen.Text().find(text) != std::string::npos; });
  }

  void Resize(TerminalSize size) {
    screen_.Resize(size);
    const winsize window = Window(size);
    ioctl(terminal_, TIOCSWINSZ, &window);
  }
  void Type(std::string_view keys) { EXPECT_EQ(write(terminal_, keys.data(), keys.size()), ssize_t(keys.size())); }
  void HangUp() {
    close(terminal_);
    terminal_ = -1;
  }

  // Reads the rest of the output and returns the exit code as a shell would: 128 + the signal's number after a signal.
  int Wait(Limit limit = Limit(60'000)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    bool open = terminal_ >= 0;
    int status = 0;
    while ((open || !ended_) && std::chrono::steady_clock::now() < end) {
      if (open) open = ReadSome(Limit(100));
      if (!open) tony::WaitFor([] { return false; }, Limit(5));
      if (!ended_) ended_ = waitpid(pid_, &status, WNOHANG) == pid_;
    }
    if (!ended_) {
      ADD_FAILURE() << "it has not ended within " << limit.count() << " ms, with this on its screen:\n"
                    << screen_.Text();
      kill(pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      ended_ = true;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  const ScreenReader& screen() const { return screen_; }
  const std::string& bytes() const { return bytes_; }

 private:
  static winsize Window(TerminalSize size) {
    return {static_cast<unsigned short>(size.rows), static_cast<unsigned short>(size.columns), 0, 0};
  }

  // False if the terminal was closed.
  bool ReadSome(Limit limit) {
    pollfd fd = {terminal_, POLLIN, 0};
    if (poll(&fd, 1, static_cast<int>(limit.count())) == 0) return true;
    char buffer[4096];
    const ssize_t got = read(terminal_, buffer, sizeof buffer);
    if (got <= 0) return false;
    bytes_.append(buffer, static_cast<size_t>(got));
    screen_.Take({buffer, static_cast<size_t>(got)});
    return true;
  }

  int terminal_ = -1;
  pid_t pid_ = 0;
  bool ended_ = false;
  ScreenReader screen_;
  std::string bytes_;
};

}  // namespace tony
