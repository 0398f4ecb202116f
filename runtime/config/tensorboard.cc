#include "runtime/config/tensorboard.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/config/keys.h"
#include "runtime/os/tilde.h"

namespace tony {
namespace {

const std::string kLogDir = "tony.application.tensorboard-log-dir";
const std::string kSidecars = "tony.application.sidecar.jobtypes";
const std::string kBoardInstances = "tony.tensorboard.instances";
const std::string kVenv = "tony.python-venv";
constexpr std::string_view kRole = "tensorboard";

bool HasRoles(const Properties& properties) {
  return std::ranges::any_of(properties.all(), [](const auto& entry) {
    const Key* row = FindKey(entry.first);
    return row && row->name == "tony.<role>.instances" && Trim(entry.second.value) != "0";
  });
}

// On one machine TensorBoard listens where it does by default, on the loopback alone.
std::string Command(const std::string& python, const Properties& properties) {
  const Property* scheduler = properties.Find("tony.scheduler");
  const bool on_yarn = scheduler && ToLower(Trim(scheduler->value)) == "yarn";
  return StrCat("exec ", python, R"( -m tensorboard.main --logdir "$TB_LOG_DIR" --port "$TB_PORT")",
                on_yarn ? " --bind_all" : "");
}

void SetUnlessSet(const std::string& key, Property property, Properties& properties) {
  if (!properties.Has(key)) properties.Set(key, std::move(property));
}

}  // namespace

void AddTensorBoard(const std::string& python, Properties& properties) {
  if (!properties.Has(kLogDir)) return;
  Property folder = *properties.Find(kLogDir);
  folder.value = ExpandTilde(std::move(folder.value));
  SetUnlessSet("tony.execution.env.TB_LOG_DIR", folder, properties);
  if (properties.Has(kBoardInstances) || !HasRoles(properties)) return;
  properties.Set(kBoardInstances, {"1", folder.origin});
  const std::string of_venv = properties.Has(kVenv) ? "venv/bin/python3" : "python3";
  SetUnlessSet("tony.tensorboard.command", {Command(python.empty() ? of_venv : python, properties), folder.origin},
               properties);
  const Property* sidecars = properties.Find(kSidecars);
  if (!sidecars) return;  // the default has it
  const auto names = Split(sidecars->value, ',');
  if (std::ranges::any_of(names, [](const auto& name) { return Trim(name) == kRole; })) return;
  properties.Set(kSidecars,
                 {StrCat(sidecars->value, Trim(sidecars->value).empty() ? "" : ",", kRole), sidecars->origin});
}

}  // namespace tony
