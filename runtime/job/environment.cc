#include "runtime/job/environment.h"

#include <map>

#include "runtime/base/strings.h"

namespace tony {
namespace {

std::string_view NameOf(std::string_view variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

std::optional<std::string> VariableOf(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& variable : environment)
    if (NameOf(variable) == name && variable.size() > name.size()) return variable.substr(name.size() + 1);
  return std::nullopt;
}

std::string ContainerMark(const JobId& job, const ContainerId& container) {
  return StrCat(job.value, "/", container.value);
}

std::vector<std::string> MergeEnvironments(const std::vector<std::string>& below,
                                           const std::vector<std::string>& above) {
  std::map<std::string_view, size_t> places;
  std::vector<std::string> merged;
  for (const auto* variables : {&below, &above}) {
    for (const auto& variable : *variables) {
      const auto [place, is_new] = places.emplace(NameOf(variable), merged.size());
      if (is_new) {
        merged.push_back(variable);
      } else {
        merged[place->second] = variable;
      }
    }
  }
  return merged;
}

std::vector<std::string> WithoutMarks(const std::vector<std::string>& environment) {
  std::vector<std::string> kept;
  for (const auto& variable : environment) {
    const auto name = NameOf(variable);
    if (name != kJobMark && name != kContainerMark && name != kAmMark) kept.push_back(variable);
  }
  return kept;
}

}  // namespace tony
