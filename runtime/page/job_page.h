// The pages and documents of one job, at addresses below one folder:
//
//   ./                                  the page; with ?all=1 the page shows each task
//   status.json                         the document of `tony status --json`
//                                       For both, ?since=SEQ&timeout=S delays the answer until the first change after
//                                       SEQ, but for at most S seconds, and never longer than 30.
//   history.json                        the document of `tony history --json`
//   conf                                the configuration of the job
//   tensorboard                         leads to the TensorBoard of the job, or tries again until TensorBoard runs
//   logs/                               the list of logs; accepts ?since, ?timeout and ?all=1 like the page
//   logs/all                            the ends of all logs as one text; ?q=TEXT selects lines, ?task=worker:3 tasks
//   logs/worker-3/1/stderr              the end of a log, or a piece from ?cursor=BYTE on; also stdout, executor.log
//   logs/worker-3/1/stderr.txt          a piece of this log as plain text, also with ?max=BYTES; the header
//                                       X-Tony-Cursor contains the ?cursor of the next piece
//   page.css page.js
//
// Files are read on the loop's thread, and all methods are for that thread only.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/logs/log_source.h"
#include "runtime/net/http_server.h"
#include "runtime/page/live_page.h"
#include "runtime/records/history.h"
#include "runtime/records/job_records.h"

namespace tony {

class JobPage {
 public:
  struct Parts {
    EventLoop& loop;
    JobRecords records;
    std::shared_ptr<const LogSource> logs;
    StatusFeed::Ask ask;
    bool ends_with_job = false;  // true: the AM serves the page
    // The interval at which a browser requests news; 0: each request waits here until there is news. Pages behind a
    // proxy have an interval, because each waiting request would occupy one of the proxy's threads.
    Duration pause{0};
    // The relative address of the list of all jobs; empty: the page belongs to no list.
    std::string list{};
  };
  explicit JobPage(Parts parts) : parts_(std::move(parts)), feed_(parts_.loop, parts_.ask) {}

  // Answers the request. The first `below` components of its path lead to the page's folder.
  void Serve(const HttpRequest& request, size_t below, const HttpReply& reply);
  // Sends this status to all browsers that wait for news.
  void End(JobStatus last) { feed_.End(std::move(last)); }
  // Returns true if a browser has just received the page of the running job, and will soon request the next status.
  bool ExpectsVisitor() const;

 private:
  struct Form {
    enum class Document { kJson, kJob, kLogs } document;
    bool all_tasks = false;
  };
  using Shown = std::shared_ptr<ShownStatus>;

  void ServeStatus(const HttpRequest& request, Form form, const HttpReply& reply);
  HttpAnswer StatusAnswer(const Shown& shown, Form form);
  std::string Html(const ShownStatus& shown, Form form);
  void ServeHistory(const HttpReply& reply);
  HttpAnswer ConfigurationAnswer() const;
  void ServeTensorBoard(const HttpReply& reply);
  void ServeMergedLogs(const HttpRequest& request, const HttpReply& reply);
  void ServeLog(const HttpRequest& request, size_t below, const HttpReply& reply);
  const HistoryDocument* Told(const JobStatus& status);

  const Parts parts_;
  StatusFeed feed_;
  // The history that was read last, without its `decisions`.
  std::optional<HistoryDocument> told_;
  Instant read_again_{};
  // The times when pages were sent to browsers that have not requested news since.
  std::deque<Instant> shown_;
};

// Returns page.css or page.js; nullopt for any other name.
std::optional<HttpAnswer> AssetAnswer(const std::string& name);

// Redirects to the same address with a slash at its end, so that relative links continue from it.
HttpAnswer AddSlash(const HttpRequest& request);

}  // namespace tony
