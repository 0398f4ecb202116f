// How the master reaches the records of its job without waiting for their store, which may be slow or hang. Seam:
// RecordThread, and the tests' calls that are answered when a test says so.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/event_loop.h"
#include "runtime/store/job_records.h"

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
  using Then = std::function<void()>;
  virtual void Do(std::function<Then(const JobRecords&)> call) = 0;
};

// Calls wait in a thread of their own.
class RecordThread : public RecordCalls {
 public:
  RecordThread(EventLoop& loop, JobRecords records);
  ~RecordThread() override;  // ends the call that is under way, and forgets the others; nobody is answered any more

 protected:
  void Do(std::function<Then(const JobRecords&)> call) override;

 private:
  void Run();

  EventLoop& loop_;
  const JobRecords records_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<Then(const JobRecords&)>> waiting_;  // guarded by mutex_, as is the next one
  bool stopping_ = false;
  std::thread thread_;  // last: everything above is there before it runs
};

}  // namespace tony::am
