// How often AMs of a job have died of late, and when that is too often. On disk, so that a keeper that dies with them
// does not make it forgotten.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/records/job_records.h"

namespace tony::keeper {

struct AmDeath {
  enum class Kind {
    kCrashed,  // it ended by itself, could not be started, or hung and was killed by us
    kKilled,   // by somebody else, or nobody saw how it ended
  };
  Instant time;
  Kind kind = Kind::kCrashed;
};

// Pure. A crash that comes from the outside passes with a few tries; one that comes from the journal never does. Being
// killed is not the AM's fault, but where it happens over and over (no memory left) there must be an end, too.
class DeathBudget {
 public:
  static constexpr size_t kMostCrashes = 5;
  static constexpr size_t kMostKills = 200;
  static constexpr Duration kWindow = std::chrono::minutes(5);

  // How long after the newest death the next start is; nothing: there is none.
  std::optional<Duration> Died(const AmDeath& death);
  // What Died() would have made of deaths that an earlier keeper saw.
  void Restore(const std::vector<AmDeath>& earlier);

 private:
  std::deque<Instant> crashes_, kills_;
};

Status RecordDeath(const JobRecords& records, const AmDeath& death);  // appended to am.deaths
std::vector<AmDeath> ReadDeaths(const JobRecords& records);           // what cannot be read is left out

}  // namespace tony::keeper
