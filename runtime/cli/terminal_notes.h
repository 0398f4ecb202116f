// What the client library has to say, on standard error: a line for each note, and of what is moved one live line on a
// terminal, a line now and then elsewhere.
#pragma once

#include <functional>
#include <string>
#include <vector>

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

// The report on src_dir, which says to people what goes to the tasks and what does not.

// "12 files, 1.2 MB"; empty where the job has no such folder.
std::string AmountOf(const SourceSummary& sources);
// "left out: data, old.ckpt: 3 files, 1.5 GB (.gitignore: data/)", a line for each rule.
std::vector<std::string> LeftOutLines(const SourceSummary& sources);

std::string HumanSize(int64_t bytes);  // "53 bytes", "1.2 MB"

}  // namespace tony
