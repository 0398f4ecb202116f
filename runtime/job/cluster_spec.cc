#include "runtime/job/cluster_spec.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <set>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"

namespace tony {
namespace {

constexpr int64_t kMaxPort = 65535;

std::optional<Endpoint> ParseEndpoint(std::string_view text) {
  // The last colon separates the port, because an IPv6 address has colons too.
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto port = ParseInt(text.substr(colon + 1));
  if (!port || *port < 1 || *port > kMaxPort) return std::nullopt;
  return Endpoint{std::string(text.substr(0, colon)), static_cast<int>(*port)};
}

// The text form of an address, which only the writer uses. The reader calls ParseEndpoint() itself, so that the error
// message can quote the wrong address.
constexpr TextForm kHostAndPort{[](const Endpoint& endpoint) { return ToString(endpoint); },
                                [](std::string_view text) { return ParseEndpoint(text); }, "host:port"};

// Reads the named values of each task from the member `what`, if it exists.
template <class Named>
Status ReadNamed(JsonReader& document, std::string_view what, std::map<TaskId, Named>& all, Between range = {}) {
  if (!document.Has(what)) return Ok();
  JsonReader by_task = document.Nested(what);
  for (const std::string& text : by_task.Names()) {
    TRY_ASSIGN(const TaskId task, ParseTaskId(text));
    by_task.Field(text, all[task], range);
  }
  return by_task.status();
}

template <class Named>
void WriteNamed(JsonWriter& document, std::string_view what, const std::map<TaskId, Named>& all) {
  if (all.empty()) return;
  document.Object(what, [&](JsonWriter& by_task) {
    for (const auto& [task, named] : all) by_task.Field(ToString(task), named);
  });
}

using Until = Dependency::Until;

// Returns a circle of roles that wait for each other ("a -> b -> a"), or "". Searches depth first and visits each role
// once. `path` is the list of roles from the start of the search to the present role.
std::string FindCircle(const JobSpec& spec, const std::string& role, std::vector<std::string>& path,
                       std::set<std::string>& seen) {
  if (const auto start = std::ranges::find(path, role); start != path.end()) {
    std::vector<std::string> circle(start, path.end());
    circle.push_back(role);
    return Join(circle, " -> ");
  }
  if (!seen.insert(role).second) return "";
  path.push_back(role);
  for (const Dependency& dependency : spec.FindRole(role)->depends_on) {
    if (std::string circle = FindCircle(spec, dependency.role, path, seen); !circle.empty()) return circle;
  }
  path.pop_back();
  return "";
}

}  // namespace

int ClusterSpec::ProcessesOf(const std::string& role) const {
  const auto found = processes.find(role);
  return found == processes.end() ? 1 : found->second;
}

bool IsPortName(std::string_view name) {
  constexpr size_t kLongest = 32;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.empty() || name.size() > kLongest || !is_letter(name.front())) return false;
  return std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::string ToJson(const ClusterSpec& spec) {
  return WriteJsonObject([&](JsonWriter& io) {
    io.Field("generation", spec.generation);
    io.Field("roles", spec.roles, kHostAndPort);
    WriteNamed(io, "ports", spec.ports);
    WriteNamed(io, "values", spec.values);
    io.IfSet("processes", spec.processes);
  });
}

Result<ClusterSpec> ClusterSpecFromJson(std::string_view text) {
  TRY_ASSIGN(const boost::json::value document, ParseJson(text, "cluster spec"));
  JsonReader fields(document);
  ClusterSpec spec;
  spec.generation.value = fields.Int("generation");
  JsonReader roles = fields.Nested("roles");
  for (const auto& role : roles.Names()) {
    auto& endpoints = spec.roles[role];
    for (const auto& item : roles.Strings(role)) {
      const auto endpoint = ParseEndpoint(item);
      if (!endpoint) roles.Fail(role, StrCat("host:port, not \"", item, "\""));
      endpoints.push_back(endpoint.value_or(Endpoint{}));
    }
  }
  const Status ports = ReadNamed(fields, "ports", spec.ports, Between{1, kMaxPort});
  const Status values = ReadNamed(fields, "values", spec.values);
  fields.IfSet("processes", spec.processes, Between{1, kMostProcesses});
  for (const auto& status : {fields.status(), ports, values}) {
    if (!status.ok()) return Annotate(status.error(), "cluster spec");
  }
  return spec;
}

bool IsPreprocess(const RoleSpec& role) { return role.name == kPreprocess && role.key_prefix == "tony.am"; }

bool HasPreprocess(const JobSpec& spec) {
  const RoleSpec* role = spec.FindRole(kPreprocess);
  return role && IsPreprocess(*role);
}

std::optional<DependencyFault> FindFault(const JobSpec& spec) {
  for (const RoleSpec& role : spec.roles) {
    for (const Dependency& dependency : role.depends_on) {
      const RoleSpec* other = spec.FindRole(dependency.role);
      if (!other) return DependencyFault{role.name, StrCat("the job has no role \"", dependency.role, "\"")};
      if (other->completion == Completion::kSidecar)
        return DependencyFault{role.name, StrCat("role ", other->name, " is a sidecar, and the job does not wait for sidecars")};
      if (dependency.until == Until::kReady || other->completion == Completion::kTracked) continue;
      return DependencyFault{
          role.name, StrCat("role ", other->name, " is ", ToString(other->completion),
                            ", so the job does not wait for its end; expected a tracked role, or ", other->name, ":ready")};
    }
  }
  std::set<std::string> seen;
  for (const RoleSpec& role : spec.roles) {
    std::vector<std::string> path;
    const std::string circle = FindCircle(spec, role.name, path, seen);
    if (!circle.empty())
      return DependencyFault{circle.substr(0, circle.find(' ')), "roles wait for each other: " + circle};
  }
  return std::nullopt;
}

Status CheckDependencies(const JobSpec& spec) {
  const auto fault = FindFault(spec);
  if (!fault) return Ok();
  return Error{ErrorCode::kInvalid, StrCat(spec.FindRole(fault->role)->Key("depends-on"), ": ", fault->why)};
}

bool IsBefore(const JobSpec& spec, std::string_view role, std::string_view other) {
  std::set<std::string_view> seen = {other};
  std::vector<std::string_view> left = {other};
  while (!left.empty()) {
    const RoleSpec& waiting = *spec.FindRole(left.back());
    left.pop_back();
    for (const Dependency& dependency : waiting.depends_on) {
      if (dependency.role == role && dependency.until == Until::kSucceeded) return true;
      if (seen.insert(dependency.role).second) left.push_back(dependency.role);
    }
  }
  return false;
}

bool IsAwaited(const JobSpec& spec, std::string_view role, Until until) {
  return std::ranges::any_of(spec.roles, [&](const RoleSpec& other) {
    return std::ranges::count(other.depends_on, Dependency{std::string(role), until}) > 0;
  });
}

JobSpec ConcurrentRoles(const JobSpec& spec, std::string_view role) {
  JobSpec with = spec;
  std::erase_if(with.roles, [&](const RoleSpec& other) {
    return IsBefore(spec, other.name, role) || IsBefore(spec, role, other.name);
  });
  return with;
}

int64_t LargestConcurrentSum(const JobSpec& spec, const std::function<int64_t(const RoleSpec&)>& amount) {
  constexpr size_t kMostSearched = 12;
  const size_t count = spec.roles.size();
  const bool any = std::ranges::any_of(spec.roles, [](const RoleSpec& role) { return !role.depends_on.empty(); });
  const bool searched = any && count <= kMostSearched;
  // For each role: a bit mask of the roles that never run at the same time as this role.
  std::vector<uint32_t> others(count);
  for (size_t i = 0; searched && i < count; ++i) {
    for (size_t j = 0; j < count; ++j)
      if (IsBefore(spec, spec.roles[i].name, spec.roles[j].name)) {
        others[i] |= 1u << j;
        others[j] |= 1u << i;
      }
  }
  int64_t most = 0;
  const uint32_t all = (uint32_t{1} << std::min(count, kMostSearched)) - 1;
  for (uint32_t chosen = searched ? 1 : all; chosen <= all; ++chosen) {
    int64_t sum = 0;
    bool together = true;
    for (size_t i = 0; i < count; ++i) {
      if (searched && !(chosen >> i & 1)) continue;
      together = together && !(others[i] & chosen);
      sum += amount(spec.roles[i]);
    }
    if (together) most = std::max(most, sum);
  }
  return most;
}

std::vector<std::string> AwaitedRoles(const RoleSpec& role) {
  std::vector<std::string> names;
  for (const auto& [name, until] : role.depends_on) names.push_back(name + (until == Until::kReady ? " (ready)" : ""));
  return names;
}

}  // namespace tony
