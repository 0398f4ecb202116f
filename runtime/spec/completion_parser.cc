// Decides when the job is over, from the keys of the roles, TonY's lists of roles, and the rule for the whole job. The
// file also reads how roles wait for each other, and how long they may outlive each other.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/config/keys.h"
#include "runtime/job/cluster_spec.h"
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
    const auto rule = FromName<CompletionRule>(ToLower(Trim(values_.Text(kRule))));
    if (!rule) return values_.Bad(kRule, "expected strict or tony");
    TRY_ASSIGN(const bool any_fails, values_.Flag(kAnyFails));
    for (RoleSpec& role : roles) {
      // In a job without roles TonY names the only role, so lists of roles in the user's keys cannot mean this role.
      if (single_task) break;
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

  // A role in both lists is a sidecar. This is not an error, because the user may have set only one of the lists, and
  // the other one may be the default.
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
      TRY_ASSIGN(role.min_succeeded, values_.Count(succeeded, 1, role.instances));
    }
    if (!values_.Has(failed)) return Ok();
    TRY_ASSIGN(const int limit, values_.Count(failed, 1, role.instances));
    const int most = role.min_succeeded > 0 ? role.instances - role.min_succeeded + 1 : role.instances;
    if (limit > most)
      return values_.Bad(failed, StrCat("expected at most ", most, ", because after ", most, " failures among ",
                                        role.instances, " tasks, ", succeeded, "=", role.min_succeeded,
                                        " cannot be reached"));
    role.min_failed = limit;
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
    Warn(kStops, StrCat("no effect for role \"", role.name, "\", because ", own, " is set"));
  }

  void WarnOfUnknown(std::string_view key, const std::vector<RoleSpec>& roles) {
    if (!values_.Has(key)) return;
    for (const std::string& name : values_.List(key)) {
      if (std::ranges::find(roles, name, &RoleSpec::name) != roles.end()) continue;
      Warn(key, StrCat("the job has no role \"", name, "\""));
    }
  }

  // Warns if the job mentions TonY or TonY's completion rule, and would end differently under that rule.
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
    Warn(*speaks, StrCat("in LinkedIn's TonY, a task of role ", tolerated->name,
                         " may fail as long as another task succeeds; in this TonY, a failed task that is not "
                         "restarted fails the job; set ",
                         kRule, " to tony for the former behaviour, or to strict for the latter"));
  }

  void Warn(std::string_view key, const std::string& what) { warnings_.push_back(values_.Bad(key, what).message); }

  static constexpr std::string_view kSpeakOfTony[] = {kAnyFails, kStops, kTonysVersion};
  const PropertyValues& values_;
  Warnings& warnings_;
};

// ---- Which roles wait for which: tony.<role>.depends-on, and TonY's two stages.

using Until = Dependency::Until;

constexpr std::string_view kPrepare = "tony.application.prepare-stage";
constexpr std::string_view kTraining = "tony.application.training-stage";

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void Add(std::vector<Dependency>& dependencies, Dependency dependency) {
  const auto same = std::ranges::find(dependencies, dependency.role, &Dependency::role);
  if (same == dependencies.end()) return dependencies.push_back(std::move(dependency));
  if (dependency.until == Until::kSucceeded) same->until = Until::kSucceeded;  // the later of both conditions
}

Result<Dependency> ParseDependency(const PropertyValues& values, const std::string& key, const std::string& text) {
  const size_t colon = text.find(':');
  const std::string until(Trim(colon == std::string::npos ? "succeeded" : std::string_view(text).substr(colon + 1)));
  if (const auto known = FromName<Dependency::Until>(until))
    return Dependency{std::string(Trim(text.substr(0, colon))), *known};
  return values.Bad(key, StrCat("expected ROLE, or ROLE:ready for a role that keeps running; not \"", text, "\""));
}

class Stages {
 public:
  Stages(const PropertyValues& values, const std::vector<RoleSpec>& roles)
      : values_(values), roles_(roles), prepare_(values.List(kPrepare)), training_(values.List(kTraining)) {}

  // Checks the stages. No role may be in both, and every role except a sidecar must be in one. If only one stage is
  // given, all remaining roles form the other one. TonY compared only the sizes of the two lists.
  Status Check() const {
    for (const auto& [key, names] : {std::pair(kPrepare, &prepare_), std::pair(kTraining, &training_)}) {
      for (const std::string& name : *names)
        if (std::ranges::find(roles_, name, &RoleSpec::name) == roles_.end())
          return values_.Bad(key, StrCat("the job has no role \"", name, "\""));
    }
    for (const RoleSpec& role : roles_) {
      const bool in_both = Has(prepare_, role.name) && Has(training_, role.name);
      if (in_both) return values_.Bad(kTraining, StrCat("role ", role.name, " is in ", kPrepare, ", too"));
      const bool in_none = !prepare_.empty() && !training_.empty() && !IsOfStage(role.name);
      if (in_none && role.completion != Completion::kSidecar)
        return values_.Bad(kTraining, StrCat("role ", role.name, " is neither in this stage nor in ", kPrepare));
    }
    return Ok();
  }

  // As in TonY, every role of the second stage waits for all tracked roles of the first stage.
  std::vector<Dependency> Of(const RoleSpec& role) const {
    std::vector<Dependency> dependencies;
    if (!IsTraining(role.name)) return dependencies;
    for (const RoleSpec& other : roles_)
      if (IsPrepare(other.name) && other.completion == Completion::kTracked) dependencies.push_back({other.name});
    return dependencies;
  }

  void Warn(Warnings& warnings) const {
    const bool any = std::ranges::any_of(roles_, [&](const RoleSpec& role) { return !Of(role).empty(); });
    const std::string_view key = prepare_.empty() ? kTraining : kPrepare;
    if (!any && !(prepare_.empty() && training_.empty()))
      values_.Warn(key, "no effect: no role of the first stage is tracked, or the job has only one stage", warnings);
  }

 private:
  bool IsOfStage(const std::string& name) const { return Has(prepare_, name) || Has(training_, name); }
  bool IsPrepare(const std::string& name) const {
    return prepare_.empty() ? !training_.empty() && !Has(training_, name) : Has(prepare_, name);
  }
  bool IsTraining(const std::string& name) const {
    return training_.empty() ? !prepare_.empty() && !Has(prepare_, name) : Has(training_, name);
  }

  const PropertyValues& values_;
  const std::vector<RoleSpec>& roles_;
  const std::vector<std::string> prepare_, training_;
};

// ---- How long roles may continue after groups of other roles have ended: tony.application.group.<group>, and the
// timeouts under tony.application.dependency.

constexpr std::string_view kDependency = "tony.application.dependency.";
constexpr std::string_view kAfter = ".timeout.after.";
constexpr std::string_view kIgnored = ".ignored";
constexpr int64_t kLongestOutliving = 365 * 24 * 3600;

struct Named {
  std::string role, group;
};

// Returns the role and the group in "tony.application.dependency.worker.timeout.after.A".
std::optional<Named> NamesIn(std::string_view key) {
  if (key.ends_with(kIgnored)) return std::nullopt;
  key.remove_prefix(kDependency.size());
  const size_t after = key.find(kAfter);
  if (after == std::string_view::npos) return std::nullopt;
  return Named{std::string(key.substr(0, after)), std::string(key.substr(after + kAfter.size()))};
}

Result<bool> IsIgnored(const PropertyValues& values, const std::string& key) {
  return values.Has(key) ? values.Flag(key) : false;
}

class OutlivingParser {
 public:
  OutlivingParser(const PropertyValues& values, std::vector<RoleSpec>& roles, Warnings& warnings)
      : values_(values), roles_(roles), warnings_(warnings) {}

  Status Run() {
    for (const auto& [key, property] : values_.properties().all()) {
      // If the name of a role or group has other characters, the key is unknown. Unknown keys are ignored, as in TonY;
      // job_spec_parser.cc warns about them.
      if (!key.starts_with(kDependency) || !FindKey(key)) continue;
      if (const auto names = NamesIn(key)) TRY(Take(key, *names));
      const bool alone = key.ends_with(kIgnored) && !values_.Has(key.substr(0, key.size() - kIgnored.size()));
      if (alone) Warn(key, "no effect, because the same key without .ignored, which sets the timeout, is not set");
    }
    return Ok();
  }

 private:
  // A timeout that can have no effect does no harm, so it causes a warning and not an error. TonY ignored such a
  // timeout.
  Status Take(const std::string& key, const Named& names) {
    TRY_ASSIGN(const Duration limit, values_.Seconds(key, 0, kLongestOutliving));
    TRY_ASSIGN(const bool ignored, IsIgnored(values_, key + std::string(kIgnored)));
    const auto role = std::ranges::find(roles_, names.role, &RoleSpec::name);
    const std::string group = "tony.application.group." + names.group;
    if (role == roles_.end()) return Ignore(key, StrCat("no effect: the job has no role \"", names.role, "\""));
    if (!values_.Has(group)) return Ignore(key, StrCat("no effect: ", group, " is not set"));
    std::vector<std::string> of_group = values_.List(group);
    std::erase_if(of_group, [&](const std::string& name) {
      const bool there = std::ranges::find(roles_, name, &RoleSpec::name) != roles_.end();
      if (!there) Warn(group, StrCat("the job has no role \"", name, "\""));
      return !there;
    });
    if (std::ranges::count(of_group, names.role) > 0)
      return Ignore(key, StrCat("this timeout has no effect, because role ", names.role, " is itself in ", group));
    if (of_group.empty()) return Ignore(key, StrCat("no effect: the job has none of the roles in ", group));
    role->outlives.push_back({names.group, std::move(of_group), limit, ignored});
    return Ok();
  }

  Status Ignore(const std::string& key, const std::string& why) {
    Warn(key, why);
    return Ok();
  }
  void Warn(std::string_view key, const std::string& why) {
    std::string warning = values_.Bad(key, why).message;
    if (std::ranges::count(warnings_, warning) == 0) warnings_.push_back(std::move(warning));
  }

  const PropertyValues& values_;
  std::vector<RoleSpec>& roles_;
  Warnings& warnings_;
};

}  // namespace

Result<CompletionRule> ParseCompletion(const PropertyValues& values, bool single_task, std::vector<RoleSpec>& roles,
                                       Warnings& warnings) {
  return CompletionParser(values, warnings).Parse(single_task, roles);
}

Status ParseDependencies(const PropertyValues& values, std::vector<RoleSpec>& roles, Warnings& warnings) {
  const Stages stages(values, roles);
  TRY(stages.Check());
  stages.Warn(warnings);
  std::vector<std::vector<Dependency>> all;
  for (const RoleSpec& role : roles) {
    std::vector<Dependency> dependencies = stages.Of(role);
    const std::string key = StrCat("tony.", role.name, ".depends-on");
    for (const std::string& text : values.List(key)) {
      TRY_ASSIGN(Dependency dependency, ParseDependency(values, key, text));
      Add(dependencies, std::move(dependency));
    }
    std::ranges::sort(dependencies, {}, &Dependency::role);
    all.push_back(std::move(dependencies));
  }
  for (size_t i = 0; i < roles.size(); ++i) roles[i].depends_on = std::move(all[i]);
  const auto fault = FindFault(JobSpec{.roles = roles});
  if (!fault) return Ok();
  const std::string key = StrCat("tony.", fault->role, ".depends-on");
  return values.Bad(values.Has(key) ? key : std::string(values.Has(kPrepare) ? kPrepare : kTraining), fault->why);
}

Status ParseOutliving(const PropertyValues& values, std::vector<RoleSpec>& roles, Warnings& warnings) {
  return OutlivingParser(values, roles, warnings).Run();
}

}  // namespace tony
