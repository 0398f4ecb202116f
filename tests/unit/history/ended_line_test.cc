#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/history/ended_log.h"
#include "runtime/history/jhist.h"

namespace tony {
namespace {

EndedJob Sample() {
  return {.job = {"local-20261121-093015-4f2a9c"},
          .name = "digits",
          .user = "ana",
          .framework = "jax",
          .state = FinalState::kFailed,
          .cls = OutcomeClass::kUserError,
          .request = {"airflow://dag/run/task/-1"},
          .number = 2,
          .submitted = FromMillis(1'795'253'415'123),
          .ended = FromMillis(1'795'253'500'000),
          .tasks = 4,
          .restarts = 1,
          .cause = "worker:1#2 failed on node-3: exit code 3"};
}

std::string_view WithoutEnd(std::string_view line) { return line.substr(0, line.size() - 1); }

TEST(Crc32Test, ChecksumsMatchThoseOfGzip) {
  EXPECT_EQ(Crc32(""), 0u);
  EXPECT_EQ(Crc32("123456789"), 0xCBF43926u);
  EXPECT_EQ(Crc32("The quick brown fox jumps over the lazy dog"), 0x414FA339u);
}

TEST(EndedLineTest, ALineHasTheDocumentedFieldsAndAChecksum) {
  const std::string line = ToLine(Sample());
  const std::string body =
      "1\tlocal-20261121-093015-4f2a9c\tdigits\tana\tjax\tFAILED\tuser_error\tairflow://dag/run/task/-1\t2\t"
      "1795253415123\t1795253500000\t4\t1\tworker:1#2 failed on node-3: exit code 3";
  ASSERT_EQ(line.substr(0, body.size()), body);
  EXPECT_EQ(line.size(), body.size() + 10);
  EXPECT_EQ(line.back(), '\n');
}

TEST(EndedLineTest, EveryByteValueInATextFieldIsReadBackUnchanged) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = StrCat("a", static_cast<char>(byte), "\\09", static_cast<char>(byte));
    EndedJob job = Sample();
    job.job.value = job.name = job.user = job.framework = job.request.value = job.cause = text;
    const std::string line = ToLine(job);
    EXPECT_EQ(line.find('\n'), line.size() - 1) << byte;
    const auto read = ReadEndedLine(WithoutEnd(line));
    ASSERT_TRUE(read) << byte;
    EXPECT_EQ(ToEndedJob(*read), job) << byte;
  }
}

TEST(EndedLineTest, EmptyTextsAndNegativeNumbersAreReadBackUnchanged) {
  const EndedJob job{.number = -1, .submitted = FromMillis(-5)};
  const std::string line = ToLine(job);
  ASSERT_TRUE(ReadEndedLine(WithoutEnd(line)));
  EXPECT_EQ(ToEndedJob(*ReadEndedLine(WithoutEnd(line))), job);
}

TEST(EndedLineTest, ALineWithAFlippedBitIsRejected) {
  const std::string line(WithoutEnd(ToLine(Sample())));
  for (size_t at = 0; at < line.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = line;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      EXPECT_FALSE(ReadEndedLine(flipped)) << at << " " << bit;
    }
  }
}

TEST(EndedLineTest, ATruncatedOrRepeatedLineIsRejected) {
  const std::string line(WithoutEnd(ToLine(Sample())));
  for (size_t size = 0; size < line.size(); ++size) EXPECT_FALSE(ReadEndedLine(line.substr(0, size))) << size;
  EXPECT_FALSE(ReadEndedLine(line + line));
}

std::string Sealed(const std::string& body) {
  char checksum[16];
  std::snprintf(checksum, sizeof checksum, "\t%08x", Crc32(body));
  return body + checksum;
}

TEST(EndedLineTest, ALineWithInvalidFieldsIsRejectedEvenIfItsChecksumIsCorrect) {
  const std::string good = "1\tj\tn\tu\tf\tKILLED\tkilled\t\t0\t1\t2\t3\t4\tc";
  ASSERT_TRUE(ReadEndedLine(Sealed(good)));
  for (const std::string& body : {"2" + good.substr(1), good + "\tmore", std::string("1\tj"),
                                  std::string("1\tj\tn\tu\tf\tDONE\tkilled\t\t0\t1\t2\t3\t4\tc"),
                                  std::string("1\tj\tn\tu\tf\tKILLED\tworn\t\t0\t1\t2\t3\t4\tc"),
                                  std::string("1\tj\tn\tu\tf\tKILLED\tkilled\t\t0x\t1\t2\t3\t4\tc"),
                                  std::string("1\tj\tn\tu\tf\tKILLED\tkilled\t\t0\t1\t\t3\t4\tc")}) {
    EXPECT_TRUE(IsWholeLine(Sealed(body))) << body;
    EXPECT_FALSE(ReadEndedLine(Sealed(body))) << body;
  }
}

TEST(EndedLineTest, ACauseLongerThan200BytesIsCutAtACharacterBoundary) {
  JobStatus status;
  status.verdict = Verdict{.state = FinalState::kFailed, .cls = OutcomeClass::kUserError};
  for (int i = 0; i < 100; ++i) status.verdict->message += "\u20ac";
  const EndedJob job = EndedJobOf(status);
  EXPECT_EQ(job.cause.size(), 198u);
  EXPECT_TRUE(IsUtf8(job.cause));
}

}  // namespace
}  // namespace tony
