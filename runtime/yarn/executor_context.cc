#include "runtime/yarn/executor_context.h"

#include "runtime/base/strings.h"

namespace tony {
namespace {

// Escapes a character for use within double quotes.
void AppendEscaped(std::string& out, char c) {
  if (c == '$' || c == '"' || c == '\\' || c == '`') out += '\\';
  out += c;
}

// Each text that the NodeManager replaces begins or ends with one of these characters. An empty string after the
// character prevents the replacement, and means nothing to a shell.
bool BeginsReplacement(char c) { return c == '<' || c == '{' || c == '}'; }

}  // namespace

std::string QuoteValue(std::string_view value) {
  std::string out;
  for (const char c : value) {
    AppendEscaped(out, c);
    if (BeginsReplacement(c)) out += "\"\"";  // the quotes close and open again
  }
  return out;
}

std::string QuoteArgument(std::string_view argument) {
  std::string out = "'";
  for (const char c : argument) {
    if (c == '\'') {
      // The script gets '\\'', and the inner shell reads '\''.
      out += R"('\\'')";
    } else {
      AppendEscaped(out, c);
    }
    if (BeginsReplacement(c)) out += "''";
  }
  return out + "'";
}

namespace {

using hadoop::LaunchContext;

Status Ship(const HdfsFiles& files, const std::string& key, const std::string& name, LaunchContext& context) {
  const auto file = files.find(key);
  if (file == files.end()) return Error{ErrorCode::kInternal, StrCat(key, " was not sent to HDFS")};
  context.files[name] = file->second;
  return Ok();
}

// Adds the files that a task of this role may use, under their names in the container's folder.
Status ShipStaged(const HdfsFiles& files, std::vector<StagedEntry>& entries, LaunchContext& context) {
  for (StagedEntry& entry : entries) {
    entry.path = entry.path.filename();
    TRY(Ship(files, entry.path.string(), entry.path.string(), context));
  }
  return Ok();
}

void AddEnvironment(const std::map<std::string, std::string>& variables, LaunchContext& context) {
  for (const auto& [name, value] : variables) context.environment[name] = QuoteValue(value);
}

// Redirects standard error to the file `stderr` in the log folder, because a node quotes the end of this file in its
// diagnostics. If the shell or the loader cannot start the program, the file receives the reason. The program itself
// writes its log to standard output, and only its reason to end (LastWords) to this file.
constexpr const char* kShellsError = " 2>>'<LOG_DIR>/stderr'";

}  // namespace

std::map<std::string, std::string> RuntimeVariables(const JobSpec& spec, const std::string& image) {
  constexpr std::string_view kPrefix = "YARN_CONTAINER_RUNTIME_";
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : spec.container_env)
    if (name.starts_with(kPrefix)) variables[name] = value;
  if (image.empty()) return variables;
  variables[StrCat(kPrefix, "TYPE")] = "docker";
  variables[StrCat(kPrefix, "DOCKER_IMAGE")] = image;
  if (!spec.mounts.empty()) variables[StrCat(kPrefix, "DOCKER_MOUNTS")] = spec.mounts;
  return variables;
}

Result<LaunchContext> MakeExecutorContext(const ExecutorInputs& job, const ExecutorLaunch& launch) {
  const std::string& role = launch.attempt.task.role;
  LaunchContext context{.credentials = job.credentials};
  ContainerLaunch told{.job = job.job,
                       .attempt = launch.attempt,
                       .secrets = job.secrets,
                       .lease = job.lease,
                       .lease_place = job.lease_place};
  told.staged.job = job.staged.job;
  if (const auto own = job.staged.roles.find(role); own != job.staged.roles.end())
    told.staged.roles[role] = own->second;
  TRY(Ship(job.files, kExecutorFile, kExecutorFile, context));
  TRY(ShipStaged(job.files, told.staged.job, context));
  for (auto& [name, entries] : told.staged.roles) TRY(ShipStaged(job.files, entries, context));
  if (job.files.contains(kSpecFile)) {
    TRY(Ship(job.files, kSpecFile, kSpecFile, context));
  } else {
    told.spec = ToJson(job.spec);
    if (told.spec.size() > kLargestSpecInLaunch)
      return InvalidError("the job's spec is too large for the credentials (", told.spec.size(),
                          " bytes), and it was not sent as a file");
  }
  AddTo(context.credentials, told);
  const RoleSpec* const spec = job.spec.FindRole(role);
  context.environment = RuntimeVariables(job.spec, spec ? spec->image : "");
  AddEnvironment(job.environment, context);
  SetAcls(job.spec.yarn, context);
  context.environment["TONY_JOB_ID"] = job.job.value;
  context.command =
      StrCat("exec ./", kExecutorFile, " --container '<LOG_DIR>' 1>'<LOG_DIR>/executor.log'", kShellsError);
  return context;
}

Result<LaunchContext> MakeMasterContext(const AmInputs& job) {
  LaunchContext context{.credentials = job.credentials};
  TRY(Ship(job.files, kMasterFolder, kMasterFolder, context));
  for (const StagedEntry& entry : job.staged) TRY(Ship(job.files, entry.path.filename().string(), entry.name, context));
  AddTo(context.credentials, MasterLaunch{job.job, job.secrets, job.executors_tls, job.https_trust, job.keytab});
  context.environment = job.runtime;
  AddEnvironment(job.environment, context);
  context.environment["TONY_JOB_ID"] = job.job.value;
  const std::string place = StrCat("./", kMasterFolder);
  context.command = StrCat("exec ", place, "/loader --library-path ", place, "/lib ", place, "/bin/", job.program);
  for (const std::string& argument : job.arguments) context.command += " " + QuoteArgument(argument);
  context.command += StrCat(" 1>'<LOG_DIR>/am.log'", kShellsError);
  return context;
}

void SetAcls(const YarnSpec& spec, LaunchContext& context) {
  if (!spec.view_acl.empty()) context.view_acl = spec.view_acl;
  if (!spec.modify_acl.empty()) context.modify_acl = spec.modify_acl;
}

}  // namespace tony
