#include "runtime/job/cluster_spec.h"

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

}  // namespace

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
  for (const auto& status : {fields.status(), roles.status()}) {
    if (!status.ok()) return Annotate(status.error(), "cluster spec");
  }
  return spec;
}

}  // namespace tony
