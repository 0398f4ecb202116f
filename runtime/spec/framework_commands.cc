// The commands with which some frameworks begin: Ray's nodes, and the driver of Horovod.
#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/spec/parser_parts.h"

namespace tony {
namespace {

// Ray's share of a node's memory for objects, and its smallest value: ray_constants.py.
constexpr double kObjectStoreShare = 0.3;
constexpr int64_t kLeastObjectStoreMb = 75;

// Returns the beginning of the command of each node. Ray would otherwise take all cores, GPUs and memory of the machine
// for its own. Its files are in the task's folder, because nodes that start at the same time in one folder overwrite
// each other's sockets. A link makes the paths of the sockets short enough (107 bytes). All attempts of a task use the
// same link, so that a killed attempt leaves none.
std::string RayStart(const RoleSpec& role) {
  const Resources& own = role.resources;
  const auto store = std::max(static_cast<int64_t>(static_cast<double>(own.memory_mb) * kObjectStoreShare),
                              kLeastObjectStoreMb);
  const auto bytes = [](int64_t megabytes) { return megabytes << 20; };
  constexpr std::string_view kFolder =
      "ray_link=/tmp/ray-$(cksum <<< \"$TONY_JOB_ID $TONY_TASK\" | cut -d' ' -f1) && mkdir -p ray && "
      "ln -sfn \"$PWD/ray\" \"$ray_link\" && trap 'rm -f \"$ray_link\"' EXIT && ";
  // `ray start --head` refuses to run with RAY_ADDRESS.
  return StrCat(kFolder, "env -u RAY_ADDRESS ray start --temp-dir=\"$ray_link\"",
                " --node-ip-address=\"$RAY_NODE_HOST\" --num-cpus=", own.vcores,
                " --num-gpus=", own.gpus, " --memory=", bytes(std::max(own.memory_mb - store, kLeastObjectStoreMb)),
                " --object-store-memory=", bytes(store), " --disable-usage-stats");
}

// The head node starts, tells the other nodes, and runs the job's program.
void StartRayHead(RoleSpec& role) {
  role.command = StrCat(RayStart(role), " --head --port=\"$RAY_HEAD_PORT\" --include-dashboard=false",
                        " && echo READY=\"$RAY_ADDRESS\" >> \"$TONY_PUBLISH_FILE\" && {\n", role.command, "\n}");
}

void StartRayNode(RoleSpec& role) {
  role.command = StrCat(RayStart(role), " --address=\"$RAY_ADDRESS\" --block");
}

}  // namespace

bool StartsRayNode(const PropertyValues& values, std::string_view role) {
  const std::vector<std::string> sidecars = values.List("tony.application.sidecar.jobtypes");
  return ToLower(Trim(values.Text("tony.application.framework"))) == "ray" && role != "head" &&
         std::ranges::find(sidecars, role) == sidecars.end() && !values.Has(StrCat("tony.", role, ".command"));
}

Status AddFrameworkCommands(const PropertyValues& values, JobSpec& spec) {
  TRY_ASSIGN(const bool has_own_driver, values.Flag("tony.horovod.driver.mode.debug"));
  for (RoleSpec& role : spec.roles) {
    if (spec.framework == FrameworkKind::kHorovod && has_own_driver && role.name == "driver")
      role.command = StrCat("exec \"$TONY_EXECUTOR\" --horovod-driver ", ShellWord(role.command));
    if (spec.framework == FrameworkKind::kRay && role.name == "head") StartRayHead(role);
    if (StartsRayNode(values, role.name)) StartRayNode(role);
  }
  return Ok();
}

}  // namespace tony
