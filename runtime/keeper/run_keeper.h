// The program tony-keeper, but for its limits.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"
#include "runtime/keeper/am_supervision.h"

namespace tony::keeper {

// Keeps the job of this folder until it has ended. Returns at once where another keeper does.
Status RunKeeper(const std::filesystem::path& folder, const AmOptions& am);

}  // namespace tony::keeper
