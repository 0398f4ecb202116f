// A journal of numbered records in a store that may be far away.
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

// Turns wait while a record is being stored; then they are stored together, as many as make a record of usual size.
//
// A store that does not take a record is asked again until it does. It may also say that this epoch is sealed: another
// master rules, or a client has settled the job without this one. Then nothing is written any more, no `done` is
// called, and whoever holds this stops ruling.
//
// Loop thread only; the store is called in a thread of its own. The end of this waits for the record under way and
// forgets what waits: nobody was answered.
class RecordJournal : public Journal {
 public:
  using OnSealed = std::function<void()>;
  static constexpr Duration kFirstPause{200};

  // Takes the journal over for a master of this epoch and reads what counts of earlier ones: waits for the store.
  // Errors as TakeOverJournal; kInvalid: a record is damaged, which is named.
  static Result<OpenedRecordJournal> Open(EventLoop& loop, std::shared_ptr<const JournalStore> store, Epoch epoch);

  // `records`: so many are in the store, of earlier epochs. `pause`: before a failed write is repeated; it doubles.
  RecordJournal(EventLoop& loop, std::shared_ptr<const JournalStore> store, Epoch epoch, int64_t records,
                Duration pause = kFirstPause);
  void Append(const std::vector<Decision>& decisions, Done done) override;
  void TellOfTrouble(OnTrouble fn) override { on_trouble_ = std::move(fn); }
  void TellOfSeal(OnSealed fn) { on_sealed_ = std::move(fn); }

  int64_t records() const { return records_; }  // in the store

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
  std::vector<Done> done_;                      // of its turns
  std::string trouble_;                         // as told
  Duration pause_;
  EventLoop::Timer again_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  SideThread thread_;  // last: nothing of it outlives the others
};

struct OpenedRecordJournal {
  std::unique_ptr<RecordJournal> journal;
  std::vector<Decision> decisions;
};

}  // namespace tony::am
