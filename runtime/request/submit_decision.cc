#include "runtime/request/submit_decision.h"

#include <array>
#include <utility>

#include "runtime/base/check.h"

namespace tony {
namespace {

constexpr std::array<std::pair<OnExisting, std::string_view>, 3> kPolicyNames = {
    {{OnExisting::kAdopt, "adopt"}, {OnExisting::kAttach, "attach"}, {OnExisting::kNever, "never"}}};

}  // namespace

std::string_view ToString(OnExisting policy) {
  for (const auto& [named, name] : kPolicyNames)
    if (named == policy) return name;
  CHECK(false);
}

std::optional<OnExisting> OnExistingFromString(std::string_view text) {
  for (const auto& [policy, name] : kPolicyNames)
    if (name == text) return policy;
  return std::nullopt;
}

SubmitDecision DecideSubmit(const KnownRequest& known, const SubmitAsk& ask) {
  if (ask.number < known.newest_number) return SubmitDecision::kRefuseStale;
  if (known.revoked) return SubmitDecision::kRefuseRevoked;
  const bool same = ask.number == known.job_number;
  switch (known.existing) {
    case ExistingJob::kNone:
    case ExistingJob::kEnding:
      return SubmitDecision::kCreate;
    case ExistingJob::kActive:
      return same && ask.on_existing != OnExisting::kNever ? SubmitDecision::kAttach : SubmitDecision::kReplace;
    case ExistingJob::kSucceeded:
      return same && ask.on_existing == OnExisting::kAdopt ? SubmitDecision::kAdopt : SubmitDecision::kCreate;
  }
  CHECK(false);
}

}  // namespace tony
