// A job as submits, kills and watchers see it: an AM with the real Ownership, which is down now and then, and tasks
// that end by themselves or are ended.
//
//   made > starting > running > stopping > ended > gone
//                 \___________/ a kill that arrived before the job was running
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "am/core/ownership.h"
#include "tests/sim/request_history.h"
#include "tests/sim/request_plan.h"
#include "tests/sim/timeline.h"

namespace tony::sim {

// State that all parts of a run share.
struct RequestStage {
  RequestFlaw flaw = RequestFlaw::kNone;
  Timeline timeline{};
  RequestHistory history{};

  Instant now() const { return timeline.now(); }
  void Record(RequestEvent event) {
    event.time = now();
    history.events.push_back(std::move(event));
  }
};

class RequestJob {
 public:
  RequestJob(RequestStage& stage, JobId id, const Claim& claim, const JobNature& nature, bool kill_shows_in_files)
      : stage_(stage), id_(std::move(id)), submitters_(claim), nature_(nature), kill_shows_(kill_shows_in_files) {}

  const JobId& id() const { return id_; }
  // Returns the job's state as its files show it.
  ExistingJob Existing() const;
  const OwnerToken& owner() const { return attention_.claim().owner; }
  bool gone() const { return state_ == State::kMade || state_ == State::kGone; }
  bool answers() const { return state_ >= State::kEnded || (am_up_ && state_ != State::kMade); }

  // Starts the job; does nothing if the job was started before.
  void Start();
  // Attach() and Look() may only be called while answers() is true.
  AttachSeen Attach(const Claim& claim, int actor);
  void Look(const WatcherToken& watcher);
  // Kills at once if the job answers. Otherwise writes a file that the next AM reads. Returns the answer;
  // nullopt if the next AM has to give it.
  std::optional<KillAnswer> Kill(const KillRequest& request, int actor);

 private:
  enum class State { kMade, kStarting, kRunning, kStopping, kEnded, kGone };
  struct Asked {
    KillRequest request;
    int actor = -1;
  };

  void AmComes();
  void AmGoes();
  void Begin();
  void EndByItself();
  void Stop(FinalState state, EndCause cause, const Asked& asked);
  KillAnswer Answer(const Asked& asked);
  KillAnswer Decide(const Asked& asked);
  void CheckTimes();
  void Apply(const std::vector<DecisionBody>& decisions);
  void After(Duration delay, void (RequestJob::*what)()) {
    stage_.timeline.After(delay, [this, what] { (this->*what)(); });
  }
  void Enter(State state, RequestEventKind kind);

  RequestStage& stage_;
  const JobId id_;
  const Claim submitters_;
  const JobNature nature_;
  const bool kill_shows_;
  State state_ = State::kMade;
  bool am_up_ = false;
  bool run_out_ = false;
  FinalState final_state_ = FinalState::kSucceeded;
  Instant stopping_since_{};
  am::Ownership attention_;
  std::vector<Asked> files_;
};

}  // namespace tony::sim
