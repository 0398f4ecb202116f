// Several processes that write the log of ended jobs at the same time.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdarg>
#include <fstream>
#include <functional>
#include <set>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/history/ended_log.h"
#include "tests/support/temp_folder.h"

namespace {
// Runs once, after the writer has opened the file and before it locks the file.
std::function<void()> before_lock;
}  // namespace

// Replaces the C library's function in this program.
extern "C" int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  if (command == F_OFD_SETLK && before_lock) std::exchange(before_lock, nullptr)();
  return static_cast<int>(syscall(SYS_fcntl, fd, command, argument));
}

namespace tony {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

EndedJob Job(const std::string& id, int64_t ended = 0) { return {.job = {id}, .ended = FromMillis(ended)}; }

class EndedWritersTest : public ::testing::Test {
 protected:
  std::set<std::string> Ids() const {
    const auto text = log_.Read();
    EXPECT_TRUE(text.ok());
    std::set<std::string> ids;
    const EndedScan scan = ForEachEnded(text->text(), [&](const EndedLine& line) {
      ids.emplace(line.job);
      return true;
    });
    EXPECT_EQ(scan.skipped, 0u);
    return ids;
  }
  TempFolder temp_;
  EndedLog log_{temp_.path()};
};

TEST_F(EndedWritersTest, AnAppendReturnsUnavailableWhileAnotherWriterHoldsTheLockOfTheLog) {
  EXPECT_TRUE(log_.Append(Job("a")).ok());
  const int fd = open((temp_.path() / "history/ended.log").c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(fd, F_OFD_SETLK, &lock), 0);
  const Status refused = log_.Append(Job("b"));
  close(fd);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("ended.log"));
  EXPECT_TRUE(log_.Append(Job("b")).ok());
  EXPECT_THAT(Ids(), ElementsAre("a", "b"));
}

TEST_F(EndedWritersTest, AnAppendWritesToTheNewLogIfTheLogIsReplacedBeforeTheAppendTakesTheLock) {
  ASSERT_TRUE(log_.Append(Job("a")).ok());
  before_lock = [this] { EXPECT_TRUE(log_.Rewrite({Job("folder")}, FromMillis(0)).ok()); };
  EXPECT_TRUE(log_.Append(Job("b")).ok());
  EXPECT_THAT(Ids(), ElementsAre("a", "b", "folder"));
}

// Appends until the other end of `go_on` is closed, and writes the number of its lines into a file. An append that
// gives up is tried again, because a rewrite may take long with sanitizers.
[[noreturn]] void WriteUntilTold(const EndedLog& log, int writer, int go_on, const std::filesystem::path& told) {
  int lines = 0;
  for (pollfd look{go_on, POLLIN, 0}; poll(&look, 1, 0) == 0;) {
    const Status appended = log.Append(Job(StrCat(writer, "-", lines), lines));
    if (!appended.ok() && appended.error().code != ErrorCode::kUnavailable) _exit(1);
    lines += appended.ok() ? 1 : 0;
  }
  std::ofstream(told) << lines << std::flush;
  _exit(0);
}

TEST_F(EndedWritersTest, NoLineIsLostDuringLogRewritesWhileTwentyProcessesAppend) {
  constexpr int kWriters = 20, kRewrites = 5;
  int go_on[2];
  ASSERT_EQ(pipe2(go_on, O_CLOEXEC), 0);
  const auto told = [this](int writer) { return temp_.path() / StrCat("lines-", writer); };
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(fork());
    if (writers.back() == 0) {
      close(go_on[1]);
      WriteUntilTold(log_, writer, go_on[0], told(writer));
    }
  }
  for (int i = 0; i < kRewrites; ++i) {
    const Status rewritten = log_.Rewrite({Job("folder", i)}, FromMillis(0));
    EXPECT_TRUE(rewritten.ok()) << rewritten.error().message;
  }
  close(go_on[1]);
  std::set<std::string> expected = {"folder"};
  for (int writer = 0; writer < kWriters; ++writer) {
    int status = -1, lines = 0;
    EXPECT_EQ(waitpid(writers[writer], &status, 0), writers[writer]);
    EXPECT_EQ(status, 0) << "a writer could not append";
    std::ifstream(told(writer)) >> lines;
    for (int line = 0; line < lines; ++line) expected.insert(StrCat(writer, "-", line));
  }
  close(go_on[0]);
  EXPECT_GT(expected.size(), 100u);
  EXPECT_EQ(Ids(), expected);
}

}  // namespace
}  // namespace tony
