// How the master reaches the records of its job without waiting for their store, which may be slow or hang. Seam:
// RecordThread, and the tests' calls that are answered when a test says so.
#pragma once

#include <functional>
#include <utility>

#include "runtime/base/event_loop.h"
#include "runtime/base/side_thread.h"
#include "runtime/records/job_records.h"

namespace tony::am {

// Loop thread only. Calls happen one after the other, in the order in which they were made, and so do their answers: on
// the loop.
class RecordCalls {
 public:
  virtual ~RecordCalls() = default;

  // `call(records)` beside the loop, then `done` with what it returned on the loop. `call` owns what it needs.
  template <class Call, class Done>
  void Ask(Call call, Done done) {
    Do([call = std::move(call), done = std::move(done)](const JobRecords& records) -> Then {
      return [answer = call(records), done] { done(answer); };
    });
  }

 protected:
  using Then = SideThread::Then;
  virtual void Do(std::function<Then(const JobRecords&)> call) = 0;
};

// Calls wait in a thread of their own. Its end waits for the one under way, and forgets the others.
class RecordThread : public RecordCalls {
 public:
  RecordThread(EventLoop& loop, JobRecords records) : records_(std::move(records)), thread_(loop) {}

 protected:
  void Do(std::function<Then(const JobRecords&)> call) override {
    thread_.Do([this, call = std::move(call)] { return call(records_); });
  }

 private:
  const JobRecords records_;
  SideThread thread_;
};

}  // namespace tony::am
