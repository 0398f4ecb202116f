// Follows one job until its end, across restarts of the job's AM and of its keeper (the supervisor of the job). The
// follower is used only on the thread of the event loop.
//
//            lease record found              connection lost
//   Searching ---------------> Talking ------------------------> Searching
//       |  no keeper: start one                                      |
//       |                         | the listener must not get the token
//       |                         +-----> Reading ---- another AM, or none ---> Searching
//       +--- final status.json, or the verdict from the AM ----------+---> Ending --- keeper exited ---> on_end
//
// In state Searching, the job's folder is watched for the lease of an AM. A timer with growing pauses detects changes
// without a file event: a lock that was released, or a socket that answers again.
//
// In state Talking, the AM pushes changes (Watch), and the follower checks that the keeper lives, because an AM that
// hangs does not check the keeper. If the scheduler has started another AM, the follower drops the connection at once,
// because the connection to a lost node would end only after half a minute.
//
// In state Reading, no token may be sent to the AM's address, because the AM of an earlier release listens at a TCP
// port, or because another user listens there. The follower reads the AM's files instead. The AM receives a kill
// through the kill's file, because every AM reads these files once a second.
//
// The scheduler ends the job if no AM executes a kill within kKillPatience, or earlier if the kill could not be
// recorded. Not every scheduler can end jobs (Arbiter::EndInScheduler()).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/event_loop.h"
#include "runtime/client/am_conversation.h"
#include "runtime/client/token_pusher.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// The time that a recorded kill waits for an AM, before the scheduler ends the job.
constexpr Duration kKillPatience{30'000};

// Callbacks, which are called on the loop. `on_end` is called once, as the last one.
struct FollowSink {
  std::function<void(const JobStatus&)> on_status;  // the first status, each change
  std::function<void(const std::string&)> on_note;  // a line for a person
  std::function<void(const Result<JobStatus>&)> on_end;
  std::function<void(bool)> on_attached = [](bool) {};          // called before the next on_status
  std::function<void(KillAnswer)> on_kill = [](KillAnswer) {};  // called before the next on_status
};

class Follower {
 public:
  Follower(EventLoop& loop, const JobRecords& records, AmLauncher& launcher, FollowSink sink);

  // Sets the new owner. The AM is notified as soon as one leads the job. Must be called before Start().
  void Attach(const Claim& claim) { attach_ = claim; }
  // Sets a status whose owner and watcher decide a kill with a condition, if the follower gets no newer status. Must be
  // called before Start().
  void Know(const JobStatus& status) { known_ = status; }
  // Announces once to the AM, now or as soon as an AM leads the job, that this watcher begins to watch. Later
  // connections do not repeat this: a watcher that was suspended and resumes must not count as newer than watchers that
  // began meanwhile.
  void AnnounceWatcher(const WatcherToken& watcher);

  // Begins to follow. A keeper that was started a moment ago gets the time `patience` before it counts as missing. With
  // a `usage_interval` above 0, a status with the tasks' usage arrives at that interval, even without a change.
  void Start(Duration patience, Duration usage_interval = Duration(0));
  // Sends a kill to the leading AM, now or as soon as an AM leads the job. If no AM can lead, the keeper refuses a
  // conditional kill: it removes the kill's file, and the follower ends with kUnavailable. An empty `name` means that
  // the kill is in no file. The same kill may be sent again when it is in a file.
  void SendKill(const RecordedKill& kill, Duration patience = kKillPatience);
  // Returns the time that the job's tasks have to stop. Reads the spec once.
  Duration Grace();

 private:
  enum class State { kSearching, kTalking, kReading, kEnding };
  void Reconnect(Duration pause = Duration(0));

  void Watch();
  void OnFolderChange();
  // Returns whether the job has ended.
  bool CheckStatusFile();
  void ReportFromFile(const JobStatus& status);
  void FollowFiles(const Error& why);
  void SeeLease();
  Status ReadSecrets();
  void TalkTo(const LeaseRecord& lease);
  AmConversation::Sink MakeCallbacks();
  void CheckKeeper(bool was_there);
  void CheckOverdueEnd();
  void ReportWhoDelaysEnd(Instant now);
  void OnStatus(const JobStatus& status);
  void OnLost(const Error& error);
  ArbiterView Look();
  Result<std::optional<LeaseRecord>> ReadLease();
  void SearchAfter(Duration pause);
  Duration NextPause();
  void Search();
  void ReportPendingReason(const std::string& why);
  void EndIfStartIsOverdue(const std::string& why);
  Instant StartDeadline() const;
  void ReviveJob();
  void CheckRefusedKill();
  void EndUntakenKill();
  bool IsKillOverdue() const;
  bool EndWithoutRecords();
  void End(const JobStatus& status);
  void WaitForKeeperExit();
  void Fail(const Error& error);

  EventLoop& loop_;
  const JobRecords records_;
  AmLauncher& launcher_;
  const FollowSink sink_;
  TokenPusher token_pusher_;
  State state_ = State::kSearching;
  std::unique_ptr<EventLoop::Handle> watch_;
  EventLoop::Timer timer_;  // timer of the current state
  EventLoop::Timer first_look_;
  Duration pause_;
  Duration usage_interval_{0};
  std::unique_ptr<AmConversation> conversation_;
  // The newest epoch whose AM the follower has tried to reach.
  Epoch talked_to_;
  Instant talk_began_;
  // The oldest epoch whose AM may lead.
  Epoch oldest_epoch_;
  // The last lease that was read, and the secrets of the job, which never change. They are kept here, because the store
  // may be unreachable while the AM lives.
  std::optional<LeaseRecord> lease_;
  std::optional<std::string> token_;
  std::optional<MakeChannel> tls_;
  std::optional<Duration> grace_;
  // The time of the last message from an AM.
  Instant heard_{};
  // The new owner, which is reset when the AM has answered.
  std::optional<Claim> attach_;
  // The kill, until it is refused. The kill is sent to each AM. After the first answer, only a plain kill is sent
  // again.
  std::optional<RecordedKill> kill_;
  bool is_kill_answered_ = false;
  Instant kill_began_{};
  Duration kill_patience_{0};
  bool ends_in_scheduler_ = false;
  std::optional<JobStatus> known_;
  WatcherToken watcher_;  // set until the AM knows it
  int keepers_started_ = 0;
  // The newest status that an AM sent, or in state Reading the newest status in the AM's document.
  std::optional<JobStatus> last_;
  bool mistrust_told_ = false;
  // True while the store refuses to show the lease, for example because this client's tokens have ended.
  bool is_refusal_told_ = false;
  // The seq of the newest status file whose JobStatus::trouble was reported. The keeper writes into `trouble` why a job
  // without an AM is degraded.
  int64_t trouble_told_ = -1;
  // The time by which the first AM must have started; nullopt: not computed yet.
  std::optional<Instant> start_due_;
  bool late_told_ = false;
  // The last pending reason that was reported before the first AM.
  std::string wait_told_;
  bool swept_ = false;  // a cleanup keeper was started
  std::optional<JobStatus> end_;
  Instant give_up_keeper_;
  // The time of the last check of the keeper, and whether the keeper gave no answer.
  Instant looked_after_{};
  bool keeper_is_silent_ = false;
  // The time by which a stopping job should have ended; nullopt: the job is not stopping.
  std::optional<Instant> late_at_;
  // The text that was last reported about a process that keeps the job from ending.
  std::string left_told_;
};

}  // namespace tony
