// The properties that a step leaves for the steps after it. Azkaban passes these properties to each direct dependent,
// where they override the properties of the flow and of the plugin. Therefore none of them may have the name of a
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
  // A line for each output that was left out, or that is passed only under its longer name tony.output.KEY.
  std::vector<std::string> notes;
};

// Returns the properties. They always contain tony.job.id, tony.job.logs and tony.job.url. If the logs are a folder,
// tony.job.url is the URL of that folder, because the job's page ends with the job. Otherwise tony.job.url is the
// URL of the page.
//
// Each output KEY of the chief adds tony.output.KEY, and also KEY itself unless that name is reserved. The first of the
// outputs tony.model.path, model.path, model_path and model becomes tony.model.path. An output that is null is left
// out. A value with ${x} or $(x) is left out, because Azkaban would evaluate it, and a failed evaluation ends the next
// step before it begins.
OutputProperties PropertiesForNextSteps(const JobId& job, const std::string& logs, const std::string& page,
                                        const std::vector<OutputMember>& outputs);

// Returns true if a property of this name is a setting of Azkaban, of one of its job types or of TonY.
bool IsReservedName(std::string_view name);

// Returns the values as one JSON object that contains only strings. Azkaban loses all properties if one of them is null
// or too large a number.
std::string ToJson(const std::map<std::string, std::string>& values);

}  // namespace tony::azkaban
