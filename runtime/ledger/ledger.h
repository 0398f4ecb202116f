// The ledger of a machine as a pure core: which job holds what, which job is admitted next, and why the others wait.
//
// Memory and GPUs decide about admission; cores are shares and never block a job. All users share one queue, in which
// each user has one job. The other jobs of a user are deferred: they enter the end of the queue one after the other, by
// priority and then by arrival. The queue is first in, first out. A job is admitted as a whole, once all jobs ahead of
// it are admitted and everything that it requests is free. Therefore no job starves, and a thousand jobs of one user do
// not hold up one job of another user. A waiting job holds nothing, so two jobs that each need 60 % run one after the
// other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"

namespace tony {

// The resources that a job requests, for all its tasks and its whole life.
struct LedgerRequest {
  int64_t memory_mb = 0;
  int64_t vcores = 0;
  int64_t gpus = 0;
  // The numbers of the GPUs that the job may get; empty: all. kNoSuchGpu stands for a GPU that the machine lacks.
  std::vector<int> gpus_among = {};
  bool operator==(const LedgerRequest&) const = default;
};
// The upper bound for each resource of a request. The sum of thousands of such requests still fits into 64 bits.
inline constexpr int64_t kMostAsked = int64_t{1} << 48;

// The limits of one user on this machine, for all running jobs of the user together and for the run time of each job.
// nullopt: no limit.
struct UserLimits {
  std::optional<int64_t> memory_mb;
  std::optional<int64_t> gpus;
  std::optional<int64_t> run_minutes;  // per job, counted from its admission
  bool operator==(const UserLimits&) const = default;
};

// Above each number of a GPU.
inline constexpr int kNoSuchGpu = 1'000'000;

struct Machine {
  int64_t memory_mb = 0;
  int64_t cores = 0;
  std::vector<int> gpus;        // GPU numbers
  UserLimits user_limits = {};  // the default for every user
  // The limits of single users, by uid. A field that is set here replaces the same field of `user_limits`.
  std::map<int64_t, UserLimits> users = {};
  // The names of GPUs by number, as the driver or machine.json has them: GPU-<uuid>, or MIG-<uuid> for a part of a GPU.
  std::map<int, std::string> gpu_names = {};
  // True: tasks find the names in CUDA_VISIBLE_DEVICES, because machine.json lists the GPUs by name.
  bool shows_gpu_names = false;
  bool operator==(const Machine&) const = default;

  // Returns the number of a GPU that is given by its number, its name, or the beginning of exactly one name, as CUDA
  // reads CUDA_VISIBLE_DEVICES; nullopt if the machine has no such GPU.
  std::optional<int> GpuNumber(std::string_view text) const;
  UserLimits LimitsOf(int64_t user) const;
};

// Returns the resources that `spec` requests. `environment` is the environment of the submitter. The GPUs in its
// CUDA_VISIBLE_DEVICES limit those that the job may get, except if the job names GPUs itself. If a task of another job
// submits this one, the variable is ignored, because the keeper (supervisor) of the other job has set it.
LedgerRequest AskOf(const JobSpec& spec, const std::vector<std::string>& environment = {}, const Machine& machine = {});

// The queue state of a job.
enum class Place {
  // Deferred: another job of its user goes first, or its user has reached a limit. A deferred job blocks no other job.
  kDeferred,
  kQueued,    // in the queue, not admitted yet
  kAdmitted,  // holds what it requested
};

// The keeper process of an entry's job. Other processes use it to check that the job really runs. pid 0: a keeper of an
// earlier release wrote the entry and did not record itself.
struct LedgerKeeper {
  int64_t pid = 0;
  // The start time of the process (field 22 of /proc/PID/stat), which reveals a pid that was reused.
  std::string start;
  // The pid namespace in which `pid` is valid, e.g. "pid:[4026531836]".
  std::string namespace_;
  bool operator==(const LedgerKeeper&) const = default;
};

struct LedgerEntry {
  int64_t number = 0;  // the queue position
  JobId job;
  int64_t user = 0;  // uid
  LedgerRequest ask;
  Instant since{};
  Place place = Place::kQueued;
  // The numbers of the GPUs that the job holds. An admitted job holds as many as it requests.
  std::vector<int> gpus = {};
  // The order among the jobs of one user; the highest value goes first.
  int64_t priority = 0;
  Instant admitted_at{};  // Instant(): unknown, or not admitted
  LedgerKeeper keeper = {};
  bool operator==(const LedgerEntry&) const = default;

  bool admitted() const { return place == Place::kAdmitted; }
};

// The highest valid number of an entry. Numbers grow by one with each job, so a thousand jobs a second would reach the
// highest number after 30 years. An entry with a higher number is rejected, and new entries do not get higher numbers.
// Entries with the same number are ordered by job id, which begins with the time. Therefore another user cannot use up
// the numbers by an entry with a high number.
inline constexpr int64_t kMostNumber = 1'000'000'000'000;

class Ledger {
 public:
  Ledger(Machine machine, std::vector<LedgerEntry> entries);  // entries in any order

  const Machine& machine() const { return machine_; }
  const std::vector<LedgerEntry>& entries() const { return entries_; }  // in queue order (IsBefore)
  int64_t NextNumber() const;                                           // for a new entry
  const LedgerEntry* Find(const JobId& job, int64_t user) const;        // null: no such entry

  // FreeMemory() returns the free memory in MB, and FreeGpus() the free GPUs. The memory is never negative, even if the
  // entries together hold more than the machine has. The jobs of one user count only up to the limits of the user,
  // because no user can have received more.
  int64_t FreeMemory() const;
  std::vector<int> FreeGpus() const;
  std::vector<int> FreeGpus(const LedgerRequest& ask) const;  // only GPUs that `ask` allows
  bool IsFree(const LedgerRequest& ask) const;
  LedgerRequest HeldBy(int64_t user) const;  // sum of the user's admitted jobs

  // Returns true if the admission of `entry` would take its user beyond a limit.
  bool IsOverLimit(const LedgerEntry& entry) const;
  // Returns true if `entry` fits into the free resources and into its user's limits. The queue is ignored.
  bool Fits(const LedgerEntry& entry) const { return IsFree(entry.ask) && !IsOverLimit(entry); }
  // Returns the queued entries ahead of `entry`: all entries of the same user that go before it, and the first entry of
  // each other user. Entries for which CanBlockOthers() is false are left out.
  std::vector<LedgerEntry> Before(const LedgerEntry& entry) const;
  // Returns true if `entry` can block other entries and can be blocked by them: it is queued, it fits the machine, and
  // it would not exceed the limits of its user.
  bool CanBlockOthers(const LedgerEntry& entry) const;

  // Returns true if `entry` may be admitted now, judged by the current entries alone. LedgerQueueStep also
  // considers what earlier reads of the ledger showed.
  bool MayBeAdmitted(const LedgerEntry& entry) const { return Before(entry).empty() && Fits(entry); }
  // Returns the free GPUs with the lowest numbers that `entry` may use. The result is shorter than requested only if
  // `entry` may not be admitted.
  std::vector<int> GpusFor(const LedgerEntry& entry) const;
  // Returns the pending reason for people, e.g. "waits for 8192 MB of memory: 4096 of 24000 MB are free; 2 jobs are
  // before it". `before` is the number of jobs before this one.
  std::string WhyItWaits(const LedgerEntry& entry) const { return WhyItWaits(entry, Before(entry).size()); }
  std::string WhyItWaits(const LedgerEntry& entry, size_t before) const;

 private:
  std::string WhyOverLimit(const LedgerEntry& entry) const;

  Machine machine_;
  std::vector<LedgerEntry> entries_;
};

// Returns true if `a` is ahead of `b` in the queue: by number, then by job id, then by user.
bool IsBefore(const LedgerEntry& a, const LedgerEntry& b);

// Returns true if the request can ever be admitted: it fits the whole machine and the limits of `user`.
bool EverFits(const LedgerRequest& ask, const Machine& machine, int64_t user);

// Sets RoleSpec::max_parallel of each role that has it to the number of tasks that the machine and the limits of `user`
// can hold together; at least 1.
void LimitToMachine(JobSpec& spec, const Machine& machine, int64_t user,
                    const std::vector<std::string>& environment = {});

// Returns the error text for a nested job, which a task of job `above` submits, if that nested job would have to wait.
// Such a job is not queued. `why` comes from WhyItWaits().
std::string WhyNestedCannotWait(const JobId& above, const std::string& why);

// Returns kInvalid if the job can never be admitted. The message has the requested amount, the available amount and the
// keys to change, e.g. "the job requests 10240 MB of memory (5 tasks: ps 1 x 2048 MB, worker 4 x 2048 MB), and this
// machine has 7800 MB; lower tony.worker.memory or tony.worker.instances".
Status CheckEverFits(const JobSpec& spec, const Machine& machine, int64_t user,
                     const std::vector<std::string>& environment = {});

// Decides the next step of one job in the ledger, as a pure core that remembers which jobs were ahead of that job.
//
// When a job enters the queue, it records once which entries are ahead of it: the first entry of each other user. A job
// that enters later never goes before this job, whatever number its owner chooses. If a job could be admitted and does
// not admit itself, other jobs skip it after a while. Therefore a job waits for at most one job of each other user. A
// keeper that is stopped, or that only pretends to wait, does not block other jobs.
//
//   kDeferred --first of its user, and within the limits--> kQueued --first in the queue, and all is free--> kAdmitted
//      ^------ another job of the user goes first, or a limit is reached ------'

// The time that a job has to admit itself once it could be admitted. After this time other jobs skip the job. In a
// measurement, a keeper on a busy machine needed a tenth of this time.
inline constexpr Duration kTurnPatience{5000};
// The additional time for each further position in the queue. A job at a later position needs more time, because this
// job itself waits until it may skip the jobs ahead of it.
inline constexpr Duration kTurnPatienceMore{500};

struct QueueAction {
  enum class Kind {
    kWait,
    kJoin,   // enter the queue under `number`
    kDefer,  // leave the queue, become deferred
    kAdmit,  // admit the job with `gpus`
  };
  Kind kind = Kind::kWait;
  std::string why;  // the pending reason, for people
  int64_t number = 0;
  // Set for kJoin: a queued job of the same user that gives up its queue position for this one.
  std::optional<LedgerEntry> displaced;
  std::vector<int> gpus;
  // The entries that block this one. No new step is needed while one of them keeps its queue position.
  std::vector<LedgerEntry> waits_for;
  // The time at which a blocking job may be skipped. The next step is due at that time even if the ledger does not
  // change.
  std::optional<Instant> look_again;
};

class LedgerQueueStep {
 public:
  // Returns the next step of `mine`, an entry of `ledger` that is not admitted.
  QueueAction Next(const Ledger& ledger, const LedgerEntry& mine, Instant now);
  // Forgets which entries were ahead, because the entry of the job was lost.
  void Forget() { earlier_.reset(); }
  // Returns the jobs that the last Next() skipped, because they did not admit themselves.
  std::vector<LedgerEntry> Passed() const;

 private:
  struct Earlier {
    LedgerEntry entry;
    // The time since which this entry could be admitted; nullopt: it cannot be admitted now.
    std::optional<Instant> could_since;
    bool passed = false;
  };

  static QueueAction NextAside(const Ledger& ledger, const LedgerEntry& mine);
  void LookAtEarlier(const Ledger& ledger, const LedgerEntry& mine, Instant now);
  std::vector<LedgerEntry> Blocking(const Ledger& ledger, QueueAction& step) const;

  // Entries of other users that were ahead when this job entered the queue, in queue order; nullopt: not recorded yet.
  std::optional<std::vector<Earlier>> earlier_;
};

// Returns true if `mine` and all other admitted entries fit the machine together; false if they do not, or if `mine` is
// not in the ledger. A job calls this after its own admission is visible to all. If two jobs are admitted at the same
// time, the later call sees both entries. Therefore at least one of the two jobs notices that the resources do not
// suffice.
bool HasRoomFor(const LedgerEntry& mine, const Ledger& ledger);

// Validation of ledger entries, as a pure core. Any user may put any file into the folder, so an entry counts only if a
// keeper of the file's owner could have written it. A rejected entry is reported to people and counts for nothing; only
// its owner or root removes it.
//
// Validation cannot detect a program that imitates a keeper well. Such a program gets only the resources that a real
// job of its user would get, and machine.json can limit the resources of each user.

// The result of the process check: whether processes of an entry's owner run its job.
enum class ProcessCheck {
  kRuns,        // a keeper or an executor runs
  kNone,        // no such process exists
  kCannotTell,  // the owner's processes are not visible
};

// An entry as it was read from its file, with the properties of the file that validation needs.
struct UncheckedEntry {
  std::string name;  // file name
  LedgerEntry entry;
  // The job id in the content of the file; empty: the content has no job id.
  std::string content_job;
  uint64_t file = 0;  // inode; hard links share it
  // True if users other than the owner can write to the file. The lock on the file may then be held by another user.
  bool writable_by_others = false;
  // True if the file has several names (hard links) and its content shows that the entry was never admitted. Other
  // users may have made the additional names if fs.protected_hardlinks is 0.
  bool content_never_admitted = false;
  ProcessCheck witness = ProcessCheck::kRuns;
};

struct Doubt {
  std::string name;  // file name
  int64_t user = 0;
  std::string why;  // the reason, for people
  bool operator==(const Doubt&) const = default;
};

struct ValidatedEntries {
  std::vector<LedgerEntry> entries;
  std::vector<Doubt> doubts;
};

// Splits the entries into accepted and rejected ones. `machine` is what jobs may use, and `detected` is what the
// hardware has. An entry that was admitted before machine.json lowered the memory is still accepted.
ValidatedEntries Judge(std::vector<UncheckedEntry> sightings, const Machine& machine, const Machine& detected);

// Returns true if the entry passes all checks except the process check. An entry that fails one of them is rejected
// anyway, so the process check is skipped for it.
bool IsPlausible(const UncheckedEntry& sighting, const Machine& machine, const Machine& detected);

}  // namespace tony
