// Unpacks an archive of unknown origin into a new tree.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"
#include "runtime/staging/limits.h"
#include "runtime/staging/space_guard.h"
#include "runtime/staging/stage_meter.h"
#include "runtime/staging/tree_writer.h"

namespace tony {

// All that is in the archive `fd` into `tree`. Refused with the entry's name (kInvalid): absolute names and those with
// "..", names through links, names twice, names that are not UTF-8 or too long, devices, pipes and sockets, hard links
// to anything but an earlier file of the archive, encrypted entries; and whole archives that are cut off, damaged, or
// beyond the limits. Setuid and setgid bits are dropped; symbolic links are kept wherever they point, and never
// followed. A failure leaves a part in `tree`, and nothing elsewhere.
Status Unpack(int fd, TreeWriter& tree, const UnpackLimits& limits, SpaceGuard& space, StageMeter& meter);

}  // namespace tony
