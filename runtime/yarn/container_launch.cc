#include "runtime/yarn/container_launch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/base/strings.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/files.h"

namespace tony {

void Fields(auto& io, Is<HttpTrust> auto& trust) {
  io.Field("authorities", trust.authorities);
  io.Field("origin", trust.origin);
  io.Field("checks_names", trust.checks_names);
}

void Fields(auto& io, Is<LeasePlace> auto& place) {
  io.Field("name_nodes", place.name_nodes);
  io.Field("folder", place.folder);
  io.Field("user", place.user);
  io.IfSet("token_service", place.token_service);
  io.IfSet("hosts", place.hosts);
  io.IfSet("trust", place.trust);
  io.IfSet("uses_rpc", place.uses_rpc);
}

namespace {

using Secrets = std::map<std::string, std::string>;

constexpr const char* kOwnTls = "tony.tls";
constexpr const char* kExecutorsTls = "tony.executor-tls";
constexpr const char* kHttpsTrust = "tony.https-trust";
constexpr const char* kKeytab = "tony.keytab";
constexpr const char* kLeasePlace = "tony.lease-place";

Error NotUsable(std::string_view alias, std::string_view why) {
  return InvalidError("the container's credentials: ", alias, ": ", why);
}

Result<std::string> Needed(const Secrets& secrets, const std::string& alias) {
  const auto found = secrets.find(alias);
  if (found == secrets.end()) return NotUsable(alias, "the entry is missing");
  return found->second;
}

std::string Optional(const Secrets& secrets, const std::string& alias) {
  const auto found = secrets.find(alias);
  return found == secrets.end() ? "" : found->second;
}

// The value and the parser's error are not shown, because the error may quote the value, which is secret.
template <class T>
Result<T> Parsed(const Secrets& secrets, const std::string& alias, Result<T> (*parse)(std::string_view)) {
  TRY_ASSIGN(const std::string text, Needed(secrets, alias));
  auto value = parse(text);
  if (!value.ok()) return NotUsable(alias, "the entry is malformed");
  return value;
}

Result<AttemptId> ParseAttemptId(std::string_view text) {
  const Error wrong{ErrorCode::kInvalid, "expected an attempt as worker:3#1"};
  const size_t hash = text.rfind('#');
  if (hash == std::string_view::npos) return wrong;
  const auto task = ParseTaskId(text.substr(0, hash));
  const auto number = ParseInt(text.substr(hash + 1));
  if (!task.ok() || !number || *number < 1 || *number > 1'000'000) return wrong;
  return AttemptId{*task, static_cast<int>(*number)};
}

Result<LeasePlace> ParseLeasePlace(std::string_view text) { return ReadJson<LeasePlace>(text, "place of the lease"); }

void AddTls(Secrets& to, const std::string& alias, const TlsIdentity& tls) {
  if (tls == TlsIdentity{}) return;
  to[alias + ".ca"] = tls.ca;
  to[alias + ".certificate"] = tls.certificate;
  to[alias + ".key"] = tls.key;
}

TlsIdentity TlsIn(const Secrets& secrets, const std::string& alias) {
  return {Optional(secrets, alias + ".ca"), Optional(secrets, alias + ".certificate"),
          Optional(secrets, alias + ".key")};
}

void Add(Secrets& to, const JobId& job, const JobSecrets& secrets) {
  to["tony.job"] = job.value;
  to["tony.token"] = secrets.token;
  if (!secrets.of_tasks.empty()) to["tony.secrets"] = JoinVariables(secrets.of_tasks);
  AddTls(to, kOwnTls, secrets.tls);
}

Result<JobSecrets> SecretsIn(const Secrets& secrets) {
  JobSecrets found;
  TRY_ASSIGN(found.token, Needed(secrets, "tony.token"));
  found.of_tasks = Split(Optional(secrets, "tony.secrets"), '\0');
  if (!found.of_tasks.empty()) found.of_tasks.pop_back();  // a NUL follows each variable
  found.tls = TlsIn(secrets, kOwnTls);
  return found;
}

}  // namespace

LastWords::LastWords() : file_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) { dup2(STDOUT_FILENO, STDERR_FILENO); }

void LastWords::Write(const std::string& reason) const { (void)WriteAll(file_.get(), reason + "\n", "standard error"); }

std::string NameInContainer(const std::string& stream, const AttemptId& attempt, bool is_first) {
  return is_first || stream == "executor.log" ? stream : StrCat(stream, ".", attempt.number);
}

std::string ToJson(const HttpTrust& trust) { return WriteJson(trust); }
Result<HttpTrust> HttpTrustFromJson(std::string_view text) { return ReadJson<HttpTrust>(text, "trusted servers"); }

Result<std::string> VariableOfContainer(const char* name) {
  const char* value = std::getenv(name);
  if (value != nullptr && *value != '\0') return std::string(value);
  return Error{ErrorCode::kUsage, StrCat("$", name, " is not set: only a NodeManager can start this program")};
}

void AddTo(hadoop::Credentials& credentials, const ContainerLaunch& launch) {
  Secrets& to = credentials.secrets;
  Add(to, launch.job, launch.secrets);
  to["tony.attempt"] = ToString(launch.attempt);
  if (!launch.spec.empty()) to["tony.spec"] = launch.spec;
  to["tony.lease"] = ToJson(launch.lease);
  if (!launch.lease_place.name_nodes.empty()) to[kLeasePlace] = WriteJson(launch.lease_place);
  to["tony.staged"] = ToJson(launch.staged);
}

Result<ContainerLaunch> LaunchIn(std::string_view credentials_file) {
  TRY_ASSIGN(const hadoop::Credentials credentials, hadoop::DecodeCredentials(credentials_file));
  const Secrets& from = credentials.secrets;
  ContainerLaunch launch;
  TRY_ASSIGN(launch.job.value, Needed(from, "tony.job"));
  TRY_ASSIGN(launch.attempt, Parsed(from, "tony.attempt", ParseAttemptId));
  TRY_ASSIGN(launch.secrets, SecretsIn(from));
  launch.spec = Optional(from, "tony.spec");
  TRY_ASSIGN(launch.lease, Parsed(from, "tony.lease", LeaseRecordFromJson));
  if (from.contains(kLeasePlace)) {
    TRY_ASSIGN(launch.lease_place, Parsed(from, kLeasePlace, ParseLeasePlace));
  }
  TRY_ASSIGN(launch.staged, Parsed(from, "tony.staged", StagedFilesFromJson));
  return launch;
}

void AddTo(hadoop::Credentials& credentials, const MasterLaunch& launch) {
  Add(credentials.secrets, launch.job, launch.secrets);
  AddTls(credentials.secrets, kExecutorsTls, launch.executors_tls);
  if (launch.https_trust) credentials.secrets[kHttpsTrust] = ToJson(*launch.https_trust);
  if (!launch.keytab.empty()) credentials.secrets[kKeytab] = launch.keytab;
}

Result<MasterLaunch> MasterLaunchIn(const hadoop::Credentials& credentials) {
  MasterLaunch launch;
  TRY_ASSIGN(launch.job.value, Needed(credentials.secrets, "tony.job"));
  TRY_ASSIGN(launch.secrets, SecretsIn(credentials.secrets));
  launch.executors_tls = TlsIn(credentials.secrets, kExecutorsTls);
  launch.keytab = Optional(credentials.secrets, kKeytab);
  if (credentials.secrets.contains(kHttpsTrust)) {
    TRY_ASSIGN(HttpTrust trust, Parsed(credentials.secrets, kHttpsTrust, HttpTrustFromJson));
    launch.https_trust = std::make_shared<const HttpTrust>(std::move(trust));
  }
  return launch;
}

}  // namespace tony
