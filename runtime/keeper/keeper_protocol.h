// What the AM and the keeper say to each other over keeper.sock, one message a packet.
//
//   AM      -> keeper   Hello, then Renew again and again; Launch, Stop, Finish at any time. The socket of the job's
//   page
//                       comes with the Hello, as a descriptor beside the message; a keeper that holds it has no use for
//                       it, and one of an earlier release does not see it
//   keeper  -> AM       Inventory (in parts) after Hello, then Queued or Admitted, as soon as that is known and when it
//                       changes; Renewed after each Renew; Started, Exited; Finished
//
// message_fields.h says how a message stands in bytes. A message has version 2 only where it has a field that version 1
// lacks, because a job of a release that kept no programs of its own may have a keeper or a master of version 1. Each
// other version is an error.
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

// Fits the smallest usual send buffer of a socket (208 KiB) with room for the kernel's own.
inline constexpr size_t kMaxKeeperMessage = 128 * 1024;

struct AmHello {
  Epoch epoch;  // the keeper closes the connection of any but the newest
};
struct AmRenew {
  int64_t stamp = 0;  // comes back in KeeperRenewed: the AM's own time of asking
};
// What to start in a container: a program.
struct LaunchSpec {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value", beside what the keeper gives every process
  std::string log_file;          // its stdout and stderr
  Resources resources;           // what the container may use
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
  // The status with its verdict and no tasks, for a keeper that does not find it in the job's folder. Empty: it is
  // there.
  std::string status_json;
};
using KeeperRequest = std::variant<AmHello, AmRenew, LaunchContainer, StopContainer, FinishJob>;

struct KeeperInventory {
  std::vector<ContainerId> running;
  std::vector<ContainerExited> exited;  // of the whole job, also those told to an earlier AM
  bool last = true;                     // no more parts follow
};
struct KeeperRenewed {
  int64_t stamp = 0;
};
struct JobFinished {};  // recorded: no AM is started again
struct JobAdmitted {};  // what the job asks for of this machine is its own: containers start
struct JobQueued {      // told again when the reason changes
  std::string why;      // "waits for 8192 MB of memory: 4096 of 24000 MB are free; 1 job is before it"
};
using KeeperReport = std::variant<KeeperInventory, KeeperRenewed, ContainerStarted, ContainerExited, JobFinished,
                                  JobAdmitted, JobQueued>;

std::string Encode(const KeeperRequest& request);
std::string Encode(const KeeperReport& report);
Result<KeeperRequest> DecodeRequest(std::string_view message);  // kInvalid
Result<KeeperReport> DecodeReport(std::string_view message);

// The inventory in parts that each fit a message. Never none: the last part may be empty.
std::vector<KeeperInventory> InParts(const KeeperInventory& whole);

}  // namespace tony
