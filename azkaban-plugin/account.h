// What a step tells: lines for the people who read Azkaban's log, and beside them the live status that programs read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony::azkaban {

// One line of the log, without control characters: Azkaban's page shows them as they are, and breaks lines at some.
void SayInLog(std::string_view line);

// Returns when Azkaban has read what was said, or after a moment. Azkaban 2.5 closes the output of a step that fails
// when it ends, read or not, and with it the reason would be lost.
void LetLogBeRead();

// Of one job.
class Account {
 public:
  // `attachment`: see WriteAttachment(); empty: none is wanted.
  Account(const JobRecords& records, std::filesystem::path attachment)
      : records_(records), attachment_(std::move(attachment)) {}

  void Tell(JobStatus status);  // what has changed
  void TellEnd(const JobStatus& status);

 private:
  void Attach(const JobStatus& status);

  const JobRecords records_;
  std::filesystem::path attachment_;  // empty also once it could not be written
  std::string page_, tensorboard_;
  std::optional<JobStatus> before_;
  Instant attached_{};
};

}  // namespace tony::azkaban
