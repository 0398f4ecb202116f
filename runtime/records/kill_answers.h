// What the keeper answers to a kill with a condition, where no AM can: beside the request, for the asker to take.
#pragma once

#include <optional>
#include <string>

#include "runtime/records/job_records.h"

namespace tony {

struct FiledAnswer {
  std::optional<KillAnswer> answer;  // nothing: it was refused, because it cannot be decided
  std::string why;                   // it was refused
  bool operator==(const FiledAnswer&) const = default;
};

// `name`: the request's.
Status WriteFiledAnswer(const JobRecords& records, const std::string& name, const FiledAnswer& filed);  // by rename
Result<std::optional<FiledAnswer>> ReadFiledAnswer(const JobRecords& records, const std::string& name);
void RemoveFiledAnswer(const JobRecords& records, const std::string& name);

}  // namespace tony
