// A test with an event loop of its own.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "runtime/base/event_loop.h"

namespace tony {

class EventLoopTest : public testing::Test {
 protected:
  // Runs the loop until Stop(). Stops it after 10 s, and fails the test.
  void Run() {
    bool late = false;
    const auto limit = loop.After(std::chrono::seconds(10), [&] {
      late = true;
      loop.Stop();
    });
    loop.Run();
    EXPECT_FALSE(late) << "nobody stopped the loop";
  }
  // Runs the loop until everything that is due has run, several times.
  void Settle() {
    int turns = 0;
    std::function<void()> turn = [&] { ++turns < 20 ? loop.Post(turn) : loop.Stop(); };
    const auto start = loop.After(Duration(5), turn);
    Run();
  }

  EventLoop loop;
};

}  // namespace tony
