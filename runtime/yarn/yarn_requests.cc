#include "runtime/yarn/yarn_requests.h"

#include <algorithm>
#include <iterator>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/job/cluster_spec.h"

namespace tony {
namespace {

// The time for which a failure counts against its node. A NodeManager checks its disks every two minutes, and a
// NodeManager that restarted no longer has its earlier problems. Older failures therefore mean nothing.
constexpr std::chrono::minutes kRemembered(10);
constexpr int kMostFailures = 2;

}  // namespace

std::set<std::string> FailingNodes::ToAvoid(int all_nodes, Instant now) {
  std::set<std::string> avoided;
  for (auto& [host, failures] : failures_) {
    std::erase_if(failures, [now](Instant failure) { return failure + kRemembered <= now; });
    if (std::ssize(failures) >= kMostFailures) avoided.insert(host);
  }
  if (2 * std::ssize(avoided) > all_nodes) avoided.clear();
  return avoided;
}

std::string FailingNodes::WhyAvoided(const std::string& host) {
  return StrCat(host, " is avoided for ", kRemembered.count(), " minutes, because ", kMostFailures,
                " containers failed there");
}

namespace {

// The largest number of hosts that the requests of one line (the waiting attempts of one role and size) name. It is
// limited, because the ResourceManager stores a row for each host. This many hosts have room for a few hundred
// containers.
constexpr size_t kMostHosts = 200;
// A release is repeated until this many exchanges have been answered. A ResourceManager that works confirms a release
// within one or two exchanges. A ResourceManager that restarted may never confirm it.
constexpr int kAnswersToRelease = 10;

// Returns whether a container of the size `there` is large enough. It may be larger than `wanted`, because sizes are
// rounded up. Vcores are not compared: by default, a ResourceManager compares only memory, and grants one vcore
// whatever was requested (DefaultResourceCalculator).
bool Holds(const hadoop::Resource& there, const hadoop::Resource& wanted) {
  return there.memory_mib >= wanted.memory_mib && std::ranges::all_of(wanted.others, [&](const auto& other) {
           const auto found = there.others.find(other.first);
           if (found == there.others.end()) return false;
           const auto amount = InUnit(other.second, found->second.unit);
           return amount && *amount <= found->second.value;
         });
}

// Returns how many containers of this size the node has room for now.
int64_t RoomFor(const hadoop::Resource& size, const hadoop::NodeReport& node) {
  int64_t room = (node.capability.memory_mib - node.used.memory_mib) / std::max<int64_t>(1, size.memory_mib);
  for (const auto& [name, amount] : size.others) {
    const auto there = node.capability.others.find(name);
    const int64_t left = node.capability.Other(name) - node.used.Other(name);
    const auto each = there == node.capability.others.end() ? std::nullopt : InUnit(amount, there->second.unit);
    room = each ? std::min(room, left / std::max<int64_t>(1, *each)) : 0;
  }
  return room;
}

// Returns the request id of an attempt with a constraint or with tags, above the numbers of other lines: 40 bits for
// the role (its FNV-1a hash), 14 for the task, and 8 for the attempt. The ResourceManager serves the lowest id first.
// It refuses a request if it knows a different request with the same id, such as one from an earlier process of the AM.
// An id that counts lines would therefore not be safe.
int64_t ConstrainedId(const AttemptId& attempt) {
  uint64_t hash = 14695981039346656037U;
  for (const unsigned char sign : attempt.task.role) hash = (hash ^ sign) * 1099511628211U;
  const auto index = static_cast<uint64_t>(attempt.task.index), number = static_cast<uint64_t>(attempt.number);
  return static_cast<int64_t>(uint64_t{1} << 62 | hash >> 24 << 22 | index << 8 | number % 256);
}

}  // namespace

bool YarnRequests::Line::IsConstrained() const {
  return !placement_spec.empty() || !job_placement_spec.empty() || !tags.empty();
}

YarnRequests::Line& YarnRequests::LineOf(const ContainerRequest& ask) {
  const std::string& role = ask.attempt.task.role;
  const hadoop::Resource size = ToYarn(ask.resources);
  const bool is_constrained =
      !ask.placement_spec.empty() || !ask.job_placement_spec.empty() || !ask.allocation_tags.empty();
  for (auto& [number, line] : lines_) {
    if (!is_constrained && line.role == role && line.size == size && line.label == ask.node_label &&
        line.placement == ask.placement)
      return line;
  }
  if (std::ranges::count(roles_, role) == 0) roles_.push_back(role);
  Line& line = lines_[is_constrained ? ConstrainedId(ask.attempt) : ++last_line_];
  line.role = role;
  line.size = size;
  line.label = ask.node_label;
  line.placement = ask.placement;
  line.placement_spec = ask.placement_spec;
  line.job_placement_spec = ask.job_placement_spec;
  line.tags = ask.allocation_tags;
  return line;
}

void YarnRequests::Want(const ContainerRequest& ask) {
  Line& line = LineOf(ask);
  line.must_send |= line.waiting.insert(ask.attempt).second;
}

void YarnRequests::Withdraw(const AttemptId& attempt) {
  for (auto& [number, line] : lines_) line.must_send |= line.waiting.erase(attempt) > 0;
}

void YarnRequests::Release(const hadoop::ContainerId& container) {
  Uncount(container);
  released_.emplace(container, Released{});
}

void YarnRequests::Avoid(std::set<std::string> hosts) {
  if (hosts == avoided_) return;
  avoided_ = std::move(hosts);
  SetNodes(std::move(nodes_));
}

void YarnRequests::SetNodes(std::vector<hadoop::NodeReport> nodes) {
  nodes_ = std::move(nodes);
  for (auto& [number, line] : lines_) line.must_send |= !line.waiting.empty() && !line.IsConstrained() && !IsTold(line);
}

void YarnRequests::HandleRmRestart() {
  for (auto& [number, line] : lines_) {
    line.told.clear();
    line.in_exchange = line.is_rejected = false;
    line.must_send = !line.waiting.empty();
  }
  for (auto& [id, released] : released_) released = Released{};
  avoided_sent_.clear();
  avoided_may_be_unread_ = false;
}

int32_t YarnRequests::PriorityOf(const std::string& role) const {
  // 0 is the AM's own priority.
  return static_cast<int32_t>(std::ranges::find(roles_, role) - roles_.begin()) + 1;
}

// Returns the hosts that may run containers of `line` (the waiting attempts of one role and size), at most kMostHosts.
// The host that has the most room comes first. Hosts without room are included, because their containers may end before
// the nodes are listed again.
std::vector<std::pair<const hadoop::NodeReport*, int64_t>> YarnRequests::HostsFor(const Line& line) const {
  std::vector<std::pair<const hadoop::NodeReport*, int64_t>> hosts;
  for (const hadoop::NodeReport& node : nodes_) {
    const bool has_label = line.label.empty() ? node.labels.empty() : std::ranges::count(node.labels, line.label) > 0;
    if (node.state == hadoop::NodeReport::State::kRunning && has_label && Holds(node.capability, line.size) &&
        !avoided_.contains(node.id.host))
      hosts.push_back({&node, RoomFor(line.size, node)});
  }
  std::ranges::stable_sort(hosts, std::ranges::greater(), &decltype(hosts)::value_type::second);
  hosts.resize(std::min(hosts.size(), kMostHosts));
  return hosts;
}

// Returns how many containers the line requests at each host and rack. PACK: each place gets the full count, because a
// grant is counted at its host, its rack and "*". SPREAD: each host gets a share. Each container goes to the host with
// the fewest containers of this line, among the hosts that have room.
YarnRequests::Counts YarnRequests::PlacesOf(const Line& line) const {
  Counts places;
  const auto hosts = HostsFor(line);
  const auto all = static_cast<int32_t>(line.waiting.size());
  if (line.placement == Placement::kPack) {
    for (const auto& [node, room] : hosts) places[node->id.host] = places[node->rack] = all;
  }
  const auto load = [&](const auto& host) {
    const std::string& name = host.first->id.host;
    const auto given = line.given.find(name);
    const auto share = places.find(name);
    const int32_t more = share == places.end() ? 0 : share->second;
    return std::pair(host.second <= more, more + (given == line.given.end() ? 0 : given->second));
  };
  for (int32_t i = 0; line.placement == Placement::kSpread && !hosts.empty() && i < all; ++i) {
    const hadoop::NodeReport* node = std::ranges::min_element(hosts, {}, load)->first;
    ++places[node->id.host];
    ++places[node->rack];
  }
  places.erase("");
  return places;
}

// Returns true if the ResourceManager already has these rows. PACK compares only places, because the ResourceManager's
// counts per place differ from ours.
bool YarnRequests::IsTold(const Line& line) const {
  const Counts places = PlacesOf(line);
  Counts told = line.in_exchange ? line.telling : line.told;
  if (line.placement == Placement::kPack)
    return std::ranges::equal(places, told, {}, &Counts::value_type::first, &Counts::value_type::first);
  std::erase_if(told, [](const auto& row) { return row.second == 0; });
  return places == told;
}

// Returns the rows to send for a line. If a row was sent before and is not needed any more, it gets the count 0. With
// SPREAD, containers must not be granted at other places than the rows name.
std::vector<hadoop::ContainerRequest> YarnRequests::RowsOf(int64_t number, Line& line) const {
  line.telling = line.waiting.empty() ? Counts() : PlacesOf(line);
  hadoop::ContainerRequest row{.priority = PriorityOf(line.role), .request_id = number, .resource = line.size};
  row.relax = line.placement == Placement::kPack || line.telling.empty();
  std::vector<hadoop::ContainerRequest> rows;
  Counts places = line.telling;
  for (const auto& [place, count] : line.told) places.try_emplace(place, 0);
  for (const auto& [place, count] : places) {
    row.place = place;
    row.count = count;
    rows.push_back(row);
  }
  row.place = "*";
  row.count = static_cast<int32_t>(line.waiting.size());
  row.label = line.label;
  rows.push_back(row);
  // Rows with the count 0 stay in `told` until the answer proves that the ResourceManager has read the request.
  line.told = std::move(places);
  return rows;
}

hadoop::ConstrainedRequest YarnRequests::ConstrainedRequestOf(int64_t number, const Line& line) const {
  std::vector<PlacementConstraint> all;
  for (const std::string& text : {line.placement_spec, line.job_placement_spec}) {
    if (text.empty()) continue;
    auto parsed = ParsePlacementConstraint(text);
    CHECK(parsed.ok());  // the spec's reader has checked it
    all.push_back(*std::move(parsed));
  }
  // As in TonY, a container without tags has the empty tag, because a ResourceManager logs a warning if it has none.
  hadoop::ConstrainedRequest request{.priority = PriorityOf(line.role),
                                     .request_id = number,
                                     .tags = line.tags.empty() ? std::vector<std::string>{""} : line.tags,
                                     .resource = line.size,
                                     .count = static_cast<int32_t>(line.waiting.size())};
  if (all.size() == 1) request.constraint = std::move(all.front());
  if (all.size() > 1) request.constraint = {.form = PlacementConstraint::Form::kAnd, .parts = std::move(all)};
  return request;
}

hadoop::Asked YarnRequests::Next() {
  hadoop::Asked asked;
  for (auto& [number, line] : lines_) {
    if (!std::exchange(line.must_send, false)) continue;
    line.in_exchange = true;
    if (line.IsConstrained()) {
      asked.constrained.push_back(ConstrainedRequestOf(number, line));
      continue;
    }
    const auto rows = RowsOf(number, line);
    asked.asks.insert(asked.asks.end(), rows.begin(), rows.end());
  }
  for (auto& [id, released] : released_) {
    released.in_exchange = true;
    asked.release.push_back(id);
  }
  avoided_in_exchange_ = avoided_;
  std::ranges::set_difference(avoided_, avoided_may_be_unread_ ? std::set<std::string>() : avoided_sent_,
                              std::back_inserter(asked.avoid));
  std::ranges::set_difference(avoided_sent_, avoided_, std::back_inserter(asked.no_longer_avoid));
  return asked;
}

void YarnRequests::EndExchange(bool is_known_read) {
  for (auto& [number, line] : lines_) {
    if (!std::exchange(line.in_exchange, false)) continue;
    if (is_known_read) line.told = line.telling;
    line.must_send |= !is_known_read;
  }
  for (auto& [id, released] : released_) {
    if (std::exchange(released.in_exchange, false) && is_known_read) ++released.answers;
  }
  std::erase_if(lines_, [](const auto& each) {
    const Line& line = each.second;
    return line.IsConstrained() && line.waiting.empty() && !line.must_send;
  });
  avoided_may_be_unread_ = !is_known_read && !avoided_in_exchange_.empty();
  if (is_known_read) avoided_sent_.clear();
  avoided_sent_.insert(avoided_in_exchange_.begin(), avoided_in_exchange_.end());
}

std::optional<YarnGrant> YarnRequests::Give(const hadoop::Container& container) {
  const auto found = lines_.find(container.request_id);
  if (found == lines_.end()) return std::nullopt;
  Line& line = found->second;
  // The rows are sent again in three cases. (1) The container is not taken, although the ResourceManager subtracted it
  // from the rows. (2) The container was granted before the ResourceManager read the rows of this exchange, so it was
  // not subtracted from them. (3) No attempt waits any more, so rows of hosts and racks are left over.
  const bool is_taken = !line.waiting.empty() && Holds(container.resource, line.size);
  line.must_send |= !is_taken || line.in_exchange || line.waiting.size() == 1;
  if (!is_taken) return std::nullopt;
  Count(container, line);
  return YarnGrant{line.waiting.extract(line.waiting.begin()).value(), container};
}

void YarnRequests::Count(const hadoop::Container& container, Line& line) {
  const std::string& host = container.node.host;
  const auto node =
      std::ranges::find(nodes_, host, [](const auto& each) -> const std::string& { return each.id.host; });
  for (const std::string& place : {host, node == nodes_.end() ? std::string() : node->rack}) {
    for (Counts* counts : {&line.told, &line.telling}) {
      const auto count = counts->find(place);
      if (count != counts->end()) count->second = std::max(0, count->second - 1);
    }
  }
  ++line.given[host];
  given_[container.id] = {container.request_id, host};
}

void YarnRequests::Uncount(const hadoop::ContainerId& container) {
  const auto given = given_.extract(container);
  if (given.empty()) return;
  const auto& [number, host] = given.mapped();
  if (const auto line = lines_.find(number); line != lines_.end()) --line->second.given[host];
}

YarnRequests::News YarnRequests::Answered(const hadoop::Allocation& allocation) {
  News news;
  std::vector<hadoop::ContainerId> surplus;
  for (const hadoop::Container& container : allocation.granted) {
    if (!seen_.insert(container.id).second) continue;
    if (auto grant = Give(container)) {
      news.grants.push_back(*std::move(grant));
    } else {
      surplus.push_back(container.id);
    }
  }
  EndExchange(!allocation.may_be_repeated);
  for (auto& [number, line] : lines_) line.must_send |= std::exchange(line.is_rejected, false);
  for (const int64_t number : allocation.rejected)
    if (const auto line = lines_.find(number); line != lines_.end()) line->second.is_rejected = true;
  for (const hadoop::ContainerId& id : surplus) Release(id);
  for (const hadoop::ContainerStatus& status : allocation.ended) {
    Uncount(status.id);
    released_.erase(status.id);
  }
  for (const auto& [id, released] : released_) {
    if (released.answers >= kAnswersToRelease) news.forgotten.push_back(id);
  }
  for (const hadoop::ContainerId& id : news.forgotten) released_.erase(id);
  return news;
}

// Removes the refused lines, because they would be refused even with a count of 0. If the ResourceManager still grants
// containers for older rows of such a line, these belong to no line and are released.
std::vector<AttemptId> YarnRequests::Refused() {
  std::vector<AttemptId> refused;
  for (auto line = lines_.begin(); line != lines_.end();) {
    if (!line->second.in_exchange) {
      ++line;
      continue;
    }
    refused.insert(refused.end(), line->second.waiting.begin(), line->second.waiting.end());
    line = lines_.erase(line);
  }
  EndExchange(false);
  return refused;
}

bool YarnRequests::HasNews() const {
  return std::ranges::any_of(lines_, [](const auto& line) { return line.second.must_send; }) ||
         std::ranges::any_of(released_, [](const auto& released) { return released.second.answers == 0; }) ||
         avoided_ != avoided_sent_ || avoided_may_be_unread_;
}

std::optional<std::string> YarnRequests::WhyWaiting(ClusterRoom room) const {
  room.nodes = nodes_;
  room.avoided = avoided_;
  for (const auto& [number, line] : lines_) {
    if (line.waiting.empty()) continue;
    if (auto why = WhyNotGranted({line.size, line.label}, room)) return why;
    if (!line.placement_spec.empty() || !line.job_placement_spec.empty())
      return StrCat("the ResourceManager has found no free node yet that the placement constraint of role ", line.role,
                    " allows");
  }
  return std::nullopt;
}

int YarnRequests::Waiting() const {
  size_t waiting = 0;
  for (const auto& [number, line] : lines_) waiting += line.waiting.size();
  return static_cast<int>(waiting);
}

namespace {

struct Refusal {
  std::string key;  // e.g. "memory"
  std::string why;
};

// Returns the names of the cluster's resource types.
std::string TypesOf(const ContainerLimits& limits) {
  std::set<std::string> types(limits.types.begin(), limits.types.end());
  for (const auto& [type, most] : limits.maximum.others) types.insert(type);
  types.insert({"memory-mb", "vcores"});
  return Join({types.begin(), types.end()}, ", ");
}

std::string UnitText(const std::string& unit) { return unit.empty() ? "units" : unit; }

std::optional<Refusal> RefusalOf(const Resources& wanted, const ContainerLimits& limits) {
  constexpr std::string_view kMost = ", the maximum for a container in this cluster";
  const hadoop::Resource& most = limits.maximum;
  if (wanted.memory_mb > most.memory_mib)
    return Refusal{"memory", StrCat(wanted.memory_mb, " MB of memory is above ", most.memory_mib, " MB", kMost)};
  if (wanted.vcores > most.vcores)
    return Refusal{"vcores", StrCat(Counted(wanted.vcores, "vcore"), " is above ", most.vcores, kMost)};
  for (const auto& [type, amount] : ToYarn(wanted).others) {
    const std::string key = type == kGpuType ? "gpus" : StrCat("resource.", type);
    const auto there = most.others.find(type);
    if (there == most.others.end() && std::ranges::count(limits.types, type) == 0)
      return Refusal{key, StrCat("this cluster has no resource of the type ", type, "; it has ", TypesOf(limits))};
    if (there == most.others.end()) continue;
    const auto in_unit = InUnit(amount, there->second.unit);
    if (!in_unit)
      return Refusal{key, StrCat(ToString(amount), " is not a whole number of ", UnitText(there->second.unit),
                                 ": this cluster counts ", type, " in whole ", UnitText(there->second.unit))};
    if (*in_unit > there->second.value)
      return Refusal{key, StrCat(AmountText(type, amount), " is above ", ToString(there->second), kMost)};
  }
  return std::nullopt;
}

}  // namespace

hadoop::Resource ToYarn(const Resources& resources) {
  hadoop::Resource out{resources.memory_mb, resources.vcores, {}};
  for (const auto& [type, amount] : resources.others) out.others[type] = amount;
  if (resources.gpus > 0) out.others[kGpuType] = resources.gpus;
  return out;
}

std::optional<std::string> WhyNeverGranted(const Resources& wanted, const ContainerLimits& limits) {
  const auto refusal = RefusalOf(wanted, limits);
  return refusal ? std::optional(refusal->why) : std::nullopt;
}

std::optional<std::string> WhyNeverGranted(const JobSpec& spec, const ContainerLimits& limits) {
  for (const RoleSpec& role : spec.roles) {
    if (const auto refusal = RefusalOf(role.resources, limits))
      return StrCat(role.Key(refusal->key), ": ", refusal->why);
  }
  return std::nullopt;
}

bool RequestsOtherResources(const JobSpec& spec) {
  return std::ranges::any_of(spec.roles, [](const RoleSpec& role) { return !ToYarn(role.resources).others.empty(); });
}

std::optional<std::string> WhyTooMuch(const JobSpec& spec, const std::vector<hadoop::NodeReport>& nodes) {
  if (spec.mode != DistributedMode::kGang) return std::nullopt;
  std::map<std::string, std::string> units;  // value: the nodes' unit
  std::map<std::string, int64_t> there;
  for (const hadoop::NodeReport& node : nodes) {
    for (const auto& [type, amount] : node.capability.others) {
      units[type] = amount.unit;
      there[type] += amount.value;
    }
  }
  for (const RoleSpec& role : spec.roles) {
    for (const auto& [type, amount] : ToYarn(role.resources).others) {
      const auto of_role = [&, its_type = type](const RoleSpec& each) {
        const auto others = ToYarn(each.resources).others;
        const auto found = others.find(its_type);
        return found == others.end() ? 0 : int64_t{each.instances} * InUnit(found->second, units[its_type]).value_or(0);
      };
      const int64_t asked = LargestConcurrentSum(spec, of_role);
      if (asked > there[type])
        return StrCat("the tasks start together and request ", AmountText(type, {asked, units[type]}),
                      "; the running nodes have ", ToString(Amount{there[type], units[type]}),
                      ": the job waits until the nodes have more");
    }
  }
  return std::nullopt;
}

}  // namespace tony
