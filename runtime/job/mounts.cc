#include "runtime/job/mounts.h"

#include "runtime/base/strings.h"

namespace tony {

Result<std::vector<Mount>> ParseMounts(std::string_view text) {
  std::vector<Mount> mounts;
  for (const std::string& item : Split(text, ',')) {
    const std::string_view trimmed = Trim(item);
    if (trimmed.empty()) continue;
    const auto parts = Split(trimmed, ':');
    const bool has_mode = parts.size() == 3 && (parts[2] == "ro" || parts[2] == "rw");
    const bool is_mount = (parts.size() == 2 || has_mode) && parts[0].starts_with('/') && parts[1].starts_with('/');
    if (!is_mount) return InvalidError("expected SOURCE:TARGET or SOURCE:TARGET:ro with absolute paths");
    mounts.push_back({parts[0], parts[1], has_mode && parts[2] == "ro"});
  }
  return mounts;
}

}  // namespace tony
