// Notes of clusters (yarn_configured.h) that outlive their jobs, which somebody else has removed, or another machine.
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

// Those that were written before `order.not_since` go where the cluster that they name has no such job any more. The
// others stay, and `garbage.kept` says why: the job is there, or nobody knows. `jobs_of` is asked once for each
// cluster.
Status CollectNotes(const GarbageOrder& order, const JobsOfCluster& jobs_of, Garbage& garbage);

// The names in the user's folder of jobs in HDFS, also of half ones, within two seconds; none: there is no such folder.
Result<std::set<std::string>> JobsInHdfs(const YarnCluster& cluster);

// What no job needs any more of what lies in the user's folder of HDFS (yarn_jobs.h), and how it is removed while
// others submit jobs.
//
//   jobs/<id>                 ended long ago: DELETE
//   jobs/<id>                 without submission.json, an hour old: RENAME to jobs/.old-<id>; with it by now: back
//   staged/<name>             an hour old, and no job names it: RENAME into gc/<random>
//   staged/.put-<random>      two days old: an upload may take one
//   gc/<random>               a collection that is at work; an hour old: it died
//
// A submit does not send what it finds in staged/, and a collection must not take that away. They meet so:
//
//   collection   1. makes gc/<random>       2. reads which files the jobs name   3. moves the others into gc/<random>
//   submit       1. names its files in the records of its job   2. removes all in gc/   3. looks whether its files are
//                there; else sends them, and again from 1.
//
// Either the collection reads the names, or its folder is gone when it moves something: then it moves nothing, however
// late, and gives way. Neither waits for the other, and no clock is compared but HDFS's own.

inline constexpr std::string_view kOldJob = ".old-";
inline constexpr Duration kUnfinishedMayGo = std::chrono::hours(1);  // a client makes a job's records within seconds
inline constexpr Duration kUploadMayGo = std::chrono::hours(48);

// Calls wait for HDFS; any thread.
class YarnGarbage {
 public:
  using RecordsOfJob = std::function<JobRecords(const JobId&)>;
  YarnGarbage(std::shared_ptr<HdfsCalls> calls, HdfsPlaces places, RecordsOfJob records, HdfsPatience patience = {});

  // What fails names the place. Where a submit came between, what is left is left for the next time.
  Result<Garbage> Collect(const GarbageOrder& order) const;

  // Of a job whose submit is thought to have died before it was made: from now on nobody makes it. False: somebody has,
  // or does that just now.
  Result<bool> GiveUp(const JobId& job) const;

  // For a submit whose records name `files`: no collection takes those that are staged from now on. False: one has
  // before, or they are not as they were told; they are sent again.
  Result<bool> Hold(const HdfsFiles& files) const;

 private:
  using Entries = std::vector<hadoop::HdfsEntry>;

  Result<Entries> List(const std::string& folder) const;  // none: there is no such folder
  Result<bool> IsThere(const std::string& path) const;
  Result<Instant> ServersTime() const;
  Status RemoveJobs(const GarbageOrder& order, Garbage& garbage) const;
  Status RemoveUnfinished(const GarbageOrder& order, Instant now, Garbage& garbage) const;
  Status RemoveHalf(const std::string& name, bool dry_run, Garbage& garbage) const;
  Result<bool> RemoveUnmade(const std::string& job, bool is_old) const;
  Status RemoveStaged(const GarbageOrder& order, Instant now, Garbage& garbage) const;
  Status MoveUnneeded(const std::string& collection, Instant now, Garbage& garbage) const;
  Status RemoveDead(Instant now) const;
  Result<std::set<std::string>> NamesInUse(const Garbage& garbage) const;
  Result<bool> Move(const hadoop::HdfsEntry& entry, const std::string& collection) const;
  Status Remove(const std::string& path) const;

  const std::shared_ptr<HdfsCalls> calls_;
  const HdfsPlaces places_;
  const RecordsOfJob records_;
  const HdfsBytes hdfs_;
};

YarnGarbage GarbageIn(const YarnCluster& cluster);  // of its user

}  // namespace tony
