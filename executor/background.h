// Handles processes that a task's command leaves in the background when the command ends with exit code 0.
//
// Such a process is either the task's work or a helper. A shell that only starts its program (`nohup python train.py
// &`) ends at once, and the program left behind is the work. If a program ran in the shell's foreground, that program
// was the work. The processes that outlive it are helpers (wandb-service, ssh-agent, `tensorboard --logdir x & python
// train.py`). After the shell has ended, the kernel has no record that distinguishes the two cases. Therefore the
// children of a task's shell are sampled while the shell lives: every 5 ms at first, later four times a second. A
// process that a shell started with `&` is recognized even after the shell has ended, because such a process ignores
// SIGINT and SIGQUIT (POSIX).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/exit_status.h"
#include "runtime/job/job_spec.h"
#include "runtime/os/process_runner.h"

namespace tony::executor {

struct LeftProcess {
  pid_t pid = 0;
  std::string name;       // e.g. "python3 train.py"
  bool by_shell = false;  // started by a shell with `&`
  // True if a program was in the foreground while this process lived.
  bool beside_program = false;
  bool is_service = false;  // result of IsService()
};

// Returns the processes of `left` that the task waits for. `program_ran` is true if a program was ever in the
// foreground of the shell. Pure.
std::vector<LeftProcess> ProcessesToWaitFor(const std::vector<LeftProcess>& left, Background rule, bool program_ran);

// Returns whether a command line starts a program that people run in addition to their work, e.g. tensorboard or
// ssh-agent. Pure.
bool IsService(const std::vector<std::string>& words);

struct BackgroundEnd {
  // The exit status of the first process that failed; 0 if all succeeded.
  ExitStatus exit;
  // A clause for the outcome's message that names the processes that were left. Empty if no process was left.
  std::string note;
  // True if a process was left although the job allows none (Background::kFail).
  bool is_refused = false;
};

// Watches the processes of one attempt. Loop thread only. This process must be a subreaper whose children all belong to
// the task. The watch has to live as long as the attempt's processes.
class BackgroundWatch {
 public:
  BackgroundWatch(EventLoop& loop, ProcessRunner& processes, Background rule);

  // Adds the attempt's next process, which has just been started.
  void Add(pid_t main);
  // Records the end of the process that was added as number `index`, counted from 0. Returns true if no other process
  // runs.
  bool Ended(int index);
  // Call this when the last process of the attempt has ended with exit code 0. Waits for the processes that are the
  // task's work, and then calls `done` once, perhaps before Settle() returns. A signal to the whole tree shortens the
  // wait, because the signal ends these processes.
  void Settle(std::function<void(const BackgroundEnd&)> done);

 private:
  struct Seen {
    int64_t since = 0;  // number of the first sample
    bool by_shell = false;
  };
  struct Orphan {
    LeftProcess left;  // state when last seen alive
    // True if the process was still a shell, or had no command line yet. Such a process may be about to execute another
    // program.
    bool is_fresh = false;
    std::optional<ExitStatus> exit;
    bool ended_at_once = false;
  };

  void Sample();
  void SampleBelow(pid_t shell, bool shell_ignores, int depth);
  void See(pid_t pid, bool by_shell);
  void AdoptOrphans();
  void Sort();
  void Wait();
  void OnEnd(pid_t pid, ExitStatus exit);
  void Finish();

  EventLoop& loop_;
  ProcessRunner& processes_;
  const Background rule_;
  std::vector<pid_t> mains_;
  EventLoop::Timer timer_;
  // The main processes that still run. After all of them have exited: the processes that the task waits for.
  std::set<pid_t> roots_;
  // True if the roots ignore SIGINT and SIGQUIT. An orphan may then have inherited this, so the ignored signals do not
  // show that a shell started the orphan with `&`.
  bool roots_ignore_ = false;
  int64_t sample_ = 0;
  // The number of the last sample with a program in the foreground; 0 if no sample had one.
  int64_t program_seen_ = 0;
  // The processes that may be left in the background. `seen_` is from the last sample, and `before_` from the sample
  // before that.
  std::map<pid_t, Seen> seen_, before_;
  // The time when the newest process was first seen.
  Instant quick_since_;

  // The members below are used after Settle(). `orphans_` have not been classified yet. `work_` and `helpers_` map pids
  // to descriptions.
  Instant sorts_since_;
  std::map<pid_t, Orphan> orphans_;
  std::map<pid_t, std::string> work_;
  std::map<pid_t, std::string> helpers_;
  BackgroundEnd end_;
  std::function<void(const BackgroundEnd&)> done_;
};

}  // namespace tony::executor
