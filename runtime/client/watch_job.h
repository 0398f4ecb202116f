// Runs the loop of a waiting command: follows a job, and turns a signal into a kill or an early return.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/event_loop.h"
#include "runtime/client/client_notes.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// The time that a started keeper (the supervisor of the job) has to take its lock. A keeper needs a few milliseconds,
// or longer on a machine that swaps.
constexpr Duration kKeeperPatience{500};

// Catches SIGINT, SIGTERM and SIGHUP from construction on. A signal is kept until the loop runs, and is then passed to
// the listener that is set at that time. Signals that were ignored when the program started (nohup, a script's
// background job) stay ignored.
//
// A thread receives the signals, because the loop may be blocked by a call to a server that does not answer. If the
// process has not exited six seconds after the signal that must end it, the thread calls LastWords, prints the returned
// line, and ends the process with 128 + the number of the first signal. LastWords takes four seconds at most.
class Interrupts {
 public:
  // Returns one line for a person about what happened to the job. The thread that receives the signals calls this
  // function with the first signal. The function may wait.
  using LastWords = std::function<std::string(int signal)>;

  // If the wait has not ended `limit` after the last signal, LastWords is called and the process exits.
  explicit Interrupts(EventLoop& loop, Duration limit = std::chrono::seconds(6));
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;

  void Listen(std::function<void(int signal)> fn) { fn_ = std::move(fn); }
  // Sets the number of signals after which the process must end; at the beginning this number is 2. Objects that
  // `words` uses must live until the next call.
  void EndAfter(int signals, LastWords words);

 private:
  void OnSignal(int signal);
  void StartLimit();
  void SayLastWords();

  EventLoop& loop_;
  const Duration exit_limit_;
  std::function<void(int)> fn_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  std::mutex mutex_;
  // The mutex guards the next two members.
  int signals_ = 2;
  LastWords last_words_;
  // The members below are used only by the thread.
  EventLoop own_loop_;
  std::vector<EventLoop::FdWatch> watches_;
  EventLoop::Timer limit_;
  int caught_ = 0, first_ = 0;
  std::thread thread_;
};

struct WatchOptions {
  // True: a signal kills the job. False: a signal only ends the watching.
  bool kill_on_signal = false;
  // The owner for which a signal kills the job: the kill has no effect if the job has another owner by then. If this
  // token is empty, a signal kills the job of any owner.
  OwnerToken kill_as;
  // The new owner to send to the AM. The wait ends when the AM has answered.
  std::optional<Claim> attach;
  // The kill to send. Its name is empty if the kill could not be recorded.
  std::optional<RecordedKill> kill;
  // True if any answer to `kill` ends the wait.
  bool until_answered = false;
  WatcherToken watcher;           // token of the waiting client
  std::optional<Duration> limit;  // limit of the whole wait
  // The time in which a keeper that was started a moment ago must appear.
  Duration patience{0};
  std::function<bool(const JobStatus&)> on_status;  // returns false to end the wait
  // The interval at which a status with the tasks' usage arrives, even without a change; 0: never.
  Duration usage_interval{0};
  // The newest status that the caller knows. Its owner and watcher decide a kill if the records cannot be read.
  std::optional<JobStatus> known;
  // The kill that the caller sends when a signal has ended the watching.
  std::optional<KillRequest> kill_after_signal;
};

struct Watched {
  // The newest status, which is the final status if the job has ended.
  std::optional<JobStatus> status;
  std::optional<bool> attached;    // the AM's answer to `attach`
  std::optional<KillAnswer> kill;  // the answer to the newest kill
  int signal = 0;                  // first signal; 0: none
  bool timed_out = false;
};

// Executes a kill that could neither be recorded nor sent to an AM, before the process ends: asks the scheduler to end
// the job if the condition of the kill holds for the owner and the watcher in `known`. Returns a text for people that
// says what happened to the job. May be called on any thread.
std::string LastKill(const Arbiter& arbiter, const JobId& job, const KillRequest& kill,
                     const std::optional<JobStatus>& known);

// Follows the job until it has ended and its keeper has exited, or until one of the options ends the wait. If the
// answer to a kill is that it was fenced or only planned, the wait ends as well, because the job continues to run.
Result<Watched> WatchJob(EventLoop& loop, Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher,
                         const ClientNotes& notes, const WatchOptions& options);

}  // namespace tony
