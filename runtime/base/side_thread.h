// Work that may wait, beside the loop.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/base/event_loop.h"

namespace tony {

// One thread, begun by the first work; one after the other, in the order in which they were given, and so what follows
// them: on the loop. Loop thread only, but for the work itself, which owns what it needs or what outlives this.
class SideThread {
 public:
  using Then = std::function<void()>;  // on the loop

  explicit SideThread(EventLoop& loop) : loop_(loop) {}
  ~SideThread();  // waits for the work under way and forgets the other; nothing follows any more
  SideThread(const SideThread&) = delete;

  void Do(std::function<Then()> work);

 private:
  void Run();

  EventLoop& loop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<Then()>> waiting_;  // guarded by mutex_, as is the next one
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tony
