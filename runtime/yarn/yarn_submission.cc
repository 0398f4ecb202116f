#include "runtime/yarn/yarn_submission.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_connection.h"
#include "runtime/job/hdfs_place.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"
#include "runtime/yarn/cluster_login.h"
#include "runtime/yarn/container_launch.h"
#include "runtime/yarn/executor_context.h"
#include "runtime/yarn/yarn_ends.h"
#include "runtime/yarn/yarn_jobs.h"

namespace tony {
namespace {

constexpr size_t kMostTags = 10;     // YarnConfiguration.APPLICATION_MAX_TAGS
constexpr size_t kLongestTag = 100;  // APPLICATION_MAX_TAG_LENGTH

}  // namespace

std::set<std::string> TagsOf(const JobSpec& spec) {
  std::set<std::string> tags;
  for (const std::string& tag : spec.tags) {
    const bool is_printable = std::ranges::all_of(tag, [](char c) { return c >= ' ' && c <= '~'; });
    const bool may_be_tag = !tag.empty() && tag.size() <= kLongestTag && is_printable;
    if (may_be_tag && tags.size() < kMostTags) tags.insert(ToLower(tag));
  }
  return tags;
}

std::optional<Duration> LifetimeOf(const JobSpec& spec) {
  if (spec.timeout == Duration(0)) return std::nullopt;
  return spec.timeout + spec.timers.grace + std::chrono::minutes(1);
}

Result<hadoop::Submission> SubmissionOf(const YarnCluster& cluster, const JobRecords& records) {
  const auto id = hadoop::ParseApplicationId(records.job().value);
  if (!id) return InvalidError("\"", records.job().value, "\" is not an application id");
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  AmInputs shipment{.job = records.job(),
                    .program = kMasterProgram,
                    .arguments = {},
                    .https_trust = cluster.trust,
                    .runtime = RuntimeVariables(spec, spec.yarn.am_image),
                    .environment = {{kClusterVariable, ToText(cluster)}, {"HADOOP_USER_NAME", cluster.user}}};
  TRY_ASSIGN(shipment.credentials, TokensForJob(cluster, spec));
  if (!spec.yarn.keytab.empty()) {
    TRY_ASSIGN(shipment.keytab, ReadFile(spec.yarn.keytab));
  }
  TRY_ASSIGN(shipment.secrets.token, records.ReadToken());
  TRY_ASSIGN(shipment.secrets.of_tasks, records.ReadSecrets());
  TRY_ASSIGN(const JobCertificates certificates, ReadCertificates(records));
  shipment.secrets.tls = certificates.master;
  shipment.executors_tls = certificates.executor;
  TRY_ASSIGN(shipment.files, ReadFiles(records));
  TRY_ASSIGN(const auto staged, records.ReadStaged());
  if (staged) shipment.staged = staged->am;
  TRY_ASSIGN(hadoop::LaunchContext context, MakeMasterContext(shipment));
  SetAcls(spec.yarn, context);
  return hadoop::Submission{.id = *id,
                            .name = spec.name,
                            .queue = spec.yarn.queue,
                            .type = spec.yarn.type,
                            .tags = TagsOf(spec),
                            .priority = spec.yarn.priority,
                            .failure_validity = spec.yarn.am_validity_interval,
                            .keep_containers = true,
                            .shares_tokens = HasTokenFile(),
                            .am_resource = {spec.yarn.am_memory_mb, spec.yarn.am_vcores, {}},
                            .am_label = spec.yarn.am_node_label,
                            .label = spec.yarn.node_label,
                            .lifetime = LifetimeOf(spec),
                            .am = std::move(context)};
}

namespace {

std::string SizeText(const Resources& size) {
  std::string others = size.gpus > 0 ? StrCat(" and ", Counted(size.gpus, "GPU")) : "";
  for (const auto& [type, amount] : size.others) others += StrCat(" and ", AmountText(type, amount));
  return StrCat(size.memory_mb, " MB, ", Counted(size.vcores, "vcore"), others);
}

std::string ImageText(const std::string& image) { return image.empty() ? "" : StrCat(", in the image ", image); }

std::string LabelText(const std::string& label) {
  return label.empty() ? "" : StrCat(", on a node with the label ", label);
}

std::string PlacementText(const std::string& role_spec, const std::string& job_spec) {
  const std::string both = role_spec.empty() || job_spec.empty() ? "" : " and ";
  return role_spec.empty() && job_spec.empty() ? "" : StrCat(", on nodes that meet ", role_spec, both, job_spec);
}

std::string AllocationTagsText(const std::vector<std::string>& tags) {
  return tags.empty() ? "" : StrCat(", with the allocation tag", tags.size() > 1 ? "s " : " ", Join(tags, ", "));
}

std::string WhoText(const std::string& acl) {
  return StrCat("by its user", acl.empty() ? " only" : StrCat(" and \"", acl, "\""));
}

void AddAsked(const YarnCluster& cluster, const JobSpec& spec, PlannedSteps& steps) {
  const auto ask = [&](std::string text) { steps.push_back({"asked", std::move(text)}); };
  const auto tags = TagsOf(spec);
  ask(StrCat("the ResourceManager at ", ToText(cluster.rms), ", as user ", cluster.user, ", for an application \"",
             spec.name, "\" of the type ", spec.yarn.type, " in queue ", spec.yarn.queue, " with priority ",
             spec.yarn.priority, tags.empty() ? "" : StrCat(" and the tags ", Join({tags.begin(), tags.end()}, ", "))));
  ask(StrCat("the application may be viewed ", WhoText(spec.yarn.view_acl), ", and ended ",
             WhoText(spec.yarn.modify_acl)));
  if (const auto lifetime = LifetimeOf(spec))
    ask(StrCat("a lifetime of ", lifetime->count() / 1000,
               " s, after which YARN ends the application if its application master has not ended it"));
  ask(StrCat("1 container of ", SizeText({.memory_mb = spec.yarn.am_memory_mb, .vcores = spec.yarn.am_vcores}),
             " for the application master", LabelText(spec.yarn.am_node_label), ImageText(spec.yarn.am_image)));
  if (!spec.yarn.keytab.empty())
    ask(StrCat("the application master gets the keytab ", spec.yarn.keytab, " in its container's credentials"));
  for (const RoleSpec& role : spec.roles)
    ask(StrCat(Counted(role.AtOnce(), "container"), role.AtOnce() < role.instances ? " at a time" : "", " of ",
               SizeText(role.resources), " for role ", role.name, LabelText(role.node_label),
               PlacementText(role.placement_spec, spec.yarn.placement_spec), AllocationTagsText(role.allocation_tags),
               ImageText(role.image)));
  ask(spec.mode == DistributedMode::kGang ? "all containers before any task starts"
                                          : "each task starts when its container is ready");
}

Status AddProgram(const std::string& name, PlannedSteps& steps) {
  const std::string file = SiblingProgram(name);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (error) return NotFoundError(file, ": ", error.message());
  steps.push_back({"shipped", StrCat(file, " (", bytes, " bytes)")});
  return Ok();
}

void AddFile(const FileSpec& file, const std::string& whom, PlannedSteps& steps) {
  const std::string as = file.name.empty() ? StrCat(" to ", whom, "'s folder")
                                           : StrCat(" to ", whom, " as ", file.name, file.archive ? ", unpacked" : "");
  steps.push_back({"shipped", IsInHdfs(file.source) ? StrCat(file.source, as, ", fetched from there by the nodes")
                                                    : StrCat(file.source, as)});
}

Status AddShipped(const YarnCluster& cluster, const JobSpec& spec, PlannedSteps& steps) {
  const std::string hdfs = StrCat("hdfs://", HdfsAuthority(cluster.name_node));
  const HdfsPlaces places = PlacesIn(cluster);
  const std::string programs = spec.yarn.programs.empty() ? hdfs + places.programs : spec.yarn.programs;
  steps.push_back({"shipped", StrCat("programs to ", programs, ", and files to ", places.staged,
                                     ", where each one is stored once, under the hash of its content:")});
  TRY(AddProgram("tony-yarn-am.tar.gz", steps));
  TRY(AddProgram("tony-executor", steps));
  if (!spec.src_dir.empty()) AddFile(SrcDirOf(spec), "each task", steps);
  if (!spec.python_venv.empty()) AddFile(VenvOf(spec), "each task", steps);
  for (const FileSpec& file : spec.files) AddFile(file, "each task", steps);
  for (const RoleSpec& role : spec.roles)
    for (const FileSpec& file : role.files) AddFile(file, StrCat("each ", role.name), steps);
  for (const FileSpec& file : spec.am_files) AddFile(file, "the application master", steps);
  steps.push_back(
      {"shipped", StrCat("spec, token and certificates to ", hdfs, JobsFolder(cluster), "/<application id>")});
  return Ok();
}

Status AddStarted(const JobSpec& spec, PlannedSteps& steps) {
  AmInputs master{.program = kMasterProgram};
  master.files[kMasterFolder] = {};
  TRY_ASSIGN(const auto of_master, MakeMasterContext(master));
  steps.push_back({"started", StrCat("application master: ", of_master.command)});
  ExecutorInputs executors;
  executors.files[kExecutorFile] = {};
  TRY_ASSIGN(const auto of_executor, MakeExecutorContext(executors, {}));
  steps.push_back({"started", StrCat("for each task: ", of_executor.command)});
  for (const RoleSpec& role : spec.roles)
    steps.push_back({"started", StrCat("by each executor, as ", role.name, ": bash -c ", hadoop::OneLine(role.command),
                                       role.processes > 1 ? StrCat(", ", role.processes, " times") : "")});
  return Ok();
}

}  // namespace

Result<PlannedSteps> PlanOnYarn(const YarnCluster& cluster, const JobSpec& spec) {
  PlannedSteps steps;
  AddAsked(cluster, spec, steps);
  TRY(AddShipped(cluster, spec, steps));
  TRY(AddStarted(spec, steps));
  return steps;
}

}  // namespace tony
