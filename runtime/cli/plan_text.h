// What `tony plan` tells a person of the job that submit would run.
#pragma once

#include <string>

#include "runtime/cli/text_table.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/staged_files.h"

namespace tony {

// Secrets are masked by the caller. Where there is a limit to the room it is clean for a terminal.
std::string PlanText(const JobSpec& spec, const SourceSummary& sources, const TableRoom& room);

// A command of several lines, as one.
std::string OnOneLine(std::string_view text);

}  // namespace tony
