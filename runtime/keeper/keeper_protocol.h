// The messages between the AM and the keeper (supervisor of the job) over keeper.sock, one message per packet.
//
//   AM      -> keeper   Hello, then Renew repeatedly; Launch, Stop, Finish at any time. The socket of the job's page
//                       comes with the Hello, as a descriptor beside the message. A keeper that has the socket ignores
//                       it, and a keeper of an earlier release does not see it.
//   keeper  -> AM       Inventory (in parts) after Hello; then Queued or Admitted, once known and after each change;
//                       Renewed after each Renew; Started, Exited; Finished
//
// message_fields.h defines the bytes of a message. A message has version 2 only if it has a field that version 1 lacks.
// A job of an earlier release may have a keeper or an AM of version 1, because such a job has no programs of its own.
// Any other version is an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/job/scheduler_events.h"

namespace tony {

// The greatest size of a message. It fits the smallest usual send buffer of a socket (208 KiB), with room for the
// kernel's overhead.
inline constexpr size_t kMaxKeeperMessage = 128 * 1024;

struct AmHello {
  // The epoch of the AM. The keeper closes the connection of every AM except the newest.
  Epoch epoch;
};
struct AmRenew {
  // The time of the request by the AM's clock. KeeperRenewed returns the same value.
  int64_t stamp = 0;
};
// The program to start in a container.
struct LaunchSpec {
  std::vector<std::string> argv;
  // The variables of the program, each as "NAME=value". The keeper adds the variables that it gives to every process.
  std::vector<std::string> env;
  std::string log_file;  // for stdout and stderr
  Resources resources;   // limits of the container
};
struct LaunchContainer {
  ContainerId container;
  LaunchSpec what;
};
struct StopContainer {
  ContainerId container;
  StopMode mode = StopMode::kTerm;
};
struct FinishJob {
  // The final status with its verdict and without tasks, if the AM could not write it into the job's folder. Empty: the
  // folder has the status.
  std::string status_json;
};
using KeeperRequest = std::variant<AmHello, AmRenew, LaunchContainer, StopContainer, FinishJob>;

struct KeeperInventory {
  std::vector<ContainerId> running;
  // All ended containers of the job, including those that were reported to an earlier AM.
  std::vector<ContainerExited> exited;
  bool last = true;  // no further parts follow
};
struct KeeperRenewed {
  int64_t stamp = 0;
};
// The end of the job is recorded, and no AM is started again.
struct JobFinished {};
// The job now holds what it requests of this machine, so its containers start.
struct JobAdmitted {};
struct JobQueued {  // Sent again when the reason changes.
  // The pending reason, e.g. "waits for 8192 MB of memory: 4096 of 24000 MB are free; 1 job is before it".
  std::string why;
};
using KeeperReport = std::variant<KeeperInventory, KeeperRenewed, ContainerStarted, ContainerExited, JobFinished,
                                  JobAdmitted, JobQueued>;

std::string Encode(const KeeperRequest& request);
std::string Encode(const KeeperReport& report);
Result<KeeperRequest> DecodeRequest(std::string_view message);  // kInvalid: not a valid message
Result<KeeperReport> DecodeReport(std::string_view message);

// Splits the inventory into parts that each fit a message. Returns at least one part, which may be empty.
std::vector<KeeperInventory> InParts(const KeeperInventory& whole);

}  // namespace tony
