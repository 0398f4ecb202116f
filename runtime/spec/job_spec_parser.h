// Properties in, JobSpec out: the one parser. Every error names key, value, origin and what was expected. All that is
// wrong is told at once, one thing a line; lines "warning: ..." follow.
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
  Duration watch_timeout{0};    // tony.azkaban.watch-timeout, for Azkaban's adapter; nobody else claims by it
  SiteFiles site_files;         // none but with tony.scheduler=yarn
  Configuration configuration;  // what it was made of
  std::map<std::string, std::string> secrets;  // variables of the tasks that stand neither there nor in the spec
  // The job is described by a tony.xml or a job file, so its src_dir means what it meant for TonY.
  bool is_of_tonys = false;
  std::vector<std::string> warnings;  // unknown tony.* keys with the nearest known name, keys without effect here
};

// `directory`: what relative paths are relative to. Looks at the file system only to check that the files it
// names are there and that the checkpoint folder, which need not be, is a folder.
Result<ParsedJobSpec> ParseJobSpec(const Properties& properties, const std::filesystem::path& directory);

// A configuration as conf.json keeps it and `tony plan --explain --json` shows it: [{"key","value","source"}].

std::string ToJson(const Configuration& configuration);
Result<Configuration> ConfigurationFromJson(std::string_view json);

}  // namespace tony
