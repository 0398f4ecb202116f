#include "runtime/client/choose_backend.h"

#include <algorithm>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/spec/property_values.h"

namespace tony {
namespace {

constexpr std::string_view kSchedulerKey = "tony.scheduler";

const BackendEntry& EntryOf(const JobId& job) {
  for (const BackendEntry& entry : Backends())
    if (job.value.starts_with(entry.job_prefix)) return entry;
  return Backends().front();
}

}  // namespace

Result<std::string> ReadFromCluster(const std::string& source) {
  const std::string scheme = ToLower(source.substr(0, source.find(':')));
  for (const BackendEntry& entry : Backends()) {
    if (entry.uri_scheme != scheme) continue;
    TRY(entry.check_configured(JobId()));
    return entry.backend().cluster_files()->Read(source);
  }
  return Error{ErrorCode::kInvalid,
               StrCat("expected a file of this machine, or hdfs://HOST:PORT/PATH, not ", scheme, ":")};
}

const Backend& BackendOf(const JobId& job) { return EntryOf(job).backend(); }

Status CheckConfigured(const JobId& job) {
  const Status configured = EntryOf(job).check_configured(job);
  return configured.ok() ? Ok() : Status(Annotate(configured.error(), StrCat("job ", job.value)));
}

Result<const Backend*> BackendFor(const ParsedJobSpec& job) {
  std::vector<std::string> known;
  for (const BackendEntry& entry : Backends()) {
    if (job.spec.scheduler == entry.scheduler) return &entry.backend();
    known.emplace_back(entry.scheduler);
  }
  const auto set = std::ranges::find(job.configuration, kSchedulerKey, &ConfiguredValue::key);
  const std::string from = set == job.configuration.end() ? "" : StrCat(" (from ", set->source, ")");
  return Error{ErrorCode::kInvalid,
               StrCat(kSchedulerKey, ": ", Quoted(job.spec.scheduler), from, ": expected ", Join(known, " or "))};
}

std::vector<const Backend*> ConfiguredBackends() {
  std::vector<const Backend*> configured;
  for (const BackendEntry& entry : Backends())
    if (entry.check_configured({}).ok()) configured.push_back(&entry.backend());
  return configured;
}

Result<std::optional<Error>> VisitConfigured(const std::function<Status(const Backend&)>& visit) {
  std::optional<Error> failure;
  for (const Backend* backend : ConfiguredBackends()) {
    const Status visited = visit(*backend);
    if (visited.ok()) continue;
    if (backend == &DefaultBackend()) return visited.error();
    failure = visited.error();
  }
  return failure;
}

const Backend& DefaultBackend() { return Backends().front().backend(); }

}  // namespace tony
