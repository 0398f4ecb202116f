#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <vector>

#include "runtime/base/unique_fd.h"
#include "tests/unit/base/event_loop_fixture.h"

namespace tony {
namespace {

using testing::ElementsAre;

using FdWatchTest = EventLoopTest;

class SocketPair {
 public:
  SocketPair() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    near = UniqueFd(fds[0]);
    far = UniqueFd(fds[1]);
  }
  static bool Write(const UniqueFd& fd, const std::string& bytes = "x") {
    return ::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  }
  static void Drain(const UniqueFd& fd) {
    char bytes[4096];
    while (::read(fd.get(), bytes, sizeof bytes) > 0) continue;
  }
  static void Fill(const UniqueFd& fd) {
    while (::write(fd.get(), "xxxxxxxx", 8) > 0) continue;
  }
  UniqueFd near, far;
};

TEST_F(FdWatchTest, AReadableDescriptorIsReportedUntilItHasBeenRead) {
  SocketPair pair;
  int told = 0;
  const auto watch = loop.WhenReadable(pair.near.get(), [&] {
    if (++told == 3) SocketPair::Drain(pair.near);
  });
  Settle();
  EXPECT_EQ(told, 0);
  ASSERT_TRUE(SocketPair::Write(pair.far));
  Settle();
  EXPECT_EQ(told, 3);
  ASSERT_TRUE(SocketPair::Write(pair.far));
  const auto stop = loop.WhenReadable(pair.near.get(), [&] { SocketPair::Drain(pair.near), loop.Stop(); });
  Run();
}

TEST_F(FdWatchTest, ASocketClosedByItsPeerIsReportedAsReadable) {
  SocketPair pair;
  const auto watch = loop.WhenReadable(pair.near.get(), [&] { loop.Stop(); });
  pair.far.Reset();
  Run();
}

TEST_F(FdWatchTest, AFullSocketBecomesWritableOnceThePeerHasRead) {
  SocketPair pair;
  SocketPair::Fill(pair.near);
  bool writable = false;
  const auto watch = loop.WhenWritable(pair.near.get(), [&] { writable = true, loop.Stop(); });
  Settle();
  EXPECT_FALSE(writable);
  SocketPair::Drain(pair.far);
  Run();
  EXPECT_TRUE(writable);
}

TEST_F(FdWatchTest, ADescriptorMayBeWatchedForReadingAndWritingAtTheSameTime) {
  SocketPair pair;
  bool readable = false, writable = false;
  const auto reads = loop.WhenReadable(pair.near.get(), [&] { SocketPair::Drain(pair.near), readable = true; });
  EventLoop::FdWatch writes = loop.WhenWritable(pair.near.get(), [&] {
    writable = true;
    writes.reset();  // the other watch continues
  });
  Settle();
  EXPECT_TRUE(writable);
  EXPECT_FALSE(readable);
  ASSERT_TRUE(SocketPair::Write(pair.far));
  Settle();
  EXPECT_TRUE(readable);
}

TEST_F(FdWatchTest, APendingEventOfAReplacedWatchIsDropped) {
  SocketPair first, second, quiet, silent;
  std::vector<EventLoop::FdWatch> watches;
  bool replaced = false;
  // The callback that runs first replaces both watches, while the event of the other watch is still pending.
  const auto replace = [&] {
    ASSERT_FALSE(replaced);
    replaced = true;
    watches.clear();
    for (const SocketPair* pair : {&quiet, &silent})
      watches.push_back(loop.WhenReadable(pair->near.get(), [] { FAIL() << "it is not readable"; }));
  };
  for (const SocketPair* pair : {&first, &second}) {
    watches.push_back(loop.WhenReadable(pair->near.get(), replace));
    ASSERT_TRUE(SocketPair::Write(pair->far));
  }
  Settle();
  EXPECT_TRUE(replaced);
}

TEST_F(FdWatchTest, DestroyingTheWriteWatchLosesNoEventOfTheReadWatch) {
  SocketPair pair;
  int read = 0;
  const auto reads = loop.WhenReadable(pair.near.get(), [&] { SocketPair::Drain(pair.near), ++read; });
  for (int i = 1; i <= 50; ++i) {
    SocketPair::Fill(pair.near);
    auto writes = loop.WhenWritable(pair.near.get(), [] { FAIL(); });
    ASSERT_TRUE(SocketPair::Write(pair.far));
    writes.reset();
    const auto limit = loop.After(Duration(2), [&] { loop.Stop(); });
    loop.Run();
    ASSERT_EQ(read, i);
  }
}

TEST_F(FdWatchTest, TheCallbackOfADestroyedWatchIsNotCalledEvenIfTheDescriptorIsReadable) {
  SocketPair pair;
  ASSERT_TRUE(SocketPair::Write(pair.far));
  auto watch = loop.WhenReadable(pair.near.get(), [] { FAIL(); });
  watch.reset();
  Settle();
  watch = loop.WhenReadable(pair.near.get(), [] { FAIL(); });
  loop.Post([&] { watch.reset(); });
  Settle();
}

TEST_F(FdWatchTest, ACallbackThatDestroysItsWatchCanStillUseItsCaptures) {
  SocketPair pair;
  ASSERT_TRUE(SocketPair::Write(pair.far));
  std::vector<std::string> seen;
  EventLoop::FdWatch watch;
  watch = loop.WhenReadable(pair.near.get(), [&, captured = std::string(100, 'c')] {
    watch.reset();
    seen.push_back(captured);
  });
  Settle();
  EXPECT_THAT(seen, ElementsAre(std::string(100, 'c')));
}

TEST_F(FdWatchTest, AWatchCallbackMayCloseTheDescriptorAndReuseTheDescriptorNumber) {
  SocketPair first;
  ASSERT_TRUE(SocketPair::Write(first.far));
  const int number = first.near.get();
  EventLoop::FdWatch watch;
  bool second_read = false;
  SocketPair second;
  watch = loop.WhenReadable(number, [&] {
    watch.reset();
    first.near.Reset();
    ASSERT_EQ(::fcntl(second.near.get(), F_DUPFD_CLOEXEC, number), number);
    first.near.Reset(number);
    watch = loop.WhenReadable(number, [&] { second_read = true, loop.Stop(); });
    ASSERT_TRUE(SocketPair::Write(second.far));
  });
  Run();
  EXPECT_TRUE(second_read);
}

TEST_F(FdWatchTest, AWatchCallbackMayDestroyAllWatchesOfTheDescriptor) {
  SocketPair pair;
  ASSERT_TRUE(SocketPair::Write(pair.far));
  EventLoop::FdWatch reads, writes;
  int called = 0;
  const auto both = [&] {
    ++called;
    reads.reset();
    writes.reset();
  };
  reads = loop.WhenReadable(pair.near.get(), both);
  writes = loop.WhenWritable(pair.near.get(), both);
  Settle();
  EXPECT_EQ(called, 1);
}

TEST_F(FdWatchTest, PendingCallbacksOfADestroyedLoopAreDestroyedToo) {
  const auto held = std::make_shared<int>(0);
  {
    EventLoop other;
    SocketPair pair;
    const auto owned = std::make_shared<EventLoop::FdWatch>(other.WhenReadable(pair.near.get(), [held] {}));
    // The last owner of a watch is itself pending in the loop.
    other.Post([owned, held] {});
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace tony
