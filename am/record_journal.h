// A journal of numbered records in a store that may be on another machine.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "am/journal.h"
#include "runtime/base/event_loop.h"
#include "runtime/records/journal_store.h"

namespace tony::am {

struct OpenedRecordJournal;

// While a record is being stored, further steps wait. Then the waiting steps are stored together, as many as fit into a
// record of the usual size.
//
// A failing store is retried until it succeeds. The store may also report that this epoch is sealed: another AM is the
// leader, or a client has finalized the job without this AM. From that time nothing is written and no `done` is called,
// and the owner of this journal stops acting as leader.
//
// Loop thread only; the store is called in a separate thread. The destructor waits for the record that is being stored.
// It drops the waiting steps, because their calls have not been answered.
class RecordJournal : public Journal {
 public:
  using OnSealed = std::function<void()>;
  static constexpr Duration kFirstPause{200};

  // Takes over the journal for an AM of this epoch, and reads the valid records of earlier epochs. Blocks until the
  // store answers. Returns the errors of TakeOverJournal, or kInvalid with the name of the damaged record.
  static Result<OpenedRecordJournal> Open(EventLoop& loop, std::shared_ptr<const JournalStore> store, Epoch epoch);

  // `records` is the number of records in the store, all of earlier epochs. `pause` is the first pause before a failed
  // write is repeated; the pause doubles.
  RecordJournal(EventLoop& loop, std::shared_ptr<const JournalStore> store, Epoch epoch, int64_t records,
                Duration pause = kFirstPause);
  void Append(const std::vector<Decision>& decisions, Done done) override;
  void SetFailureCallback(OnTrouble fn) override { on_trouble_ = std::move(fn); }
  void SetSealCallback(OnSealed fn) { on_sealed_ = std::move(fn); }

  int64_t records() const { return records_; }  // number of records in the store

 private:
  struct Turn {
    std::string bytes;
    Done done;
  };
  enum class State { kIdle, kWriting, kSealed };

  void WriteNext();
  void Write();
  void TakeResult(const Result<bool>& added);
  void TellTrouble(const std::string& trouble);

  EventLoop& loop_;
  const std::shared_ptr<const JournalStore> store_;
  const Epoch epoch_;
  const Duration first_pause_;
  OnTrouble on_trouble_;
  OnSealed on_sealed_;
  State state_ = State::kIdle;
  int64_t records_;
  std::deque<Turn> waiting_;
  std::shared_ptr<const std::string> writing_;  // the record that is being stored
  std::vector<Done> done_;                      // callbacks for the steps in `writing_`
  std::string trouble_;                         // problem that was reported last
  Duration pause_;
  EventLoop::Timer again_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  // This member is the last, so that its thread ends before the other members are destroyed.
  SideThread thread_;
};

struct OpenedRecordJournal {
  std::unique_ptr<RecordJournal> journal;
  std::vector<Decision> decisions;
};

}  // namespace tony::am
