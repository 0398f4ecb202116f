#include "tests/sim/request_world.h"

#include "tests/sim/request_checker.h"

namespace tony::sim {

RequestWorld::RequestWorld(const RequestPlan& plan, RequestFlaw flaw) : plan_(plan), stage_{.flaw = flaw} {
  Random random(plan.seed);
  for (size_t i = 0; i < plan_.submits.size(); ++i)
    submits_.push_back(std::make_unique<SubmitActor>(stage_, store_, plan_, static_cast<int>(i), random.Fork()));
  for (size_t i = 0; i < plan_.kills.size(); ++i) {
    kills_.push_back(std::make_unique<KillActor>(stage_, store_, plan_.kills[i], static_cast<int>(i), random.Fork()));
  }
}

void RequestWorld::Run() {
  // Far above what any run needs; a run that loops forever is detected by it.
  constexpr int64_t kMostSteps = 20'000;
  for (const auto& submit : submits_) submit->Begin();
  for (const auto& kill : kills_) kill->Begin();
  for (const PlannedLook& look : plan_.looks) stage_.timeline.After(look.at, [&] { Look(look.watcher); });
  for (const PlannedAck& ack : plan_.acks) stage_.timeline.After(ack.at, [this] { Acknowledge(); });
  for (const Duration recovery : plan_.recoveries) stage_.timeline.After(recovery, [this] { Recover(); });
  bool more = true;
  while (more && stage_.timeline.steps() < kMostSteps) more = stage_.timeline.Step();
  stage_.history.settled = !more;
}

void RequestWorld::Look(const WatcherToken& watcher) {
  RequestJob* job = store_.Newest();
  if (job && job->answers()) job->Look(watcher);
}

void RequestWorld::Acknowledge() {
  RequestJob* job = store_.Newest();
  if (!job || job->Existing() != ExistingJob::kSucceeded || !store_.consumed.insert(job->id()).second) return;
  stage_.Record({.kind = RequestEventKind::kConsumed, .job = job->id()});
}

// Starts every job, as `tony recover` does.
void RequestWorld::Recover() {
  for (const auto& [id, job] : store_.jobs) job->Start();
}

std::vector<std::string> ComplaintsAboutRequest(const RequestPlan& plan, RequestFlaw flaw) {
  RequestWorld world(plan, flaw);
  world.Run();
  return RequestChecker::Check(plan, world.history());
}

}  // namespace tony::sim
