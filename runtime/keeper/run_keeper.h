// The main function of the program tony-keeper, after its arguments are parsed.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"
#include "runtime/keeper/am_supervision.h"

namespace tony::keeper {

// Supervises the job of this folder until the job has ended. Returns at once if another keeper supervises it.
Status RunKeeper(const std::filesystem::path& folder, const AmOptions& am);

}  // namespace tony::keeper
