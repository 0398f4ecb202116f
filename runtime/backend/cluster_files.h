// The file system of a scheduler's cluster.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/checkpoints.h"
#include "runtime/records/files_for_others.h"
#include "runtime/records/job_records.h"
#include "runtime/records/staged_files.h"
#include "runtime/spec/property_values.h"

namespace tony {

// A ClusterFiles object has no state and may be used by any thread. Each call waits for the file system.
class ClusterFiles {
 public:
  virtual ~ClusterFiles() = default;
  // Returns the file of a source for a job with these site files. If the source is a folder, the files in the folder
  // are returned. Error messages do not contain the source. The code is kInvalid if the source does not exist, and
  // kNotPermitted if this user may not read it.
  virtual Result<std::vector<RemoteFile>> LookAt(const SiteFiles& site_files, const FileSpec& file) const = 0;
  // Returns the whole content of a source that is read before its job exists. The cluster is the one that is configured
  // for this user.
  virtual Result<std::string> Read(const std::string& source) const = 0;
  // Writes a staged file of the job into the new file `to`. `key` is the name of the entry's path. Returns true if
  // tasks find the file unpacked. kInvalid: the file has changed since the submit.
  virtual Result<bool> FetchStaged(const JobRecords& records, const std::string& key,
                                   const std::filesystem::path& to) const = 0;
  // Returns a reader for the folder in which the job's program leaves its checkpoints.
  virtual Result<std::shared_ptr<const CheckpointFolder>> Checkpoints(const JobId& job,
                                                                      const std::string& directory) const = 0;
  // Copies a checkpoint of the job, a file or a folder, into the existing folder `to` of this machine.
  virtual Status FetchCheckpoint(const JobId& job, const std::string& checkpoint,
                                 const std::filesystem::path& to) const = 0;
  // Returns a folder for the checkpoints of a new job, which tony gc removes with the job's records.
  virtual Result<std::string> FolderForCheckpoints(const JobId& job) const = 0;
  // Makes such a folder, and copies a checkpoint of this machine into it; empty: makes the folder only.
  virtual Status SendCheckpoint(const std::filesystem::path& checkpoint, const std::string& folder) const = 0;
  // Returns a writer for the history files of the job in this folder.
  virtual Result<std::shared_ptr<const FilesForOthers>> HistoryFiles(const JobId& job,
                                                                     const std::string& folder) const = 0;
};

}  // namespace tony
