// The rules for what of a job's src_dir travels, made from what the job says.
#pragma once

#include <string>
#include <vector>

#include "runtime/job/job_spec.h"
#include "runtime/staging/source_tree.h"

namespace tony {

struct JobSources {
  SourceRules rules;
  // Scripts that the job names and that cannot run as they are, a line each.
  std::vector<std::string> warnings;
};

// Reads the shell scripts that the commands name, because what these name travels as well. `as_tony`: the job is one of
// a tony.xml or of Azkaban, and all of src_dir goes to its tasks except what .tonyignore names.
JobSources SourcesOf(const JobSpec& spec, bool as_tony);

}  // namespace tony
