// `tony plan`: the job as submit would run it, with secrets masked.
#include <array>

#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/machine_check.h"
#include "runtime/client/output.h"
#include "runtime/client/spec_input.h"

namespace tony {
namespace {

bool IsSecret(const std::string& name) {
  constexpr std::array<std::string_view, 4> kWords = {"password", "secret", "token", "key"};
  const std::string lower = ToLower(name);
  for (const std::string_view word : kWords) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return false;
}

void Mask(std::map<std::string, std::string>& environment) {
  for (auto& [name, value] : environment) {
    if (IsSecret(name)) value = "********";
  }
}

}  // namespace

Result<int> RunPlan(const CommandLine& line) {
  TRY_ASSIGN(ParsedJobSpec parsed, ReadJobSpec(line));
  if (const auto warning = MachineWarning(parsed.spec)) parsed.warnings.push_back(*warning);
  JobSpec shown = parsed.spec;
  Mask(shown.execution_env);
  Mask(shown.container_env);
  for (const std::string& warning : parsed.warnings) Say(StrCat("tony: warning: ", warning));
  if (!line.Has("json")) {
    PrintLine(ToJson(shown));
    return 0;
  }
  std::vector<std::string> warnings;
  for (const std::string& warning : parsed.warnings) warnings.push_back(JsonString(warning));
  PrintLine(StrCat(R"({"schema":1,"spec":)", ToJson(shown), R"(,"warnings":[)", Join(warnings, ","), "]}"));
  return 0;
}

}  // namespace tony
