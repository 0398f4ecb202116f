// The output of a step: lines for people who read Azkaban's log, and the live status for programs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony::azkaban {

// Prints a line into the log, without control characters, because Azkaban's page shows control characters unchanged and
// breaks lines at some of them.
void PrintInLog(std::string_view line);

// Waits until Azkaban has read the output, for about half a second at most. Azkaban 2.5 closes the output of a failed
// step when the step ends. Without this wait, unread lines would be lost, such as the reason of the failure.
void WaitForLogReader();

// Prints the lines about one job, and writes its live status.
class Account {
 public:
  // `attachment` is the file for WriteAttachment(); empty if Azkaban does not request a live status.
  Account(const JobRecords& records, std::filesystem::path attachment)
      : records_(records), attachment_(std::move(attachment)) {}

  // Tell() prints the changes since its previous call. TellEnd() prints the verdict.
  void Tell(JobStatus status);
  void TellEnd(const JobStatus& status);

 private:
  void Attach(const JobStatus& status);

  const JobRecords records_;
  std::filesystem::path attachment_;  // empty also after a failed write
  std::string page_, tensorboard_;
  std::optional<JobStatus> before_;
  Instant attached_{};
};

}  // namespace tony::azkaban
