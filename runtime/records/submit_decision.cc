#include "runtime/records/submit_decision.h"

#include <array>
#include <utility>

#include "runtime/base/check.h"

namespace tony {
namespace {

constexpr std::array<std::pair<OnExisting, std::string_view>, 3> kPolicyNames = {
    {{OnExisting::kAdopt, "adopt"}, {OnExisting::kAttach, "attach"}, {OnExisting::kNever, "never"}}};

bool IsOfAnotherRun(const KnownRequest& known, const SubmitAsk& ask) {
  return !ask.run.value.empty() && !known.run.value.empty() && ask.run != known.run;
}

SubmitAsker AskerOf(const KnownRequest& known, const SubmitAsk& ask) {
  return ask.asker == SubmitAsker::kLaterTry && IsOfAnotherRun(known, ask) ? SubmitAsker::kFirstTry : ask.asker;
}

SubmitDecision OnActive(const KnownRequest& known, const SubmitAsk& ask) {
  if (ask.number != known.job_number || ask.on_existing == OnExisting::kNever) return SubmitDecision::kReplace;
  const SubmitAsker asker = AskerOf(known, ask);
  if (!known.differs || asker == SubmitAsker::kLaterTry) return SubmitDecision::kAttach;
  return asker == SubmitAsker::kFirstTry ? SubmitDecision::kReplace : SubmitDecision::kRefuseDiffers;
}

SubmitDecision OnSucceeded(const KnownRequest& known, const SubmitAsk& ask) {
  if (ask.number != known.job_number || ask.on_existing != OnExisting::kAdopt) return SubmitDecision::kCreate;
  if (IsOfAnotherRun(known, ask)) return SubmitDecision::kCreate;
  if (known.consumed && ask.asker == SubmitAsker::kFirstTry) return SubmitDecision::kCreate;
  if (ask.asker == SubmitAsker::kLaterTry && !known.consumed) return SubmitDecision::kAdopt;
  return known.differs ? SubmitDecision::kCreate : SubmitDecision::kAdopt;
}

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
  switch (known.existing) {
    case ExistingJob::kNone:
    case ExistingJob::kEnding:
      return SubmitDecision::kCreate;
    case ExistingJob::kActive:
      return OnActive(known, ask);
    case ExistingJob::kSucceeded:
      return OnSucceeded(known, ask);
  }
  CHECK(false);
}

bool DigestDecides(const KnownRequest& known, const SubmitAsk& ask) {
  KnownRequest same = known, other = known;
  same.differs = false;
  other.differs = true;
  return DecideSubmit(same, ask) != DecideSubmit(other, ask);
}

}  // namespace tony
