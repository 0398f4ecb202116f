// Where decisions are kept. Seam: LocalJournal, and the fakes of the tests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "am/decisions.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"

namespace tony::am {

class Journal {
 public:
  using Done = std::function<void(Status)>;
  virtual ~Journal() = default;
  // Appends `decisions` after all earlier ones. `done` is called on the loop, in order, when they are written, and if
  // `durable` also synced. After a failure every later Append fails too: the AM must stop what it can and leave.
  virtual void Append(const std::vector<Decision>& decisions, bool durable, Done done) = 0;
};

// A file in the job folder, written by a thread of its own, so that a slow disk does not hold the loop; everything that
// waits is written and synced together (group commit).
class LocalJournal : public Journal {
 public:
  // Reads what is there into `*decisions`, cuts off a torn tail, and opens it for appending. The caller holds am.lock.
  static Result<std::unique_ptr<LocalJournal>> Open(EventLoop& loop, const std::string& path,
                                                    std::vector<Decision>* decisions);
  ~LocalJournal() override;  // writes what was appended; `done` of it is no longer called
  void Append(const std::vector<Decision>& decisions, bool durable, Done done) override;
  int64_t syncs() const;  // so far

 private:
  class Writer;
  explicit LocalJournal(std::unique_ptr<Writer> writer);
  std::unique_ptr<Writer> writer_;
};

}  // namespace tony::am
