// The shell around TaskRun: it performs actions and feeds back what came of them. It decides nothing.
#pragma once

#include <deque>
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
#include "runtime/os/shared_memory.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_records.h"
#include "runtime/rpc/am_connection.h"

namespace tony::executor {

// What an executor stands on. All of it must outlive the executor.
struct Surroundings {
  EventLoop& loop;
  ExecutorCalls& am;
  ProcessRunner& processes;
  std::vector<std::string> environment;  // "NAME=value", of this process
  PortReservation* port = nullptr;       // of the task; null: its endpoint stays as it is, and is the caller's care
  NamedPorts named_ports;                // besides that
  // The reservations of the named ports; null: the caller keeps them.
  ReservedPorts* reserved = nullptr;
  bool tells_logs = false;  // with an outcome: nobody reads them here once the executor has left
};

// Loop thread only. The process that an executor lives in is a subreaper and has no children but the task's: every
// descendant of it belongs to the task and is ended with it.
class Executor {
 public:
  Executor(Surroundings surroundings, JobRecords records, JobSpec spec, Caller self, Endpoint endpoint, double jitter);

  // `left` is called once, with the exit code, when there is nothing more to do.
  void Begin(std::function<void(int)> left);
  void Terminate();     // SIGTERM
  void OnChildEnded();  // SIGCHLD: reaps all that have ended

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

  // The callback of a call: feeds `on_success` of the value, or what became of the call instead.
  template <class T, class OnSuccess>
  OnAnswer<T> Answered(OnSuccess on_success);
  std::optional<KeptOutputs> OutputsToReport(const Outcome& outcome) const;
  std::vector<LogExcerpt> LogsToReport(const Outcome& outcome) const;
  void TellWhy(const std::string& disconnected);
  Event LeaseNow();
  Result<std::vector<ProcessSpec>> Prepare(const StartProcesses& action);
  std::vector<Event> Start(const StartProcesses& action);
  std::vector<Event> Start(const std::vector<ProcessSpec>& processes);
  Result<int64_t> Start(const ProcessSpec& process, int index, const OomKills& killed_before);
  Outcome Judge(const BackgroundEnd& end, const Evidence& evidence, const ProcessFiles& files);
  void HandOnParameters(const std::filesystem::path& stdout_file, Outcome& outcome);
  void WatchUsage();
  void WatchPublished();
  void LetPortsGo();
  Status RenewPorts();
  void FeedValues(PublishedValues values);
  void SayTreeGone();
  void LogChange(State before_state, Link before_link) const;

  Surroundings surroundings_;
  const JobRecords records_;
  FolderPresence presence_;
  const JobSpec spec_;
  AttemptPlace place_;     // of the attempt at hand
  UniqueFd attempt_lock_;  // of one begun here; the first one's is the caller's
  // Masks each text of the task that leaves this executor.
  const SecretMask mask_;
  TaskRun run_;
  Caller caller_;  // as it was when the AM was last asked for a command
  LogAnswers log_answers_;
  int64_t link_ = 0;  // of the last UseAm
  std::string last_disconnected_;
  std::function<void(int)> left_;
  std::deque<Event> events_;  // not empty while Feed() is at work
  EventLoop::Timer timer_;
  std::unique_ptr<EventLoop::Handle> lease_watch_;
  SharedMemory shared_memory_;                   // of processes that are being ended
  std::unique_ptr<UsageWatch> usage_;            // of the attempt at hand, once its process was started
  std::unique_ptr<PublishWatch> published_;      // the same, where its task publishes anything
  std::unique_ptr<BackgroundWatch> background_;  // of the attempt at hand
};

}  // namespace tony::executor
