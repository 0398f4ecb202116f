// Follows one job until its end, across restarts of its AM and of its keeper (the supervisor of the job). Loop thread
// only.
//
//            lease record found              connection lost
//   Searching ---------------> Talking ------------------------> Searching
//       |  no keeper: start one                                      |
//       |                         | the listener must not get the token
//       |                         +-----> Reading ---- another AM, or none ---> Searching
//       +--- final status.json, or the verdict from the AM ----------+---> Ending --- keeper exited ---> on_end
//
// In state Reading, the AM is one of an earlier release at a TCP port, or another user listens there. The follower
// reads the AM's files. A kill works through its file, which every AM reads once a second.
//
// In state Talking, the AM pushes changes (Watch), and the follower checks the keeper of an AM that hangs. In state
// Searching, the folder is watched. A timer with growing pauses detects changes without a file event: a lock that was
// released, or a socket that answers again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/event_loop.h"
#include "runtime/client/am_conversation.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// The callbacks are called on the loop. `on_end` is called once and last.
struct FollowSink {
  std::function<void(const JobStatus&)> on_status;  // the first status, and each change
  std::function<void(const std::string&)> on_note;  // a line for a person
  std::function<void(const Result<JobStatus>&)> on_end;
  std::function<void(bool)> on_attached = [](bool) {};          // before the AM's next on_status
  std::function<void(KillAnswer)> on_kill = [](KillAnswer) {};  // before the AM's next on_status
};

class Follower {
 public:
  Follower(EventLoop& loop, const JobRecords& records, AmLauncher& launcher, FollowSink sink);

  // Must be called before Start(). The AM is notified of the new owner as soon as an AM leads the job.
  void Attach(const Claim& claim) { attach_ = claim; }
  // Notifies the AM once, now or as soon as an AM leads the job, that this watcher begins to watch. Later connections
  // do not repeat the name, because a watcher that was suspended and resumes is not newer than watchers that began
  // meanwhile.
  void AnnounceWatcher(const WatcherToken& watcher);

  // Begins to follow. A keeper that was started just now gets `patience` before it counts as missing. Statuses with the
  // tasks' usage arrive every `usage_interval`, even without a change; 0: only changes arrive.
  void Start(Duration patience, Duration usage_interval = Duration(0));
  // Sends a kill to the leading AM, now or as soon as an AM leads the job. If no AM can lead, the keeper removes the
  // file of a conditional kill, and the follower ends with kUnavailable. An empty `name` means that the kill is in no
  // file.
  void SendKill(const RecordedKill& kill);

 private:
  enum class State { kSearching, kTalking, kReading, kEnding };
  void Reconnect();

  void Watch();
  void OnFolderChange();
  bool CheckStatusFile();  // Returns whether the job has ended.
  void ReportFromFile(const JobStatus& status);
  void FollowFiles(const Error& why);
  void SeeLease();
  void TalkTo(const LeaseRecord& lease);
  AmConversation::Sink MakeCallbacks();
  void CheckKeeper(bool was_there);
  void CheckOverdueEnd();
  void ReportWhoDelaysEnd(Instant now);
  void OnStatus(const JobStatus& status);
  void OnLost(const Error& error);
  void SearchAfter(Duration pause);
  void Search();
  void ReportPendingReason(const std::string& why);
  void EndIfStartIsOverdue(const std::string& why);
  Instant StartDeadline() const;
  void ReviveJob();
  void CheckRefusedKill();
  void End(const JobStatus& status);
  void WaitForKeeperExit();
  void Fail(const Error& error);

  EventLoop& loop_;
  const JobRecords records_;
  AmLauncher& launcher_;
  const FollowSink sink_;
  State state_ = State::kSearching;
  std::unique_ptr<EventLoop::Handle> watch_;
  EventLoop::Timer timer_;  // timer of the current state
  EventLoop::Timer first_look_;
  Duration pause_;
  Duration usage_interval_{0};
  std::unique_ptr<AmConversation> conversation_;
  // The newest epoch to which a connection was tried.
  Epoch talked_to_;
  Instant talk_began_;
  // Set until the AM has answered. `kill_` is reset likewise, except that a plain kill stays set.
  std::optional<Claim> attach_;
  std::optional<RecordedKill> kill_;
  WatcherToken watcher_;  // set until the AM knows it
  int keepers_started_ = 0;
  // The newest status from an AM; in state Reading, from the AM's document.
  std::optional<JobStatus> last_;
  bool mistrust_told_ = false;
  // The seq of the newest document that was reported as degraded.
  int64_t trouble_told_ = -1;
  // The time by which a cluster should have started the first AM; nullopt: not read yet.
  std::optional<Instant> start_due_;
  bool late_told_ = false;
  // The last reported reason why no AM runs yet.
  std::string wait_told_;
  bool swept_ = false;  // a keeper was started for cleanup
  std::optional<JobStatus> end_;
  Instant give_up_keeper_;
  // The time and the result of the last check whether the keeper answers.
  Instant looked_after_{};
  bool keeper_is_silent_ = false;
  // The time when a stopping job should have ended; nullopt: the job is not stopping.
  std::optional<Instant> late_at_;
  // The last report about the process that keeps the job from ending.
  std::string left_told_;
};

}  // namespace tony
