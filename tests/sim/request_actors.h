// Clients that submit and kill under one request id, step by step. Anything else may happen between two steps, and a
// client may die there.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "tests/sim/random.h"
#include "tests/sim/request_job.h"

namespace tony::sim {

// The records kept under the request id, and the jobs. Each operation is atomic.
struct RequestStore {
  std::optional<int> lock_holder;
  std::optional<RequestRecord> record;
  int64_t revision = 0;  // the record's revision
  // Jobs that a submit may still create because no client has given them up.
  std::set<JobId> uploaded_records;
  std::map<OwnerToken, Instant> revoked_until;
  std::map<JobId, std::unique_ptr<RequestJob>> jobs;  // jobs whose folder was created
  std::set<JobId> consumed;

  bool IsRevoked(const OwnerToken& owner, Instant now) const;
  RequestRecord Read() const;
  // Returns the recorded job; null if it was not created.
  RequestJob* Newest() const;
};

class SubmitActor {
 public:
  // `number` is the index of the submit in the plan.
  SubmitActor(RequestStage& stage, RequestStore& store, const RequestPlan& plan, int number, Random random);
  void Begin();

 private:
  void Step();
  void Die();
  void End();
  Duration Pause();
  // Returns nullopt if the submit has to wait and try again.
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
  std::optional<RequestRecord> held_back_;  // a record that a flaw delays
  // Since when the submit waits for a job that another client is creating.
  std::optional<Instant> waits_since_;
  bool gave_way_ = false;  // The submit's job was given up.
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
  // The last element is the next step.
  std::vector<void (KillActor::*)()> steps_;
  int taken_ = 0;
  bool revoked_ = false;
};

}  // namespace tony::sim
