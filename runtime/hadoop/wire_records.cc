#include "runtime/hadoop/wire_records.h"

namespace tony::hadoop {
namespace {

wire::LocalResource ToWire(const LocalResource& file) {
  wire::LocalResource out;
  wire::URL& url = *out.mutable_resource();
  url.set_scheme(file.scheme);
  if (!file.host.empty()) url.set_host(file.host);
  url.set_port(file.port);
  url.set_file(file.path);
  out.set_size(file.size);
  out.set_timestamp(ToMillis(file.modified));
  out.set_type(file.kind == LocalResource::Kind::kFile ? wire::FILE : wire::ARCHIVE);
  constexpr wire::LocalResourceVisibility kVisibilities[] = {wire::PUBLIC, wire::PRIVATE, wire::APPLICATION};
  out.set_visibility(kVisibilities[static_cast<size_t>(file.visibility)]);
  return out;
}

constexpr std::pair<wire::ContainerState, ContainerStatus::State> kContainerStates[] = {
    {wire::C_RUNNING, ContainerStatus::State::kRunning}, {wire::C_COMPLETE, ContainerStatus::State::kComplete}};
constexpr std::pair<wire::NodeState, NodeReport::State> kNodeStates[] = {
    {wire::NS_RUNNING, NodeReport::State::kRunning},
    {wire::NS_UNHEALTHY, NodeReport::State::kUnhealthy},
    {wire::NS_LOST, NodeReport::State::kLost},
    {wire::NS_DECOMMISSIONING, NodeReport::State::kDecommissioning},
    {wire::NS_DECOMMISSIONED, NodeReport::State::kGone},
    {wire::NS_REBOOTED, NodeReport::State::kGone},
    {wire::NS_SHUTDOWN, NodeReport::State::kGone}};

}  // namespace

wire::PlacementConstraint ToWire(const PlacementConstraint& constraint) {
  using enum PlacementConstraint::Form;
  wire::PlacementConstraint out;
  if (constraint.form == kAnd || constraint.form == kOr) {
    using Composite = wire::CompositePlacementConstraint;
    Composite& composite = *out.mutable_compositeconstraint();
    composite.set_compositetype(constraint.form == kAnd ? Composite::AND : Composite::OR);
    for (const PlacementConstraint& part : constraint.parts) *composite.add_childconstraints() = ToWire(part);
    return out;
  }
  auto& simple = *out.mutable_simpleconstraint();
  const auto add_target = [&](auto type, const std::string& key, const std::string& value) {
    auto& target = *simple.add_targetexpressions();
    target.set_targettype(type);
    target.set_targetkey(key);
    target.add_targetvalues(value);
  };
  simple.set_scope(constraint.scope);
  if (constraint.form == kTags) {
    simple.set_mincardinality(constraint.least);
    simple.set_maxcardinality(constraint.most);
    simple.set_attributeopcode(wire::NO_OP);
    for (const auto& tag : constraint.tags)
      add_target(wire::PlacementConstraintTarget::ALLOCATION_TAG, tag.applications, tag.name);
  } else {
    simple.set_mincardinality(-1);
    simple.set_maxcardinality(-1);
    simple.set_attributeopcode(constraint.form == kEqual ? wire::EQ : wire::NE);
    add_target(wire::PlacementConstraintTarget::NODE_ATTRIBUTE, constraint.attribute, constraint.value);
  }
  return out;
}

wire::ApplicationId ToWire(const ApplicationId& id) {
  wire::ApplicationId out;
  out.set_cluster_timestamp(id.cluster_timestamp);
  out.set_id(id.number);
  return out;
}

// The application id is set only within the attempt id, as Hadoop's Java code does.
wire::ContainerId ToWire(const ContainerId& id) {
  wire::ContainerId out;
  *out.mutable_app_attempt_id()->mutable_application_id() = ToWire(id.attempt.application);
  out.mutable_app_attempt_id()->set_attemptid(id.attempt.number);
  out.set_id(id.number);
  return out;
}

wire::Resource ToWire(const Resource& resource) {
  wire::Resource out;
  out.set_memory(resource.memory_mib);
  out.set_virtual_cores(resource.vcores);
  for (const auto& [name, amount] : resource.others) {
    wire::ResourceInformation& other = *out.add_resource_value_map();
    other.set_key(name);
    other.set_value(amount.value);
    if (!amount.unit.empty()) other.set_units(amount.unit);
    other.set_type(wire::COUNTABLE);
  }
  return out;
}

wire::Token ToWire(const Token& token) {
  wire::Token out;
  out.set_identifier(token.identifier);
  out.set_password(token.password);
  out.set_kind(token.kind);
  out.set_service(token.service);
  return out;
}

wire::ContainerLaunchContext ToWire(const LaunchContext& context) {
  wire::ContainerLaunchContext out;
  for (const auto& [name, file] : context.files) {
    wire::StringLocalResourceMap& entry = *out.add_localresources();
    entry.set_key(name);
    *entry.mutable_value() = ToWire(file);
  }
  for (const auto& [name, value] : context.environment) {
    wire::StringStringMap& entry = *out.add_environment();
    entry.set_key(name);
    entry.set_value(value);
  }
  out.add_command(context.command);
  const std::pair<wire::ApplicationAccessType, const std::string*> acls[] = {
      {wire::APPACCESS_VIEW_APP, &context.view_acl}, {wire::APPACCESS_MODIFY_APP, &context.modify_acl}};
  for (const auto& [type, acl] : acls) {
    wire::ApplicationACLMap& entry = *out.add_application_acls();
    entry.set_accesstype(type);
    entry.set_acl(*acl);
  }
  if (context.credentials != Credentials{}) out.set_tokens(EncodeCredentials(context.credentials));
  return out;
}

ApplicationId FromWire(const wire::ApplicationId& id) { return {id.cluster_timestamp(), id.id()}; }
AttemptId FromWire(const wire::ApplicationAttemptId& id) { return {FromWire(id.application_id()), id.attemptid()}; }
ContainerId FromWire(const wire::ContainerId& id) { return {FromWire(id.app_attempt_id()), id.id()}; }
NodeId FromWire(const wire::NodeId& id) { return {id.host(), id.port()}; }

// The map of other resources repeats memory and cores, so these are skipped here.
Resource FromWire(const wire::Resource& resource) {
  Resource out{.memory_mib = resource.memory(), .vcores = resource.virtual_cores()};
  for (const auto& other : resource.resource_value_map()) {
    if (other.key() != "memory-mb" && other.key() != "vcores") out.others[other.key()] = {other.value(), other.units()};
  }
  return out;
}

Token FromWire(const wire::Token& token) {
  return {token.identifier(), token.password(), token.kind(), token.service()};
}
NodeToken FromWire(const wire::NMToken& token) { return {FromWire(token.nodeid()), FromWire(token.token())}; }

Container FromWire(const wire::Container& container) {
  return {.id = FromWire(container.id()),
          .node = FromWire(container.nodeid()),
          .node_http = container.node_http_address(),
          .resource = FromWire(container.resource()),
          .priority = container.priority().priority(),
          .request_id = container.allocation_request_id(),
          .token = FromWire(container.container_token())};
}

ContainerStatus FromWire(const wire::ContainerStatus& status) {
  return {FromWire(status.container_id()), OursIn(kContainerStates, status.state()), status.exit_status(),
          status.diagnostics()};
}

NodeReport FromWire(const wire::NodeReport& report) {
  return {.id = FromWire(report.nodeid()),
          .state = OursIn(kNodeStates, report.node_state()),
          .http_address = report.httpaddress(),
          .rack = report.rackname(),
          .used = FromWire(report.used()),
          .capability = FromWire(report.capability()),
          .health = report.health_report(),
          .labels = {report.node_labels().begin(), report.node_labels().end()}};
}

}  // namespace tony::hadoop
