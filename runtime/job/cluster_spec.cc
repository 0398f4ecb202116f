#include "runtime/job/cluster_spec.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"

namespace tony {

namespace json = boost::json;

namespace {

constexpr int64_t kMaxPort = 65535;

std::optional<Endpoint> ParseEndpoint(std::string_view text) {
  const size_t colon = text.rfind(':');  // the last one: an IPv6 host has its own
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto port = ParseInt(text.substr(colon + 1));
  if (!port || *port < 1 || *port > kMaxPort) return std::nullopt;
  return Endpoint{std::string(text.substr(0, colon)), static_cast<int>(*port)};
}

Result<std::map<TaskId, NamedPorts>> ReadPorts(JsonFields fields) {
  std::map<TaskId, NamedPorts> ports;
  for (const std::string& name : fields.Names()) {
    TRY_ASSIGN(const TaskId task, ParseTaskId(name));
    JsonFields of_task = fields.Fields(name);
    for (const std::string& port : of_task.Names())
      ports[task][port] = static_cast<int>(of_task.Int(port, 1, kMaxPort));
    TRY(of_task.status());
  }
  TRY(fields.status());
  return ports;
}

}  // namespace

bool IsPortName(std::string_view name) {
  constexpr size_t kLongest = 32;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.empty() || name.size() > kLongest || !is_letter(name.front())) return false;
  return std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::string ToJson(const ClusterSpec& spec) {
  json::object roles;
  for (const auto& [role, endpoints] : spec.roles) {
    json::array list;
    for (const auto& endpoint : endpoints) list.emplace_back(ToString(endpoint));
    roles[role] = std::move(list);
  }
  json::object document;
  document["generation"] = spec.generation.value;
  document["roles"] = std::move(roles);
  json::object ports;
  for (const auto& [task, named] : spec.ports) {
    auto& of_task = ports[ToString(task)].emplace_object();
    for (const auto& [name, port] : named) of_task[name] = port;
  }
  if (!ports.empty()) document["ports"] = std::move(ports);
  return SerializeJson(document);
}

Result<ClusterSpec> ClusterSpecFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "cluster spec"));
  JsonFields fields(document);
  ClusterSpec spec;
  spec.generation.value = fields.Int("generation");
  JsonFields roles = fields.Fields("roles");
  for (const auto& role : roles.Names()) {
    auto& endpoints = spec.roles[role];
    for (const auto& item : roles.Strings(role)) {
      const auto endpoint = ParseEndpoint(item);
      if (!endpoint) roles.Fail(role, StrCat("host:port, not \"", item, "\""));
      endpoints.push_back(endpoint.value_or(Endpoint{}));
    }
  }
  auto ports = fields.Has("ports") ? ReadPorts(fields.Fields("ports")) : std::map<TaskId, NamedPorts>();
  if (!ports.ok()) return Annotate(ports.error(), "cluster spec");
  spec.ports = *std::move(ports);
  for (const auto& status : {fields.status(), roles.status()}) {
    if (!status.ok()) return Annotate(status.error(), "cluster spec");
  }
  return spec;
}

}  // namespace tony
