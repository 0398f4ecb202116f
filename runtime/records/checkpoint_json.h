// Checkpoints and the listing of their directory, as they stand in the journal.
#pragma once

#include <optional>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/json_fields.h"

namespace tony {

boost::json::object CheckpointJson(const Checkpoint& checkpoint);
void WriteListing(boost::json::object& out, const CheckpointListing& listing);

// Nothing where there is no such field. What the release before listings wrote does not say whose it is.
Result<std::optional<Checkpoint>> ReadCheckpointIfThere(JsonFields& fields, std::string_view name);
Result<CheckpointListing> ReadListing(JsonFields& fields);

}  // namespace tony
