// What both ways to submit have in common: the environment that a job takes along, its announcement, and watching it to
// its end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/backend/am_launcher.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"
#include "runtime/client/watch_job.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"
#include "runtime/records/job_store.h"

namespace tony {

// A keeper that was started has taken its lock after a few milliseconds; on a machine that pages, later.
constexpr Duration kKeeperPatience{500};

// What a submit shows.
struct SubmitShow {
  bool json = false;
  bool detach = false;
  bool logs = false;  // of the tasks, in place of the table
  CommandLine line;
};
// kUsage: options that do not go together.
Result<SubmitShow> ReadSubmitShow(const CommandLine& line);

// Says the id as soon as the job is recorded. With --json the answer that comes later names it, too.
void Announce(const JobId& job, const SubmitShow& show);

// Of a job that goes on alone, for a person at a terminal: its page, and what to type next.
void TellWhatNext(const JobRecords& records, const SubmitShow& show);

// A job whose keeper cannot be started is taken back.
Status StartJob(const JobStore& jobs, const JobRecords& records, AmLauncher& launcher);

struct SubmitWatch {
  SubmitShow show;
  OwnerToken kill_as;                         // a signal kills the job only while this one is its owner
  std::map<std::string, std::string> fields;  // JSON values that are added to the document
};
// Returns the exit code.
Result<int> WatchToEnd(EventLoop& loop, Interrupts& interrupts, const JobRecords& records, AmLauncher& launcher,
                       const SubmitWatch& watch);

}  // namespace tony
