// The list of jobs: a query for it, its rows, and its page. Pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony {

struct JobRow {
  JobId job;
  std::string name, user;
  // For example "RUNNING" or "FAILED"; "unruled" if no application master runs.
  std::string state;
  std::vector<std::string> tags;
  Instant submitted;
  std::optional<Instant> ended;
  int64_t tasks = 0, restarts = 0;
  // The first cause of a failure, or what a job that has not ended waits for.
  std::string news;
  // The job's folder still exists, so the job has a page.
  bool is_kept = true;
  bool operator==(const JobRow&) const = default;
};

// The columns by which the list can be sorted, and the order of the words in a query.
enum class JobOrder { kSubmitted, kTook, kName, kUser, kState };

struct JobQuery {
  // A text that must occur in the job's id, name, user or news, in upper or lower case.
  std::string text;
  // A final state, or "active" for all jobs that have not ended; empty: all.
  std::string state;
  std::string user, tag;
  // A text that must occur in the job's name.
  std::string name;
  JobOrder order = JobOrder::kSubmitted;
  bool ascending = false;
  size_t page = 1;  // from 1
};

inline constexpr size_t kJobsPerPage = 50;
// Older jobs are reached only by a narrower query, because each page of the list costs its whole beginning.
inline constexpr size_t kMostPages = 200;

// Reads the query of an address. Unknown and wrong values count as missing.
JobQuery ReadJobQuery(const std::map<std::string, std::string>& query);
// Returns the query as it stands in an address, without "?"; empty for the list of all jobs.
std::string ToText(const JobQuery& query);

// Returns whether the row belongs to the list. The tags are not compared.
bool Matches(const JobRow& row, const JobQuery& query);
// Sorts the rows, and drops all rows behind the query's page.
void SortRows(std::vector<JobRow>& rows, const JobQuery& query);

// The jobs of one user that match a query, up to the end of its page.
struct UserJobs {
  std::vector<JobRow> rows;
  size_t matched = 0;
  // Sentences that name the parts that could not be read.
  std::vector<std::string> complaints;
};
std::string ToJson(const UserJobs& jobs);
Result<UserJobs> UserJobsFromJson(std::string_view json);

// Returns the path of a job's page below the portal's address, e.g. "~ann/local-20261121-093015-4f2a9c/".
std::string JobPath(const std::string& user, const JobId& job);

struct JobListView {
  const JobQuery& query;
  const UserJobs& jobs;
  Instant now;
  bool many_users = false;
};
std::string PortalListHtml(const JobListView& view);

}  // namespace tony
