// Processes that the command of a task has left in the background when it has ended with exit code 0.
//
// A shell that only starts its program (`nohup python train.py &`) ends at once, and that program is the task's work. A
// program that ran in the shell's foreground was the work itself, and what lives on beside or after it is a helper
// (wandb-service, ssh-agent, `tensorboard --logdir x & python train.py`). The kernel keeps nothing that tells the two
// apart, so the children of a task's shell are sampled while it lives: every 5 ms at first, and four times a second in
// the end. Children that a shell starts with `&` ignore SIGINT and SIGQUIT, as POSIX says, also as orphans.
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
  std::string name;       // "python3 train.py"
  bool by_shell = false;  // a shell started it with `&`
  // A program was in the foreground while this process lived.
  bool beside_program = false;
  bool is_service = false;  // as IsService() says
};

// The processes that the task waits for. `program_ran`: at any time in the foreground of the shell. Pure.
std::vector<LeftProcess> WorkAmong(const std::vector<LeftProcess>& left, Background rule, bool program_ran);

// Whether a command line is that of a program that people start beside their work: tensorboard, ssh-agent. Pure.
bool IsService(const std::vector<std::string>& words);

struct BackgroundEnd {
  // 0, or the exit status of the first process that failed.
  ExitStatus exit;
  // One clause for a person. It is empty where no process was left.
  std::string note;
  // A process was left, and the job allows none (Background::kFail).
  bool is_refused = false;
};

// Watches one attempt. Loop thread only, in a subreaper whose children all belong to the task. It has to live as long
// as the attempt's processes do.
class BackgroundWatch {
 public:
  BackgroundWatch(EventLoop& loop, ProcessRunner& processes, Background rule);

  // Adds the attempt's next process, which was started just now.
  void Add(pid_t main);
  // Notes the end of the process that was added as number `index`, from 0. True: no other one runs.
  bool Ended(int index);
  // The last process of the attempt has ended with 0. `done` is called once, perhaps at once, when the processes that
  // the task waits for have ended. A signal to the whole tree ends them, too.
  void Settle(std::function<void(const BackgroundEnd&)> done);

 private:
  struct Seen {
    int64_t since = 0;  // number of the sample
    bool by_shell = false;
  };
  struct Orphan {
    LeftProcess left;  // as last seen alive
    // The process is a shell, which may be about to become a program.
    bool is_fresh = false;
    std::optional<ExitStatus> exit;
    bool ended_at_once = false;
  };

  void Sample();
  void SampleBelow(pid_t shell, bool shell_ignores, int depth);
  void See(pid_t pid, bool by_shell);
  void LookAtOrphans();
  void Sort();
  void Wait();
  void OnEnd(pid_t pid, ExitStatus exit);
  void Finish();

  EventLoop& loop_;
  ProcessRunner& processes_;
  const Background rule_;
  std::vector<pid_t> mains_;
  EventLoop::Timer timer_;
  // The main processes that run; after their end the processes that are waited for.
  std::set<pid_t> roots_;
  // The roots ignore SIGINT and SIGQUIT. Then an orphan may ignore them without having been started with `&`.
  bool roots_ignore_ = false;
  int64_t sample_ = 0;
  // The number of the last sample with a program in the foreground; 0: none had one.
  int64_t program_seen_ = 0;
  // The processes that may be left, by the last sample and by the one before.
  std::map<pid_t, Seen> seen_, before_;
  // The moment at which the newest process was seen for the first time.
  Instant quick_since_;

  // The rest is used after Settle(). Orphans are not decided on yet; work and helpers have their descriptions.
  Instant sorts_since_;
  std::map<pid_t, Orphan> orphans_;
  std::map<pid_t, std::string> work_;
  std::map<pid_t, std::string> helpers_;
  BackgroundEnd end_;
  std::function<void(const BackgroundEnd&)> done_;
};

}  // namespace tony::executor
