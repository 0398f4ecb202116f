// Decides from the ResourceManager's (RM's) report whether a job on YARN has an AM, or gets one. The RM starts a
// further attempt when the AM's container ends. When the RM has ended the application, no AM comes any more. The next
// process that waits for, kills, recovers or resubmits the job then records the job's final status.
//
//   RM's state of the application              Look()
//   unknown, and no AM has been leader yet     kNobody: it was never submitted, or the RM has restarted. Start()
//                                              submits it. EndBeforeFirstAm() kills the job: it makes the RM accept
//                                              the application and end it without an AM
//   unknown, and an AM has been leader         kLost
//   NEW, SUBMITTED, ACCEPTED, RUNNING          kKept, also between two attempts (ACCEPTED): the RM starts the next AM
//   FINISHED, FAILED, KILLED                   kLost: all processes of the application have ended. If the job's records
//                                              have no final status, its AM died, or it was killed from outside
//   no answer                                  kKept: an RM that does not answer may still run the application
//
// The epoch of an AM is a thousand times the number of its attempt, plus the number of the process in this attempt. A
// report of a second attempt or a later one therefore shows which AMs are no longer leader, wherever they run.
//
// An AM that the RM has given up may still be alive, stopped or behind a broken network, and its last writes may be
// under way. A process that finalizes a lost job therefore first seals the job's journal (records/journal_store.h).
// After that the AM writes neither decisions nor records. The process then reads what the AM has left. If several
// processes finalize the job, all of them write the final status that the first one has recorded in `settled.json`.
#pragma once

#include <functional>
#include <string>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// The epochs of the AMs of one attempt begin at this number times the number of the attempt.
inline constexpr int64_t kEpochsPerAttempt = 1000;

// Returns the verdict of a job whose application the ResourceManager has ended and whose AM left no verdict. Pure.
Verdict VerdictWithoutMaster(const hadoop::ApplicationReport& report);

// Returns the final status of a job whose application the ResourceManager has ended and whose AM wrote no final status.
// The status is made from the job's last status and from the readable part of its journal (nullopt: no journal). If the
// journal contains a verdict, that verdict is used: the AM reached it and had stopped all tasks because of it. Pure.
JobStatus EndWithoutMaster(JobStatus last, const std::optional<std::string>& journal,
                           const hadoop::ApplicationReport& report);

inline constexpr char kSettledRecord[] = "settled.json";

class YarnArbiter : public AmLauncher {
 public:
  // Makes the application that the ResourceManager runs for the job.
  using MakeSubmission =
      std::function<Result<hadoop::Submission>(const YarnCluster& cluster, const JobRecords& records)>;
  explicit YarnArbiter(MakeSubmission make) : make_(std::move(make)) {}

  // All methods except KeeperFailureHint() wait for the ResourceManager or for HDFS.
  ArbiterView Look(const JobRecords& records) const override;
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const override;
  Status Settle(const JobRecords& records) const override;
  Result<MakeChannel> WayToAm(const JobRecords& records) const override;
  Result<bool> EndBeforeFirstAm(const JobRecords& records, const KillRequest& kill) const override;
  Result<std::optional<JobStatus>> EndWithoutRecords(const JobId& job, const std::string& reason,
                                                     Duration limit) const override;
  Result<bool> EndInScheduler(const JobId& job, const std::string& reason) const override;
  Result<std::optional<TokenPush>> PrepareTokenPush(const JobRecords& records) const override;
  std::string KeeperFailureHint(const JobRecords& records) const override;
  // Submits the application. An application that already exists counts as submitted.
  Result<bool> Start(const JobRecords& records) override;

 private:
  const MakeSubmission make_;
};

}  // namespace tony
