// tony-final.xml: the file that TonY's portal shows as a job's configuration, and from which Dr. Elephant reads the
// requested resources. Pure.
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

// Returns all tony.* values of `configuration`, and values that these keys do not set. The latter are the actual
// resources of each role (for a job without roles, or of an earlier release), and tony.job.id, by which a reader of old
// files finds our job.
std::string TonyFinalXml(const Configuration& configuration, const JobSpec& spec, const JobId& job);

// The files by which TonY's portal and Dr. Elephant know a job, in the folder that tony.history.location names:
//
//   application_20261121093015_5188252/                                            0770
//     tony-final.xml                                                               its configuration, secrets masked
//     application_20261121093015_5188252-1763717415123-ann.jhist.inprogress        while the job runs: its beginning
//     application_20261121093015_5188252-1763717415123-1763717999456-ann-SUCCEEDED.jhist    instead, after its end
//
// A job that names no such folder has no such files, and both functions do nothing for it. Each file appears whole, by
// rename. Files have mode 0640. If the folder above is set-group-id, files and folder get its group, because the
// portal, which moves the files, is another user. Missing folders above are created with the modes that the umask
// allows.

// Writes that the job runs, and its configuration. The keeper (the supervisor of one job on a machine), or on YARN the
// AM, calls this function when it starts. A second call is harmless.
Status BeginHistory(const JobRecords& records, const FilesForOthers& files = FilesOnThisMachine());

// Writes the outcome of the job. The process that has written the job's last status calls this function. BeginHistory()
// need not have been called before, and a second call writes the same files. kInvalid: the job has not ended.
Status FinishHistory(const JobRecords& records, const FilesForOthers& files = FilesOnThisMachine());

// Returns the folder of these files; nullopt: the job names no history folder.
Result<std::optional<std::filesystem::path>> HistoryFolder(const JobRecords& records);

// Returns the id in the form application_<digits>_<digits>, on which TonY's readers insist.
// "local-20261121-093015-4f2a9c" becomes its time, and its last part as a decimal number, so that the id can be
// converted back. An id of YARN stays unchanged. Any other id gets a checksum as its number.
std::string ApplicationId(const JobId& job);

// Returns the user in lower case, without dashes and dots. TonY's readers split a file's name at dashes, cut it at the
// first dot, and want the user in lower case.
std::string UserInFileName(std::string_view user);

std::string JhistName(const JobId& job, std::string_view user, Instant submitted);  // name while the job runs
std::string JhistName(const JobId& job, std::string_view user, Instant submitted, Instant ended, FinalState state);

}  // namespace tony
