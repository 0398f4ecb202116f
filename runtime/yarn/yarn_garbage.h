// Removes a job's note about its cluster (yarn_configured.h) if the job no longer exists. Another user or another
// machine may have removed the job.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend/garbage.h"
#include "runtime/base/result.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/yarn/hdfs_staging.h"
#include "runtime/yarn/yarn_cluster.h"
#include "runtime/yarn/yarn_jobs.h"

namespace tony {

using JobsOfCluster = std::function<Result<std::set<std::string>>(const YarnCluster& cluster)>;

// Removes notes that were written before `order.not_since` if their cluster no longer has the job. Other notes stay,
// and `garbage.kept` gives the reason: the job exists, or the cluster cannot be queried. `jobs_of` is called once per
// cluster.
Status CollectNotes(const GarbageOrder& order, const JobsOfCluster& jobs_of, Garbage& garbage);

// Returns the names of all entries in the user's folder of jobs in HDFS, including unfinished jobs; empty if the folder
// does not exist. Waits two seconds at most.
Result<std::set<std::string>> JobsInHdfs(const YarnCluster& cluster);

// Removes unneeded files and folders from the user's folder in HDFS (yarn_jobs.h), while other clients submit jobs.
//
//   jobs/<id>                 ended long ago: DELETE
//   jobs/<id>                 without submission.json, an hour old: RENAME to jobs/.old-<id>, and back if it has
//                             that file then
//   staged/<name>             an hour old, and no job names it: RENAME into gc/<random>. The same for programs/
//   staged/.put-<random>      two days old, because an upload may take one day
//   gc/<random>               a running collection; if an hour old, the collection has died
//
// A submit does not send files that it finds in staged/, so a collection must not remove these files. This is how they
// avoid a conflict:
//
//   collection   1. makes gc/<random>       2. reads which files the jobs name   3. moves the others into gc/<random>
//   submit       1. names its files in the records of its job   2. removes all in gc/   3. checks whether its files are
//                there; else sends them, and repeats from 1.
//
// Either the collection reads the names of the submit's files, or the submit has removed the collection's folder before
// the collection moves a file. In the second case the collection moves nothing, however late it is, and gives up.
// Neither waits for the other, and HDFS's own clock is the only one used.

inline constexpr std::string_view kOldJob = ".old-";
// The age at which a job without submission.json is garbage. A client writes all records of a job within seconds.
inline constexpr Duration kUnfinishedMayGo = std::chrono::hours(1);
inline constexpr Duration kUploadMayGo = std::chrono::hours(48);

// The collections of one user. All methods wait for HDFS. Any thread.
class YarnGarbage {
 public:
  using RecordsOfJob = std::function<JobRecords(const JobId&)>;
  YarnGarbage(std::shared_ptr<HdfsCalls> calls, HdfsPlaces places, RecordsOfJob records, HdfsRetryPolicy patience = {});

  // Removes garbage. A failure names the place. If a submit interrupts the collection, the rest is left for the next
  // collection.
  Result<Garbage> Collect(const GarbageOrder& order) const;

  // Gives up a job whose submit seems to have died before it made the job. After that no client can make this job.
  // Returns false if a client has made the job, or is making it now.
  Result<bool> GiveUp(const JobId& job) const;

  // Protects the files that the records of a submit name. From now on, no collection takes them out of staged/. Returns
  // false if a collection has already taken one, or if a file differs from its entry in `files`. The caller must then
  // send the files again.
  Result<bool> Hold(const HdfsFiles& files) const;

 private:
  using Entries = std::vector<hadoop::HdfsEntry>;

  // Lists a folder. The list is empty if the folder does not exist.
  Result<Entries> List(const std::string& folder) const;
  Result<bool> IsThere(const std::string& path) const;
  Result<Instant> ServersTime() const;
  Status RemoveJobs(const GarbageOrder& order, Garbage& garbage) const;
  Status RemoveUnfinished(const GarbageOrder& order, Instant now, Garbage& garbage) const;
  Status RemoveHalf(const std::string& name, bool dry_run, Garbage& garbage) const;
  Result<bool> RemoveUnfinishedJob(const std::string& job, bool is_old) const;
  Status RemoveStaged(const GarbageOrder& order, Instant now, Garbage& garbage) const;
  Status MoveUnneeded(const std::string& collection, Instant now, Garbage& garbage) const;
  Status RemoveDead(Instant now) const;
  Result<std::set<std::string>> NamesInUse(const Garbage& garbage) const;
  Result<bool> Move(const std::string& from, const std::string& collection) const;
  Status Remove(const std::string& path) const;

  const std::shared_ptr<HdfsCalls> calls_;
  const HdfsPlaces places_;
  const RecordsOfJob records_;
  const HdfsBytes hdfs_;
};

// Returns the collections of the cluster's user.
YarnGarbage GarbageIn(const YarnCluster& cluster);

}  // namespace tony
