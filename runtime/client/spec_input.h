// From a command line to a job spec, for the verbs that take one: the straight way's first two steps.
#pragma once

#include <vector>

#include "runtime/base/result.h"
#include "runtime/client/command_line.h"
#include "runtime/job/job_spec_parser.h"

namespace tony {

std::vector<OptionSpec> SpecOptions();  // TonY's: -executes, -src_dir, -conf, ...

// Loads, parses and checks everything that can be checked before a job exists.
Result<ParsedJobSpec> ReadJobSpec(const CommandLine& line);

}  // namespace tony
