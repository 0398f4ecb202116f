#include "runtime/keeper/keeper_protocol.h"

#include <algorithm>

#include "runtime/job/job_fields.h"
#include "runtime/keeper/message_fields.h"

namespace tony {
namespace {

// The number of containers in one part of an inventory. Container names are short and error texts are cut, so a part
// stays far below kMaxKeeperMessage.
constexpr size_t kEntriesPerPart = 100;
constexpr size_t kMaxErrorText = 1000;

bool NeedsVersion2(const auto&) { return false; }
bool NeedsVersion2(const FinishJob& m) { return !m.status_json.empty(); }
bool NeedsVersion2(const ContainerExited& m) { return m.left; }
bool NeedsVersion2(const KeeperInventory& m) { return std::ranges::any_of(m.exited, &ContainerExited::left); }

template <class Variant>
std::string EncodeInOldestVersion(const Variant& message) {
  const bool two = std::visit([](const auto& fields) { return NeedsVersion2(fields); }, message);
  return EncodeMessage(message, two ? kMessageVersion : kFirstMessageVersion);
}

}  // namespace

void Fields(auto& io, Is<AmHello> auto& m) { io.Field("epoch", m.epoch); }
void Fields(auto& io, Is<AmRenew> auto& m) { io.Field("stamp", m.stamp); }
void Fields(auto& io, Is<LaunchContainer> auto& m) {
  io.Field("container", m.container);
  io.Field("argv", m.what.argv);
  io.Field("env", m.what.env);
  io.Field("log_file", m.what.log_file);
  io.Field("resources", m.what.resources);
}
void Fields(auto& io, Is<StopContainer> auto& m) {
  io.Field("container", m.container);
  io.Field("mode", m.mode);
}
void Fields(auto& io, Is<FinishJob> auto& m) { io.Later("status_json", m.status_json); }
void Fields(auto& io, Is<KeeperInventory> auto& m) {
  io.Field("running", m.running);
  io.Field("exited", m.exited);
  io.Field("last", m.last);
}
void Fields(auto& io, Is<KeeperRenewed> auto& m) { io.Field("stamp", m.stamp); }
void Fields(auto& io, Is<ContainerStarted> auto& m) { io.Field("container", m.container); }
void Fields(auto& io, Is<ContainerExited> auto& m) {
  io.Field("container", m.container);
  io.Field("status", m.status);
  io.Field("error", m.error);
  io.Later("left", m.left);
}
void Fields(auto&, Is<JobFinished> auto&) {}
void Fields(auto&, Is<JobAdmitted> auto&) {}
void Fields(auto& io, Is<JobQueued> auto& m) { io.Field("why", m.why); }

std::string Encode(const KeeperRequest& request) { return EncodeInOldestVersion(request); }
std::string Encode(const KeeperReport& report) { return EncodeInOldestVersion(report); }

Result<KeeperRequest> DecodeRequest(std::string_view message) {
  return DecodeMessage<KeeperRequest>(message, "request to the keeper");
}

Result<KeeperReport> DecodeReport(std::string_view message) {
  return DecodeMessage<KeeperReport>(message, "report of the keeper");
}

std::vector<KeeperInventory> InParts(const KeeperInventory& whole) {
  std::vector<KeeperInventory> parts;
  const auto room = [&]() -> KeeperInventory& {
    const bool full = parts.empty() || parts.back().running.size() + parts.back().exited.size() >= kEntriesPerPart;
    if (full) parts.push_back({{}, {}, /*last=*/false});
    return parts.back();
  };
  for (const auto& container : whole.running) room().running.push_back(container);
  for (const auto& exit : whole.exited) {
    auto& kept = room().exited.emplace_back(exit);
    kept.error.resize(std::min(kept.error.size(), kMaxErrorText));
  }
  if (parts.empty()) parts.emplace_back();
  parts.back().last = true;
  return parts;
}

}  // namespace tony
