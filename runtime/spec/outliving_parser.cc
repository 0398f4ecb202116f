// How long roles may run on after groups of others: tony.application.group.<group> and the keys of dependency timeouts.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/config/keys.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

constexpr std::string_view kDependency = "tony.application.dependency.";
constexpr std::string_view kAfter = ".timeout.after.";
constexpr std::string_view kIgnored = ".ignored";
constexpr int64_t kLongestOutliving = 365 * 24 * 3600;

struct Named {
  std::string role, group;
};

// Of "tony.application.dependency.worker.timeout.after.A".
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
      // Names of other characters make it an unknown key, which is ignored, as in TonY; key_checks.cc warns of it.
      if (!key.starts_with(kDependency) || !FindKey(key)) continue;
      if (const auto names = NamesIn(key)) TRY(Take(key, *names));
      const bool alone = key.ends_with(kIgnored) && !values_.Has(key.substr(0, key.size() - kIgnored.size()));
      if (alone) Warn(key, "no effect without the key of the timeout itself");
    }
    return Ok();
  }

 private:
  // What can have no effect is told, and harms nobody: TonY passed over it, too.
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
      return Ignore(key, StrCat("no effect: role ", names.role, " is of that group itself"));
    if (of_group.empty()) return Ignore(key, StrCat("no effect: the job has no role of ", group));
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

Status ParseOutliving(const PropertyValues& values, std::vector<RoleSpec>& roles, Warnings& warnings) {
  return OutlivingParser(values, roles, warnings).Run();
}

}  // namespace tony
