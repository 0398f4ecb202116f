#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/records/hdfs/hdfs_record_store.h"
#include "tests/support/results.h"
#include "tests/unit/records/hdfs/fake_hdfs.h"

namespace tony {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Fate = FakeHdfs::Fate;

const std::string kLarge(kMostInAttribute + 1, 'x');

class HdfsJournalStoreTest : public testing::Test {
 protected:
  HdfsJournalStoreTest() { EXPECT_TRUE(MakeRecordFolder(hdfs, kJob).ok()); }

  std::string Journal() const {
    const auto journal = ReadJournal(store);
    EXPECT_TRUE(journal.ok()) << journal.error().message;
    return !journal.ok() ? "" : *journal ? **journal : "none";
  }
  bool Adds(Epoch epoch, int64_t number, const std::string& bytes) const {
    const auto added = store.Add(epoch, number, bytes);
    EXPECT_TRUE(added.ok()) << added.error().message;
    return added.ok() && *added;
  }
  std::vector<std::string> TakenOver(Epoch own) const {
    std::vector<std::string> all;
    const auto records = TakeOverJournal(store, own);
    EXPECT_TRUE(records.ok()) << records.error().message;
    if (!records.ok()) return all;
    for (const JournalRecord& record : *records) all.push_back(record.bytes);
    return all;
  }
  void Meet(Fate fate, size_t call) {
    hdfs->fate = [=, count = size_t{0}](std::string_view) mutable { return count++ == call ? fate : Fate::kAnswered; };
  }

  const std::shared_ptr<FakeHdfs> hdfs = std::make_shared<FakeHdfs>();
  const HdfsJournalStore store{hdfs, kJob, Tries(4)};
};

TEST_F(HdfsJournalStoreTest, JournalRecordsAreReadInOrderAcrossEpochs) {
  EXPECT_EQ(Journal(), "none");
  EXPECT_THAT(TakenOver(Epoch{1}), IsEmpty());
  EXPECT_EQ(Journal(), "none");
  std::string all;
  for (int64_t n = 1; n <= 60; ++n) {
    const std::string bytes = StrCat("<", n, ">", n % 9 == 0 ? kLarge : "");
    ASSERT_TRUE(Adds(Epoch{1}, n, bytes));
    all += bytes;
  }
  EXPECT_EQ(Journal(), all);
  EXPECT_EQ(TakenOver(Epoch{2000}).size(), 60U);
  ASSERT_TRUE(Adds(Epoch{2000}, 61, "<61>"));
  EXPECT_EQ(Journal(), all + "<61>");
}

TEST_F(HdfsJournalStoreTest, AddingASmallJournalRecordTakesOneHdfsCall) {
  TakenOver(Epoch{1});
  hdfs->asked.clear();
  for (int64_t n = 1; n <= 24; ++n) ASSERT_TRUE(Adds(Epoch{1}, n, std::string(kMostInAttribute, 'x')));
  // Four of the calls make the folder that holds the records as attributes.
  EXPECT_EQ(hdfs->asked.size(), 28U);
}

// Every 24th step of a job waits for these calls.
TEST_F(HdfsJournalStoreTest, SmallJournalRecordsAreStoredWithoutADataNode) {
  TakenOver(Epoch{1});
  hdfs->asked.clear();
  for (int64_t n = 1; n <= 49; ++n) ASSERT_TRUE(Adds(Epoch{1}, n, "usual"));
  EXPECT_THAT(hdfs->Files(), IsEmpty()) << "bytes, or their end, would be a DataNode's";
  EXPECT_THAT(hdfs->asked, Not(Contains(StartsWith("CREATE"))));
}

TEST_F(HdfsJournalStoreTest, NoJournalRecordIsAddedToASealedEpoch) {
  TakenOver(Epoch{1});
  ASSERT_TRUE(Adds(Epoch{1}, 1, "one"));
  ASSERT_TRUE(store.Seal(Epoch{1}).ok());
  EXPECT_TRUE(store.Seal(Epoch{1}).ok()) << "again";
  EXPECT_FALSE(Adds(Epoch{1}, 2, "two"));
  EXPECT_FALSE(Adds(Epoch{1}, 2, kLarge));
  EXPECT_FALSE(Adds(Epoch{1}, 49, "in a new file"));
  EXPECT_EQ(Journal(), "one");
  EXPECT_EQ(store.Seal(Epoch{2}).error().code, ErrorCode::kNotFound);
}

TEST_F(HdfsJournalStoreTest, NoJournalRecordOrEpochIsAddedAfterTheJobIsRemoved) {
  TakenOver(Epoch{1});
  ASSERT_TRUE(*hdfs->Remove("/jobs/x"));
  EXPECT_FALSE(Adds(Epoch{1}, 1, "one"));
  EXPECT_EQ(store.Begin(Epoch{2}).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(hdfs->Files(), IsEmpty());
}

TEST_F(HdfsJournalStoreTest, ATakeoverOfTheJournalSucceedsOnlyWithANewerEpoch) {
  TakenOver(Epoch{2});
  EXPECT_EQ(TakeOverJournal(store, Epoch{2}).error().code, ErrorCode::kNotPermitted);
  const Error later = TakeOverJournal(store, Epoch{1}).error();
  EXPECT_EQ(later.code, ErrorCode::kNotPermitted);
  EXPECT_EQ(later.message, "application master 2 is leader of this job");
  ASSERT_TRUE(Adds(Epoch{2}, 1, "one")) << "it was not sealed";
}

// The second AM takes over before each call of the first AM in turn.
TEST_F(HdfsJournalStoreTest, SimultaneousTakeoversLeaveOneLeader) {
  for (size_t call = 0;; ++call) {
    const HdfsFolder job{"", StrCat("/jobs/", call), ""};
    ASSERT_TRUE(MakeRecordFolder(hdfs, job).ok());
    const HdfsJournalStore own(hdfs, job);
    bool second_rules = false, came = false;
    hdfs->before = [&, count = size_t{0}](std::string_view) mutable {
      if (count++ != call) return;
      came = true;
      hdfs->before = nullptr;
      second_rules = TakeOverJournal(own, Epoch{2}).ok();
    };
    const bool first_rules = TakeOverJournal(own, Epoch{1}).ok() && *own.Add(Epoch{1}, 1, "one");
    hdfs->before = nullptr;
    if (!came) break;
    EXPECT_NE(first_rules, second_rules) << call;
  }
}

TEST_F(HdfsJournalStoreTest, FinalizingAJobReturnsTheWholeJournalAndBlocksFurtherRecords) {
  TakenOver(Epoch{1});
  for (const int64_t n : {1, 2}) ASSERT_TRUE(Adds(Epoch{1}, n, StrCat("<", n, ">")));
  for (int settlers = 1; settlers <= 2; ++settlers) {
    const auto sealed = Must(SealJournal(store));
    EXPECT_EQ(sealed, "<1><2>");
    EXPECT_FALSE(Adds(Epoch{1}, 3, "<3>"));
  }
  const Error late = TakeOverJournal(store, Epoch{2}).error();
  EXPECT_EQ(late.code, ErrorCode::kNotPermitted);
  EXPECT_EQ(late.message, "this job was finalized without an application master");
  EXPECT_EQ(Journal(), "<1><2>");
}

TEST_F(HdfsJournalStoreTest, AMasterCannotTakeOverAJobThatWasFinalizedBeforeAnyMasterStarted) {
  const auto sealed = Must(SealJournal(store));
  EXPECT_FALSE(sealed);
  EXPECT_EQ(TakeOverJournal(store, Epoch{1}).error().code, ErrorCode::kNotPermitted);
}

// A process finalizes the job before each call of a starting AM, and an AM starts before each call of that process.
TEST_F(HdfsJournalStoreTest, FinalizingAJobDuringAMasterTakeoverBlocksFurtherJournalRecords) {
  for (const bool settles_within : {true, false}) {
    for (size_t call = 0;; ++call) {
      SCOPED_TRACE(StrCat(settles_within, " ", call));
      const HdfsFolder job{"", StrCat("/jobs/", settles_within, "-", call), ""};
      ASSERT_TRUE(MakeRecordFolder(hdfs, job).ok());
      const HdfsJournalStore own(hdfs, job);
      std::string settled;
      bool came = false;
      const auto settle = [&] {
        const auto sealed = Must(SealJournal(own));
        settled = sealed ? *sealed : "";
      };
      const auto rule = [&] {
        if (!TakeOverJournal(own, Epoch{1}).ok()) return;
        for (int64_t n = 1; n <= 2; ++n)
          if (!*own.Add(Epoch{1}, n, "<>")) return;
      };
      hdfs->before = [&, count = size_t{0}](std::string_view) mutable {
        if (count++ != call) return;
        came = true;
        hdfs->before = nullptr;
        settles_within ? settle() : rule();
      };
      settles_within ? rule() : settle();
      hdfs->before = nullptr;
      if (!came) break;
      const auto journal = Must(ReadJournal(own));
      EXPECT_EQ(journal ? *journal : "", settled) << "nothing was added since";
    }
  }
}

TEST_F(HdfsJournalStoreTest, AGapInTheJournalIsReportedWithTheNumberOfTheMissingRecord) {
  TakenOver(Epoch{1});
  for (const int64_t n : {1, 2, 4}) ASSERT_TRUE(Adds(Epoch{1}, n, "x"));
  const Error gap = TakeOverJournal(store, Epoch{2}).error();
  EXPECT_EQ(gap.code, ErrorCode::kInvalid);
  EXPECT_EQ(gap.message,
            "hdfs://nn:8020/jobs/x/journal/1.sealed/from-1 user.tony.4: the journal is damaged: "
            "record 3 is missing before this one");
  EXPECT_EQ(ReadJournal(store).error().code, ErrorCode::kInvalid);
}

// Records are added between the calls of a reader, which must not report a gap.
TEST_F(HdfsJournalStoreTest, ReadingAJournalDuringWritesReportsNoGap) {
  TakenOver(Epoch{1});
  int64_t written = 0;
  for (; written < 20; ++written) ASSERT_TRUE(Adds(Epoch{1}, written + 1, "<>"));
  hdfs->before = [&](std::string_view call) {
    if (call != "GETXATTRS" || written > 24) return;
    const auto before = std::exchange(hdfs->before, nullptr);
    for (const std::string& bytes : {kLarge, std::string("<>")}) ASSERT_TRUE(Adds(Epoch{1}, ++written, bytes));
    hdfs->before = before;
  };
  EXPECT_GE(Journal().size(), 40U);
  hdfs->before = [&](std::string_view call) {
    if (call != "GETXATTRS") return;
    hdfs->before = nullptr;
    ASSERT_TRUE(store.Seal(Epoch{1}).ok());
  };
  EXPECT_GE(Journal().size(), 40U);
}

TEST_F(HdfsJournalStoreTest, EveryJournalRecordIsAddedOnceEvenIfHdfsAnswersAreLost) {
  int64_t epoch = 0, number = 0;
  std::string all;
  for (const Fate fate : {Fate::kNotDone, Fate::kUnheard, Fate::kLate, Fate::kRepeated, Fate::kCut}) {
    for (size_t call = 0; call < 4; ++call) {
      SCOPED_TRACE(StrCat("fate ", static_cast<int>(fate), ", call ", call));
      Meet(fate, call);
      TakenOver(Epoch{++epoch});
      for (const std::string& bytes : {std::string("small"), kLarge}) {
        Meet(fate, call);
        ASSERT_TRUE(Adds(Epoch{epoch}, ++number, bytes));
        all += bytes;
      }
      Meet(fate, call);
      ASSERT_TRUE(store.Seal(Epoch{epoch}).ok());
      hdfs->fate = nullptr;
      while (hdfs->RunLate()) {
      }
      ASSERT_EQ(Journal(), all);
    }
  }
}

// Both calls that make the folder are performed late, after the seal.
TEST_F(HdfsJournalStoreTest, ADelayedHdfsCallDoesNotRecreateASealedEpoch) {
  hdfs->fate = [made = 0, renamed = 0](std::string_view call) mutable {
    const bool is_first = (call == "MKDIRS" && made++ == 0) || (call == "RENAME" && renamed++ == 0);
    return is_first ? Fate::kLate : Fate::kAnswered;
  };
  TakenOver(Epoch{1});
  ASSERT_TRUE(store.Seal(Epoch{1}).ok());
  while (hdfs->RunLate()) {
  }
  EXPECT_FALSE(Adds(Epoch{1}, 1, "one"));
}

TEST_F(HdfsJournalStoreTest, JournalRecordsAreStoredAsFilesIfHdfsRejectsExtendedAttributes) {
  hdfs->takes_xattrs = false;
  TakenOver(Epoch{1});
  for (int number = 1; number <= 30; ++number) ASSERT_TRUE(Adds(Epoch{1}, number, "x"));
  EXPECT_EQ(Journal(), std::string(30, 'x'));
  EXPECT_EQ(std::ranges::count_if(hdfs->asked, [](const std::string& call) { return call.starts_with("SETXATTR"); }), 1)
      << "it is switched off";
}

TEST_F(HdfsJournalStoreTest, AnUnansweredJournalWriteReturnsUnavailable) {
  TakenOver(Epoch{1});
  for (const Fate fate : {Fate::kNotDone, Fate::kUnheard}) {
    hdfs->fate = [fate](std::string_view) { return fate; };
    ExpectError(store.Add(Epoch{1}, 1, "one"), ErrorCode::kUnavailable, "~write hdfs://nn:8020/jobs/x/journal/1/1: ");
  }
  hdfs->fate = nullptr;
  EXPECT_TRUE(Adds(Epoch{1}, 1, "one")) << "it was written, and is ours";
  EXPECT_EQ(store.Add(Epoch{1}, 1, "other").error().code, ErrorCode::kNotPermitted);
}

// Simulates an AM that adds records, and AMs that take over from it in the middle of its calls. Answers get lost, and
// calls that are no longer awaited are performed later, even after the seal.
class Course {
 public:
  explicit Course(uint32_t seed) : random_(seed) {
    EXPECT_TRUE(MakeRecordFolder(hdfs_, kJob).ok());
    hdfs_->fate = [this](std::string_view) {
      return OneOf(100) < 20 ? static_cast<Fate>(1 + OneOf(5)) : Fate::kAnswered;
    };
    hdfs_->before = [this](std::string_view) {
      while (OneOf(4) == 0 && hdfs_->RunLate(random_())) {
      }
      if (OneOf(100) == 0 && depth_ < 2 && epoch_ < 8) TakeOver();
    };
  }
  void Run() {
    for (int i = 0; i < 4; ++i) TakeOver();
    hdfs_->before = nullptr;
    hdfs_->fate = nullptr;
    while (hdfs_->RunLate(random_())) {
    }
    const auto journal = Must(ReadJournal(store_));
    const std::string all = journal ? *journal : "";
    ASSERT_TRUE(all.starts_with(told_));
    ASSERT_FALSE(sealed_added_) << "added after the seal";
  }

 private:
  uint32_t OneOf(uint32_t count) { return random_() % count; }

  // Runs the whole life of an AM, which another AM may end at any call.
  void TakeOver() {
    ++depth_;
    const Epoch own{++epoch_};
    const auto records = TakeOverJournal(store_, own);
    if (records.ok()) {
      std::string bytes;
      for (const JournalRecord& record : *records) bytes += record.bytes;
      // Otherwise a later AM took over during the read.
      if (own.value > newest_) {
        EXPECT_TRUE(bytes.starts_with(told_));
        newest_ = own.value;
        told_ = bytes;  // the records it acts upon
      }
      Rule(own, static_cast<int64_t>(records->size()));
    }
    --depth_;
  }
  void Rule(Epoch own, int64_t number) {
    for (int i = 0; i < 6; ++i) {
      const std::string bytes = StrCat("<", own.value, "/", number + 1, ">", OneOf(10) == 0 ? kLarge : "");
      Result<bool> added = false;
      for (int tries = 0; tries < 6; ++tries) {
        added = store_.Add(own, number + 1, bytes);
        if (added.ok()) break;
      }
      // The AM dies, or learns that it is not leader any more.
      if (!added.ok() || !*added) return;
      ++number;
      if (own.value < newest_) {
        sealed_added_ |= told_.find(bytes) == std::string::npos;
      } else {
        told_ += bytes;
      }
    }
  }

  std::mt19937 random_;
  const std::shared_ptr<FakeHdfs> hdfs_ = std::make_shared<FakeHdfs>();
  const HdfsJournalStore store_{hdfs_, kJob, Tries(4)};
  int depth_ = 0;
  int64_t epoch_ = 0, newest_ = 0;
  std::string told_;
  bool sealed_added_ = false;
};

TEST(HdfsJournalStoreSeeds, AcknowledgedJournalRecordsAreReadBackAndNoRecordIsAddedToASealedEpoch) {
  for (uint32_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    Course(seed).Run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tony
