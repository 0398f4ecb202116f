// When the job is over: what the keys of roles, TonY's lists, and the rule for all make of each role.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

constexpr std::string_view kRule = "tony.application.completion-rule";
constexpr std::string_view kUntracked = "tony.application.untracked.jobtypes";
constexpr std::string_view kSidecars = "tony.application.sidecar.jobtypes";
constexpr std::string_view kStops = "tony.application.stop-on-failure-jobtypes";
constexpr std::string_view kAnyFails = "tony.application.fail-on-worker-failure-enabled";
constexpr std::string_view kTonysVersion = "tony.compat.version";

class CompletionParser {
 public:
  CompletionParser(const PropertyValues& values, Warnings& warnings) : values_(values), warnings_(warnings) {}

  Result<CompletionRule> Parse(bool single_task, std::vector<RoleSpec>& roles) {
    const auto rule = CompletionRuleFromString(ToLower(Trim(values_.Text(kRule))));
    if (!rule) return values_.Bad(kRule, "expected strict or tony");
    TRY_ASSIGN(const bool any_fails, values_.Flag(kAnyFails));
    for (RoleSpec& role : roles) {
      if (single_task) break;  // its name is ours, and no list speaks of it
      role.completion = CompletionOf(role.name);
      TRY(ReadOwn(role));
      const bool listed = Lists(kStops, role.name);
      if (HasOwn(role)) {
        if (listed && values_.Has(kStops)) WarnOfOwn(role);
      } else {
        const bool fails = listed || (any_fails && (*rule == CompletionRule::kTony || !IsSidecar(role)));
        SetLimit(role, *rule, fails);
      }
    }
    for (const auto key : {kUntracked, kSidecars}) WarnOfUnknown(key, roles);
    if (*rule == CompletionRule::kTony) WarnOfUnknown(kStops, roles);
    if (!single_task && *rule == CompletionRule::kStrict && !any_fails) WarnOfTonysRule(roles);
    return *rule;
  }

 private:
  static bool IsSidecar(const RoleSpec& role) { return role.completion == Completion::kSidecar; }
  static bool HasOwn(const RoleSpec& role) { return role.min_succeeded > 0 || role.min_failed; }

  bool Lists(std::string_view key, const std::string& name) const {
    const std::vector<std::string> listed = values_.List(key);
    return std::ranges::find(listed, name) != listed.end();
  }

  // A role in both lists is a sidecar: one list may be the default.
  Completion CompletionOf(const std::string& name) const {
    if (Lists(kSidecars, name)) return Completion::kSidecar;
    return Lists(kUntracked, name) ? Completion::kUntracked : Completion::kTracked;
  }

  Status ReadOwn(RoleSpec& role) const {
    const std::string succeeded = role.Key("min-succeeded"), failed = role.Key("min-failed");
    if (values_.Has(succeeded)) {
      if (role.completion != Completion::kTracked)
        return values_.Bad(succeeded, StrCat("the role is ", ToString(role.completion),
                                             ", and the job waits for none of its tasks; expected a tracked role"));
      TRY_ASSIGN(const int64_t enough, values_.Number(succeeded, 1, role.instances));
      role.min_succeeded = static_cast<int>(enough);
    }
    if (!values_.Has(failed)) return Ok();
    TRY_ASSIGN(const int64_t limit, values_.Number(failed, 1, role.instances));
    const int64_t most = role.min_succeeded > 0 ? role.instances - role.min_succeeded + 1 : role.instances;
    if (limit > most)
      return values_.Bad(failed, StrCat("expected at most ", most, ": with so many failures of ", role.instances,
                                        " tasks, ", succeeded, "=", role.min_succeeded, " is out of reach"));
    role.min_failed = static_cast<int>(limit);
    return Ok();
  }

  static void SetLimit(RoleSpec& role, CompletionRule rule, bool fails) {
    if (IsSidecar(role)) {
      if (fails) role.min_failed = 1;
    } else if (role.completion == Completion::kTracked && rule == CompletionRule::kTony) {
      role.min_failed = fails ? 1 : 0;
    }
  }

  void WarnOfOwn(const RoleSpec& role) {
    const std::string own = role.Key(role.min_failed ? "min-failed" : "min-succeeded");
    Warn(kStops, StrCat("no effect for role \"", role.name, "\", as ", own, " is set"));
  }

  void WarnOfUnknown(std::string_view key, const std::vector<RoleSpec>& roles) {
    if (!values_.Has(key)) return;
    for (const std::string& name : values_.List(key)) {
      if (std::ranges::find(roles, name, &RoleSpec::name) != roles.end()) continue;
      Warn(key, StrCat("the job has no role \"", name, "\""));
    }
  }

  // Of a job that speaks of TonY's rule, or of TonY, where that rule would have it end otherwise.
  void WarnOfTonysRule(const std::vector<RoleSpec>& roles) {
    if (values_.Has(kRule)) return;
    const auto speaks = std::ranges::find_if(kSpeakOfTony, [&](const auto key) { return values_.Has(key); });
    const bool has_chief = std::ranges::count(roles, "chief", &RoleSpec::name) > 0;
    int tracked = 0;
    const RoleSpec* tolerated = nullptr;
    for (const RoleSpec& role : roles) {
      if (role.completion != Completion::kTracked) continue;
      tracked += role.instances;
      const bool is_chief = role.instances == 1 && role.name == (has_chief ? "chief" : "worker");
      if (!is_chief && !HasOwn(role) && !Lists(kStops, role.name)) tolerated = &role;
    }
    if (speaks == std::end(kSpeakOfTony) || !tolerated || tracked < 2) return;
    Warn(*speaks, StrCat("in TonY a task of role ", tolerated->name, " may fail as long as another task succeeds; here",
                         " it fails the job, unless it is restarted; ", kRule, "=tony or strict says which is meant"));
  }

  void Warn(std::string_view key, const std::string& what) { warnings_.push_back(values_.Bad(key, what).message); }

  static constexpr std::string_view kSpeakOfTony[] = {kAnyFails, kStops, kTonysVersion};
  const PropertyValues& values_;
  Warnings& warnings_;
};

}  // namespace

Result<CompletionRule> ParseCompletion(const PropertyValues& values, bool single_task, std::vector<RoleSpec>& roles,
                                       Warnings& warnings) {
  return CompletionParser(values, warnings).Parse(single_task, roles);
}

}  // namespace tony
