#include "runtime/cli/commands.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commit.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/records/files_for_others.h"

namespace tony {

// Prints the program's version (`tony version`).

Result<int> RunVersion(const CommandLine& line) {
  if (line.Has("json")) {
    // The field "schemas" lists the schema numbers that JSON answers may have, for readers that know only some of them.
    PrintLine(StrCat(R"({"schema":1,"version":)", JsonString(TONY_VERSION), R"(,"commit":)", JsonString(Commit()),
                     R"(,"schemas":[1]})"));
  } else {
    PrintLine(StrCat("tony ", TONY_VERSION, " (", Commit(), ")"));
  }
  return 0;
}

namespace {

constexpr auto kFlag = OptionSpec::Kind::kFlag;
constexpr auto kValue = OptionSpec::Kind::kValue;
constexpr auto kRepeated = OptionSpec::Kind::kRepeated;
constexpr size_t kAny = 1'000'000;

const OptionSpec kLogs = {"logs", kFlag, "", "show the tasks' output while waiting, instead of the table"};
const OptionSpec kQuiet = {"quiet", kFlag, "", "do not suggest next commands", "q"};
const OptionSpec kColour = {"color", kValue, "WHEN",
                            "always, never, or auto: colours on a terminal, unless $NO_COLOR is set"};
const OptionSpec kJson = {"json", kFlag, "", "one JSON object on standard output"};

Verb MakeVerb(Result<int> (*run)(const CommandLine& line), std::string_view name, std::string_view words,
              size_t least_words, size_t most_words, std::string_view text, std::vector<OptionSpec> options,
              bool in_home = true) {
  return {{name, words, least_words, most_words, text, std::move(options)}, run, in_home};
}

std::vector<OptionSpec> With(std::vector<OptionSpec> options, std::initializer_list<OptionSpec> more) {
  options.insert(options.end(), more);
  return options;
}

bool IsJson(const std::string& word) { return word == "--json" || word == "-json"; }

// Returns whether the arguments request JSON output. RunVerb() calls this function if it could not parse the command
// line.
bool AsksForJson(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), std::ranges::find(arguments, "--"), IsJson);
}

// Fails if the limit of open files is too low. The process needs descriptors for the files that are open at the start,
// for an event loop with a timer and signals, for a file watch, for a connection, and for one more file at a time.
Status CheckOpenFiles() {
  constexpr rlim_t kLeast = 24;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kLeast) return Ok();
  return Error{ErrorCode::kUnavailable,
               StrCat("at most ", limit.rlim_cur, " open files are allowed here (ulimit -n), and tony needs ", kLeast,
                      "; raise the limit")};
}

// Returns the bytes of stack in use. Arguments and environment lie at the top of the stack and count towards its limit;
// stack addresses grow downwards.
int64_t StackInUse() {
  uintptr_t top = 0;
  for (char** each = environ; each && *each; ++each)
    top = std::max(top, reinterpret_cast<uintptr_t>(*each) + std::strlen(*each));
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return top > here ? static_cast<int64_t>(top - here) : 0;
}

// Fails if the stack is too small, because a program that exceeds its stack dies by SIGSEGV without a message. A
// `submit` that waits for its job needs about 60 KiB.
Status CheckStack() {
  constexpr int64_t kLeastKib = 96;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > INT64_MAX) return Ok();
  const int64_t room = (static_cast<int64_t>(limit.rlim_cur) - StackInUse()) / 1024;
  if (room >= kLeastKib) return Ok();
  return Error{ErrorCode::kUnavailable, StrCat("the stack limit here (ulimit -s) leaves ", std::max<int64_t>(0, room),
                                               " KiB, and tony needs ", kLeastKib, " KiB; raise the limit")};
}

// Switches to the rights of the home's owner (SwitchToHomeOwner). `tony list --queue` and an `explain-exit` without
// --job use no home, so the process then keeps its own rights.
Status WorkAsOwner(const Verb& command, const CommandLine& line) {
  const bool of_no_job = command.verb.name == "explain-exit" && !line.Has("job");
  if (!command.in_home || of_no_job || line.Has("queue") || line.Has("reader")) return Ok();
  TRY_ASSIGN(const auto owner, SwitchToHomeOwner());
  if (owner && (command.verb.name == "submit" || command.verb.name == "run" || command.verb.name == "sweep" ||
                command.verb.name == "notebook"))
    Say(StrCat("tony: warning: TonY's home folder belongs to ", *owner,
               "; the job will run as this user, but with root's environment variables"));
  return Ok();
}

int RunVerb(const Verb& command, const std::vector<std::string>& arguments) {
  const Result<CommandLine> line = CommandLine::Parse(command.verb, arguments);
  if (!line.ok()) return Fail(line.error(), AsksForJson(arguments));
  const Result<int> result = WithoutThrowing([&]() -> Result<int> {
    TRY(CheckStack());
    TRY(CheckOpenFiles());
    TRY(WorkAsOwner(command, *line));
    return command.run(*line);
  });
  const int exit = result.ok() ? *result : Fail(result.error(), line->Has("json"));
  const int of_answer = ExitAfterOutput(exit);
  // For these verbs the exit code reports the result of the job, even if the output could not be written.
  static constexpr std::string_view kOfJob[] = {"submit", "run",   "sweep",     "notebook",
                                                "wait",   "watch", "reproduce", "shell"};
  return std::ranges::count(kOfJob, command.verb.name) > 0 ? exit : of_answer;
}

Error UnknownCommand(const std::string& verb) {
  std::vector<std::string> known;
  for (const Verb& command : Verbs()) known.emplace_back(command.verb.name);
  const std::string nearest = Nearest(verb, known);
  return {ErrorCode::kUsage, nearest.empty()
                                 ? StrCat("unknown command \"", verb, "\"; \"tony help\" lists all commands")
                                 : StrCat("unknown command \"", verb, "\"; did you mean \"", nearest, "\"?")};
}

}  // namespace

std::vector<Verb> Verbs() {
  return {
      MakeVerb(RunInit, "init", "[KIND]", 0, 1,
               "write an example job.yaml and its program; KIND: pytorch (default), jax, tensorflow or batch", {kJson},
               false),
      MakeVerb(
          RunSubmit, "submit", "[SPEC_FILE|-]", 0, 1,
          "run a job, show a live table on a terminal, and wait for the end; Ctrl-C kills the job. A spec file ends in "
          ".properties, .job, .xml, .json or .yaml; - reads a job document from standard input",
          With(SpecOptions(),
               {{"detach", kFlag, "", "do not wait for the end; the job continues without this command"},
                kLogs,
                {"request-id", kValue, "ID",
                 "name of the request; a second submit with this ID finds the job of the first"},
                {"submission", kValue, "N", "a higher number requests a new job for the same ID; default 0"},
                {"on-existing", kValue, "POLICY",
                 "which job of an earlier submit is used: adopt, the default, uses a running or succeeded job; attach "
                 "uses a running job; never uses none"},
                {"owner", kValue, "TOKEN", "token of the job's new owner"},
                {"first-try", kFlag, "",
                 "this is the first try of a workflow engine: replace a job that runs another program, and do not "
                 "adopt a result that was acknowledged (tony ack)"},
                {"run", kValue, "TOKEN",
                 "token of the workflow engine's run, the same for all tries; identifies the jobs of the run"},
                {"watch-timeout", kValue, "SECONDS", "end the job as abandoned after SECONDS without client activity"},
                kQuiet,
                kJson})),
      MakeVerb(RunRun, "run", "-- COMMAND [ARGUMENT...]", 1, kAny,
               "run a command on several workers, as submit does, but without a spec file; if COMMAND names a file in "
               "this folder, each worker gets "
               "a copy of this folder",
               {{"n", kValue, "N", "number of workers, default 1"},
                {"framework", kValue, "NAME", "framework whose environment variables the workers get, default pytorch"},
                {"memory", kValue, "SIZE", "memory of each worker, default 2g"},
                {"cpus", kValue, "N", "cores of each worker"},
                {"gpus", kValue, "N", "GPUs of each worker"},
                {"nproc-per-node", kValue, "N", "processes per worker, or gpu: one process for each GPU of the worker"},
                {"name", kValue, "NAME", "name of the job"},
                {"hold", kValue, "TIME", "keep the container of a failed task for this time (10m), for tony shell"},
                {"src_dir", kValue, "PATH", "folder of the program, instead of this folder"},
                {"python_venv", kValue, "PATH", "a virtual environment, which each worker finds as venv in its folder"},
                {"shell_env", kRepeated, "NAME=VALUE[,...]", "environment of the workers' processes"},
                {"secrets-fd", kValue, "FD", "read secret variables as a JSON object from this file descriptor"},
                {"conf", kRepeated, "KEY=VALUE", "set one more property"},
                {"strict", kFlag, "", "treat warnings about keys and values as errors"},
                {"detach", kFlag, "", "do not wait for the end; the job continues without this command"},
                kLogs,
                kQuiet,
                kJson}),
      MakeVerb(
          RunSweep, "sweep", "-- COMMAND [ARGUMENT...]", 0, kAny,
          "run a command once for each combination of parameters, and compare the trials: {NAME} in COMMAND is the "
          "value of the parameter NAME, which is also a variable of the trial. If COMMAND names a file in this "
          "folder, each trial gets a copy of this folder",
          {{"p", kRepeated, "NAME=VALUE[,...]",
            "values of a parameter, or with --random a range: 0.1..0.9, 1..8, log:1e-5..1e-1"},
           {"trials", kValue, "FILE",
            "read the trials from FILE.json, a list of objects, or FILE.csv, with the names in the first line"},
           {"random", kValue, "N", "run N trials with random values"},
           {"seed", kValue, "S", "seed of --random; the same seed gives the same trials"},
           {"parallel", kValue, "N",
            "number of trials that run at the same time, default: as many as the machine's memory, GPUs and "
            "cores hold"},
           {"metric", kValue, "NAME[:max]",
            "compare the trials by this member of the object that each writes to $TONY_OUTPUT_FILE; the lowest "
            "is best, or the highest with :max"},
           {"tolerate", kValue, "N", "fail the job when more than N trials have failed; default: if all fail"},
           {"resume", kValue, "JOB", "run the trials of JOB again that have not succeeded, with its program"},
           {"memory", kValue, "SIZE", "memory of each trial, default 2g"},
           {"cpus", kValue, "N", "cores of each trial"},
           {"gpus", kValue, "N", "GPUs of each trial"},
           {"name", kValue, "NAME", "name of the job, default sweep"},
           {"src_dir", kValue, "PATH", "folder of the program, instead of this folder"},
           {"python_venv", kValue, "PATH", "a virtual environment, which each trial finds as venv in its folder"},
           {"shell_env", kRepeated, "NAME=VALUE[,...]", "environment of the trials' processes"},
           {"secrets-fd", kValue, "FD", "read secret variables as a JSON object from this file descriptor"},
           {"conf", kRepeated, "KEY=VALUE", "set one more property"},
           {"strict", kFlag, "", "treat warnings about keys and values as errors"},
           {"detach", kFlag, "", "do not wait for the end; the job continues without this command"},
           kLogs,
           kQuiet,
           kJson}),
      MakeVerb(RunNotebook, "notebook", "", 0, 0,
               "run Jupyter as a job of one task, print its address, and wait for its end; Ctrl-C kills the job. "
               "On YARN, a port of this machine leads to the task's node while the command runs",
               With(SpecOptions(),
                    {{"memory", kValue, "SIZE", "memory of the task, with all kernels, default 2g"},
                     {"cpus", kValue, "N", "cores of the task"},
                     {"gpus", kValue, "N", "GPUs of the task"},
                     {"name", kValue, "NAME", "name of the job, default notebook"},
                     {"idle", kValue, "TIME",
                      "end a kernel in which nothing has run for TIME, and the job when no kernel is left and no "
                      "page was used for TIME: 30s, 10m, 2h; default 1h; 0: never"},
                     {"dir", kValue, "PATH",
                      "folder that Jupyter shows, on the machine of the task; default: this folder, and on YARN or "
                      "with -src_dir the task's own folder, which is removed with the job"},
                     {"port", kValue, "PORT", "port of this machine at which the notebook can be reached"},
                     {"attach", kValue, "JOB", "print the address of a running notebook; Ctrl-C leaves it running"},
                     {"detach", kFlag, "", "do not wait for the end; the job continues without this command"},
                     kLogs,
                     kQuiet})),
      MakeVerb(RunPlan, "plan", "[SPEC_FILE|-]", 0, 1, "print the job that submit would run, and start nothing",
               With(SpecOptions(),
                    {{"explain", kFlag, "", "print each value of the job and its origin instead"},
                     {"task", kValue, "ROLE:INDEX", "print the commands and the environment of this task instead"},
                     kColour,
                     kQuiet,
                     kJson}),
               false),
      MakeVerb(RunStatus, "status", "JOB...", 1, kAny,
               "show jobs: tasks, restarts, memory in use and its limit, CPU in cores; never restarts an application "
               "master",
               {kColour, kQuiet, kJson}),
      MakeVerb(RunList, "list", "", 0, 0, "list the jobs that have not ended and the newest ended jobs, newest first",
               {{"limit", kValue, "N", "at most N ended jobs, default 100; 0: all"},
                {"queue", kFlag, "",
                 "list the jobs of all users on this machine in queue order instead, and the queues of the "
                 "configured cluster"},
                kColour,
                kQuiet,
                kJson}),
      MakeVerb(
          RunWait, "wait", "JOB", 1, 1,
          "wait for the end of a job, as submit does; restarts the application master of a local job if it has died",
          {{"timeout", kValue, "SECONDS", "give up after SECONDS; exit 69 if the job has not ended"},
           {"since", kValue, "SEQ",
            "return at the first change after the change number SEQ; exit 0 if the job has not ended"},
           {"owner", kValue, "TOKEN", "return, with exit code 0, as soon as the job has an owner other than TOKEN"},
           {"watcher", kValue, "TOKEN", "token of this watcher; cancels the planned kills of other watchers"},
           {"follow", kFlag, "", "print every change"},
           kQuiet,
           kJson}),
      MakeVerb(RunWatch, "watch", "[JOB...] [-]", 0, kAny,
               "print every change of several jobs until all have ended; with -, or without JOB, read more jobs from "
               "standard input: a line JOB adds a job, a line -JOB removes it",
               {{"watcher", kValue, "TOKEN", "token of this watcher"}, kJson}),
      MakeVerb(RunKill, "kill", "[JOB]", 0, 1, "end a job and wait until none of its processes is left",
               {{"request-id", kValue, "ID", "kill the job of this request, even if it is submitted later"},
                {"if-owner", kValue, "TOKEN", "kill the job only if TOKEN is its owner"},
                {"if-watcher", kValue, "TOKEN", "kill the job only if TOKEN is its newest watcher"},
                {"delay", kValue, "SECONDS",
                 "kill after SECONDS, if --if-owner and --if-watcher hold until then; returns at once"},
                {"reason", kValue, "TEXT", "reason in the job's verdict"},
                {"no-wait", kFlag, "", "return when the kill is recorded"},
                kQuiet,
                kJson}),
      MakeVerb(RunAck, "ack", "JOB", 1, 1, "record that the result of an ended job has been consumed",
               {{"owner", kValue, "TOKEN", "token of the job's newest owner"}, kJson}),
      MakeVerb(RunCredentials, "credentials", "push JOB", 2, 2,
               "give a running job fresh Kerberos tokens of its cluster; commands that wait for the job do so by "
               "themselves",
               {kJson}),
      MakeVerb(RunFind, "find", "", 0, 0, "find the job of a request",
               {{"request-id", kValue, "ID", "request id of the submit"}, kJson}),
      MakeVerb(RunRecover, "recover", "[JOB]", 0, 1,
               "start an application master for a local job that has none; without JOB, for all such jobs", {kJson}),
      MakeVerb(
          RunLogs, "logs", "JOB [ROLE | TASK[#ATTEMPT]]...", 1, kAny,
          "print the output of all tasks, or of a role (worker), a task (worker:0) or an attempt (worker:0#2); with "
          "several tasks, each line is \"TASK | output\" or \"TASK ! error\"",
          {{"follow", kFlag, "",
            "print new lines until the job has ended, and then its verdict; exit 1 if the job did not succeed", "f"},
           {"stdout", kFlag, "", "standard output only"},
           {"stderr", kFlag, "", "standard error only"},
           {"tail", kValue, "LINES", "the last LINES lines of each stream; with -f, start with these lines", "n"},
           {"since", kValue, "TIME",
            "only lines written after TIME, exact to a second; TIME is an age (30s, 10m, 2h, 14d) or a date "
            "(2026-11-21, 2026-11-21T09:30Z)"},
           {"grep", kValue, "REGEX", "only lines that match this RE2 expression; (?i)... ignores case"},
           {"timestamps", kFlag, "", "print when each line was written, exact to a second; - if unknown", "t"},
           {"cursor", kValue, "CURSOR", "continue at the cursor of an earlier answer with --json"},
           {"max-bytes", kValue, "N", "at most N bytes of text in one answer; with --tail the last N bytes"},
           kQuiet,
           kJson}),
      MakeVerb(RunOutputs, "outputs", "JOB", 1, 1,
               "print the JSON object that the chief of an ended job left in $TONY_OUTPUT_FILE", {kJson}),
      MakeVerb(
          RunReproduce, "reproduce", "JOB [TASK] | FILE", 1, 2,
          "start a task of a job again, on this machine or on a cluster, with the program, files, variables and "
          "checkpoint that the job keeps; without TASK, the task that failed first; FILE is a pack; the exit code is "
          "the task's",
          {{"alone", kFlag, "", "start the task without the tasks that it works with"},
           {"gang", kFlag, "", "start all tasks that run at the same time; the default if the task needs others"},
           {"shell", kFlag, "", "open a shell in the task's folder, with its variables, instead of its program"},
           {"debugger", kFlag, "", "start the task's program in pdb, or in gdb if it is not a Python program"},
           {"on", kValue, "SCHEDULER", "where the task starts: local, this machine, the default; or yarn"},
           {"queue", kValue, "QUEUE", "queue of the cluster, instead of the job's"},
           {"pack", kValue, "FILE", "write all that this takes, except secrets, into FILE, and start nothing"},
           {"checkpoint", kValue, "PATH", "the checkpoint to resume from, instead of the task's; none: without"},
           {"memory", kValue, "SIZE", "memory of each task, instead of the job's"},
           {"gpus", kValue, "N", "GPUs of each task, instead of the job's"},
           {"secrets-fd", kValue, "FD", "read secret variables as a JSON object from this file descriptor"}}),
      MakeVerb(RunShell, "shell", "JOB TASK", 2, 2,
               "open a shell in the folder of a running or held task of this machine, with the task's variables", {}),
      MakeVerb(RunHistory, "history", "[JOB]", 0, 1,
               "show the history of a job: attempts, restarts, time in each state; without JOB, list the jobs that "
               "have ended",
               {{"state", kValue, "STATE", "only jobs in this final state: SUCCEEDED, FAILED, KILLED"},
                {"class", kValue, "CLASS", "only jobs of this outcome class, e.g. oom"},
                {"name", kValue, "GLOB", "only jobs whose name matches GLOB"},
                {"user", kValue, "NAME", "only jobs of this user"},
                {"request-id", kValue, "ID", "only jobs of this request"},
                {"since", kValue, "TIME",
                 "only jobs that ended after TIME: a date (2026-11-21, 2026-11-21T09:30Z) or an age (14d, 12h, 30m)"},
                {"until", kValue, "TIME", "only jobs that ended before TIME"},
                {"limit", kValue, "N", "at most N jobs, default 50; 0: all"},
                {"stats", kFlag, "", "print only counts by state and class"},
                {"reindex", kFlag, "", "rebuild the list from the folders of the jobs"},
                {"conf", kFlag, "", "print the job's configuration: each property and its origin"},
                {"events", kFlag, "", "print each decision of the job's application masters, one per line"},
                {"export", kFlag, "",
                 "write the files for TonY's portal and Dr. Elephant again, below tony.history.location"},
                {"serve", kFlag, "", "the same as tony portal"},
                {"port", kValue, "PORT", "port of --serve"},
                kColour,
                kQuiet,
                kJson}),
      MakeVerb(
          RunPortal, "portal", "", 0, 0,
          "serve the running and ended jobs to a browser until Ctrl-C, at an address that stays the same; as root, "
          "the jobs of all users",
          {{"listen", kValue, "ADDRESS", "address of this machine, default 127.0.0.1; any other needs TLS and a login"},
           {"cert", kValue, "FILE", "certificate for TLS, as PEM"},
           {"key", kValue, "FILE", "key of the certificate, as PEM"},
           {"tokens", kValue, "FILE",
            "logins: a line NAME TOKEN for each user, who sees the jobs that a view ACL allows"},
           {"user-header", kValue, "NAME", "header in which the proxies send the name of the user who has logged in"},
           {"proxy", kRepeated, "ADDRESS", "with --user-header: accept connections only from this address"},
           {"admin", kRepeated, "NAME", "this user of --tokens or --user-header sees all jobs"},
           {"port", kValue, "PORT", "port of the address; default: the port of the last start, at first any free port"},
           {"url", kValue, "URL", "address under which a reverse proxy serves the portal"},
           {"user", kRepeated, "NAME", "as root: only jobs of this user"},
           {"reader", kValue, "UID", "used by the portal itself: the process that reads the files of this user"},
           kJson}),
      MakeVerb(RunExplainExit, "explain-exit", "[CODE]", 0, 1,
               "explain an exit code, signal or scheduler status (137, SIGKILL, -100) and TonY's reaction; without "
               "CODE, list all rules",
               {{"job", kValue, "JOB", "include this job's own rules"}, kJson}),
      MakeVerb(RunGc, "gc", "", 0, 0, "remove jobs that ended long ago, and staged content that no job needs",
               {{"older-than", kValue, "AGE", "remove jobs that ended longer ago: 14d, 12h, 30m; default 14d"},
                {"dry-run", kFlag, "", "print what would be removed, and remove nothing"},
                kJson}),
      MakeVerb(RunDoctor, "doctor", "", 0, 0,
               "check whether jobs can run on this machine; exit 1 if something prevents them",
               {{"yarn", kFlag, "", "check the configured cluster instead; writes a file there and removes it"},
                kColour,
                kQuiet,
                kJson},
               false),
      MakeVerb(RunVersion, "version", "", 0, 0, "print this program's version", {kJson}, false),
      MakeVerb(RunHelp, "help", "[COMMAND | keys [PART]]", 0, 2,
               "print this list, the options of one command, or the keys of a job's properties",
               {{"markdown", kFlag, "", "with keys: print all keys as rows of a Markdown table"},
                {"man", kFlag, "", "print the manual page of all commands, for man"}},
               false),
      MakeVerb(RunCompletion, "completion", "SHELL", 1, 1,
               "print the script that completes commands, options, jobs and keys in bash, zsh or fish; in bash, run: "
               "source <(tony completion bash)",
               {}, false),
      MakeVerb(RunComplete, "complete", "-- WORD...", 0, kAny,
               "print completion candidates; called by the scripts of tony completion", {}, false),
  };
}

int RunTony(const std::vector<std::string>& arguments) {
  std::vector<std::string> rest = arguments;
  if (rest.size() > 1 && IsJson(rest[0])) std::swap(rest[0], rest[1]);  // also accepts `tony --json VERB`
  std::string verb = "help";
  if (!rest.empty()) {
    verb = rest.front();
    rest.erase(rest.begin());
  }
  if (verb == "--help" || verb == "-h") verb = "help";
  if (verb == "--version") verb = "version";
  if (!rest.empty() && (rest.front() == "--help" || rest.front() == "-help" || rest.front() == "-h")) {
    rest = {verb};
    verb = "help";
  }
  for (const Verb& command : Verbs()) {
    if (command.verb.name == verb) return RunVerb(command, rest);
  }
  return Fail(UnknownCommand(verb), AsksForJson(arguments));
}

}  // namespace tony
