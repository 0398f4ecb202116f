#include "runtime/client/named_job.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"

namespace tony {
namespace {

constexpr size_t kMostEnded = 1000;
constexpr size_t kMostOfASecond = 100;  // ids tell the second alone
constexpr size_t kShortestBeginning = 4;
constexpr size_t kMostTold = 5;

// Of all backends: an id's beginning may be one's, and a name another's.
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
  size_t number = 0;  // of jobs that match
};

// One that cannot be read has no name, and was not submitted last: `tony list` tells of it.
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

bool BeginsWith(const std::string& id, std::string_view word) {
  return id.starts_with(word) || std::string_view(id).substr(id.find_last_of("-_") + 1).starts_with(word);
}

Result<std::vector<JobRecords>> ThatBeginWith(const std::string& word) {
  TRY_ASSIGN(auto jobs, Gather([](const JobStore& store) { return store.List(); }));
  std::erase_if(jobs, [&](const JobRecords& job) { return !BeginsWith(job.job().value, word); });
  return jobs;
}

Error Several(const std::string& word, const std::vector<JobRecords>& jobs) {
  std::vector<std::string> ids;
  for (const JobRecords& job : jobs) {
    if (ids.size() == kMostTold) break;
    ids.push_back(job.job().value);
  }
  return {ErrorCode::kNotFound, StrCat("\"", word, "\" is the beginning of ", jobs.size(), " jobs: ", Join(ids, ", "),
                                       jobs.size() > ids.size() ? ", ..." : "")};
}

}  // namespace

Result<JobRecords> FindNamedJob(const std::string& word, const ClientNotes& notes) {
  const auto found = [&](JobRecords job, std::string_view how) {
    notes.note(StrCat("tony: ", word, " is ", job.job().value, how));
    return job;
  };
  Result<JobRecords> by_id = FindJob(word);
  if (by_id.ok() || by_id.error().code != ErrorCode::kNotFound || word.empty()) return by_id;
  if (word == "last") {
    TRY_ASSIGN(Match last, NewestThat([](const JobStatus&) { return true; }, kMostOfASecond));
    if (!last.job) return Error{ErrorCode::kNotFound, "last: there is no job"};
    return found(*std::move(last.job), "");
  }
  TRY_ASSIGN(Match named, NewestThat([&](const JobStatus& status) { return status.name == word; }, kMostEnded));
  if (named.job) {
    const std::string others = named.number > 1 ? StrCat(", the newest of ", named.number, " of this name") : "";
    return found(*std::move(named.job), others);
  }
  if (word.size() < kShortestBeginning) return by_id;
  TRY_ASSIGN(auto beginning, ThatBeginWith(word));
  if (beginning.empty()) return by_id;
  if (beginning.size() > 1) return Several(word, beginning);
  return found(std::move(beginning.front()), "");
}

}  // namespace tony
