// Usage as JSON: in the status document, in journals and in the files of an attempt.
//
//   {"samples":12,"memory_bytes":...,"mean_memory_bytes":...,"most_memory_bytes":...,"cpu_ms":...,"millicores":...,
//    "most_millicores":...,"elapsed_ms":...,
//    "gpu":{"memory_bytes":...,"most_memory_bytes":...,"percent":...,"mean_percent":...,"most_percent":...}}
//
// "gpu" only where GPUs were measured.
#pragma once

#include "runtime/job/json_fields.h"
#include "runtime/job/usage.h"

namespace tony {

boost::json::object UsageJson(const Usage& usage);
Result<Usage> ReadUsage(JsonFields fields);

}  // namespace tony
