// Where the jobs of a user lie in HDFS, all of it private to the user:
//
//   <home>/.tony/staged                  what jobs bring along, by content: hdfs_staging.h
//   <home>/.tony/gc                      what is being removed: yarn_garbage.h
//   <home>/.tony/requests                what is known under request ids: yarn_requests.h
//   <home>/.tony/checkpoint-folders      which job has which: records/record_checkpoint_holders.h
//   <home>/.tony/jobs/<application id>   the records of a job: job_records.h, but no environment; the journal: a
//   folder;
//                                        and beside these
//     files.json                         the files of its containers, as HDFS has them
//     tls.json                           who its programs are to each other: three certificates with their keys
//     settled.json                       how it ended, where its master could not write that: yarn_arbiter.h
#pragma once

#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/hadoop/webhdfs.h"
#include "runtime/job/ids.h"
#include "runtime/net/tls.h"
#include "runtime/records/hdfs/hdfs_record_store.h"
#include "runtime/records/job_records.h"
#include "runtime/records/journal_store.h"
#include "runtime/records/known_records.h"
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

}  // namespace tony
