// The limits of one task, with the names and meanings that TonY changed between 0.4.6 and 0.5.3.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

constexpr std::string_view kTonyVersion = "tony.compat.version";
constexpr std::string_view kTony046 = "0.4.6";
constexpr std::string_view kTony053 = "0.5.3";
constexpr std::string_view kAllocationTimeout = "tony.container.allocation.timeout";
constexpr std::string_view kRegistrationTimeout = "tony.container.registration.timeout";
constexpr std::string_view kWorkerTimeout = "tony.worker.timeout";

constexpr Duration kRegistrationOff = std::chrono::years(10);  // a registration timeout that is off
constexpr int64_t kMostRegistrySeconds = 365 * 24 * 3600;

// Whether the job was written for a TonY whose allocation timeout was what is a registration timeout since.
Result<bool> IsOfOldTony(const PropertyValues& values) {
  const std::string version(Trim(values.Text(kTonyVersion)));
  if (version == kTony046) return true;
  if (version == kTony053) return false;
  return values.Bad(kTonyVersion, StrCat("expected ", kTony046, " or ", kTony053));
}

Status ParseRegistration(const PropertyValues& values, std::string_view key, JobSpec& spec) {
  TRY_ASSIGN(const Duration registration, values.Millis(key, -1));
  spec.registration_timeout = registration > Duration(0) ? registration : kRegistrationOff;
  return Ok();
}

// Nobody can tell from the key alone which limit is meant, and the wrong one ends a job that only has to queue. A job
// that has the newer TonY's key of the other limit as well has said it.
Status ParseAllocation(const PropertyValues& values, Warnings& warnings, JobSpec& spec) {
  TRY_ASSIGN(const Duration allocation, values.Millis(kAllocationTimeout, -1));
  spec.allocation_timeout = std::max(allocation, Duration(0));
  if (allocation <= Duration(0) || values.Has(kTonyVersion) || values.Has(kRegistrationTimeout)) return Ok();
  warnings.push_back(
      values
          .Bad(kAllocationTimeout, StrCat("limits the wait for containers, as in TonY ", kTony053, "; in ", kTony046,
                                          " it was ", kRegistrationTimeout, ". ", kTonyVersion, " says which is meant"))
          .message);
  return Ok();
}

Status ParseContainerLimits(const PropertyValues& values, Warnings& warnings, JobSpec& spec) {
  TRY_ASSIGN(const bool is_old, IsOfOldTony(values));
  if (!is_old || !values.Has(kAllocationTimeout)) {
    TRY(ParseAllocation(values, warnings, spec));
    return ParseRegistration(values, kRegistrationTimeout, spec);
  }
  if (!values.Has(kRegistrationTimeout)) return ParseRegistration(values, kAllocationTimeout, spec);
  warnings.push_back(values.Bad(kAllocationTimeout, StrCat("no effect, as ", kRegistrationTimeout, " is set")).message);
  return ParseRegistration(values, kRegistrationTimeout, spec);
}

Result<Duration> ParseExecutionLimit(const PropertyValues& values, Warnings& warnings) {
  const bool is_new = values.Has(kExecutionLimitKey);
  if (is_new && values.Has(kWorkerTimeout) && values.Text(kExecutionLimitKey) != values.Text(kWorkerTimeout))
    warnings.push_back(values.Bad(kWorkerTimeout, StrCat("no effect, as ", kExecutionLimitKey, " is set")).message);
  return values.Millis(is_new ? kExecutionLimitKey : kWorkerTimeout, 0);
}

}  // namespace

Status ParseTaskLimits(const PropertyValues& values, Warnings& warnings, JobSpec& spec) {
  TRY(ParseContainerLimits(values, warnings, spec));
  TRY_ASSIGN(spec.registry_timeout, values.Seconds(kRegistryTimeoutKey, 0, kMostRegistrySeconds));
  TRY_ASSIGN(spec.timers.execution_limit, ParseExecutionLimit(values, warnings));
  return Ok();
}

}  // namespace tony
