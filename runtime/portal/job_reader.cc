#include "runtime/portal/job_reader.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/client/job_access.h"
#include "runtime/history/ended_log.h"
#include "runtime/os/users.h"
#include "runtime/portal/compare.h"

namespace tony {
namespace {

// The newest ended jobs are read from their folders, because a process may have died before it recorded the end in the
// log of ended jobs. Ended jobs of a cluster are in no log.
constexpr size_t kNewestEnded = 100, kNewestOfCluster = 300;
constexpr size_t kMostPagesKept = 20;
constexpr size_t kMostFactsKept = 200'000;
// A cluster is asked at most so often, and a list waits for its answer at most so long. The portal itself waits for a
// list for three seconds.
constexpr Duration kClusterInterval{10'000}, kClusterPatience{1'500};
// The interval at which a browser requests news of a running job. A request does not wait here for news, because the
// portal sends the next request only after the answer.
constexpr Duration kPause{2'000};

HttpAnswer Json(std::string json) {
  HttpAnswer answer = TextAnswer(200, std::move(json));
  answer.content_type = "application/json";
  return answer;
}

JobRow RowOf(const JobStatus& status) {
  JobRow row{.job = status.job, .name = status.name, .user = status.user, .state = status.state, .tags = status.tags};
  row.submitted = status.submitted;
  row.ended = status.ended;
  row.tasks = static_cast<int64_t>(status.tasks.size());
  row.restarts = status.restart_count;
  if (!status.verdict) {
    row.news = !status.trouble.empty() ? StrCat("degraded: ", status.trouble) : status.delay;
  } else if (status.verdict->state != FinalState::kSucceeded) {
    row.news = status.verdict->message;
  }
  return row;
}

// Returns the row of a job, as `tony list` shows it.
Result<JobRow> ReadRow(const JobRecords& records) {
  TRY_ASSIGN(JobStatus status, StoredStatus(records));
  if (HasEnded(status)) return RowOf(status);
  const ArbiterView seen = BackendOf(records.job()).arbiter().Look(records);
  if (status.delay.empty()) status.delay = seen.waits;
  JobRow row = RowOf(status);
  if (!seen.HasLiveProcess()) {
    row.state = "unruled";
    row.news = StrCat("no application master is running; tony wait ", row.job.value, " starts one");
  }
  return row;
}

}  // namespace

bool AclAdmits(const std::string& acl, const std::string& user, const std::vector<std::string>& groups) {
  if (acl == "*") return true;
  const size_t blank = std::min(acl.find(' '), acl.size());
  if (std::ranges::count(Split(acl.substr(0, blank), ','), user) > 0) return true;
  const std::vector<std::string> admitted = Split(Trim(std::string_view(acl).substr(blank)), ',');
  return std::ranges::any_of(groups, [&](const std::string& group) { return std::ranges::count(admitted, group) > 0; });
}

JobReader::JobReader(EventLoop& loop, std::string user, std::optional<std::filesystem::path> home)
    : loop_(loop), user_(std::move(user)), home_(std::move(home)), side_(loop) {}

void JobReader::Serve(const HttpRequest& request, const HttpReply& reply) {
  const std::vector<std::string>& path = request.path;
  if (path.size() == 2 && path[1] == "list") return ServeList(path[0], request, reply);
  if (path.size() < 3 || (path[1] != "jobs" && path[1] != "facts")) return reply.Send(NotFound());
  const auto records = FindJob(path[2]);
  if (!records.ok()) {
    const bool is_missing = records.error().code == ErrorCode::kNotFound;
    return reply.Send(is_missing ? NotFound() : TextAnswer(503, records.error().message + "\n"));
  }
  if (!MaySee(path[0], records->job())) return reply.Send(TextAnswer(403, "you may not see this job\n"));
  if (path[1] == "facts") return reply.Send(FactsAnswer(*records));
  if (path.size() == 3) return reply.Send(TextAnswer(200, "seen\n"));
  JobPage* page = PageOf(*records);
  page ? page->Serve(request, 3, reply) : reply.Send(TextAnswer(503, "the logs of this job cannot be found\n"));
}

// Looks at one scheduler. Runs on the loop for the jobs of this machine, and on the side thread for those of clusters.
JobReader::Found JobReader::Look(const Backend& backend, const std::shared_ptr<Ended>& ended) {
  Found found;
  const bool is_local = &backend == &DefaultBackend();
  const auto jobs = backend.Jobs(JobId());
  const auto chosen = jobs.ok() ? (*jobs)->ListNewest(is_local ? kNewestEnded : kNewestOfCluster)
                                : Result<JobStore::NewestJobs>(jobs.error());
  if (!chosen.ok()) {
    found.complaints.push_back(StrCat("Jobs are missing: ", chosen.error().message));
    return found;
  }
  for (const JobRecords& records : chosen->jobs) {
    const auto known = ended->find(records.job().value);
    Result<JobRow> row = known == ended->end() ? ReadRow(records) : Result<JobRow>(known->second);
    // A job may be created or removed while the list is read.
    if (!row.ok() && (*jobs)->Find(records.job()).ok()) row = ReadRow(records);
    if (row.ok()) {
      if (!is_local && known == ended->end()) found.facts[row->job.value] = ReadFacts(records);
      if (row->ended) ended->insert_or_assign(records.job().value, *row);
      found.rows.push_back(*std::move(row));
    } else if ((*jobs)->Find(records.job()).ok()) {
      found.complaints.push_back(StrCat("Job ", records.job().value, " cannot be read: ", row.error().message));
    }
  }
  if (chosen->left_out > 0 && !is_local)
    found.complaints.push_back(StrCat(chosen->left_out, " older jobs of the cluster are not listed."));
  return found;
}

void JobReader::LookAtClusters(const std::function<void()>& done) {
  if (ConfiguredBackends().size() < 2) return done();
  if (looked_at_clusters_ && loop_.Now() - *looked_at_clusters_ < kClusterInterval) return done();
  waiting_.push_back(done);
  const auto answer_all = [this] {
    patience_.reset();
    for (const auto& each : std::exchange(waiting_, {})) each();
  };
  if (!patience_) patience_ = loop_.After(kClusterPatience, answer_all);
  if (std::exchange(is_looking_, true)) return;
  side_.Do([this, ended = ended_of_clusters_, answer_all]() -> SideThread::Then {
    Found all;
    for (const Backend* backend : ConfiguredBackends()) {
      if (backend == &DefaultBackend()) continue;
      Found found = Look(*backend, ended);
      std::ranges::move(found.rows, std::back_inserter(all.rows));
      std::ranges::move(found.complaints, std::back_inserter(all.complaints));
      all.facts.merge(found.facts);
    }
    return [this, all = std::move(all), answer_all] {
      of_clusters_ = all;
      for (const auto& [job, facts] : all.facts) facts_[job] = facts;
      looked_at_clusters_ = loop_.Now();
      is_looking_ = false;
      answer_all();
    };
  });
}

void JobReader::ServeList(const std::string& visitor, const HttpRequest& request, const HttpReply& reply) {
  LookAtClusters(
      [this, visitor, query = ReadJobQuery(request.query), reply] { reply.Send(Json(ToJson(List(visitor, query)))); });
}

UserJobs JobReader::List(const std::string& visitor, const JobQuery& query) {
  UserJobs jobs;
  std::map<std::string, JobRow> rows;
  if (home_) {
    Found found = Look(DefaultBackend(), ended_);
    for (JobRow& row : found.rows) rows[row.job.value] = std::move(row);
    jobs.complaints = std::move(found.complaints);
    AddEnded(rows, jobs);
  }
  for (const JobRow& row : of_clusters_.rows) rows[row.job.value] = row;
  jobs.complaints.insert(jobs.complaints.end(), of_clusters_.complaints.begin(), of_clusters_.complaints.end());
  if (is_looking_) jobs.complaints.emplace_back("The cluster has not answered yet; load this page again.");
  if (visitor != "*" && visitor != "=" + user_) jobs.complaints.clear();  // they name jobs
  for (auto& [id, row] : rows) {
    if (!Matches(row, query) || !MaySee(visitor, row.job)) continue;
    if (!query.tag.empty() && std::ranges::count(FactsOf(row.job).tags, query.tag) == 0) continue;
    jobs.rows.push_back(std::move(row));
  }
  jobs.matched = jobs.rows.size();
  SortRows(jobs.rows, query);
  const size_t first = std::min((query.page - 1) * kJobsPerPage, jobs.rows.size());
  for (size_t i = first; i < jobs.rows.size(); ++i) {
    JobRow& row = jobs.rows[i];
    if (row.tags.empty()) row.tags = FactsOf(row.job).tags;
    if (row.job.value.starts_with("local-")) row.is_kept = access((*home_ / "jobs" / row.job.value).c_str(), F_OK) == 0;
  }
  return jobs;
}

// Adds the jobs in the log of ended jobs, also those whose folders were removed.
void JobReader::AddEnded(std::map<std::string, JobRow>& rows, UserJobs& jobs) const {
  const auto log = EndedLog(*home_).Read();
  if (!log.ok()) return jobs.complaints.push_back(StrCat("Ended jobs are missing: ", log.error().message));
  ForEachEnded(log->text(), [&](const EndedLine& line) {
    JobRow row{.job = {UnescapeField(line.job)}};
    if (rows.contains(row.job.value)) return true;
    row.name = UnescapeField(line.name);
    row.user = UnescapeField(line.user);
    row.state = ToString(line.state);
    row.submitted = line.submitted;
    row.ended = line.ended;
    row.tasks = line.tasks;
    row.restarts = line.restarts;
    if (line.state != FinalState::kSucceeded) row.news = UnescapeField(line.cause);
    rows.emplace(row.job.value, std::move(row));
    return true;
  });
}

const JobReader::Facts& JobReader::FactsOf(const JobId& job) {
  const auto known = facts_.find(job.value);
  if (known != facts_.end()) return known->second;
  if (facts_.size() >= kMostFactsKept) facts_.clear();
  const auto records = FindJob(job.value);
  return facts_[job.value] = records.ok() ? ReadFacts(*records) : Facts();
}

JobReader::Facts JobReader::ReadFacts(const JobRecords& records) {
  const auto spec = records.ReadSpec();
  return spec.ok() ? Facts{spec->tags, spec->yarn.view_acl} : Facts();
}

bool JobReader::MaySee(const std::string& visitor, const JobId& job) {
  if (visitor == "*" || visitor == "=" + user_) return true;
  if (visitor.size() < 2 || visitor.front() != '=') return false;
  const std::string name = visitor.substr(1);
  const std::string& acl = FactsOf(job).view_acl;
  if (acl.empty()) return false;
  const auto known = groups_.find(name);
  if (known != groups_.end()) return AclAdmits(acl, name, known->second);
  const auto groups = GroupNamesOf(name);
  // A directory service that does not answer now may answer the next request.
  if (!groups.ok()) return AclAdmits(acl, name, {});
  return AclAdmits(acl, name, groups_[name] = *groups);
}

HttpAnswer JobReader::FactsAnswer(const JobRecords& records) const {
  const auto facts = ReadJobFacts(records);
  return facts.ok() ? Json(ToJson(*facts)) : TextAnswer(503, facts.error().message + "\n");
}

JobPage* JobReader::PageOf(const JobRecords& records) {
  const auto known = pages_.find(records.job());
  if (known != pages_.end()) return known->second.get();
  auto logs = BackendOf(records.job()).logs().LogsOf(records);
  if (!logs.ok()) return nullptr;
  if (pages_.size() >= kMostPagesKept) pages_.clear();
  const auto ask = [records](const auto& answer) {
    auto known_status = QueryStatus(records);
    answer(known_status.ok() ? Result<JobStatus>(std::move(known_status->status))
                             : Result<JobStatus>(known_status.error()));
  };
  JobPage::Parts parts{loop_, records, *std::move(logs), ask};
  parts.pause = kPause;
  parts.list = "../../";
  return (pages_[records.job()] = std::make_unique<JobPage>(std::move(parts))).get();
}

}  // namespace tony
