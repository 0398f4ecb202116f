// The job of `tony notebook`, and the address at which its user reaches it.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"
#include "runtime/client/relay.h"
#include "runtime/job/job_status.h"
#include "runtime/net/host_resolver.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

// Names of files in the task's folder. The launcher (runtime/python/notebook) knows them.
inline constexpr std::string_view kPythonArchive = "tony-python.zip";

// Returns the command line of `tony submit` that `line`, a command line of `tony notebook`, stands for.
Result<CommandLine> NotebookSubmitLine(const CommandLine& line);
// Adds the parts that no option of `tony submit` can add: the token, the Python package, and the programs that the
// kernels of a task on YARN need to submit jobs. kInvalid: the job has no role for the notebook, or an unfit token.
Status CompleteNotebook(const CommandLine& line, ParsedJobSpec& job);

// Prints the address of a job's notebook as soon as the server accepts connections, and again if the address changes. A
// server of another machine, or every server if a port is given, is reached through a relay, which lives as long as
// this object. Loop thread only.
class NotebookDoor {
 public:
  // `port` is the relay's; 0: any free port. kUnavailable: the port cannot be bound.
  static Result<std::shared_ptr<NotebookDoor>> Open(EventLoop& loop, int port, std::string token);

  void OnStatus(const JobStatus& status);

 private:
  NotebookDoor(EventLoop& loop, std::string token) : loop_(loop), token_(std::move(token)), resolver_(loop) {}
  void Resolve(const Endpoint& server);
  void Probe();
  void OnProbed();
  void ProbeAgain();
  void Announce();

  EventLoop& loop_;
  const std::string token_;
  HostResolver resolver_;
  std::unique_ptr<Relay> relay_;
  std::string job_, url_;
  Endpoint server_;  // numeric
  HostResolver::Query query_;
  UniqueFd probe_;
  EventLoop::FdWatch answered_;
  EventLoop::Timer again_;
  Instant probed_since_;
  bool is_late_told_ = false;
};

}  // namespace tony
