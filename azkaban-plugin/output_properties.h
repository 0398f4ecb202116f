// The properties that a step leaves for the steps after it. Azkaban passes them to each direct dependent, where they
// override the properties of the flow and of the plugin. Therefore none of them may have a name that a step takes for a
// setting. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/ids.h"
#include "runtime/job/outputs.h"

namespace tony::azkaban {

struct OutputProperties {
  std::map<std::string, std::string> values;
  // A line for each output that was left out, or that has only its longer name.
  std::vector<std::string> notes;
};

// Always contains tony.job.id, tony.job.logs and tony.job.url. If the logs are a folder, tony.job.url is the URL of
// that folder, because the job's page ends with the job; otherwise it is the URL of the page. The chief's outputs add
// tony.output.KEY for each KEY, KEY itself unless the name is reserved, and tony.model.path. The latter is the first of
// the outputs tony.model.path, model.path, model_path and model. Null is left out. A value with ${x} or $(x) is also
// left out, because Azkaban would evaluate it, and a failed evaluation in any property ends the next step before it
// begins.
OutputProperties PropertiesForNextSteps(const JobId& job, const std::string& logs, const std::string& page,
                                        const std::vector<OutputMember>& outputs);

// Returns true if Azkaban, one of its job types or TonY would take a property of this name for a setting.
bool IsReservedName(std::string_view name);

// Writes only strings, because Azkaban loses all properties if one of them is null or too large a number.
std::string ToJson(const std::map<std::string, std::string>& values);

}  // namespace tony::azkaban
