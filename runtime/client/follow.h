// Follows one job until its end, whatever happens to its AM and keeper meanwhile. Loop thread only.
//
//            lease record seen                connection lost
//   Searching ---------------> Talking ------------------------> Searching
//       |  no keeper: one is started                                 |
//       |                         | who listens there may not be told the token
//       |                         +-----> Reading ---- another AM, or none ---> Searching
//       +--- final status.json, or the verdict from the AM ----------+---> Ending --- keeper gone ---> on_end
//
// While Reading, the AM is one of an earlier release, at a TCP port, or a stranger's: what it writes is followed, and a
// kill goes by its file, which every AM reads once a second.
//
// While Talking, news is pushed (Watch), and the keeper of an AM that hangs is looked after. While Searching, the
// folder is watched; a timer with growing pauses looks after what makes no event: a lock that was let go, a socket
// that answers again.
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

// Called on the loop. `on_end` comes once and last.
struct FollowSink {
  std::function<void(const JobStatus&)> on_status;  // the status at the beginning and each change
  std::function<void(const std::string&)> on_note;  // one line for a person
  std::function<void(const Result<JobStatus>&)> on_end;
  std::function<void(bool)> on_attached = [](bool) {};          // before the next on_status of an AM
  std::function<void(KillAnswer)> on_kill = [](KillAnswer) {};  // the same
};

class Follower {
 public:
  Follower(EventLoop& loop, const JobRecords& records, AmLauncher& launcher, FollowSink sink);

  // Before Start(). The AM, once there is one, is told of the new owner.
  void Attach(const Claim& claim) { attach_ = claim; }
  // The AM is told once, now or as soon as there is one, who begins to look. The follower goes on without that name,
  // because a watcher that was asleep and goes on is not newer than those who have begun meanwhile.
  void LookAs(const WatcherToken& watcher);

  // Begins. A keeper that was started just now is given `patience` before it counts as gone. Statuses with what tasks
  // use come every `usage_interval`, although nothing has changed; 0: they do not.
  void Start(Duration patience, Duration usage_interval = Duration(0));
  // Tells the leading AM, now or as soon as there is one, of a kill. Where no AM can lead, the keeper removes the file
  // of a kill with a condition, and the follower ends with kUnavailable. `name` is empty: the kill is in no file.
  void TellKill(const RecordedKill& kill);

 private:
  enum class State { kSearching, kTalking, kReading, kEnding };
  void TalkAnew();

  void Watch();
  void OnFolderChange();
  bool SeeStatusFile();  // whether the job has ended
  void TellFromFile(const JobStatus& status);
  void ReadAlong(const Error& why);
  void SeeLease();
  void TalkTo(const LeaseRecord& lease);
  AmConversation::Sink Ears();
  void LookAfterKeeper(bool was_there);
  void LookAfterEnd();
  void SayWhoIsLeft(Instant now);
  void OnStatus(const JobStatus& status);
  void OnLost(const Error& error);
  void SearchAfter(Duration pause);
  void Search();
  void TellWait(const std::string& why);
  void EndLateStart(const std::string& why);
  Instant StartIsDueBy() const;
  void BringBack();
  void SeeRefusedKill();
  void End(const JobStatus& status);
  void AwaitKeeper();
  void Fail(const Error& error);

  EventLoop& loop_;
  const JobRecords records_;
  AmLauncher& launcher_;
  const FollowSink sink_;
  State state_ = State::kSearching;
  std::unique_ptr<EventLoop::Handle> watch_;
  EventLoop::Timer timer_;  // of the state
  EventLoop::Timer first_look_;
  Duration pause_;
  Duration usage_interval_{0};
  std::unique_ptr<AmConversation> conversation_;
  Epoch talked_to_;  // newest epoch a connection was tried to
  Instant talk_began_;
  std::optional<Claim> attach_;  // until it is answered, as the next one
  std::optional<RecordedKill> kill_;
  WatcherToken watcher_;  // whom the AM does not know yet
  int keepers_started_ = 0;
  std::optional<JobStatus> last_;  // from an AM; while Reading from its document
  bool mistrust_told_ = false;
  int64_t trouble_told_ = -1;         // seq of the document
  std::optional<Instant> start_due_;  // by when a cluster should have started the first master; not read yet
  bool late_told_ = false;
  std::string wait_told_;  // why there is no master yet
  bool swept_ = false;     // a keeper was started to sweep up after an end
  std::optional<JobStatus> end_;
  Instant give_up_keeper_;
  // The last look at whether the keeper answers, and its result.
  Instant looked_after_{};
  bool keeper_is_silent_ = false;
  // The moment when a stopping job should have ended. Nothing: the job is not stopping.
  std::optional<Instant> late_at_;
  // The process that keeps the job from its end, as people were told last.
  std::string left_told_;
};

}  // namespace tony
