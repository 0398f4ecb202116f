// The hands of one SubmitCourse: takes the steps that it asks for, and tells it what came of them. Loop thread only.
#pragma once

#include <memory>
#include <optional>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/client/client_notes.h"
#include "runtime/client/make_job.h"
#include "runtime/client/submit_job.h"
#include "runtime/client/watch_job.h"
#include "runtime/records/job_store.h"
#include "runtime/records/request_index.h"
#include "runtime/records/submit_course.h"

namespace tony {

class CourseSteps {
 public:
  CourseSteps(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher, const ClientNotes& notes,
              const RequestedJob& asked, const Backend& backend, const JobStore& jobs, const RequestIndex& index);

  // The last step; nothing: a signal came first, and what there is of a job the request id finds.
  Result<std::optional<SubmitStep>> Walk();
  int signal() const { return signal_; }
  const JobMaker& maker() const { return maker_; }  // of the job that Walk() may have made

 private:
  Result<SubmitObservation> Take(const SubmitStep& step);
  Status Lock();
  Result<SubmitObservation> Read();
  Result<std::optional<RequestRecord>> ReadRecord();
  Result<bool> IsRevoked() const;
  Result<SubmitObservation> Prepare(bool to_tell);
  Result<SubmitObservation> Record(const RequestRecord& record);
  Result<SubmitObservation> Attach(const JobId& job);
  Status Kill(const SubmitStep& step);
  Status AwaitGone(const JobId& job);
  void HeedSignals(Duration length);

  EventLoop& loop_;
  Interrupts& interrupts_;
  AmLauncher& launcher_;
  const ClientNotes& notes_;
  const RequestedJob& asked_;
  const RequestId& request_;
  const Claim& claim_;
  const JobStore& jobs_;
  const RequestIndex& index_;
  std::unique_ptr<RequestLock> lock_;
  JobId id_;                             // of the job that it may make
  std::optional<KillRequest> replaced_;  // of the job that has to make way
  int signal_ = 0;                       // the first that came; 0: none
  JobMaker maker_;                       // the last member: it discards while the lock is held
};

// What a job in this state is to a submit; `kill_requested`: its folder holds a plain kill.
ExistingJob ToExisting(const JobStatus& status, bool kill_requested);

}  // namespace tony
