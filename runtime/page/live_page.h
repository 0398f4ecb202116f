// The status of one job for any number of watchers. For any number of watchers, the job is queried at most twice a
// second, and each document is made once for each status. The classes are used only on the loop's thread.
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
  // The pages, made on request. In each pair, the first page shows at most a hundred tasks of each role, the second all
  // tasks.
  std::array<std::shared_ptr<const std::string>, 2> job_page, logs_page;
};

class StatusFeed {
 public:
  // Receives the status; null if the job does not answer.
  using Answer = std::function<void(const std::shared_ptr<ShownStatus>&)>;
  // Queries the job, and calls `answer` at most once, on the loop's thread.
  using Ask = std::function<void(std::function<void(Result<JobStatus>)> answer)>;

  StatusFeed(EventLoop& loop, Ask ask) : loop_(loop), ask_(std::move(ask)) {}

  // Calls `answer` with a status that is at most half a second old, or with null if the job does not answer.
  void Latest(Answer answer);
  // Calls `answer` when the status has a sequence number greater than `since`, at the latest after `limit`, or
  // immediately if the job has ended.
  void Next(int64_t since, Duration limit, Answer answer);
  // Sets the final status. All waiting requests are answered with this status now, and later requests at once.
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
  // The callers that wait for the answer to a query.
  std::list<Answer> waiting_;
  std::list<Watcher> watchers_;
  EventLoop::Timer asking_;  // set while a query is unanswered
  EventLoop::Timer again_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// The page of a running job, served by the job's AM (application master). At first there is only a listening socket on
// the AM's loop. The first visitor starts a thread, which serves all requests from then on. A job without visitors
// never has this thread.
//
// On one machine, a visitor needs the page's address, which is a secret (page_address.h). On a cluster, the gate of a
// PageSite can decide instead.

// A gate decides who may see a page. Both of its functions are called on the thread that serves the page.
struct PageGate {
  // Returns whether connections from this address are accepted. If the function is empty, all connections are accepted.
  std::function<bool(const std::string& address)> admits;
  // For each request, `ask` calls this function exactly once, immediately or later. Nullopt admits the visitor.
  // Otherwise the visitor gets `refusal` instead of the page.
  using OnRefusal = std::function<void(std::optional<HttpAnswer> refusal)>;
  std::function<void(const HttpRequest& request, OnRefusal done)> ask;
};

struct PageSite {
  UniqueFd listening;
  std::string url;
  // The number of components at the beginning of each request's path that lead to the page's folder.
  size_t below = 0;
  // Makes the gate. The thread that serves the page calls this function with its own loop, and the function may block.
  std::function<PageGate(EventLoop&)> make_gate;
  // The interval at which a browser requests news; 0: each request waits here until there is news.
  Duration pause{0};
  MakeChannel tls = nullptr;  // empty: plain HTTP
};

// All methods must be called on the thread of `loop`, which outlives the page.
class LivePage {
 public:
  // Returns a page that serves on `inherited`, the socket that the keeper (the AM's supervisor) has passed to this AM.
  // If `inherited` is not valid, the page gets a new address of `host` (page_address.h). kNotFound: the job has no
  // token for a page.
  static Result<std::unique_ptr<LivePage>> Open(EventLoop& loop, const JobRecords& records,
                                                std::shared_ptr<const LogSource> logs, UniqueFd inherited,
                                                const std::string& host);
  LivePage(EventLoop& loop, JobRecords records, std::shared_ptr<const LogSource> logs, PageSite site);
  ~LivePage();

  const std::string& url() const { return site_.url; }
  // Returns a copy of the listening socket for the keeper, which passes the copy to the next AM. Call this function
  // before Serve().
  UniqueFd ShareSocket() const;
  // Starts to serve. `status` is called on the loop's thread.
  void Serve(std::function<JobStatus()> status);
  // Sends the final status from the job's folder to visitors that wait for news, and stops serving. The call returns
  // immediately if the page had no visitors. It takes up to a second if a browser has just received the page and will
  // soon request news. If `pause` is set, visitors do not wait for news, and the call does not wait for them.
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
