// This file has three parts. The first part has pure functions that decide from the spec, the failure and the earlier
// restarts whether a failed task restarts. They also decide when, with which other tasks, and from which budget. The
// second part holds the restarts that were decided, and the third part the checkpoints from which restarts resume.
//
//   RestartDecided --> open: its tasks are in Backoff --all have ended with their containers, the delay is over-->
//       RestartBegan --in a running generation--> joining: its attempts start together when all of them have an address
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "am/core/judgement.h"
#include "am/core/tasks.h"
#include "runtime/base/time.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/job_status.h"
#include "runtime/records/decisions.h"

namespace tony::am {

struct PastRestart {
  Instant time;
  RestartScope scope;
  TaskId cause;
  bool charged;
  // True if no task had failed: a gang gave its containers back, because some of its tasks had not received a
  // container.
  bool gives_back = false;
};

struct FailedTask {
  EndedTask ended;
  // True if the gang has formed and is not being restarted. Otherwise no task computes, so a failed task is replaced
  // alone.
  bool gang_has_formed;
  // True if the task's next attempt can run in the same executor.
  bool same_address;
};

struct RestartPlan {
  RestartScope scope;
  bool charged;
  Duration delay{0};
};
struct NoRestart {
  // The reason that is added to the verdict's message; empty if no restarts are configured.
  std::string why;
};

// Returns the smallest scope of a restart that a failure in the role causes: the scope that the job sets for the role,
// or else the default of its framework. For a sidecar that outlives the gang's restarts the scope is at most the role.
RestartScope SmallestRestart(const JobSpec& spec, const RoleSpec& role, bool same_address);

// Returns how the failed task restarts, or why it does not. A failure that the program did not cause uses the budget
// `restart.lost`. When that budget is used up, the failure uses the budgets of the levels (task, role, gang, job), as
// every other failure does. The levels are tried from the smallest scope upwards. For a sidecar whose failure is
// ignored, the role is the largest scope, unless the job sets a larger one.
std::variant<RestartPlan, NoRestart> PlanRestart(const JobSpec& spec, const FailedTask& failed,
                                                 std::span<const PastRestart> past, Instant now);

// A restart that was decided and has not begun.
struct Restart {
  int number = 0;
  RestartScope scope = RestartScope::kTask;
  AttemptId cause;
  Instant not_before{};
  // True if the restart keeps the executors that can run a next attempt.
  bool keeps = false;
  std::set<TaskId> tasks;
  // Tasks whose attempts have not ended yet.
  std::set<TaskId> ending;
  // The containers of ended attempts that the scheduler has not confirmed as ended. After `confirm_by` the restart
  // begins without these confirmations, except if the scheduler always confirms ends.
  std::set<ContainerId> unconfirmed;
  Instant confirm_by{};
  // `sought` is the time when the search for a checkpoint began. `noted` is true once the result of the search is in
  // the journal.
  std::optional<Instant> sought;
  bool noted = false;

  bool IsOfGang() const { return scope == RestartScope::kGang || scope == RestartScope::kJob; }
};

class Restarts {
 public:
  // The largest number of restarts that the job's status shows.
  static constexpr size_t kShown = 20;

  // Open restarts by number.
  const std::map<int, Restart>& open() const { return open_; }
  std::map<int, Restart>& open() { return open_; }
  // Returns null if the restart has begun or was given up.
  Restart* Find(int number);
  const Restart* Find(int number) const;
  // All restarts that were decided.
  const std::vector<PastRestart>& past() const { return past_; }
  int next_number() const { return static_cast<int>(past_.size()) + 1; }
  // The newest restarts, as a status shows them.
  const std::vector<RestartStatus>& shown() const { return shown_; }

  Restart& Open(Restart restart) { return open_[restart.number] = std::move(restart); }
  // Drop() removes the task from its open restart. Prune() removes restarts that have no task left.
  void Drop(const Task& task, const TaskId& id);
  void Prune();
  void Close(int number) { open_.erase(number); }
  void Note(const RestartDecided& d, bool gives_back, Instant time);
  void ContainerGone(const ContainerId& id);

  // Makes the attempts of a restart wait for each other, to join the running generation together.
  void Join(int number, std::vector<AttemptId> attempts);
  // Notes that an attempt has registered or ended. Returns the attempts that may start now.
  std::vector<AttemptId> Arrive(const Attempt& attempt);
  bool IsJoining(const Attempt& attempt) const { return joining_.contains(attempt.restart); }

  // Ends the process if the private members contradict each other, the tasks, or the budgets.
  void CheckInvariants(const JobSpec& spec, const Tasks& tasks) const;

 private:
  struct Joining {
    std::set<TaskId> missing;
    std::vector<AttemptId> attempts;
  };
  void CheckBudgets(const JobSpec& spec) const;

  std::map<int, Restart> open_;
  std::map<int, Joining> joining_;
  std::vector<PastRestart> past_;
  std::vector<RestartStatus> shown_;
};

// The checkpoints of the job: the listing made before the first generation, the checkpoint that the job resumes from,
// and whether restarts make progress.
class Checkpoints {
 public:
  // The checkpoint directory is listed once, before the gang forms for the first time.
  bool IsListed() const { return listing_.has_value(); }
  const std::optional<Instant>& listing_sought() const { return listing_sought_; }
  // Returns the listing. If the directory was not listed, `unknown` of the listing holds the reason.
  const CheckpointListing& listing() const;
  void SeekListing(Instant time) { listing_sought_ = time; }
  void SetListing(const CheckpointListing& listing);

  const std::optional<Checkpoint>& newest() const { return newest_; }
  const std::optional<Checkpoint>& resumed_from() const { return resumed_from_; }
  // Returns the checkpoint that an attempt resumes from. A first attempt resumes from the newest checkpoint that
  // existed before the job, even if the attempt starts late. A later attempt resumes from newest().
  std::optional<Checkpoint> ResumeOf(const AttemptId& id) const { return id.number > 1 ? newest_ : listing().newest; }
  void NoteResume(const AttemptId& id) { resumed_from_ = ResumeOf(id); }
  void Note(const std::optional<Checkpoint>& newest) { newest_ = newest; }
  // Compares `newest`, the checkpoint that was found for a restart of tracked tasks, with the result of the previous
  // search. If `newest` is newer, the previous restart made progress; otherwise it made none. The first search is not
  // compared, because no earlier result exists.
  void Compare(const std::optional<Checkpoint>& newest);
  // The number of consecutive searches that found no newer checkpoint.
  int without_progress() const { return without_progress_; }

  void CheckInvariants() const;

 private:
  std::optional<Instant> listing_sought_;
  std::optional<CheckpointListing> listing_;
  std::optional<Checkpoint> newest_, resumed_from_, progress_;
  bool compared_ = false;
  int without_progress_ = 0;
};

}  // namespace tony::am
