// The two files by which a step speaks to Azkaban. Azkaban's server reads them, maybe as another user, so neither is
// private; both have been made or named by Azkaban.
#pragma once

#include <filesystem>
#include <string_view>

#include "runtime/base/result.h"

namespace tony::azkaban {

// Live status, an array of one JSON object: served while the step runs and kept when it has ended. Readers see the old
// content or the new.
Status WriteAttachment(const std::filesystem::path& file, std::string_view object);

// Properties for the next steps, into the file that Azkaban made: it may belong to another user, in a folder that is
// not ours, so it is neither replaced nor removed. Azkaban reads it only when the step has succeeded.
Status WriteOutputProperties(const std::filesystem::path& file, std::string_view object);

}  // namespace tony::azkaban
