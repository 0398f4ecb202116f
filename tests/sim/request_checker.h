// Judges the history of a run with one request id by the contract, without SubmitMachine and Ownership. It checks:
//
// - Two jobs never run at once. The request id finds each job from its first moment.
// - Only a submit that may do so attaches to a job, adopts, replaces or makes it. A lower number makes no job, and
//   neither does an owner that was ordered to stop before it came.
// - A job that succeeded is not run again for a submit that would adopt it.
// - A job is killed only if the condition of the kill holds then. Later activity of another client makes a planned kill
//   void.
// - If a kill and a submit come from one owner, one of them has seen the other.
// - Each process that does not die reaches its end.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/request_history.h"
#include "tests/sim/request_plan.h"

namespace tony::sim {

class RequestChecker {
 public:
  // Returns a line for each thing that is wrong.
  static std::vector<std::string> Check(const RequestPlan& plan, const RequestHistory& history);

 private:
  struct Planned {
    KillRequest request;
    bool is_void = false;
  };
  struct SeenJob {
    int maker = -1;
    int64_t number = 0;
    Claim claim;  // the newest owner's
    WatcherToken watcher;
    Instant last_look{};
    std::vector<Planned> planned;
    bool kill_asked = false;  // a kill without a condition
    bool began = false, stopping = false, gone = false;
    std::optional<Instant> ended;
    FinalState final_state = FinalState::kSucceeded;
    std::optional<Instant> consumed;
    RunToken run;
  };
  struct SeenSubmit {
    std::optional<Instant> began;
    bool died = false;
    RequestRecord read;  // the record last read
    std::optional<SubmitEnd> end;
    Instant ended{};
    std::set<JobId> attached;
    // The submit's kind when it took the job over.
    std::optional<SubmitterKind> asker;
    // The submit adopted the result of another run. That run had this result before the submit began.
    bool took_others = false;
  };
  struct Revocation {
    int kill = -1;
    OwnerToken owner;
    Instant time{};
    // The revocation is written, and its kill has searched for the job after that.
    bool done = false;
  };

  explicit RequestChecker(const RequestPlan& plan) : plan_(plan), submits_(plan.submits.size()) {}

  void See(const RequestEvent& event);
  void SeeMade(const RequestEvent& event);
  void SeeAttached(const RequestEvent& event);
  void SeeRecorded(const RequestEvent& event);
  void SeeSubmitEnded(const RequestEvent& event);
  void SeeKillAsked(const RequestEvent& event);
  void SeeKillAnswered(const RequestEvent& event);
  void SeeBegan(const RequestEvent& event);
  void SeeLooked(const RequestEvent& event);
  void SeeStopping(const RequestEvent& event);
  void SeeKillDone(const RequestEvent& event);
  void CheckKilled(const SeenJob& job, const RequestEvent& event);
  void CheckEndedByItself(const SeenJob& job, const RequestEvent& event);
  void CheckMayHaveJob(const RequestEvent& event);
  void CheckAdopted(const SeenJob& job, const RequestEvent& event);
  // Returns how the submit relates to this job. A later try of another run is unrelated to the job.
  SubmitterKind RequesterOf(const SeenJob& job, int submit) const;
  SeenJob AsRead(SeenJob job, int submit);
  bool IsOfAnotherRun(const SeenJob& job, int submit) const;
  bool Differs(const SeenJob& job, int submit) const;
  // True if a job that succeeded may be followed by another job with the same number.
  bool MayFollow(const SeenJob& job, int submit) const;
  void CheckSettled(const RequestHistory& history);
  // True if this submit was revoked before it began, and the revocation still counts.
  bool WasRevokedBefore(int submit, Instant now) const;
  static bool Holds(const KillRequest& request, const SeenJob& job);
  void Complain(const RequestEvent& event, const std::string& what);

  const RequestPlan& plan_;
  std::vector<SeenSubmit> submits_;
  std::map<JobId, SeenJob> jobs_;
  std::optional<JobId> newest_job_;  // the newest job that was created
  RequestRecord record_;
  // The highest number for which a job was killed.
  int64_t replaced_for_ = 0;
  std::vector<Revocation> revocations_;
  std::vector<std::string> complaints_;
};

}  // namespace tony::sim
