#include "runtime/records/journal_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/base/strings.h"
#include "tests/support/results.h"
#include "tests/unit/records/sample_decisions.h"

namespace tony {
namespace {

using testing::HasSubstr;

constexpr size_t kHeaderBytes = 12;
constexpr size_t kRecordHeaderBytes = 12;  // length, two checksums

std::string Encode(const std::vector<Decision>& decisions) {
  std::string bytes = EncodeHeader();
  for (const Decision& decision : decisions) bytes += EncodeTurn({decision});
  return bytes;
}

std::vector<std::string> Json(const std::vector<Decision>& decisions) {
  std::vector<std::string> texts;
  for (const Decision& decision : decisions) texts.push_back(ToJson(decision));
  return texts;
}

// Returns the offset of each record, and the end of the last one.
std::vector<size_t> Boundaries(const std::vector<Decision>& decisions) {
  std::vector<size_t> at = {kHeaderBytes};
  for (const Decision& decision : decisions) at.push_back(at.back() + EncodeTurn({decision}).size());
  return at;
}

// Computes CRC-32C bit by bit after its definition: Castagnoli's polynomial, reflected.
uint32_t SlowCrc32c(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

std::string LittleEndian(uint32_t number) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
  return bytes;
}

std::string Record(const std::string& json) {
  const std::string head = LittleEndian(static_cast<uint32_t>(json.size())) + LittleEndian(SlowCrc32c(json));
  return StrCat(head, LittleEndian(SlowCrc32c(head)), json);
}

TEST(JournalFormatTest, WrittenDecisionsAreReadBack) {
  const std::vector<Decision> decisions = OneOfEachKind();
  const std::string bytes = Encode(decisions);

  const auto journal = DecodeJournal(bytes);

  ASSERT_TRUE(journal.ok()) << journal.error().message;
  EXPECT_EQ(Json(journal->decisions), Json(decisions));
  EXPECT_EQ(journal->valid_bytes, bytes.size());
}

TEST(JournalFormatTest, JournalBytesMatchTheDocumentedFormat) {
  const Decision decision{Instant(Duration(5)), JobAccepted{}};
  const std::string json = R"({"time":5,"decision":"job_accepted"})";
  ASSERT_EQ(SlowCrc32c("123456789"), 0xE3069283U);  // the check value of CRC-32C

  EXPECT_EQ(EncodeHeader(), StrCat("TONYJRNL", LittleEndian(2)));
  EXPECT_EQ(EncodeTurn({decision}), Record(json));
  EXPECT_EQ(EncodeTurn({decision, decision}), Record(json + "\n" + json));
}

TEST(JournalFormatTest, NoDecisionOfATruncatedJournalRecordIsRead) {
  const std::vector<Decision> turn = OneOfEachKind();
  const std::string before = Encode({turn.front()}), bytes = before + EncodeTurn(turn);
  for (size_t size = before.size(); size < bytes.size(); ++size) {
    const auto journal = DecodeJournal(std::string_view(bytes).substr(0, size));
    ASSERT_TRUE(journal.ok()) << size << ": " << journal.error().message;
    ASSERT_EQ(journal->decisions.size(), 1) << size;
    ASSERT_EQ(journal->valid_bytes, before.size()) << size;
  }
  const auto journal = Must(DecodeJournal(bytes));
  EXPECT_EQ(journal.decisions.size(), 1 + turn.size());
}

TEST(JournalFormatTest, AVersion1JournalIsReadAndUpgradedToVersion2) {
  const std::vector<Decision> decisions = OneOfEachKind();
  std::string old = Encode(decisions);
  old[8] = 1;
  const auto journal = Must(DecodeJournal(old));
  EXPECT_TRUE(journal.outdated);
  EXPECT_EQ(Json(journal.decisions), Json(decisions));
  EXPECT_EQ(Update(old), Encode(decisions));
  EXPECT_FALSE(DecodeJournal(Update(old))->outdated);
}

TEST(JournalFormatTest, AnEmptyFileIsReadAsAnEmptyJournal) {
  const auto journal = DecodeJournal("");

  ASSERT_TRUE(journal.ok());
  EXPECT_TRUE(journal->decisions.empty());
  EXPECT_EQ(journal->valid_bytes, 0U);
}

TEST(JournalFormatTest, AHeaderWithoutRecordsIsReadAsAnEmptyJournal) {
  const auto journal = DecodeJournal(EncodeHeader());

  ASSERT_TRUE(journal.ok());
  EXPECT_TRUE(journal->decisions.empty());
  EXPECT_EQ(journal->valid_bytes, kHeaderBytes);
}

TEST(JournalFormatTest, AJournalHeaderTruncatedAtAnyByteIsReadAsAnEmptyJournal) {
  for (size_t size = 0; size < kHeaderBytes; ++size) {
    const auto journal = DecodeJournal(EncodeHeader().substr(0, size));
    ASSERT_TRUE(journal.ok()) << size;
    EXPECT_EQ(journal->valid_bytes, 0U);
  }
}

TEST(JournalFormatTest, ALastRecordTruncatedAtAnyByteIsDropped) {
  const std::vector<Decision> decisions = OneOfEachKind();
  const std::string bytes = Encode(decisions);
  const size_t last = Boundaries(decisions)[decisions.size() - 1];

  for (size_t size = last; size < bytes.size(); ++size) {
    const auto journal = DecodeJournal(std::string_view(bytes).substr(0, size));
    ASSERT_TRUE(journal.ok()) << size << ": " << journal.error().message;
    EXPECT_EQ(journal->decisions.size(), decisions.size() - 1);
    EXPECT_EQ(journal->valid_bytes, last);
  }
}

TEST(JournalFormatTest, ZeroBytesAfterTheLastRecordAreDropped) {
  const std::vector<Decision> decisions = OneOfEachKind();
  const std::string bytes = Encode(decisions);

  for (const size_t zeros : {1, 7, 8, 9, 4096}) {
    const auto journal = DecodeJournal(bytes + std::string(zeros, '\0'));
    ASSERT_TRUE(journal.ok()) << zeros << ": " << journal.error().message;
    EXPECT_EQ(journal->decisions.size(), decisions.size());
    EXPECT_EQ(journal->valid_bytes, bytes.size());
  }
}

TEST(JournalFormatTest, AnEmptyRecordIsRejected) { EXPECT_FALSE(DecodeJournal(EncodeHeader() + Record("")).ok()); }

TEST(JournalFormatTest, ATruncatedRecordAbove256MiBIsReportedAsDamageInsteadOfDropped) {
  constexpr uint32_t kLargest = 256 << 20;
  const auto torn = [](uint32_t size) {
    const std::string head = LittleEndian(size) + LittleEndian(0);
    return StrCat(head, LittleEndian(SlowCrc32c(head)), "12345");
  };
  EXPECT_TRUE(DecodeJournal(EncodeHeader() + torn(kLargest)).ok());
  EXPECT_FALSE(DecodeJournal(EncodeHeader() + torn(kLargest + 1)).ok());
}

TEST(JournalFormatTest, ALastRecordThatEndsInZeroBytesIsDropped) {
  const std::vector<Decision> decisions = OneOfEachKind();
  std::string bytes = Encode(decisions);
  const size_t last = Boundaries(decisions)[decisions.size() - 1];
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(last + kRecordHeaderBytes + 3), bytes.end(), '\0');

  const auto journal = DecodeJournal(bytes);

  ASSERT_TRUE(journal.ok()) << journal.error().message;
  EXPECT_EQ(journal->decisions.size(), decisions.size() - 1);
  EXPECT_EQ(journal->valid_bytes, last);
}

// After a power cut before the first write reached the disk, the header consists of zeros as well as the rest.
TEST(JournalFormatTest, AFileOfZeroBytesIsReadAsAnEmptyJournal) {
  for (const size_t zeros : {1, 11, 12, 4096}) {
    const auto journal = DecodeJournal(std::string(zeros, '\0'));
    ASSERT_TRUE(journal.ok()) << zeros << ": " << journal.error().message;
    EXPECT_TRUE(journal->decisions.empty());
    EXPECT_EQ(journal->valid_bytes, 0U);
  }
}

void ExpectDamage(const std::string& bytes, size_t offset) {
  ExpectError(DecodeJournal(bytes), ErrorCode::kInvalid, StrCat("~", "damaged at byte ", offset, ":"));
}

TEST(JournalFormatTest, AFlippedByteIsReportedWithTheOffsetOfTheDamagedRecord) {
  const std::vector<Decision> decisions = OneOfEachKind();
  const std::vector<size_t> at = Boundaries(decisions);
  for (const size_t record : {size_t{0}, size_t{5}, decisions.size() - 2}) {
    for (size_t byte = at[record] + 4; byte < at[record + 1]; ++byte) {
      SCOPED_TRACE(StrCat("byte ", byte, " of the record at ", at[record]));
      std::string bytes = Encode(decisions);
      bytes[byte] = static_cast<char>(bytes[byte] ^ 0x40);
      ExpectDamage(bytes, at[record]);
    }
  }
}

// Otherwise all records behind it, which were acted upon, would be cut off silently.
TEST(JournalFormatTest, ACorruptLengthOfAMiddleRecordIsReportedAsDamage) {
  const std::vector<Decision> decisions = OneOfEachKind();
  const size_t record = Boundaries(decisions)[5];
  for (size_t bit = 0; bit < 32; ++bit) {
    SCOPED_TRACE(StrCat("bit ", bit));
    std::string bytes = Encode(decisions);
    bytes[record + bit / 8] = static_cast<char>(bytes[record + bit / 8] ^ (1 << bit % 8));
    ExpectDamage(bytes, record);
  }
}

// The last record must not be cut off either, because it was acted upon like the others.
TEST(JournalFormatTest, EveryFlippedBitIsReportedAsDamage) {
  const std::vector<Decision> kinds = OneOfEachKind();
  const std::string whole = Encode({kinds[0], kinds[3], kinds[1]});
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));

    const auto journal = DecodeJournal(bytes);

    ASSERT_FALSE(journal.ok()) << "bit " << bit;
    EXPECT_EQ(journal.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(journal.error().message, testing::ContainsRegex("at byte [0-9]+")) << "bit " << bit;
  }
}

TEST(JournalFormatTest, AJournalTruncatedAtAnyByteKeepsAllCompleteRecords) {
  const std::vector<Decision> kinds = OneOfEachKind();
  const std::vector<Decision> decisions(kinds.begin(), kinds.begin() + 6);
  const std::string whole = Encode(decisions);
  const std::vector<size_t> at = Boundaries(decisions);
  for (size_t size = kHeaderBytes; size <= whole.size(); ++size) {
    const auto journal = DecodeJournal(std::string_view(whole).substr(0, size));
    ASSERT_TRUE(journal.ok()) << size << ": " << journal.error().message;
    const auto next = std::ranges::upper_bound(at, size);
    EXPECT_EQ(journal->valid_bytes, *std::prev(next));
    EXPECT_EQ(journal->decisions.size(), static_cast<size_t>(next - at.begin()) - 1);
  }
}

TEST(JournalFormatTest, AnUnknownDecisionOfALaterReleaseIsNamedInTheError) {
  const std::string json = R"({"time":5,"decision":"gang_disbanded"})";
  const auto journal = DecodeJournal(EncodeHeader() + Record(json));

  ASSERT_FALSE(journal.ok());
  EXPECT_EQ(journal.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(journal.error().message, HasSubstr("gang_disbanded"));
}

TEST(JournalFormatTest, AJournalOfALaterVersionIsRejectedWithItsVersionNumber) {
  std::string bytes = Encode(OneOfEachKind());
  bytes.replace(8, 4, LittleEndian(kJournalVersion + 1));

  const auto journal = DecodeJournal(bytes);

  ASSERT_FALSE(journal.ok());
  EXPECT_EQ(journal.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(journal.error().message, HasSubstr("version 3"));
}

TEST(JournalFormatTest, AFileThatDoesNotStartWithAJournalHeaderIsRejected) {
  for (const std::string bytes : {"x", "TONY journal", "#!/bin/bash\necho a longer text than a header"}) {
    const auto journal = DecodeJournal(bytes);
    ASSERT_FALSE(journal.ok()) << bytes;
    EXPECT_EQ(journal.error().code, ErrorCode::kInvalid);
  }
}

void Mutate(std::string& bytes, std::mt19937& random) {
  const size_t at = bytes.empty() ? 0 : random() % bytes.size();
  switch (random() % 5) {
    case 0:
      if (!bytes.empty()) bytes[at] = static_cast<char>(random());
      break;
    case 1:
      bytes.resize(at);
      break;
    case 2:
      bytes.insert(at, 1 + random() % 40, static_cast<char>(random()));
      break;
    case 3:
      bytes.erase(at, 1 + random() % 40);
      break;
    case 4:
      bytes += bytes.substr(at);
      break;
  }
}

TEST(JournalFormatTest, AMutatedJournalIsRejectedOrDecodesLikeItsValidPrefix) {
  std::mt19937 random(20261121);
  const std::string original = Encode(OneOfEachKind());
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = original;
    for (auto left = 1 + random() % 4; left > 0; --left) Mutate(bytes, random);

    const auto journal = DecodeJournal(bytes);

    if (!journal.ok()) {
      EXPECT_EQ(journal.error().code, ErrorCode::kInvalid);
      continue;
    }
    ASSERT_LE(journal->valid_bytes, bytes.size());
    const auto again = Must(DecodeJournal(std::string_view(bytes).substr(0, journal->valid_bytes)));
    EXPECT_EQ(Json(again.decisions), Json(journal->decisions));
    EXPECT_EQ(again.valid_bytes, journal->valid_bytes);
  }
}

}  // namespace
}  // namespace tony
