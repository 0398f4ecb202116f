#include "runtime/client/commands.h"

#include "runtime/base/strings.h"
#include "runtime/client/output.h"
#include "runtime/client/spec_input.h"

namespace tony {
namespace {

constexpr auto kFlag = OptionSpec::Kind::kFlag;
constexpr auto kValue = OptionSpec::Kind::kValue;
constexpr size_t kAny = 1'000'000;

const OptionSpec kJson = {"json", kFlag, "", "one JSON object on standard output"};

VerbSpec SubmitVerb() {
  std::vector<OptionSpec> options = SpecOptions();
  options.push_back({"detach", kFlag, "", "do not wait; the job goes on without this command"});
  options.push_back(kJson);
  return {
      "submit", "[SPEC_FILE]", 0, 1, "run a job and wait for its end, on a terminal with a live table; Ctrl-C kills it",
      options};
}

VerbSpec PlanVerb() {
  std::vector<OptionSpec> options = SpecOptions();
  options.push_back(kJson);
  return {"plan", "[SPEC_FILE]", 0, 1, "print the job that submit would run, and start nothing", options};
}

VerbSpec ListVerb() {
  return {"list",
          "",
          0,
          0,
          "all jobs, newest first",
          {{"queue", kFlag, "", "the machine's jobs of all users instead, in the order of their turns"}, kJson}};
}

VerbSpec WaitVerb() {
  return {"wait",
          "JOB",
          1,
          1,
          "wait for the end of a job, as submit does; brings back a local one that nobody rules",
          {{"timeout", kValue, "SECONDS", "give up after so long; exit 69 if the job has not ended"},
           {"since", kValue, "SEQ", "return at the first change after SEQ; exit 0 while the job has not ended"},
           {"follow", kFlag, "", "print every change"},
           kJson}};
}

VerbSpec KillVerb() {
  return {"kill",
          "JOB",
          1,
          1,
          "end a job and wait until nothing of it is left",
          {{"reason", kValue, "TEXT", "what its verdict will say"},
           {"no-wait", kFlag, "", "return when the kill is recorded"},
           kJson}};
}

VerbSpec LogsVerb() {
  return {"logs",
          "JOB [TASK[#ATTEMPT]]",
          1,
          2,
          "print what the tasks wrote: worker:0, worker:0#2; of several, each line as \"TASK | output\" or \"TASK ! "
          "error\"",
          {{"f", kFlag, "", "go on until the job has ended"},
           {"stdout", kFlag, "", "standard output only"},
           {"stderr", kFlag, "", "standard error only"},
           {"cursor", kValue, "CURSOR", "go on where an earlier answer ended"},
           {"max-bytes", kValue, "N", "at most so much text in one answer"},
           kJson}};
}

VerbSpec HistoryVerb() {
  return {"history",
          "JOB",
          1,
          1,
          "what became of a job: attempts, restarts, where the time went",
          {{"events", kFlag, "", "each decision of its application masters, one a line"}, kJson}};
}

VerbSpec ExplainExitVerb() {
  return {"explain-exit",
          "[CODE]",
          0,
          1,
          "what an exit means and what would be done: 137, SIGKILL, -100; all if none is given",
          {{"job", kValue, "JOB", "with this job's own rules"}, kJson}};
}

VerbSpec GcVerb() {
  return {"gc",
          "",
          0,
          0,
          "remove jobs that ended long ago, and staged content that no job needs",
          {{"older-than", kValue, "AGE", "how long a job must have ended: 14d, 12h, 30m; 14d if not given"},
           {"dry-run", kFlag, "", "say what would be removed, and remove nothing"},
           kJson}};
}

int Fail(const Error& error) {
  Say(StrCat("tony: ", error.message));
  return static_cast<int>(error.code);
}

Result<int> Dispatch(const std::string& verb, const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const Command& command : Commands()) {
    if (command.verb.name == verb) {
      TRY_ASSIGN(const CommandLine line, CommandLine::Parse(command.verb, arguments));
      return command.run(line);
    }
    known.emplace_back(command.verb.name);
  }
  const std::string nearest = Nearest(verb, known);
  return Error{ErrorCode::kUsage, nearest.empty()
                                      ? StrCat("unknown command \"", verb, "\"; \"tony help\" lists them")
                                      : StrCat("unknown command \"", verb, "\"; did you mean \"", nearest, "\"?")};
}

}  // namespace

std::vector<Command> Commands() {
  return {
      {SubmitVerb(), RunSubmit},
      {PlanVerb(), RunPlan},
      {{"status",
        "JOB...",
        1,
        kAny,
        "what is known of jobs: tasks, restarts, memory now/most, CPU of a core; starts nothing",
        {kJson}},
       RunStatus},
      {ListVerb(), RunList},
      {WaitVerb(), RunWait},
      {KillVerb(), RunKill},
      {LogsVerb(), RunLogs},
      {HistoryVerb(), RunHistory},
      {ExplainExitVerb(), RunExplainExit},
      {GcVerb(), RunGc},
      {{"doctor", "", 0, 0, "what of this machine stands in the way of jobs; exit 1 if something does", {kJson}},
       RunDoctor},
      {{"version", "", 0, 0, "this program's version", {kJson}}, RunVersion},
      {{"help", "[COMMAND]", 0, 1, "this list, or the options of one command", {}}, RunHelp},
  };
}

int RunTony(const std::vector<std::string>& arguments) {
  std::vector<std::string> rest = arguments;
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
  const Result<int> result = Dispatch(verb, rest);
  return result.ok() ? *result : Fail(result.error());
}

}  // namespace tony
