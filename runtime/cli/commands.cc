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

const OptionSpec kLogs = {"logs", kFlag, "", "show what the tasks write while it waits, in place of the table"};
const OptionSpec kQuiet = {"quiet", kFlag, "", "do not say what to type next", "q"};
const OptionSpec kColour = {"color", kValue, "WHEN", "always, never, or auto: on a terminal, unless $NO_COLOR is set"};
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

// Returns whether a command line that cannot be parsed requests JSON output.
bool AsksForJson(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), std::ranges::find(arguments, "--"), IsJson);
}

// Fails if the limit of open files is too low. Besides the files open at the start, tony needs an event loop with its
// timer and signals, a file watch, a connection, and files one at a time.
Status CheckOpenFiles() {
  constexpr rlim_t kLeast = 24;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kLeast) return Ok();
  return Error{ErrorCode::kUnavailable,
               StrCat("at most ", limit.rlim_cur, " open files are allowed here (ulimit -n), and tony needs ", kLeast)};
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
  return Error{ErrorCode::kUnavailable, StrCat("the stack has room for ", std::max<int64_t>(0, room),
                                               " KiB here (ulimit -s), and tony needs ", kLeastKib)};
}

// Switches to the rights of the home's owner (SwitchToHomeOwner). The machine's queue (--queue) and the exit rules
// without a job belong to no home, so the process keeps its rights for them.
Status WorkAsOwner(const Verb& command, const CommandLine& line) {
  const bool of_no_job = command.verb.name == "explain-exit" && !line.Has("job");
  if (!command.in_home || of_no_job || line.Has("queue")) return Ok();
  TRY_ASSIGN(const auto owner, SwitchToHomeOwner());
  if (owner && (command.verb.name == "submit" || command.verb.name == "run"))
    Say(StrCat("tony: warning: the home belongs to ", *owner,
               ": this will be a job of that user, with root's environment"));
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
  // For these verbs the exit code is the job's, even if the output could not be written.
  static constexpr std::string_view kOfJob[] = {"submit", "run", "wait", "watch"};
  return std::ranges::count(kOfJob, command.verb.name) > 0 ? exit : of_answer;
}

Error UnknownCommand(const std::string& verb) {
  std::vector<std::string> known;
  for (const Verb& command : Verbs()) known.emplace_back(command.verb.name);
  const std::string nearest = Nearest(verb, known);
  return {ErrorCode::kUsage, nearest.empty()
                                 ? StrCat("unknown command \"", verb, "\"; \"tony help\" lists them")
                                 : StrCat("unknown command \"", verb, "\"; did you mean \"", nearest, "\"?")};
}

}  // namespace

std::vector<Verb> Verbs() {
  return {
      MakeVerb(
          RunInit, "init", "[KIND]", 0, 1,
          "write job.yaml and a program that it runs, to begin with: pytorch if not given, jax, tensorflow or batch",
          {kJson}, false),
      MakeVerb(RunSubmit, "submit", "[SPEC_FILE|-]", 0, 1,
               "run a job and wait for its end, on a terminal with a live table; Ctrl-C kills it. A spec file ends in "
               ".properties, .job, .xml, .json or .yaml; - reads a job document from standard input",
               With(SpecOptions(),
                    {{"detach", kFlag, "", "do not wait; the job goes on without this command"},
                     kLogs,
                     {"request-id", kValue, "ID", "what the job is for; a second submit under it finds the job"},
                     {"submission", kValue, "N", "grows when somebody wants it done again; 0 if not given"},
                     {"on-existing", kValue, "POLICY",
                      "adopt (running or succeeded), attach (running) or never; adopt if not given"},
                     {"owner", kValue, "TOKEN", "who answers for the job from now on"},
                     {"first-try", kFlag, "",
                      "an engine's first try: another program replaces the job, a consumed result none"},
                     {"run", kValue, "TOKEN", "the engine's run, the same for all its tries: tells whose a job is"},
                     {"watch-timeout", kValue, "SECONDS", "the job ends as abandoned when nobody looks for so long"},
                     kQuiet,
                     kJson})),
      MakeVerb(RunRun, "run", "-- COMMAND [ARGUMENT...]", 1, kAny,
               "run a command on several workers, as submit does, without a file; if it names a file that is here, in "
               "copies of this folder",
               {{"n", kValue, "N", "so many workers, 1 if not given"},
                {"framework", kValue, "NAME", "whose variables they get, pytorch if not given"},
                {"memory", kValue, "SIZE", "each worker's, 2g if not given"},
                {"cpus", kValue, "N", "each worker's"},
                {"gpus", kValue, "N", "each worker's"},
                {"nproc-per-node", kValue, "N", "so many processes a worker, or gpu: one for each of its GPUs"},
                {"name", kValue, "NAME", "the job's"},
                {"src_dir", kValue, "PATH", "the program's folder in place of this one"},
                {"python_venv", kValue, "PATH", "a virtual environment: venv in each worker's folder"},
                {"shell_env", kRepeated, "NAME=VALUE[,...]", "environment of the workers' processes"},
                {"secrets-fd", kValue, "FD", "variables that are told nobody, a JSON object on this descriptor"},
                {"conf", kRepeated, "KEY=VALUE", "one property more"},
                {"strict", kFlag, "", "warnings of keys and values are errors"},
                {"detach", kFlag, "", "do not wait; the job goes on without this command"},
                kLogs,
                kQuiet,
                kJson}),
      MakeVerb(
          RunPlan, "plan", "[SPEC_FILE|-]", 0, 1, "print the job that submit would run, and start nothing",
          With(SpecOptions(), {{"explain", kFlag, "", "each value that it is made of instead, and where it comes from"},
                               {"task", kValue, "ROLE:INDEX", "the commands and the environment of that task instead"},
                               kColour,
                               kQuiet,
                               kJson}),
          false),
      MakeVerb(RunStatus, "status", "JOB...", 1, kAny,
               "what is known of jobs: tasks, restarts, memory of its limit, CPU of a core; starts nothing",
               {kColour, kQuiet, kJson}),
      MakeVerb(
          RunList, "list", "", 0, 0, "the jobs that have not ended and the newest others, newest first",
          {{"limit", kValue, "N", "at most so many that have ended, 100 if not given; 0: all"},
           {"queue", kFlag, "",
            "the jobs of all users on the machine instead, in the order of their turns; and the queues of a cluster "
            "that is configured"},
           kColour,
           kQuiet,
           kJson}),
      MakeVerb(RunWait, "wait", "JOB", 1, 1,
               "wait for the end of a job, as submit does; brings back a local one that nobody rules",
               {{"timeout", kValue, "SECONDS", "give up after so long; exit 69 if the job has not ended"},
                {"since", kValue, "SEQ", "return at the first change after SEQ; exit 0 while the job has not ended"},
                {"owner", kValue, "TOKEN", "return as soon as the job belongs to another one; exit 0"},
                {"watcher", kValue, "TOKEN", "who looks; voids planned kills of other watchers"},
                {"follow", kFlag, "", "print every change"},
                kQuiet,
                kJson}),
      MakeVerb(RunWatch, "watch", "[JOB...] [-]", 0, kAny,
               "print every change of many jobs until all have ended; with - or without JOB also of those on standard "
               "input: "
               "JOB to add, -JOB to leave out",
               {{"watcher", kValue, "TOKEN", "who looks"}, kJson}),
      MakeVerb(RunKill, "kill", "[JOB]", 0, 1, "end a job and wait until nothing of it is left",
               {{"request-id", kValue, "ID", "the job of this request, also one that is still to come"},
                {"if-owner", kValue, "TOKEN", "only while this one is its owner"},
                {"if-watcher", kValue, "TOKEN", "only while nobody else has looked later than this one"},
                {"delay", kValue, "SECONDS", "not before, and only if the conditions hold until then; does not wait"},
                {"reason", kValue, "TEXT", "what its verdict will say"},
                {"no-wait", kFlag, "", "return when the kill is recorded"},
                kQuiet,
                kJson}),
      MakeVerb(RunAck, "ack", "JOB", 1, 1, "say that the result of an ended job has been consumed",
               {{"owner", kValue, "TOKEN", "who says it: the job's newest owner"}, kJson}),
      MakeVerb(RunFind, "find", "", 0, 0, "the job of a request",
               {{"request-id", kValue, "ID", "as it was submitted with"}, kJson}),
      MakeVerb(RunRecover, "recover", "[JOB]", 0, 1,
               "bring back this machine's jobs that nobody rules; all if none is given", {kJson}),
      MakeVerb(
          RunLogs, "logs", "JOB [ROLE | TASK[#ATTEMPT]]...", 1, kAny,
          "print what the tasks wrote, of all or of worker, worker:0, worker:0#2; of several, each line as \"TASK | "
          "output\" or \"TASK ! error\"",
          {{"follow", kFlag, "", "go on until the job has ended, and end with its verdict and exit code", "f"},
           {"stdout", kFlag, "", "standard output only"},
           {"stderr", kFlag, "", "standard error only"},
           {"tail", kValue, "LINES", "the last so many lines of each stream; with -f, from there on", "n"},
           {"since", kValue, "TIME",
            "what was written later: 30s, 10m, 2h, 14d ago, 2026-11-21 or 2026-11-21T09:30Z; known to a second"},
           {"grep", kValue, "REGEX", "only lines that have a match of this, as RE2 reads it; (?i)... in any case"},
           {"timestamps", kFlag, "", "when each line was written, to a second; - where that is not known", "t"},
           {"cursor", kValue, "CURSOR", "go on where an earlier answer ended"},
           {"max-bytes", kValue, "N", "at most so much text in one answer; with --tail the end of it"},
           kQuiet,
           kJson}),
      MakeVerb(RunOutputs, "outputs", "JOB", 1, 1,
               "the JSON object that the chief of an ended job left in $TONY_OUTPUT_FILE", {kJson}),
      MakeVerb(
          RunHistory, "history", "[JOB]", 0, 1,
          "what became of a job: attempts, restarts, where the time went; without one, the jobs that have ended",
          {{"state", kValue, "STATE", "only jobs that ended so: SUCCEEDED, FAILED, KILLED"},
           {"class", kValue, "CLASS", "only of this outcome class, as oom"},
           {"name", kValue, "GLOB", "only those of such a name"},
           {"user", kValue, "NAME", "only this user's"},
           {"request-id", kValue, "ID", "only those of this request"},
           {"since", kValue, "TIME",
            "only those that ended later: 2026-11-21, 2026-11-21T09:30Z, or 14d, 12h, 30m ago"},
           {"until", kValue, "TIME", "only those that ended earlier"},
           {"limit", kValue, "N", "at most so many, 50 if not given; 0: all"},
           {"stats", kFlag, "", "only their numbers, by state and class"},
           {"reindex", kFlag, "", "make the list anew from the folders of the jobs"},
           {"conf", kFlag, "", "what the job was made of: each property, and where it came from"},
           {"events", kFlag, "", "each decision of its application masters, one a line"},
           {"export", kFlag, "", "write it for TonY's portal and Dr. Elephant, below tony.history.location, once more"},
           {"serve", kFlag, "", "pages of the jobs that have ended, for a browser on this machine, until Ctrl-C"},
           {"port", kValue, "PORT", "--serve: where; any free one if not given"},
           kColour,
           kQuiet,
           kJson}),
      MakeVerb(RunExplainExit, "explain-exit", "[CODE]", 0, 1,
               "what an exit means and what would be done: 137, SIGKILL, -100; all if none is given",
               {{"job", kValue, "JOB", "with this job's own rules"}, kJson}),
      MakeVerb(RunGc, "gc", "", 0, 0, "remove jobs that ended long ago, and staged content that no job needs",
               {{"older-than", kValue, "AGE", "how long a job must have ended: 14d, 12h, 30m; 14d if not given"},
                {"dry-run", kFlag, "", "say what would be removed, and remove nothing"},
                kJson}),
      MakeVerb(RunDoctor, "doctor", "", 0, 0,
               "what of this machine stands in the way of jobs; exit 1 if something does",
               {{"yarn", kFlag, "", "what of the cluster that is configured; writes a file there, and removes it"},
                kColour,
                kQuiet,
                kJson},
               false),
      MakeVerb(RunVersion, "version", "", 0, 0, "this program's version", {kJson}, false),
      MakeVerb(RunHelp, "help", "[COMMAND | keys [PART]]", 0, 2,
               "this list, the options of one command, or the keys of a job's properties",
               {{"markdown", kFlag, "", "of keys: all, as rows of a page"},
                {"man", kFlag, "", "the manual page of all commands, for man"}},
               false),
      MakeVerb(RunCompletion, "completion", "SHELL", 1, 1,
               "print what makes bash, zsh or fish complete commands, options, jobs and keys: source <(tony completion "
               "bash)",
               {}, false),
      MakeVerb(RunComplete, "complete", "-- WORD...", 0, kAny, "what the completions of shells ask: what may follow",
               {}, false),
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
