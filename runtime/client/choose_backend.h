// The table of the schedulers that this program can reach, and functions that choose the backend of a job. The
// functions have no state and may be called on any thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend/backend.h"

namespace tony {

struct BackendEntry {
  std::string_view scheduler;  // value of tony.scheduler
  // The ids of this scheduler's jobs begin with this prefix.
  std::string_view job_prefix;
  const Backend& (*backend)();
  // Returns Ok if this process can reach the job. If the id is empty, returns Ok if the process can reach any job of
  // the scheduler. Commands that visit all backends skip a backend that is not configured.
  Status (*check_configured)(const JobId& job) = [](const JobId&) { return Ok(); };
  // The URI scheme of the files in cluster_files(); empty if the backend has no such files.
  std::string_view uri_scheme = {};
};
// Returns the table from backends.cc, or the table of a test. The first entry is the default.
std::span<const BackendEntry> Backends();

// Returns the backend of an existing job, chosen by its id.
const Backend& BackendOf(const JobId& job);
// Returns the backend in which a new job is created; kInvalid if tony.scheduler names no entry of the table.
Result<const Backend*> BackendFor(const ParsedJobSpec& job);
const Backend& DefaultBackend();

std::vector<const Backend*> ConfiguredBackends();
// Visits each configured backend. If the default backend fails, the visit ends and returns its error. If another
// backend fails, the visit continues and the returned value is that error, because a cluster that does not answer must
// not hide the jobs of this machine.
Result<std::optional<Error>> VisitConfigured(const std::function<Status(const Backend&)>& visit);
// Checks whether the backend of this job is configured. The error message names the job.
Status CheckConfigured(const JobId& job);

// Reads a file in the file system of a cluster, through the backend whose files have this URI's scheme
// (ClusterFiles::Read).
Result<std::string> ReadFromCluster(const std::string& source);

}  // namespace tony
