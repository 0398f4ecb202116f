#include "runtime/yarn/master_wait.h"

#include <optional>
#include <string_view>

#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_failure.h"

namespace tony {
namespace {

using hadoop::ApplicationState;

bool Has(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

// What stands behind "NAME = ", up to the next semicolon.
std::string Detail(const std::string& text, std::string_view name) {
  const size_t at = text.find(StrCat(name, " = "));
  if (at == std::string::npos) return "?";
  const std::string rest = text.substr(at + name.size() + 3);
  return std::string(Trim(rest.substr(0, rest.find(';'))));
}

// "<memory:8192, vCores:32>"
std::string Amount(const std::string& detail) {
  constexpr std::string_view kMemory = "<memory:", kVcores = ", vCores:";
  const size_t comma = detail.find(kVcores);
  if (!detail.starts_with(kMemory) || comma == std::string::npos) return detail;
  const std::string memory = detail.substr(kMemory.size(), comma - kMemory.size());
  const std::string cores = detail.substr(comma + kVcores.size());
  return StrCat(memory, " MB and ", cores.substr(0, cores.find_first_of(",>")), " vcores");
}

std::string NoRoomForMasters(const std::string& text, const std::string& whose, std::string_view limit) {
  return StrCat(whose, " may have ", Amount(Detail(text, limit)), " for masters, of which ",
                Amount(Detail(text, "Queue AM Resource Usage")), " are in use in the queue; this one asks for ",
                Amount(Detail(text, "AM Resource Request")));
}

// Those of CSAMContainerLaunchDiagnosticsConstants and AMState.
std::string WordsOf(const std::string& text, const hadoop::ApplicationReport& report) {
  const std::string queue = StrCat("queue ", report.queue);
  if (Has(text, "Queue's AM resource limit exceeded"))
    return NoRoomForMasters(text, queue, "Queue Resource Limit for AM");
  if (Has(text, "User's AM resource limit exceeded"))
    return NoRoomForMasters(text, StrCat("user ", report.user, " in ", queue), "User AM Resource Limit of the queue");
  if (Has(text, "cluster resource is empty")) return "the cluster has no node now";
  if (Has(text, "is Activated, waiting for resources"))
    return StrCat(queue, " has no room for it: the queue uses ", Detail(text, "Queue's Absolute used capacity"),
                  " of the cluster, where ", Detail(text, "Queue's Absolute max capacity"), " are the most");
  if (Has(text, "has assigned a container for AM")) return "its container is being started";
  if (Has(text, "AM container is launched")) return "its container is started, and it has not registered yet";
  // The node's stack trace follows. The verdict has it.
  if (const size_t end = text.find("Failing this attempt"); end != std::string::npos)
    return std::string(Trim(text.substr(0, end)));
  return text.empty() || text == "N/A" ? StrCat(queue, " has not taken it in yet") : text;
}

}  // namespace

std::string WhyMasterWaits(const hadoop::ApplicationReport& report) {
  if (report.state >= ApplicationState::kRunning) return "";
  return StrCat("waits for its master: ", WordsOf(hadoop::OneLine(report.diagnostics), report));
}

}  // namespace tony
