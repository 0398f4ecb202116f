// From a command line to a job spec, for the verbs that take one: steps 2 and 3 of the way of a job in README.md.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

std::vector<OptionSpec> SpecOptions();  // TonY's: -executes, -src_dir, -conf, ...

// Loads, parses and checks everything that can be checked before a job exists. With --strict warnings are errors.
Result<ParsedJobSpec> ReadJobSpec(const CommandLine& line);

// kInvalid with all of them, if there are any.
Status NoWarnings(const std::vector<std::string>& warnings);

}  // namespace tony
