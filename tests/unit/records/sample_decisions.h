// Returns a decision of every kind; each field differs from its default.
#pragma once

#include <vector>

#include "runtime/records/decisions.h"

namespace tony {

inline std::vector<Decision> OneOfEachKind() {
  const AttemptId ps{{"ps", 0}, 1}, worker{{"worker", 3}, 2};
  const Outcome outcome{.cls = OutcomeClass::kOom,
                        .exit = ExitStatus{ExitStatus::Kind::kSignaled, 9},
                        .message = "the kernel's \"oom killer\"\nended it",
                        .stderr_tail = "step 17\n\xC3\xA4\n"};
  const Verdict verdict{.state = FinalState::kFailed,
                        .cls = OutcomeClass::kUserError,
                        .message = "worker:3 failed",
                        .attempt = worker,
                        .host = "node-7",
                        .exit = ExitStatus{ExitStatus::Kind::kExited, 3},
                        .stderr_tail = "Traceback"};
  const std::vector<DecisionBody> bodies = {
      EpochBegan{{7}},
      JobAccepted{},
      ContainersRequested{{ps, worker}},
      ContainerAssigned{worker, {"7-1"}, "node-7", "http://node-7:8042/x"},
      GangAllocated{},
      AttemptLaunched{worker},
      AttemptRegistered{worker, {"node-7", 40123}, {{"control", 40124}, {"data", 40125}}},
      GenerationFormed{{4}},
      AttemptRan{worker, 4711},
      AttemptSuspected{worker},
      HeartbeatsReturned{worker},
      AttemptEnded{worker, outcome},
      ContainerKillOrdered{{"7-1"}},
      ContainerEnded{{"7-1"}},
      JobStopping{verdict, Duration(2500)},
      GraceShortened{Duration(1)},
      JobEnded{},
      RestartDecided{.number = 2,
                     .scope = RestartScope::kGang,
                     .cause = worker,
                     .reason = "worker:3 failed on node-7: exit code 3 (user_error)",
                     .charged = false,
                     .tasks = {ps.task, worker.task},
                     .not_before = Instant(Duration(1'700'000'002'000)),
                     .grace = Duration(2500)},
      CheckpointSearchStarted{2},
      CheckpointNoted{2, Checkpoint{"/ckpt/step-17", 17, Instant(Duration(1'700'000'001'000))}},
      RestartBegan{2, {{worker, {"7-1"}}}, {ps}},
      AttemptStopping{worker, outcome, Duration(500)},
      OwnerChanged{{{"o1"}, Duration(1'800'000)}},
      WatcherChanged{{"w1"}},
      KillPlanned{3,
                  {.reason = "late",
                   .grace = Duration(-1),
                   .if_owner = {"o1"},
                   .if_watcher = {"w1"},
                   .due = Instant(Duration(1'700'000'003'000))}},
      KillVoided{3, "watcher w2 has looked"},
      ListingStarted{},
      CheckpointsListed{{.folder = "/ckpt",
                         .unknown = "open /ckpt: permission denied",
                         .earlier_job = JobId{"job-0"},
                         .there = {{"step-3", -7, 4096, 1'700'000'000'000'000'007, true}},
                         .newest = Checkpoint{"/ckpt/step-3", 3, Instant(Duration(1)), CheckpointWriter::kEarlierJob}}},
      ValuesPublished{worker, {{"ADDRESS", "node-7:5000"}, {"TOKEN", "\xC3\xA4 = 1"}}},
      StageOpened{2},
      RoleDetached{"worker", "A"},
      FailureTolerated{worker, "worker:1 failed on node-7: exit code 3 (user_error)"},
      RoleFinished{"worker", "2 of 3 tasks of role worker have succeeded", Duration(10'000)},
  };
  std::vector<Decision> decisions;
  for (const DecisionBody& body : bodies)
    decisions.push_back({Instant(Duration(1'700'000'000'123 + static_cast<int64_t>(decisions.size()))), body});
  return decisions;
}

}  // namespace tony
