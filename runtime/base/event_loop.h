// The one thread that owns a process's state. Boost.Asio is behind it, in event_loop.cc alone.
//
// Everything but Post() is for the loop thread. Callbacks never run inside the call that set them up. A Timer or
// FdWatch is owned by whoever asked for it: destroying it (also from inside its own callback) means it will not fire.
// Where the process may have no more descriptors, At(), After(), OnSignals() and the watches throw, which main
// functions turn into an error (shortage.h).
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

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

}  // namespace tony
