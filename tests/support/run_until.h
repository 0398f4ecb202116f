// Runs an event loop until a condition is true. For tests, which never sleep.
#pragma once

#include <functional>

#include "runtime/base/event_loop.h"

namespace tony {

// Returns whether `condition` became true within `limit`. It is checked between the loop's callbacks.
inline bool RunUntil(EventLoop& loop, const std::function<bool()>& condition,
                     Duration limit = std::chrono::seconds(20)) {
  const Instant end = loop.Now() + limit;
  EventLoop::Timer timer;
  bool holds = false;
  std::function<void()> look = [&] {
    // Evaluated once, because the condition may consume what it finds.
    holds = condition();
    if (holds || loop.Now() >= end) return loop.Stop();
    timer = loop.After(Duration(1), look);
  };
  loop.Post(look);
  loop.Run();
  return holds;
}

}  // namespace tony
