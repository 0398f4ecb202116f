#include "tests/sim/simulated_process.h"

#include <csignal>

namespace tony::sim {
namespace {

constexpr Duration kDyingTakes{1};  // from SIGKILL to the end

}  // namespace

SimulatedProcess::SimulatedProcess(Stage& stage, const ProcessStarted& start, const ProcessPlan& plan,
                                   std::function<void(ExitStatus)> on_end)
    : stage_(stage), start_(start), plan_(plan), on_end_(std::move(on_end)), children_(plan.leaves_children) {
  stage_.Add(start_);
  EndAfter(plan_.run, {ExitStatus::Kind::kExited, plan_.exit_code});
}

void SimulatedProcess::Signal(int signal) {
  if (signal == 0) return;
  if (running_) stage_.Add(ProcessSignalled{start_.attempt, start_.pid, signal});
  if (signal == SIGTERM) {
    if (plan_.obeys_term) EndAfter(*plan_.obeys_term, {ExitStatus::Kind::kSignaled, SIGTERM});
    return;
  }
  EndAfter(kDyingTakes, {ExitStatus::Kind::kSignaled, signal});
  stage_.time.After(kDyingTakes, [this] { children_ = false; });
}

void SimulatedProcess::EndAfter(Duration delay, ExitStatus exit) {
  stage_.time.After(delay, [this, exit] {
    if (!running_) return;
    running_ = false;
    stage_.Add(ProcessEnded{start_.attempt, start_.pid, exit});
    on_end_(exit);
  });
}

}  // namespace tony::sim
