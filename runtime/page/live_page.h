// The page of a job that runs, beside its application master: a listening socket on the master's loop, and from the
// first visitor on a thread that serves. A job that nobody looks at has neither thread nor work.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/job_status.h"
#include "runtime/logs/log_source.h"
#include "runtime/page/page_address.h"
#include "runtime/store/job_records.h"

namespace tony {

// All methods are for the thread of `loop`, which outlives this.
class LivePage {
 public:
  // At `inherited`, the socket that the master's keeper holds; where that is none at a new address of `host`
  // (page_address.h).
  // kNotFound: the job has no token for a page.
  static Result<std::unique_ptr<LivePage>> Open(EventLoop& loop, const JobRecords& records,
                                                std::shared_ptr<const LogSource> logs, UniqueFd inherited,
                                                const std::string& host);
  LivePage(EventLoop& loop, JobRecords records, std::shared_ptr<const LogSource> logs, std::string token,
           PageSocket socket);
  ~LivePage();

  const std::string& url() const { return url_; }
  UniqueFd ShareSocket() const;  // before Serve(); for a keeper, which then holds it for the next master
  // From now on. `status` is called on the loop's thread.
  void Serve(std::function<JobStatus()> status);
  // Shows whoever waits for news the status that the job's folder has now, then serves no more. Takes no time without
  // visitors, else little; where somebody looks who was not waiting at that moment, a second at most.
  void End();

 private:
  struct Server;
  void Start();

  EventLoop& loop_;
  const JobRecords records_;
  const std::shared_ptr<const LogSource> logs_;  // read on the thread that serves
  const std::string token_;
  const std::string url_;
  UniqueFd listening_;
  std::function<JobStatus()> status_;
  EventLoop::FdWatch first_visitor_;
  std::shared_ptr<Server> server_;  // known weakly to what it has asked of the loop
};

}  // namespace tony
