// What this library has to say to a person while one of its functions runs. The library prints nothing: a command gives
// it these functions, which show things on a terminal, or in a log. All are called on the thread of the caller's loop.
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
  // Files are staged ("staging") or sent to a cluster ("sending"): five times a second, unless it is done soon.
  std::function<void(std::string_view doing, const StageProgress& progress)> moving;
  std::function<void()> moved;
  // A new job is recorded, and nothing of it is started.
  std::function<void(const JobId& job, const StagedFiles& files)> created;
};

}  // namespace tony
