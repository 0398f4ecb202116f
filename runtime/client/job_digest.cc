#include "runtime/client/job_digest.h"

#include "runtime/base/strings.h"
#include "runtime/config/configuration.h"
#include "runtime/os/sha256.h"

namespace tony {
namespace {

// Joins texts into one text for hashing. The separator is a NUL, which no part contains, so two different lists never
// give the same text.
class Parts {
 public:
  template <class... T>
  void Add(const T&... parts) {
    ((text_ += StrCat(parts, '\0')), ...);
  }
  std::string Hash() const { return Sha256Hex(text_); }

 private:
  std::string text_;
};

std::string CommandText(const JobSpec& spec) {
  Parts parts;
  parts.Add(ToString(spec.framework), ToString(spec.mode));
  for (const RoleSpec& role : spec.roles) parts.Add(role.name, role.command);
  return parts.Hash();
}

std::string Roles(const JobSpec& spec) {
  Parts parts;
  for (const RoleSpec& role : spec.roles) {
    const Resources& each = role.resources;
    parts.Add(role.name, role.instances, ToString(role.completion), each.memory_mb, each.vcores, each.gpus);
    for (const auto& [type, amount] : each.others) parts.Add("resource", type, ToString(amount));
    for (const auto& [other, until] : role.depends_on) parts.Add("after", other, ToString(until));
    for (const OutliveLimit& rule : role.outlives) parts.Add("outlives", Join(rule.roles, ","), rule.limit.count());
    if (role.name == kTrialRole && spec.sweep) parts.Add("trials", Join(spec.sweep->trials, ","));
    if (role.min_succeeded > 0) parts.Add("succeeded", role.min_succeeded);
    if (role.min_failed) parts.Add("failed", *role.min_failed);
  }
  if (spec.completion_rule != CompletionRule::kStrict) parts.Add(ToString(spec.completion_rule));
  return parts.Hash();
}

std::string EnvironmentText(const ParsedJobSpec& job) {
  Parts parts;
  for (const auto& [name, value] : job.secrets) parts.Add(name);
  parts.Add("");
  for (const auto* variables : {&job.spec.container_env, &job.spec.execution_env}) {
    for (const auto& [name, value] : *variables) {
      parts.Add(name);
      if (!IsSecretName(name)) parts.Add("=", value);
    }
    parts.Add("");
  }
  return parts.Hash();
}

std::string Checkpoints(const CheckpointSpec& checkpoint) {
  Parts parts;
  parts.Add(checkpoint.directory, checkpoint.pattern, checkpoint.resume_latest ? "latest" : "own");
  return parts.Hash();
}

}  // namespace

SubmitDigest DigestOf(const ParsedJobSpec& job, const std::string& content) {
  return {{{"command", CommandText(job.spec)},
           {"roles", Roles(job.spec)},
           {"environment", EnvironmentText(job)},
           {"checkpoints", Checkpoints(job.spec.checkpoint)},
           {"files", Sha256Hex(content)}}};
}

}  // namespace tony
