// The places of a user's jobs in HDFS, all of them private to the user, except the programs:
//
//   <home>/.tony/staged                  the files of jobs, named by content: hdfs_staging.h
//   <home>/.tony/programs                TonY's own programs for the nodes, named in the same way
//   <home>/.tony/gc                      files that are being removed: yarn_garbage.h
//   <home>/.tony/requests                jobs by request id: yarn_jobs.h
//   <home>/.tony/checkpoint-folders      which job uses which folder: records/checkpoint_holder.h
//   <home>/.tony/jobs/<application id>   the records of a job: job_records.h, except the environment. The journal is a
//                                        folder. Additional records:
//     files.json                         the files of its containers, as HDFS has them
//     tls.json                           the identities of its programs: three certificates with their keys
//     settled.json                       how the job ended, if its AM could not write that: yarn_arbiter.h
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/hadoop/hdfs.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/net/tls.h"
#include "runtime/records/files_for_others.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/records/hdfs/hdfs_record_store.h"
#include "runtime/records/job_records.h"
#include "runtime/records/journal_store.h"
#include "runtime/records/request_index.h"
#include "runtime/yarn/container_launch.h"
#include "runtime/yarn/hdfs_staging.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

struct HdfsPlaces {
  std::string root;  // "/user/eve/.tony": parent of these folders
  std::string jobs, staged, programs, collections, requests;
};
HdfsPlaces PlacesIn(const YarnCluster& cluster);
std::string JobsFolder(const YarnCluster& cluster);
std::string StagedFolder(const YarnCluster& cluster);
HdfsFolder JobFolderOf(const YarnCluster& cluster, const JobId& job);

// Returns where executors read the job's lease record. Blocks until the NameNodes' names are resolved. If that fails,
// the place has no NameNodes.
LeasePlace LeasePlaceOf(const YarnCluster& cluster, const JobId& job);

// Returns options for WebHDFS with the limits that suit calls for records.
hadoop::Hdfs::Options HdfsOptions(const YarnCluster& cluster);

// Returns the records of a job, which need not exist. `known` contains records that this process itself wrote.
JobRecords RecordsOf(const YarnCluster& cluster, const JobId& job, RecordsByName known = {});
// Returns the records for the AM of this epoch. The AM must have begun its journal. After that journal has been sealed,
// nothing can be written to these records.
JobRecords RecordsOfMaster(const YarnCluster& cluster, const JobId& job, Epoch epoch);
// Returns the journal. Its calls to HDFS are separate, because they must not wait for calls of the records.
std::shared_ptr<const JournalStore> JournalOf(const YarnCluster& cluster, const JobId& job);

// Writes a record. Does nothing if the record already exists.
Status PutRecord(const JobRecords& records, const std::string& name, std::string_view bytes);
// Writes all records that have bytes, concurrently and in any order, because each record takes four calls in sequence.
Status PutRecords(const YarnCluster& cluster, const JobId& job, const RecordsByName& records);

// A job exists only if it has this record.
inline constexpr char kSubmissionRecord[] = "submission.json";
inline constexpr char kFilesRecord[] = "files.json";
inline constexpr char kCertificatesRecord[] = "tls.json";
std::string ToJson(const JobCertificates& certificates);
Result<HdfsFiles> ReadFiles(const JobRecords& records);
Result<JobCertificates> ReadCertificates(const JobRecords& records);

// The files of a job's history in HDFS, for TonY's portal and Dr. Elephant: history/README.md. The AM writes them, as
// in the Java TonY. If the AM did not write how the job ended, the process that finalizes the job writes it.

// Both functions do nothing for a job whose history is not in HDFS. They wait for HDFS, 10 s at most per call. A
// failure is only logged, because it does no harm to the job.
void BeginHistoryInHdfs(const YarnCluster& cluster, const JobRecords& records);
void FinishHistoryInHdfs(const YarnCluster& cluster, const JobRecords& records);

// Removes the records of an ended job that only running programs read: the user's secret variables, the job's token,
// the keys of its programs, and its clock. The other records stay, because `logs`, `history` and `status` read them. A
// failure is only logged.
void RemoveUnneededRecords(const JobRecords& records);

// Returns a writer for the folder of a history: in HDFS, or on this machine if the folder is not in HDFS. kInvalid: the
// folder leads to no HDFS (hdfs_location.h).
Result<std::shared_ptr<const FilesForOthers>> FilesOfHistory(const YarnCluster& cluster, const std::string& folder);

// Returns why no history will be written, as far as a client can know this before the submit. nullopt: a history will
// be written, or none was requested.
std::optional<std::string> WhyNoHistory(const YarnCluster& cluster, const JobSpec& spec);

// The index of a user's jobs on a cluster by their request ids: <home>/.tony/requests (records/request_index.h). A
// submit from any machine finds the jobs that other machines submitted.

RequestPlace RequestsIn(const YarnCluster& cluster);
// Does the same as RequestsIn(), with calls that a test provides.
RequestPlace RequestsBy(const std::shared_ptr<HdfsCalls>& calls, const YarnCluster& cluster,
                        const HdfsRetryPolicy& patience = {});

// The jobs of one user on YARN. Their records are in HDFS, and their ids come from the ResourceManager.

class YarnJobs : public JobStore {
 public:
  // `files` are the site files of the job that is to be made; they describe its cluster. For an existing job, the
  // cluster is found by the job's id. List() and ListNewest() list the jobs of the cluster that a command without a job
  // id uses (yarn_configured.h). Errors are those of JobStore and of FindYarnCluster().
  explicit YarnJobs(SiteFiles files) : files_(std::move(files)) {}

  Result<JobId> NewId(Instant now) const override;  // reserved by the ResourceManager
  // Uploads the staged files, and writes all records except submission.json. The job does not exist yet, because it
  // lacks that record.
  Result<NewJob> UploadJob(NewJob job, Instant now, const StageWatch& watch) const override;
  void DiscardUploaded(const NewJob& job) const override;
  Result<JobRecords> Create(const NewJob& job, Instant now) const override;
  void Discard(const JobRecords& job) const override;
  Result<JobRecords> Find(const JobId& job) const override;
  Result<std::vector<JobRecords>> List() const override;
  Result<NewestJobs> ListNewest(size_t most_finished) const override;

 private:
  Result<RecordsByName> UploadRecords(const YarnCluster& cluster, const NewJob& job, Instant now,
                                      const StageWatch& watch) const;

  const SiteFiles files_;
};

}  // namespace tony
