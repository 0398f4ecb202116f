// What people and engines ask of a job that no AM can rule: read from its folder, decided where that is safe
// (attention_without_am.h), and answered there.
#pragma once

#include <optional>
#include <string>

#include "runtime/keeper/attention_without_am.h"
#include "runtime/records/job_records.h"
#include "runtime/records/kill_answers.h"
#include "runtime/records/looks.h"

namespace tony::keeper {

class RequestsWithoutAm {
 public:
  explicit RequestsWithoutAm(JobRecords records);

  struct End {
    Verdict verdict;
    Duration grace{-1};  // below 0: the job's own
  };
  // To be asked a few times a second. Nothing: the job goes on. What ends it is a plain kill request from then on,
  // which the next keeper finds, too.
  std::optional<End> Look(Instant now);

 private:
  void Learn(Instant now);
  void SeeWhoLooks(Instant now);
  std::optional<End> HearKills(Instant now);
  std::optional<End> Decide(const JobRecords::NamedKillRequest& kill, Instant now);
  End Take(const std::string& name, const KillRequest& request);
  void Settle(const std::string& name, const FiledAnswer& filed);

  const JobRecords records_;
  AttentionWithoutAm attention_;
  LookReader looks_;
  Epoch epoch_;          // of the AM that ruled last
  std::string unknown_;  // why what it had told is not known
};

// The kill of a job whose master may live and does not answer: a plain one; and before any master has ruled, one on
// condition of the owner who submitted it, who cannot have been followed yet.
struct SilentKill {
  KillRequest request;
  std::string name;  // of its file; empty: it is a plain one
};
std::optional<SilentKill> KillOfSilentMaster(const JobRecords& records);

// Says to its asker that it is taken; from then on it is a plain one.
RequestsWithoutAm::End Take(const JobRecords& records, const SilentKill& kill);

}  // namespace tony::keeper
