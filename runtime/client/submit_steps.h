// The hands of a submit: JobMaker makes one new job, CourseSteps takes the steps of one SubmitCourse. What takes long is
// done beside the event loop, so that a person sees the progress and a signal stops the work. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "runtime/backend/am_launcher.h"
#include "runtime/backend/backend.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/client/client_notes.h"
#include "runtime/client/submit_job.h"
#include "runtime/client/watch_job.h"
#include "runtime/records/job_records.h"
#include "runtime/records/request_index.h"
#include "runtime/records/submit_course.h"
#include "runtime/staging/programs.h"
#include "runtime/staging/stage.h"

namespace tony {

// Makes one new job: stages its files, keeps its programs, and records it. Stage(), Lay(), Create() and Start() are
// called in this order. Nobody else runs the loop meanwhile.
class JobMaker {
 public:
  JobMaker(EventLoop& loop, Interrupts& interrupts, const RequestedJob& asked, const Backend& backend,
           const JobStore& jobs, const ClientNotes& notes);
  // What was laid of a job that was not created is discarded.
  ~JobMaker();
  JobMaker(const JobMaker&) = delete;

  // The job gets this id; without it the store chooses one.
  void UseId(JobId id) { id_ = std::move(id); }
  // Both return Ok() where a signal stopped the work: see signal().
  Status Stage();
  Status Lay();  // the second call does nothing
  Result<JobRecords> Create();
  Status Start(const JobRecords& records, AmLauncher& launcher) const;  // discards a job that cannot be started

  const StagedFiles& files() const { return files_; }
  bool is_made() const { return is_made_; }
  int signal() const { return signal_; }                    // the first that stopped the work; 0: none
  std::string_view stopped_work() const { return doing_; }  // "staging" or "sending", if there was a signal

 private:
  Status StageHere(const StageWatch& watch);
  Status KeepPrograms();
  void RunBeside(std::string_view doing, const std::function<void(const StageWatch&)>& work);

  EventLoop& loop_;
  Interrupts& interrupts_;
  const RequestedJob& asked_;
  const Backend& backend_;
  const JobStore& jobs_;
  const ClientNotes& notes_;
  JobId id_;
  std::optional<StagedStore> store_;  // held until the job's folder refers to its entries; nothing: there are no files
  StagedFiles files_;
  KeptPrograms programs_;  // holds a lock until the job is recorded
  std::string programs_warning_;
  std::optional<NewJob> laid_;
  bool is_made_ = false;
  int signal_ = 0;
  std::string_view doing_;
};

// Takes the steps of a submit under a request id.
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
  JobId id_;                              // of the job that it may make
  std::optional<RecordedKill> replaced_;  // of the job that has to make way
  int signal_ = 0;                        // the first that came; 0: none
  JobMaker maker_;                        // the last member: it discards while the lock is held
};

// What a job in this state is to a submit; `kill_requested`: its folder holds a plain kill.
ExistingJob ToExisting(const JobStatus& status, bool kill_requested);

}  // namespace tony
