#include "am/record_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "runtime/base/strings.h"
#include "runtime/records/job_records.h"
#include "runtime/records/journal_format.h"
#include "tests/support/run_until.h"
#include "tests/unit/am/journal_texts.h"
#include "tests/unit/records/sample_decisions.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A store in memory. The test decides what happens to the next Add().
class FakeJournalStore : public JournalStore {
 public:
  enum class Fate { kAnswered, kNotDone, kUnheard };
  // Decides in the journal's thread; null: always answered.
  std::function<Fate()> fate;

  void Hold(bool held) {
    {
      const std::lock_guard lock(mutex_);
      held_ = held;
    }
    wake_.notify_all();
  }
  std::vector<std::string> records() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all;
    for (const auto& [epoch, records] : epochs_) {
      for (const auto& [number, bytes] : records) all.push_back(bytes);
    }
    return all;
  }
  void Change(int64_t number, const std::function<void(std::string&)>& change) {
    const std::lock_guard lock(mutex_);
    for (auto& [epoch, records] : epochs_) {
      if (records.count(number)) change(records[number]);
    }
  }
  void Erase(int64_t number) {
    for (auto& [epoch, records] : epochs_) records.erase(number);
  }

  Result<bool> Begin(Epoch epoch) const override {
    const std::lock_guard lock(mutex_);
    return epochs_.emplace(epoch, Records()).second;
  }
  Result<std::vector<Epoch>> Epochs() const override {
    const std::lock_guard lock(mutex_);
    std::vector<Epoch> all;
    for (const auto& [epoch, records] : epochs_) all.push_back(epoch);
    return all;
  }
  Result<bool> Add(Epoch epoch, int64_t number, std::string_view bytes) const override {
    const Fate now = fate ? fate() : Fate::kAnswered;
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return !held_; });
    if (now == Fate::kNotDone) return Error{ErrorCode::kUnavailable, "not done"};
    if (sealed_.count(epoch)) return false;
    const auto [record, is_new] = epochs_.at(epoch).emplace(number, bytes);
    EXPECT_TRUE(is_new || record->second == bytes) << "a repetition is the same";
    if (now == Fate::kUnheard) return Error{ErrorCode::kUnavailable, "not heard"};
    return true;
  }
  Status Seal(Epoch epoch) const override {
    const std::lock_guard lock(mutex_);
    sealed_.insert(epoch);
    return Ok();
  }
  Result<std::vector<JournalRecord>> Read(Epoch epoch) const override {
    const std::lock_guard lock(mutex_);
    std::vector<JournalRecord> records;
    for (const auto& [number, bytes] : epochs_.at(epoch)) records.push_back({number, bytes, StrCat("store/", number)});
    return records;
  }

 private:
  using Records = std::map<int64_t, std::string>;
  mutable std::mutex mutex_;
  mutable std::condition_variable wake_;
  mutable std::map<Epoch, Records> epochs_;
  mutable std::set<Epoch> sealed_;
  bool held_ = false;
};
using Fate = FakeJournalStore::Fate;

class RecordJournalTest : public testing::Test {
 protected:
  void Open(int64_t epoch) {
    journal_.reset();
    auto opened = RecordJournal::Open(loop_, store_, Epoch{epoch});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    read_ = std::move(opened->decisions);
    journal_ = std::move(opened->journal);
    Listen();
  }
  void Listen() {
    journal_->SetFailureCallback([this](const std::string& why) { told_.push_back(why.empty() ? "over" : why); });
    journal_->SetSealCallback([this] { told_.emplace_back("sealed"); });
  }
  void Append(const std::vector<Decision>& decisions) {
    journal_->Append(decisions, [this, number = appended_++] { told_.push_back(StrCat("written ", number)); });
  }
  void RunUntilTold(const std::string& what) {
    EXPECT_TRUE(RunUntil(loop_, [&] { return !told_.empty() && told_.back() == what; })) << what;
  }
  Error OpenError(int64_t epoch) {
    const auto opened = RecordJournal::Open(loop_, store_, Epoch{epoch});
    return opened.ok() ? Error{} : opened.error();
  }

  const std::vector<Decision> kSome = OneOfEachKind();
  const std::shared_ptr<FakeJournalStore> store_ = std::make_shared<FakeJournalStore>();
  EventLoop loop_;
  std::vector<Decision> read_;
  std::vector<std::string> told_;
  int appended_ = 0;
  std::unique_ptr<RecordJournal> journal_;
};

TEST_F(RecordJournalTest, ConfirmedAppendsAreStoredWithTheSameBytesAsInALocalJournal) {
  Open(1);
  Append({kSome[0], kSome[1]});
  EXPECT_THAT(told_, IsEmpty()) << "never from within Append";
  RunUntilTold("written 0");
  Append({kSome[2]});
  RunUntilTold("written 1");
  EXPECT_THAT(store_->records(),
              ElementsAre(EncodeHeader() + EncodeTurn({kSome[0], kSome[1]}), EncodeTurn({kSome[2]})));
  const JobRecords job({"x"}, "x", nullptr, store_);
  EXPECT_EQ(**job.ReadJournal(), EncodeHeader() + EncodeTurn({kSome[0], kSome[1]}) + EncodeTurn({kSome[2]}));
  EXPECT_EQ(journal_->records(), 2);
}

TEST_F(RecordJournalTest, TheNextMasterReadsAllRecordsAndContinuesTheJournal) {
  Open(1);
  EXPECT_THAT(read_, IsEmpty());
  Append({kSome.begin(), kSome.begin() + 5});
  RunUntilTold("written 0");
  Open(2);
  EXPECT_EQ(read_.size(), 5U);
  Append({kSome.begin() + 5, kSome.end()});
  RunUntilTold("written 1");
  Open(3);
  EXPECT_EQ(Json(read_), Json(kSome));
}

TEST_F(RecordJournalTest, AppendsThatWaitForTheStoreAreStoredInOneRecord) {
  Open(1);
  store_->Hold(true);
  for (int i = 0; i < 20; ++i) Append({kSome[0]});
  store_->Hold(false);
  RunUntilTold("written 19");
  EXPECT_EQ(store_->records().size(), 2U);
  EXPECT_EQ(told_.size(), 20U);
}

// Several records that are each stored at once are better than one that takes half a second.
TEST_F(RecordJournalTest, JournalRecordsHaveAtMost12000BytesUnlessVeryManyAppendsWait) {
  Open(1);
  const size_t turn = EncodeTurn(kSome).size();
  store_->Hold(true);
  Append({kSome[0]});
  const size_t turns = 100'000 / turn;
  for (size_t i = 0; i < turns; ++i) Append(kSome);
  store_->Hold(false);
  RunUntilTold(StrCat("written ", turns));
  const size_t records = store_->records().size();
  EXPECT_GE(records, 8U);
  for (const std::string& record : store_->records()) EXPECT_LE(record.size(), 12'000U);

  store_->Hold(true);
  Append({kSome[0]});
  for (size_t i = 0; i < 8 * turns; ++i) Append(kSome);
  store_->Hold(false);
  RunUntilTold(StrCat("written ", 9 * turns + 1));
  EXPECT_EQ(store_->records().size(), records + 2);
}

TEST_F(RecordJournalTest, AnEmptyAppendIsConfirmedInOrderAndStoresNoRecord) {
  Open(1);
  Append({});
  RunUntilTold("written 0");
  EXPECT_THAT(store_->records(), IsEmpty());
  Append({kSome[0]});
  Append({});
  RunUntilTold("written 2");
  EXPECT_THAT(told_, ElementsAre("written 0", "written 1", "written 2"));
  EXPECT_EQ(store_->records().size(), 1U);
}

TEST_F(RecordJournalTest, AppendsToAFailingStoreAreRetriedUntilTheyAreStored) {
  Open(1);
  store_->fate = [count = 0]() mutable {
    return ++count <= 2 ? Fate::kNotDone : count == 3 ? Fate::kUnheard : Fate::kAnswered;
  };
  Append({kSome[0]});
  RunUntilTold("written 0");
  EXPECT_THAT(told_, ElementsAre("not done", "not heard", "over", "written 0"));
  EXPECT_EQ(store_->records().size(), 1U);
}

TEST_F(RecordJournalTest, ASealedJournalConfirmsNoAppend) {
  Open(1);
  Append({kSome[0]});
  RunUntilTold("written 0");
  ASSERT_TRUE(store_->Seal(Epoch{1}).ok());
  Append({kSome[1]});
  Append({kSome[2]});
  RunUntilTold("sealed");
  Append({kSome[3]});
  loop_.Post([this] { loop_.Stop(); });
  loop_.Run();
  EXPECT_THAT(told_, ElementsAre("written 0", "sealed"));
  EXPECT_EQ(store_->records().size(), 1U);
}

TEST_F(RecordJournalTest, AReplacedMasterLearnsAtTheNextAppendThatItsJournalIsSealed) {
  Open(1);
  const auto old = std::move(journal_);
  Open(2);
  old->SetSealCallback([this] { told_.emplace_back("old is sealed"); });
  old->Append({kSome[0]}, [this] { told_.emplace_back("never"); });
  RunUntilTold("old is sealed");
  Append({kSome[1]});
  RunUntilTold("written 0");
  Open(3);
  EXPECT_EQ(Json(read_), Json({kSome[1]}));
  EXPECT_EQ(OpenError(2).code, ErrorCode::kNotPermitted);
}

TEST_F(RecordJournalTest, AConfirmationOrSealCallbackCanDestroyTheJournal) {
  Open(1);
  store_->Hold(true);
  for (int i = 0; i < 3; ++i) {
    journal_->Append({kSome[0]}, [&] {
      ASSERT_NE(journal_, nullptr) << "the second answer comes from a journal that is gone";
      journal_.reset();
    });
  }
  store_->Hold(false);
  EXPECT_TRUE(RunUntil(loop_, [&] { return journal_ == nullptr; }));
  Open(2);
  ASSERT_TRUE(store_->Seal(Epoch{2}).ok());
  journal_->SetSealCallback([this] { journal_.reset(); });
  Append({kSome[0]});
  EXPECT_TRUE(RunUntil(loop_, [&] { return journal_ == nullptr; }));
}

TEST_F(RecordJournalTest, DestroyingAJournalDoesNotWaitForAFailingStore) {
  Open(1);
  store_->fate = [] { return Fate::kNotDone; };
  Append({kSome[0]});
  RunUntilTold("not done");
  journal_.reset();  // returns without waiting
  EXPECT_THAT(store_->records(), IsEmpty());
}

TEST_F(RecordJournalTest, TheErrorOnOpeningAJournalNamesADamagedOrMissingRecord) {
  Open(1);
  for (int i = 0; i < 3; ++i) {
    Append({kSome[i]});
    RunUntilTold(StrCat("written ", i));
  }
  const std::string second = store_->records()[1];
  store_->Change(2, [](std::string& bytes) { bytes[15] ^= 1; });
  Error error = OpenError(2);
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("store/2: damaged at byte "));

  // A local journal may end within a turn. For a journal of records this is damage, even in the last record.
  store_->Change(2, [&](std::string& bytes) { bytes = second; });
  store_->Change(3, [](std::string& bytes) { bytes.resize(bytes.size() - 1); });
  EXPECT_THAT(OpenError(3).message, HasSubstr("store/3: damaged at byte "));

  store_->Erase(2);
  EXPECT_EQ(OpenError(4).message, "store/3: the journal is damaged: record 2 is missing before this one");
}

// Masters follow each other while the store loses answers. Each master may find its journal sealed in the middle of its
// turns.
TEST(RecordJournalSeeds, TheNextMasterReadsAllConfirmedDecisionsInOrder) {
  const std::vector<Decision> some = OneOfEachKind();
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    std::mt19937 random(seed), fates(seed);
    const auto store = std::make_shared<FakeJournalStore>();
    EventLoop loop;
    store->fate = [&fates] { return static_cast<Fate>(fates() % 5 % 3); };
    std::vector<std::string> told;  // answered decisions of all masters
    for (int64_t epoch = 1; epoch <= 3; ++epoch) {
      const auto opened = RecordJournal::Open(loop, store, Epoch{epoch});
      ASSERT_TRUE(opened.ok()) << opened.error().message;
      const std::vector<std::string> read = Json(opened->decisions);
      ASSERT_GE(read.size(), told.size());
      ASSERT_TRUE(std::equal(told.begin(), told.end(), read.begin()));
      // this master acts on what was read
      told = read;
      RecordJournal journal(loop, store, Epoch{epoch}, opened->journal->records(), Duration(0));
      bool sealed = false;
      journal.SetSealCallback([&] { sealed = true; });
      size_t answered = 0;
      const size_t turns = random() % 20, seal_at = random() % 40, stop_at = random() % 20;
      for (size_t i = 0; i < turns; ++i) {
        if (i == seal_at) {
          ASSERT_TRUE(store->Seal(Epoch{epoch}).ok());
        }
        const Decision& decision = some[random() % some.size()];
        journal.Append({decision}, [&, json = ToJson(decision)] {
          EXPECT_FALSE(sealed);
          ++answered;
          told.push_back(json);
        });
        if (random() % 3 == 0) RunUntil(loop, [&] { return sealed || answered + random() % 4 > i; });
      }
      EXPECT_TRUE(RunUntil(loop, [&] { return sealed || answered >= std::min(turns, stop_at); }));
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tony::am
