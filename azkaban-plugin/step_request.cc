#include "azkaban-plugin/step_request.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/client/choose_backend.h"
#include "runtime/client/submit_job.h"
#include "runtime/config/config_text.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"
#include "runtime/spec/property_values.h"

namespace tony::azkaban {
namespace {

constexpr std::string_view kAsk = "the job requests ";  // start of CheckEverFits()'s message

// Returns the setting of a key with its source, e.g. "tony.worker.memory=8g (the step's properties)"; empty if the key
// is not set and has no default.
std::string Told(const Configuration& configuration, const std::string& key) {
  const auto found = std::ranges::find(configuration, key, &ConfiguredValue::key);
  if (found == configuration.end()) return "";
  return StrCat(key, "=", found->value, " (", found->source == "default" ? "TonY's default" : found->source, ")");
}

std::vector<std::string> KeysOf(const RoleSpec& role) {
  std::vector<std::string> keys = {role.Key("instances"), role.Key("memory")};
  if (role.resources.gpus > 0) keys.push_back(role.Key("gpus"));
  return keys;
}

constexpr mode_t kForAll = 0644;

Error WriteError(const std::filesystem::path& file) { return FileError(ErrorCode::kCannotWrite, "write", file, errno); }

constexpr std::string_view kUrl = "azkaban.url";
constexpr std::string_view kProject = "azkaban.flow.projectname";
constexpr std::string_view kProjectNumber = "azkaban.flow.projectid";
constexpr std::string_view kUuid = "azkaban.flow.uuid";
constexpr std::string_view kExecution = "azkaban.flow.execid";
constexpr std::string_view kStart = "azkaban.flow.start.timestamp";
// The part of a request id that replaces the execution's UUID if all executions share the id.
constexpr std::string_view kAnyExecution = "-";
// The last three digits of a submission number come from the execution's number. Therefore two executions that start in
// the same millisecond have different numbers.
constexpr int64_t kExecutionDigits = 1000;

Result<std::string> Required(const Properties& properties, std::string_view key) {
  std::string value = StepProperty(properties, key);
  if (!value.empty()) return value;
  return Error{ErrorCode::kInvalid,
               StrCat(key,
                      ": missing from the step's properties; Azkaban sets it: let Azkaban run this program, "
                      "or set the property yourself")};
}

// Returns `text` percent-encoded, so that it is one part of an address.
std::string Encoded(std::string_view text, std::string_view also_plain = "") {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = kPlain.find(c) != kPlain.npos || also_plain.find(c) != also_plain.npos;
    out += is_plain ? std::string(1, c) : StrCat("%", kDigits[byte / 16], kDigits[byte % 16]);
  }
  return out;
}

std::string HostPart(const Properties& properties) {
  const std::string address = AzkabanAddress(properties);
  return Encoded(address.empty() ? HostName() : address, ":[]");
}

// Returns the part of an id for the project. If the project's name is missing, its number is used. The number never
// equals another project's name, because names begin with a letter.
std::string ProjectPart(const Properties& properties) {
  for (const std::string_view key : {kProject, kProjectNumber})
    if (const std::string value = StepProperty(properties, key); !value.empty()) return Encoded(value);
  return "-";
}

// Returns the part "/FLOW/JOB" of an id. A step of an embedded flow has a path, e.g. "sub:train"; each part of the path
// becomes a part of the id in place of JOB.
Result<std::string> PlaceInFlow(const Properties& properties) {
  TRY_ASSIGN(const std::string flow, Required(properties, "azkaban.flow.flowid"));
  std::string path = StepProperty(properties, "azkaban.flow.nested.path");
  if (path.empty()) path = StepProperty(properties, "azkaban.job.id");
  // Azkaban 2 passes the job name only in $JOB_NAME.
  if (const char* name = std::getenv("JOB_NAME"); path.empty() && name) path = name;
  if (path.empty()) {
    TRY_ASSIGN(path, Required(properties, "azkaban.job.id"));
  }
  std::string place = StrCat("/", Encoded(flow));
  for (const std::string& part : Split(path, ':')) place += StrCat("/", Encoded(part));
  return place;
}

// Parses a time in Joda's format: "2026-11-22T21:40:00.123Z", or with "+01:00" in place of "Z".
std::optional<Instant> InstantFromJoda(std::string_view text) {
  constexpr size_t kZoneAt = std::string_view("2026-11-22T21:40:00.123").size();
  if (text.size() <= kZoneAt) return std::nullopt;
  const std::string_view zone = text.substr(kZoneAt);
  const auto local = InstantFromIso8601(StrCat(text.substr(0, kZoneAt), "Z"));
  if (!local || zone == "Z") return local;
  const bool is_zone = zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':';
  if (!is_zone) return std::nullopt;
  const auto hours = ParseInt(zone.substr(1, 2)), minutes = ParseInt(zone.substr(4));
  if (!hours || !minutes || *hours < 0 || *minutes < 0) return std::nullopt;
  const Duration ahead = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return zone[0] == '+' ? *local - ahead : *local + ahead;
}

// Returns a submission number that grows with the start time of the executions. The number of an execution is not
// enough, because these numbers start again with a new database. All attempts of an execution have the same start time.
Result<int64_t> SubmissionOf(const Properties& properties) {
  TRY_ASSIGN(const std::string text, Required(properties, kStart));
  const auto start = InstantFromJoda(text);
  if (!start)
    return Error{ErrorCode::kInvalid, StrCat(kStart, ": ", Quoted(text),
                                             ": expected a time as Azkaban writes it, 2026-11-22T21:40:00.123Z")};
  const int64_t execution = ParseInt(StepProperty(properties, kExecution)).value_or(0);
  return ToMillis(*start) * kExecutionDigits + execution % kExecutionDigits;
}

Status CheckIsKnown(const PropertyValues& values, std::string_view key, bool is_known, std::string_view advice) {
  if (is_known) return Ok();
  return values.Bad(kReplaceOlder, StrCat("needs ", key, ", which this Azkaban does not pass to a step; ", advice));
}

// Checks the properties that a shared id needs. Without them, a job of another installation or project could be taken
// for the job of an older execution.
Status CheckSharedIdIsSafe(const PropertyValues& values) {
  const Properties& properties = values.properties();
  TRY(CheckIsKnown(values, kUrl, !AzkabanAddress(properties).empty(),
                   "Azkaban's administrator can set azkaban.webserver.url in the executor server's "
                   "azkaban.properties, or azkaban.url in plugin.properties"));
  return CheckIsKnown(values, kProject, !StepProperty(properties, kProject).empty(),
                      "set it to the project's name in the project's shared properties");
}

// Returns a note about properties that neither this Azkaban nor its administrator sets.
std::vector<std::string> Notes(const Properties& properties) {
  if (StepProperty(properties, kUuid).empty())
    return {StrCat("warning: the step has no property ", kUuid,
                   ". A step of another Azkaban server or database would take over this job if it had the same "
                   "execution number, flow and job name")};
  std::vector<std::string> missing;
  if (AzkabanAddress(properties).empty()) missing.emplace_back(kUrl);
  if (StepProperty(properties, kProject).empty()) missing.emplace_back(kProject);
  if (missing.empty()) return {};
  return {StrCat("this Azkaban passes no value of ", Join(missing, " and "),
                 " to a step, so only ", kUuid, " distinguishes its executions")};
}

}  // namespace

Error WithRequestedResources(Error refused, const JobSpec& spec, const Configuration& configuration) {
  if (!refused.message.starts_with(kAsk)) return refused;
  std::vector<std::string> told;
  for (const RoleSpec& role : spec.roles)
    for (const std::string& key : KeysOf(role))
      if (std::string text = Told(configuration, key); !text.empty()) told.push_back(std::move(text));
  refused.message += StrCat("; these settings request it: ", Join(told, ", "));
  return refused;
}

Status WriteAttachment(const std::filesystem::path& file, std::string_view object) {
  const std::filesystem::path part = StrCat(file.string(), ".part");
  unlink(part.c_str());  // left by a killed adapter
  const UniqueFd fd(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kForAll));
  if (!fd.valid() || fchmod(fd.get(), kForAll) != 0) return WriteError(part);
  TRY(WriteAll(fd.get(), StrCat("[", object, "]\n"), part));
  return rename(part.c_str(), file.c_str()) == 0 ? Ok() : Status(WriteError(file));
}

Status WriteOutputProperties(const std::filesystem::path& file, std::string_view object) {
  const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, kForAll));
  if (!fd.valid()) return WriteError(file);
  return WriteAll(fd.get(), StrCat(object, "\n"), file);
}

Result<Step> ReadStep(const std::filesystem::path& property_file, const std::filesystem::path& directory) {
  std::error_code error;
  const auto type = std::filesystem::status(property_file, error).type();
  // Only a regular file is read, because a pipe without a writer would block the step for ever.
  if (type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::regular)
    return Error{ErrorCode::kInvalid, StrCat("JOB_PROP_FILE ", property_file.string(), ": not a file")};
  const SubmitOptions options = {.spec_file = property_file.string(), .spec_name = "the step's properties"};
  TRY_ASSIGN(const Properties properties, LoadProperties(options, directory, ReadFromCluster));
  Step step;
  TRY_ASSIGN(step.request, RequestOfStep(properties));
  step.attachment = StepProperty(properties, "azkaban.job.attachment.file");
  if (ToLower(StepProperty(properties, "azkaban.should.proxy.user")) == "true")
    step.proxied = StepProperty(properties, "user.to.proxy");
  TRY_ASSIGN(step.job, CheckedJobSpec(properties, directory));
  return step;
}

Result<bool> ReplacesOlder(const Properties& properties) {
  Problems problems;
  return PropertyValues(properties, problems).Flag(kReplaceOlder);
}

Result<StepRequest> RequestOfStep(const Properties& properties) {
  StepRequest request;
  TRY_ASSIGN(const std::string number, Required(properties, kExecution));
  TRY_ASSIGN(const std::string place, PlaceInFlow(properties));
  TRY_ASSIGN(request.replaces_older, ReplacesOlder(properties));
  const std::string uuid = StepProperty(properties, kUuid);
  std::string execution = Encoded(uuid.empty() ? number : uuid);
  if (request.replaces_older) {
    Problems problems;
    TRY(CheckSharedIdIsSafe(PropertyValues(properties, problems)));
    TRY_ASSIGN(request.submission, SubmissionOf(properties));
    execution = kAnyExecution;
  } else {
    request.notes = Notes(properties);
  }
  request.id = {StrCat("azkaban://", HostPart(properties), "/", ProjectPart(properties), "/", execution, place)};
  request.is_first_try = ParseInt(StepProperty(properties, "azkaban.job.attempt")).value_or(0) <= 0;
  return request;
}

}  // namespace tony::azkaban
