// Who rules a job on YARN: the ResourceManager says it. One attempt of the application master for now, so that a job
// whose master dies has ended: whoever looks for it writes that down.
//
//   RM's state of the application              Look()
//   unknown, and no master has ruled yet       kNobody: it was never submitted, or the RM began anew: Start(), and for
//                                              a kill EndUnruled(), which has the RM take and end it without a master
//   unknown else                               kLost
//   NEW, SUBMITTED, ACCEPTED, RUNNING          kKept
//   FINISHED, FAILED, KILLED                   kLost: nothing of it lives. Without an end in its records its master
//                                              died, or it was killed from outside
//   no answer                                  kKept: silent is not dead
//
// A master that the ResourceManager has given up may live, stopped or behind a broken network, and its last writes may
// be under way. So who settles a job first seals its journal (records/journal_store.h), after which that master writes
// neither decisions nor records; reads then what it has left; and writes the end as the first of all who settle it has
// put it down in `settled.json`.
#pragma once

#include <functional>
#include <string>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// The verdict on a job whose application the ResourceManager has ended and whose master left none. Pure.
Verdict VerdictWithoutMaster(const hadoop::ApplicationReport& report);

// The end of such a job, of its last document and of its journal as far as it can be read (nothing: it has none). A
// verdict that is in the journal is its master's own, which had told everybody to stop because of it. Pure.
JobStatus EndWithoutMaster(JobStatus last, const std::optional<std::string>& journal,
                           const hadoop::ApplicationReport& report);

inline constexpr char kSettledRecord[] = "settled.json";

class YarnArbiter : public AmLauncher {
 public:
  // What the ResourceManager is asked to run for the job.
  using MakeSubmission =
      std::function<Result<hadoop::Submission>(const YarnCluster& cluster, const JobRecords& records)>;
  explicit YarnArbiter(MakeSubmission make) : make_(std::move(make)) {}

  // Waits for the ResourceManager, as do the others but WhyItEnds().
  ArbiterView Look(const JobRecords& records) const override;
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const override;
  Status Settle(const JobRecords& records) const override;
  Result<MakeChannel> WayToAm(const JobRecords& records) const override;
  Result<bool> EndUnruled(const JobRecords& records, const KillRequest& kill) const override;
  std::string WhyItEnds(const JobRecords& records) const override;
  // An application that is there already is as good as one that is submitted now.
  Result<bool> Start(const JobRecords& records) override;

 private:
  const MakeSubmission make_;
};

}  // namespace tony
