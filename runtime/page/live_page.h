// The status of one job for any number of watchers. The job is queried at most twice a second, however many watchers
// there are, and each document is made once. For the loop's thread only.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/job_status.h"
#include "runtime/logs/log_source.h"
#include "runtime/net/http_server.h"
#include "runtime/records/job_records.h"

namespace tony {

// The status at one moment, and the documents made from it.
struct ShownStatus {
  JobStatus status;
  Instant time;
  std::shared_ptr<const std::string> json;  // null: not requested yet
  // The second document of each pair shows all tasks.
  std::array<std::shared_ptr<const std::string>, 2> job_page, logs_page;
};

class StatusFeed {
 public:
  using Answer = std::function<void(const std::shared_ptr<ShownStatus>&)>;  // null: the job does not answer
  // Calls `answer` once, on the loop's thread, or never.
  using Ask = std::function<void(std::function<void(Result<JobStatus>)> answer)>;

  StatusFeed(EventLoop& loop, Ask ask) : loop_(loop), ask_(std::move(ask)) {}

  // Answers with a status that is at most half a second old.
  void Latest(Answer answer);
  // Answers at the first change after `since`, at the latest after `limit`; at once if the job has ended.
  void Next(int64_t since, Duration limit, Answer answer);
  // Sets the final status. All waiting requests get it now, and later requests get it at once.
  void End(JobStatus last);

 private:
  struct Watcher {
    int64_t since;
    Answer answer;
    EventLoop::Timer limit;
  };
  bool IsFresh() const;
  void AskNow();
  void Heard(Result<JobStatus> status);
  void AnswerWatchers();
  void LookAgain();

  EventLoop& loop_;
  const Ask ask_;
  std::shared_ptr<ShownStatus> shown_;
  bool final_ = false;
  std::list<Answer> waiting_;  // callers that wait for the query
  std::list<Watcher> watchers_;
  EventLoop::Timer asking_;  // set while a query is unanswered
  EventLoop::Timer again_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// The page of a running job, served by its AM: a listening socket on the AM's loop, and from the first visitor on a
// thread that serves. A job without visitors has neither the thread nor its work.
//
// On this machine, access depends on knowing the page's address, which is a secret (page_address.h). On a cluster, the
// gate of a PageSite can decide instead.

// A gate decides who may see a page. Both functions are called on the thread that serves.
struct PageGate {
  // True if connections from this address are accepted; empty: all are.
  std::function<bool(const std::string& address)> admits;
  // A request for the page calls this once, now or later: with nullopt to admit the visitor, or with the answer that
  // the visitor gets instead of the page.
  using OnRefusal = std::function<void(std::optional<HttpAnswer> refusal)>;
  std::function<void(const HttpRequest& request, OnRefusal done)> ask;
};

struct PageSite {
  UniqueFd listening;
  std::string url;
  // How many components of a path lead to the page's folder.
  size_t below = 0;
  // Makes the gate on the loop of the thread that serves, which may block.
  std::function<PageGate(EventLoop&)> make_gate;
  Duration pause{0};  // as in JobPage::Parts
};

// All methods are for the thread of `loop`, which outlives the page.
class LivePage {
 public:
  // Serves at `inherited`, the socket that the AM's keeper (its supervisor) holds. If that is not valid, it serves at a
  // new address of `host` (page_address.h). kNotFound: the job has no token for a page.
  static Result<std::unique_ptr<LivePage>> Open(EventLoop& loop, const JobRecords& records,
                                                std::shared_ptr<const LogSource> logs, UniqueFd inherited,
                                                const std::string& host);
  LivePage(EventLoop& loop, JobRecords records, std::shared_ptr<const LogSource> logs, PageSite site);
  ~LivePage();

  const std::string& url() const { return site_.url; }
  // Returns a copy for a keeper, which holds it for the next AM. Call this before Serve().
  UniqueFd ShareSocket() const;
  // Serves from now on. `status` is called on the loop's thread.
  void Serve(std::function<JobStatus()> status);
  // Sends the status from the job's folder to visitors that wait for news, and then stops serving. This takes no time
  // without visitors, and little time with them; up to a second if a visitor is about to come back. With a pause no
  // visitor waits for news.
  void End();

 private:
  struct Server;
  void Start();

  EventLoop& loop_;
  const JobRecords records_;
  const std::shared_ptr<const LogSource> logs_;  // read on the thread that serves
  PageSite site_;
  std::function<JobStatus()> status_;
  EventLoop::FdWatch first_visitor_;
  // Callbacks on `loop` have only a weak pointer to the server.
  std::shared_ptr<Server> server_;
};

}  // namespace tony
