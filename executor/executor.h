// An Executor surrounds a TaskRun, which makes all decisions. The Executor performs the TaskRun's actions, and feeds
// the results back to it as events.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/attempt_files.h"
#include "executor/background.h"
#include "executor/evidence.h"
#include "executor/port_reservation.h"
#include "executor/secret_mask.h"
#include "executor/task_logs.h"
#include "executor/task_run.h"
#include "executor/usage_watch.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/framework/task_command.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outputs.h"
#include "runtime/os/process_runner.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/shared_memory.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_records.h"
#include "runtime/rpc/am_connection.h"
#include "runtime/yarn/lease_reader.h"

namespace tony::executor {

// The objects that an executor uses. All of them must outlive the executor.
struct ExecutorParts {
  EventLoop& loop;
  ExecutorCalls& am;
  ProcessRunner& processes;
  std::vector<std::string> environment;  // this process's variables, "NAME=value"
  // The reservation of the task's port. null: the port of the endpoint stays as given, because the caller has reserved
  // it.
  PortReservation* port = nullptr;
  // The task's named ports, in addition to `port`.
  NamedPorts named_ports;
  // The reservations of the named ports; null: the caller holds them.
  ReservedPorts* reserved = nullptr;
  // True: the outcome is sent with excerpts of the logs, because the logs on this node cannot be read after the
  // executor has exited.
  bool sends_log_excerpts = false;
  // Reads the lease record in the store that all executors of the job share; null: the record is in the job's folder.
  LeaseReader* lease = nullptr;
  // Creates the log files of an attempt that follows another one. Empty: the attempt's processes create them.
  std::function<Status(const AttemptId&, const std::filesystem::path& folder)> make_logs = {};
  // The tokens that the task finds in its container, without their bytes, and a function that replaces them. number 0:
  // the job uses no tokens.
  ClusterTokens tokens = {};
  std::function<Status(const ClusterTokens&)> replace_tokens = {};
};

// Loop thread only. The executor's process is a subreaper, and all of its children belong to the task. Every descendant
// is therefore part of the task, and is ended with it.
class Executor {
 public:
  Executor(ExecutorParts surroundings, JobRecords records, JobSpec spec, Caller self, Endpoint endpoint, double jitter);

  // Starts the executor. `left` is called once, with the exit code, when the executor has finished.
  void Begin(std::function<void(int)> left);
  void Terminate();     // on SIGTERM, SIGINT or SIGHUP
  void OnChildEnded();  // on SIGCHLD: reaps all ended children

 private:
  void Feed(Event event);
  void ArmTimer();

  void Perform(const UseAm& action);
  void Perform(const SendRegister& action);
  void Perform(const SendAwait& action);
  void Perform(const SendHeartbeat& action);
  void Perform(const SendValues& action);
  void Perform(const SendOutcome& action);
  void Perform(const ReadLease&);
  void Perform(const WatchLease&);
  void Perform(const UnwatchLease&);
  void Perform(const BeginAttempt& action);
  void Perform(const StartProcesses& action);
  void Perform(const GiveNotice& action);
  void Perform(const SignalTree& action);
  void Perform(const WarnOfTree& action);
  void Perform(const KeepOutcome& action);
  void Perform(const Leave& action);

  // Returns a callback for a call to the AM. If the call succeeds, the callback feeds the event that `on_success` makes
  // from the answer. Otherwise the callback feeds Refused or ConnectionLost.
  template <class T, class OnSuccess>
  OnAnswer<T> Answered(OnSuccess on_success);
  std::optional<KeptOutputs> OutputsToReport(const Outcome& outcome) const;
  Outcome WithTrialOutputs(Outcome outcome) const;
  std::vector<LogExcerpt> LogsToReport(const Outcome& outcome) const;
  void TakeTokens(const ClusterTokens& tokens);
  void AnnounceEndOfTokens();
  void LogDisconnectReason(const std::string& disconnected);
  Event LeaseNow();
  Result<std::vector<ProcessSpec>> Prepare(const StartProcesses& action);
  Status KeepEnvironment(const std::vector<std::string>& variables);
  std::vector<Event> Start(const StartProcesses& action);
  std::vector<Event> Start(const std::vector<ProcessSpec>& processes);
  Result<int64_t> Start(const ProcessSpec& process, int index, const OomKills& killed_before);
  Outcome Judge(const BackgroundEnd& end, const Evidence& evidence, const ProcessFiles& files, int index);
  bool UsesPodman() const;
  TreeWalk Kill();
  void PublishModelParameters(const std::filesystem::path& stdout_file, Outcome& outcome);
  void WatchUsage();
  void WatchPublished();
  void LetPortsGo();
  Status RenewPorts();
  void FeedValues(PublishedValues values);
  void FeedTreeGone();
  void LogChange(State before_state, Link before_link) const;

  ExecutorParts surroundings_;
  const JobRecords records_;
  FolderPresence presence_;
  const JobSpec spec_;
  AttemptPlace place_;  // the current attempt
  // The lock of the current attempt if a NEXT command began it. The caller holds the lock of the first attempt.
  UniqueFd attempt_lock_;
  // Masks secrets in every text of the task that leaves this executor.
  const SecretMask mask_;
  TaskRun run_;
  // The identity sent with the newest Await call. Pieces of logs are sent with the same identity.
  Caller caller_;
  PendingLogRequests log_answers_;
  int64_t link_ = 0;  // link number of the last UseAm
  std::string last_disconnected_;
  std::function<void(int)> left_;
  // Events that Feed() still has to apply. The queue is not empty while Feed() runs.
  std::deque<Event> events_;
  EventLoop::Timer timer_;
  EventLoop::Timer tokens_timer_;
  // True: the notice that the task can read is about the end of its tokens.
  bool has_token_notice_ = false;
  std::unique_ptr<EventLoop::Handle> lease_watch_;
  // The files in /dev/shm that belong to processes which are being ended.
  SharedMemory shared_memory_;
  std::unique_ptr<UsageWatch> usage_;  // null until the processes have started
  // Watches the values that the task publishes. null before the processes have started, and in a task that publishes no
  // values.
  std::unique_ptr<PublishWatch> published_;
  // The variables of the newest attempt, in memory only, for a person who enters the container of a held task.
  UniqueFd held_environment_;
  // The scripts of the attempt's containers, until these have started.
  std::vector<UniqueFd> scripts_;
  // When the containers of the attempt were first sent SIGKILL.
  std::optional<Instant> containers_killed_;
  // Watches the processes of the current attempt; null before their start.
  std::unique_ptr<BackgroundWatch> background_;
};

}  // namespace tony::executor
