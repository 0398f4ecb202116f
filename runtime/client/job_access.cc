#include "runtime/client/job_access.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/outputs.h"
#include "runtime/os/files.h"
#include "runtime/records/last_status.h"
#include "runtime/rpc/am_connection.h"

namespace tony {
namespace {

constexpr Duration kAskLimit{1000};

Result<JobStatus> AskAm(const JobRecords& records) {
  TRY_ASSIGN(const auto lease, records.ReadLease());
  if (!lease) return Error{ErrorCode::kUnavailable, "no application master has started yet"};
  TRY_ASSIGN(const std::string token, records.ReadToken());
  TRY_ASSIGN(MakeChannel tls, BackendOf(records.job()).arbiter().WayToAm(records));
  EventLoop loop;
  const auto am = MakeAmConnection(loop, records.place(), kAskLimit, std::move(tls));
  am->Use(lease->am.own);
  Result<JobStatus> status = Error{ErrorCode::kUnavailable, "the application master has not answered"};
  am->GetStatus(token, [&](const Answer<JobStatus>& answer) {
    std::visit(Overloaded{[&](const JobStatus& told) { status = told; },
                          [&](const auto& instead) { status = ErrorOf(instead); }},
               answer);
    loop.Stop();
  });
  loop.Run();
  return status;
}

KnownStatus Ended(const JobRecords& records, JobStatus status) {
  const std::string problem = OutputsProblem(records, status);
  const auto acked = records.IsAcked();
  return {.status = std::move(status), .acked = acked.ok() && *acked, .outputs_problem = problem};
}

JobStatus WithPage(JobStatus status) {
  if (status.tracking_url.empty()) status.tracking_url = BackendOf(status.job).logs().PageWithoutMaster(status.job);
  return status;
}

constexpr size_t kMostEnded = 1000;
// The number of ended jobs that are compared to find the newest job for the word `last`. The jobs' ids do not suffice
// for this, because the time in an id is only exact to the second.
constexpr size_t kMostOfASecond = 100;
constexpr size_t kShortestBeginning = 4;
constexpr size_t kMostTold = 5;

// Returns jobs of all backends. All backends are queried, because a word may be the beginning of an id in one backend
// and a job's name in another.
Result<std::vector<JobRecords>> Gather(const std::function<Result<std::vector<JobRecords>>(const JobStore&)>& choose) {
  std::vector<JobRecords> gathered;
  const auto add = [&](const Backend& backend) -> Status {
    TRY_ASSIGN(const auto jobs, backend.Jobs(JobId()));
    TRY_ASSIGN(auto chosen, choose(*jobs));
    std::ranges::move(chosen, std::back_inserter(gathered));
    return Ok();
  };
  TRY_ASSIGN(const auto failure, VisitConfigured(add));
  if (failure) return *failure;
  return gathered;
}

struct Match {
  std::optional<JobRecords> job;
  Instant submitted{};
  size_t number = 0;  // number of matching jobs
};

// Returns the newest job that fits. A job that cannot be read has neither a name nor a time and is left out here; `tony
// list` names it.
template <typename Fits>
Result<Match> NewestThat(const Fits& fits, size_t most_ended) {
  TRY_ASSIGN(auto jobs, Gather([&](const JobStore& store) -> Result<std::vector<JobRecords>> {
               TRY_ASSIGN(auto newest, store.ListNewest(most_ended));
               return std::move(newest.jobs);
             }));
  Match match;
  for (JobRecords& job : jobs) {
    const Result<JobStatus> status = StoredStatus(job);
    if (!status.ok() || !fits(*status)) continue;
    ++match.number;
    if (match.job && match.submitted >= status->submitted) continue;
    match.job = std::move(job);
    match.submitted = status->submitted;
  }
  return match;
}

Error Several(const std::string& word, const std::vector<JobRecords>& jobs) {
  std::vector<std::string> ids;
  for (const JobRecords& job : jobs) {
    if (ids.size() == kMostTold) break;
    ids.push_back(job.job().value);
  }
  return {ErrorCode::kNotFound, StrCat("\"", word, "\" matches ", jobs.size(), " jobs: ", Join(ids, ", "),
                                       jobs.size() > ids.size() ? ", ..." : "")};
}

}  // namespace

Result<JobRecords> FindJob(const std::string& id) {
  // The id becomes part of a path. An id that would lead out of the folder of jobs is therefore refused.
  if (id.empty() || id[0] == '.' || id.find('/') != std::string::npos)
    return Error{ErrorCode::kNotFound, StrCat("\"", id, "\" is not a job id; \"tony list\" shows the job ids")};
  TRY(CheckConfigured({id}));
  TRY_ASSIGN(const auto jobs, BackendOf({id}).Jobs(JobId{id}));
  return jobs->Find({id});
}

Result<std::optional<JobRecords>> FindIfExists(const std::optional<JobId>& job) {
  if (!job) return std::optional<JobRecords>();
  Result<JobRecords> folder = FindJob(job->value);
  if (folder.ok()) return std::optional(*std::move(folder));
  if (folder.error().code == ErrorCode::kNotFound) return std::optional<JobRecords>();
  return folder.error();
}

Result<JobStatus> StoredStatus(const JobRecords& records) {
  const auto stored = records.ReadStatus();
  if (stored.ok() && *stored && HasEnded(**stored)) return WithPage(**stored);
  // The status may be unreadable, because the file is synced only at the job's end and a power cut may have emptied it.
  // The status of a job that is cleaned up has been synced, so an unreadable status of such a job means damage.
  const Arbiter& arbiter = BackendOf(records.job()).arbiter();
  if (stored.ok() || !arbiter.Look(records).swept) {
    TRY_ASSIGN(auto end, arbiter.UnwrittenEnd(records));
    if (end) return WithPage(*std::move(end));
  }
  TRY(stored);
  if (*stored) return WithPage(**stored);
  TRY(records.ReadSpec());
  TRY_ASSIGN(auto fresh, InitialStatus(records));
  return WithPage(std::move(fresh));
}

bool HasEnded(const JobStatus& status) { return status.verdict.has_value(); }

bool HasNoAm(const JobRecords& records, const JobStatus& status) {
  return !HasEnded(status) && !BackendOf(records.job()).arbiter().Look(records).HasLiveProcess();
}

bool IsGone(const JobRecords& records) {
  const ArbiterView view = BackendOf(records.job()).arbiter().Look(records);
  return view.swept && !view.HasLiveProcess();
}

bool IsGone(const JobRecords& records, const JobStatus& status) { return HasEnded(status) && IsGone(records); }

Result<KnownStatus> QueryStatus(const JobRecords& records) {
  TRY_ASSIGN(JobStatus stored, StoredStatus(records));
  if (HasEnded(stored)) return Ended(records, std::move(stored));
  Result<JobStatus> asked = AskAm(records);
  if (asked.ok()) return KnownStatus{.status = *std::move(asked), .am_reachable = true};
  TRY_ASSIGN(stored, StoredStatus(records));  // the job may have ended now
  if (HasEnded(stored)) return Ended(records, std::move(stored));
  const ArbiterView seen = BackendOf(records.job()).arbiter().Look(records);
  if (!seen.waits.empty()) stored.delay = seen.waits;
  return KnownStatus{.status = std::move(stored), .unruled = !seen.HasLiveProcess()};
}

Status Acknowledge(const JobRecords& records, const OwnerToken& owner) {
  return records.WriteAcked(owner, RealClock().Now());
}

std::string ToJson(const KnownStatus& known) {
  std::string document = ToJson(known.status);
  if (!known.outputs_problem.empty())
    document = WithFields(std::move(document), {{"outputs_problem", JsonString(known.outputs_problem)}});
  if (known.acked) return WithFields(std::move(document), {{"acked", "true"}});
  if (HasEnded(known.status)) return document;
  return WithFields(std::move(document), {{"am_reachable", known.am_reachable ? "true" : "false"},
                                          {"unruled", known.unruled ? "true" : "false"}});
}

Result<JobRecords> FindNamedJob(const std::string& word, const ClientNotes& notes) {
  const auto found = [&](JobRecords job, std::string_view how) {
    notes.note(StrCat("tony: ", word, " is ", job.job().value, how));
    return job;
  };
  Result<JobRecords> by_id = FindJob(word);
  if (by_id.ok() || by_id.error().code != ErrorCode::kNotFound || word.empty()) return by_id;
  if (word == "last") {
    TRY_ASSIGN(Match last, NewestThat([](const JobStatus&) { return true; }, kMostOfASecond));
    if (!last.job) return Error{ErrorCode::kNotFound, "last: there are no jobs"};
    return found(*std::move(last.job), "");
  }
  TRY_ASSIGN(Match named, NewestThat([&](const JobStatus& status) { return status.name == word; }, kMostEnded));
  if (named.job) {
    const std::string others = named.number > 1 ? StrCat(", the newest of ", named.number, " jobs with this name") : "";
    return found(*std::move(named.job), others);
  }
  if (word.size() < kShortestBeginning) return by_id;
  TRY_ASSIGN(auto beginning, Gather([](const JobStore& store) { return store.List(); }));
  std::erase_if(beginning, [&](const JobRecords& job) {
    const std::string& id = job.job().value;
    return !id.starts_with(word) && !std::string_view(id).substr(id.find_last_of("-_") + 1).starts_with(word);
  });
  if (beginning.empty()) return by_id;
  if (beginning.size() > 1) return Several(word, beginning);
  return found(std::move(beginning.front()), "");
}

}  // namespace tony
