// Those who submit and kill under one request id, step by step. Between two steps anything else may happen, and any of
// them may die there.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "tests/sim/random.h"
#include "tests/sim/request_job.h"

namespace tony::sim {

// What is kept under the request id, and the jobs. Each operation is whole.
struct RequestStore {
  std::optional<int> lock_holder;
  std::optional<RequestRecord> record;
  int64_t revision = 0;              // of the record
  std::set<JobId> uploaded_records;  // those that their submits may make, and nobody has given up
  std::map<OwnerToken, Instant> revoked_until;
  std::map<JobId, std::unique_ptr<RequestJob>> jobs;  // those whose folder was made
  std::set<JobId> consumed;

  bool IsRevoked(const OwnerToken& owner, Instant now) const;
  RequestRecord Read() const;
  RequestJob* Newest() const;  // that is recorded, if it was made
};

class SubmitActor {
 public:
  // `number`: which submit of the plan it is.
  SubmitActor(RequestStage& stage, RequestStore& store, const RequestPlan& plan, int number, Random random);
  void Begin();

 private:
  void Step();
  void Die();
  void End();
  Duration Pause();
  // Nothing: it has to wait, and try again.
  std::optional<SubmitObservation> Do(const SubmitStep& step);
  std::optional<SubmitObservation> Lock();
  std::optional<SubmitObservation> Attach(const JobId& job);
  std::optional<SubmitObservation> Read();
  SubmitObservation Prepare(bool only_for_report);
  std::optional<SubmitObservation> Record(const RequestRecord& record);
  void Keep(RequestRecord record);
  std::optional<SubmitObservation> Create(const JobId& job);
  void Kill(const SubmitStep& step);

  RequestStage& stage_;
  RequestStore& store_;
  const RequestPlan& plan_;
  const PlannedSubmit& submit_;
  const int number_;
  Random random_;
  SubmitMachine course_;
  int taken_ = 0;
  std::optional<RequestRecord> held_back_;  // by a flaw
  std::optional<Instant> waits_since_;      // for a job that is coming
  bool gave_way_ = false;                   // its job was given up
};

class KillActor {
 public:
  KillActor(RequestStage& stage, RequestStore& store, const PlannedKill& plan, int number, Random random);
  void Begin();

 private:
  void Step();
  bool MayBeVoid() const;
  void Revoke();
  void Look();
  void End();

  RequestStage& stage_;
  RequestStore& store_;
  const PlannedKill& plan_;
  const int actor_;
  Random random_;
  KillRequest request_;
  std::vector<void (KillActor::*)()> steps_;  // the next one last
  int taken_ = 0;
  bool revoked_ = false;
};

}  // namespace tony::sim
