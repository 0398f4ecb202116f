#include "am/checkpoint_look.h"

#include <mutex>
#include <thread>
#include <utility>

namespace tony::am {

struct CheckpointLook::Shared {
  std::mutex mutex;
  EventLoop* loop;  // null once nobody waits any more
};

CheckpointLook::CheckpointLook(EventLoop& loop, CheckpointPlace place, Submission submission, CheckpointSpec spec)
    : place_(std::move(place)),
      submission_(std::move(submission)),
      spec_(std::move(spec)),
      shared_(std::make_shared<Shared>()) {
  shared_->loop = &loop;
}

CheckpointLook::~CheckpointLook() {
  const std::lock_guard lock(shared_->mutex);
  shared_->loop = nullptr;
}

template <class Look, class Done>
void CheckpointLook::Run(Look look, Done done) {
  std::thread([look = std::move(look), shared = shared_, done = std::move(done)]() mutable {
    auto seen = look();
    const std::lock_guard lock(shared->mutex);
    if (!shared->loop) return;
    shared->loop->Post([seen = std::move(seen), done = std::move(done), waits = std::weak_ptr(shared)] {
      if (!waits.expired()) done(seen);
    });
  }).detach();
}

void CheckpointLook::List(Listed listed) {
  Run([place = place_, submission = submission_, spec = spec_] { return LookFirst(place, submission, spec); },
      std::move(listed));
}

void CheckpointLook::Begin(const CheckpointListing& listing, Found found) {
  Run([place = place_, job = submission_.job, spec = spec_, listing] { return LookAgain(place, job, spec, listing); },
      std::move(found));
}

}  // namespace tony::am
