#include "runtime/yarn/note_garbage.h"

#include <map>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/yarn/yarn_configured.h"
#include "runtime/yarn/yarn_job_place.h"

namespace tony {
namespace {

constexpr Duration kListLimit{2000};

// Why the note of a job stays; nothing: its job is gone.
std::optional<std::string> WhyKept(const ClusterNote& note, const JobId& job, const JobsOfCluster& jobs_of,
                                   std::map<std::string, Result<std::set<std::string>>>& known) {
  const auto cluster = YarnClusterFromText(note.text);
  if (!cluster.ok()) return cluster.error().message;
  auto jobs = known.find(note.text);
  if (jobs == known.end()) jobs = known.emplace(note.text, jobs_of(*cluster)).first;
  if (!jobs->second.ok()) return jobs->second.error().message;
  if (!jobs->second->contains(job.value)) return std::nullopt;
  return StrCat("the job is in ", JobsFolder(*cluster), " of ", ToString(cluster->name_node));
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
  hadoop::WebHdfs::Options options = HdfsOptions(cluster);
  options.limits.connect = options.limits.stalled = options.limits.whole = kListLimit;
  const auto entries = WebHdfsCalls(std::move(options)).List(JobsFolder(cluster));
  std::set<std::string> names;
  if (!entries.ok() && entries.error().code == ErrorCode::kNotFound) return names;
  TRY(entries);
  for (const hadoop::HdfsEntry& entry : *entries) names.insert(entry.name);
  return names;
}

}  // namespace tony
