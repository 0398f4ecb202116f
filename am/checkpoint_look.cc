#include "am/checkpoint_look.h"

#include <mutex>
#include <thread>
#include <utility>

#include "runtime/store/checkpoints.h"

namespace tony::am {

struct CheckpointLook::Shared {
  std::mutex mutex;
  EventLoop* loop;  // null once nobody waits any more
};

CheckpointLook::CheckpointLook(EventLoop& loop, CheckpointSpec spec)
    : spec_(std::move(spec)), shared_(std::make_shared<Shared>()) {
  shared_->loop = &loop;
}

CheckpointLook::~CheckpointLook() {
  const std::lock_guard lock(shared_->mutex);
  shared_->loop = nullptr;
}

void CheckpointLook::Begin(Found found) {
  std::thread([spec = spec_, shared = shared_, found = std::move(found)]() mutable {
    auto newest = NewestCheckpoint(spec);
    const std::lock_guard lock(shared->mutex);
    if (!shared->loop) return;
    shared->loop->Post([newest = std::move(newest), found = std::move(found), waits = std::weak_ptr(shared)] {
      if (!waits.expired()) found(newest);
    });
  }).detach();
}

}  // namespace tony::am
