#include "runtime/base/spent_input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "runtime/base/unique_fd.h"

namespace tony {
namespace {

std::string ReadAll(int fd) {
  std::string text;
  char buffer[256];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  return text;
}

TEST(SpentInputTest, IsReadAgainAtTheSameNumberAlsoBehindAnExec) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd input(ends[0]);
  const std::string text(300'000, 'x');
  NoteSpentInput(input.get(), text);
  const UniqueFd closed(fcntl(ends[1], F_DUPFD_CLOEXEC, 200));
  const int number = closed.get() + 1;  // of secrets, which are read once and closed
  NoteSpentInput(number, R"({"KEY":"secret"})");
  close(ends[1]);

  ASSERT_TRUE(GiveBackSpentInput().ok());
  EXPECT_EQ(ReadAll(input.get()), text);
  EXPECT_EQ(ReadAll(number), R"({"KEY":"secret"})");
  EXPECT_EQ(fcntl(input.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(fcntl(number, F_GETFD) & FD_CLOEXEC, 0);
  close(number);
}

}  // namespace
}  // namespace tony
