// Fuzzes the small JSON files that programs leave for each other: request records, leases, kills, the submission, and
// the status that a peer sends. A file that was read is written and read again with the same result.
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"
#include "runtime/records/request_index.h"
#include "tests/fuzz/fuzz.h"

namespace tony::fuzz {
namespace {

template <class Value>
void CheckRewritten(const Result<Value>& read, Result<Value> (*from_json)(std::string_view)) {
  if (!read.ok()) return;
  const std::string text = ToJson(*read);
  const auto again = from_json(text);
  CHECK(again.ok() && ToJson(*again) == text);
}

KeptRequest SomeRequest() {
  KeptRequest kept;
  kept.id = RequestId{"airflow://dag/run/train/-1"};
  kept.record.newest_number = 3;
  kept.record.job = JobId{"local-1700000000-4f2a9c"};
  kept.record.before = RequestRecord::Predecessor{JobId{"local-1600000000-4f2a9c"}, 2, OwnerToken{"a\n%"}};
  return kept;
}

}  // namespace

void Read(std::string_view input) {
  CheckRewritten(KeptRequestFromJson(input), KeptRequestFromJson);
  CheckRewritten(LeaseRecordFromJson(input), LeaseRecordFromJson);
  CheckRewritten(SubmissionFromJson(input), SubmissionFromJson);
  CheckRewritten(KillRequestFromJson(input), KillRequestFromJson);
  CheckRewritten(JobStatusFromJson(input), JobStatusFromJson);
  if (const auto until = RevocationFromJson(input); until.ok()) {
    const auto again = RevocationFromJson(RevocationToJson(*until));
    CHECK(again.ok() && *again == *until);
  }
}

std::vector<std::string> Seeds() {
  JobStatus status;
  status.job = JobId{"local-1700000000-4f2a9c"};
  status.state = "RUNNING";
  status.tasks = {{.id = {"worker", 0}, .state = "active", .attempt = 1, .attempt_state = "running", .host = "node-7"}};
  return {ToJson(SomeRequest()), RevocationToJson(Instant(Duration(1'700'000'000'000))),    ToJson(LeaseRecord{}),
          ToJson(Submission{}),  ToJson(KillRequest{.reason = "late", .if_owner = {"o1"}}), ToJson(status)};
}

}  // namespace tony::fuzz
