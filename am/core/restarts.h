// Restarts: whether a failed task starts again, with which others, when, and which budget pays (a pure rule over the
// spec, the end and the earlier restarts); the restarts that were decided; and the checkpoints that they resume from.
//
//   RestartDecided --> open: its tasks are in Backoff --all have ended, are gone, the delay is over--> RestartBegan
//       --in a generation that runs--> joining: its attempts start together when all of them have an address
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
  bool gives_back = false;  // nothing had failed: the rest of a gang did not get containers
};

struct FailedTask {
  EndedTask ended;
  bool gang_has_formed;  // and is not being restarted; before, nobody computes: the task is replaced alone
  bool same_address;     // it can go on in its executor
};

struct RestartPlan {
  RestartScope scope;
  bool charged;
  Duration delay{0};
};
struct NoRestart {
  std::string why;  // for the verdict; empty: restarts were never asked for
};

// What the job says for the role, or else its framework; of a sidecar that outlives the gang's restarts at most its
// role.
RestartScope SmallestRestart(const JobSpec& spec, const RoleSpec& role, bool same_address);

// A failure that is nobody's charge takes from `restart.lost`, and when that is used up from the levels like any
// other. The levels are tried from the smallest scope upwards; those of a sidecar, whose failure is ignored, end with
// its role, unless the job itself asks for more.
std::variant<RestartPlan, NoRestart> PlanRestart(const JobSpec& spec, const FailedTask& failed,
                                                 std::span<const PastRestart> past, Instant now);

// A restart that was decided and has not begun.
struct Restart {
  int number = 0;
  RestartScope scope = RestartScope::kTask;
  AttemptId cause;
  Instant not_before{};
  // Executors that could run the next attempt are kept for it.
  bool keeps = false;
  std::set<TaskId> tasks;
  // Tasks whose attempts have not ended yet.
  std::set<TaskId> ending;
  // Containers of ended attempts that the scheduler has not confirmed to be gone; not waited for after `confirm_by`.
  std::set<ContainerId> unconfirmed;
  Instant confirm_by{};
  // When the search for a checkpoint began, and whether its result is in the journal.
  std::optional<Instant> sought;
  bool noted = false;

  bool IsOfGang() const { return scope == RestartScope::kGang || scope == RestartScope::kJob; }
};

class Restarts {
 public:
  // Restarts in a status.
  static constexpr size_t kShown = 20;

  // By number.
  const std::map<int, Restart>& open() const { return open_; }
  std::map<int, Restart>& open() { return open_; }
  // Null: it has begun, or was given up.
  Restart* Find(int number);
  const Restart* Find(int number) const;
  // All that were decided.
  const std::vector<PastRestart>& past() const { return past_; }
  int next_number() const { return static_cast<int>(past_.size()) + 1; }
  // The newest of them, for people.
  const std::vector<RestartStatus>& shown() const { return shown_; }

  Restart& Open(Restart restart) { return open_[restart.number] = std::move(restart); }
  // The task takes part in no open restart any more. Drop() leaves a restart without tasks to Prune().
  void Drop(const Task& task, const TaskId& id);
  void Prune();
  void Close(int number) { open_.erase(number); }
  void Note(const RestartDecided& d, bool gives_back, Instant time);
  void ContainerGone(const ContainerId& id);

  // The attempts of a restart join the generation that runs.
  void Join(int number, std::vector<AttemptId> attempts);
  // An attempt has registered, or has ended: the attempts that may start now.
  std::vector<AttemptId> Arrive(const Attempt& attempt);
  bool IsJoining(const Attempt& attempt) const { return joining_.contains(attempt.restart); }

  // Ends the process if two of these members contradict each other, the tasks, or the budgets.
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

// The checkpoints of the job: what was there before it, what it resumes from, and whether restarts make progress.
class Checkpoints {
 public:
  // The listing of the directory, which is made once, before the first generation.
  bool IsListed() const { return listing_.has_value(); }
  const std::optional<Instant>& listing_sought() const { return listing_sought_; }
  // Of a job that has not listed its directory, `unknown` says so.
  const CheckpointListing& listing() const;
  void SeekListing(Instant time) { listing_sought_ = time; }
  void SetListing(const CheckpointListing& listing);

  const std::optional<Checkpoint>& newest() const { return newest_; }
  const std::optional<Checkpoint>& resumed_from() const { return resumed_from_; }
  // What an attempt resumes from. First attempts resume from what was there before the job, however late they start.
  std::optional<Checkpoint> ResumeOf(const AttemptId& id) const { return id.number > 1 ? newest_ : listing().newest; }
  void NoteResume(const AttemptId& id) { resumed_from_ = ResumeOf(id); }
  void Note(const std::optional<Checkpoint>& newest) { newest_ = newest; }
  // A search for a restart of tracked tasks found `newest`. The first search says where the job stood; each later one,
  // whether the restart before it made progress.
  void Compare(const std::optional<Checkpoint>& newest);
  // How many searches in a row found nothing newer.
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
