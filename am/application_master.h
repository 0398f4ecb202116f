// The shell around Job: passes observations in, journals the decisions, and performs the actions. Decides nothing.
//
//   calls, scheduler events, timers, kill-requests/ --> Observe() --> RunCoreStep() --> Journal::Append()
//                                                                           | when it is written
//              answers to calls, scheduler orders, status.json  <-----------+
//
// Loop thread only. Later steps see the effects of a step on the Job at once. The outside world sees them only after
// the journal is written. application_master_degraded.cc handles a journal that cannot be written.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "am/checkpoint_reader.h"
#include "am/core/job.h"
#include "am/journal.h"
#include "am/parked_calls.h"
#include "runtime/backend/scheduler.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/secret.h"
#include "runtime/records/checkpoints.h"
#include "runtime/records/job_records.h"
#include "runtime/rpc/rpc_server.h"

namespace tony::am {

struct ApplicationMasterParts {
  EventLoop& loop;
  CheckpointPlace checkpoints;
  Submission submission;
  std::string token;
  // The URL of the job's page; empty if the job has no page.
  std::string tracking_url;
  Epoch epoch;
  Job job;  // state after the replay
  Journal& journal;
  RecordCalls& calls;  // access to the job's records
  // True if the journal has version 1, in which a crash could separate an attempt's end from the decision about this
  // end.
  bool steps_may_be_torn = false;
  // The longest time for which the end of the job waits for a journal or status that cannot be written; nullopt: no
  // limit. The time is longer if the job was not killed (`otherwise`), because a client wants the result of such a job.
  struct Patience {
    Duration killed, otherwise;
  };
  std::optional<Patience> patience = std::nullopt;
  // The tokens with which the job's programs call the cluster at the start of this AM. number 0: the cluster needs no
  // tokens, and pushed tokens are refused.
  ClusterTokens tokens = {};
  // Stores pushed tokens, so that this AM, its next process and new containers use them. An error refuses the push.
  std::function<Status(const ClusterTokens&)> store_tokens = {};
};

class ApplicationMaster : public AmService {
 public:
  explicit ApplicationMaster(ApplicationMasterParts parts);

  // Starts work as leader: observes AmStarted, writes the lease and reads kill requests. `at` is written into the
  // lease. `on_end` is called once, when the job has ended, its status is on disk and the scheduler knows the end.
  void Start(Scheduler& scheduler, AmAddresses at, std::function<void()> on_end);

  void OnScheduler(SchedulerEvent event);  // Receives the scheduler's events.

  // Returns the attempt that was started in the container; nullopt once the end of the attempt is known.
  std::optional<AttemptId> UnendedIn(const ContainerId& container) const;
  // Returns true if a decision of the job has given the container to an attempt.
  bool Knows(const ContainerId& container) const { return job_.AttemptIn(container).has_value(); }

  // Uses newer tokens of the cluster; older ones are ignored. Returns the error of `store_tokens`.
  Status TakeTokens(const ClusterTokens& tokens);

  // Returns the status for the job's page; counts as client activity.
  JobStatus ShowStatus();

  // ---- AmService: calls of executors and clients
  bool Knows(const std::string& token) const override { return SameSecret(token, token_); }
  void Register(const Caller& caller, const Registration& what, Reply<Epoch> reply) override;
  void Await(const Caller& caller, int64_t since, Reply<Command> reply) override;
  void Heartbeat(const Caller& caller, const Progress& progress, Reply<std::monostate> reply) override;
  void Publish(const Caller& caller, const PublishedValues& values, Reply<std::monostate> reply) override;
  void ReportOutcome(const Caller& caller, const AttemptReport& report, Reply<std::monostate> reply) override;
  void SendLog(const Caller& caller, int64_t id, std::vector<LogNews> news, Reply<std::monostate> reply) override;
  void GetStatus(const std::string& token, Reply<StatusAnswer> reply) override;
  void Watch(const std::string& token, int64_t since, Duration limit, const WatcherToken& watcher,
             Reply<StatusAnswer> reply) override;
  void Kill(const std::string& token, const KillRequest& request, Reply<KillReply> reply) override;
  void Attach(const std::string& token, const Claim& claim, Reply<AttachReply> reply) override;
  void ReadLogs(const std::string& token, const LogQuery& query, Reply<LogAnswer> reply) override;
  void PushTokens(const std::string& token, const ClusterTokens& tokens, Reply<TokensReply> reply) override;

 private:
  using Answer = std::function<void(const std::optional<Refusal>&)>;

  struct Turn {
    CoreStepResult result;
    Answer answer;
    // True if the step has decisions, which change the job.
    bool changed = false;
  };

  // Runs a step and returns its refusal. The caller of an RPC gets the refusal only through `answer`, which is called
  // when the journal has all decisions that the refusal may depend on.
  std::optional<Refusal> Observe(const Observation& observation, Answer answer = nullptr);
  void Finish(const Turn& turn);
  void FinishWritten();
  void Perform(const Action& action);
  void KeepLogs(const AttemptId& attempt, std::vector<LogExcerpt> logs);
  bool IsUnended(const AttemptId& attempt) const;
  void AskForLogs(const TaskId& task);
  void SendTokensIfOlder(const AttemptId& attempt, int64_t number);
  void ExpectTokens();
  void KeepOutputs(const AttemptId& attempt, const AttemptReport& report, std::function<void()> then);
  void Tell(const SendCommand& order);
  void SendDelayedReleases();
  void SendQueuedCommands();
  void ListTheCheckpoints();
  void LookForNewestCheckpoint(int restart);
  // Returns the refusal of a call with this token; nullopt if the call is admitted.
  std::optional<Refusal> RefusalOf(const std::string& token) const;
  template <class T>
  bool Admit(const std::string& token, const Reply<T>& reply) const {
    const auto refusal = RefusalOf(token);
    if (refusal) reply.Refuse(refusal->reason, refusal->message);
    return !refusal;
  }

  // ---- calls of clients
  void Decide(const KillRequest& request, const Reply<KillReply>& reply);
  // Returns true if clients may receive the current status. After the job has ended they may receive it once the end is
  // on disk, or while the end cannot be written.
  bool MayShowStatus() const;
  void AnswerWatches();
  StatusAnswer CurrentStatus() const;
  // Returns the job's status with the submission and the addresses of logs.
  JobStatus JobAndSubmission() const;
  // Returns JobAndSubmission() with the values that only this AM knows, for example the URL of the job's page.
  JobStatus Snapshot() const;

  // ---- application_master_degraded.cc: work while the journal cannot be written
  void OnJournalTrouble(const std::string& why);
  void SetDegraded(const std::string& trouble);
  void SetPendingReason(const std::string& reason);
  void PushUnversionedStatus();
  bool IsUrgent(const Action& action) const;
  void PerformUrgentActions(const Turn& turn);
  void MakeRoomForTheEnd();
  void LimitWaitForDisk();
  void EndWithoutJournal();
  void FinishUnwritten();
  void AwaitWhileDegraded(const Caller& caller, int64_t since, const Reply<Command>& reply);
  // Returns true if a step that waits for the journal has an action for which `match` returns true.
  template <class Match>
  bool Waits(Match match) const;
  Duration LongestWatch() const;

  void ScheduleTimer();
  void OnDeadline();
  // False after a suspended AM has resumed, until its arbiter confirms that it is still the leader.
  bool IsLeader() const { return is_leader_ && scheduler_->Holds(); }

  // ---- application_master_files.cc: the lease, kill requests, status.json and the end
  void WriteLease(std::function<void()> then);
  void Renew();
  void RenewLease();
  void LookForKills();
  void ReadKills();
  void TakeKills(const Result<std::vector<RecordedKill>>& kills);
  void StatusChanged();
  void WriteStatusLater();
  void End();
  void TellEnd();

  EventLoop& loop_;
  RecordCalls& calls_;
  const Submission submission_;
  const std::string token_;
  const std::string tracking_url_;
  const Epoch epoch_;
  const bool turns_may_be_torn_;
  const std::optional<ApplicationMasterParts::Patience> patience_;
  Job job_;
  Journal& journal_;
  ParkedCalls parked_;
  LogRelay log_relay_;
  CheckpointReader checkpoint_reader_;
  int first_looks_ = 0;
  ClusterTokens tokens_;  // the newest tokens
  EventLoop::Timer tokens_timer_;
  bool tokens_are_overdue_ = false;
  const std::function<Status(const ClusterTokens&)> store_tokens_;
  Scheduler* scheduler_ = nullptr;
  std::function<void()> on_end_;
  // False from SchedulerLost until SchedulerReached, i.e. while the scheduler cannot reach the arbiter, which confirms
  // that this AM is the leader. Meanwhile the AM gives no orders and answers no calls.
  bool is_leader_ = true;
  bool end_told_ = false;
  bool room_made_ = false;  // the disk reserve is released
  // Journalled commands that have not been sent yet.
  std::deque<SendCommand> tells_;
  // Releases that are delayed while clients read the executors' logs.
  std::vector<SendCommand> delayed_;
  int logs_under_way_ = 0;  // logs being written to the records
  // Attempts whose logs this AM has written to the records, oldest first.
  std::deque<AttemptId> kept_logs_;
  // Steps that wait for the journal, in order.
  std::deque<Turn> waiting_;
  // The number of steps in `waiting_` that are in the journal.
  size_t written_ = 0;
  // The names of kill requests that have been accepted or are being decided.
  std::set<std::string> seen_kills_;
  // The reason why nothing can be written now; empty if writing works.
  std::string trouble_;
  // The reason why containers are missing or the checkpoint folder is still in use; empty if the job does not wait for
  // either.
  std::string pending_reason_;
  // The time of the newest change of `trouble_` or `pending_reason_`.
  Instant unversioned_changed_{};
  // True while a read of the kill requests has no result yet.
  bool looks_for_kills_ = false;
  LeaseRecord lease_;
  // True once the lease of this epoch has been written.
  bool published_ = false;
  // True if the status has changed since status.json was written.
  bool status_changed_ = false;
  // True if the job ends although its journal cannot be written.
  bool unwritten_ = false;
  std::unique_ptr<EventLoop::Handle> kill_timer_, deadline_timer_, lease_timer_, status_timer_, push_timer_,
      look_timer_, end_timer_, tell_timer_, delay_timer_, disk_timer_;
};

}  // namespace tony::am
