// Finds out whether this process knows a Hadoop cluster, and to which cluster a job was sent. Separate from
// yarn_cluster.h for programs that do not contain Hadoop.
//
// A job goes to the cluster that $HADOOP_CONF_DIR and its own site files (runtime/spec/property_values.h) describe. If
// it has such files, the submit notes the cluster in $TONY_HOME/yarn/clusters/<application id>. A command that names
// this job uses the note, whatever $HADOOP_CONF_DIR is, and even if the files no longer exist. Other jobs are looked up
// in the cluster of $HADOOP_CONF_DIR. If the variable is not set, they are looked up in the cluster of the newest note.
// Commands that name no job follow the last two rules, so each job that `tony list` shows can also be found by its id.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony {

inline constexpr char kConfigurationVariable[] = "HADOOP_CONF_DIR";
// The variable of Hadoop's YARN commands. Its files are read after those of $HADOOP_CONF_DIR.
inline constexpr char kYarnConfigurationVariable[] = "YARN_CONF_DIR";
// Returns whether one of the two variables names a folder.
bool IsConfigurationSet();

// Returns kInvalid if neither variable is set and no note exists.
Status CheckYarnConfigured(const JobId& job);
Error YarnNotConfigured();

struct ClusterNote {
  std::filesystem::path file;
  std::string text;  // in the form of NoteOf(YarnCluster)
};
// Returns the note of `job`, or the newest note if `job` is empty. nullopt: the note or $TONY_HOME does not exist.
Result<std::optional<ClusterNote>> FindClusterNote(const JobId& job);
// Returns the job's own note. If the job has none and no configuration is set, returns the newest note.
Result<std::optional<ClusterNote>> FindClusterNoteOrNewest(const JobId& job);
Status NoteCluster(const JobId& job, const std::string& text);
void ForgetCluster(const JobId& job);  // does nothing without a note
// Returns the jobs whose notes were written before `time`, oldest first. Removes files that writers left when they
// died, unless `dry_run`.
Result<std::vector<JobId>> ClusterNotesBefore(Instant time, bool dry_run);

}  // namespace tony
