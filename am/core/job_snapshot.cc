#include "am/core/job.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"
#include "runtime/job/dependencies.h"

namespace tony::am {

CheckpointStatus Job::SnapshotOfCheckpoints() const {
  CheckpointStatus checkpoint{.directory = spec_.checkpoint.directory, .resumed_from = resumed_from_};
  if (generation_.value > 0) checkpoint.unknown = listing().unknown;
  const bool from_earlier = resumed_from_ && resumed_from_->writer == CheckpointWriter::kEarlierJob;
  if (from_earlier) checkpoint.earlier_job = listing().earlier_job;
  return checkpoint;
}

JobStatus Job::Snapshot(const std::string& user, Instant submitted) const {
  JobStatus status{.job = id_,
                   .name = spec_.name,
                   .user = user,
                   .framework = std::string(ToString(spec_.framework)),
                   .tags = spec_.tags,
                   .state = std::string(ToString(state_)),
                   .seq = seq_,
                   .epoch = epoch_,
                   .generation = generation_,
                   .submitted = submitted,
                   .ended = ended_at_};
  if (Ended()) status.verdict = verdict_;
  if (!spec_.checkpoint.directory.empty()) status.checkpoint = SnapshotOfCheckpoints();
  status.claim = attention_.claim();
  status.watcher = attention_.watcher();
  if (!verdict_) status.planned_kill = attention_.NextPlanned();
  status.tensorboard_url = TensorBoardUrl();
  status.restarts = restart_list_;
  status.restart_count = static_cast<int>(past_restarts_.size());
  status.tolerated_failures = static_cast<int>(tolerated_.size());
  for (const auto& [id, task] : tasks_) {
    TaskStatus row{.id = id, .state = std::string(ToString(task.state))};
    if (const Attempt* attempt = task.newest()) {
      row.attempt = attempt->id.number;
      row.attempt_state = ToString(attempt->state);
      row.host = attempt->host;
      row.pid = attempt->pid;
      row.suspect = attempt->suspect;
      row.outcome = attempt->outcome;
      row.usage = attempt->outcome && attempt->outcome->usage ? attempt->outcome->usage : attempt->usage;
      row.started = attempt->started;
      row.ended = attempt->ended;
    }
    if (!verdict_) row.waits_for = WhatWaits(*spec_.FindRole(id.role), task);
    status.tasks.push_back(std::move(row));
  }
  return status;
}

std::string Job::WhatWaits(const RoleSpec& role, const Task& task) const {
  const Attempt* attempt = task.newest();
  if (role.depends_on.empty() || (attempt && !held_.contains({StageOf(spec_, role.name), attempt->id}))) return {};
  std::vector<std::string> names;
  for (const auto& [name, until] : role.depends_on) {
    if (until == Dependency::Until::kReady) {
      if (!attempt || !IsReady({.depends_on = {{name, until}}})) names.push_back(name + " (ready)");
    } else if (!HasSucceeded(name)) {
      names.push_back(name);
    }
  }
  return Join(names, ", ");
}

// A chief's own TensorBoard is not known: it may serve none.
std::string Job::TensorBoardUrl() const {
  const TaskId id{std::string(kTensorBoardPort), 0};
  const auto task = tasks_.find(id);
  if (task == tasks_.end()) return {};
  const Attempt* attempt = task->second.newest();
  if (!attempt || attempt->state != AttemptState::kRunning || !attempt->endpoint) return {};
  const auto port = attempt->ports.find(std::string(kTensorBoardPort));
  if (port == attempt->ports.end()) return {};
  return StrCat("http://", ToString(Endpoint{attempt->endpoint->host, port->second}), "/");
}

}  // namespace tony::am
