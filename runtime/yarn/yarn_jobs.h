// Where the jobs of a user lie in HDFS, all of it private to the user:
//
//   <home>/.tony/staged                  what jobs bring along, by content: hdfs_staging.h
//   <home>/.tony/gc                      what is being removed: yarn_garbage.h
//   <home>/.tony/requests                what is known under request ids: yarn_jobs.h
//   <home>/.tony/checkpoint-folders      which job has which: records/checkpoint_holder.h
//   <home>/.tony/jobs/<application id>   the records of a job: job_records.h, but no environment; the journal: a
//   folder;
//                                        and beside these
//     files.json                         the files of its containers, as HDFS has them
//     tls.json                           who its programs are to each other: three certificates with their keys
//     settled.json                       how it ended, where its master could not write that: yarn_arbiter.h
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/hadoop/webhdfs.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/net/tls.h"
#include "runtime/records/files_for_others.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/records/hdfs/hdfs_record_store.h"
#include "runtime/records/job_records.h"
#include "runtime/records/journal_store.h"
#include "runtime/records/request_index.h"
#include "runtime/yarn/hdfs_staging.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

struct HdfsPlaces {
  std::string root;  // "/user/eve/.tony", in which are
  std::string jobs, staged, collections, requests;
};
HdfsPlaces PlacesIn(const YarnCluster& cluster);
std::string JobsFolder(const YarnCluster& cluster);
std::string StagedFolder(const YarnCluster& cluster);
HdfsFolder JobFolderOf(const YarnCluster& cluster, const JobId& job);

// With the limits of a record's calls.
hadoop::WebHdfs::Options HdfsOptions(const YarnCluster& cluster);

// Whether there is such a job or not. `known`: the process wrote them itself.
JobRecords RecordsOf(const YarnCluster& cluster, const JobId& job, RecordsByName known = {});
// As its master of this epoch has them, whose journal is begun: once that is sealed, nothing more is written by them.
JobRecords RecordsOfMaster(const YarnCluster& cluster, const JobId& job, Epoch epoch);
// With calls of its own: a journal's may not wait for records.
std::shared_ptr<const JournalStore> JournalOf(const YarnCluster& cluster, const JobId& job);

Status PutRecord(const JobRecords& records, const std::string& name, std::string_view bytes);  // unless it is there
// Those that have bytes, all at once, in any order: each takes four calls that follow each other.
Status PutRecords(const YarnCluster& cluster, const JobId& job, const RecordsByName& records);

inline constexpr char kSubmissionRecord[] = "submission.json";  // without it there is no job
inline constexpr char kFilesRecord[] = "files.json";
inline constexpr char kCertificatesRecord[] = "tls.json";
std::string ToJson(const JobCertificates& certificates);
Result<HdfsFiles> ReadFiles(const JobRecords& records);
Result<JobCertificates> ReadCertificates(const JobRecords& records);

// The files of a job's history in HDFS, for TonY's portal and Dr. Elephant: history/README.md. Its master writes them,
// as TonY's did; whoever settles a job writes the end of one whose master has not.

// Each does nothing for a job whose history is not in HDFS. They wait for it, 10 s at most a call; what goes wrong is a
// line in the log, as it costs the job nothing.
void BeginHistoryInHdfs(const YarnCluster& cluster, const JobRecords& records);
void FinishHistoryInHdfs(const YarnCluster& cluster, const JobRecords& records);

// What can write into the folder of a history: HDFS, or this machine where the folder is of no HDFS. kInvalid: another
// HDFS.
Result<std::shared_ptr<const FilesForOthers>> FilesOfHistory(const YarnCluster& cluster, const std::string& folder);

// For a client, before the job: why no history will come of it, as far as can be told; nothing: there will be one, or
// none was asked for.
std::optional<std::string> WhyNoHistory(const YarnCluster& cluster, const JobSpec& spec);

// What is known under request ids of a user's jobs on a cluster: <home>/.tony/requests (records/request_index.h).
// So a submit from any machine finds what those from others made.

RequestPlace RequestsIn(const YarnCluster& cluster);
// The same for a test's own calls.
RequestPlace RequestsBy(const std::shared_ptr<HdfsCalls>& calls, const YarnCluster& cluster,
                        const HdfsPatience& patience = {});

// The jobs of one user on YARN: records in HDFS, ids of the ResourceManager.

class YarnJobs : public JobStore {
 public:
  // `files`: of the job that is to be made; a job that is there is found by its id, and all are listed where no job is
  // named (yarn_configured.h). Errors, beside JobStore's: FindYarnCluster()'s.
  explicit YarnJobs(SiteFiles files) : files_(std::move(files)) {}

  Result<JobId> NewId(Instant now) const override;  // reserved by the ResourceManager
  // Sends what was staged here, and writes all records but submission.json: without it there is no job.
  Result<NewJob> Lay(NewJob job, Instant now, const StageWatch& watch) const override;
  void DiscardLaid(const NewJob& job) const override;
  Result<JobRecords> Create(const NewJob& job, Instant now) const override;
  void Discard(const JobRecords& job) const override;
  Result<JobRecords> Find(const JobId& job) const override;
  Result<std::vector<JobRecords>> List() const override;
  Result<NewestJobs> ListNewest(size_t most_finished) const override;

 private:
  Result<RecordsByName> LayRecords(const YarnCluster& cluster, const NewJob& job, Instant now,
                                   const StageWatch& watch) const;

  const SiteFiles files_;
};

}  // namespace tony
