// Folders of the machine that a container sees.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

struct Mount {
  std::string source, target;  // absolute paths
  bool read_only = false;
  bool operator==(const Mount&) const = default;
};

// Parses SOURCE:TARGET[:ro|rw], separated by commas. The error says what was expected.
Result<std::vector<Mount>> ParseMounts(std::string_view text);

}  // namespace tony
