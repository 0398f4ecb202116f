// Whether this process knows of a Hadoop cluster, and to which one a job was sent. Apart from yarn_cluster.h for
// programs without Hadoop in them.
//
// A job goes to the cluster that $HADOOP_CONF_DIR and its own site files (runtime/job/site_files.h) describe. Where it
// has such files the submit notes the cluster in $TONY_HOME/yarn/clusters/<application id>: whoever knows the job by
// its id goes there, whatever $HADOOP_CONF_DIR says and whether the files are still there. Other jobs are looked for by
// $HADOOP_CONF_DIR, as is where no job is named; there, if it is not set, by the newest note.
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

// kInvalid: neither the variable is set nor is there a note, of this job or, if its id is empty, of any.
Status CheckYarnConfigured(const JobId& job);
Error YarnNotConfigured();

struct ClusterNote {
  std::filesystem::path file;
  std::string text;  // of YarnCluster
};
// Nothing: there is none, or no $TONY_HOME. `job`: empty for the newest.
Result<std::optional<ClusterNote>> FindClusterNote(const JobId& job);
Status NoteCluster(const JobId& job, const std::string& text);
void ForgetCluster(const JobId& job);  // harmless if there is no note
// Of jobs, oldest first. What writers left that died is removed, unless `dry_run`.
Result<std::vector<JobId>> ClusterNotesBefore(Instant time, bool dry_run);

}  // namespace tony
