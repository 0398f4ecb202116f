// How often AMs of a job have died of late, and when that is too often. On disk, so that a keeper that dies with them
// does not make it forgotten.
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
    kCrashed,  // it ended by itself, could not be started, or hung and was killed by us
    kKilled,   // by somebody else, or nobody saw how it ended
  };
  Instant time;
  Kind kind = Kind::kCrashed;
};

// Pure. A crash that comes from the outside passes with a few tries; one that comes from the journal never does. Being
// killed is not the AM's fault, but where it happens over and over (no memory left) there must be an end, too.
class DeathBudget {
 public:
  static constexpr size_t kMostCrashes = 5;
  static constexpr size_t kMostKills = 200;
  static constexpr Duration kWindow = std::chrono::minutes(5);

  // How long after the newest death the next start is; nothing: there is none.
  std::optional<Duration> Died(const AmDeath& death);
  // What Died() would have made of deaths that an earlier keeper saw.
  void Restore(const std::vector<AmDeath>& earlier);

 private:
  std::deque<Instant> crashes_, kills_;
};

Status RecordDeath(const JobRecords& records, const AmDeath& death);  // appended to am.deaths
std::vector<AmDeath> ReadDeaths(const JobRecords& records);           // what cannot be read is left out

// The keeper's hold on the socket of the job's page. A master that dies leaves its port to whoever binds it first, and
// a browser that asks again would bring him the page's token. So the keeper has the socket, too, accepts nothing at it,
// and gives it to each master that it starts; who connects in between waits in the kernel's queue.

class PageHolder {
 public:
  explicit PageHolder(const JobRecords& records) : records_(records) {}

  // For a master that is about to start. Opened now, at a new address, if there is none. Nothing: the job has no page,
  // or none can be opened, which the log says; the job does without.
  std::optional<int> SocketForMaster();
  // From a master that outlived the keeper before. Of no use where there is one.
  void Take(UniqueFd socket);
  void LetGo() { socket_.Reset(); }  // when no master is started any more

 private:
  const JobRecords records_;
  UniqueFd socket_;
};

// The keeper's AM: starts it, restarts it when it crashes, ends it when it hangs, gives up when that does not help.
//
//   kNone --start--> kRunning --ended--> kBackoff --delay over--> kRunning ...
//     |                  ^  \--silent too long: SIGKILL--> kHung --ended--> as a crash
//     |                  |         \--too many deaths, or "no AM can rule this job"--> kGone, and the owner is told
//     +--one is alive--> kAwaited --hello of its epoch--> kRunning
//                            \--ended, or no hello in time: SIGKILL--> start
//   any --Retire()--> kRetiring --ended, or SIGKILL after the farewell, or not even that ends it--> kGone

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
