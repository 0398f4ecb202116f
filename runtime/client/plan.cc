// `tony plan`: the job as submit would run it, with secrets masked; with --explain the values it was made of, and where
// they come from.
#include <algorithm>

#include "runtime/backend/backend.h"
#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/output.h"
#include "runtime/client/spec_input.h"
#include "runtime/job/configuration_json.h"

namespace tony {
namespace {

void Mask(std::map<std::string, std::string>& environment) {
  for (auto& [name, value] : environment) {
    if (IsSecretName(name)) value = kMask;
  }
}

// A command of several lines, as one.
std::string OneLine(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c >= 0 && c < ' '; }, ' ');
  return text;
}

std::string Explain(const Configuration& configuration) {
  std::string text;
  for (const ConfiguredValue& value : configuration)
    text += StrCat(value.key, " = ", OneLine(value.value), "  (", value.source, ")\n");
  return text;
}

}  // namespace

Result<int> RunPlan(const CommandLine& line) {
  TRY_ASSIGN(ParsedJobSpec parsed, ReadJobSpec(line));
  TRY_ASSIGN(const Backend* const backend, BackendFor(parsed));
  if (const auto warning = backend->WhyRefused(parsed)) parsed.warnings.push_back(*warning);
  if (line.Has("strict")) TRY(NoWarnings(parsed.warnings));
  JobSpec shown = parsed.spec;
  Mask(shown.execution_env);
  Mask(shown.container_env);
  for (const std::string& warning : parsed.warnings) Say(StrCat("tony: warning: ", warning));
  const bool explain = line.Has("explain");
  if (!line.Has("json")) {
    Print(explain ? Explain(parsed.configuration) : ToJson(shown) + "\n");
    return 0;
  }
  std::vector<std::string> warnings;
  for (const std::string& warning : parsed.warnings) warnings.push_back(JsonString(warning));
  PrintLine(StrCat(R"({"schema":1,"spec":)", ToJson(shown), R"(,"warnings":[)", Join(warnings, ","), "]",
                   explain ? StrCat(R"(,"configuration":)", ToJson(parsed.configuration)) : "", "}"));
  return 0;
}

}  // namespace tony
