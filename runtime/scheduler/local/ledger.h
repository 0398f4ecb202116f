// The machine's ledger as a pure core: who has what, who may have what he waits for, and why others wait.
//
// Memory and GPUs admit; cores are shares and admit nobody. Strictly first in, first out, a job whole or not at all: a
// job is admitted when all before it are and what it asks for is free. So nobody starves, and since a job that waits
// holds nothing, two that each want 60 % take turns.
#pragma once

#include <cstdint>
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
  bool operator==(const LedgerAsk&) const = default;
};
inline constexpr int64_t kMostAsked = int64_t{1} << 48;  // of each; thousands of such asks still add up

LedgerAsk AskOf(const JobSpec& spec);

struct Machine {
  int64_t memory_mb = 0;
  int64_t cores = 0;
  std::vector<int> gpus;  // by their numbers
  bool operator==(const Machine&) const = default;
};

struct LedgerEntry {
  int64_t number = 0;  // its place in the order
  JobId job;
  int64_t user = 0;  // its number
  LedgerAsk ask;
  Instant since{};
  bool admitted = false;
  std::vector<int> gpus;  // that it holds; as many as it asks for, once it is admitted
  bool operator==(const LedgerEntry&) const = default;
};

class Ledger {
 public:
  Ledger(Machine machine, std::vector<LedgerEntry> entries);  // in any order

  const Machine& machine() const { return machine_; }
  const std::vector<LedgerEntry>& entries() const { return entries_; }  // by number
  int64_t NextNumber() const;                                           // for who comes now

  // Never more than the machine has, also where the entries hold more than that.
  int64_t FreeMemory() const;
  std::vector<int> FreeGpus() const;

  // Whether the entry may be admitted now. One before it that asks for more than the machine has holds nobody up.
  bool MayBeAdmitted(const LedgerEntry& entry) const;
  // Which GPUs it gets: the lowest that are free. Fewer than it asks for only where it may not be admitted.
  std::vector<int> GpusFor(const LedgerEntry& entry) const;
  // For people: "waits for 8192 MB of memory: 4096 of 24000 MB are free; 2 jobs are before it".
  std::string WhyItWaits(const LedgerEntry& entry) const;

 private:
  bool IsFree(const LedgerAsk& ask) const;
  size_t WaitingBefore(const LedgerEntry& entry) const;

  Machine machine_;
  std::vector<LedgerEntry> entries_;
};

bool EverFits(const LedgerAsk& ask, const Machine& machine);

// kInvalid with both numbers and the key that would help: "the job asks for 10240 MB of memory (5 tasks: ps 1 x 2048
// MB, worker 4 x 2048 MB), this machine has 7800 MB; set tony.worker.memory or tony.worker.instances".
Status CheckEverFits(const JobSpec& spec, const Machine& machine);

}  // namespace tony
