#include "runtime/job/checkpoint.h"

#include <algorithm>
#include <tuple>

namespace tony {
bool IsNewer(const Checkpoint& left, const Checkpoint& right) {
  return std::tie(left.modified, left.step, left.path) > std::tie(right.modified, right.step, right.path);
}

const ListedCheckpoint* CheckpointListing::Find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(there, name, {}, &ListedCheckpoint::name);
  return found != there.end() && found->name == name ? &*found : nullptr;
}

CheckpointWriter CheckpointListing::WriterOf(const ListedCheckpoint& now) const {
  if (!unknown.empty()) return CheckpointWriter::kUnknown;
  const ListedCheckpoint* before = Find(now.name);
  const auto stamp = [](const ListedCheckpoint& c) { return std::tie(c.name, c.inode, c.bytes, c.modified_ns); };
  if (!before || stamp(*before) != stamp(now)) return CheckpointWriter::kThisJob;
  return before->earlier_job ? CheckpointWriter::kEarlierJob : CheckpointWriter::kOthers;
}

std::vector<ListedCheckpoint> CheckpointListing::Continued(std::vector<ListedCheckpoint> now) const {
  for (ListedCheckpoint& entry : now) {
    const CheckpointWriter writer = WriterOf(entry);
    entry.earlier_job = writer == CheckpointWriter::kThisJob || writer == CheckpointWriter::kEarlierJob;
  }
  return now;
}

}  // namespace tony
