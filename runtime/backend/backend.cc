#include "runtime/backend/backend.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/property_values.h"

namespace tony {
namespace {

constexpr std::string_view kSchedulerKey = "tony.scheduler";

}  // namespace

const Backend& BackendOf(const JobId& job) {
  for (const BackendEntry& entry : Backends())
    if (job.value.starts_with(entry.job_prefix)) return entry.backend();
  return DefaultBackend();
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

const Backend& DefaultBackend() { return Backends().front().backend(); }

}  // namespace tony
