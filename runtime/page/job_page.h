// What is to be seen of one job, at addresses below one folder:
//
//   ./                                  the page; ?all=1: each task of it
//   status.json                         as `tony status --json`
//   both with ?since=SEQ&timeout=S      at the first change after SEQ, or after S seconds (at most 30)
//   history.json                        as `tony history --json`
//   conf                                what the job was configured with
//   tensorboard                         leads on to TensorBoard beside the job, also where that is not there yet
//   logs/                               which logs there are, as the page with ?since and ?all=1
//   logs/worker-3/1/stderr              a log's end, or from ?cursor=BYTE on; stdout, executor.log
//   logs/worker-3/1/stderr.txt          the same as plain text, &max=BYTES; X-Tony-Cursor says where to go on
//   page.css page.js
//
// Files are read on the loop's thread. Loop thread only.
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
    bool ends_with_job = false;  // served by the application master
    // A browser asks so often for news, and none waits here for it: behind a proxy each that waits would take one of
    // the proxy's threads. 0: it waits here.
    Duration pause{0};
  };
  explicit JobPage(Parts parts) : parts_(std::move(parts)), feed_(parts_.loop, parts_.ask) {}

  // `below`: so many components of the request's path lead to the folder.
  void Serve(const HttpRequest& request, size_t below, const HttpReply& reply);
  void End(JobStatus last) { feed_.End(std::move(last)); }  // whoever waits for news gets this
  // A browser has just been shown that the job runs, and is about to come back to wait for news.
  bool ExpectsSomebody() const;

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
  void ServeLog(const HttpRequest& request, size_t below, const HttpReply& reply);
  const ToldJob* Told(const JobStatus& status);

  const Parts parts_;
  StatusFeed feed_;
  std::optional<ToldJob> told_;  // without its decisions
  Instant read_again_{};
  std::deque<Instant> shown_;  // when pages were, whose browsers have not come back
};

// page.css, page.js; nothing: no such file.
std::optional<HttpAnswer> AssetAnswer(const std::string& name);

// To the same address with a slash at its end, so that relative links lead on from it.
HttpAnswer AddSlash(const HttpRequest& request);

}  // namespace tony
