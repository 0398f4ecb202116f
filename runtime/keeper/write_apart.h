// What is kept of a job outside of its own folder is written by processes of their own. That place may be on a file
// system that does not answer: then whoever writes cannot be killed, nor do its locks end, not even those of its other
// threads. So keepers, and clients that find a lost job, never write there themselves. They wait for a while, and leave
// the writer alone with what it waits for.
#pragma once

#include "runtime/base/time.h"
#include "runtime/records/job_records.h"

namespace tony {

// The work of such processes. What goes wrong is a line in the log.
void WriteHistoryBegin(const JobRecords& records);  // history_files.h, for a job whose master is starting
void WriteEndedLine(const JobRecords& records);     // ended_log.h
void WriteHistoryEnd(const JobRecords& records);    // history_files.h

// `work` in a process of its own, and waits for it for so long: for callers without an event loop. The process writes
// to the log of the job's keeper.
void WriteApart(const JobRecords& records, void (*work)(const JobRecords&), Duration patience);

}  // namespace tony
