// What the master writes: the file of its journal, the journal, and the records of its job. Each is an interface,
// because tests have a file on a full or failing disk, journals in memory, and records that answer when a test says so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/records/decisions.h"
#include "runtime/records/job_records.h"

namespace tony::am {

// The file of a journal as its writer uses it. Messages of its errors say why, not on what: "no space left on device".
//
// Beside it lies `journal.written`: how many bytes the journal had when they were last acted upon. A journal shorter
// than that has lost decisions, which a torn tail never does.
class JournalFile {
 public:
  virtual ~JournalFile() = default;
  virtual Status Append(std::string_view bytes) = 0;  // an error may leave a part of them behind
  virtual Status CutTo(size_t size) = 0;
  virtual Status Sync() = 0;
  // A new file with this content takes the old one's place, both synced with their folder. After an error either is
  // there, whole, and is what the next call is about.
  virtual Status Replace(std::string_view content) = 0;
  virtual void NoteWritten(size_t size) = 0;  // into journal.written; best effort
};

struct OpenedJournalFile {
  std::unique_ptr<JournalFile> file;
  std::string content;  // without the torn tail, in this version
  size_t torn_bytes = 0;
  bool outdated = false;  // the file itself is of an earlier version
  std::vector<Decision> decisions;
};

// Changes nothing in a file that is there. kInvalid: a journal of a later version, or damaged; says where and how.
Result<OpenedJournalFile> OpenJournalFile(const std::string& path);

// Where decisions are kept: LocalJournal, or RecordJournal (record_journal.h).
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

// How the master reaches the records of its job without waiting for their store, which may be slow or hang.
//
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
