#include "runtime/client/reproduction_pack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/client/choose_backend.h"
#include "runtime/config/configuration.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/files.h"
#include "runtime/staging/pack_folder.h"
#include "runtime/staging/relocation.h"
#include "runtime/staging/stage_source.h"
#include "runtime/staging/unpack.h"

namespace tony {

namespace fs = std::filesystem;

// The content of reproduce.json, besides the values that have files of their own.
struct PackHead {
  JobId job;
  AttemptId attempt;
  Generation generation;
  std::string user, host;
  std::vector<std::string> secrets, left_out;
  std::optional<Checkpoint> checkpoint;
  std::optional<Outcome> outcome;
};

void Fields(auto& io, Is<PackHead> auto& head) {
  Schema(io, 1);
  io.Field("job", head.job);
  Fields(io, head.attempt);
  io.Field("generation", head.generation);
  io.Field("user", head.user);
  io.Field("host", head.host);
  io.Field("secrets", head.secrets);
  io.Field("left_out", head.left_out);
  io.IfSet("checkpoint", head.checkpoint);
  io.IfSet("outcome", head.outcome);
}

namespace {

constexpr std::string_view kStaged = "staged/", kCheckpoint = "checkpoint/";

std::string NameOf(const std::string& variable) { return variable.substr(0, variable.find('=')); }

// Removes the variables with secret names, and adds their names to `names`.
void TakeSecrets(std::map<std::string, std::string>& variables, std::vector<std::string>& names) {
  std::erase_if(variables, [&](const auto& variable) {
    if (!IsSecretName(variable.first)) return false;
    if (std::ranges::count(names, variable.first) == 0) names.push_back(variable.first);
    return true;
  });
}

// Returns the reproduction without values that may be secret.
Reproduction WithoutSecrets(Reproduction kept) {
  TakeSecrets(kept.spec.container_env, kept.secrets);
  TakeSecrets(kept.spec.execution_env, kept.secrets);
  std::erase_if(kept.environment, [&](const std::string& variable) {
    if (!IsSecretName(NameOf(variable))) return false;
    kept.left_out.push_back(NameOf(variable));
    return true;
  });
  return kept;
}

// Changes each entry's path to its path in the archive, and adds the entry to `parts` once.
Status PackEntries(std::vector<StagedEntry>& entries, std::set<std::string>& packed, std::vector<PackedPart>& parts) {
  for (StagedEntry& entry : entries) {
    const std::string name = entry.path.filename().string();
    if (name.ends_with("-venv"))
      return InvalidError("the Python environment of the job was made from a lock file on this machine, and cannot be ",
                          "carried to another one");
    const std::string place = StrCat(kStaged, name);
    if (packed.insert(name).second) parts.push_back({place, entry.path});
    entry.path = place;
  }
  return Ok();
}

Result<std::vector<PackedPart>> PartsOf(Reproduction kept) {
  std::vector<PackedPart> staged;
  std::set<std::string> packed;
  TRY(PackEntries(kept.staged.job, packed, staged));
  for (auto& [role, entries] : kept.staged.roles) TRY(PackEntries(entries, packed, staged));
  std::optional<Checkpoint> checkpoint = kept.ran.resumed_from;
  if (checkpoint) {
    const fs::path path(checkpoint->path);
    checkpoint->path = StrCat(kCheckpoint, path.filename().string());
    staged.push_back({checkpoint->path, path});
  }
  const PackHead head{kept.job,     kept.ran.attempt, kept.ran.generation, kept.user,       kept.host,
                      kept.secrets, kept.left_out,    checkpoint,          kept.ran.outcome};
  std::vector<PackedPart> parts = {{"reproduce.json", {}, WriteJson(head)},
                                   {"spec.json", {}, ToJson(kept.spec)},
                                   {"cluster.json", {}, ToJson(kept.ran.cluster)},
                                   {"staged.json", {}, ToJson(kept.staged)},
                                   {"environment", {}, JoinVariables(kept.environment)}};
  std::ranges::move(staged, std::back_inserter(parts));
  return parts;
}

}  // namespace

Status WritePack(const Reproduction& kept, const fs::path& file) {
  TRY_ASSIGN(const auto parts, PartsOf(WithoutSecrets(kept)));
  const UniqueFd out(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out.valid()) return FileError(ErrorCode::kCannotWrite, "make", file, errno);
  const Status packed = PackParts(parts, out.get(), [](int64_t) { return Ok(); });
  if (!packed.ok()) unlink(file.c_str());
  return packed;
}

// The name begins with .old-, because a garbage collection removes such a folder if this process dies.
FetchedFiles::FetchedFiles(StagedStore store)
    : store_(std::move(store)), folder_(store_.entries().folder() / StrCat(".old-fetched.", RandomHex(6))) {}

FetchedFiles::~FetchedFiles() { (void)RemoveTree(folder_); }

Result<fs::path> FetchedFiles::Keep(const fs::path& source, bool unpack) const {
  const StageWatch watch;
  StageMeter meter(watch);
  const UnpackLimits limits;
  TRY_ASSIGN(StagedSource staged, StageSource(source, unpack, StageContext{store_, watch, limits, meter}));
  return std::move(staged.entry);
}

namespace {

Status UnpackInto(const fs::path& file, const FetchedFiles& files) {
  TRY_ASSIGN(const RegularFile opened, OpenRegularFile(file, O_RDONLY));
  TRY_ASSIGN(TreeWriter tree, TreeWriter::Make(files.folder()));
  const StageWatch watch;
  StageMeter meter(watch);
  SpaceGuard space(files.store().entries().folder());
  return Unpack(opened.fd.get(), tree, UnpackLimits(), space, meter);
}

// Calls `take` for each entry of the tasks.
Status ForEachEntry(StagedFiles& staged, const std::function<Status(StagedEntry&)>& take) {
  for (StagedEntry& entry : staged.job) TRY(take(entry));
  for (auto& [role, entries] : staged.roles)
    for (StagedEntry& entry : entries) TRY(take(entry));
  return Ok();
}

Status TakeHead(const PackHead& head, const fs::path& folder, Reproduction& kept) {
  kept.job = head.job;
  kept.user = head.user;
  kept.host = head.host;
  kept.secrets = head.secrets;
  kept.left_out = head.left_out;
  kept.ran.attempt = head.attempt;
  kept.ran.generation = head.generation;
  kept.ran.outcome = head.outcome;
  kept.ran.resumed_from = head.checkpoint;
  if (head.checkpoint)
    kept.ran.resumed_from->path = (folder / kCheckpoint / fs::path(head.checkpoint->path).filename()).string();
  const RoleSpec* role = kept.spec.FindRole(head.attempt.task.role);
  if (role && head.attempt.task.index < role->instances) return Ok();
  return InvalidError("the job has no task ", ToString(head.attempt.task));
}

Result<Reproduction> ReadUnpacked(const FetchedFiles& files) {
  const fs::path& folder = files.folder();
  const auto parse_head = [](std::string_view text) { return ReadJson<PackHead>(text, "reproduce.json"); };
  const auto head = ReadParsed(folder / "reproduce.json", parse_head);
  if (!head.ok() && head.error().code == ErrorCode::kNotFound)
    return InvalidError("the archive has no reproduce.json, so it was not made by tony reproduce --pack");
  TRY(head);
  Reproduction kept;
  TRY_ASSIGN(kept.spec, ReadParsed(folder / "spec.json", JobSpecFromJson));
  TRY_ASSIGN(kept.ran.cluster, ReadParsed(folder / "cluster.json", ClusterSpecFromJson));
  TRY_ASSIGN(kept.staged, ReadParsed(folder / "staged.json", StagedFilesFromJson));
  TRY_ASSIGN(const std::string environment, ReadFile(folder / "environment"));
  for (std::string& variable : Split(environment, '\0'))
    if (!variable.empty()) kept.environment.push_back(std::move(variable));
  TRY(TakeHead(*head, folder, kept));
  TRY(ForEachEntry(kept.staged, [&](StagedEntry& entry) -> Status {
    TRY_ASSIGN(entry.path, files.Keep(folder / kStaged / entry.path.filename(), /*unpack=*/false));
    if (entry.name != kVenvFolder) return Ok();
    return CheckVenvCommand(kept.spec.FindRole(kept.ran.attempt.task.role)->command, entry.path);
  }));
  return kept;
}

}  // namespace

Result<FetchedReproduction> ReadPack(const fs::path& file, const fs::path& home) {
  TRY_ASSIGN(StagedStore store, StagedStore::Open(home, {}));
  auto files = std::make_unique<FetchedFiles>(std::move(store));
  const std::string what = StrCat("read the pack ", file.string());
  TRY(Annotate(UnpackInto(file, *files), what));
  TRY_ASSIGN(Reproduction kept, Annotate(ReadUnpacked(*files), what));
  return FetchedReproduction{std::move(kept), std::move(files)};
}

namespace {

// Returns a folder for what is fetched, and opens `files` before the first file.
Result<fs::path> FolderFor(std::unique_ptr<FetchedFiles>& files, const fs::path& home) {
  if (!files) {
    TRY_ASSIGN(StagedStore store, StagedStore::Open(home, {}));
    files = std::make_unique<FetchedFiles>(std::move(store));
    TRY(MakeFolder(files->folder()));
  }
  return files->folder();
}

}  // namespace

Result<FetchedReproduction> FetchMissing(const JobRecords& records, Reproduction kept, const fs::path& home) {
  const ClusterFiles* cluster = BackendOf(records.job()).cluster_files();
  std::unique_ptr<FetchedFiles> files;
  // The paths here, by the paths in the manifest.
  std::map<fs::path, fs::path> fetched;
  const auto fetch = [&](StagedEntry& entry) -> Status {
    const std::string key = entry.path.filename().string();
    const std::string what = StrCat("the job's file ", entry.name.empty() ? "src_dir" : entry.name);
    if (entry.path.is_absolute() && IsThere(entry.path)) return Ok();
    if (!cluster) return NotFoundError(what, " is not kept any more: ", entry.path.string(), " is missing");
    fs::path& here = fetched[entry.path];
    if (here.empty()) {
      TRY_ASSIGN(const fs::path folder, FolderFor(files, home));
      const fs::path copy = folder / key;
      TRY_ASSIGN(const bool unpack, Annotate(cluster->FetchStaged(records, key, copy), what));
      if (key.ends_with("-x") && chmod(copy.c_str(), 0700) != 0)
        return FileError(ErrorCode::kCannotWrite, "finish", copy, errno);
      TRY_ASSIGN(here, files->Keep(copy, unpack));
    }
    entry.path = here;
    return Ok();
  };
  TRY(ForEachEntry(kept.staged, fetch));
  return FetchedReproduction{std::move(kept), std::move(files)};
}

Status FetchCheckpoint(FetchedReproduction& source, const fs::path& home) {
  std::optional<Checkpoint>& checkpoint = source.kept.ran.resumed_from;
  if (!checkpoint) return Ok();
  const fs::path path(checkpoint->path);
  const std::string directory = path.parent_path().string();
  const ClusterFiles* cluster = IsInHdfs(checkpoint->path) ? BackendOf(source.kept.job).cluster_files() : nullptr;
  std::shared_ptr<const CheckpointFolder> folder = std::make_shared<LocalCheckpointFolder>(directory);
  if (cluster) {
    TRY_ASSIGN(folder, cluster->Checkpoints(source.kept.job, directory));
  }
  if (const std::string damage = CheckpointDamage(*checkpoint, *folder); !damage.empty()) return NotFoundError(damage);
  if (!cluster) return Ok();
  TRY_ASSIGN(const fs::path fetched, FolderFor(source.files, home));
  const fs::path here = fetched / kCheckpoint;
  TRY(MakeFolder(here));
  TRY(cluster->FetchCheckpoint(source.kept.job, checkpoint->path, here));
  checkpoint->path = (here / path.filename()).string();
  return Ok();
}

}  // namespace tony
