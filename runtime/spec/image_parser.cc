// The images of a job's containers: TonY's keys tony.docker.*, which need tony.docker.enabled, and ours.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/job_spec.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

constexpr std::string_view kEnabled = "tony.docker.enabled";
constexpr std::string_view kDockerImage = "tony.docker.containers.image";
constexpr std::string_view kDockerMounts = "tony.docker.containers.mount";
constexpr std::string_view kImage = "tony.containers.image";
constexpr std::string_view kMounts = "tony.containers.mounts";

// Returns the value of the first of `keys` that is set; "" if the value is "none" or no key is set.
Result<std::string> FirstImage(const PropertyValues& values, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (!values.Has(key)) continue;
    std::string image(Trim(values.Text(key)));
    const bool is_word = std::ranges::all_of(image, [](char c) { return c > ' ' && c <= '~'; });
    if (!is_word || image.starts_with('-'))
      return values.Bad(key, "expected the name of an image, such as localhost/train:1");
    return image == "none" ? std::string() : image;
  }
  return std::string();
}

std::string DockerKey(std::string_view role) { return StrCat("tony.docker.", role, ".image"); }

Result<std::string> ImageOf(const PropertyValues& values, const RoleSpec& role, bool docker) {
  std::vector<std::string> keys = {role.Key("image")};
  if (docker) keys.push_back(DockerKey(role.key_prefix.empty() ? role.name : "am"));
  keys.emplace_back(kImage);
  if (docker) keys.emplace_back(kDockerImage);
  return FirstImage(values, keys);
}

// On YARN the text goes to the nodes as it is, because their configuration may allow other forms.
Result<std::string> MountsOf(const PropertyValues& values, const JobSpec& spec, bool docker) {
  const std::string_view key = docker && !values.Has(kMounts) ? kDockerMounts : kMounts;
  std::string mounts(Trim(values.Text(key)));
  if (!spec.UsesPodman()) return mounts;
  if (const auto parsed = ParseMounts(mounts); !parsed.ok()) return values.Bad(key, parsed.error().message);
  return mounts;
}

}  // namespace

Status ParseImages(const PropertyValues& values, bool single_task, JobSpec& spec) {
  TRY_ASSIGN(const bool docker, values.Flag(kEnabled));
  for (RoleSpec& role : spec.roles) {
    TRY_ASSIGN(role.image, ImageOf(values, role, docker));
  }
  const bool has_image = std::ranges::any_of(spec.roles, [](const RoleSpec& role) { return !role.image.empty(); });
  if (docker && !has_image)
    return values.Bad(kEnabled, StrCat("no role has an image; set ", kDockerImage, " or ", DockerKey("<role>")));
  TRY_ASSIGN(spec.mounts, MountsOf(values, spec, docker));
  if (spec.scheduler != kYarnScheduler) return Ok();
  // In a job without roles tony.am.image is for its only task, as tony.am.memory is.
  std::vector<std::string> keys;
  if (!single_task) keys.emplace_back("tony.am.image");
  if (docker) keys.insert(keys.end(), {DockerKey("am"), std::string(kDockerImage)});
  TRY_ASSIGN(spec.yarn.am_image, FirstImage(values, keys));
  return Ok();
}

}  // namespace tony
