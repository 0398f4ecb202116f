#include "runtime/client/checked_spec.h"

#include "runtime/framework/framework.h"
#include "runtime/framework/restart_scope.h"
#include "runtime/spec/property_values.h"

namespace tony {

Result<ParsedJobSpec> CheckedJobSpec(const Properties& properties, const std::filesystem::path& directory) {
  TRY_ASSIGN(ParsedJobSpec parsed, ParseJobSpec(properties, directory));
  Problems problems;
  for (const Status& checked : {CheckFramework(parsed.spec), CheckEnvironment(parsed.spec, parsed.secrets)})
    if (!checked.ok()) problems.Note(checked.error());
  TRY(problems.All(parsed.warnings));
  for (std::string& warning : ScopeWarnings(parsed.spec)) parsed.warnings.push_back(std::move(warning));
  for (std::string& warning : ToleranceWarnings(parsed.spec)) parsed.warnings.push_back(std::move(warning));
  return parsed;
}

}  // namespace tony
