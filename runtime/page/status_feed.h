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
#include "runtime/job/job_status.h"

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

}  // namespace tony
