#include "runtime/yarn/yarn_submission.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/yarn/executor_context.h"
#include "runtime/yarn/yarn_job_place.h"

namespace tony {
namespace {

constexpr size_t kMostTags = 10;     // YarnConfiguration.APPLICATION_MAX_TAGS
constexpr size_t kLongestTag = 100;  // APPLICATION_MAX_TAG_LENGTH

bool MayBeTag(const std::string& text) {
  return !text.empty() && text.size() <= kLongestTag &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

std::set<std::string> TagsOf(const JobSpec& spec) {
  std::set<std::string> tags;
  for (const std::string& tag : spec.tags)
    if (tags.size() < kMostTags && MayBeTag(tag)) tags.insert(ToLower(tag));
  return tags;
}

std::optional<Duration> LifetimeOf(const JobSpec& spec) {
  if (spec.timeout == Duration(0)) return std::nullopt;
  return spec.timeout + spec.timers.grace + std::chrono::minutes(1);
}

Result<hadoop::Submission> SubmissionOf(const YarnCluster& cluster, const JobRecords& records) {
  const auto id = hadoop::ParseApplicationId(records.job().value);
  if (!id) return Error{ErrorCode::kInvalid, StrCat("\"", records.job().value, "\" is no application id")};
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  MasterShipment shipment{.job = records.job(),
                          .program = kMasterProgram,
                          .arguments = {},
                          .environment = {{kClusterVariable, ToText(cluster)}, {"HADOOP_USER_NAME", cluster.user}}};
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
                            .max_attempts = 1,
                            .am_resource = {spec.yarn.am_memory_mb, spec.yarn.am_vcores, {}},
                            .am_label = spec.yarn.am_node_label,
                            .label = spec.yarn.node_label,
                            .lifetime = LifetimeOf(spec),
                            .am = std::move(context)};
}

}  // namespace tony
