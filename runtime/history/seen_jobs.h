// Which jobs a reader has met: a set of texts in one piece of memory, where std::unordered_set takes a fifth of the
// time that a question about 100,000 jobs may take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace tony {

// The texts must live as long as this.
class SeenJobs {
 public:
  // Whether it is the first time.
  bool Insert(std::string_view job) {
    if (2 * ++count_ > slots_.size()) Grow();
    const size_t hash = std::hash<std::string_view>()(job);
    Slot& slot = Find(slots_, hash, job);
    if (slot.used) {
      --count_;
      return false;
    }
    slot = {job, hash, true};
    return true;
  }

 private:
  struct Slot {
    std::string_view job;
    size_t hash = 0;
    bool used = false;
  };

  // Its slot, or the free one where it belongs. There is always a free one.
  static Slot& Find(std::vector<Slot>& slots, size_t hash, std::string_view job) {
    size_t at = hash & (slots.size() - 1);
    while (slots[at].used && (slots[at].hash != hash || slots[at].job != job)) at = (at + 1) & (slots.size() - 1);
    return slots[at];
  }

  void Grow() {
    std::vector<Slot> larger(slots_.empty() ? 256 : slots_.size() * 4);
    for (const Slot& slot : slots_) {
      if (slot.used) Find(larger, slot.hash, slot.job) = slot;
    }
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_;  // a power of two
  size_t count_ = 0;
};

}  // namespace tony
