// The scheduler of a job on this machine, as its application master makes it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/backend/scheduler.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/ids.h"
#include "runtime/records/job_records.h"

namespace tony {

// What an application master brings along for its scheduler.
struct MasterSide {
  EventLoop& loop;  // outlives the scheduler
  JobRecords records;
  Epoch epoch;
  Duration am_lease{0};
  Scheduler::Sink sink;
  // The attempt that was started in a container, until its end is known.
  std::function<std::optional<AttemptId>(const ContainerId&)> unended_in;
  UniqueFd page_socket = {};  // of the job's page, for the next master; none: it has no page
};

std::unique_ptr<Scheduler> MakeLocalScheduler(MasterSide side);

}  // namespace tony
