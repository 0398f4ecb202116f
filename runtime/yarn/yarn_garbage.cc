#include "runtime/yarn/yarn_garbage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/hdfs.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/os/files.h"
#include "runtime/yarn/yarn_configured.h"

namespace tony {
namespace {

constexpr Duration kListLimit{2000};

// Returns why the note of a job stays; nullopt if the job no longer exists.
std::optional<std::string> WhyKept(const ClusterNote& note, const JobId& job, const JobsOfCluster& jobs_of,
                                   std::map<std::string, Result<std::set<std::string>>>& known) {
  const auto cluster = YarnClusterFromNote(note.text);
  if (!cluster.ok()) return cluster.error().message;
  auto jobs = known.find(note.text);
  if (jobs == known.end()) jobs = known.emplace(note.text, jobs_of(*cluster)).first;
  if (!jobs->second.ok()) return jobs->second.error().message;
  if (!jobs->second->contains(job.value)) return std::nullopt;
  return StrCat("the job still exists in ", JobsFolder(*cluster), " of the NameNode ",
                HdfsAuthority(cluster->name_node));
}

}  // namespace

Status CollectNotes(const GarbageOrder& order, const JobsOfCluster& jobs_of, Garbage& garbage) {
  TRY_ASSIGN(const auto jobs, ClusterNotesBefore(order.not_since, order.dry_run));
  std::map<std::string, Result<std::set<std::string>>> known;
  for (const JobId& job : jobs) {
    TRY_ASSIGN(const auto note, FindClusterNote(job));
    if (!note) continue;  // another collection was faster
    if (const auto why = WhyKept(*note, job, jobs_of, known)) {
      garbage.kept.push_back(StrCat(note->file.string(), ": ", *why));
      continue;
    }
    if (!order.dry_run) ForgetCluster(job);
    garbage.notes.push_back(job.value);
  }
  return Ok();
}

Result<std::set<std::string>> JobsInHdfs(const YarnCluster& cluster) {
  hadoop::Hdfs::Options options = HdfsOptions(cluster);
  options.limits.connect = options.limits.stalled = options.limits.whole = kListLimit;
  const auto entries = BlockingHdfs(std::move(options)).List(JobsFolder(cluster));
  std::set<std::string> names;
  if (!entries.ok() && entries.error().code == ErrorCode::kNotFound) return names;
  TRY(entries);
  for (const hadoop::HdfsEntry& entry : *entries) names.insert(entry.name);
  return names;
}

namespace {

using hadoop::HdfsEntry;
using hadoop::HdfsRename;

bool IsJob(const HdfsEntry& entry) { return entry.is_folder && hadoop::ParseApplicationId(entry.name).has_value(); }

bool IsUpload(const HdfsEntry& entry) { return entry.name.starts_with(hadoop::kUnfinishedPut); }

Instant MayGoSince(const HdfsEntry& entry) {
  return entry.modified + (IsUpload(entry) ? kUploadMayGo : kUnfinishedMayGo);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

YarnGarbage::YarnGarbage(std::shared_ptr<HdfsCalls> calls, HdfsPlaces places, RecordsOfJob records,
                         HdfsRetryPolicy patience)
    : calls_(std::move(calls)),
      places_(std::move(places)),
      records_(std::move(records)),
      hdfs_(calls_, std::move(patience)) {}

Result<YarnGarbage::Entries> YarnGarbage::List(const std::string& folder) const {
  auto entries = hdfs_.Ask([&](HdfsCalls& calls) { return calls.List(folder); });
  if (!entries.ok() && IsMissing(entries.error())) return Entries();
  return entries;
}

Result<bool> YarnGarbage::IsThere(const std::string& path) const {
  return WasFound(hdfs_.Ask([&](HdfsCalls& calls) { return calls.GetEntry(path); }));
}

Status YarnGarbage::Remove(const std::string& path) const {
  return hdfs_.Ask([&](HdfsCalls& calls) { return calls.Remove(path); }).status();
}

// Returns HDFS's time, which is the modification time of a new file. This machine's clock may differ from it.
Result<Instant> YarnGarbage::ServersTime() const {
  const std::string path = StrCat(places_.root, "/", hadoop::kUnfinishedPut, RandomHex(8));
  TRY(hdfs_.Ask([&](HdfsCalls& calls) { return calls.Create(path, ""); }));
  const auto entry = hdfs_.Ask([&](HdfsCalls& calls) { return calls.GetEntry(path); });
  TRY(Remove(path));
  TRY(entry);
  return entry->modified;
}

Result<Garbage> YarnGarbage::Collect(const GarbageOrder& order) const {
  Garbage garbage;
  TRY_ASSIGN(const bool is_used, IsThere(places_.root));
  if (!is_used) return garbage;
  garbage.failure = [&]() -> Status {
    // Jobs are removed first, because this makes room if HDFS is full.
    TRY(RemoveJobs(order, garbage));
    TRY_ASSIGN(const Instant now, ServersTime());
    TRY(RemoveUnfinished(order, now, garbage));
    if (!order.dry_run) TRY(RemoveDead(now));
    return Annotate(RemoveStaged(order, now, garbage), "staged files were not removed");
  }();
  return garbage;
}

Status YarnGarbage::RemoveJobs(const GarbageOrder& order, Garbage& garbage) const {
  TRY_ASSIGN(const Entries entries, List(places_.jobs));
  std::vector<std::string> going;
  for (const HdfsEntry& entry : entries) {
    if (!IsJob(entry)) continue;
    TRY_ASSIGN(const bool is_whole, IsThere(StrCat(places_.jobs, "/", entry.name, "/", kSubmissionRecord)));
    if (is_whole && order.may_go(records_(JobId{entry.name}))) going.push_back(entry.name);
  }
  if (!going.empty() && !order.dry_run) TRY(order.before_jobs_go());
  for (const std::string& name : going) {
    if (!order.dry_run) TRY(Remove(StrCat(places_.jobs, "/", name)));
    garbage.jobs.push_back(name);
  }
  return Ok();
}

Status YarnGarbage::RemoveUnfinished(const GarbageOrder& order, Instant now, Garbage& garbage) const {
  TRY_ASSIGN(const Entries entries, List(places_.jobs));
  for (const HdfsEntry& entry : entries) {
    const bool is_old = entry.name.starts_with(kOldJob);  // left by a collection that died
    if (!is_old && !(IsJob(entry) && MayGoSince(entry) <= now)) continue;
    TRY_ASSIGN(const bool is_whole, IsThere(StrCat(places_.jobs, "/", entry.name, "/", kSubmissionRecord)));
    if (is_old || !is_whole) TRY(RemoveHalf(entry.name, order.dry_run, garbage));
  }
  return Ok();
}

Status YarnGarbage::RemoveHalf(const std::string& name, bool dry_run, Garbage& garbage) const {
  const bool is_old = name.starts_with(kOldJob);
  const std::string job = is_old ? name.substr(kOldJob.size()) : name;
  bool is_gone = dry_run;
  if (!dry_run) {
    TRY_ASSIGN(is_gone, RemoveUnfinishedJob(job, is_old));
  }
  if (is_gone) garbage.unfinished.push_back(job);
  return Ok();
}

Result<bool> YarnGarbage::GiveUp(const JobId& job) const { return RemoveUnfinishedJob(job.value, /*is_old=*/false); }

// Removes the folder of an unfinished job. The job's client may be paused and continue now, so the folder is renamed
// first; the client then writes nothing into it. Returns false if the job is complete and its folder has its name
// again. Also returns false if another process removes the same job and may be about to rename the folder back.
Result<bool> YarnGarbage::RemoveUnfinishedJob(const std::string& job, bool is_old) const {
  const std::string path = StrCat(places_.jobs, "/", job);
  const std::string old = StrCat(places_.jobs, "/", kOldJob, job);
  if (!is_old) {
    const auto moved = hdfs_.Ask([&](HdfsCalls& calls) { return calls.Rename(path, old, HdfsRename::kIfNew); });
    if (!moved.ok() && !IsMissing(moved.error())) return moved.error();
  }
  TRY_ASSIGN(const bool is_whole, IsThere(StrCat(old, "/", kSubmissionRecord)));
  if (is_whole) {
    const auto back = hdfs_.Ask([&](HdfsCalls& calls) { return calls.Rename(old, path, HdfsRename::kIfNew); });
    if (!back.ok() && !IsMissing(back.error())) return back.error();
    return false;
  }
  TRY(Remove(old));
  TRY_ASSIGN(const bool is_back, IsThere(path));
  return !is_back;
}

// Removes the remains of interrupted garbage collections: their folders, and files that were made to read HDFS's time.
// Also removes the remains of interrupted submits: folders of jobs and records of requests that had a temporary name.
Status YarnGarbage::RemoveDead(Instant now) const {
  TRY_ASSIGN(const Entries collections, List(places_.collections));
  for (const HdfsEntry& entry : collections)
    if (MayGoSince(entry) <= now) TRY(Remove(StrCat(places_.collections, "/", entry.name)));
  for (const std::string& folder : {places_.root, places_.jobs, places_.requests}) {
    TRY_ASSIGN(const Entries entries, List(folder));
    for (const HdfsEntry& entry : entries)
      if (IsUpload(entry) && MayGoSince(entry) <= now) TRY(Remove(StrCat(folder, "/", entry.name)));
  }
  return Ok();
}

Status YarnGarbage::RemoveStaged(const GarbageOrder& order, Instant now, Garbage& garbage) const {
  if (order.dry_run) return MoveUnneeded("", now, garbage);
  const std::string collection = StrCat(places_.collections, "/", RandomHex(8));
  TRY(hdfs_.PutFolder(collection, places_.collections));
  const Status moved = MoveUnneeded(collection, now, garbage);
  const Status removed = Remove(collection);
  return moved.ok() ? removed : moved;
}

// Moves staged files that no job needs into `collection`. If `collection` is "", only counts them.
Status YarnGarbage::MoveUnneeded(const std::string& collection, Instant now, Garbage& garbage) const {
  TRY_ASSIGN(const std::set<std::string> names, NamesInUse(garbage));
  for (const std::string& folder : {places_.staged, places_.programs}) {
    TRY_ASSIGN(const Entries entries, List(folder));
    for (const HdfsEntry& entry : entries) {
      if (entry.is_folder || names.count(entry.name) || MayGoSince(entry) > now) continue;
      if (!collection.empty()) {
        TRY_ASSIGN(const bool is_moved, Move(StrCat(folder, "/", entry.name), collection));
        if (!is_moved) continue;
      }
      (IsUpload(entry) ? garbage.unfinished : garbage.staged).push_back(entry.name);
      garbage.bytes += entry.length;
    }
  }
  return Ok();
}

// Moves a staged file into `collection`. Returns false if another collection was faster.
Result<bool> YarnGarbage::Move(const std::string& from, const std::string& collection) const {
  const std::string to = StrCat(collection, "/", NameOf(from));
  const auto moved = hdfs_.Ask([&](HdfsCalls& calls) { return calls.Rename(from, to, HdfsRename::kIfNew); });
  if (moved.ok() || !IsMissing(moved.error())) return moved;
  TRY_ASSIGN(const bool is_at_work, IsThere(collection));
  if (is_at_work) return false;
  return UnavailableError("another client is submitting a job at the moment");
}

// Returns the names of files that jobs need, including jobs that are being made. If a job's list of files cannot be
// read, returns an error, because the list may name any file.
Result<std::set<std::string>> YarnGarbage::NamesInUse(const Garbage& garbage) const {
  TRY_ASSIGN(const Entries entries, List(places_.jobs));
  std::set<std::string> names;
  for (const HdfsEntry& entry : entries) {
    // True only in a dry run: the job still exists, but its files count as unneeded.
    const bool is_going = std::ranges::find(garbage.jobs, entry.name) != garbage.jobs.end();
    if (!(IsJob(entry) || entry.name.starts_with(kOldJob)) || is_going) continue;
    const auto files = ReadFiles(records_(JobId{entry.name}));
    if (!files.ok() && files.error().code == ErrorCode::kNotFound) continue;
    TRY(files);
    for (const auto& [key, file] : *files) names.insert(NameOf(file.path));
  }
  return names;
}

Result<bool> YarnGarbage::Hold(const HdfsFiles& files) const {
  TRY_ASSIGN(const Entries collections, List(places_.collections));
  for (const HdfsEntry& collection : collections) TRY(Remove(StrCat(places_.collections, "/", collection.name)));
  for (const auto& [key, file] : files) {
    // This is the user's own hdfs:// file, which no collection removes.
    if (!file.path.starts_with(places_.root + "/")) continue;
    const auto entry = hdfs_.Ask([&, path = file.path](HdfsCalls& calls) { return calls.GetEntry(path); });
    if (!entry.ok() && IsMissing(entry.error())) return false;
    TRY(entry);
    if (entry->length != file.size || entry->modified != file.modified) return false;
  }
  return true;
}

YarnGarbage GarbageIn(const YarnCluster& cluster) {
  return {std::make_shared<BlockingHdfs>(HdfsOptions(cluster)), PlacesIn(cluster),
          [cluster](const JobId& job) { return RecordsOf(cluster, job); }};
}

}  // namespace tony
