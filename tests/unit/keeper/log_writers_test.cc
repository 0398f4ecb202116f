#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "runtime/base/unique_fd.h"
#include "runtime/keeper/containers.h"
#include "tests/support/temp_folder.h"

namespace tony::keeper {
namespace {

// A child whose descriptor `fd` is the file, opened with `flags`.
class Child {
 public:
  Child(const std::filesystem::path& file, int flags, int fd) {
    int ready[2];
    if (pipe(ready) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      const int opened = open(file.c_str(), flags | O_CREAT, 0600);
      const int other = fd == STDOUT_FILENO ? STDERR_FILENO : STDOUT_FILENO;
      if (dup2(opened, fd) < 0 || close(other) != 0 || write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(LogWritersTest, WhoWritesIsFoundByEitherStream) {
  const TempFolder temp;
  EXPECT_TRUE(WritesBelow(Child(temp.path() / "stdout", O_WRONLY | O_APPEND, STDOUT_FILENO).pid(), temp.path()));
  EXPECT_TRUE(WritesBelow(Child(temp.path() / "stderr", O_RDWR, STDERR_FILENO).pid(), temp.path()));
}

TEST(LogWritersTest, WhoReadsIsNotMeant) {
  const TempFolder temp;
  EXPECT_FALSE(WritesBelow(Child(temp.path() / "stdout", O_RDONLY, STDOUT_FILENO).pid(), temp.path()));
}

TEST(LogWritersTest, AnotherFolderIsAnother) {
  const TempFolder temp;
  std::filesystem::create_directory(temp.path() / "logs");
  std::filesystem::create_directory(temp.path() / "logs2");
  EXPECT_FALSE(WritesBelow(Child(temp.path() / "logs2/stdout", O_WRONLY, STDOUT_FILENO).pid(), temp.path() / "logs"));
  EXPECT_FALSE(WritesBelow(999999999, temp.path()));
}

}  // namespace
}  // namespace tony::keeper
