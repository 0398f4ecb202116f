// Whether what was seen of one run under one request id is as the contract says. Knows the contract, neither
// SubmitMachine nor Ownership.
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
  // A line for each thing that is wrong.
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
    bool kill_asked = false;  // without a condition
    bool began = false, stopping = false, gone = false;
    std::optional<Instant> ended;
    FinalState final_state = FinalState::kSucceeded;
    std::optional<Instant> consumed;
    RunToken run;
  };
  struct SeenSubmit {
    std::optional<Instant> began;
    bool died = false;
    RequestRecord read;  // last
    std::optional<SubmitEnd> end;
    Instant ended{};
    std::set<JobId> attached;
    std::optional<SubmitterKind> asker;  // when it took the job over
    bool took_others = false;            // the result of another run, which it had before this submit began
  };
  struct Revocation {
    int kill = -1;
    OwnerToken owner;
    Instant time{};
    bool done = false;  // and its kill has looked for the job after that
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
  // What the submit is to this job: a later try of another run is none of its.
  SubmitterKind RequesterOf(const SeenJob& job, int submit) const;
  SeenJob AsRead(SeenJob job, int submit);
  bool IsOfAnotherRun(const SeenJob& job, int submit) const;
  bool Differs(const SeenJob& job, int submit) const;
  // Whether a job that succeeded may be followed by one of the same number.
  bool MayFollow(const SeenJob& job, int submit) const;
  void CheckSettled(const RequestHistory& history);
  // Whether this submit was told to stop before it began, and that still counts.
  bool WasRevokedBefore(int submit, Instant now) const;
  static bool Holds(const KillRequest& request, const SeenJob& job);
  void Complain(const RequestEvent& event, const std::string& what);

  const RequestPlan& plan_;
  std::vector<SeenSubmit> submits_;
  std::map<JobId, SeenJob> jobs_;
  std::optional<JobId> newest_job_;  // that was made
  RequestRecord record_;
  int64_t replaced_for_ = 0;  // the highest number for which a job was killed
  std::vector<Revocation> revocations_;
  std::vector<std::string> complaints_;
};

}  // namespace tony::sim
