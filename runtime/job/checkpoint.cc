#include "runtime/job/checkpoint.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace tony {
namespace {

constexpr std::array<std::string_view, 4> kWriters = {"this_job", "earlier_job", "others", "unknown"};

bool IsSame(const ListedCheckpoint& left, const ListedCheckpoint& right) {
  return std::tie(left.name, left.inode, left.bytes, left.modified_ns) ==
         std::tie(right.name, right.inode, right.bytes, right.modified_ns);
}

}  // namespace

std::string_view ToString(CheckpointWriter writer) { return kWriters[static_cast<size_t>(writer)]; }

std::optional<CheckpointWriter> CheckpointWriterFromString(std::string_view text) {
  const auto found = std::ranges::find(kWriters, text);
  if (found == kWriters.end()) return std::nullopt;
  return static_cast<CheckpointWriter>(found - kWriters.begin());
}

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
  if (!before || !IsSame(*before, now)) return CheckpointWriter::kThisJob;
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
