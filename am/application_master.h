// The shell around Job: it brings observations in, journals the decisions, and performs the actions. Decides nothing.
//
//   calls, scheduler events, timers, kill-requests/ --> Observe() --> TakeTurn() --> Journal::Append()
//                                                                           | when it is written
//              answers to calls, scheduler orders, status.json  <-----------+
//
// Loop thread only. What a turn did to the Job is seen by later turns at once, by the world only after the journal.
// What happens while the journal cannot be written is in application_master_trouble.cc.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "am/checkpoint_look.h"
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
  std::string tracking_url;  // of the job's page; empty: there is none
  Epoch epoch;
  Job job;  // as replayed
  Journal& journal;
  RecordCalls& calls;              // to the job's records
  bool turns_may_be_torn = false;  // AmStarted
  // How long the end of the job waits for a journal and a status that cannot be written; nothing: for as long as it
  // takes. Longer where the job has not been killed: somebody wants its result.
  struct Patience {
    Duration killed, otherwise;
  };
  std::optional<Patience> patience = std::nullopt;
};

class ApplicationMaster : public AmService {
 public:
  explicit ApplicationMaster(ApplicationMasterParts parts);

  // Begins to rule: AmStarted, the lease, the kill request. `at` goes into the lease. `on_end` is called once,
  // when the job has ended, its status is on the disk and the scheduler knows.
  void Start(Scheduler& scheduler, AmAddresses at, std::function<void()> on_end);

  void OnScheduler(SchedulerEvent event);  // the scheduler's sink

  // The attempt that was started in it, until its end is known.
  std::optional<AttemptId> UnendedIn(const ContainerId& container) const;

  JobStatus ShowStatus();  // for the job's page; counts as a look at the job

  // AmService
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

 private:
  using Answer = std::function<void(const std::optional<Refusal>&)>;

  struct Turn {
    TurnResult result;
    Answer answer;
    bool changed = false;  // the job, by a decision
  };

  // The refusal is for `answer` to tell, when the journal has what it may depend on.
  std::optional<Refusal> Observe(const Observation& observation, Answer answer = nullptr);
  void Finish(const Turn& turn);
  void FinishWritten();
  void Perform(const Action& action);
  void KeepLogs(const AttemptId& attempt, std::vector<LogExcerpt> logs);
  bool IsUnended(const AttemptId& attempt) const;
  void AskForLogs(const TaskId& task);
  void KeepOutputs(const AttemptId& attempt, const AttemptReport& report, std::function<void()> then);
  void Tell(const TellExecutor& order);
  void TellDelayed();
  void TellSome();
  void ListTheCheckpoints();
  void LookForNewestCheckpoint(int restart);
  std::optional<Refusal> RefusalOf(const std::string& token) const;  // nothing: the caller may ask, and is answered
  template <class T>
  bool Admit(const std::string& token, const Reply<T>& reply) const {
    const auto refusal = RefusalOf(token);
    if (refusal) reply.Refuse(refusal->reason, refusal->message);
    return !refusal;
  }

  // ---- clients
  void Decide(const KillRequest& request, const Reply<KillReply>& reply);
  bool MayTell() const;  // an end is told only when it is on the disk
  void AnswerWatches();
  StatusAnswer CurrentStatus() const;
  JobStatus JobAndSubmission() const;  // and where the logs are
  JobStatus Snapshot() const;          // and what this AM alone knows

  // ---- application_master_trouble.cc
  void OnJournalTrouble(const std::string& why);
  void SetDegraded(const std::string& trouble);
  void SetPendingReason(const std::string& reason);
  void PushUnversionedStatus();
  bool MayNotWait(const Action& action) const;
  void PerformWhatMayNotWait(const Turn& turn);
  void MakeRoomForTheEnd();
  void LimitWaitForDisk();
  void GoOnUnwritten();
  void PassUnwritten();
  void AwaitInTrouble(const Caller& caller, int64_t since, const Reply<Command>& reply);
  template <class Match>
  bool Waits(Match match) const;  // whether a turn with such an action waits for the journal
  Duration LongestWatch() const;

  void ScheduleTimer();
  void OnDeadline();
  // Also false in the moment in which an AM that stood still wakes, before it hears from its arbiter.
  bool IsLeader() const { return is_leader_ && scheduler_->Holds(); }

  // ---- application_master_files.cc
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
  std::map<TaskId, std::pair<AttemptId, std::string>> log_urls_;  // of the newest container: as the scheduler told
  CheckpointLook checkpoint_look_;
  int first_looks_ = 0;
  Scheduler* scheduler_ = nullptr;
  std::function<void()> on_end_;
  // The scheduler says so. While the arbiter is out of reach it is not: no order is given, and no call is answered.
  bool is_leader_ = true;
  bool end_told_ = false;
  bool room_made_ = false;             // the reserve is given up
  std::deque<TellExecutor> tells_;     // journalled, and not told yet
  std::vector<TellExecutor> delayed_;  // releases, for readers of their logs
  int logs_under_way_ = 0;             // to their records
  std::deque<AttemptId> kept_logs_;    // those of this master, oldest first
  std::deque<Turn> waiting_;           // for the journal, in order
  size_t written_ = 0;                 // turns of these, in the journal
  // The names of kill requests that are taken, or being decided.
  std::set<std::string> seen_kills_;
  // The reason why nothing can be written now. Empty: it can.
  std::string trouble_;
  // The scheduler's reason why containers are missing.
  std::string pending_reason_;
  Instant unversioned_changed_{};  // trouble or delay
  bool looks_for_kills_ = false;   // and has no answer yet
  LeaseRecord lease_;
  bool published_ = false;       // the lease of this epoch has been written
  bool status_changed_ = false;  // since status.json was written
  // The job ends without its journal.
  bool unwritten_ = false;
  std::unique_ptr<EventLoop::Handle> kill_timer_, deadline_timer_, lease_timer_, status_timer_, push_timer_,
      look_timer_, end_timer_, tell_timer_, delay_timer_, disk_timer_;
};

}  // namespace tony::am
