#include "runtime/base/side_thread.h"

#include <utility>

namespace tony {

SideThread::~SideThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SideThread::Do(std::function<Then()> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  wake_.notify_one();
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void SideThread::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    loop_.Post([then = work(), alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) then();
    });
    lock.lock();
  }
}

}  // namespace tony
