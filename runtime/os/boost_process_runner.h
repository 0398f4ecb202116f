// The ProcessRunner for real processes. Boost.Process v2 starts a process, and a HeldProcess on the event loop reports
// when the process has exited.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>

#include "runtime/base/event_loop.h"
#include "runtime/os/process_runner.h"
#include "runtime/os/process_tree.h"

namespace tony {

// A runner is used on the loop thread only. Processes survive the destructor of the runner; their `on_exit` is then
// never called. The runner reaps its own children one by one and aborts if other code has reaped one of them. Other
// code in this process that reaps children must therefore call ReapAllChildren() instead of waitpid(-1).
class BoostProcessRunner : public ProcessRunner {
 public:
  explicit BoostProcessRunner(EventLoop& loop);

  Result<pid_t> Start(const ProcessSpec& spec, OnExit on_exit) override;
  Status Adopt(pid_t child, OnExit on_exit) override;
  bool ReapAllChildren() override;

  // Forks a copy of this process that calls `work` and exits. The copy runs in a session of its own and in the folder
  // "/". It has no descriptors except the standard streams, so it holds no lock. `work` may use this process's memory,
  // but must not depend on other threads. No other process may wait for the copy, because the copy may block in the
  // kernel where it cannot be killed. If the descriptors cannot be closed, the copy exits with 127 and does not call
  // `work`.
  Result<pid_t> StartCopy(const std::function<void()>& work, OnExit on_exit);

  // Returns true if this runner started or adopted `pid` and has not reaped it yet.
  bool Started(pid_t pid) const { return children_.contains(pid); }

 private:
  struct Child {
    // The handle on the child. On kernels without pidfds the handle is empty, and the timer `look_` finds the exit of
    // the child.
    HeldProcess process;
    // Reports the exit of the child. Declared after `process`, so it is destroyed first.
    EventLoop::FdWatch watch;
    OnExit on_exit;
  };

  Result<pid_t> Keep(pid_t pid, const std::string& what, OnExit on_exit);
  void Watch(pid_t pid, HeldProcess process, OnExit on_exit);
  void LookLater(Duration delay);
  void Look();
  // Returns a child of this runner that has ended and is not reaped yet; 0 if no child has ended.
  pid_t EndedChild() const;
  void Reap(pid_t pid);

  EventLoop& loop_;
  std::map<pid_t, Child> children_;
  EventLoop::Timer look_;
};

}  // namespace tony
