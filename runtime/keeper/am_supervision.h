// The keeper's AM: starts it, restarts it when it crashes, ends it when it hangs, gives up when that does not help.
//
//   kNone --start--> kRunning --ended--> kBackoff --delay over--> kRunning ...
//     |                  ^  \--silent too long: SIGKILL--> kHung --ended--> as a crash
//     |                  |         \--too many deaths, or "no AM can rule this job"--> kGone, and the owner is told
//     +--one is alive--> kAwaited --hello of its epoch--> kRunning
//                            \--ended, or no hello in time: SIGKILL--> start
//   any --Retire()--> kRetiring --ended, or SIGKILL after the farewell, or not even that ends it--> kGone
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/keeper/am_deaths.h"
#include "runtime/keeper/page_holder.h"
#include "runtime/os/process_runner.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_records.h"

namespace tony::keeper {

struct AmOptions {
  std::string program;       // absolute
  Duration silence{30000};   // without a renewal it hangs. Above every am_lease: it has stopped ruling by then
  Duration adoption{10000};  // for an AM that outlived an earlier keeper to say hello
  Duration farewell{5000};   // for the AM to leave after it has finished the job
  // A start, and the end of the job, that the job's folder takes no record of are tried for so long.
  Duration unstartable{60000}, unwritable{5000};
  // Beyond the grace of the tasks, for the AM to end the job when the keeper was told to stop: a service manager that
  // allows for the grace and twenty seconds sees a clean stop.
  Duration stop_margin{10000};
  // The patience of containers (containers.h). The tasks' grace and a master's own limits included, a job ends within
  // half a minute.
  Duration patience{10000};
};

// Loop thread only.
class AmSupervision {
 public:
  struct Listener {
    std::function<void()> on_start;                      // an AM has just been started
    std::function<void()> before_judging;                // reads what the AM may have said while we slept
    std::function<void(const std::string&)> on_gave_up;  // why; no AM runs any more, and the job is to end
    // The same, but the AM itself said that no other will fare better: what it must read is damaged.
    std::function<void(const std::string&)> on_unreadable;
    std::function<void()> on_retired;  // no AM runs any more
  };
  AmSupervision(EventLoop& loop, ProcessRunner& runner, const JobRecords& records, std::vector<std::string> environment,
                AmOptions options, Listener listener);

  void Begin();  // adopts or starts
  // False: it must not be listened to. It is not the newest, or nobody would see its end: then it may say hello again.
  bool OnHello(Epoch epoch, pid_t pid);
  void TakePage(UniqueFd socket) { page_.Take(std::move(socket)); }  // that came with the hello
  void OnRenewed();
  // The job has ended: no AM is started again, and the one that there is has its farewell to leave, or is killed at
  // once. Safe to call twice, and instead of Begin().
  void Retire() { RetireWithin(options_.farewell); }
  void RetireAtOnce() { RetireWithin(Duration(0)); }
  bool Gone() const { return state_ == State::kGone; }

 private:
  enum class State { kNone, kAwaited, kRunning, kHung, kBackoff, kRetiring, kGone };

  void Start();
  Status StartNext();
  void BeRunning();
  void RetireWithin(Duration farewell);
  void KillRetired();
  void BeRetired();
  void Watch(pid_t pid);
  void WatchMarked(pid_t pid);
  void OnEnded(std::optional<ExitStatus> status);
  void OnDeath(AmDeath::Kind kind, const std::string& how);
  void BeGone(const std::function<void(const std::string&)>& tell, const std::string& why);
  void CheckSilence(Instant expected);
  void Kill();
  void KillMarked() const;
  std::vector<pid_t> Alive() const;
  std::string Mark() const;

  EventLoop& loop_;
  ProcessRunner& runner_;
  const JobRecords records_;
  const std::vector<std::string> environment_;
  const AmOptions options_;
  const Listener listener_;

  State state_ = State::kNone;
  PageHolder page_;
  Epoch epoch_;  // of the newest AM
  DeathBudget budget_;
  Instant renewed_;
  // The first of the starts that the folder takes no record of.
  std::optional<Instant> unstarted_since_;
  pid_t pid_ = 0;             // of an AM that is our child, or of one that we adopt; 0: none, or not known
  HeldProcess process_;       // one that is not our child
  EventLoop::FdWatch watch_;  // of its end; after it, and so released first
  EventLoop::Timer timer_;    // of the state
};

}  // namespace tony::keeper
