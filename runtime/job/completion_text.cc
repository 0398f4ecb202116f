#include "runtime/job/completion_text.h"

#include "runtime/base/strings.h"

namespace tony {
namespace {

std::string EndText(const RoleSpec& role) {
  if (role.completion != Completion::kTracked) return "not waited for";
  if (role.min_succeeded > 0)
    return StrCat("over when ", role.min_succeeded, " of ", role.instances, " tasks have succeeded");
  return role.instances == 1 ? "over when its task has ended"
                             : StrCat("over when its ", role.instances, " tasks have ended");
}

std::string FailureText(int fails_at) {
  if (fails_at == 0) return "failures are tolerated";
  return fails_at == 1 ? "the first failure fails the job" : StrCat(fails_at, " failures fail the job");
}

}  // namespace

std::vector<std::string> CompletionLines(const JobSpec& spec) {
  std::vector<std::string> lines;
  std::string chief;
  for (const RoleSpec& role : spec.roles) {
    lines.push_back(StrCat("role ", role.name, " (", ToString(role.completion), "): ", EndText(role), "; ",
                           FailureText(role.FailsAt())));
    if (spec.IsChief({role.name, 0})) chief = StrCat("a failure of ", role.name, ":0, or ");
  }
  if (spec.completion_rule == CompletionRule::kTony)
    lines.push_back(StrCat("TonY's rule: ", chief, "the failure of all tracked tasks fails the job"));
  return lines;
}

}  // namespace tony
