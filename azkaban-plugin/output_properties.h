// The properties that a step leaves for the steps after it. Azkaban gives them to each direct dependent, where they go
// before the flow's own and the plugin's; so none of them may be one that a step takes for an order. Pure.
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
  std::vector<std::string> notes;  // what was left out, or has only its longer name; a line each
};

// Always: tony.job.id, tony.job.logs, and tony.job.url, which has those logs for a browser where they are a folder, as
// the job's page ends with the job; else it is the page. Of what the chief wrote: tony.output.KEY for each KEY, KEY
// itself unless that is reserved, and tony.model.path, which is the first of tony.model.path, model.path, model_path
// and model. Left out: null, and values that Azkaban would evaluate, as ${x} or $(x) in any property ends the next step
// before it begins.
OutputProperties PropertiesForNextSteps(const JobId& job, const std::string& logs, const std::string& page,
                                        const std::vector<OutputMember>& outputs);

// Whether Azkaban, one of its job types or TonY would take a property of this name for an order.
bool IsReservedName(std::string_view name);

// Strings only: Azkaban loses all of them where one is null or too large a number.
std::string ToJson(const std::map<std::string, std::string>& values);

}  // namespace tony::azkaban
