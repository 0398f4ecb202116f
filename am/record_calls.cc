#include "am/record_calls.h"

namespace tony::am {

RecordThread::RecordThread(EventLoop& loop, JobRecords records)
    : loop_(loop), records_(std::move(records)), thread_([this] { Run(); }) {}

RecordThread::~RecordThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void RecordThread::Do(std::function<Then(const JobRecords&)> call) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(call));
  }
  wake_.notify_one();
}

void RecordThread::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const auto call = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    loop_.Post([then = call(records_), alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) then();
    });
    lock.lock();
  }
}

}  // namespace tony::am
