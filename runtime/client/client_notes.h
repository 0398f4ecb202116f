// Callbacks by which this library reports to people what its functions do. The library itself prints nothing: a command
// passes callbacks that print to a terminal or to a log. All callbacks are called on the thread of the caller's loop.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/job/ids.h"
#include "runtime/records/entry_store.h"
#include "runtime/records/staged_files.h"

namespace tony {

struct ClientNotes {
  std::function<void(const std::string& line)> note;
  // Reports the progress of files that are staged ("staging") or sent to a cluster ("sending"). Called five times a
  // second; not called if the work ends soon.
  std::function<void(std::string_view doing, const StageProgress& progress)> moving;
  std::function<void()> moved;
  // Called when a new job is recorded, before anything of the job is started.
  std::function<void(const JobId& job, const StagedFiles& files)> created;
};

}  // namespace tony
