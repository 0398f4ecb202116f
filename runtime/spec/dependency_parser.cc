// Which roles wait for which: tony.<role>.depends-on, and TonY's two stages.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/dependencies.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

using Until = Dependency::Until;

constexpr std::string_view kPrepare = "tony.application.prepare-stage";
constexpr std::string_view kTraining = "tony.application.training-stage";

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void Add(std::vector<Dependency>& dependencies, Dependency dependency) {
  const auto same = std::ranges::find(dependencies, dependency.role, &Dependency::role);
  if (same == dependencies.end()) return dependencies.push_back(std::move(dependency));
  if (dependency.until == Until::kSucceeded) same->until = Until::kSucceeded;  // the later of the two
}

Result<Dependency> ParseDependency(const PropertyValues& values, const std::string& key, const std::string& text) {
  const size_t colon = text.find(':');
  const std::string until(Trim(colon == std::string::npos ? "succeeded" : std::string_view(text).substr(colon + 1)));
  if (const auto known = UntilFromString(until)) return Dependency{std::string(Trim(text.substr(0, colon))), *known};
  return values.Bad(key, StrCat("expected ROLE, or ROLE:ready for one that runs on; not \"", text, "\""));
}

class Stages {
 public:
  Stages(const PropertyValues& values, const std::vector<RoleSpec>& roles)
      : values_(values), roles_(roles), prepare_(values.List(kPrepare)), training_(values.List(kTraining)) {}

  // Each role is in one of the two; where only one is given, the rest is the other. TonY compared their sizes alone.
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
        return values_.Bad(kTraining, StrCat("role ", role.name, " is neither in it nor in ", kPrepare));
    }
    return Ok();
  }

  // As in TonY: every role of the second stage waits for all tracked ones of the first.
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
      warnings.push_back(
          values_.Bad(key, "no effect: no role of the first stage is tracked, or there is one stage").message);
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

}  // namespace

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

}  // namespace tony
