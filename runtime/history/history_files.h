// tony-final.xml: what TonY's portal shows as a job's configuration, and what Dr. Elephant reads its requests from.
// Pure.
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

// All tony.* values of `configuration`; of each role of the job what it really has, if that was not set by these keys
// (a job without roles, one of an earlier release); and tony.job.id, by which a reader of old files finds ours.
std::string TonyFinalXml(const Configuration& configuration, const JobSpec& spec, const JobId& job);

// The files by which TonY's portal and Dr. Elephant know a job, in the folder that tony.history.location leads to:
//
//   application_20261121093015_5188252/                                            0770
//     tony-final.xml                                                               its configuration, secrets masked
//     application_20261121093015_5188252-1763717415123-ann.jhist.inprogress        while it runs: that it began
//     application_20261121093015_5188252-1763717415123-1763717999456-ann-SUCCEEDED.jhist    instead, at its end
//
// A job that names no such folder has none, and both functions do nothing for it. Each file appears whole, by rename.
// Files are 0640 and, as the folder, of the group of the folder above where that is set-group-id: the portal, which
// moves them, is another user. Folders above are made if they are missing, as the umask says.

// For whoever takes up a job: that it runs, and with what. Harmless if it was written before.
Status BeginHistory(const JobRecords& records, const FilesForOthers& files = FilesOnThisMachine());

// For whoever has written its last status: what has become of it. Also if BeginHistory() was never called; a second
// call writes the same. kInvalid: it has not ended.
Status FinishHistory(const JobRecords& records, const FilesForOthers& files = FilesOnThisMachine());

// Where they are; nothing: the job names no folder.
Result<std::optional<std::filesystem::path>> HistoryFolder(const JobRecords& records);

// TonY's readers insist on application_<digits>_<digits>: "local-20261121-093015-4f2a9c" has the time and the last part
// as a decimal number, so it can be turned back. An id of YARN's is itself; any other gets a checksum for its number.
std::string ApplicationId(const JobId& job);

// TonY's readers split a file's name at dashes, cut it at the first dot, and want the user in lower case.
std::string UserInFileName(std::string_view user);

std::string JhistName(const JobId& job, std::string_view user, Instant submitted);  // while it runs
std::string JhistName(const JobId& job, std::string_view user, Instant submitted, Instant ended, FinalState state);

}  // namespace tony
