#include "tests/sim/simulated_process.h"

#include <algorithm>
#include <csignal>

#include "runtime/base/strings.h"
#include "tests/sim/stage_rules.h"

namespace tony::sim {
namespace {

constexpr Duration kDyingLasts{1};  // from SIGKILL to the end

// The work that is in a checkpoint is the step in its name.
Duration WorkIn(const Disk& disk, const std::string& path) {
  const auto found = std::ranges::find(disk.checkpoints, path, &Checkpoint::path);
  return found == disk.checkpoints.end() ? Duration(0) : Duration(found->step);
}

}  // namespace

SimulatedProcess::SimulatedProcess(Stage& stage, const ProcessStarted& start, const ProcessPlan& plan,
                                   std::function<void(const PublishedValues&)> on_publish,
                                   std::function<void(ExitStatus)> on_end)
    : stage_(stage),
      start_(start),
      plan_(plan),
      on_publish_(std::move(on_publish)),
      on_end_(std::move(on_end)),
      children_(plan.leaves_children || plan.children_stay) {
  stage_.Add(start_);
  const Duration done = WorkIn(stage_.disk, start_.resume_from);
  const Duration run = std::max(plan_.run - done, Duration(0));
  if (plan_.publish_after) PublishAfter(std::min(*plan_.publish_after, run / 2));
  EndAfter(run, {ExitStatus::Kind::kExited, plan_.exit_code});
  if (plan_.checkpoint_every.count() > 0) WriteCheckpoint(done + plan_.checkpoint_every);
}

void SimulatedProcess::Signal(int signal) {
  if (signal == 0) return;
  if (running_) stage_.Add(ProcessSignalled{start_.attempt, start_.pid, signal});
  if (signal == SIGTERM) {
    if (plan_.obeys_term) EndAfter(*plan_.obeys_term, {ExitStatus::Kind::kSignaled, SIGTERM});
    return;
  }
  EndAfter(kDyingLasts, {ExitStatus::Kind::kSignaled, signal});
  if (!plan_.children_stay) stage_.time.After(kDyingLasts, [this] { children_ = false; });
}

void SimulatedProcess::WriteCheckpoint(Duration work) {
  stage_.time.After(plan_.checkpoint_every, [this, work] {
    if (!running_) return;
    const std::string path = StrCat(stage_.plan.spec.checkpoint.directory, "/", start_.attempt.task.role, "-",
                                    start_.attempt.task.index, "-", work.count());
    std::erase_if(stage_.disk.checkpoints, [&](const Checkpoint& old) { return old.path == path; });
    stage_.disk.checkpoints.push_back({path, work.count(), stage_.time.now()});
    stage_.Add(CheckpointWritten{start_.attempt, stage_.disk.checkpoints.back()});
    WriteCheckpoint(work + plan_.checkpoint_every);
  });
}

void SimulatedProcess::PublishAfter(Duration delay) {
  stage_.time.After(delay, [this] {
    if (!running_) return;
    const PublishedValues values{
        {PublishedBy(stage_.plan.spec, start_.attempt.task.role), StrCat("process ", start_.pid)}};
    stage_.Add(ValuesWritten{start_.attempt, values});
    on_publish_(values);
  });
}

void SimulatedProcess::EndAfter(Duration delay, ExitStatus exit) {
  stage_.time.After(delay, [this, exit] {
    if (!running_) return;
    running_ = false;
    stage_.Add(ProcessEnded{start_.attempt, start_.pid, exit, start_.process});
    on_end_(exit);
  });
}

}  // namespace tony::sim
