// What the client library has to say, on standard error: a line for each note, and of what is moved one live line on a
// terminal, a line now and then elsewhere.
#pragma once

#include <functional>

#include "runtime/client/client_notes.h"
#include "runtime/job/job_status.h"
#include "runtime/records/staged_files.h"

namespace tony {

// Of a new job it says what SayStaged() says.
ClientNotes TerminalNotes();

// What of src_dir goes to the tasks and what does not, and warnings.
void SayStaged(const StagedFiles& files);

// Says each change of a job.
std::function<bool(const JobStatus&)> SayChanges();

}  // namespace tony
