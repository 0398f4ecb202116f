// `tony reproduce`: starts one attempt of a task again as a job of its own, on this machine or with --on yarn on a
// cluster. With --pack, writes all that this takes into a file, which `tony reproduce FILE` starts on another machine.
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/log_session.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/reproduce_session.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/reproduction.h"
#include "runtime/client/reproduction_pack.h"
#include "runtime/client/submit_job.h"
#include "runtime/client/watch_job.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"
#include "runtime/os/users.h"
#include "runtime/records/user_home.h"
#include "runtime/spec/property_values.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

bool IsPack(const std::string& word) {
  std::error_code error;
  return fs::is_regular_file(word, error);
}

Result<FetchedReproduction> ReadSource(const CommandLine& line) {
  const std::string& word = line.words().front();
  TRY_ASSIGN(const fs::path home, TonyHome());
  std::optional<AttemptId> asked;
  if (line.words().size() > 1) {
    TRY_ASSIGN(asked, ParseAttemptWord(line.words()[1]));
  }
  if (!IsPack(word)) {
    auto records = FindNamedJob(word, TerminalNotes());
    if (!records.ok() && records.error().code == ErrorCode::kNotFound)
      return Error{ErrorCode::kNotFound, StrCat(records.error().message,
                                                "; a job that tony gc has removed can be reproduced only from a pack ",
                                                "that was made before (tony reproduce JOB --pack FILE)")};
    TRY(records);
    const std::string job = StrCat("job ", records->job().value);
    TRY_ASSIGN(Reproduction kept, Annotate(ReadReproduction(*records, asked), job));
    return Annotate(FetchMissing(*records, std::move(kept), home), job);
  }
  if (asked) return Error{ErrorCode::kUsage, StrCat("a pack has one task, so leave out \"", line.words()[1], "\"")};
  return ReadPack(word, home);
}

std::string NameOf(const Reproduction& kept) { return StrCat(ToString(kept.ran.attempt), " of job ", kept.job.value); }

// Returns the entry of the scheduler on which the reproduction runs.
Result<const BackendEntry*> TargetOf(const CommandLine& line) {
  const std::string name = line.Has("on") ? line.Value("on") : std::string(Backends().front().scheduler);
  std::vector<std::string> known;
  for (const BackendEntry& entry : Backends()) {
    if (entry.scheduler == name) return &entry;
    known.emplace_back(entry.scheduler);
  }
  return Error{ErrorCode::kUsage, StrCat("--on ", Quoted(name), ": expected ", Join(known, " or "))};
}

// Checks the options that do not depend on the job, and returns the scheduler.
Result<const BackendEntry*> CheckOptions(const CommandLine& line) {
  if (line.Has("gang") && line.Has("alone")) return Error{ErrorCode::kUsage, "--gang and --alone exclude each other"};
  if (line.Has("shell") && line.Has("debugger"))
    return Error{ErrorCode::kUsage, "--shell and --debugger exclude each other"};
  TRY_ASSIGN(const BackendEntry* const target, TargetOf(line));
  const bool is_here = target->backend().keeps_programs();
  for (const char* session : {"shell", "debugger"})
    if (line.Has(session) && !is_here)
      return Error{ErrorCode::kUsage, StrCat("--", session, " needs the task on this machine; leave out --on ",
                                             target->scheduler, ", or leave out --", session)};
  if (line.Has("queue") && is_here)
    return Error{ErrorCode::kUsage, "--queue names a queue of a cluster; add --on yarn"};
  TRY(target->check_configured(JobId()));
  return target;
}

// Replaces the checkpoint by the one that --checkpoint names. Without the option, the attempt's own one must be
// unchanged.
Status ChooseCheckpoint(const CommandLine& line, FetchedReproduction& source) {
  std::optional<Checkpoint>& checkpoint = source.kept.ran.resumed_from;
  if (line.Has("checkpoint")) {
    const std::string path = line.Value("checkpoint");
    if (path == "none") {
      checkpoint.reset();
    } else if (IsThere(path)) {
      checkpoint = Checkpoint{.path = fs::absolute(path).lexically_normal().string()};
    } else {
      return NotFoundError("--checkpoint ", path, ": no such file or folder; expected a checkpoint, or none");
    }
    return Ok();
  }
  if (IsPack(line.words().front()) || !checkpoint) return Ok();
  TRY_ASSIGN(const fs::path home, TonyHome());
  const Status fetched = FetchCheckpoint(source, home);
  if (fetched.ok() || fetched.error().code != ErrorCode::kNotFound) return fetched;
  return NotFoundError(fetched.error().message,
                       "; name a copy of it with --checkpoint PATH, or start without one with --checkpoint none");
}

// Reads a line from the terminal, whose present state is `before`, without showing it. Ctrl-C ends this process. The
// terminal passes each byte at once, so that a signal cannot leave it without echo.
std::string AskAtTerminal(const std::string& name, const termios& before) {
  constexpr char kCtrlC = 3, kCtrlD = 4, kBackspace = 8, kDelete = 127;
  termios silent = before;
  silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | ISIG);
  silent.c_cc[VMIN] = 1;
  silent.c_cc[VTIME] = 0;
  PrintAsIs(StrCat(name, ": "), STDERR_FILENO);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  std::string value;
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n' && c != kCtrlC && c != kCtrlD) {
    if (c != kBackspace && c != kDelete) {
      value += c;
    } else if (!value.empty()) {
      value.pop_back();
    }
  }
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
  PrintAsIs("\n", STDERR_FILENO);
  if (c == kCtrlC) raise(SIGINT);
  return value;
}

Result<std::map<std::string, std::string>> AskSecrets(const CommandLine& line, const Reproduction& kept) {
  TRY_ASSIGN(const auto given, SecretsOption(line));
  std::map<std::string, std::string> secrets;
  std::vector<std::string> missing;
  for (const std::string& name : kept.secrets) {
    if (const auto value = given.find(name); value != given.end()) {
      secrets[name] = value->second;
    } else if (const char* mine = std::getenv(name.c_str())) {
      secrets[name] = mine;
    } else {
      missing.push_back(name);
    }
  }
  termios terminal{};
  if (!missing.empty() && tcgetattr(STDIN_FILENO, &terminal) != 0)
    return Error{ErrorCode::kUsage,
                 StrCat("TonY does not keep the task's secrets, and these are missing: ", Join(missing, ", "),
                        "; set them in the environment of this command, or pass --secrets-fd")};
  for (const std::string& name : missing) secrets[name] = AskAtTerminal(name, terminal);
  return secrets;
}

Result<ReproductionPlan> PlanOf(const CommandLine& line, const Reproduction& kept, const BackendEntry& target) {
  const TaskId& task = kept.ran.attempt.task;
  ReproductionPlan plan;
  plan.scheduler = target.scheduler;
  if (line.Has("queue")) plan.queue = line.Value("queue");
  plan.gang = line.Has("gang") || (!line.Has("alone") && !RunsAlone(kept.spec, *kept.spec.FindRole(task.role)));
  if (line.Has("memory")) {
    constexpr std::string_view kKey = "tony.worker.memory";
    Properties properties;
    properties.Set(std::string(kKey), line.Value("memory"), "--memory");
    Problems problems;
    TRY_ASSIGN(plan.memory_mb, PropertyValues(properties, problems).MemoryMb(kKey));
    TRY(problems.All({}));
  }
  TRY_ASSIGN(const auto gpus, NumberOption(line, "gpus"));
  if (gpus) plan.gpus = static_cast<int>(std::min<int64_t>(*gpus, INT16_MAX));
  if (line.Has("shell") || line.Has("debugger")) plan.command = SessionCommand();
  return plan;
}

// Returns the session at the terminal; null if the task's own program runs.
Result<std::unique_ptr<TerminalSession>> SessionOf(const CommandLine& line, const Reproduction& kept) {
  const std::string& command = kept.spec.FindRole(kept.ran.attempt.task.role)->command;
  if (line.Has("debugger")) {
    TRY_ASSIGN(auto words, DebuggerWords(command));
    return std::make_unique<TerminalSession>(std::move(words));
  }
  if (!line.Has("shell")) return std::unique_ptr<TerminalSession>();
  Say(StrCat("the task's command is: ", command));
  return std::make_unique<TerminalSession>(std::vector<std::string>{ShellOfUser()});
}

int CodeOf(const Outcome& outcome) {
  if (!outcome.exit) return outcome.Succeeded() ? 0 : 1;
  return outcome.exit->kind == ExitStatus::Kind::kExited ? outcome.exit->value : 128 + outcome.exit->value;
}

std::string EndOf(const Outcome& outcome) {
  const std::string exit = DescribeExit(outcome);
  const std::string how = exit.empty() ? std::string(ToString(outcome.cls)) : exit;
  return outcome.message.empty() ? how : StrCat(how, ", ", outcome.message);
}

// Prints how the task has ended and how it ended before, and returns its exit code.
int Report(const Reproduction& kept, const JobStatus& status, const TaskId& task) {
  const auto found = std::ranges::find(status.tasks, task, &TaskStatus::id);
  if (found == status.tasks.end() || !found->outcome) {
    Say(StrCat("tony: ", NameOf(kept), " was not started again: ", status.verdict ? status.verdict->message : ""));
    return 1;
  }
  const Outcome& now = *found->outcome;
  std::string line = StrCat("reproduced ", NameOf(kept), ": ", EndOf(now));
  if (kept.ran.outcome) {
    const bool same = kept.ran.outcome->exit == now.exit && kept.ran.outcome->cls == now.cls;
    line += same ? "; it ended so before, too" : StrCat("; before: ", EndOf(*kept.ran.outcome));
  }
  Say(line);
  return CodeOf(now);
}

struct Start {
  const CommandLine& line;
  const Backend& backend;
  const Reproduction& kept;
  ReproductionPlan plan;
  std::map<std::string, std::string> secrets;
  bool is_foreign = false;
};

// Returns the folder for the checkpoints of the reproduction `id`, which must not write into the folder of the job. It
// is where the new job's tasks can reach it: in the folder of the new job, or in a file system that all nodes share.
Result<std::string> FolderForCheckpoints(const Start& start, const JobId& id, const fs::path& home) {
  const std::string& directory = start.kept.spec.checkpoint.directory;
  const ClusterFiles* cluster = start.backend.cluster_files();
  if (!cluster) return (home / "jobs" / id.value / "checkpoints").string();
  if (IsInHdfs(directory)) return cluster->FolderForCheckpoints(id);
  return StrCat(directory, "-", id.value);
}

Status FillFolder(const std::string& folder, const std::optional<Checkpoint>& checkpoint, const Backend& backend) {
  if (IsInHdfs(folder))
    return Annotate(backend.cluster_files()->SendCheckpoint(checkpoint ? checkpoint->path : "", folder),
                    StrCat("copy the checkpoint into ", folder));
  TRY(MakeFolder(folder));
  return checkpoint ? CopyCheckpoint(checkpoint->path, folder) : Ok();
}

// Returns the job that starts the attempt again.
Result<RequestedJob> MakeRequest(Start start, const JobId& id, const fs::path& home, TerminalSession* session) {
  const std::optional<Checkpoint> checkpoint = start.kept.ran.resumed_from;
  if (!start.kept.spec.checkpoint.directory.empty()) {
    TRY_ASSIGN(start.plan.checkpoints, FolderForCheckpoints(start, id, home));
    start.plan.resumes = checkpoint.has_value();
  }
  RequestedJob asked;
  asked.job.spec = ReproductionSpec(start.kept, start.plan);
  asked.job.secrets = std::move(start.secrets);
  asked.id = id;
  asked.prepared = PreparedJob{.staged = start.kept.staged,
                               .environment = ReproductionEnvironment(start.kept, OwnEnvironment(), start.is_foreign),
                               .fill = [folder = start.plan.checkpoints, checkpoint, session,
                                        &backend = start.backend](const JobRecords& records) -> Status {
                                 if (!folder.empty()) TRY(FillFolder(folder, checkpoint, backend));
                                 return session ? session->Begin(records.place()) : Ok();
                               }};
  return asked;
}

Result<int> StartAgain(Start start) {
  TRY_ASSIGN(const auto session, SessionOf(start.line, start.kept));
  // Ctrl-C belongs to the program at the terminal.
  if (session) signal(SIGINT, SIG_IGN);
  TRY_ASSIGN(const fs::path home, TonyHome());
  const Backend& backend = start.backend;
  TRY_ASSIGN(const auto jobs, backend.Jobs(SiteFiles()));
  TRY_ASSIGN(const JobId id, jobs->NewId(RealClock().Now()));
  const TaskId task = ReproducedTask(start.kept, start.plan);
  const Reproduction& kept = start.kept;
  const bool gang = start.plan.gang;
  TRY_ASSIGN(const RequestedJob asked, MakeRequest(std::move(start), id, home, session.get()));
  auto checked = backend.Check(asked.job, CheckFor::kSubmit);
  if (!checked.ok())
    return Error{checked.error().code,
                 StrCat(checked.error().message, "; --memory and --gpus change the request of each ", "task, ",
                        backend.cluster_files() ? "--queue the queue, " : "", "and --alone starts one task only")};
  for (const std::string& note : checked->notes) Say(StrCat("tony: ", note));
  EventLoop loop;
  const auto launcher = backend.MakeLauncher(loop);
  Interrupts interrupts(loop);
  ClientNotes notes = TerminalNotes();
  notes.created = [&](const JobId& job, const StagedFiles&) {
    Say(StrCat("job ", job.value, ": ", NameOf(kept), " again, ",
               gang ? StrCat("with all ", asked.job.spec.TotalTasks(), " tasks") : std::string("alone")));
    const std::string& folder = asked.job.spec.checkpoint.directory;
    if (backend.cluster_files() && !folder.empty() && !IsInHdfs(folder))
      Say(StrCat("its checkpoints are in ", folder, ", which you can remove after the job"));
  };
  TRY_ASSIGN(const SubmittedJob submitted, FindOrMakeJob(loop, interrupts, *launcher, notes, asked));
  if (submitted.signal != 0) return 128 + submitted.signal;
  std::optional<LogsWhileWaiting> logs;
  if (!session) logs.emplace(*submitted.records, LogChoice::Of(task), STDOUT_FILENO, STDERR_FILENO);
  TRY_ASSIGN(const Watched watched, WatchJob(loop, interrupts, *submitted.records, *launcher, notes,
                                             {.kill_on_signal = true, .patience = kKeeperPatience}));
  if (session) session->End();
  if (logs) logs->End(/*stop=*/!HasEnded(*watched.status));
  if (watched.signal != 0) return 128 + watched.signal;
  return Report(kept, *watched.status, task);
}

}  // namespace

Result<int> RunReproduce(const CommandLine& line) {
  TRY_ASSIGN(const BackendEntry* const target, CheckOptions(line));
  TRY_ASSIGN(FetchedReproduction source, ReadSource(line));
  TRY(ChooseCheckpoint(line, source));
  Reproduction& kept = source.kept;
  if (line.Has("pack")) {
    const std::string file = line.Value("pack");
    TRY(WritePack(kept, file));
    PrintLine(file);
    Say(StrCat(NameOf(kept), " is in the pack; on another machine run: tony reproduce ",
               fs::path(file).filename().string()));
    return 0;
  }
  kept.ran.cluster = OnThisMachine(std::move(kept.ran.cluster), kept.ran.attempt.task);
  TRY_ASSIGN(const ReproductionPlan plan, PlanOf(line, kept, *target));
  TRY_ASSIGN(auto secrets, AskSecrets(line, kept));
  const bool is_foreign = IsPack(line.words().front()) || kept.environment.empty() || kept.user != UserName(geteuid());
  return StartAgain({line, target->backend(), kept, plan, std::move(secrets), is_foreign});
}

}  // namespace tony
