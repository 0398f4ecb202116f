// The status of one job for any number of watchers: however many they are, the job is asked twice a second at most, and
// each document is made once. Loop thread only.
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

// What was known at a moment, and the documents made of it.
struct ShownStatus {
  JobStatus status;
  Instant time;
  std::shared_ptr<const std::string> json;                                // null: nobody has asked for it yet
  std::array<std::shared_ptr<const std::string>, 2> job_page, logs_page;  // the second: with all tasks
};

class StatusFeed {
 public:
  using Answer = std::function<void(const std::shared_ptr<ShownStatus>&)>;  // null: the job does not answer
  // Calls `answer` once, on the loop's thread, or never.
  using Ask = std::function<void(std::function<void(Result<JobStatus>)> answer)>;

  StatusFeed(EventLoop& loop, Ask ask) : loop_(loop), ask_(std::move(ask)) {}

  void Latest(Answer answer);  // at most half a second old
  // At the first change after `since`, at the latest after `limit`; at once when the job has ended.
  void Next(int64_t since, Duration limit, Answer answer);
  // The last word: whoever waits gets it now, and whoever comes later.
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
  std::list<Answer> waiting_;  // for the answer to what has been asked
  std::list<Watcher> watchers_;
  EventLoop::Timer asking_;  // set: asked, and not answered yet
  EventLoop::Timer again_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// The page of a job that runs, beside its application master: a listening socket on the master's loop, and from the
// first visitor on a thread that serves. A job that nobody looks at has neither thread nor work.
//
// On this machine the page's address is the secret of who may look (page_address.h). Elsewhere somebody else may say
// it, as the gate of a PageSite.

// Who may look at a page. Both are called on the thread that serves.
struct PageGate {
  std::function<bool(const std::string& address)> admits;  // connections; empty: all
  // Answers a request for the page once, now or later: nothing, or what the visitor is told instead.
  using OnRefusal = std::function<void(std::optional<HttpAnswer> refusal)>;
  std::function<void(const HttpRequest& request, OnRefusal done)> ask;
};

struct PageSite {
  UniqueFd listening;
  std::string url;
  size_t below = 0;                               // so many components of a path lead to the page's folder
  std::function<PageGate(EventLoop&)> make_gate;  // on the loop of the thread that serves, which may wait
  Duration pause{0};                              // JobPage::Parts
};

// All methods are for the thread of `loop`, which outlives this.
class LivePage {
 public:
  // At `inherited`, the socket that the master's keeper holds; where that is none at a new address of `host`
  // (page_address.h).
  // kNotFound: the job has no token for a page.
  static Result<std::unique_ptr<LivePage>> Open(EventLoop& loop, const JobRecords& records,
                                                std::shared_ptr<const LogSource> logs, UniqueFd inherited,
                                                const std::string& host);
  LivePage(EventLoop& loop, JobRecords records, std::shared_ptr<const LogSource> logs, PageSite site);
  ~LivePage();

  const std::string& url() const { return site_.url; }
  UniqueFd ShareSocket() const;  // before Serve(); for a keeper, which then holds it for the next master
  // From now on. `status` is called on the loop's thread.
  void Serve(std::function<JobStatus()> status);
  // Shows whoever waits for news the status that the job's folder has now, then serves no more. Takes no time without
  // visitors, else little; where somebody looks who was not waiting at that moment, a second at most. With a pause
  // nobody waits there.
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
  std::shared_ptr<Server> server_;  // known weakly to what it has asked of the loop
};

}  // namespace tony
