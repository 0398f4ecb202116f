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

// What each task has of `what`; nothing where there is no such field. `read` gets one by its name.
template <class Named, class Read>
Status ReadNamed(JsonReader& document, std::string_view what, std::map<TaskId, Named>& all, Read read) {
  if (!document.Has(what)) return Ok();
  JsonReader by_task = document.Nested(what);
  for (const std::string& text : by_task.Names()) {
    TRY_ASSIGN(const TaskId task, ParseTaskId(text));
    JsonReader of_task = by_task.Nested(text);
    for (const std::string& name : of_task.Names()) all[task][name] = read(of_task, name);
    TRY(of_task.status());
  }
  return by_task.status();
}

Status ReadProcesses(JsonReader& document, std::map<std::string, int>& processes) {
  if (!document.Has("processes")) return Ok();
  JsonReader by_role = document.Nested("processes");
  for (const std::string& role : by_role.Names())
    processes[role] = static_cast<int>(by_role.Int(role, 1, kMostProcesses));
  return by_role.status();
}

template <class Named>
void WriteNamed(json::object& document, std::string_view field, const std::map<TaskId, Named>& all) {
  json::object by_task;
  for (const auto& [task, named] : all) {
    auto& of_task = by_task[ToString(task)].emplace_object();
    for (const auto& [name, value] : named) of_task[name] = value;
  }
  if (!by_task.empty()) document[field] = std::move(by_task);
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
  json::object roles;
  for (const auto& [role, endpoints] : spec.roles) {
    json::array list;
    for (const auto& endpoint : endpoints) list.emplace_back(ToString(endpoint));
    roles[role] = std::move(list);
  }
  json::object document;
  document["generation"] = spec.generation.value;
  document["roles"] = std::move(roles);
  WriteNamed(document, "ports", spec.ports);
  WriteNamed(document, "values", spec.values);
  if (!spec.processes.empty()) document["processes"] = json::value_from(spec.processes);
  return SerializeJson(document);
}

Result<ClusterSpec> ClusterSpecFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "cluster spec"));
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
  const Status ports = ReadNamed(fields, "ports", spec.ports, [](JsonReader& f, const std::string& name) {
    return static_cast<int>(f.Int(name, 1, kMaxPort));
  });
  const Status values =
      ReadNamed(fields, "values", spec.values, [](JsonReader& f, const std::string& name) { return f.String(name); });
  const Status processes = ReadProcesses(fields, spec.processes);
  for (const auto& status : {fields.status(), roles.status(), ports, values, processes}) {
    if (!status.ok()) return Annotate(status.error(), "cluster spec");
  }
  return spec;
}

}  // namespace tony
