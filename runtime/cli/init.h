// What `tony init` writes: a job, and the program that it runs.
#pragma once

#include <span>
#include <string_view>

namespace tony {

struct JobTemplate {
  std::string_view kind;     // as it is asked for
  std::string_view program;  // the program's file
  std::string_view needs;    // Python packages that python3 needs for it; empty: none
  std::string_view job_text;
  std::string_view program_text;
};

std::span<const JobTemplate> JobTemplates();  // the first one if none is asked for

}  // namespace tony
