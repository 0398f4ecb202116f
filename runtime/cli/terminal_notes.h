// Prints the notes of the client library on standard error, one line for each note. Progress is shown as one line that
// is redrawn on a terminal, and as an occasional new line elsewhere.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/client/client_notes.h"
#include "runtime/job/job_status.h"
#include "runtime/records/staged_files.h"

namespace tony {

// Returns notes for the terminal. For a new job, the notes also print the report of SayStaged().
ClientNotes TerminalNotes();

// Prints which files of src_dir go to the tasks, which files do not, and the warnings about the files.
void SayStaged(const StagedFiles& files);

// Returns a callback that prints each change of a job.
std::function<bool(const JobStatus&)> SayChanges();

// The report about src_dir for people: which files go to the tasks and which do not.

// Returns the amount of files, e.g. "12 files, 1.2 MB"; empty if the job has no src_dir.
std::string AmountOf(const SourceSummary& sources);
// Returns a line for each rule that has left out files, e.g. "left out: data, old.ckpt: 3 files, 1.5 GB (.gitignore:
// data/)".
std::vector<std::string> LeftOutLines(const SourceSummary& sources);

std::string HumanSize(int64_t bytes);  // e.g. "53 bytes", "1.2 MB"

}  // namespace tony
