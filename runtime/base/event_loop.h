// The event loop of a process, whose thread owns the process's state. Only event_loop.cc uses Boost.Asio.
//
// All functions except Post() are for the loop thread. Callbacks never run inside the call that set them up. The caller
// owns a Timer or FdWatch. A destroyed Timer or FdWatch does not fire any more; its own callback may destroy it. If the
// process may not have more descriptors, At(), After(), OnSignals() and the watches throw. Main functions turn these
// exceptions into an error (log.h).
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/base/time.h"

namespace tony {

class EventLoop {
 public:
  using Callback = std::function<void()>;
  // A pending timer or a watched descriptor. Destroying the handle cancels the timer or the watch.
  struct Handle {
    virtual ~Handle() = default;
  };
  using Timer = std::unique_ptr<Handle>;
  using FdWatch = std::unique_ptr<Handle>;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;

  void Run();  // runs until Stop()
  // Makes Run() return after the current callback. May be called twice, and from callbacks.
  void Stop();
  // Runs `fn` on the loop. May be called from any thread. Functions run in the order of the calls.
  void Post(Callback fn);
  Instant Now() const;  // time of RealClock

  Timer At(Instant when, Callback fn);
  Timer After(Duration delay, Callback fn) { return At(Now() + delay, std::move(fn)); }

  // Calls `fn` whenever `fd` is readable (writable), until the handle is destroyed. The caller owns the fd, and keeps
  // it open as long as the handle lives. The fd becomes non-blocking. An fd may be watched in both directions.
  FdWatch WhenReadable(int fd, Callback fn);
  FdWatch WhenWritable(int fd, Callback fn);

  // Calls `fn` with the signal number whenever one of `signals` arrives. Blocks these signals in the calling thread,
  // and thus in threads that this thread starts later (signalfd).
  FdWatch OnSignals(std::initializer_list<int> signals, std::function<void(int)> fn);
  struct SentSignal {
    int number = 0;
    // The sending process; 0 for the kernel, or for a process that is not visible here.
    pid_t sender = 0;
    uid_t user = 0;  // user of the sender
  };
  FdWatch OnSentSignals(std::initializer_list<int> signals, std::function<void(const SentSignal&)> fn);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Runs the loop until the callback that is passed to `start` receives the answer. Returns the answer. The handle that
// `start` returns lives until the answer has arrived.
template <class T, class Start>
T RunUntilAnswer(EventLoop& loop, const Start& start) {
  std::optional<T> answer;
  [[maybe_unused]] const auto handle = start([&](T given) {
    answer = std::move(given);
    loop.Stop();
  });
  loop.Run();
  return *std::move(answer);
}

// Runs work on one thread outside of the loop. The first work starts the thread. Pieces of work run one after the
// other, in the given order. The function that each work returns runs on the loop, in the same order. Loop thread only,
// except for the work itself, which must own the objects that it uses, or use only objects that outlive the SideThread.
class SideThread {
 public:
  using Then = std::function<void()>;  // runs on the loop

  explicit SideThread(EventLoop& loop) : loop_(loop) {}
  // Waits for the work that is running, and drops the rest. No Then runs afterwards.
  ~SideThread();
  SideThread(const SideThread&) = delete;

  void Do(std::function<Then()> work);

 private:
  void Run();

  EventLoop& loop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<Then()>> waiting_;  // guarded by mutex_, as is stopping_
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tony
