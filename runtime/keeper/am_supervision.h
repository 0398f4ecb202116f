// Records the recent deaths of a job's AMs (application masters), and decides when they are too many. The record is on
// disk, because the keeper (supervisor of the job) may die together with an AM.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/process_runner.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_records.h"

namespace tony::keeper {

struct AmDeath {
  enum class Kind {
    // The AM ended by itself, could not be started, or hung and was killed by the keeper.
    kCrashed,
    kKilled,  // killed by others, or cause unknown
  };
  Instant time;
  Kind kind = Kind::kCrashed;
};

// Decides whether and when an AM is restarted after a death. Pure. A restart may help if the crash had an outside
// cause. A restart does not help if the journal causes the crash, so the number of restarts is limited. Deaths by a
// kill are not the fault of the AM. However, they may repeat, e.g. for lack of memory, so their number is limited, too.
class DeathBudget {
 public:
  static constexpr size_t kMostCrashes = 5;
  static constexpr size_t kMostKills = 200;
  static constexpr Duration kWindow = std::chrono::minutes(5);

  // Counts a death. Returns the delay until the next start; nullopt: no AM may be started anymore.
  std::optional<Duration> Died(const AmDeath& death);
  // Counts the deaths that an earlier keeper recorded, as if each had been passed to Died().
  void Restore(const std::vector<AmDeath>& earlier);

 private:
  std::deque<Instant> crashes_, kills_;
};

Status RecordDeath(const JobRecords& records, const AmDeath& death);  // appends the death to am.deaths
std::vector<AmDeath> ReadDeaths(const JobRecords& records);           // skips unreadable lines

// Keeps the listening socket of the job's page open while AMs come and go. Otherwise another process could bind the
// port of a dead AM, and a browser that reloads the page would send that process the page's token. The keeper does not
// accept connections on the socket. It passes the socket to each AM that it starts. If a browser connects while no AM
// runs, its connection waits in the kernel's queue.

class PageHolder {
 public:
  explicit PageHolder(const JobRecords& records) : records_(records) {}

  // Returns the page's socket for an AM that is about to start. If no socket is open, opens one at a new address.
  // nullopt: the job has no page, or no socket can be opened; in the second case the log has the reason. The job then
  // runs without a page.
  std::optional<int> SocketForMaster();
  // Adopts the socket of an AM that outlived the previous keeper. Does nothing if this keeper already has a socket.
  void Take(UniqueFd socket);
  void LetGo() { socket_.Reset(); }  // called when no further AM starts

 private:
  const JobRecords records_;
  UniqueFd socket_;
};

// Supervises the AM of a job: starts it, restarts it after a crash, kills it when it hangs, and gives up when restarts
// do not help.
//
//   kNone --start--> kRunning --ended--> kBackoff --delay over--> kRunning ...
//     |                  ^  \--silent too long: SIGKILL--> kHung --ended--> as after a crash
//     |                  |         \--too many deaths, or "no AM can lead this job"--> kGone, listener called
//     +--one is alive--> kAwaited --hello of its epoch--> kRunning
//                            \--ended, or no hello in time: SIGKILL--> start
//   any --Retire()--> kRetiring --ended, or SIGKILL after the farewell, with or without effect--> kGone

struct AmOptions {
  std::string program;  // absolute path
  // If an AM has not renewed its lease for this long, it counts as hung. The value is above every am_lease, so such an
  // AM has already stopped leading the job.
  Duration silence{30000};
  // The time within which an AM that outlived an earlier keeper must send its Hello message.
  Duration adoption{10000};
  // How long an AM may take to exit after it has finished the job.
  Duration farewell{5000};
  // If the job's folder cannot record the start of an AM, the start is retried for `unstartable`. If the folder cannot
  // record the end of the job, that record is retried for `unwritable`.
  Duration unstartable{60000}, unwritable{5000};
  // After a stop signal to the keeper, the AM must end the job within the grace of the tasks plus this margin. If a
  // service manager allows the grace plus twenty seconds, it therefore sees a clean stop.
  Duration stop_margin{10000};
  // The longest wait for processes that SIGKILL does not end (`patience` of Containers). With this limit a job ends
  // within half a minute, including the grace of the tasks and the limits of the AM.
  Duration patience{10000};
};

// An AmSupervision is used on the loop thread only.
class AmSupervision {
 public:
  struct Listener {
    std::function<void()> on_start;  // an AM was started
    // Called before the AM is judged to be silent. Reads the messages that the AM may have sent while this process was
    // stopped.
    std::function<void()> before_judging;
    // Called with the reason after too many deaths or an internal error of the AM. No AM runs anymore, and the job must
    // end.
    std::function<void(const std::string&)> on_gave_up;
    // Called with the reason if the next AM would fail in the same way: the job's files are damaged, or its folder
    // cannot record a start. No AM runs anymore.
    std::function<void(const std::string&)> on_unreadable;
    std::function<void()> on_retired;  // no AM runs anymore
  };
  AmSupervision(EventLoop& loop, ProcessRunner& runner, const JobRecords& records, std::vector<std::string> environment,
                AmOptions options, Listener listener);

  void Begin();  // adopts or starts an AM
  // Handles the Hello message of an AM. Returns false if the connection must be closed: the AM is not the newest one,
  // or the keeper could not notice the exit of the AM. In the second case the AM may send another Hello.
  bool OnHello(Epoch epoch, pid_t pid);
  // Takes the page's socket that came with the Hello message.
  void TakePage(UniqueFd socket) { page_.Take(std::move(socket)); }
  void OnRenewed();
  // Stops the supervision because the job has ended: no AM is started anymore. Retire() gives the running AM the time
  // `farewell` to exit, and RetireAtOnce() kills it at once. Both functions may be called twice, and without Begin().
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
  void EnterRetired();
  void Watch(pid_t pid);
  void WatchMarked(pid_t pid);
  void OnEnded(std::optional<ExitStatus> status);
  void OnDeath(AmDeath::Kind kind, const std::string& how);
  void EnterGone(const std::function<void(const std::string&)>& tell, const std::string& why);
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
  Epoch epoch_;  // epoch of the newest AM
  DeathBudget budget_;
  Instant renewed_;
  // The time of the first start that the job's folder could not record.
  std::optional<Instant> unstarted_since_;
  // The pid of the AM, which is a child of this process or was adopted; 0: no AM runs, or its pid is unknown.
  pid_t pid_ = 0;
  HeldProcess process_;  // handle on an adopted AM
  // Notices the exit of `process_`. Declared after `process_`, so it is destroyed first.
  EventLoop::FdWatch watch_;
  EventLoop::Timer timer_;  // timeout of the current state
};

}  // namespace tony::keeper
