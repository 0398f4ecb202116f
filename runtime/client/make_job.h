// Makes one new job: stages its files, keeps its programs, and records it. What takes long is done beside the event
// loop, so that a person sees the progress and a signal stops the work.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "runtime/backend/backend.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/client/client_notes.h"
#include "runtime/client/submit_job.h"
#include "runtime/client/watch_job.h"
#include "runtime/records/job_store.h"
#include "runtime/staging/programs.h"
#include "runtime/staging/stage.h"

namespace tony {

// Stage(), Lay(), Create() and Start() are called in this order. Loop thread only; nobody else runs the loop meanwhile.
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

}  // namespace tony
