// The machine's ledger as a pure core: who has what, who may have what he waits for, and why others wait.
//
// Memory and GPUs admit; cores are shares and admit nobody. All users stand in one line, each with one job; his other
// jobs stand aside, in the order of their priority and then of their arrival, and join the end of the line one after
// the other. In the line it is first in, first out, a job whole or not at all: a job is admitted when those before it
// are and what it asks for is free. So nobody starves, nobody's thousand jobs hold up another's one, and since a job
// that waits holds nothing, two that each want 60 % take turns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"

namespace tony {

// What a job asks for, for all its tasks and its whole life.
struct LedgerAsk {
  int64_t memory_mb = 0;
  int64_t vcores = 0;
  int64_t gpus = 0;
  std::vector<int> gpus_among = {};  // the numbers that its submitter allows; empty: all
  bool operator==(const LedgerAsk&) const = default;
};
inline constexpr int64_t kMostAsked = int64_t{1} << 48;  // of each; thousands of such asks still add up

// `environment`: of who submits it. Numbers in its CUDA_VISIBLE_DEVICES limit which GPUs the job may get, except where
// a task of another job submits it: that job's keeper chose them.
LedgerAsk AskOf(const JobSpec& spec, const std::vector<std::string>& environment = {});

// What one user may have of the machine at a time, all his jobs together, and for how long each. Nothing: no limit.
struct UserLimits {
  std::optional<int64_t> memory_mb;
  std::optional<int64_t> gpus;
  std::optional<int64_t> run_minutes;  // of a job, since it was admitted
  bool operator==(const UserLimits&) const = default;
};

struct Machine {
  int64_t memory_mb = 0;
  int64_t cores = 0;
  std::vector<int> gpus;                     // by their numbers
  UserLimits user_limits = {};               // of everybody
  std::map<int64_t, UserLimits> users = {};  // of some, by their numbers; go before the others, field by field
  bool operator==(const Machine&) const = default;

  UserLimits LimitsOf(int64_t user) const;
};

// Where a job stands.
enum class Place {
  kAside,     // another job of its user goes before it, or its user has all that he may have; holds nobody up
  kInLine,    // waits for its turn
  kAdmitted,  // has what it asks for
};

// The process that keeps an entry, by which others can tell that there is one. A keeper of a release that did not say
// so has pid 0.
struct LedgerKeeper {
  int64_t pid = 0;
  std::string start;       // field 22 of its /proc/PID/stat: tells a reused pid
  std::string namespace_;  // "pid:[4026531836]": where the pid is one
  bool operator==(const LedgerKeeper&) const = default;
};

struct LedgerEntry {
  int64_t number = 0;  // its place in the order
  JobId job;
  int64_t user = 0;  // its number
  LedgerAsk ask;
  Instant since{};
  Place place = Place::kInLine;
  std::vector<int> gpus = {};  // that it holds; as many as it asks for, once it is admitted
  int64_t priority = 0;        // among its user's own jobs: the highest first
  Instant admitted_at{};       // the epoch: not known, or not admitted
  LedgerKeeper keeper = {};
  bool operator==(const LedgerEntry&) const = default;

  bool admitted() const { return place == Place::kAdmitted; }
};

// Numbers grow by one with each job, so at a thousand jobs a second this is reached after 30 years. No entry beyond is
// believed, and numbers stop growing there: those who share one stand in the order of their job's ids, which begin with
// the time. So no number that a stranger chooses takes the next one away.
inline constexpr int64_t kMostNumber = 1'000'000'000'000;

class Ledger {
 public:
  Ledger(Machine machine, std::vector<LedgerEntry> entries);  // in any order

  const Machine& machine() const { return machine_; }
  const std::vector<LedgerEntry>& entries() const { return entries_; }  // by number
  int64_t NextNumber() const;                                           // for who comes now
  const LedgerEntry* Find(const JobId& job, int64_t user) const;        // null: there is none

  // Never more than the machine has, also where the entries hold more than that. What a user holds counts up to his
  // limits: he cannot have got more.
  int64_t FreeMemory() const;
  std::vector<int> FreeGpus() const;
  std::vector<int> FreeGpus(const LedgerAsk& ask) const;  // of those that it allows
  bool IsFree(const LedgerAsk& ask) const;
  LedgerAsk HeldBy(int64_t user) const;  // all of it

  // Whether its user would have more than his limits with it.
  bool IsOverLimit(const LedgerEntry& entry) const;
  // Whether it could be admitted if nobody waited: it fits what is free, and its user's limits.
  bool Fits(const LedgerEntry& entry) const { return IsFree(entry.ask) && !IsOverLimit(entry); }
  // Those in line that go before it: of its own user all that go before it, of each other user the first. Not those
  // that could not be admitted whatever became free.
  std::vector<LedgerEntry> Before(const LedgerEntry& entry) const;
  // Whether others hold it up or could be held up by it: it fits the machine, and its user's limits are not used up.
  bool CountsInLine(const LedgerEntry& entry) const;

  // Whether the entry may be admitted now, as one sees it who has just come.
  bool MayBeAdmitted(const LedgerEntry& entry) const { return Before(entry).empty() && Fits(entry); }
  // Which GPUs it gets: the lowest that are free. Fewer than it asks for only where it may not be admitted.
  std::vector<int> GpusFor(const LedgerEntry& entry) const;
  // For people: "waits for 8192 MB of memory: 4096 of 24000 MB are free; 2 jobs are before it".
  std::string WhyItWaits(const LedgerEntry& entry) const { return WhyItWaits(entry, Before(entry).size()); }
  std::string WhyItWaits(const LedgerEntry& entry, size_t before) const;

 private:
  std::string WhyOverLimit(const LedgerEntry& entry) const;

  Machine machine_;
  std::vector<LedgerEntry> entries_;
};

// The order of the line.
bool IsBefore(const LedgerEntry& a, const LedgerEntry& b);

// Whether the ask fits the machine, and what that user may have of it.
bool EverFits(const LedgerAsk& ask, const Machine& machine, int64_t user);

// Why a job that a task of job `above` has submitted is not queued. `why`: WhyItWaits().
std::string WhyNestedCannotWait(const JobId& above, const std::string& why);

// kInvalid with both numbers and the key that would help: "the job asks for 10240 MB of memory (5 tasks: ps 1 x 2048
// MB, worker 4 x 2048 MB), this machine has 7800 MB; set tony.worker.memory or tony.worker.instances".
Status CheckEverFits(const JobSpec& spec, const Machine& machine, int64_t user,
                     const std::vector<std::string>& environment = {});

// What one job does next in the ledger, as a pure core with a memory of its own: who was there before it.
//
// The job counts those before it once, as it joins the line: of each other user the first. Nobody who comes later goes
// before it, whatever number he gives himself, and who could take his turn and does not is passed after a while. So
// a job waits for one job of each other user at most, and nobody who is stopped, or only pretends to wait, holds it up.
//
//   kAside --its user's next, and within his limits--> kInLine --its turn, and free--> kAdmitted
//      ^---- another of its user's goes before it, or his limits are used up ----'

// How long a job that could be admitted may take for it: ten times what a keeper on a busy machine was seen to need.
inline constexpr Duration kTurnPatience{5000};
// More for each job further back, since those before it wait for it, too, before they pass it.
inline constexpr Duration kTurnPatienceMore{500};

struct TurnStep {
  enum class Kind {
    kWait,
    kJoin,       // the line, under `number`
    kStepAside,  // out of it
    kAdmit,      // with `gpus`
  };
  Kind kind = Kind::kWait;
  std::string why;  // it does not have what it asks for, for people
  int64_t number = 0;
  std::optional<LedgerEntry> displaced;  // kJoin: a job of its user that gives up its place in line for it
  std::vector<int> gpus;
  std::vector<LedgerEntry> waits_for;  // as long as one of them is where it is, there is nothing new
  std::optional<Instant> look_again;   // when somebody is to be passed, if nothing changes
};

class LedgerTurn {
 public:
  // `mine` is in the ledger, and not admitted.
  TurnStep Next(const Ledger& ledger, const LedgerEntry& mine, Instant now);
  void Forget() { earlier_.reset(); }  // who was before it: its entry was lost
  // Those who do not take their turn, as of the last Next().
  std::vector<LedgerEntry> Passed() const;

 private:
  struct Earlier {
    LedgerEntry entry;
    std::optional<Instant> could_since;  // have been admitted
    bool passed = false;
  };

  static TurnStep NextAside(const Ledger& ledger, const LedgerEntry& mine);
  void LookAtEarlier(const Ledger& ledger, const LedgerEntry& mine, Instant now);
  std::vector<LedgerEntry> Blocking(const Ledger& ledger, TurnStep& step) const;

  std::optional<std::vector<Earlier>> earlier_;  // of other users, in the order of the line
};

// Whether there is room for `mine` beside all others that are admitted: asked after it was admitted for all to see. Of
// two that were admitted at once the later one asks when the other is to be seen, so one of them is told at least.
bool HasRoomFor(const LedgerEntry& mine, const Ledger& ledger);

// How far the entries of a ledger are believed, as a pure core. Any user may put any file into the folder, so each
// entry counts only as far as its owner's keeper could have made it. An entry that is not believed is named to people
// and counts for nothing; nobody removes it but its owner or root.
//
// What this cannot tell apart is a program that plays a keeper well: it has what a real job of its user has, no more,
// and what users may have is limited by machine.json.

// What processes of its user show of an entry's job.
enum class Witness {
  kRuns,        // one of them runs it: a keeper or an executor
  kNone,        // none does
  kCannotTell,  // processes of that user are not to be seen from here
};

// An entry as it was found, with a lock on it that only its owner can have taken.
struct Sighting {
  std::string name;  // of its file
  LedgerEntry entry;
  std::string says_job;             // the job that its content speaks of; empty: it does not say
  uint64_t file = 0;                // the same for two names of one file
  bool writable_by_others = false;  // so that the lock may be another user's
  // The file has several names, which other users may have made (fs.protected_hardlinks=0), and was never admitted.
  bool says_it_waits = false;
  Witness witness = Witness::kRuns;
};

struct Doubt {
  std::string name;  // of the file
  int64_t user = 0;
  std::string why;  // "no process of its user runs this job"
  bool operator==(const Doubt&) const = default;
};

struct Belief {
  std::vector<LedgerEntry> entries;
  std::vector<Doubt> doubts;
};

// `machine`: what jobs may have. `detected`: what there is; an entry that was admitted before machine.json said less is
// still believed.
Belief Judge(std::vector<Sighting> sightings, const Machine& machine, const Machine& detected);

// Whether its processes are to be looked at: what is doubted anyway need not be.
bool IsPlausible(const Sighting& sighting, const Machine& machine, const Machine& detected);

}  // namespace tony
