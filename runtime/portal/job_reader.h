// The jobs of one user, for the portal. The portal itself opens no file of a user: it starts a process for each user,
// `tony portal --reader UID`, which takes that user's rights and answers requests through a socket (reader_process.h).
// This class answers them. The first component of a path is the visitor: "*" sees all jobs of the user, and "=NAME"
// sees a job only if NAME is the user or the job's view ACL has NAME.
//
//   /*/list?q=...           the user's jobs as JSON (UserJobs)
//   /*/jobs/JOB             200 if the visitor may see the job, 403 if not, 404 if the user has no such job
//   /*/jobs/JOB/...         the pages of the job (page/job_page.h)
//   /*/facts/JOB            what is compared between two jobs, as JSON (compare.h)
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/client/choose_backend.h"
#include "runtime/job/job_status.h"
#include "runtime/net/http_server.h"
#include "runtime/page/job_page.h"
#include "runtime/portal/job_list.h"

namespace tony {

// Returns whether the ACL "USER,... GROUP,..." or "*" has the user, or one of the user's groups.
bool AclAdmits(const std::string& acl, const std::string& user, const std::vector<std::string>& groups);

class JobReader {
 public:
  // `home` is the user's $TONY_HOME; nullopt: the user has none, so there are no jobs of this machine.
  JobReader(EventLoop& loop, std::string user, std::optional<std::filesystem::path> home);

  void Serve(const HttpRequest& request, const HttpReply& reply);

 private:
  // The part of a job's spec that decides about its row. A spec never changes.
  struct Facts {
    std::vector<std::string> tags;
    std::string view_acl;
  };
  // The jobs of one scheduler that have not ended, and the newest that have ended.
  struct Found {
    std::vector<JobRow> rows;
    std::vector<std::string> complaints;
    // Read here for jobs of a cluster, because a cluster that does not answer must not block the loop.
    std::map<std::string, Facts> facts;
  };
  using Ended = std::map<std::string, JobRow>;

  static Facts ReadFacts(const JobRecords& records);
  static Found Look(const Backend& backend, const std::shared_ptr<Ended>& ended);
  void LookAtClusters(const std::function<void()>& done);
  void ServeList(const std::string& visitor, const HttpRequest& request, const HttpReply& reply);
  UserJobs List(const std::string& visitor, const JobQuery& query);
  void AddEnded(std::map<std::string, JobRow>& rows, UserJobs& jobs) const;
  const Facts& FactsOf(const JobId& job);
  bool MaySee(const std::string& visitor, const JobId& job);
  HttpAnswer FactsAnswer(const JobRecords& records) const;
  JobPage* PageOf(const JobRecords& records);

  EventLoop& loop_;
  const std::string user_;
  const std::optional<std::filesystem::path> home_;
  // Ended jobs of the schedulers by id, whose rows do not change any more. The side thread has its own.
  std::shared_ptr<Ended> ended_ = std::make_shared<Ended>(), ended_of_clusters_ = std::make_shared<Ended>();
  Found of_clusters_;
  std::optional<Instant> looked_at_clusters_;
  bool is_looking_ = false;
  std::vector<std::function<void()>> waiting_;
  EventLoop::Timer patience_;
  std::map<std::string, Facts> facts_;
  // The groups of visitors by their names.
  std::map<std::string, std::vector<std::string>> groups_;
  std::map<JobId, std::unique_ptr<JobPage>> pages_;
  SideThread side_;
};

}  // namespace tony
