// `tony notebook`: runs Jupyter as the only task of a job, and prints the address with its token. The client's relay
// leads to a task on another machine. With --attach, the command prints the address of a running notebook again.
#include "runtime/cli/notebook.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"
#include "runtime/cli/output.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/submit.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/job_access.h"
#include "runtime/client/watch_job.h"
#include "runtime/config/properties.h"
#include "runtime/framework/framework.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr Duration kUsualIdle = std::chrono::hours(1);
// Jupyter needs 2 to 30 s to start.
constexpr Duration kBetweenProbes{200};
constexpr Duration kLate = std::chrono::minutes(1);

// The options that set one key each.
constexpr std::pair<std::string_view, std::string_view> kKeyOptions[] = {
    {"memory", "tony.notebook.memory"},
    {"cpus", "tony.notebook.vcores"},
    {"gpus", "tony.notebook.gpus"},
    {"name", "tony.application.name"},
};

// The programs and the archive with which `tony` submits jobs to a cluster, from the folder of this program.
constexpr std::string_view kProgramsForYarn[] = {"tony", "tony-executor", "tony-gss", "tony-yarn-am.tar.gz"};

// The folders with the cluster's configuration, and the prefix of their files' names in the task's folder.
constexpr std::pair<const char*, std::string_view> kConfigurationFolders[] = {{"HADOOP_CONF_DIR", "hadoop"},
                                                                              {"YARN_CONF_DIR", "yarn"}};

bool IsUrlSafe(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.';
  });
}

Result<std::string> LauncherCommand(const CommandLine& line) {
  TRY_ASSIGN(const auto idle, SecondsOption(line, "idle"));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(idle.value_or(kUsualIdle)).count();
  const std::string python = line.Has("python_binary_path") ? "" : "python3 ";
  return StrCat(python, ".", kPythonArchive, " --idle ", seconds);
}

Result<int> PortOption(const CommandLine& line) {
  TRY_ASSIGN(const auto port, NumberOption(line, "port"));
  if (port.value_or(1) >= 1 && port.value_or(1) <= UINT16_MAX) return static_cast<int>(port.value_or(0));
  return RefusedOption(line, "port", "a port number from 1 to 65535");
}

// Returns the token in a job's secrets, which are NAME=value.
std::optional<std::string> TokenIn(const std::vector<std::string>& secrets) {
  const std::string name = StrCat(kNotebookToken, "=");
  for (const std::string& secret : secrets)
    if (secret.starts_with(name)) return secret.substr(name.size());
  return std::nullopt;
}

SubmitExtras Extras(int port, const std::string& token) {
  return {.on_status = [port, token](EventLoop& loop) -> Result<StatusSink> {
            TRY_ASSIGN(const auto door, NotebookDoor::Open(loop, port, token));
            return StatusSink([door, tell = SayChanges()](const JobStatus& status) {
              door->OnStatus(status);
              return tell(status);
            });
          },
          .next = "notebook --attach"};
}

// Returns the files with which kernels on a node submit jobs to this cluster, by their names for the task.
std::map<std::string, std::string> FilesForYarn() {
  std::map<std::string, std::string> files;
  for (const std::string_view program : kProgramsForYarn) files.emplace(program, SiblingProgram(program));
  for (const auto& [variable, prefix] : kConfigurationFolders)
    for (const char* name : {"core-site.xml", "hdfs-site.xml", "yarn-site.xml"})
      if (const char* folder = std::getenv(variable)) files.emplace(StrCat(prefix, "-", name), fs::path(folder) / name);
  if (const auto site = SiteFile()) files.emplace("tony-site.xml", site->string());
  std::erase_if(files, [](const auto& file) {
    std::error_code ignored;
    return !fs::exists(file.second, ignored);
  });
  return files;
}

Status CheckAttach(const CommandLine& line) {
  for (const Verb& verb : Verbs()) {
    if (verb.verb.name != "notebook") continue;
    for (const OptionSpec& option : verb.verb.options)
      if (line.Has(option.name) && option.name != "attach" && option.name != "port" && option.name != "quiet")
        return Error{ErrorCode::kUsage, StrCat(Dashed(option.name), " cannot be used with --attach")};
  }
  return Ok();
}

// Returns the token of a job that runs a notebook.
Result<std::string> ReadNotebookToken(const JobRecords& records) {
  TRY_ASSIGN(const JobStatus status, StoredStatus(records));
  const std::string job = StrCat("job ", records.job().value);
  if (HasEnded(status)) return Error{ErrorCode::kInvalid, StrCat(job, " has ended (", status.state, ")")};
  TRY_ASSIGN(const auto secrets, records.ReadSecrets());
  if (const auto token = TokenIn(secrets)) return *token;
  return Error{ErrorCode::kInvalid, StrCat(job, " has no notebook; \"tony notebook\" starts one")};
}

Result<int> Attach(const CommandLine& line, int port) {
  TRY(CheckAttach(line));
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.Value("attach"), TerminalNotes()));
  TRY_ASSIGN(const std::string token, ReadNotebookToken(records));
  EventLoop loop;
  TRY_ASSIGN(const auto on_status, Extras(port, token).on_status(loop));
  const auto launcher = BackendOf(records.job()).MakeLauncher(loop);
  Interrupts interrupts(loop);
  TRY_ASSIGN(const Watched watched,
             WatchJob(loop, interrupts, records, *launcher, TerminalNotes(), {.on_status = on_status}));
  if (watched.status && HasEnded(*watched.status)) {
    Print(VerdictText(*watched.status, records));
    return watched.status->verdict->state == FinalState::kSucceeded ? 0 : 1;
  }
  Say(StrCat("interrupted; job ", records.job().value, " continues"));
  SuggestNext(line, {StrCat("notebook --attach ", records.job().value), StrCat("kill ", records.job().value)});
  return 128 + watched.signal;
}

}  // namespace

Result<CommandLine> NotebookSubmitLine(const CommandLine& line) {
  const bool is_users = line.Has("executes");
  if (is_users && (line.Has("idle") || line.Has("dir")))
    return Error{ErrorCode::kUsage,
                 "--idle and --dir are for the Jupyter that tony starts; with -executes, give them to your command"};
  TRY_ASSIGN(const std::string launcher, LauncherCommand(line));
  std::vector<std::string> arguments = {"-conf",     "tony.application.framework=standalone",
                                        "-conf",     StrCat("tony.", kNotebookRole, ".instances=1"),
                                        "-executes", is_users ? line.Value("executes") : launcher};
  if (!line.Has("name")) arguments.insert(arguments.end(), {"-conf", "tony.application.name=notebook"});
  for (const auto& [option, key] : kKeyOptions)
    if (line.Has(option)) arguments.insert(arguments.end(), {"-conf", StrCat(key, "=", line.Value(option))});
  for (const OptionSpec& option : SpecOptions()) {
    if (option.name == "executes") continue;
    for (const std::string& value : line.Values(option.name))
      arguments.insert(arguments.end(), {StrCat("-", option.name), value});
    if (option.kind == OptionSpec::Kind::kFlag && line.Has(option.name)) arguments.push_back(StrCat("-", option.name));
  }
  for (const char* same : {"detach", "logs", "quiet"})
    if (line.Has(same)) arguments.push_back(StrCat("--", same));
  const std::vector<Verb> verbs = Verbs();
  const auto submit = std::ranges::find(verbs, "submit", [](const Verb& verb) { return verb.verb.name; });
  return CommandLine::Parse(submit->verb, arguments);
}

Status CompleteNotebook(const CommandLine& line, ParsedJobSpec& job) {
  const auto role = std::ranges::find(job.spec.roles, kNotebookRole, &RoleSpec::name);
  if (role == job.spec.roles.end())
    return Error{ErrorCode::kInvalid, StrCat("tony.", kNotebookRole, ".instances: expected 1 for a notebook")};
  const auto [token, is_new] = job.secrets.try_emplace(kNotebookToken, "");
  if (is_new) token->second = RandomHex(24);
  if (!IsUrlSafe(token->second))
    return Error{ErrorCode::kInvalid,
                 StrCat(kNotebookToken, " (from the secrets): expected letters, digits, -, _ and .")};

  const bool on_yarn = job.spec.scheduler == kYarnScheduler;
  const std::string archive = SiblingProgram(kPythonArchive);
  if (!fs::exists(archive)) return UnavailableError(archive, ": not found; install all files of TonY");
  role->files.push_back({.source = archive, .name = StrCat(".", kPythonArchive)});
  if (on_yarn)
    for (const auto& [name, source] : FilesForYarn())
      role->files.push_back({.source = source, .name = StrCat(".tony-notebook-", name)});
  if (line.Has("executes")) return Ok();
  if (line.Has("dir") && !on_yarn && !fs::is_directory(line.Value("dir")))
    return Error{ErrorCode::kInvalid, StrCat("--dir ", line.Value("dir"), ": no such folder")};
  if (!on_yarn) role->command += StrCat(" --program ", ShellWord(SiblingProgram("tony")));
  if (line.Has("dir")) {
    role->command +=
        StrCat(" --dir ", ShellWord(on_yarn ? line.Value("dir") : fs::absolute(line.Value("dir")).string()));
  } else if (!on_yarn && job.spec.src_dir.empty()) {
    role->command += StrCat(" --dir ", ShellWord(fs::current_path().string()));
  }
  return Ok();
}

Result<std::shared_ptr<NotebookDoor>> NotebookDoor::Open(EventLoop& loop, int port, std::string token) {
  std::shared_ptr<NotebookDoor> door(new NotebookDoor(loop, std::move(token)));
  if (port != 0) {
    TRY_ASSIGN(door->relay_, Relay::Open(loop, port));
  }
  return door;
}

void NotebookDoor::OnStatus(const JobStatus& status) {
  const std::string& url = status.verdict ? std::string() : status.notebook_url;
  if (url == url_) return;
  job_ = status.job.value;
  url_ = url;
  query_ = nullptr;
  again_ = nullptr;
  answered_ = nullptr;
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return;
  const std::string authority = url.substr(kScheme.size(), url.find('/', kScheme.size()) - kScheme.size());
  if (const auto server = ParseEndpoint(authority, 0)) Resolve(*server);
}

void NotebookDoor::Resolve(const Endpoint& server) {
  probed_since_ = loop_.Now();
  query_ = resolver_.Resolve(server.host, [this, server](const Result<std::string>& address) {
    if (!address.ok()) return Say(StrCat("the notebook's machine is unknown here: ", address.error().message));
    server_ = {*address, server.port};
    Probe();
  });
}

void NotebookDoor::Probe() {
  answered_ = nullptr;
  auto socket = StartConnect(server_);
  if (!socket.ok()) return ProbeAgain();
  probe_ = *std::move(socket);
  again_ = loop_.After(kLate, [this] { ProbeAgain(); });
  answered_ = loop_.WhenWritable(probe_.get(), [this] { OnProbed(); });
}

void NotebookDoor::OnProbed() {
  const bool accepts = ConnectError(probe_) == 0;
  answered_ = nullptr;
  again_ = nullptr;
  probe_.Reset();
  accepts ? Announce() : ProbeAgain();
}

void NotebookDoor::ProbeAgain() {
  if (!is_late_told_ && loop_.Now() - probed_since_ >= kLate) {
    Say(StrCat("the notebook does not accept connections at ", ToString(server_), " yet; tony logs ", job_,
               " shows its output"));
    is_late_told_ = true;
  }
  again_ = loop_.After(kBetweenProbes, [this] { Probe(); });
}

void NotebookDoor::Announce() {
  if (!relay_ && server_.host != kLoopback) {
    auto relay = Relay::Open(loop_, 0);
    if (!relay.ok()) return Say(relay.error().message);
    relay_ = *std::move(relay);
  }
  if (relay_) relay_->LeadTo(server_);
  PrintLine(StrCat("http://", kLoopback, ":", relay_ ? relay_->port() : server_.port, "/?token=", token_));
}

Result<int> RunNotebook(const CommandLine& line) {
  TRY_ASSIGN(const int port, PortOption(line));
  if (line.Has("attach")) return Attach(line, port);
  if (port != 0 && line.Has("detach"))
    return Error{ErrorCode::kUsage, "--port cannot be used with --detach; use tony notebook --attach JOB --port PORT"};
  TRY(CheckSubmitShow(line));
  TRY_ASSIGN(const CommandLine submit, NotebookSubmitLine(line));
  TRY_ASSIGN(ParsedJobSpec job, ReadJobSpec(submit));
  TRY(CompleteNotebook(line, job));
  const std::string token = job.secrets.at(kNotebookToken);
  return SubmitAndWait(submit, std::move(job), Extras(port, token));
}

}  // namespace tony
