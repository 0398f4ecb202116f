#include "runtime/spec/job_spec_parser.h"

#include <algorithm>

#include "runtime/base/placement_constraint.h"
#include "runtime/base/strings.h"
#include "runtime/config/keys.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/users.h"
#include "runtime/spec/parser_parts.h"
#include "runtime/spec/property_values.h"

namespace tony {
namespace {

constexpr std::string_view kFramework = "tony.application.framework";
constexpr std::string_view kHistoryIntermediate = "tony.history.intermediate";
constexpr std::string_view kHistoryLocation = "tony.history.location";
constexpr std::string_view kBackground = "tony.task.background";
constexpr std::string_view kHold = "tony.task.hold";
constexpr std::string_view kMemoryLimits = "tony.local.memory-limits";
constexpr std::string_view kMode = "tony.application.distributed-mode";
constexpr std::string_view kName = "tony.application.name";
constexpr std::string_view kQueue = "tony.yarn.queue";
constexpr std::string_view kGangHold = "tony.yarn.gang-hold";
constexpr std::string_view kType = "tony.application.type";
// YARN cuts the type at this length (YarnConfiguration.APPLICATION_TYPE_LENGTH).
constexpr size_t kLongestType = 20;
constexpr std::string_view kScheduler = "tony.scheduler";
constexpr std::string_view kTags = "tony.application.tags";

constexpr int kMostAmCores = 1024;
constexpr size_t kLongestJobName = 256;
constexpr int64_t kYearSeconds = 365 * 24 * 3600;

// Frameworks that this TonY does not support yet, although users have requested them.
constexpr std::string_view kLaterFrameworks[] = {"mpi", "spark"};

Result<FrameworkKind> ParseFramework(const PropertyValues& values) {
  const std::string name = ToLower(Trim(values.Text(kFramework)));
  const auto kind = FromName<FrameworkKind>(name);
  if (kind && kind != FrameworkKind::kStaged) return *kind;
  const bool later = std::ranges::find(kLaterFrameworks, name) != std::end(kLaterFrameworks);
  return values.Bad(kFramework, StrCat(later ? "not supported yet; " : "", "expected ", kFrameworkNames));
}

Result<DistributedMode> ParseMode(const PropertyValues& values) {
  if (const auto mode = DistributedModeFromString(Trim(values.Text(kMode)))) return *mode;
  return values.Bad(kMode, "expected GANG or FCFS");
}

bool IsControl(char c) { return c >= 0 && c < ' '; }

Result<std::string> ParseName(const PropertyValues& values) {
  if (!values.Has(kName)) return JobSpec().name;
  std::string name(Trim(values.Text(kName)));
  if (std::ranges::any_of(name, IsControl)) return values.Bad(kName, "expected one line of text");
  if (name.size() > kLongestJobName) return values.Bad(kName, StrCat("expected at most ", kLongestJobName, " bytes"));
  return name;
}

Result<std::vector<std::string>> ParseTags(const PropertyValues& values) {
  std::vector<std::string> tags;
  for (std::string& tag : values.List(kTags)) {
    if (std::ranges::any_of(tag, IsControl)) return values.Bad(kTags, "expected tags of one line, separated by commas");
    if (std::ranges::find(tags, tag) == tags.end()) tags.push_back(std::move(tag));
  }
  return tags;
}

// The spec's JSON is UTF-8, so the keys and values in it must be UTF-8.
Status CheckUtf8(const PropertyValues& values) {
  for (const auto& [key, property] : values.properties().all()) {
    if (!key.starts_with("tony.")) continue;
    if (!IsUtf8(key)) return Error{ErrorCode::kInvalid, StrCat("key ", Quoted(key), ": not valid UTF-8")};
    if (!IsUtf8(property.value)) return values.Bad(key, "not valid UTF-8");
  }
  return Ok();
}

Status ParseLimits(const PropertyValues& values, Warnings& warnings, JobSpec& spec) {
  TRY_ASSIGN(spec.timeout, values.Millis("tony.application.timeout", 0));
  TRY_ASSIGN(spec.startup_timeout, values.Millis(kStartupTimeoutKey, 0));
  TRY(ParseTaskLimits(values, warnings, spec));
  TRY_ASSIGN(spec.log_limit_mb, values.MemoryMb("tony.task.log-limit", 0));
  const auto background = FromName<Background>(ToLower(Trim(values.Text(kBackground))));
  if (!background) return values.Bad(kBackground, "expected auto, end, wait or fail");
  spec.background = *background;
  TRY_ASSIGN(spec.hold, values.Millis(kHold, 0));
  if (spec.hold > Duration(0) && spec.scheduler == kYarnScheduler)
    return values.Bad(kHold, "expected 0 for a job on YARN, because tony shell enters only tasks of one machine");
  TRY_ASSIGN(spec.priority, values.Number("tony.local.priority", -kMostJobPriority, kMostJobPriority));
  if (spec.scheduler != kYarnScheduler) spec.gpu_devices = values.List(kGpuDevicesKey);
  const std::string memory = ToLower(Trim(values.Text(kMemoryLimits)));
  if (memory != "auto" && memory != "off") return values.Bad(kMemoryLimits, "expected auto or off");
  spec.memory_limits = memory == "auto";
  return Ok();
}

Result<std::string> YarnText(const PropertyValues& values, std::string_view key) {
  std::string text(Trim(values.Text(key)));
  if (std::ranges::any_of(text, IsControl)) return values.Bad(key, "expected one line of text");
  return text;
}

// Keeps a blank at the beginning of the list, because such a list names groups but no users.
Result<std::string> AclText(const PropertyValues& values, std::string_view key) {
  const std::string text = values.Text(key);
  TRY_ASSIGN(std::string trimmed, YarnText(values, key));
  const std::string padded = StrCat(' ', trimmed, ' ');
  const auto has = [&padded](std::string_view wrong) { return padded.find(wrong) != std::string::npos; };
  const bool has_empty_name = has(",,") || has(", ") || has(" ,");
  const bool has_other_sign = trimmed != "*" && trimmed.find_first_of("*;:|") != std::string::npos;
  if (std::ranges::count(trimmed, ' ') > 1 || has_empty_name || has_other_sign)
    return values.Bad(key, "expected USER,... GROUP,... with one blank, or *");
  return !trimmed.empty() && text.starts_with(' ') ? " " + trimmed : trimmed;
}

// Returns the address of a portal; "" if it is not set. The default of the key is only an example, so it counts as not
// set.
Result<std::string> UrlOf(const PropertyValues& values, std::string_view key) {
  TRY_ASSIGN(std::string url, YarnText(values, key));
  if (url.empty() || url == FindKey(key)->default_value) return std::string();
  while (url.ends_with('/')) url.pop_back();
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return values.Bad(key, "expected http://HOST:PORT or https://HOST:PORT");
  return url;
}

// Reads the settings for YARN. As in TonY, tony.am.* is for the only task of a job without roles, and for the AM of
// other jobs. TonY's defaults of these keys are made for a JVM, so the AM does not use them.
Result<YarnSpec> ParseYarn(const PropertyValues& values, const std::filesystem::path& directory, bool single_task) {
  YarnSpec yarn;
  // The portal checks this list also for a job of one machine.
  TRY_ASSIGN(yarn.view_acl, AclText(values, "tony.yarn.view-acl"));
  if (SchedulerOf(values) != kYarnScheduler) return yarn;
  yarn.queue = std::string(Trim(values.Text(kQueue)));
  if (yarn.queue.empty() || std::ranges::any_of(yarn.queue, IsControl))
    return values.Bad(kQueue, "expected the name of a queue");
  TRY_ASSIGN(yarn.type, YarnText(values, kType));
  if (yarn.type.size() > kLongestType)
    return values.Bad(kType, StrCat("expected at most ", kLongestType, " characters"));
  TRY_ASSIGN(yarn.priority, values.Count("tony.yarn.priority", 0, INT32_MAX));
  TRY_ASSIGN(yarn.node_label, YarnText(values, "tony.application.node-label"));
  TRY_ASSIGN(yarn.placement_spec, ConstraintText(values, kJobPlacementKey));
  TRY_ASSIGN(yarn.am_node_label, YarnText(values, "tony.am.node-label"));
  if (yarn.am_node_label.empty()) yarn.am_node_label = yarn.node_label;
  TRY_ASSIGN(yarn.modify_acl, AclText(values, "tony.yarn.modify-acl"));
  yarn.other_name_nodes = values.List(kOtherNameNodesKey);
  TRY_ASSIGN(yarn.keytab, YarnText(values, kKeytabKey));
  if (!yarn.keytab.empty()) yarn.keytab = AbsolutePath(yarn.keytab, directory);
  TRY_ASSIGN(yarn.programs, YarnText(values, kProgramsKey));
  if (!yarn.programs.empty() && !ParseHdfsPlace(yarn.programs).ok())
    return values.Bad(kProgramsKey, "expected a folder of HDFS, such as hdfs:///apps/tony");
  TRY_ASSIGN(yarn.portal_url, UrlOf(values, "tony.portal.url"));
  if (!single_task && values.Has("tony.am.memory")) {
    TRY_ASSIGN(yarn.am_memory_mb, values.MemoryMb("tony.am.memory"));
  }
  if (!single_task && values.Has("tony.am.vcores")) {
    TRY_ASSIGN(yarn.am_vcores, values.Count("tony.am.vcores", 1, kMostAmCores));
  }
  TRY_ASSIGN(yarn.am_validity_interval, values.Millis("tony.yarn.am-validity-interval", 1));
  TRY_ASSIGN(yarn.gang_hold, values.Millis(kGangHold, 0));
  if (yarn.gang_hold > kLongestGangHold)
    return values.Bad(kGangHold, StrCat("expected at most ", kLongestGangHold.count(), ", in milliseconds"));
  return yarn;
}

// Returns the folder for the job's history. The key that the portal reads takes precedence, so the portal finds the
// history. TonY's application master knew only tony.history.location, and the portal found nothing if the two keys
// differed. The default of a key is only an example and counts as not set.
std::string ParseHistoryFolder(const PropertyValues& values, const std::filesystem::path& directory,
                               Warnings& warnings) {
  const bool is_explicit = values.Has(kHistoryIntermediate);
  const std::string_view key = is_explicit ? kHistoryIntermediate : kHistoryLocation;
  std::string folder(Trim(values.Text(key)));
  if (folder.empty() || folder == FindKey(key)->default_value) return {};
  if (!is_explicit) folder += "/intermediate";
  const bool is_local = folder.starts_with("file:");
  if (is_local) folder.erase(0, folder.starts_with("file://") ? 7 : 5);
  // As in TonY, a path without a scheme is in the cluster's file system.
  if (SchedulerOf(values) == kYarnScheduler && folder.starts_with('/') && !is_local) folder = "hdfs://" + folder;
  const auto place = ParseInHdfs(values, folder);
  if (place.ok()) return ToString(*place);
  if (folder.find("://") == std::string::npos && (is_local || SchedulerOf(values) != kYarnScheduler))
    return AbsolutePath(folder, directory);
  values.Warn(key, StrCat("TonY writes no history of this job: ", place.error().message), warnings);
  return {};
}

constexpr std::string_view kTonyPrefix = "tony.";
// Only this many unknown keys get a warning each, because a completely wrong file should not fill the screen.
constexpr int kMostUnknown = 20;

// Returns the part between "tony." and the next dot.
std::string_view SecondPart(std::string_view key) {
  key.remove_prefix(kTonyPrefix.size());
  return key.substr(0, key.find('.'));
}

bool IsOfRole(const Key* row) { return row && row->name.starts_with("tony.<role>."); }

// Returns whether the key would be known if its role had a valid name.
bool HasBadRole(const std::string& key) {
  if (IsReservedRole(SecondPart(key))) return false;
  const size_t end = kTonyPrefix.size() + SecondPart(key).size();
  return IsOfRole(FindKey(StrCat("tony.role", std::string_view(key).substr(end))));
}

bool NamesAGroup(const std::string& key) {
  return key.starts_with("tony.application.group.") || key.find(".timeout.after.") != key.npos;
}

std::string UnknownText(const std::string& key, const Property& property) {
  const std::string ignored = StrCat(key, " (from ", property.origin, "): ");
  if (HasBadRole(key)) return ignored + "ignored, as in LinkedIn's TonY: a role's name has lower-case letters only";
  const std::string nearest = NearestKey(key);
  if (!nearest.empty()) return StrCat(ignored, "unknown key, ignored; did you mean ", nearest, "?");
  return ignored + (NamesAGroup(key)
                        ? "ignored, as in LinkedIn's TonY: a role's name has lower-case letters only, and a group's "
                          "name has letters only"
                        : "unknown key, ignored");
}

class KeyCheck {
 public:
  KeyCheck(const PropertyValues& values, Warnings& warnings) : values_(values), warnings_(warnings) {}

  void Run() {
    for (const auto& [key, property] : values_.properties().all()) {
      if (key.starts_with(kTonyPrefix)) CheckKey(key, property);
    }
    if (unknown_ > kMostUnknown)
      warnings_.push_back(StrCat(unknown_ - kMostUnknown, " more unknown tony.* keys are ignored"));
  }

 private:
  void CheckKey(const std::string& key, const Property& property) {
    const Key* row = FindKey(key);
    if (!row) {
      if (++unknown_ <= kMostUnknown) warnings_.push_back(UnknownText(key, property));
      return;
    }
    NoteNoEffect(key, property, *row);
    if (IsOfRole(row)) CheckRole(key, property);
  }

  void NoteNoEffect(const std::string& key, const Property& property, const Key& row) {
    const std::string why = WhyNoEffect(row, scheduler_);
    if (why.empty() || row.effect == KeyEffect::kNotNeeded || IsDefault(row, property.value)) return;
    warnings_.push_back(StrCat(key, " (from ", property.origin, "): accepted, ", why));
  }

  // A role whose instances are set to 0 is switched off on purpose, so its keys cause no warning.
  void CheckRole(const std::string& key, const Property& property) {
    const std::string instances = StrCat(kTonyPrefix, SecondPart(key), ".instances");
    if (values_.Has(instances)) return;
    warnings_.push_back(StrCat(key, " (from ", property.origin, "): ignored, because ", instances, " is not set"));
  }

  const PropertyValues& values_;
  const std::string scheduler_ = SchedulerOf(values_);
  Warnings& warnings_;
  int unknown_ = 0;
};

}  // namespace

std::string SchedulerOf(const PropertyValues& values) { return ToLower(Trim(values.Text(kScheduler))); }

std::filesystem::path AbsolutePath(const std::string& text, const std::filesystem::path& directory) {
  const auto base = directory.empty() ? std::filesystem::current_path() : std::filesystem::absolute(directory);
  const auto path = (base / ExpandTilde(text)).lexically_normal();
  return path.has_filename() ? path : path.parent_path();  // "src/" -> "src"
}

Result<ParsedJobSpec> ParseJobSpec(const Properties& given, const std::filesystem::path& directory) {
  TRY_ASSIGN(auto sweep, ParseSweep(given, directory));
  const Properties properties = sweep ? WithTrials(given, *sweep) : given;
  Problems problems;
  const PropertyValues values(properties, problems);
  ParsedJobSpec parsed;
  JobSpec& spec = parsed.spec;
  TRY(CheckUtf8(values));
  parsed.warnings = properties.warnings();
  parsed.is_tony_job = properties.is_tony_job();
  parsed.configuration = EffectiveConfiguration(properties);
  // Each part is read even if another part is wrong, so that all errors are reported at once.
  const auto take = [&problems](auto part, auto& into) {
    if (part.ok()) {
      into = *std::move(part);
    } else {
      problems.Note(part.error());
    }
  };
  const auto check = [&problems](const Status& part) {
    if (!part.ok()) problems.Note(part.error());
  };
  take(ParseFramework(values), spec.framework);
  take(ParseMode(values), spec.mode);
  CheckKeys(values, parsed.warnings);
  ParsedRoles roles;
  take(ParseRoles(values, parsed.warnings), roles);
  if (roles.single_task) spec.framework = FrameworkKind::kStandalone;
  spec.roles = std::move(roles.roles);
  spec.completion_rule = roles.completion_rule;
  take(ParseName(values), spec.name);
  take(ParseTags(values), spec.tags);
  take(UrlOf(values, "tony.page.url"), spec.page_url);
  spec.scheduler = SchedulerOf(values);
  take(ParseYarn(values, directory, roles.single_task), spec.yarn);
  ParsedEnvironment environment;
  take(ParseEnvironment(values, parsed.warnings), environment);
  spec.execution_env = std::move(environment.execution);
  spec.container_env = std::move(environment.container);
  parsed.secrets = std::move(environment.secrets);
  check(ParseFiles(values, directory, roles.single_task, spec));
  check(ParseImages(values, roles.single_task, spec));
  take(ParseSiteFiles(values, directory), parsed.site_files);
  take(ParseTimers(values, parsed.warnings), spec.timers);
  check(ParseLimits(values, parsed.warnings, spec));
  take(ParseRestartRules(values, parsed.warnings), spec.restart);
  take(ParseCheckpoint(values, directory, parsed.warnings), spec.checkpoint);
  take(ParseFailureRules(values), spec.failure_rules);
  spec.history_folder = ParseHistoryFolder(values, directory, parsed.warnings);
  take(values.Seconds("tony.azkaban.watch-timeout", 1, kYearSeconds), parsed.watch_timeout);
  TRY(problems.All(parsed.warnings));
  RunScriptsByPython(spec, parsed.warnings);
  TRY(AddFrameworkCommands(values, spec));
  if (sweep) TRY(CompleteTrials(properties, *sweep, spec));
  spec.sweep = std::move(sweep);
  return parsed;
}

Result<std::string> ConstraintText(const PropertyValues& values, std::string_view key) {
  TRY_ASSIGN(std::string text, YarnText(values, key));
  if (text.empty()) return text;
  const auto parsed = ParsePlacementConstraint(text);
  if (!parsed.ok()) return values.Bad(key, parsed.error().message);
  return text;
}

void CheckKeys(const PropertyValues& values, Warnings& warnings) { KeyCheck(values, warnings).Run(); }

void Fields(auto& io, Is<ConfiguredValue> auto& value) {
  io.Field("key", value.key);
  io.Field("value", value.value);
  io.Field("source", value.source);
}

std::string ToJson(const Configuration& configuration) { return WriteJson(configuration); }

// A configuration is a JSON list. The reader accepts only objects, so the list becomes the member of an object.
Result<Configuration> ConfigurationFromJson(std::string_view text) {
  Configuration configuration;
  TRY(ReadJsonObject(StrCat(R"({"values":)", text, "}"), "configuration",
                     [&](JsonReader& io) { io.Field("values", configuration); }));
  return configuration;
}

}  // namespace tony
