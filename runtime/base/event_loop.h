// The one thread that owns a process's state. Boost.Asio is behind it, in event_loop.cc alone.
//
// Everything but Post() is for the loop thread. Callbacks never run inside the call that set them up. A Timer or
// FdWatch is owned by whoever asked for it: destroying it (also from inside its own callback) means it will not fire.
// Where the process may have no more descriptors, At(), After(), OnSignals() and the watches throw, which main
// functions turn into an error (log.h).
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
  struct Handle {  // a pending timer or a watched descriptor; ends with its owner
    virtual ~Handle() = default;
  };
  using Timer = std::unique_ptr<Handle>;
  using FdWatch = std::unique_ptr<Handle>;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;

  void Run();              // until Stop()
  void Stop();             // Run() returns after the current callback; safe to call twice and from callbacks
  void Post(Callback fn);  // from any thread; in order
  Instant Now() const;     // RealClock

  Timer At(Instant when, Callback fn);
  Timer After(Duration delay, Callback fn) { return At(Now() + delay, std::move(fn)); }

  // Calls `fn` each time `fd` is readable (writable), until the handle is destroyed. The fd stays the caller's, who
  // keeps it open as long as the handle lives; it becomes non-blocking. One fd may be watched both ways.
  FdWatch WhenReadable(int fd, Callback fn);
  FdWatch WhenWritable(int fd, Callback fn);

  // Calls `fn` with the signal number each time one of `signals` arrives. Blocks them for the process (signalfd).
  FdWatch OnSignals(std::initializer_list<int> signals, std::function<void(int)> fn);
  struct SentSignal {
    int number = 0;
    pid_t sender = 0;  // 0: the kernel, or a process that this one cannot see
    uid_t user = 0;    // of the sender
  };
  FdWatch OnSentSignals(std::initializer_list<int> signals, std::function<void(const SentSignal&)> fn);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Runs the loop until the callback that `start` is given gets the answer. The handle that `start` returns lives as long.
template <class T, class Start>
T AnswerFrom(EventLoop& loop, const Start& start) {
  std::optional<T> answer;
  [[maybe_unused]] const auto handle = start([&](T given) {
    answer = std::move(given);
    loop.Stop();
  });
  loop.Run();
  return *std::move(answer);
}

// Work that may wait, beside the loop.

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
