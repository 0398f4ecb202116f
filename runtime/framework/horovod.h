// Horovod's slot plan: the rank of each worker, over all machines and within its own machine. A driver task runs the
// rendezvous server (executor/horovod_driver.h) at which the workers exchange their addresses. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/framework/framework.h"

namespace tony {

// The role of the rendezvous server. Every other tracked role has workers.
inline constexpr std::string_view kHorovodDriver = "driver";

// The value that the driver publishes: the server's port, such as "4711". A plan that differs from HorovodSlots()
// follows as JSON: "9999 [{"hostname":"h1","rank":0,...}]". Users of LinkedIn's TonY write this JSON in their drivers.
inline constexpr std::string_view kHorovodPlan = "HOROVOD_PLAN";

// The place of one worker. The names are Horovod's: "local" counts the workers of one host, "cross" the hosts that have
// a worker with the same local rank.
struct HorovodSlot {
  std::string host;
  int rank = 0, size = 0;
  int local_rank = 0, local_size = 0;
  int cross_rank = 0, cross_size = 0;
  bool operator==(const HorovodSlot&) const = default;
};

// Reads and writes a list of hosts with the number of their workers, such as "h1:2,h2:1".
Result<std::vector<HorovodSlot>> HorovodSlots(std::string_view workers);
std::string HorovodWorkers(const JobSpec& spec, const ClusterSpec& cluster);

// Returns kHorovodPlan for the JSON that a user's driver has written. kInvalid: the text is not such a plan, a worker
// has no slot, or the plan is too long to be published.
Result<std::string> MakeHorovodPlan(int port, std::string_view json, std::string_view workers);

// The functions of Horovod's row in the table of frameworks.
Status CheckHorovod(const JobSpec& spec);
Environment HorovodEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int process);

}  // namespace tony
