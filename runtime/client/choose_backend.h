// The table of the schedulers that this program can reach, and which of them a job belongs to. Has no state; any
// thread.
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
  std::string_view scheduler;   // as tony.scheduler names it
  std::string_view job_prefix;  // ids of its jobs begin with it
  const Backend& (*backend)();
  // Ok if this process can reach this job, or, for an empty id, any job of the scheduler. Commands that visit all
  // backends leave out those that are not configured.
  Status (*check_configured)(const JobId& job) = [](const JobId&) { return Ok(); };
  // The scheme of the files in its cluster_files(); empty: it has none.
  std::string_view uri_scheme = {};
};
// The table: backends.cc, or a test's own. The first entry is the default.
std::span<const BackendEntry> Backends();

// The backend of a job that exists, by the id.
const Backend& BackendOf(const JobId& job);
// The backend where a job is to be made. kInvalid: tony.scheduler names no entry of the table.
Result<const Backend*> BackendFor(const ParsedJobSpec& job);
const Backend& DefaultBackend();

std::vector<const Backend*> ConfiguredBackends();
// Visits each configured backend. An error of the default backend ends the visit and is returned as the error. An error
// of another backend is the value, because a cluster that does not answer must hide no job of this machine.
Result<std::optional<Error>> VisitConfigured(const std::function<Status(const Backend&)>& visit);
// Whether the backend of this job is configured. The error names the job.
Status CheckConfigured(const JobId& job);

// Reads a file by the backend that has files of this URI's scheme (ClusterFiles::Read).
Result<std::string> ReadFromCluster(const std::string& source);

}  // namespace tony
