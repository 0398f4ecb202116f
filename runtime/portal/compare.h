// Two jobs side by side. A job is described by sections of named values, so a new section needs only another line in
// ReadJobFacts().
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/records/job_records.h"

namespace tony {

struct FactSection {
  std::string title;
  std::map<std::string, std::string> values;
  bool operator==(const FactSection&) const = default;
};

struct JobFacts {
  std::string job, name, state;
  std::vector<FactSection> sections;
  bool operator==(const JobFacts&) const = default;
};

// Reads the facts of a job: how it went, the properties that were set, its outputs, what its roles used, and its files'
// digests. A part that cannot be read is missing.
Result<JobFacts> ReadJobFacts(const JobRecords& records);

std::string ToJson(const JobFacts& facts);
Result<JobFacts> JobFactsFromJson(std::string_view json);

// Returns the page of the comparison. In each section, values that differ come first; equal values are folded. `paths`
// are the paths of the jobs' pages.
std::string CompareHtml(const std::pair<JobFacts, JobFacts>& jobs, const std::pair<std::string, std::string>& paths);

}  // namespace tony
