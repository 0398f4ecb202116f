// `tony gc`: frees disk space on this machine and on a configured cluster. The command removes jobs that ended long
// ago, the remains of submits that died, and staged content to which no job refers. It removes nothing of a job that
// runs or may be restarted.
//
// The history keeps a line for each removed job for 400 days. Programs of an earlier release are removed together with
// the last job that may need them. The note that names the cluster of a job is removed together with the job.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/history_list.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/os/files.h"
#include "runtime/records/checkpoint_holder.h"
#include "runtime/records/local_job_store.h"
#include "runtime/records/local_request_index.h"
#include "runtime/records/user_home.h"
#include "runtime/staging/programs.h"
#include "runtime/staging/stage.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultAge = "14d";
// Entries up to this age are kept, because a submit needs seconds to create its job's folder, and because people submit
// the same program again within minutes.
constexpr std::chrono::hours kGrace{1};
constexpr Duration kStagingPatience{5000};

class Collection {
 public:
  // `age_text` is `age` in the user's words.
  Collection(fs::path home, Instant now, Duration age, std::string age_text, bool dry_run)
      : home_(std::move(home)),
        jobs_(home_ / "jobs"),
        now_(now),
        age_(age),
        age_text_(std::move(age_text)),
        dry_run_(dry_run),
        history_(home_, now) {}

  // Collects garbage on clusters. Must be called after Run(), because a cluster that does not answer must not prevent
  // the collection on this machine.
  Status RunOn(const std::vector<const Backend*>& backends) {
    const GarbageOrder order{.may_go = [this](const JobRecords& records) { return MayGo(records); },
                             .before_jobs_go = [this] { return history_.Sync(); },
                             .now = now_,
                             .not_since = NotSince(),
                             .dry_run = dry_run_};
    for (const Backend* backend : backends) {
      TRY_ASSIGN(const Garbage garbage, backend->operations().CollectGarbage(order));
      Append(garbage.jobs, removed_jobs_);
      Append(garbage.staged, staged_);
      Append(garbage.unfinished, unfinished_);
      Append(garbage.notes, notes_);
      Append(garbage.kept, kept_);
      bytes_ += garbage.bytes;
      requests_ += garbage.requests;
      TRY(garbage.failure);
    }
    return Ok();
  }

  Status Run() {
    TRY_ASSIGN(const std::vector<JobRecords> jobs, LocalJobStore(home_).List());
    std::vector<JobRecords> going;
    std::ranges::copy_if(jobs, std::back_inserter(going), [this](const JobRecords& records) { return MayGo(records); });
    if (!going.empty() && !dry_run_) TRY(history_.Sync());
    for (const JobRecords& records : going) Remove(records.place(), removed_jobs_);
    RemoveUnfinished();
    if (!dry_run_) dropped_ = history_.DropOld();
    if (!dry_run_) TRY(SweepCheckpointHolders(home_));
    const auto swept = EntryStore::Sweep(
        StagedStore::FolderOf(home_), [this] { return Kept(); }, now_ - kGrace, kStagingPatience, dry_run_);
    if (!swept.ok()) return Annotate(swept.error(), "staged content is kept");
    staged_ = swept->names;
    bytes_ += swept->bytes;
    Stay(swept->in_use, "staged entries that remaining jobs use");
    Stay(swept->young, "staged entries less than 1h old, which a submit may be about to use");
    const auto programs = RemoveUnusedPrograms(
        home_, [this] { return ProgramsInUse(); }, now_ - kGrace, kStagingPatience, dry_run_);
    if (!programs.ok()) return Annotate(programs.error(), "the programs of jobs are kept");
    programs_ = programs->names;
    bytes_ += programs->bytes;
    Stay(programs->young, "releases of TonY's programs less than 1h old");
    TRY_ASSIGN(requests_, LocalRequestIndex(home_).Sweep(NotSince(), now_, dry_run_));
    return failure_;
  }

  // Adds to the report the jobs that are not removed, grouped by reason, e.g. "3 jobs that have not ended". Must be
  // called after Run() and RunOn().
  void SayWhatStays() {
    for (const auto& [why, count] : staying_) Stay(count, StrCat("jobs that ", why));
  }

  std::string Text() const {
    std::string text;
    for (const auto& name : removed_jobs_) text += StrCat("job ", name, "\n");
    for (const auto& name : unfinished_) text += StrCat("unfinished ", name, "\n");
    for (const auto& name : staged_) text += StrCat("staged ", name, "\n");
    for (const auto& name : programs_) text += StrCat("programs ", name, "\n");
    for (const auto& name : notes_) text += StrCat("record of job ", name, "\n");
    for (const auto& line : kept_) text += StrCat("kept ", line, "\n");
    text = StrCat(text, dry_run_ ? "would free " : "freed ", (bytes_ + 500'000) / 1'000'000,
                  " MB: ", removed_jobs_.size(), " jobs, ", staged_.size(), " staged entries, ", programs_.size(),
                  " releases, ", unfinished_.size(), " unfinished folders, ", requests_, " request ids\n");
    for (const auto& line : stays_) text += StrCat("kept ", line, "\n");
    return text;
  }

  std::string Json() const {
    return StrCat(R"({"schema":1,"dry_run":)", dry_run_ ? "true" : "false", R"(,"jobs":)", List(removed_jobs_),
                  R"(,"staged":)", List(staged_), R"(,"programs":)", List(programs_), R"(,"unfinished":)",
                  List(unfinished_), R"(,"notes":)", List(notes_), R"(,"kept":)", List(kept_), R"(,"stays":)",
                  List(stays_), R"(,"history_lines":)", dropped_, R"(,"requests":)", requests_, R"(,"bytes":)", bytes_,
                  "}");
  }

 private:
  static void Append(const std::vector<std::string>& names, std::vector<std::string>& to) {
    to.insert(to.end(), names.begin(), names.end());
  }

  static std::string List(const std::vector<std::string>& names) {
    std::vector<std::string> quoted;
    for (const auto& name : names) quoted.push_back(JsonString(name));
    return StrCat("[", Join(quoted, ","), "]");
  }

  void Stay(size_t count, const std::string& what) {
    if (count > 0) stays_.push_back(StrCat(count, " ", what));
  }

  // Returns whether the job's folder may be removed. Writes the line of an ended job into the history before it returns
  // true.
  bool MayGo(const JobRecords& records) {
    const auto status = StoredStatus(records);
    if (!status.ok()) {
      // The status is missing because another collection has already removed the job.
      if (records.place().parent_path() == jobs_ && !IsThere(records.place())) return false;
      Say(StrCat("tony: job ", records.job().value, " is kept: ", status.error().message));
      return false;
    }
    const std::string why = ReasonToKeep(records, *status);
    if (!why.empty()) ++staying_[why];
    return why.empty();
  }

  // Returns why the job is kept; empty if it may be removed.
  std::string ReasonToKeep(const JobRecords& records, const JobStatus& status) {
    if (!HasEnded(status)) return "have not ended";
    if (!dry_run_ && !history_.Keep(status)) return "could not be recorded in the history";
    if (status.ended.value_or(status.submitted) > now_ - age_) return StrCat("ended less than ", age_text_, " ago");
    return BackendOf(records.job()).arbiter().Look(records).HasLiveProcess()
               ? "are being finished by their application masters"
               : "";
  }

  // Returns the time after which a recorded request is kept even if it has no job. This time is at least an hour ago,
  // because a submit records its request before it creates the job's folder.
  Instant NotSince() const { return now_ - std::max<Duration>(age_, kGrace); }

  // Removes the folders that submits and garbage collections left behind when they died.
  void RemoveUnfinished() {
    std::error_code error;
    for (fs::directory_iterator entry(jobs_, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      struct stat info {};
      if (lstat(entry->path().c_str(), &info) != 0) continue;
      const bool old = FromMillis(info.st_ctim.tv_sec * 1000) < now_ - kGrace;
      // A name with "..finished." is a temporary file of a process that died while it wrote the file .finished
      // (local_job_store.h).
      const bool begun = name.starts_with(".new-") || name.starts_with("..finished.");
      if (name.starts_with(".old-") || (begun && old)) Remove(entry->path(), unfinished_);
    }
  }

  // Removes a folder. The folder is renamed first, because a half removed folder must not count as a job.
  void Remove(const fs::path& path, std::vector<std::string>& names) {
    const std::string name = path.filename().string();
    const int64_t bytes = DiskUse(path);
    if (!dry_run_) {
      const fs::path old = name.front() == '.' ? path : jobs_ / (".old-" + name);
      Status removed = Ok();
      if (old != path && rename(path.c_str(), old.c_str()) != 0) {
        if (errno == ENOENT) return;  // another collection removed it first
        removed = FileError(ErrorCode::kCannotWrite, "remove", path, errno);
      }
      if (removed.ok()) removed = RemoveTree(old);
      if (!removed.ok()) {
        Say(StrCat("tony: ", removed.error().message));
        failure_ = Error{ErrorCode::kCannotWrite, "not everything could be removed"};
        return;
      }
    }
    names.push_back(name);
    bytes_ += bytes;
  }

  // Returns the staged entries to which the remaining jobs refer. Fails if the manifest of a job cannot be read,
  // because that job may refer to any entry.
  Result<std::set<std::string>> Kept() const {
    std::set<std::string> kept;
    TRY_ASSIGN(const std::vector<JobRecords> jobs, LocalJobStore(home_).List());
    for (const JobRecords& records : jobs) {
      if (std::ranges::find(removed_jobs_, records.job().value) != removed_jobs_.end()) continue;
      const auto staged = records.ReadStaged();
      if (!staged.ok() && staged.error().code != ErrorCode::kNotFound) return staged.error();
      if (!staged.ok() || !*staged) continue;
      for (const auto& entry : (*staged)->job) kept.insert(entry.path.filename());
      for (const auto& entry : (*staged)->am) kept.insert(entry.path.filename());
      for (const auto& [role, entries] : (*staged)->roles) {
        for (const auto& entry : entries) kept.insert(entry.path.filename());
      }
    }
    return kept;
  }

  // Returns the programs of the jobs that may be restarted.
  Result<std::set<std::string>> ProgramsInUse() const {
    std::set<std::string> kept;
    TRY_ASSIGN(const std::vector<JobRecords> jobs, LocalJobStore(home_).List());
    for (const JobRecords& records : jobs) {
      if (IsGone(records)) continue;
      const auto submission = records.ReadSubmission();
      if (!submission.ok() && submission.error().code != ErrorCode::kNotFound) return submission.error();
      if (submission.ok()) kept.insert(submission->programs);
    }
    return kept;
  }

  const fs::path home_;
  const fs::path jobs_;
  const Instant now_;
  const Duration age_;
  const std::string age_text_;
  const bool dry_run_;
  std::vector<std::string> removed_jobs_, unfinished_, staged_, programs_, notes_, kept_, stays_;
  std::map<std::string, size_t> staying_;  // number of jobs, by reason
  int64_t bytes_ = 0;
  EndedJobsUpkeep history_;
  size_t dropped_ = 0;  // lines removed from the history
  int requests_ = 0;    // request ids removed
  Status failure_;
};

}  // namespace

Result<int> RunGc(const CommandLine& line) {
  const std::string text = line.Has("older-than") ? line.Value("older-than") : std::string(kDefaultAge);
  const auto age = ParseAge(text);
  if (!age)
    return Error{ErrorCode::kUsage, StrCat("--older-than: \"", text, "\": expected a number with d, h or m, e.g. 14d")};
  TRY_ASSIGN(const fs::path home, TonyHome());
  Collection collection(home, RealClock().Now(), *age, text, line.Has("dry-run"));
  const Status here = collection.Run();
  const Status there = collection.RunOn(ConfiguredBackends());
  collection.SayWhatStays();
  const Status& run = here.ok() ? there : here;
  if (line.Has("json") && !run.ok()) return FailWith(run.error(), collection.Json());
  if (line.Has("json")) {
    PrintLine(collection.Json());
  } else {
    Print(collection.Text());
  }
  TRY(run);
  return 0;
}

}  // namespace tony
