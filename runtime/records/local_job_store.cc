#include "runtime/records/local_job_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"
#include "runtime/os/users.h"
#include "runtime/records/job_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr char kFinishedFile[] = ".finished";
// The maximum number of names of removed folders that are skipped in a row. If there are more, the job is checked on
// disk as if its name were not in the file, and the file is written again.
constexpr int kMostGone = 64;

// The header names the jobs folder by device and inode, so the file is not trusted in a copy of that folder.
std::string HeadOf(int folder) {
  struct stat info {};
  if (fstat(folder, &info) != 0) return "";
  return StrCat("finished jobs of ", info.st_dev, ":", info.st_ino, "\n");
}

std::string ReadKnown(const fs::path& file, int folder) {
  const auto opened = OpenRegularFile(kFinishedFile, O_RDONLY, folder);
  if (!opened.ok()) return "";
  auto text = ReadAll(opened->fd.get(), file);
  return text.ok() ? *std::move(text) : "";
}

}  // namespace

FinishedNames::FinishedNames(fs::path jobs, size_t worth_keeping)
    : jobs_(std::move(jobs)),
      worth_keeping_(worth_keeping),
      folder_(open(jobs_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      known_(ReadKnown(jobs_ / kFinishedFile, folder_.get())),
      seen_(HeadOf(folder_.get())) {
  at_ = known_.starts_with(seen_) ? seen_.size() : known_.size();
}

bool FinishedNames::HasFinished(std::string_view name) {
  if (!IsKnown(name)) {
    if (faccessat(folder_.get(), StrCat(name, "/finished").c_str(), F_OK, 0) != 0) return false;
    ++looked_up_;
  }
  seen_.append(name).push_back('\n');
  return true;
}

bool FinishedNames::IsKnown(std::string_view name) {
  size_t at = at_;
  for (int gone = 0; gone <= kMostGone; ++gone) {
    const size_t end = known_.find('\n', at);
    if (end == std::string::npos) return false;  // a torn line is ignored
    const bool found = std::string_view(known_).substr(at, end - at) == name;
    at = end + 1;
    if (found) at_ = at;
    if (found) return true;
  }
  return false;
}

void FinishedNames::Keep() const {
  if (looked_up_ >= worth_keeping_) (void)WriteFileByRename(jobs_ / kFinishedFile, seen_, /*durable=*/false);
}

namespace {

// The number of random bytes in a page token. The token is part of an address that people copy, so it is short; 16
// bytes are hard enough to guess.
constexpr int kPageTokenBytes = 16;
constexpr int kIdBytes = 3;
// The free disk space that a new job needs. A job of a few hundred tasks writes this much before its first task runs.
// With less space the AM could not start, and could not report the reason.
constexpr uint64_t kLeastRoom = 256 * 1024;

Status CheckRoom(const fs::path& folder) {
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0 || disk.f_blocks == 0) return Ok();  // the file system reports no size
  if (uint64_t{disk.f_bavail} * disk.f_frsize >= kLeastRoom) return Ok();
  return FileError(ErrorCode::kCannotWrite, "make a job in", folder, ENOSPC);
}

// Writes the files of a new job. Syncs the files that must survive a power cut, because a job that was reported as
// submitted must still exist afterwards. The page token is not synced.
Status Fill(const fs::path& folder, const NewJob& job, const Submission& submission) {
  TRY(MakeFolder(folder));
  TRY(WriteNewFile(folder / "spec.json", ToJson(job.spec), /*durable=*/false));
  TRY(WriteNewFile(folder / "submission.json", ToJson(submission), /*durable=*/false));
  TRY(WriteNewFile(folder / "environment", JoinVariables(job.environment), /*durable=*/false));
  TRY(WriteNewFile(folder / "token", RandomHex(kJobTokenBytes), /*durable=*/false));
  TRY(WriteNewFile(folder / "page-token", RandomHex(kPageTokenBytes), /*durable=*/false));
  for (const char* name : {"containers", "logs", "work"}) TRY(MakeFolder(folder / name));
  TRY(JobFolder(folder).MakeReserve(job.spec.TotalTasks()));
  std::vector<fs::path> files = {folder / "spec.json", folder / "submission.json", folder / "environment",
                                 folder / "token", folder};
  const auto write = [&](const char* name, const std::string& content) {
    return WriteNewFile(files.emplace_back(folder / name), content, /*durable=*/false);
  };
  std::vector<std::string> secrets;
  for (const auto& [name, value] : job.secrets) secrets.push_back(StrCat(name, "=", value));
  if (job.staged != StagedFiles()) TRY(write("staged.json", ToJson(job.staged)));
  if (!secrets.empty()) TRY(write("secrets", JoinVariables(secrets)));
  if (!job.configuration.empty()) TRY(write("conf.json", job.configuration));
  return SyncInParallel(files);
}

// Calls `visit` for the name of each job. Uses readdir(3), because std::filesystem takes twice the time for 100,000
// jobs.
Status VisitJobNames(const fs::path& jobs, const std::function<void(std::string_view)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(jobs.c_str()), closedir);
  if (!folder && errno == ENOENT) return Ok();
  if (!folder)
    return FileError(errno == EACCES ? ErrorCode::kNotPermitted : ErrorCode::kUnavailable, "read", jobs, errno);
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(folder.get());
    if (!entry && errno != 0) return FileError(ErrorCode::kUnavailable, "read", jobs, errno);
    if (!entry) return Ok();
    if (std::string_view(entry->d_name).starts_with("local-")) visit(entry->d_name);
  }
}

// Keeps the newest `most` names. Names begin with the time of submission, so they sort by age.
class NewestNames {
 public:
  explicit NewestNames(size_t most) : most_(most) {}

  void Add(std::string_view name) {
    ++all_;
    if (most_ > 0 && names_.size() == most_ && name < *names_.begin()) return;
    names_.emplace(name);
    if (names_.size() > most_) names_.erase(names_.begin());
  }
  size_t left_out() const { return all_ - names_.size(); }
  const std::set<std::string>& names() const { return names_; }

 private:
  const size_t most_;
  std::set<std::string> names_;
  size_t all_ = 0;
};

}  // namespace

JobId NewJobId(Instant now) {
  const std::time_t seconds = static_cast<std::time_t>(ToMillis(now) / 1000);
  std::tm tm{};
  gmtime_r(&seconds, &tm);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
  return {StrCat("local-", stamp, "-", RandomHex(kIdBytes))};
}

Result<JobRecords> LocalJobStore::Create(const NewJob& job, Instant now) const {
  const fs::path jobs = home_ / "jobs";
  TRY(MakeFolder(jobs));
  TRY(CheckRoom(jobs));
  rlimit open_files{};
  getrlimit(RLIMIT_NOFILE, &open_files);
  const Submission submission{.job = job.id.value.empty() ? NewJobId(now) : job.id,
                              .user = UserName(geteuid()),
                              .host = HostName(),
                              .time = now,
                              .boot = BootId(),
                              .open_files = static_cast<int64_t>(std::min<rlim_t>(open_files.rlim_cur, INT64_MAX)),
                              .request = job.request,
                              .number = job.number,
                              .claim = job.claim,
                              .programs = job.programs,
                              .secrets = job.SecretNames()};
  const fs::path unfinished = jobs / (".new-" + submission.job.value);
  const fs::path folder = jobs / submission.job.value;
  Status filled = Fill(unfinished, job, submission);
  if (filled.ok() && rename(unfinished.c_str(), folder.c_str()) != 0)
    filled = FileError(ErrorCode::kCannotWrite, "make", folder, errno);
  if (!filled.ok()) {
    (void)RemoveTree(unfinished);
    return filled.error();
  }
  TRY(SyncHome(home_, {jobs}));
  return LocalJobRecords(folder);
}

void LocalJobStore::Discard(const JobRecords& job) const { (void)RemoveTree(job.place()); }

Result<JobRecords> LocalJobStore::Find(const JobId& job) const {
  const fs::path folder = home_ / "jobs" / job.value;
  const bool name = !job.value.empty() && job.value[0] != '.' && job.value.find('/') == std::string::npos;
  std::error_code error;
  if (name && fs::is_directory(folder, error)) return LocalJobRecords(folder);
  if (name && error == std::errc::permission_denied)
    return FileError(ErrorCode::kNotPermitted, "open job", folder, error.value());
  if (name && error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    return FileError(ErrorCode::kUnavailable, "open job", folder, error.value());
  return NotFoundError("job \"", job.value, "\" is not in ", (home_ / "jobs").string());
}

Result<std::vector<JobRecords>> LocalJobStore::List() const {
  TRY_ASSIGN(NewestJobs all, ListNewest(SIZE_MAX));
  return std::move(all.jobs);
}

Result<JobStore::NewestJobs> LocalJobStore::ListNewest(size_t most_finished) const {
  const fs::path jobs = home_ / "jobs";
  std::optional<FinishedNames> known;
  if (most_finished != SIZE_MAX) known.emplace(jobs);
  std::vector<std::string> names;
  NewestNames finished(most_finished);
  TRY(VisitJobNames(jobs, [&](std::string_view name) {
    if (known && known->HasFinished(name)) return finished.Add(name);
    names.emplace_back(name);
  }));
  if (known) known->Keep();
  names.insert(names.end(), finished.names().begin(), finished.names().end());
  std::ranges::sort(names, std::greater<>());
  NewestJobs newest = {.left_out = finished.left_out()};
  for (const std::string& name : names) newest.jobs.push_back(LocalJobRecords(jobs / name));
  return newest;
}

}  // namespace tony
