// Which job a person means, who does not type its whole id.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/client/client_notes.h"
#include "runtime/records/job_records.h"

namespace tony {

// `word` is, and whatever comes first counts:
//   an id        as FindJob() has it: what programs give is never looked for elsewhere
//   last         the job that was submitted last
//   a name       the newest job of this name, among those that run and the newest thousand that have ended
//   a beginning  at least four characters with which the id of one job alone begins, or its part behind the last - or _
// Unless it was an id, a note says which one it is. kNotFound as FindJob(), or what there is several of;
// whatever keeps a configured cluster from being asked.
Result<JobRecords> FindNamedJob(const std::string& word, const ClientNotes& notes);

}  // namespace tony
