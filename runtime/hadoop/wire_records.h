// Converts between TonY's values and YARN's messages. Pure; private to this folder, because it exposes protobuf types.
//
// Received messages may be incomplete: a missing field leaves the default of our value.
#pragma once

#include <utility>

#include "runtime/base/placement_constraint.h"
#include "runtime/hadoop/wire/containers.pb.h"
#include "runtime/hadoop/wire/master.pb.h"
#include "runtime/hadoop/wire/records.pb.h"
#include "runtime/hadoop/yarn_records.h"

namespace tony::hadoop {

wire::ApplicationId ToWire(const ApplicationId& id);
wire::ContainerId ToWire(const ContainerId& id);
wire::Resource ToWire(const Resource& resource);
wire::Token ToWire(const Token& token);
wire::ContainerLaunchContext ToWire(const LaunchContext& context);
wire::PlacementConstraint ToWire(const PlacementConstraint& constraint);

ApplicationId FromWire(const wire::ApplicationId& id);
AttemptId FromWire(const wire::ApplicationAttemptId& id);
ContainerId FromWire(const wire::ContainerId& id);
NodeId FromWire(const wire::NodeId& id);
Resource FromWire(const wire::Resource& resource);
Token FromWire(const wire::Token& token);
NodeToken FromWire(const wire::NMToken& token);
Container FromWire(const wire::Container& container);
ContainerStatus FromWire(const wire::ContainerStatus& status);
NodeReport FromWire(const wire::NodeReport& report);

// Returns our enumerator from the row with `wire`; the first enumerator if no row has it.
template <class Wire, class Ours, size_t kSize>
Ours OursIn(const std::pair<Wire, Ours> (&rows)[kSize], Wire wire) {
  for (const auto& [theirs, ours] : rows)
    if (theirs == wire) return ours;
  return Ours{};
}

// Returns a repeated field as a vector of our values.
template <class Repeated>
auto AllFromWire(const Repeated& messages) {
  std::vector<decltype(FromWire(*messages.begin()))> values;
  for (const auto& message : messages) values.push_back(FromWire(message));
  return values;
}

}  // namespace tony::hadoop
