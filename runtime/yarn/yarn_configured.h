// Whether this process knows of a Hadoop cluster, and to which one a job was sent. Apart from yarn_cluster.h for
// programs without Hadoop in them.
//
// A job goes to the cluster that $HADOOP_CONF_DIR and its own site files (runtime/spec/property_values.h) describe. Where it
// has such files the submit notes the cluster in $TONY_HOME/yarn/clusters/<application id>: whoever knows the job by
// its id goes there, whatever $HADOOP_CONF_DIR says and whether the files are still there. Other jobs are looked for in
// the cluster of $HADOOP_CONF_DIR or, if the variable is not set, in that of the newest note. A command that names no
// job goes there too, so that each job that `tony list` shows is found by its id.
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

// kInvalid: the variable is not set and there is no note.
Status CheckYarnConfigured(const JobId& job);
Error YarnNotConfigured();

struct ClusterNote {
  std::filesystem::path file;
  std::string text;  // of YarnCluster
};
// Nothing: there is none, or no $TONY_HOME. `job`: empty for the newest.
Result<std::optional<ClusterNote>> FindClusterNote(const JobId& job);
// The job's own note or, if it has none and the variable is not set, the newest.
Result<std::optional<ClusterNote>> FindClusterNoteOrNewest(const JobId& job);
Status NoteCluster(const JobId& job, const std::string& text);
void ForgetCluster(const JobId& job);  // harmless if there is no note
// Of jobs, oldest first. What writers left that died is removed, unless `dry_run`.
Result<std::vector<JobId>> ClusterNotesBefore(Instant time, bool dry_run);

}  // namespace tony
