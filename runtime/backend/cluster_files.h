// The file system of a scheduler's cluster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/files_for_others.h"
#include "runtime/records/staged_files.h"
#include "runtime/spec/property_values.h"

namespace tony {

// Has no state; any thread. Each call waits for the file system.
class ClusterFiles {
 public:
  virtual ~ClusterFiles() = default;
  // A source of a job with these site files: the file, or those that are in the folder. Errors do not name the source.
  // kInvalid: there is none; kNotPermitted: this user may not read it.
  virtual Result<std::vector<RemoteFile>> LookAt(const SiteFiles& site_files, const FileSpec& file) const = 0;
  // The whole of a source that is read before there is a job, on the cluster that is known without one.
  virtual Result<std::string> Read(const std::string& source) const = 0;
  // Writes the files of a job's history into this folder.
  virtual Result<std::shared_ptr<const FilesForOthers>> HistoryFiles(const JobId& job,
                                                                     const std::string& folder) const = 0;
};

}  // namespace tony
