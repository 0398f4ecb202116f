#include "am/record_journal.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"

namespace tony::am {
namespace {

constexpr Duration kLongestRest{2000};
// A record of at most this size is stored in milliseconds; a larger record may take half a second.
constexpr size_t kUsualBytes = 12'000;
// From this total size on, storing the waiting steps as one large record is not slower than storing many records of the
// usual size.
constexpr size_t kManyBytes = 50 * kUsualBytes;

// Checks that the journal consists of whole steps, because a store of records leaves no torn tail.
Status CheckWhole(const std::string& journal) {
  TRY_ASSIGN(const DecodedJournal decoded, DecodeJournal(journal));
  if (decoded.valid_bytes == journal.size() && !decoded.outdated) return Ok();
  return InvalidError("damaged at byte ", decoded.valid_bytes, ": the journal ends in the middle of a step");
}

// Returns the error with the record that contains the damage.
Error LocateDamage(const std::vector<JournalRecord>& records, const Error& damage) {
  std::string journal;
  for (const JournalRecord& record : records) {
    const Status whole = CheckWhole(journal += record.bytes);
    if (!whole.ok()) return Annotate(whole.error(), record.place);
  }
  return damage;
}

}  // namespace

Result<OpenedRecordJournal> RecordJournal::Open(EventLoop& loop, std::shared_ptr<const JournalStore> store,
                                                Epoch epoch) {
  TRY_ASSIGN(const std::vector<JournalRecord> records, TakeOverJournal(*store, epoch));
  std::string journal;
  for (const JournalRecord& record : records) journal += record.bytes;
  const Status whole = CheckWhole(journal);
  if (!whole.ok()) return LocateDamage(records, whole.error());
  TRY_ASSIGN(DecodedJournal decoded, DecodeJournal(journal));
  OpenedRecordJournal opened{.decisions = std::move(decoded.decisions)};
  opened.journal = std::make_unique<RecordJournal>(loop, std::move(store), epoch, static_cast<int64_t>(records.size()));
  return opened;
}

RecordJournal::RecordJournal(EventLoop& loop, std::shared_ptr<const JournalStore> store, Epoch epoch, int64_t records,
                             Duration pause)
    : loop_(loop),
      store_(std::move(store)),
      epoch_(epoch),
      first_pause_(pause),
      records_(records),
      pause_(pause),
      thread_(loop) {}

void RecordJournal::Append(const std::vector<Decision>& decisions, Done done) {
  if (state_ == State::kSealed) return;
  waiting_.push_back({LogAndEncode(decisions), std::move(done)});
  if (state_ == State::kIdle) WriteNext();
}

void RecordJournal::WriteNext() {
  std::string bytes = records_ == 0 ? EncodeHeader() : "";
  const size_t head = bytes.size();
  size_t all = 0;
  for (const Turn& turn : waiting_) all += turn.bytes.size();
  const size_t most = all > kManyBytes ? all + head : kUsualBytes;
  while (!waiting_.empty() && (done_.empty() || bytes.size() + waiting_.front().bytes.size() <= most)) {
    bytes += waiting_.front().bytes;
    done_.push_back(std::move(waiting_.front().done));
    waiting_.pop_front();
  }
  // Steps without decisions write nothing. Their callbacks are called in the order of the steps.
  if (bytes.size() == head) bytes.clear();
  writing_ = std::make_shared<const std::string>(std::move(bytes));
  state_ = State::kWriting;
  Write();
}

void RecordJournal::Write() {
  thread_.Do([this, store = store_, epoch = epoch_, number = records_ + 1, bytes = writing_]() -> SideThread::Then {
    Result<bool> added = bytes->empty() ? Result<bool>(true) : store->Add(epoch, number, *bytes);
    return [this, added = std::move(added)] { TakeResult(added); };
  });
}

void RecordJournal::TakeResult(const Result<bool>& added) {
  if (!added.ok()) {
    again_ = loop_.After(std::exchange(pause_, std::min(pause_ * 2, kLongestRest)), [this] { Write(); });
    return TellTrouble(added.error().message);
  }
  if (!*added) {
    state_ = State::kSealed;
    waiting_.clear();
    // The callback may destroy this journal, so it is copied.
    const OnSealed on_sealed = on_sealed_;
    return on_sealed ? on_sealed() : void();
  }
  pause_ = first_pause_;
  if (!writing_->empty()) ++records_;
  state_ = State::kIdle;
  const std::vector<Done> told = std::exchange(done_, {});
  if (!waiting_.empty()) WriteNext();
  // A callback may destroy this journal, so `alive` is checked before each call.
  const std::weak_ptr<bool> alive = alive_;
  TellTrouble("");
  for (const Done& done : told) {
    if (!alive.expired()) done();
  }
}

void RecordJournal::TellTrouble(const std::string& trouble) {
  if (trouble == trouble_) return;
  trouble_ = trouble;
  if (on_trouble_) on_trouble_(trouble);
}

}  // namespace tony::am
