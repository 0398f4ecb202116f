// The real ProcessRunner: Boost.Process v2 starts, a held process on the loop waits.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>

#include "runtime/base/event_loop.h"
#include "runtime/os/process_runner.h"
#include "runtime/os/process_tree.h"

namespace tony {

// Loop thread only. Processes live on when the runner goes; nobody is told of their end then. The runner waits for
// its own children one by one: whoever reaps others in the same process calls ReapStrangers() instead of waitpid(-1).
class BoostProcessRunner : public ProcessRunner {
 public:
  explicit BoostProcessRunner(EventLoop& loop);

  Result<pid_t> Start(const ProcessSpec& spec, OnExit on_exit) override;
  Status Adopt(pid_t child, OnExit on_exit) override;
  bool ReapStrangers() override;

  // A copy of this process that does `work`, in a session and a folder (/) of its own, with standard streams but no
  // other descriptor, so that it holds no lock; then it ends. `work` may use what is in memory, and no other thread's.
  // No other process may wait for it: it may be one that cannot be killed. If its descriptors cannot be closed, it does
  // nothing and exits with 127.
  Result<pid_t> StartCopy(const std::function<void()>& work, OnExit on_exit);

  bool Started(pid_t pid) const { return children_.contains(pid); }  // and has not reaped it yet

 private:
  struct Child {
    HeldProcess process;       // of none where the kernel has no pidfds: then look_ sees its end
    EventLoop::FdWatch watch;  // of its end; after it, and so released first
    OnExit on_exit;
  };

  Result<pid_t> Keep(pid_t pid, const std::string& what, OnExit on_exit);
  void Watch(pid_t pid, HeldProcess process, OnExit on_exit);
  void LookLater(Duration delay);
  void Look();
  pid_t EndedChild() const;  // one of ours, not yet reaped; 0: there is none
  void Reap(pid_t pid);

  EventLoop& loop_;
  std::map<pid_t, Child> children_;
  EventLoop::Timer look_;
};

}  // namespace tony
