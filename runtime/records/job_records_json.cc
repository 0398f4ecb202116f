// The lists of fields of leases, submissions and kills. Earlier releases had: leases with an endpoint and no socket
// (the release before sockets); submissions without `boot` and `open_files` (0.1), or without a request, or without
// `programs`.
#include <algorithm>

#include "runtime/job/json_fields.h"
#include "runtime/os/machine_boot.h"
#include "runtime/records/job_records.h"

namespace tony {
namespace {

constexpr int kFolderSchema = 1;  // nobody checks it

bool IsSocketOfAJob(const std::string& name) {
  using std::string_view_literals::operator""sv;
  constexpr size_t kLongest = 80;
  return !name.empty() && name.size() <= kLongest && name[0] != '.' && name.find_first_of("/\0"sv) == std::string::npos;
}

}  // namespace

void Fields(auto& io, Is<Endpoint> auto& endpoint) {
  io.Field("host", endpoint.host);
  io.Field("port", endpoint.port, Between{0, 65535});
}

void Fields(auto& io, Is<LeaseRecord> auto& lease) {
  io.Derived("schema", kFolderSchema);
  io.Field("epoch", lease.epoch, kAnyNumber);
  io.Field("renewal", lease.renewal, kAnyNumber);
  if (!io.Present("socket", std::holds_alternative<SocketName>(lease.am.own)))
    return Fields(io, Alternative<Endpoint>(lease.am.own));
  auto& socket = Alternative<SocketName>(lease.am.own);
  io.Field("socket", socket.value);
  io.Check("socket", IsSocketOfAJob(socket.value), "the name of a socket in the job's folder");
  if (io.Present("port", lease.am.for_old_executors.has_value())) Fields(io, Value(lease.am.for_old_executors));
}

void Fields(auto& io, Is<Submission> auto& submission) {
  io.Derived("schema", kFolderSchema);
  io.Field("job", submission.job);
  io.Field("user", submission.user);
  io.Field("host", submission.host);
  io.Field("time", submission.time, kAnyNumber);
  io.Later("boot", submission.boot);
  io.Later("open_files", submission.open_files, kAnyNumber);
  if (io.Present("request_id", true)) {
    io.Field("request_id", submission.request);
    io.Field("submission", submission.number, kAnyNumber);
    io.Field("owner", submission.claim.owner);
    io.Field("watch_timeout", submission.claim.watch_timeout, kAnyNumber);
  }
  io.IfSet("programs", submission.programs);
}

// When a delay was asked for, by clocks that tell its reader how much of the delay is left.
struct DelayedFrom {
  Duration delay{0};
  Instant asked = WallNow();
  std::string boot = BootId();
  Duration since_boot = SinceBoot();

  Duration Left() const {
    const bool same_boot = !boot.empty() && boot == BootId();
    const Duration passed = same_boot ? SinceBoot() - since_boot : WallNow() - asked;
    const Duration whole = std::max(Duration(0), delay);
    return std::max(Duration(1), whole - std::clamp(passed, Duration(0), whole));
  }
};

void Fields(auto& io, Is<DelayedFrom> auto& from) {
  constexpr Between kNoOverflow{-(int64_t{1} << 60), int64_t{1} << 60};
  io.Field("delay_ms", from.delay, kAnyNumber);
  io.Field("asked", from.asked, kNoOverflow);
  io.Field("asked_boot", from.boot);
  io.Field("asked_since_boot", from.since_boot, kNoOverflow);
}

template <class Io>
void Fields(Io& io, Is<KillRequest> auto& request) {
  io.Derived("schema", kFolderSchema);
  io.Field("reason", request.reason);
  io.Field("grace", request.grace, kAnyNumber);
  io.IfSet("if_owner", request.if_owner);
  io.IfSet("if_watcher", request.if_watcher);
  io.IfSet("due", request.due, kAnyNumber);
  if (!io.Present("delay_ms", request.delay > Duration(0))) return;
  DelayedFrom from{.delay = request.delay};
  Fields(io, from);
  if constexpr (Io::kReads) request.delay = from.Left();
}

std::string ToJson(const LeaseRecord& record) { return WriteJson(record); }
std::string ToJson(const Submission& submission) { return WriteJson(submission); }
std::string ToJson(const KillRequest& request) { return WriteJson(request); }

Result<LeaseRecord> LeaseRecordFromJson(std::string_view text) { return ReadJson<LeaseRecord>(text, "lease"); }
Result<Submission> SubmissionFromJson(std::string_view text) { return ReadJson<Submission>(text, "submission"); }
Result<KillRequest> KillRequestFromJson(std::string_view text) { return ReadJson<KillRequest>(text, "kill request"); }

}  // namespace tony
