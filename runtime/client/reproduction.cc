#include "runtime/client/reproduction.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/client/job_access.h"
#include "runtime/framework/framework.h"
#include "runtime/framework/task_command.h"
#include "runtime/net/sockets.h"
#include "runtime/os/files.h"
#include "runtime/records/journal_format.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// Follows the decisions of a journal up to the start of one attempt.
class AttemptSearch {
 public:
  AttemptSearch(const JobSpec& spec, AttemptId asked) : spec_(spec), asked_(std::move(asked)) {}

  Result<JournalledAttempt> Run(const std::vector<Decision>& decisions) {
    for (const Decision& decision : decisions) std::visit([this](const auto& body) { Take(body); }, decision.body);
    if (!found_)
      return NotFoundError(ToString(asked_.task), asked_.number > 0 ? StrCat("#", asked_.number) : "",
                           " was never started, so there is nothing to reproduce");
    return *std::move(found_);
  }

 private:
  void Take(const auto&) {}
  void Take(const AttemptRegistered& registered) {
    addresses_[registered.attempt.task] = {registered.endpoint, registered.ports};
  }
  void Take(const GenerationFormed& formed) { generation_ = formed.generation; }
  void Take(const CheckpointsListed& listed) { first_ = listed.listing.newest; }
  void Take(const CheckpointNoted& noted) {
    if (noted.known) newest_ = noted.newest;
  }
  void Take(const ValuesPublished& published) {
    auto& [number, values] = values_[published.attempt.task];
    if (std::exchange(number, published.attempt.number) != published.attempt.number) values.clear();
    for (const auto& [name, value] : published.values) values[name] = value;
  }
  void Take(const AttemptRan& ran) {
    if (ran.attempt.task != asked_.task || (asked_.number > 0 && ran.attempt.number != asked_.number)) return;
    found_ = JournalledAttempt{.attempt = ran.attempt,
                               .generation = generation_,
                               .cluster = Cluster(),
                               .resumed_from = ran.attempt.number > 1 ? newest_ : first_};
  }
  void Take(const AttemptEnded& ended) {
    if (found_ && found_->attempt == ended.attempt) found_->outcome = ended.outcome;
  }

  // Returns the cluster as a task of the asked role sees it.
  ClusterSpec Cluster() const {
    const RoleSpec& reader = *spec_.FindRole(asked_.task.role);
    ClusterSpec cluster{.generation = generation_};
    for (const auto& [task, published] : values_) cluster.values[task] = published.second;
    for (const RoleSpec& role : spec_.roles) {
      if (!KnowsRole(spec_, reader, role) || IsBefore(spec_, role.name, reader.name)) continue;
      for (TaskId task{role.name, 0}; task.index < role.instances; ++task.index) {
        const auto address = addresses_.find(task);
        const bool known = address != addresses_.end();
        cluster.roles[role.name].push_back(known ? address->second.first : Endpoint{kLoopback, 1});
        if (known && !address->second.second.empty()) cluster.ports[task] = address->second.second;
      }
      if (role.processes > 1) cluster.processes[role.name] = role.processes;
    }
    return cluster;
  }

  const JobSpec& spec_;
  const AttemptId asked_;
  std::map<TaskId, std::pair<Endpoint, NamedPorts>> addresses_;
  std::map<TaskId, std::pair<int, PublishedValues>> values_;
  Generation generation_{1};
  std::optional<Checkpoint> first_, newest_;
  std::optional<JournalledAttempt> found_;
};

Result<std::vector<Decision>> DecisionsOf(const JobRecords& records) {
  TRY_ASSIGN(const auto bytes, records.ReadJournal());
  if (!bytes)
    return NotFoundError("job ", records.job().value, " has no journal, so none of its tasks was ever started");
  TRY_ASSIGN(DecodedJournal journal, Annotate(DecodeJournal(*bytes), records.PlaceOfJournal()));
  return std::move(journal.decisions);
}

// Returns the attempt that a person means who names only the job.
Result<AttemptId> FirstCause(const JobRecords& records, const JobSpec& spec) {
  TRY_ASSIGN(const JobStatus status, StoredStatus(records));
  if (status.verdict && status.verdict->attempt) return *status.verdict->attempt;
  if (spec.TotalTasks() == 1) return AttemptId{{spec.roles.front().name, 0}, 0};
  return Error{ErrorCode::kUsage,
               StrCat("no task of job ", records.job().value, " is the cause of a failure; name the task, e.g. ",
                      spec.roles.front().name, ":0")};
}

}  // namespace

Result<AttemptId> ParseAttemptWord(const std::string& word) {
  const size_t sign = word.find('#');
  const auto task = ParseTaskId(word.substr(0, sign));
  const auto number = sign == word.npos ? std::optional<int64_t>(0) : ParseInt(word.substr(sign + 1));
  if (task.ok() && number && *number >= (sign == word.npos ? 0 : 1) && *number <= INT32_MAX)
    return AttemptId{*task, static_cast<int>(*number)};
  return Error{ErrorCode::kUsage,
               StrCat("\"", word, "\": expected a task as ROLE:INDEX, or an attempt as ROLE:INDEX#N")};
}

Result<JournalledAttempt> FindAttempt(const JobSpec& spec, const std::vector<Decision>& decisions,
                                      const AttemptId& asked) {
  const RoleSpec* role = spec.FindRole(asked.task.role);
  if (!role || asked.task.index >= role->instances) {
    std::vector<std::string> roles;
    for (const RoleSpec& each : spec.roles) roles.push_back(StrCat(each.name, ":0 to ", each.instances - 1));
    return NotFoundError("the job has no task ", ToString(asked.task), "; its tasks are ", Join(roles, ", "));
  }
  return AttemptSearch(spec, asked).Run(decisions);
}

Result<Reproduction> ReadReproduction(const JobRecords& records, const std::optional<AttemptId>& asked) {
  Reproduction kept{.job = records.job()};
  TRY_ASSIGN(kept.spec, records.ReadSpec());
  TRY_ASSIGN(const Submission submission, records.ReadSubmission());
  kept.user = submission.user;
  kept.host = submission.host;
  kept.secrets = submission.secrets;
  AttemptId attempt;
  if (asked) {
    attempt = *asked;
  } else {
    TRY_ASSIGN(attempt, FirstCause(records, kept.spec));
  }
  TRY_ASSIGN(const std::vector<Decision> decisions, DecisionsOf(records));
  TRY_ASSIGN(kept.ran, FindAttempt(kept.spec, decisions, attempt));
  TRY_ASSIGN(const auto staged, records.ReadStaged());
  if (staged) kept.staged = *staged;
  kept.staged.am.clear();
  // The tasks of a cluster have the variables of their node, which are not kept.
  const auto environment = records.ReadEnvironment();
  if (!environment.ok() && environment.error().code != ErrorCode::kNotFound) return environment.error();
  if (environment.ok()) kept.environment = *environment;
  return kept;
}

std::string CheckpointDamage(const Checkpoint& checkpoint, const CheckpointFolder& folder) {
  const fs::path path(checkpoint.path);
  const auto view = folder.Look();
  if (!view.ok()) return StrCat("the checkpoint ", checkpoint.path, " cannot be read: ", view.error().message);
  auto entry = *view ? (*view)->At(path.filename().string()) : std::nullopt;
  if (!entry) return StrCat("the checkpoint ", checkpoint.path, " was removed");
  FolderContent content;
  size_t left = kMaxEntriesRead;
  if (entry->is_folder && !(*view)->AddContent(entry->entry, content, left).ok())
    return StrCat("the checkpoint ", checkpoint.path, " cannot be read");
  const Instant modified = FromMillis(entry->entry.modified_ns / 1'000'000);
  if (modified == checkpoint.modified) return "";
  return StrCat("the checkpoint ", checkpoint.path, " was overwritten at ", ToIso8601(modified),
                "; the attempt resumed from its state of ", ToIso8601(checkpoint.modified));
}

bool RunsAlone(const JobSpec& spec, const RoleSpec& role) {
  if (spec.framework == FrameworkKind::kStandalone || role.completion == Completion::kSidecar) return true;
  int tasks = 0;
  for (const RoleSpec& other : ConcurrentRoles(spec, role.name).roles)
    if (other.completion != Completion::kSidecar && KnowsRole(spec, role, other)) tasks += other.instances;
  return tasks <= 1;
}

namespace {

// Removes dependencies and limits that concern roles which the job does not have.
void KeepKnownRoles(JobSpec& spec) {
  for (RoleSpec& role : spec.roles) {
    std::erase_if(role.depends_on, [&](const Dependency& on) { return !spec.FindRole(on.role); });
    std::erase_if(role.outlives, [&](const OutliveLimit& limit) {
      return std::ranges::any_of(limit.roles, [&](const std::string& name) { return !spec.FindRole(name); });
    });
  }
}

// Returns the job with the attempt's task alone. Its framework is not the job's, because the job's framework would
// refuse a single task of some roles; PyTorch also decides where the program reports its errors.
JobSpec Alone(const Reproduction& kept) {
  JobSpec spec = kept.spec;
  RoleSpec role = *spec.FindRole(kept.ran.attempt.task.role);
  role.instances = 1;
  role.max_parallel = 0;
  if (spec.sweep) {
    const auto index = static_cast<size_t>(kept.ran.attempt.task.index);
    if (index < spec.sweep->trials.size()) spec.sweep->trials = {spec.sweep->trials[index]};
  }
  role.completion = Completion::kTracked;
  role.min_succeeded = 0;
  role.min_failed.reset();
  role.depends_on.clear();
  role.outlives.clear();
  role.outlives_restarts = false;
  spec.roles = {role};
  spec.mode = DistributedMode::kGang;
  if (spec.framework != FrameworkKind::kPytorch) spec.framework = FrameworkKind::kStandalone;
  return spec;
}

// Returns the variables that count the attempts of a task and the starts of its gang.
std::map<std::string, std::string> Counters(const JournalledAttempt& ran) {
  std::map<std::string, std::string> variables = {{"TONY_ATTEMPT", StrCat(ran.attempt.number)},
                                                  {"TONY_GENERATION", StrCat(ran.generation.value)}};
  if (ran.generation.value > 1) variables["NUM_AM_RETRIES"] = StrCat(ran.generation.value - 1);
  return variables;
}

// Returns the variables that depend on values of tasks which are not started again.
std::map<std::string, std::string> ValuesOfOthers(const Reproduction& kept, const JobSpec& started) {
  ClusterSpec without = kept.ran.cluster;
  std::erase_if(without.values, [&](const auto& of) { return !started.FindRole(of.first.role); });
  const TaskId& task = kept.ran.attempt.task;
  std::map<std::string, std::string> variables = FrameworkEnvironment(kept.spec, kept.ran.cluster, task);
  for (const auto& [name, value] : FrameworkEnvironment(kept.spec, without, task))
    if (const auto same = variables.find(name); same != variables.end() && same->second == value) variables.erase(same);
  return variables;
}

}  // namespace

JobSpec ReproductionSpec(const Reproduction& kept, const ReproductionPlan& plan) {
  const TaskId& task = kept.ran.attempt.task;
  JobSpec spec = plan.gang ? ConcurrentRoles(kept.spec, task.role) : Alone(kept);
  KeepKnownRoles(spec);
  spec.name = StrCat("reproduction of ", kept.job.value, " ", ToString(task));
  const bool is_on_yarn = plan.scheduler == kYarnScheduler;
  spec.scheduler = plan.scheduler;
  if (!is_on_yarn) spec.yarn = YarnSpec();
  if (!plan.queue.empty()) spec.yarn.queue = plan.queue;
  // The portal reads only jobs with a history, and the keytab is a file of the submit.
  spec.yarn.portal_url.clear();
  spec.yarn.keytab.clear();
  spec.tags.clear();
  spec.am_files.clear();
  spec.history_folder.clear();
  spec.hold = spec.startup_timeout = spec.allocation_timeout = spec.registry_timeout = Duration(0);
  // A person at a terminal needs longer than the job's program.
  if (!plan.command.empty()) spec.timeout = Duration(0);
  for (RestartBudget& level : spec.restart.levels) level.most = 0;
  spec.restart.lost.most = 0;
  spec.checkpoint.directory = plan.checkpoints;
  spec.checkpoint.resume_latest = plan.resumes;
  for (RoleSpec& role : spec.roles) {
    role.restarts.reset();
    role.restart_scope.reset();
    if (!is_on_yarn) {
      role.node_label.clear();
      role.placement = Placement::kPack;
      role.placement_spec.clear();
      role.allocation_tags.clear();
      role.resources.others.clear();
    }
    if (plan.memory_mb) role.resources.memory_mb = *plan.memory_mb;
    if (plan.gpus) role.resources.gpus = *plan.gpus;
    if (role.name != task.role || plan.command.empty()) continue;
    role.processes = plan.gang ? role.processes : 1;
    role.command = plan.gang && role.instances * role.processes > 1
                       ? StrCat("if [ \"$TASK_INDEX/${TONY_PROCESS_INDEX:-0}\" = ", task.index, "/0 ]; then\n",
                                plan.command, "\nfi\n", role.command)
                       : plan.command;
  }
  if (!spec.reproduced.empty()) return spec;  // the job was a reproduction itself
  std::map<std::string, std::string> variables = Counters(kept.ran);
  if (plan.gang) {
    variables.merge(ValuesOfOthers(kept, spec));
    spec.reproduced = {{variables}};
    return spec;
  }
  variables["TONY_TASK"] = ToString(task);
  for (int process = 0; process < spec.roles.front().processes; ++process) {
    std::map<std::string, std::string> all = FrameworkEnvironment(kept.spec, kept.ran.cluster, task, process);
    all.insert(variables.begin(), variables.end());
    spec.reproduced.push_back({std::move(all)});
  }
  return spec;
}

TaskId ReproducedTask(const Reproduction& kept, const ReproductionPlan& plan) {
  return {kept.ran.attempt.task.role, plan.gang ? kept.ran.attempt.task.index : 0};
}

namespace {

// Returns `port` if a server can bind it here, otherwise a port that is free now.
int FreePort(int port) {
  for (const int wanted : {port, 0}) {
    const auto socket = ListenOn({kLoopback, wanted});
    const auto bound = socket.ok() ? BoundAddress(*socket) : Result<Endpoint>(socket.error());
    if (bound.ok()) return bound->port;
  }
  return port;
}

}  // namespace

ClusterSpec OnThisMachine(ClusterSpec cluster, const TaskId& task) {
  for (auto& [role, tasks] : cluster.roles)
    for (size_t i = 0; i < tasks.size(); ++i)
      tasks[i] = {kLoopback, TaskId{role, static_cast<int>(i)} == task ? FreePort(tasks[i].port) : tasks[i].port};
  if (const auto ports = cluster.ports.find(task); ports != cluster.ports.end())
    for (auto& [name, port] : ports->second) port = FreePort(port);
  return cluster;
}

std::vector<std::string> ReproductionEnvironment(const Reproduction& kept, const std::vector<std::string>& own,
                                                 bool is_foreign) {
  static const std::set<std::string, std::less<>> kOfAccount = {"HOME", "LOGNAME", "MAIL", "SHELL",
                                                                "TERM", "TMPDIR",  "USER"};
  // TonY's own variables name places of this machine.
  const auto is_of_here = [&](const std::string& name) {
    return name.starts_with("TONY_") || (is_foreign && kOfAccount.contains(name)) ||
           std::ranges::count(kept.left_out, name) > 0;
  };
  std::map<std::string, std::string> variables, here;
  for (const auto& [from, to] : {std::pair(&own, &here), std::pair(&kept.environment, &variables)})
    for (const std::string& variable : *from) (*to)[variable.substr(0, variable.find('='))] = variable;
  std::erase_if(variables, [&](const auto& variable) { return is_of_here(variable.first); });
  for (const auto& [name, variable] : here)
    if (is_of_here(name)) variables[name] = variable;
  if (const auto path = here.find("PATH"); is_foreign && path != here.end()) {
    const auto [kept_path, is_new] = variables.try_emplace("PATH", path->second);
    if (!is_new) kept_path->second += path->second.replace(0, 5, ":");
  }
  std::vector<std::string> environment;
  for (auto& [name, variable] : variables) environment.push_back(std::move(variable));
  return environment;
}

namespace {

Status CopyFile(const fs::path& from, const fs::path& to) {
  const UniqueFd source(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!source.valid()) return FileError(ErrorCode::kInvalid, "read", from, errno);
  const UniqueFd copy(open(to.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!copy.valid()) return FileError(ErrorCode::kCannotWrite, "make", to, errno);
  TRY(CopyContent(source.get(), from, copy.get(), to, [](int64_t) { return Ok(); }));
  struct stat info {};
  if (fstat(source.get(), &info) != 0) return FileError(ErrorCode::kInvalid, "read", from, errno);
  const timespec times[2] = {info.st_atim, info.st_mtim};
  return futimens(copy.get(), times) == 0 ? Ok() : Status(FileError(ErrorCode::kCannotWrite, "finish", to, errno));
}

}  // namespace

Status CopyCheckpoint(const fs::path& checkpoint, const fs::path& to) {
  std::error_code error;
  if (!fs::is_directory(checkpoint, error)) return CopyFile(checkpoint, to / checkpoint.filename());
  TRY(MakeFolder(to / checkpoint.filename()));
  for (fs::recursive_directory_iterator entry(checkpoint, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path copy = to / checkpoint.filename() / entry->path().lexically_relative(checkpoint);
    if (entry->is_symlink()) {
      fs::copy_symlink(entry->path(), copy, error);
    } else if (entry->is_directory()) {
      TRY(MakeFolder(copy));
    } else {
      TRY(CopyFile(entry->path(), copy));
    }
  }
  if (error) return FileError(ErrorCode::kInvalid, "read", checkpoint, error.value());
  return Ok();
}

}  // namespace tony
