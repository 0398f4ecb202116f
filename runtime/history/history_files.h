// The content of tony-final.xml. TonY's portal shows this file as a job's configuration, and Dr. Elephant reads the
// requested resources from this file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/config/configuration.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"
#include "runtime/records/files_for_others.h"
#include "runtime/records/job_records.h"

namespace tony {

// Returns all tony.* values of `configuration` as XML, and adds values for keys that `configuration` does not set. The
// added values are the actual resources of each role, and tony.job.id, by which a reader of these files finds our job.
// The resources are added, because a configuration without roles, or from an earlier release, does not set them. The
// function is pure.
std::string TonyFinalXml(const Configuration& configuration, const JobSpec& spec, const JobId& job);

// The files by which TonY's portal and Dr. Elephant know a job, in the folder that tony.history.location names:
//
//   application_20261121093015_5188252/                                            0770
//     tony-final.xml                                                               configuration, secrets masked
//     application_20261121093015_5188252-1763717415123-ann.jhist.inprogress        events while the job runs
//     application_20261121093015_5188252-1763717415123-1763717999456-ann-SUCCEEDED.jhist    all events, after the end
//
// For a job without tony.history.location, both functions do nothing. Each file appears whole, by rename, with mode
// 0640. If the folder of tony.history.location is set-group-id, the job's folder and files get its group. The portal
// needs this, because it moves the files and runs as another user. Missing folders above the job's folder are created
// with the modes that the umask allows.

// Writes the job's configuration, and a history which shows that the job runs. The keeper (the supervisor of one job on
// a machine) calls this function when it starts; on YARN the AM calls it. A second call is harmless.
Status BeginHistory(const JobRecords& records, const FilesForOthers& files = FilesOnThisMachine());

// Writes the outcome of the job. The process that has written the job's final status calls this function.
// BeginHistory() need not have been called before. A second call writes the same files. Returns kInvalid if the job has
// not ended.
Status FinishHistory(const JobRecords& records, const FilesForOthers& files = FilesOnThisMachine());

// Returns the folder of the job's history files; nullopt if the job names no history folder.
Result<std::optional<std::filesystem::path>> HistoryFolder(const JobRecords& records);

// Returns the job's id in the form application_<digits>_<digits>, which the readers of TonY's files require. For
// "local-20261121-093015-4f2a9c" the result has the time and the last part as a decimal number, and can be converted
// back. An id of YARN stays unchanged. For any other id, the result ends with a checksum of the id.
std::string ApplicationId(const JobId& job);

// Returns the user in lower case, without dashes and dots. TonY's readers split a file's name at dashes, cut it at the
// first dot, and want the user in lower case.
std::string UserInFileName(std::string_view user);

std::string JhistName(const JobId& job, std::string_view user, Instant submitted);  // name while the job runs
std::string JhistName(const JobId& job, std::string_view user, Instant submitted, Instant ended, FinalState state);

}  // namespace tony
