#include "runtime/yarn/yarn_job_place.h"

#include <boost/json.hpp>
#include <future>
#include <utility>
#include <vector>

#include "runtime/base/shortage.h"
#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/records/hdfs/hdfs_journal_store.h"
#include "runtime/records/parsed_records.h"

namespace tony {
namespace {

namespace json = boost::json;

struct CertificateField {
  const char* name;
  TlsIdentity JobCertificates::*member;
};
constexpr CertificateField kCertificateFields[] = {{"master", &JobCertificates::master},
                                                   {"executor", &JobCertificates::executor},
                                                   {"client", &JobCertificates::client}};

Result<JobCertificates> CertificatesFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "certificates"));
  JsonReader fields(document);
  JobCertificates certificates;
  for (const CertificateField& field : kCertificateFields) {
    JsonReader identity = fields.Nested(field.name);
    TRY(fields.status());
    (certificates.*field.member) = {identity.String("ca"), identity.String("certificate"), identity.String("key")};
    TRY(identity.status());
  }
  return certificates;
}

std::shared_ptr<HdfsCalls> CallsOf(const YarnCluster& cluster) {
  return std::make_shared<WebHdfsCalls>(HdfsOptions(cluster));
}

}  // namespace

HdfsPlaces PlacesIn(const YarnCluster& cluster) {
  const std::string root = cluster.home + "/.tony";
  return {.root = root,
          .jobs = root + "/jobs",
          .staged = root + "/staged",
          .collections = root + "/gc",
          .requests = root + "/requests"};
}

std::string JobsFolder(const YarnCluster& cluster) { return PlacesIn(cluster).jobs; }

std::string StagedFolder(const YarnCluster& cluster) { return PlacesIn(cluster).staged; }

HdfsFolder JobFolderOf(const YarnCluster& cluster, const JobId& job) {
  return {.file_system = StrCat("hdfs://", ToString(cluster.name_node)),
          .path = StrCat(JobsFolder(cluster), "/", job.value),
          .user = cluster.user};
}

hadoop::WebHdfs::Options HdfsOptions(const YarnCluster& cluster) {
  return {.base = cluster.webhdfs, .user = cluster.user, .limits = LimitsOfRecords()};
}

JobRecords RecordsOf(const YarnCluster& cluster, const JobId& job, RecordsByName known) {
  const HdfsFolder folder = JobFolderOf(cluster, job);
  const auto calls = CallsOf(cluster);
  return {job, folder.file_system + folder.path,
          std::make_shared<KnownRecords>(std::make_shared<HdfsRecordStore>(calls, folder), std::move(known)),
          std::make_shared<HdfsJournalStore>(calls, folder)};
}

JobRecords RecordsOfMaster(const YarnCluster& cluster, const JobId& job, Epoch epoch) {
  const HdfsFolder folder = JobFolderOf(cluster, job);
  return {job, folder.file_system + folder.path,
          std::make_shared<HdfsRecordStore>(CallsOf(cluster), folder, HdfsPatience(), EpochFolder(folder, epoch))};
}

std::shared_ptr<const JournalStore> JournalOf(const YarnCluster& cluster, const JobId& job) {
  return std::make_shared<HdfsJournalStore>(CallsOf(cluster), JobFolderOf(cluster, job));
}

Status PutRecord(const JobRecords& records, const std::string& name, std::string_view bytes) {
  const auto put = records.store().PutNew(name, bytes, Durability::kSurvivesPowerCut);
  return put.ok() ? Ok() : Status(put.error());
}

// A thread for each, with a connection of its own: the calls of one store wait for each other.
Status PutRecords(const YarnCluster& cluster, const JobId& job, const RecordsByName& records) {
  return WithoutThrowing([&]() -> Status {
    std::vector<std::future<Status>> puts;
    for (const auto& record : records) {
      if (!record.second) continue;
      puts.push_back(std::async(std::launch::async, [&cluster, &job, &record] {
        return PutRecord(RecordsOf(cluster, job), record.first, *record.second);
      }));
    }
    Status all;
    for (std::future<Status>& put : puts) {
      const Status one = put.get();
      if (all.ok()) all = one;
    }
    return all;
  });
}

Result<HdfsFiles> ReadFiles(const JobRecords& records) {
  return ReadParsed(records.store(), kFilesRecord, HdfsFilesFromJson);
}

std::string ToJson(const JobCertificates& certificates) {
  json::object out;
  for (const CertificateField& field : kCertificateFields) {
    const TlsIdentity& identity = certificates.*field.member;
    out[field.name] = {{"ca", identity.ca}, {"certificate", identity.certificate}, {"key", identity.key}};
  }
  return SerializeJson(out);
}

Result<JobCertificates> ReadCertificates(const JobRecords& records) {
  return ReadParsed(records.store(), kCertificatesRecord, CertificatesFromJson);
}

}  // namespace tony
