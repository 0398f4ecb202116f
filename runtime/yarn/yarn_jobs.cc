#include "runtime/yarn/yarn_jobs.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/aggregated_log.h"
#include "runtime/history/history_files.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"
#include "runtime/records/hdfs/hdfs_checkpoint_folder.h"
#include "runtime/records/record_store.h"
#include "runtime/records/user_home.h"
#include "runtime/yarn/cluster_login.h"
#include "runtime/yarn/hdfs_location.h"
#include "runtime/yarn/hdfs_sources.h"
#include "runtime/yarn/yarn_configured.h"
#include "runtime/yarn/yarn_garbage.h"

namespace tony {
namespace {

std::shared_ptr<HdfsCalls> CallsOf(const YarnCluster& cluster) {
  return std::make_shared<BlockingHdfs>(HdfsOptions(cluster));
}

}  // namespace

void Fields(auto& io, Is<TlsIdentity> auto& identity) {
  io.Field("ca", identity.ca);
  io.Field("certificate", identity.certificate);
  io.Field("key", identity.key);
}

void Fields(auto& io, Is<JobCertificates> auto& certificates) {
  io.Field("master", certificates.master);
  io.Field("executor", certificates.executor);
  io.Field("client", certificates.client);
}

HdfsPlaces PlacesIn(const YarnCluster& cluster) {
  const std::string root = cluster.home + "/.tony";
  return {.root = root,
          .jobs = root + "/jobs",
          .staged = root + "/staged",
          .programs = root + "/programs",
          .collections = root + "/gc",
          .requests = root + "/requests"};
}

std::string JobsFolder(const YarnCluster& cluster) { return PlacesIn(cluster).jobs; }

std::string StagedFolder(const YarnCluster& cluster) { return PlacesIn(cluster).staged; }

HdfsFolder JobFolderOf(const YarnCluster& cluster, const JobId& job) {
  HdfsFolder folder{.file_system = StrCat("hdfs://", HdfsAuthority(cluster.name_node)),
                    .path = StrCat(JobsFolder(cluster), "/", job.value),
                    .user = cluster.user};
  // Without Kerberos everybody can read every record, so attributes, which are faster, reveal nothing more.
  if (!cluster.rm_principal.empty())
    folder.secrets = {"spec.json", "conf.json", "secrets", "token", kCertificatesRecord, kTokensRecord};
  return folder;
}

LeasePlace LeasePlaceOf(const YarnCluster& cluster, const JobId& job) {
  const auto name_nodes = ResolveNameNodes(cluster);
  const std::string token_service = cluster.rm_principal.empty() ? "" : HdfsServiceOf(cluster);
  if (name_nodes.ok()) {
    LeasePlace place{*name_nodes, JobFolderOf(cluster, job).path, cluster.user, token_service};
    place.uses_rpc = !UsesWebHdfs(cluster);
    if (place.uses_rpc || !HasHttps(cluster)) return place;
    for (const std::string& base : cluster.webhdfs) place.hosts.push_back(hadoop::HostOfUrl(base));
    if (cluster.trust) place.trust = *cluster.trust;
    return place;
  }
  LogWarn(StrCat("executors cannot find the application master after its restart, because the NameNode is unknown: ",
                 name_nodes.error().message));
  return {};
}

hadoop::Hdfs::Options HdfsOptions(const YarnCluster& cluster) { return HdfsOptionsOf(cluster, LimitsOfRecords()); }

JobRecords RecordsOf(const YarnCluster& cluster, const JobId& job, RecordsByName known) {
  const HdfsFolder folder = JobFolderOf(cluster, job);
  const auto calls = CallsOf(cluster);
  return {job, folder.file_system + folder.path,
          std::make_shared<CachedRecords>(std::make_shared<HdfsRecordStore>(calls, folder), std::move(known)),
          std::make_shared<HdfsJournalStore>(calls, folder)};
}

JobRecords RecordsOfMaster(const YarnCluster& cluster, const JobId& job, Epoch epoch) {
  const HdfsFolder folder = JobFolderOf(cluster, job);
  return {job, folder.file_system + folder.path,
          std::make_shared<HdfsRecordStore>(CallsOf(cluster), folder, HdfsRetryPolicy(), EpochFolder(folder, epoch))};
}

std::shared_ptr<const JournalStore> JournalOf(const YarnCluster& cluster, const JobId& job) {
  return std::make_shared<HdfsJournalStore>(CallsOf(cluster), JobFolderOf(cluster, job));
}

Status PutRecord(const JobRecords& records, const std::string& name, std::string_view bytes) {
  return records.store().PutNew(name, bytes, Durability::kSurvivesPowerCut).status();
}

// Each record has its own thread and connection, because the calls of one store wait for each other.
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

std::string ToJson(const JobCertificates& certificates) { return WriteJson(certificates); }

Result<JobCertificates> ReadCertificates(const JobRecords& records) {
  return ReadParsed<JobCertificates>(
      records.store(), kCertificatesRecord,
      +[](std::string_view text) { return ReadJson<JobCertificates>(text, "certificates"); });
}

namespace {

constexpr Duration kCallLimit{10'000};

void WriteInHdfs(const YarnCluster& cluster, const JobRecords& records,
                 Status (*write)(const JobRecords&, const FilesForOthers&)) {
  const auto written = [&]() -> Status {
    TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
    if (!IsInHdfs(spec.history_folder)) return Ok();
    TRY_ASSIGN(const auto files, FilesOfHistory(cluster, spec.history_folder));
    return write(records, *files);
  }();
  if (!written.ok()) LogWarn(StrCat("the job's history was not written to HDFS: ", written.error().message));
}

// Checks whether a history can be written in the folder. If the folder does not exist, checks the nearest existing
// folder above, in which it would be created.
Status CheckHistoryFolder(const YarnCluster& cluster, const std::string& folder) {
  TRY_ASSIGN(const HdfsLocation location, Locate(cluster, folder));
  std::string path = location.path;
  BlockingHdfs hdfs(HdfsOptions(location.hdfs));
  auto entry = hdfs.GetEntry(path);
  while (!entry.ok() && IsMissing(entry.error()) && path != "/") {
    path = std::filesystem::path(path).parent_path();
    entry = hdfs.GetEntry(path);
  }
  TRY(entry);
  if (!entry->is_folder) return InvalidError(path, " is a file");
  return hdfs.CheckAccess(path, "-wx");
}

}  // namespace

void BeginHistoryInHdfs(const YarnCluster& cluster, const JobRecords& records) {
  WriteInHdfs(cluster, records, BeginHistory);
}

void FinishHistoryInHdfs(const YarnCluster& cluster, const JobRecords& records) {
  WriteInHdfs(cluster, records, FinishHistory);
}

void RemoveUnneededRecords(const JobRecords& records) {
  for (const char* name : {"secrets", "token", kCertificatesRecord, "clock", kTokensRecord}) {
    const Status removed = records.store().Remove(name);
    if (!removed.ok()) LogWarn(removed.error().message);
  }
}

Result<std::shared_ptr<const FilesForOthers>> FilesOfHistory(const YarnCluster& cluster, const std::string& folder) {
  if (!IsInHdfs(folder)) return std::shared_ptr<const FilesForOthers>(std::shared_ptr<void>(), &FilesOnThisMachine());
  TRY_ASSIGN(const HdfsLocation location, Locate(cluster, folder));
  hadoop::Hdfs::Options options = HdfsOptions(location.hdfs);
  options.limits.stalled = options.limits.whole = kCallLimit;
  const auto path_of = [cluster](const std::string& file) -> Result<std::string> {
    TRY_ASSIGN(HdfsLocation of_file, Locate(cluster, file));
    return std::move(of_file.path);
  };
  return std::shared_ptr<const FilesForOthers>(std::make_shared<HdfsFilesForOthers>(std::move(options), path_of));
}

std::optional<std::string> WhyNoHistory(const YarnCluster& cluster, const JobSpec& spec) {
  if (!IsInHdfs(spec.history_folder)) return std::nullopt;
  const Status checked = CheckHistoryFolder(cluster, spec.history_folder);
  if (checked.ok()) return std::nullopt;
  return StrCat("no history will be kept in ", spec.history_folder, ": ", checked.error().message);
}

namespace {

Result<bool> IsThere(const HdfsBytes& hdfs, const std::string& path) {
  return WasFound(hdfs.Ask([&](HdfsCalls& calls) { return calls.GetEntry(path); }));
}

// Returns how far the job has been made. A process that gives a job up renames the job's folder, and renames it back if
// the job was made meanwhile. Therefore both names are checked, and then the job's own name again.
Result<JobPresence> PresenceOf(const HdfsBytes& hdfs, const std::string& jobs, const JobId& job) {
  const std::string folder = StrCat(jobs, "/", job.value);
  TRY_ASSIGN(const bool is_made, IsThere(hdfs, StrCat(folder, "/", kSubmissionRecord)));
  if (is_made) return JobPresence::kMade;
  for (const std::string& name : {folder, StrCat(jobs, "/", kOldJob, job.value), folder}) {
    TRY_ASSIGN(const bool is_there, IsThere(hdfs, name));
    if (is_there) return JobPresence::kComing;
  }
  return JobPresence::kNone;
}

}  // namespace

RequestPlace RequestsBy(const std::shared_ptr<HdfsCalls>& calls, const YarnCluster& cluster,
                        const HdfsRetryPolicy& patience) {
  const HdfsPlaces places = PlacesIn(cluster);
  const HdfsFolder folder{.file_system = StrCat("hdfs://", HdfsAuthority(cluster.name_node)),
                          .path = places.requests,
                          .user = cluster.user};
  const HdfsBytes hdfs(calls, patience);
  const auto garbage = std::make_shared<YarnGarbage>(
      calls, places, [cluster](const JobId& job) { return RecordsOf(cluster, job); }, patience);
  // Temporary records are written in the folder itself, so that collections find all unfinished ones in one place.
  return {.store = std::make_shared<HdfsRecordStore>(calls, folder, patience, folder.path),
          .make =
              [calls, folder](const std::string& name) {
                return MakeRecordFolder(calls, {folder.file_system, StrCat(folder.path, "/", name), folder.user});
              },
          .look = [hdfs, places](const JobId& job) { return PresenceOf(hdfs, places.jobs, job); },
          .give_up = [garbage](const JobId& job) { return garbage->GiveUp(job); },
          .older = nullptr};
}

RequestPlace RequestsIn(const YarnCluster& cluster) {
  return RequestsBy(std::make_shared<BlockingHdfs>(HdfsOptions(cluster)), cluster);
}

namespace {

constexpr Duration kIdLimit{10'000};
// Certificates must be valid for a long time: they are never renewed, and a job without a timeout may run for years.
constexpr Duration kCertificatesLast = std::chrono::years(10);
constexpr const char* kBundle = "tony-yarn-am.tar.gz";
// Limit of uploads. Each retry is caused by another `tony gc` that began since the last upload.
constexpr int kMostRounds = 3;

// A local file that exists only while it is sent.
class ScratchFile {
 public:
  explicit ScratchFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~ScratchFile() { unlink(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

Result<HdfsFiles> SendFiles(const YarnCluster& cluster, const NewJob& job, const StageWatch& watch) {
  TRY_ASSIGN(const auto home, TonyHome());
  TRY(MakeFolder(home));
  std::vector<HdfsSource> sources = SelectSources(job.staged);
  TRY_ASSIGN(const HdfsSource executor, FileSource(kExecutorFile, SiblingProgram("tony-executor")));
  TRY_ASSIGN(const HdfsSource master, FileSource(kMasterFolder, SiblingProgram(kBundle)));
  const std::string spec = ToJson(job.spec);
  const ScratchFile spec_file(home / StrCat(".spec-", RandomHex(8)));
  if (spec.size() > kLargestSpecInLaunch) {
    TRY(WriteNewFile(spec_file.path(), spec, /*durable=*/false));
    TRY_ASSIGN(HdfsSource source, FileSource(kSpecFile, spec_file.path()));
    sources.push_back(std::move(source));
  }
  HdfsStore store{
      .hdfs = HdfsOptionsOf(cluster), .name_node = cluster.name_node, .folder = StagedFolder(cluster), .scratch = home};
  // Shared programs are sent first, so that a folder that is refused is reported before anything else is uploaded.
  HdfsStore of_programs = store;
  of_programs.folder = PlacesIn(cluster).programs;
  of_programs.use = HdfsStore::Use::kOwnPrograms;
  const std::string& shared = job.spec.yarn.programs;
  if (!shared.empty()) {
    TRY_ASSIGN(const HdfsLocation place, Annotate(Locate(cluster, shared), kProgramsKey));
    of_programs.hdfs = HdfsOptionsOf(place.hdfs);
    of_programs.name_node = place.hdfs.name_node;
    of_programs.folder = place.path;
    of_programs.use = HdfsStore::Use::kSharedPrograms;
  }
  auto programs = SendToHdfs(of_programs, {executor, master}, watch);
  if (!programs.ok()) return shared.empty() ? programs : Annotate(std::move(programs), kProgramsKey);
  TRY_ASSIGN(HdfsFiles files, SendToHdfs(store, sources, watch));
  files.merge(*programs);
  for (const auto& [key, file] : job.staged.remote) files[key] = ResourceOf(cluster, file);
  return files;
}

// Returns all records except submission.json.
Result<RecordsByName> RecordsFor(const JobId& id, const NewJob& job, const HdfsFiles& files, Instant now) {
  TRY_ASSIGN(const auto certificates, MakeJobCertificates(id.value, now, kCertificatesLast));
  RecordsByName records = {{"spec.json", ToJson(job.spec)}, {"token", RandomHex(kJobTokenBytes)},
                           {kFilesRecord, ToJson(files)},   {kCertificatesRecord, ToJson(certificates)},
                           {"staged.json", std::nullopt},   {"conf.json", std::nullopt},
                           {"secrets", std::nullopt}};
  if (job.staged != StagedFiles()) records["staged.json"] = ToJson(job.staged);
  if (!job.configuration.empty()) records["conf.json"] = job.configuration;
  if (job.secrets.empty()) return records;
  std::vector<std::string> variables;
  for (const auto& [name, value] : job.secrets) variables.push_back(StrCat(name, "=", value));
  records["secrets"] = JoinVariables(variables);
  return records;
}

// Creates the folder of a job. If another process has given the job up and removed its folder, a late call does not
// create the folder again.
Status MakeFolderOf(const YarnCluster& cluster, const JobId& id) {
  const auto calls = std::make_shared<BlockingHdfs>(HdfsOptions(cluster));
  HdfsFolder jobs = JobFolderOf(cluster, id);
  const std::string path = std::exchange(jobs.path, JobsFolder(cluster));
  TRY(MakeRecordFolder(calls, jobs));
  return Annotate(HdfsBytes(calls, {}).PutFolder(path, jobs.path), StrCat("make ", jobs.file_system, path)).status();
}

std::string SubmissionText(const YarnCluster& cluster, const NewJob& job, Instant now) {
  return ToJson(Submission{.job = job.id,
                           .user = cluster.user,
                           .host = HostName(),
                           .time = now,
                           .request = job.request,
                           .number = job.number,
                           .claim = job.claim,
                           .secrets = job.SecretNames()});
}

// Removes the records of a job. Returns false if they may still exist; the log then has the reason.
bool RemoveRecords(const YarnCluster& cluster, const JobId& id) {
  BlockingHdfs hdfs(HdfsOptions(cluster));
  const auto removed = hdfs.Remove(JobFolderOf(cluster, id).path);
  if (!removed.ok()) LogWarn(removed.error().message);
  return removed.ok();
}

}  // namespace

Result<JobId> YarnJobs::NewId(Instant) const {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(files_));
  TRY_ASSIGN(const auto made, RmCalls(cluster, kIdLimit).ReserveApplicationId());
  return JobId{hadoop::ToString(made.id)};
}

Result<NewJob> YarnJobs::UploadJob(NewJob job, Instant now, const StageWatch& watch) const {
  if (job.id.value.empty()) {
    TRY_ASSIGN(job.id, NewId(now));
  }
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(files_));
  if (files_ != SiteFiles()) TRY(NoteCluster(job.id, NoteOf(cluster)));
  Result<RecordsByName> uploaded_records = UploadRecords(cluster, job, now, watch);
  if (!uploaded_records.ok()) ForgetCluster(job.id);
  TRY(uploaded_records);
  job.uploaded_records = *std::move(uploaded_records);
  return job;
}

void YarnJobs::DiscardUploaded(const NewJob& job) const {
  const auto cluster = FindYarnCluster(job.id);
  if (cluster.ok() && job.uploaded_records) RemoveRecords(*cluster, job.id);
  ForgetCluster(job.id);
}

Result<JobRecords> YarnJobs::Create(const NewJob& job, Instant now) const {
  if (!job.uploaded_records) {
    TRY_ASSIGN(const NewJob uploaded_records, UploadJob(job, now, {}));
    return Create(uploaded_records, now);
  }
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job.id));
  const Status made = PutRecord(RecordsOf(cluster, job.id), kSubmissionRecord, SubmissionText(cluster, job, now));
  if (made.ok()) return RecordsOf(cluster, job.id, *job.uploaded_records);
  const auto folder = BlockingHdfs(HdfsOptions(cluster)).GetEntry(JobFolderOf(cluster, job.id).path);
  DiscardUploaded(job);
  if (folder.ok() || folder.error().code != ErrorCode::kNotFound) return made.error();
  return UnavailableError("job ", job.id.value,
                          " was not created: another submit, or \"tony gc\", assumed that this submit had died; "
                          "submit the job again");
}

Result<RecordsByName> YarnJobs::UploadRecords(const YarnCluster& cluster, const NewJob& job, Instant now,
                                              const StageWatch& watch) const {
  for (int round = 1; round <= kMostRounds; ++round) {
    TRY_ASSIGN(const HdfsFiles files, SendFiles(cluster, job, watch));
    TRY_ASSIGN(RecordsByName records, RecordsFor(job.id, job, files, now));
    TRY(MakeFolderOf(cluster, job.id));
    const Status put = PutRecords(cluster, job.id, records);
    const auto held = put.ok() ? GarbageIn(cluster).Hold(files) : Result<bool>(put.error());
    if (held.ok() && *held) return records;
    RemoveRecords(cluster, job.id);
    TRY(held);
  }
  return UnavailableError(StagedFolder(cluster), ": \"tony gc\" removed the files of this submit ", kMostRounds,
                          " times; submit the job again");
}

void YarnJobs::Discard(const JobRecords& job) const {
  const auto cluster = FindYarnCluster(job.job());
  if (!cluster.ok()) return LogWarn(cluster.error().message);
  if (RemoveRecords(*cluster, job.job())) ForgetCluster(job.job());
}

namespace {

// Returns why the job is not in the user's folder: it is another user's, or it does not exist.
Error NotOwnJob(const YarnCluster& cluster, const JobId& job) {
  const auto id = hadoop::ParseApplicationId(job.value);
  const Error none = NotFoundError("job \"", job.value, "\" is not in ", JobsFolder(cluster), " of HDFS");
  if (!id) return none;
  const auto report = RmCalls(cluster, kIdLimit).Report(*id);
  if (!report.ok() || report->user == cluster.user) return none;
  const std::string page = PageOf(cluster, job);
  return NotPermittedError("job ", job.value, " belongs to user ", report->user,
                           ", and only this user can read its records",
                           page.empty() ? "" : StrCat("; its page is ", page));
}

}  // namespace

Result<JobRecords> YarnJobs::Find(const JobId& job) const {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(job));
  JobRecords records = RecordsOf(cluster, job);
  TRY_ASSIGN(const auto submission, records.store().Get(kSubmissionRecord));
  if (!submission) return NotOwnJob(cluster, job);
  return records;
}

Result<std::vector<JobRecords>> YarnJobs::List() const {
  TRY_ASSIGN(NewestJobs all, ListNewest(SIZE_MAX));
  return std::move(all.jobs);
}

Result<JobStore::NewestJobs> YarnJobs::ListNewest(size_t most_finished) const {
  TRY_ASSIGN(const YarnCluster cluster, FindYarnCluster(JobId()));
  BlockingHdfs hdfs(HdfsOptions(cluster));
  const auto entries = hdfs.List(JobsFolder(cluster));
  if (!entries.ok() && entries.error().code == ErrorCode::kNotFound) return NewestJobs{};
  TRY(entries);
  std::vector<JobId> ids;
  for (const hadoop::HdfsEntry& entry : *entries)
    if (hadoop::ParseApplicationId(entry.name)) ids.push_back({entry.name});
  // The ResourceManager counts applications from its start, so newer ones have higher numbers.
  std::ranges::sort(ids, std::greater(), [](const JobId& id) { return hadoop::ParseApplicationId(id.value); });
  NewestJobs newest;
  size_t finished = 0;
  for (const JobId& id : ids) {
    JobRecords records = RecordsOf(cluster, id);
    const bool may_be_too_many = finished >= most_finished || ids.size() > most_finished;
    if (may_be_too_many && records.HasVerdict() && finished++ >= most_finished) {
      ++newest.left_out;
      continue;
    }
    newest.jobs.push_back(std::move(records));
  }
  return newest;
}

}  // namespace tony
