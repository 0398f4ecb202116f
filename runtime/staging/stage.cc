#include "runtime/staging/stage.h"

#include <map>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/staging/stage_source.h"
#include "runtime/staging/venv_check.h"
#include "runtime/store/sha256.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using Form = StagedEntry::Form;

class Staging {
 public:
  Staging(const StagedStore& store, const StageWatch& watch, const UnpackLimits& limits)
      : meter_(watch), context_{store, watch, limits, meter_} {}

  Result<StagedFiles> Run(const JobSpec& spec) {
    StagedFiles staged;
    TRY(AddVenv(spec, staged));
    TRY_ASSIGN(const std::vector<StagedEntry> files, All(spec.files));
    staged.job.insert(staged.job.end(), files.begin(), files.end());
    if (!spec.src_dir.empty()) {
      TRY_ASSIGN(const fs::path path, One("src_dir", spec.src_dir, /*unpack=*/true));
      staged.job.push_back({.path = path, .form = Form::kContents});  // last: what is asked for by name goes before it
    }
    for (const RoleSpec& role : spec.roles) {
      if (role.files.empty()) continue;
      TRY_ASSIGN(staged.roles[role.name], All(role.files));
    }
    TRY_ASSIGN(staged.am, All(spec.am_files));
    staged.content = Content(staged);
    return staged;
  }

 private:
  Status AddVenv(const JobSpec& spec, StagedFiles& staged) {
    if (spec.python_venv.empty()) return Ok();
    TRY_ASSIGN(const fs::path path, One("python_venv", spec.python_venv, /*unpack=*/true));
    for (const RoleSpec& role : spec.roles) {
      const Status checked = CheckVenvCommand(role.command, path);
      if (!checked.ok()) return Annotate(checked.error(), "python_venv " + spec.python_venv);
    }
    staged.job.push_back({.name = std::string(kVenvFolder), .path = path});
    return Ok();
  }

  Result<std::vector<StagedEntry>> All(const std::vector<FileSpec>& files) {
    std::vector<StagedEntry> entries;
    for (const FileSpec& file : files) {
      TRY_ASSIGN(fs::path path, One("resource", file.source, file.archive));
      entries.push_back({.name = file.name, .path = std::move(path)});
    }
    return entries;
  }

  // Several roles often name the same source.
  Result<fs::path> One(const char* what, const std::string& source, bool unpack) {
    if (const auto known = known_.find({source, unpack}); known != known_.end()) return known->second;
    const std::string name = StrCat(what, " ", source);
    meter_.Begin(name);
    Result<StagedSource> staged = StageSource(source, unpack, context_);
    // A message about the source says which; one about the store is none of the source's.
    if (!staged.ok() && staged.error().code != ErrorCode::kCannotWrite) return Annotate(staged.error(), name);
    if (!staged.ok()) return staged.error();
    known_[{source, unpack}] = staged->entry;
    contents_[staged->entry] = staged->content;
    return staged->entry;
  }

  // By what it is called there and by what it holds, wherever it came from.
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
  StageContext context_;
  std::map<std::pair<std::string, bool>, fs::path> known_;
  std::map<fs::path, std::string> contents_;  // of entries
};

}  // namespace

bool NeedsStaging(const JobSpec& spec) {
  bool needed = !spec.src_dir.empty() || !spec.python_venv.empty() || !spec.files.empty() || !spec.am_files.empty();
  for (const RoleSpec& role : spec.roles) needed = needed || !role.files.empty();
  return needed;
}

Result<StagedFiles> Stage(const JobSpec& spec, const StagedStore& store, const StageWatch& watch,
                          const UnpackLimits& limits) {
  return Staging(store, watch, limits).Run(spec);
}

}  // namespace tony
