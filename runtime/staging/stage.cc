#include "runtime/staging/stage.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"
#include "runtime/staging/locked_environment.h"
#include "runtime/staging/relocation.h"
#include "runtime/staging/source_rules.h"
#include "runtime/staging/stage_source.h"

namespace tony {
namespace {

// The number of bytes that may be written after one check of the disk. This is far less than the space that is left
// free, because other programs write to the disk at the same time.
constexpr int64_t kGrant = 64 << 20;

namespace fs = std::filesystem;
using Form = StagedEntry::Form;

constexpr std::string_view kProgramSource = "src_dir";
constexpr std::string_view kVenvSource = "python_venv";

class Staging {
 public:
  Staging(const StagedStore& store, const StageWatch& watch, const ListRemoteFiles& look, const UnpackLimits& limits)
      : meter_(watch), look_(look), context_{store, watch, limits, meter_} {}

  Result<StagedFiles> Run(const JobSpec& spec, bool as_tony) {
    StagedFiles staged;
    TRY(LookAtAll(spec));
    const JobSources sources = SelectSources(spec, as_tony);
    staged.warnings = sources.warnings;
    const CopyPlace place{.src_dir = IsInHdfs(spec.src_dir) ? "" : spec.src_dir};
    uses_ = {{std::string(kProgramSource), {sources.rules, place}},
             {std::string(kVenvSource), {{}, CopyPlace{std::string(kVenvFolder), place.src_dir}}}};
    TRY(AddVenv(spec, staged));
    TRY(AddAll(spec.files, {}, staged.job));
    if (IsInHdfs(spec.src_dir)) {
      AddRemoteSource(SrcDirOf(spec), staged.job);
    } else if (!spec.src_dir.empty()) {
      TRY_ASSIGN(const fs::path path, One(kProgramSource, spec.src_dir, /*unpack=*/true));
      // src_dir is the last entry, because resources that the job names take precedence over its files.
      staged.job.push_back({.path = path, .form = Form::kContents});
    }
    for (const RoleSpec& role : spec.roles) {
      if (role.files.empty()) continue;
      TRY(AddAll(role.files, staged.job, staged.roles[role.name]));
    }
    TRY(AddAll(spec.am_files, {}, staged.am));
    staged.content = Content(staged);
    staged.sources = std::move(summary_);
    staged.remote = std::move(remote_);
    return staged;
  }

 private:
  // Checks the remote files before anything else. Thus no file of this machine is read or copied for a job whose remote
  // files are missing.
  Status LookAtAll(const JobSpec& spec) {
    for (const FileSpec& file : FilesInHdfs(spec)) {
      const std::string what = NameOfSource(file);
      meter_.Begin(what);
      TRY(meter_.CheckStop());
      auto found = look_(file);
      if (!found.ok()) return Annotate(found.error(), what);
      found_.emplace_back(file, *std::move(found));
    }
    return Ok();
  }

  Status AddVenv(const JobSpec& spec, StagedFiles& staged) {
    if (spec.python_venv.empty()) return Ok();
    if (IsInHdfs(spec.python_venv)) {
      if (IsLockFileName(spec.python_venv))
        return Error{ErrorCode::kInvalid,
                     StrCat("python_venv ", spec.python_venv,
                            ": a lock file cannot be in HDFS; copy it to this machine")};
      return AddRemote(VenvOf(spec), {}, staged.job);  // its content cannot be checked here
    }
    TRY_ASSIGN(const fs::path path, One(kVenvSource, spec.python_venv, /*unpack=*/true));
    for (const RoleSpec& role : spec.roles) {
      const Status checked = CheckVenvCommand(role.command, path);
      if (!checked.ok()) return Annotate(checked.error(), "python_venv " + spec.python_venv);
      if (const std::string why = WhyVenvIsNotUsed(role.command, path); !why.empty())
        staged.warnings.push_back(StrCat("role ", role.name, ": its command does not use python_venv: ", why));
    }
    staged.job.push_back({.name = std::string(kVenvFolder), .path = path});
    return Ok();
  }

  // `others` are entries that the same tasks also find in their folder.
  Status AddAll(const std::vector<FileSpec>& files, const std::vector<StagedEntry>& others,
                std::vector<StagedEntry>& entries) {
    for (const FileSpec& file : files) {
      if (IsInHdfs(file.source)) {
        TRY(AddRemote(file, others, entries));
      } else {
        TRY_ASSIGN(fs::path path, One("resource", file.source, file.archive));
        TRY(Add(file.source, {.name = file.name, .path = std::move(path)}, others, entries));
      }
    }
    return Ok();
  }

  Status AddRemote(const FileSpec& file, const std::vector<StagedEntry>& others, std::vector<StagedEntry>& entries) {
    for (const RemoteFile& one : Found(file))
      TRY(Add(file.source, {.name = one.name, .path = Remember(one)}, others, entries));
    return Ok();
  }

  // Adds the files of a remote src_dir. Each task gets copies of its own, as with a src_dir on this machine. Resources
  // that the job names take precedence over these files.
  void AddRemoteSource(const FileSpec& file, std::vector<StagedEntry>& entries) {
    for (const RemoteFile& one : Found(file))
      entries.push_back({one.name, Remember(one), one.is_packed ? Form::kContents : Form::kCopy});
  }

  const std::vector<RemoteFile>& Found(const FileSpec& file) const {
    return std::ranges::find(found_, file, &decltype(found_)::value_type::first)->second;
  }

  std::string Remember(const RemoteFile& file) {
    const std::string key = KeyOf(file);
    contents_[key] = key;
    remote_[key] = file;
    return key;
  }

  // Adds an entry. Checks its name here, because the files of a remote folder have names that the spec does not
  // contain.
  static Status Add(const std::string& source, StagedEntry entry, const std::vector<StagedEntry>& others,
                    std::vector<StagedEntry>& entries) {
    for (const auto* list : {&others, static_cast<const std::vector<StagedEntry>*>(&entries)}) {
      const auto other = std::ranges::find(*list, entry.name, &StagedEntry::name);
      if (other == list->end() || (other->path.is_absolute() && entry.path.is_absolute())) continue;
      if (other->form == Form::kCopy) continue;  // src_dir yields to named resources
      if (*other == entry) return Ok();
      return Error{ErrorCode::kInvalid, StrCat("resource ", source, ": another resource has the name ", entry.name,
                                               " in the task's folder")};
    }
    entries.push_back(std::move(entry));
    return Ok();
  }

  // Stages a source once, because several roles often name the same source.
  Result<fs::path> One(std::string_view what, const std::string& source, bool unpack) {
    const std::string name = StrCat(what, " ", source);
    if (const auto known = known_.find({name, unpack}); known != known_.end()) return known->second;
    meter_.Begin(name);
    const bool is_lock = what == kVenvSource && IsEnvironmentLock(source);
    Result<StagedSource> staged = is_lock ? StageLockedEnvironment(source, context_)
                                          : StageSource(source, unpack, context_, uses_[std::string(what)]);
    // An error about the source gets the name of the source. kCannotWrite is an error about the store, so it does not
    // get that name.
    if (!staged.ok() && staged.error().code != ErrorCode::kCannotWrite) return Annotate(staged.error(), name);
    if (!staged.ok()) return staged.error();
    if (what == kProgramSource) summary_ = staged->summary;
    known_[{name, unpack}] = staged->entry;
    contents_[staged->entry] = staged->content;
    return staged->entry;
  }

  // Returns a hash of the names and contents that tasks find. The origin of the files does not count.
  std::string Content(const StagedFiles& staged) const {
    Sha256 sha;
    const auto add = [&](const std::string& whose, const std::vector<StagedEntry>& entries) {
      for (const StagedEntry& entry : entries)
        sha.Update(StrCat(whose, '\0', entry.name, '\0', contents_.at(entry.path), '\0'));
    };
    add("job", staged.job);
    for (const auto& [role, entries] : staged.roles) add("role " + role, entries);
    add("am", staged.am);
    return sha.Hex();
  }

  StageMeter meter_;
  const ListRemoteFiles& look_;
  StageContext context_;
  std::vector<std::pair<FileSpec, std::vector<RemoteFile>>> found_;  // results of look_
  std::map<std::string, RemoteFile> remote_;                         // the remote files that tasks get
  std::map<std::string, SourceUse> uses_;                            // key: kProgramSource or kVenvSource
  SourceSummary summary_;
  std::map<std::pair<std::string, bool>, fs::path> known_;
  // Key: the path of an entry, or the key of a remote file. Value: what identifies its content.
  std::map<fs::path, std::string> contents_;
};

}  // namespace

Status SpaceGuard::Take(int64_t bytes) {
  granted_ -= bytes;
  if (granted_ >= 0) return Ok();
  struct statvfs disk {};
  if (statvfs(folder_.c_str(), &disk) != 0) return FileError(ErrorCode::kCannotWrite, "check", folder_, errno);
  const auto block = static_cast<int64_t>(disk.f_frsize);
  const int64_t free = static_cast<int64_t>(disk.f_bavail) * block;
  const int64_t leave = std::min(kLeaveFree, static_cast<int64_t>(disk.f_blocks) * block / kLeaveFreePart);
  if (free - bytes < leave)
    return Error{ErrorCode::kCannotWrite,
                 StrCat("cannot write ", folder_.string(), ": the disk has ", free >> 20, " MB free, and ", leave >> 20,
                        " MB must stay free for other programs")};
  granted_ = std::min(kGrant, free - bytes - leave);
  return Ok();
}

bool NeedsStaging(const JobSpec& spec) {
  bool needed = !spec.src_dir.empty() || !spec.python_venv.empty() || !spec.files.empty() || !spec.am_files.empty();
  for (const RoleSpec& role : spec.roles) needed = needed || !role.files.empty();
  return needed;
}

Result<PlannedSources> PlanSources(const JobSpec& spec, const fs::path& home, bool as_tony) {
  const JobSources sources = SelectSources(spec, as_tony);
  PlannedSources planned{.warnings = sources.warnings};
  if (std::error_code error; spec.src_dir.empty() || !fs::is_directory(spec.src_dir, error)) return planned;
  const auto listing = ListSource(spec.src_dir, home, sources.rules);
  if (!listing.ok()) return Annotate(listing.error(), StrCat(kProgramSource, " ", spec.src_dir));
  planned.summary = SummaryOf(spec.src_dir, *listing);
  return planned;
}

Result<std::vector<RemoteFile>> NoRemoteFiles(const FileSpec&) {
  return Error{ErrorCode::kInvalid, "the job does not run on a cluster that has this file"};
}

Result<StagedFiles> Stage(const JobSpec& spec, const StagedStore& store, const StageWatch& watch,
                          const ListRemoteFiles& look, const UnpackLimits& limits, bool as_tony) {
  return Staging(store, watch, look, limits).Run(spec, as_tony);
}

}  // namespace tony
