// Where decisions are kept. Seam: LocalJournal, RecordJournal (record_journal.h), and the fakes of the tests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "am/journal_file.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/records/decisions.h"

namespace tony::am {

class Journal {
 public:
  using Done = std::function<void()>;
  using OnTrouble = std::function<void(const std::string& why)>;
  virtual ~Journal() = default;
  // Appends `decisions`, a turn's, after all earlier ones: all of them or, if this process dies, none. `done` is called
  // on the loop, in order, when they are as safe as what they start. A disk that does not take them is tried again
  // until it does.
  virtual void Append(const std::vector<Decision>& decisions, Done done) = 0;
  // `fn` is called on the loop: with the reason when nothing can be written, with nothing when all is written again.
  virtual void TellOfTrouble(OnTrouble fn) = 0;
};

// What a journal keeps of a turn; each decision goes to the log as well. Empty: of none.
std::string LogAndEncode(const std::vector<Decision>& decisions);

struct OpenedJournal;

// A file in the job folder, written by a thread of its own, so that a slow disk does not hold the loop; everything that
// waits is written and synced together (group commit).
//
// Only the end of the job is synced: to outlive the AM it is enough to be written, and what the other decisions start
// on this machine does not outlive its power either.
//
// An append that fails is cut off again and repeated, with pauses. A sync that failed is never repeated on the same
// file: the kernel may have dropped what it could not write and call the next sync a success. The whole journal, of
// which a copy is kept in memory for that, is written to a new file instead.
class LocalJournal : public Journal {
 public:
  // Reads what is there. Changes nothing; the first append cuts off a torn tail, and writes a journal of an earlier
  // version anew in this one. The caller holds am.lock.
  static Result<OpenedJournal> Open(EventLoop& loop, const std::string& path);

  LocalJournal(EventLoop& loop, OpenedJournalFile opened);
  ~LocalJournal() override;  // writes what was appended, unless the disk does not take it; no longer calls back
  void Append(const std::vector<Decision>& decisions, Done done) override;
  void TellOfTrouble(OnTrouble fn) override;

  struct Counts {
    int64_t writes = 0;
    int64_t syncs = 0;
  };
  Counts counts() const;  // so far

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

struct OpenedJournal {
  std::unique_ptr<LocalJournal> journal;
  std::vector<Decision> decisions;
  size_t torn_bytes = 0;  // an append that the last AM did not live to finish; nobody acted upon it
  bool outdated = false;  // of a version whose turns may be torn
};

}  // namespace tony::am
