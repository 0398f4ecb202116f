// A real process for tests that check which processes are found and killed.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <string>

namespace tony {

// A child that does nothing. Its environment has this variable only.
class LivingProcess {
 public:
  explicit LivingProcess(const std::string& variable) {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      execle("/bin/sleep", "sleep", "1000", nullptr, std::array<const char*, 2>{variable.c_str(), nullptr}.data());
      _exit(127);
    }
    close(ready[1]);
    char none;
    EXPECT_EQ(read(ready[0], &none, 1), 0) << "closed by its exec, from which on its mark is to be seen";
    close(ready[0]);
  }
  ~LivingProcess() {
    if (End()) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  LivingProcess(const LivingProcess&) = delete;
  pid_t pid() const { return pid_; }
  std::optional<int> End() {  // its wait status
    int status = 0;
    if (!end_ && waitpid(pid_, &status, WNOHANG) == pid_) end_ = status;
    return end_;
  }

 private:
  pid_t pid_ = 0;
  std::optional<int> end_;
};

}  // namespace tony
