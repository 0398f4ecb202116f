#include "runtime/framework/horovod.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"
#include "runtime/job/json_fields.h"
#include "runtime/job/outputs.h"

namespace tony {
namespace {

namespace json = boost::json;

// Returns the worker of each rank that GlobalRank() gives.
std::map<int, TaskId> HorovodTasks(const JobSpec& spec) {
  std::map<int, TaskId> tasks;
  for (const RoleSpec& role : spec.roles)
    for (TaskId task{role.name, 0}; task.index < role.instances; ++task.index)
      if (const int rank = GlobalRank(spec, task); rank >= 0) tasks[rank] = task;
  return tasks;
}

// Assigns slots as Horovod's get_host_assignments() does: host by host, in the order of the list.
std::vector<HorovodSlot> SlotsOf(const std::vector<std::pair<std::string, int>>& hosts) {
  int size = 0;
  for (const auto& [host, workers] : hosts) size += workers;
  std::vector<HorovodSlot> slots;
  std::map<int, int> cross_ranks;  // by local rank
  for (const auto& [host, workers] : hosts)
    for (int local = 0; local < workers; ++local)
      slots.push_back({.host = host,
                       .rank = static_cast<int>(slots.size()),
                       .size = size,
                       .local_rank = local,
                       .local_size = workers,
                       .cross_rank = cross_ranks[local]++});
  for (HorovodSlot& slot : slots) slot.cross_size = cross_ranks[slot.local_rank];
  return slots;
}

constexpr std::pair<const char*, int HorovodSlot::*> kSlotMembers[] = {
    {"rank", &HorovodSlot::rank},           {"size", &HorovodSlot::size},
    {"localRank", &HorovodSlot::local_rank}, {"localSize", &HorovodSlot::local_size},
    {"crossRank", &HorovodSlot::cross_rank}, {"crossSize", &HorovodSlot::cross_size},
};

// Reads one slot. The drivers of TonY's examples write the numbers as numbers or as texts.
std::optional<HorovodSlot> ReadSlot(const json::value& value) {
  const json::object* members = value.if_object();
  const json::value* host = members ? members->if_contains("hostname") : nullptr;
  if (!host || !host->is_string()) return std::nullopt;
  HorovodSlot slot{.host = std::string(host->get_string())};
  for (const auto& [name, member] : kSlotMembers) {
    const json::value* found = members->if_contains(name);
    if (!found) return std::nullopt;
    const auto number = ParseInt(found->is_string() ? std::string(found->get_string()) : json::serialize(*found));
    if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
    slot.*member = static_cast<int>(*number);
  }
  return slot;
}

std::optional<std::vector<HorovodSlot>> ReadSlots(std::string_view text) {
  boost::system::error_code error;
  const json::value plan = json::parse(text, error);
  if (error || !plan.is_array()) return std::nullopt;
  std::vector<HorovodSlot> slots;
  for (const json::value& each : plan.get_array()) {
    const auto slot = ReadSlot(each);
    if (!slot) return std::nullopt;
    slots.push_back(*slot);
  }
  std::ranges::sort(slots, {}, &HorovodSlot::rank);
  return slots;
}

std::string WriteSlots(const std::vector<HorovodSlot>& slots) {
  json::array plan;
  for (const HorovodSlot& slot : slots) {
    json::object& members = plan.emplace_back(json::object()).get_object();
    members["hostname"] = slot.host;
    for (const auto& [name, member] : kSlotMembers) members[name] = slot.*member;
  }
  return json::serialize(plan);
}

// Returns the slot of the worker that is number `local` on its host; null if the plan has none.
const HorovodSlot* FindSlot(const std::vector<HorovodSlot>& slots, const std::string& host, int local) {
  std::vector<const HorovodSlot*> of_host;
  for (const HorovodSlot& slot : slots)
    if (slot.host == host) of_host.push_back(&slot);
  std::ranges::sort(of_host, {}, &HorovodSlot::local_rank);
  return static_cast<size_t>(local) < of_host.size() ? of_host[static_cast<size_t>(local)] : nullptr;
}

Environment DriverEnvironment(const ClusterSpec& cluster, const TaskId& task, const std::string& workers) {
  const Endpoint& own = EndpointOf(cluster, task);
  return {{"CLUSTER_WORKER_LIST", workers},
          {"HOROVOD_GLOO_RENDEZVOUS_ADDR", own.host},
          {"HOROVOD_GLOO_RENDEZVOUS_PORT", StrCat(own.port)}};
}

// Returns the number of the worker among those on its own host.
int NumberOnHost(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& worker) {
  int number = 0;
  for (const auto& [rank, task] : HorovodTasks(spec)) {
    if (task == worker) break;
    if (EndpointOf(cluster, task).host == EndpointOf(cluster, worker).host) ++number;
  }
  return number;
}

}  // namespace

Result<std::vector<HorovodSlot>> HorovodSlots(std::string_view workers) {
  std::vector<std::pair<std::string, int>> hosts;
  for (const std::string& each : Split(workers, ',')) {
    const auto host = ParseEndpoint(each, 0);
    if (!host) return Error{ErrorCode::kInvalid, StrCat("\"", each, "\": expected HOST:WORKERS")};
    hosts.emplace_back(host->host, host->port);
  }
  if (hosts.empty()) return Error{ErrorCode::kInvalid, "the list of workers is empty"};
  return SlotsOf(hosts);
}

std::string HorovodWorkers(const JobSpec& spec, const ClusterSpec& cluster) {
  std::vector<std::pair<std::string, int>> hosts;
  for (const auto& [rank, task] : HorovodTasks(spec)) {
    const std::string& host = EndpointOf(cluster, task).host;
    const auto known = std::ranges::find(hosts, host, &std::pair<std::string, int>::first);
    if (known == hosts.end()) {
      hosts.emplace_back(host, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> list;
  for (const auto& [host, workers] : hosts) list.push_back(StrCat(host, ":", workers));
  return Join(list, ",");
}

Result<std::string> MakeHorovodPlan(int port, std::string_view text, std::string_view workers) {
  TRY_ASSIGN(const std::vector<HorovodSlot> usual, HorovodSlots(workers));
  const auto slots = ReadSlots(text);
  if (!slots) return Error{ErrorCode::kInvalid, "the driver's plan is not a list of slots"};
  if (*slots == usual) return StrCat(port);
  for (const HorovodSlot& slot : usual) {
    if (FindSlot(*slots, slot.host, slot.local_rank)) continue;
    return Error{ErrorCode::kInvalid, StrCat("the driver's plan has no slot for worker number ", slot.local_rank + 1,
                                             " of host ", slot.host, "; the workers are ", workers)};
  }
  std::string plan = StrCat(port, " ", WriteSlots(*slots));
  if (IsPublishable(kHorovodPlan, plan)) return plan;
  return Error{ErrorCode::kInvalid,
               StrCat("the driver's plan has ", plan.size(), " bytes, expected at most ", kLongestPublishedValue,
                      "; the plan of get_host_assignments(parse_hosts(CLUSTER_WORKER_LIST), 1) may be longer")};
}

Status CheckHorovod(const JobSpec& spec) {
  const RoleSpec* driver = spec.FindRole(kHorovodDriver);
  if (!driver || driver->instances != 1 || driver->completion != Completion::kUntracked)
    return Error{ErrorCode::kInvalid,
                 StrCat("framework horovod needs exactly one untracked task of role driver; set ",
                        "tony.driver.instances=1 and tony.application.untracked.jobtypes=driver")};
  return Ok();
}

Environment HorovodEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int) {
  const std::string workers = HorovodWorkers(spec, cluster);
  if (task.role == kHorovodDriver) return DriverEnvironment(cluster, task, workers);
  if (GlobalRank(spec, task) < 0) return {};
  const TaskId driver{std::string(kHorovodDriver), 0};
  const std::string& plan = cluster.values.at(driver).at(std::string(kHorovodPlan));
  const size_t blank = std::min(plan.find(' '), plan.size());
  const auto given = ReadSlots(std::string_view(plan).substr(blank));
  const auto usual = HorovodSlots(workers);
  CHECK(usual.ok());
  const HorovodSlot* slot =
      FindSlot(given ? *given : *usual, EndpointOf(cluster, task).host, NumberOnHost(spec, cluster, task));
  Environment environment = {{"HOROVOD_CONTROLLER", "gloo"},
                             {"HOROVOD_CPU_OPERATIONS", "gloo"},
                             {"HOROVOD_GLOO_RENDEZVOUS_ADDR", EndpointOf(cluster, driver).host},
                             {"HOROVOD_GLOO_RENDEZVOUS_PORT", plan.substr(0, blank)},
                             // TonY's value. Workers wait this long for each other.
                             {"HOROVOD_GLOO_TIMEOUT_SECONDS", "2000"}};
  if (!slot) return environment;
  environment.merge(Environment{{"HOROVOD_CROSS_RANK", StrCat(slot->cross_rank)},
                                {"HOROVOD_CROSS_SIZE", StrCat(slot->cross_size)},
                                {"HOROVOD_HOSTNAME", slot->host},
                                {"HOROVOD_LOCAL_RANK", StrCat(slot->local_rank)},
                                {"HOROVOD_LOCAL_SIZE", StrCat(slot->local_size)},
                                {"HOROVOD_RANK", StrCat(slot->rank)},
                                {"HOROVOD_SIZE", StrCat(slot->size)}});
  return environment;
}

}  // namespace tony
