// A user's process, with the children it may leave behind and the checkpoints it writes.
#pragma once

#include <functional>

#include "tests/sim/stage.h"

namespace tony::sim {

class SimulatedProcess {
 public:
  // `on_end` is called when it has ended, which is some time before anybody may have reaped it.
  SimulatedProcess(Stage& stage, const ProcessStarted& start, const ProcessPlan& plan,
                   std::function<void(const PublishedValues&)> on_publish, std::function<void(ExitStatus)> on_end);

  void Signal(int signal);  // to the whole tree
  bool AnythingLeft() const { return running_ || children_; }

 private:
  void EndAfter(Duration delay, ExitStatus exit);
  void WriteCheckpoint(Duration work);
  void PublishAfter(Duration delay);

  Stage& stage_;
  const ProcessStarted start_;
  const ProcessPlan plan_;
  const std::function<void(const PublishedValues&)> on_publish_;
  const std::function<void(ExitStatus)> on_end_;
  bool running_ = true;
  bool children_;
};

}  // namespace tony::sim
