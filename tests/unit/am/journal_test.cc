#include "am/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/records/journal_format.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/am/journal_texts.h"
#include "tests/unit/records/sample_decisions.h"

namespace tony::am {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class JournalTest : public testing::Test {
 protected:
  // Opens the journal and puts its decisions into `read_`.
  std::unique_ptr<LocalJournal> Opened() {
    auto opened = LocalJournal::Open(loop_, path_);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    if (!opened.ok()) return nullptr;
    read_ = std::move(opened->decisions);
    Listen(*opened->journal);
    return std::move(opened->journal);
  }
  void Listen(LocalJournal& journal) {
    journal.SetFailureCallback([this](const std::string& why) { troubles_.push_back(why); });
  }
  void Append(LocalJournal& journal, const std::vector<Decision>& decisions) {
    ++expected_;
    journal.Append(decisions, [this] {
      EXPECT_EQ(std::this_thread::get_id(), thread_);
      ++answers_;
    });
  }
  void RunUntilAnswered() {
    EXPECT_TRUE(RunUntil(loop_, [this] { return answers_ == expected_; }));
  }
  void AppendAndWait(LocalJournal& journal, const std::vector<Decision>& decisions) {
    Append(journal, decisions);
    RunUntilAnswered();
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  const TempFolder folder_;
  std::string path_ = (folder_.path() / "journal").string();
  EventLoop loop_;
  std::vector<Decision> read_;
  // Problems as reported; an empty text reports the end of a problem.
  std::vector<std::string> troubles_;
  size_t answers_ = 0;
  size_t expected_ = 0;
};

TEST_F(JournalTest, ANewJournalIsEmptyAndAccessibleOnlyToItsOwner) {
  const auto journal = Opened();

  EXPECT_THAT(read_, IsEmpty());
  struct stat file {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
}

TEST_F(JournalTest, AppendedDecisionsAreReadAfterReopening) {
  const std::vector<Decision> decisions = OneOfEachKind();
  {
    const auto journal = Opened();
    AppendAndWait(*journal, {decisions.begin(), decisions.begin() + 5});
    AppendAndWait(*journal, {decisions.begin() + 5, decisions.end()});
  }

  const auto journal = Opened();

  EXPECT_EQ(Json(read_), Json(decisions));
  EXPECT_THAT(troubles_, IsEmpty());
}

TEST_F(JournalTest, ConfirmedAppendsAreInTheJournalFile) {
  const auto journal = Opened();

  AppendAndWait(*journal, OneOfEachKind());

  const auto decoded = DecodeJournal(Bytes(path_));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(Json(decoded->decisions), Json(OneOfEachKind()));
}

TEST_F(JournalTest, ATornTailIsIgnoredAndReplacedByTheNextAppend) {
  const std::vector<Decision> decisions = OneOfEachKind();
  {
    const auto journal = Opened();
    AppendAndWait(*journal, {decisions[0]});
  }
  const std::string whole = Bytes(path_);
  std::ofstream(path_, std::ios::binary | std::ios::app) << EncodeTurn({decisions[1]}).substr(0, 20);

  {
    const auto journal = Opened();
    EXPECT_EQ(Json(read_), Json({decisions[0]}));
    AppendAndWait(*journal, {decisions[2]});
    EXPECT_EQ(Bytes(path_), whole + EncodeTurn({decisions[2]}));
  }

  const auto journal = Opened();
  EXPECT_EQ(Json(read_), Json({decisions[0], decisions[2]}));
}

TEST_F(JournalTest, TheFirstAppendRewritesAJournalOfAnEarlierVersion) {
  const std::vector<Decision> decisions = OneOfEachKind();
  std::string old = EncodeHeader() + EncodeTurn({decisions[0]});
  old[8] = 1;
  std::ofstream(path_, std::ios::binary) << old << EncodeTurn({decisions[1]}).substr(0, 20);
  {
    const auto journal = Opened();
    EXPECT_EQ(Json(read_), Json({decisions[0]}));
    EXPECT_TRUE(Bytes(path_).starts_with(old)) << "changed before there is something to write";
    AppendAndWait(*journal, {decisions[2], decisions[3]});
  }
  EXPECT_EQ(Bytes(path_), EncodeHeader() + EncodeTurn({decisions[0]}) + EncodeTurn({decisions[2], decisions[3]}));
  const auto journal = Opened();
  EXPECT_EQ(Json(read_), Json({decisions[0], decisions[2], decisions[3]}));
}

TEST_F(JournalTest, AJournalWithATornHeaderStartsEmpty) {
  std::ofstream(path_, std::ios::binary) << EncodeHeader().substr(0, 7);
  {
    const auto journal = Opened();
    EXPECT_THAT(read_, IsEmpty());
    AppendAndWait(*journal, {OneOfEachKind()[0]});
  }

  const auto journal = Opened();

  EXPECT_EQ(read_.size(), 1U);
}

TEST_F(JournalTest, ADamagedJournalIsLeftUnchangedAndTheErrorNamesItsPath) {
  {
    const auto journal = Opened();
    AppendAndWait(*journal, OneOfEachKind());
  }
  std::string bytes = Bytes(path_);
  bytes[40] = static_cast<char>(bytes[40] ^ 1);
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;

  const auto journal = LocalJournal::Open(loop_, path_);

  ASSERT_FALSE(journal.ok());
  EXPECT_EQ(journal.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(journal.error().message, HasSubstr(path_ + ": damaged at byte 12"));
  EXPECT_EQ(Bytes(path_), bytes);
}

TEST_F(JournalTest, TheErrorForAJournalInAMissingFolderNamesThePath) {
  path_ = (folder_.path() / "no such folder" / "journal").string();

  const auto journal = LocalJournal::Open(loop_, path_);

  ASSERT_FALSE(journal.ok());
  EXPECT_EQ(journal.error().code, ErrorCode::kCannotWrite);
  EXPECT_THAT(journal.error().message, HasSubstr(path_));
}

TEST_F(JournalTest, AppendsAreConfirmedInOrderOnTheEventLoop) {
  const auto journal = Opened();
  std::vector<int> order;
  constexpr int kAppends = 200;
  for (int i = 0; i < kAppends; ++i) {
    const Decision end = {{}, JobEnded{}};  // this decision is synced
    journal->Append({i % 7 == 0 ? end : OneOfEachKind()[0]}, [&order, i, this] {
      EXPECT_EQ(std::this_thread::get_id(), thread_);
      order.push_back(i);
    });
  }
  EXPECT_THAT(order, IsEmpty()) << "never from within Append";

  EXPECT_TRUE(RunUntil(loop_, [&] { return order.size() == static_cast<size_t>(kAppends); }));
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST_F(JournalTest, OnlyTheDecisionThatEndsTheJobIsSyncedToDisk) {
  const auto journal = Opened();

  for (const Decision& decision : OneOfEachKind()) {
    const int64_t before = journal->counts().syncs;
    AppendAndWait(*journal, {decision});
    EXPECT_EQ(journal->counts().syncs - before, std::holds_alternative<JobEnded>(decision.body)) << Name(decision);
  }

  EXPECT_EQ(DecodeJournal(Bytes(path_))->decisions.size(), OneOfEachKind().size());
}

TEST_F(JournalTest, AnEmptyAppendIsConfirmed) {
  const auto journal = Opened();

  Append(*journal, OneOfEachKind());
  Append(*journal, {});
  RunUntilAnswered();

  EXPECT_EQ(answers_, 2U);
}

TEST_F(JournalTest, ADestroyedJournalWritesPendingAppendsWithoutConfirmingThem) {
  bool answered = false;
  {
    const auto journal = Opened();
    journal->Append(OneOfEachKind(), [&] { answered = true; });
  }
  loop_.Post([this] { loop_.Stop(); });
  loop_.Run();
  EXPECT_FALSE(answered);

  const auto journal = Opened();

  EXPECT_EQ(read_.size(), OneOfEachKind().size());
}

TEST_F(JournalTest, AConfirmationCallbackCanDestroyTheJournal) {
  auto journal = Opened();
  for (int i = 0; i < 2; ++i) {
    journal->Append(OneOfEachKind(), [&] {
      ASSERT_NE(journal, nullptr) << "the second answer comes from a journal that is gone";
      journal.reset();
    });
  }

  EXPECT_TRUE(RunUntil(loop_, [&] { return journal == nullptr; }));
}

TEST_F(JournalTest, AJournalShorterThanItsRecordedSizeIsRejected) {
  {
    const auto journal = Opened();
    AppendAndWait(*journal, OneOfEachKind());
  }
  const std::string whole = Bytes(path_);
  for (const size_t size : {whole.size() - 1, whole.size() / 2, size_t{12}, size_t{5}, size_t{0}}) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << whole.substr(0, size);

    const auto journal = LocalJournal::Open(loop_, path_);

    ASSERT_FALSE(journal.ok()) << size;
    EXPECT_EQ(journal.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(journal.error().message, HasSubstr(StrCat("the file ends here, but it had ", whole.size(), " bytes")));
    EXPECT_EQ(Bytes(path_).size(), size) << "left as it is";
  }
}

TEST_F(JournalTest, AJournalWithAnUnfinishedLastAppendCanBeOpened) {
  const std::vector<Decision> decisions = OneOfEachKind();
  {
    const auto journal = Opened();
    AppendAndWait(*journal, {decisions[0]});
  }
  const std::string record = EncodeTurn({decisions[1]});
  std::ofstream(path_, std::ios::binary | std::ios::app) << record.substr(0, record.size() - 1);

  const auto opened = LocalJournal::Open(loop_, path_);

  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->torn_bytes, record.size() - 1);
}

TEST_F(JournalTest, AFlippedBitIsDetectedAndTheFileIsLeftUnchanged) {
  {
    const auto journal = Opened();
    AppendAndWait(*journal, {OneOfEachKind()[0], OneOfEachKind()[3]});
  }
  const std::string whole = Bytes(path_);
  for (size_t bit = 0; bit < whole.size() * 8; bit += 5) {  // journal_format_test tries every bit.
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;

    const auto opened = LocalJournal::Open(loop_, path_);

    ASSERT_FALSE(opened.ok()) << "bit " << bit;
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(opened.error().message, HasSubstr(path_));
    ASSERT_EQ(Bytes(path_), bytes);
  }
}

// Decisions are also written to the log, and the last output of a program may be long.
TEST(DecisionLogTest, ALoggedDecisionIsCutAfter400Characters) {
  const auto logged = [](size_t size) {
    AttemptEnded ended = {.attempt = {{"worker", 0}, 1}, .outcome = {.message = "x"}};
    ended.outcome.message.append(size - ToJson(Decision{{}, ended}).size(), 'x');
    testing::internal::CaptureStderr();
    LogAndEncode({Decision{{}, ended}});
    return std::pair(ToJson(Decision{{}, ended}), testing::internal::GetCapturedStderr());
  };
  const auto [whole, of_whole] = logged(400);
  EXPECT_THAT(of_whole, HasSubstr(whole));
  EXPECT_THAT(of_whole, Not(HasSubstr("...")));
  const auto [longer, of_longer] = logged(401);
  EXPECT_THAT(of_longer, HasSubstr(longer.substr(0, 400) + "..."));
}

}  // namespace
}  // namespace tony::am
