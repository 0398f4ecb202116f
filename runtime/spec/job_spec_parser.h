// The one parser of job specs: properties in, JobSpec out. Every error names the key, the value, the origin and what
// was expected. All problems are reported at once, one on each line; lines "warning: ..." follow.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/config/configuration.h"
#include "runtime/config/properties.h"
#include "runtime/job/job_spec.h"
#include "runtime/spec/property_values.h"

namespace tony {

struct ParsedJobSpec {
  JobSpec spec;
  // The value of tony.azkaban.watch-timeout. Only Azkaban's adapter uses it.
  Duration watch_timeout{0};
  SiteFiles site_files;  // empty without tony.scheduler=yarn
  // The configuration that the spec was made of.
  Configuration configuration;
  // The secret variables of the tasks, which are neither in the spec nor in the configuration.
  std::map<std::string, std::string> secrets;
  // True: a tony.xml or a job file describes the job, so `src_dir` has the meaning that TonY gave it.
  bool is_tony_job = false;
  // Warnings about unknown tony.* keys, with the nearest known name, and about keys that have no effect in this job.
  std::vector<std::string> warnings;
};

// Parses the properties of a job. Relative paths are relative to `directory`. The file system is read for three checks
// only: that named files exist, that the checkpoint folder is a folder if it exists, and how the program of a command
// can be started.
Result<ParsedJobSpec> ParseJobSpec(const Properties& properties, const std::filesystem::path& directory);

// ---- The JSON form of a configuration in conf.json and in `tony plan --explain --json`: [{"key","value","source"}].

std::string ToJson(const Configuration& configuration);
Result<Configuration> ConfigurationFromJson(std::string_view json);

}  // namespace tony
