// The actions of a submit: JobCreator creates one new job, and CourseSteps executes the steps of a SubmitMachine. Long
// work runs in a thread outside the event loop, so that a person sees the progress and a signal can stop the work. Both
// classes are used only on the thread of the event loop.
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
#include "runtime/records/submit_machine.h"
#include "runtime/staging/programs.h"
#include "runtime/staging/stage.h"

namespace tony {

// Creates one new job: stages its files, keeps its programs, and records it. Stage(), UploadJob(), Create() and Start()
// must be called in this order. No other code may run the loop meanwhile.
class JobCreator {
 public:
  JobCreator(EventLoop& loop, Interrupts& interrupts, const RequestedJob& asked, const Backend& backend,
             const JobStore& jobs, const ClientNotes& notes);
  // The destructor discards the uploaded files of a job that was not created.
  ~JobCreator();
  JobCreator(const JobCreator&) = delete;

  // Sets the job's id. Without this call, the id is RequestedJob::id, or the store chooses the id.
  void UseId(JobId id) { id_ = std::move(id); }
  // Stages the files. Stage() and UploadJob() return Ok() even if a signal stopped the work, so the caller must check
  // signal().
  Status Stage();
  // Uploads the job's records. A second call does nothing.
  Status UploadJob();
  Result<JobRecords> Create();
  // Starts the job, and discards it if it cannot be started.
  Status Start(const JobRecords& records, AmLauncher& launcher) const;

  const StagedFiles& files() const { return files_; }
  bool is_made() const { return is_made_; }
  // The first signal that stopped the work; 0: none.
  int signal() const { return signal_; }
  // The work that a signal stopped: "staging" or "sending".
  std::string_view stopped_work() const { return doing_; }

 private:
  Status StageHere(const StageWatch& watch);
  Status StorePrograms();
  void RunInThread(std::string_view doing, const std::function<void(const StageWatch&)>& work);

  EventLoop& loop_;
  Interrupts& interrupts_;
  const RequestedJob& asked_;
  const Backend& backend_;
  const JobStore& jobs_;
  const ClientNotes& notes_;
  JobId id_;
  // The store of staged files; nullopt if the job has no files. The store stays open until the job's folder refers to
  // the store's entries.
  std::optional<StagedStore> store_;
  StagedFiles files_;
  // The stored programs. This object holds a lock until the job is recorded.
  StoredPrograms programs_;
  std::string programs_warning_;
  std::optional<NewJob> laid_;
  bool is_made_ = false;
  int signal_ = 0;
  std::string_view doing_;
};

// Executes the steps of a SubmitMachine, for a submit with a request id.
class CourseSteps {
 public:
  CourseSteps(EventLoop& loop, Interrupts& interrupts, AmLauncher& launcher, const ClientNotes& notes,
              const RequestedJob& asked, const Backend& backend, const JobStore& jobs, const RequestIndex& index);

  // Executes all steps and returns the last one. Returns nullopt if a signal stopped the submit. If the job was already
  // recorded, its request id finds it.
  Result<std::optional<SubmitStep>> Walk();
  int signal() const { return signal_; }
  // The creator of the job, which is used if Walk() creates one.
  const JobCreator& maker() const { return maker_; }

 private:
  Result<SubmitObservation> Take(const SubmitStep& step);
  Status Lock();
  Result<SubmitObservation> Read();
  Result<std::optional<RequestRecord>> ReadRecord();
  Result<bool> IsRevoked() const;
  Result<SubmitObservation> Prepare(bool only_for_report);
  Result<SubmitObservation> Record(const RequestRecord& record);
  Result<SubmitObservation> Attach(const JobId& job);
  Status Kill(const SubmitStep& step);
  Status AwaitGone(const JobId& job);
  void RunLoopFor(Duration length);

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
  JobId id_;                              // id of the new job
  std::optional<RecordedKill> replaced_;  // kill of the replaced job
  int signal_ = 0;                        // first signal; 0: none
  // The maker is declared last, so it is destroyed first, and discards the files of the job while `lock_` still exists.
  JobCreator maker_;
};

// Returns the meaning of the job's state for a submit. `kill_requested` is true if the job's folder contains a plain
// kill request.
ExistingJob ToExisting(const JobStatus& status, bool kill_requested);

}  // namespace tony
