// The output of the AM: the file of its journal, the journal, and the records of its job. All three are interfaces,
// because tests replace them. The tests use a file on a full or failing disk, journals in memory, and records that
// answer at a chosen time.
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

// The file of a journal, as its writer uses it. Error messages contain only the reason and not the file name, e.g. "no
// space left on device".
//
// The file `journal.written` next to the journal holds the journal's size when the AM last acted on a decision. A
// journal that is shorter has lost decisions. A torn tail cannot be the cause, because the AM acts on complete writes
// only.
class JournalFile {
 public:
  virtual ~JournalFile() = default;
  // On an error a part of `bytes` may stay in the file.
  virtual Status Append(std::string_view bytes) = 0;
  virtual Status CutTo(size_t size) = 0;
  virtual Status Sync() = 0;
  // Replaces the file by a new file with this content, and syncs the file and its folder. After an error either the old
  // or the new file is complete and in place, and the next call applies to that file.
  virtual Status Replace(std::string_view content) = 0;
  virtual void NoteWritten(size_t size) = 0;  // Writes `size` into journal.written; best effort.
};

struct OpenedJournalFile {
  std::unique_ptr<JournalFile> file;
  // The content without the torn tail, converted to this version.
  std::string content;
  size_t torn_bytes = 0;
  // True if the file on disk has an earlier version.
  bool outdated = false;
  std::vector<Decision> decisions;
};

// Opens or creates the journal, and leaves an existing file unchanged. Returns kInvalid if the journal is damaged or
// has a later version; the message contains the place and the reason.
Result<OpenedJournalFile> OpenJournalFile(const std::string& path);

// The place where decisions are kept: LocalJournal, or RecordJournal (record_journal.h).
class Journal {
 public:
  using Done = std::function<void()>;
  using OnTrouble = std::function<void(const std::string& why)>;
  virtual ~Journal() = default;
  // Appends the `decisions` of a step after all earlier ones. If this process dies, either all of them are in the
  // journal or none. `done` is called on the loop, in the order of the steps, when the decisions are stored. A power
  // cut may lose a stored decision only if it also ends everything that the decision starts. A failed write is repeated
  // until it succeeds.
  virtual void Append(const std::vector<Decision>& decisions, Done done) = 0;
  // Sets the function that is called on the loop with a reason when nothing can be written, and with "" when everything
  // has been written again.
  virtual void SetFailureCallback(OnTrouble fn) = 0;
};

// Returns the journal's record of a step; empty if the step has no decisions. Also writes each decision to the log.
std::string LogAndEncode(const std::vector<Decision>& decisions);

struct OpenedJournal;

// A journal in a file of the job folder, which a separate thread writes, so that a slow disk does not block the loop.
// Everything that waits is written and synced together (group commit).
//
// Only the end of the job is synced. For the other decisions a write is enough, because written data outlives the AM.
// After a power cut, everything that these decisions started on this machine is gone as well.
//
// The bytes of a failed append are cut off, and the append is repeated after a pause. A failed sync is never repeated
// on the same file. The kernel may have dropped the data that it could not write, and may report success for the next
// sync. Instead the whole journal is written to a new file, from a copy that is kept in memory for this purpose.
class LocalJournal : public Journal {
 public:
  // Reads the existing journal and changes nothing. The first append cuts off a torn tail, and rewrites a journal of an
  // earlier version in this version. The caller holds am.lock.
  static Result<OpenedJournal> Open(EventLoop& loop, const std::string& path);

  LocalJournal(EventLoop& loop, OpenedJournalFile opened);
  // Writes everything that was appended, unless the disk fails. No callback is called any more.
  ~LocalJournal() override;
  void Append(const std::vector<Decision>& decisions, Done done) override;
  void SetFailureCallback(OnTrouble fn) override;

  struct Counts {
    int64_t writes = 0;
    int64_t syncs = 0;
  };
  Counts counts() const;  // since the journal was opened

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

struct OpenedJournal {
  std::unique_ptr<LocalJournal> journal;
  std::vector<Decision> decisions;
  // The size of an append that the last AM did not finish before it died. The AM had not acted on it.
  size_t torn_bytes = 0;
  // True if the journal has a version whose steps may be torn.
  bool outdated = false;
};

// The AM's access to the records of its job, without waiting for their store, which may be slow or hang.
//
// Loop thread only. Calls run one after the other, in the order in which they were made. Their results arrive on the
// loop in the same order.
class RecordCalls {
 public:
  virtual ~RecordCalls() = default;

  // Runs `call(records)` outside the loop, and `done` with the result on the loop. `call` owns everything that it uses.
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

// Runs the calls of RecordCalls one after the other in a thread. The destructor waits for the running call and drops
// the others.
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
