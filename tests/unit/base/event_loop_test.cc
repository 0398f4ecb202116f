#include "runtime/base/event_loop.h"

#include <gmock/gmock.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "tests/unit/base/event_loop_fixture.h"

namespace tony {
namespace {

using testing::ElementsAre;

TEST_F(EventLoopTest, PostedFunctionsRunInOrderAndNotInsideTheCallOfPost) {
  std::vector<int> order;
  loop.Post([&] {
    loop.Post([&] { order.push_back(2), loop.Stop(); });
    order.push_back(1);
  });
  EXPECT_TRUE(order.empty());
  Run();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST_F(EventLoopTest, AFunctionPostedFromAnotherThreadRunsInTheThreadOfTheLoop) {
  std::thread::id ran_in;
  std::thread other([&] {
    loop.Post([&] {
      ran_in = std::this_thread::get_id();
      loop.Stop();
    });
  });
  Run();
  other.join();
  EXPECT_EQ(ran_in, std::this_thread::get_id());
}

TEST_F(EventLoopTest, StopEndsRunAfterTheCurrentCallbackAndRunMayBeCalledAgain) {
  int ran = 0;
  loop.Post([&] {
    loop.Stop();
    loop.Stop();
    ++ran;
  });
  loop.Post([&] {
    ++ran;
    loop.Stop();
  });
  Run();
  EXPECT_EQ(ran, 1);
  Run();
  EXPECT_EQ(ran, 2);
}

TEST_F(EventLoopTest, StopBeforeRunMakesRunReturnAtOnce) {
  loop.Stop();
  loop.Run();
}

TEST_F(EventLoopTest, TimersFireInOrderAndNotEarly) {
  std::vector<int> order;
  const Instant start = loop.Now();
  const auto second = loop.After(Duration(20), [&] {
    order.push_back(2);
    EXPECT_GE(loop.Now() - start, Duration(20));
    loop.Stop();
  });
  const auto first = loop.After(Duration(5), [&] { order.push_back(1); });
  Run();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST_F(EventLoopTest, ATimerWithAPastTimeFiresInTheLoopAndNotInsideTheCallThatSetsIt) {
  bool fired = false;
  const auto timer = loop.At(Instant::min(), [&] { fired = true, loop.Stop(); });
  EXPECT_FALSE(fired);
  Run();
}

TEST_F(EventLoopTest, ATimerAtTheLatestPossibleTimeDoesNotFire) {
  const auto never = loop.At(Instant::max(), [] { FAIL(); });
  Settle();
}

TEST_F(EventLoopTest, ADestroyedTimerDoesNotFireEvenIfTheTimerWasDue) {
  auto other = loop.After(Duration(0), [] { FAIL(); });
  auto timer = loop.After(Duration(0), [] { FAIL(); });
  timer.reset();
  loop.Post([&] { other.reset(); });
  Settle();
}

TEST_F(EventLoopTest, ATimerCallbackMayDestroyAnotherDueTimer) {
  EventLoop::Timer first, second;
  int fired = 0;
  first = loop.After(Duration(0), [&] { ++fired, second.reset(); });
  second = loop.After(Duration(0), [&] { ++fired, first.reset(); });
  Settle();
  EXPECT_EQ(fired, 1);
}

TEST_F(EventLoopTest, ACallbackThatDestroysItsTimerCanStillUseItsCaptures) {
  EventLoop::Timer timer;
  std::string seen;
  timer = loop.After(Duration(1), [&, captured = std::string(100, 'c')] {
    timer.reset();
    seen = captured;
    loop.Stop();
  });
  Run();
  EXPECT_EQ(seen, std::string(100, 'c'));
}

TEST_F(EventLoopTest, ATimerCallbackMayReplaceItsOwnTimer) {
  EventLoop::Timer timer;
  int ticks = 0;
  std::function<void()> tick = [&] {
    if (++ticks == 5) return loop.Stop();
    timer = loop.After(Duration(1), tick);
  };
  timer = loop.After(Duration(1), tick);
  Run();
  EXPECT_EQ(ticks, 5);
}

class SignalTest : public EventLoopTest {
 protected:
  void SetUp() override { pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  void TearDown() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  sigset_t before_;
};

TEST_F(SignalTest, ASignalCallbackReceivesTheNumberOfEachSignal) {
  std::vector<int> arrived;
  const auto watch = loop.OnSignals({SIGUSR1, SIGUSR2}, [&](int signal) {
    arrived.push_back(signal);
    if (arrived.size() == 2) loop.Stop();
  });
  ::raise(SIGUSR1);
  ::raise(SIGUSR2);
  Run();
  EXPECT_THAT(arrived, ElementsAre(SIGUSR1, SIGUSR2));
}

TEST_F(SignalTest, ASignalThatIsSentThreeTimesIsReportedThreeTimes) {
  int arrived = 0;
  const auto watch = loop.OnSignals({SIGUSR1}, [&](int) {
    ++arrived;
    loop.Stop();
  });
  for (int i = 1; i <= 3; ++i) {
    ::raise(SIGUSR1);
    Run();
    EXPECT_EQ(arrived, i);
  }
}

TEST_F(SignalTest, TheSenderOfASignalIsReported) {
  std::vector<EventLoop::SentSignal> arrived;
  const auto watch = loop.OnSentSignals({SIGUSR1}, [&](const EventLoop::SentSignal& signal) {
    arrived.push_back(signal);
    loop.Stop();
  });
  kill(getpid(), SIGUSR1);
  Run();
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].number, SIGUSR1);
  EXPECT_EQ(arrived[0].sender, getpid());
  EXPECT_EQ(arrived[0].user, getuid());
}

TEST_F(SignalTest, ASignalCallbackThatDestroysItsWatchCanStillUseItsCaptures) {
  EventLoop::FdWatch watch;
  int arrived = 0;
  watch = loop.OnSignals({SIGUSR1}, [&, captured = std::string(100, 'c')](int) {
    watch.reset();
    arrived += captured.size() == 100 ? 1 : 100;
  });
  ::raise(SIGUSR1);
  Settle();
  EXPECT_EQ(arrived, 1);
}

}  // namespace
}  // namespace tony
