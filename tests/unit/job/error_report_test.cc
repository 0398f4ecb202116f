#include "runtime/job/error_report.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

std::string ReportError(const std::string& json) {
  const auto report = ParseErrorReport(json);
  return report.ok() ? "accepted" : report.error().message;
}

TEST(ErrorReportTest, AnErrorReportIsParsedIntoAClassAnAdviceAndAMessage) {
  const auto report = ParseErrorReport(R"({"class":"user_config","advice":"permanent","message":"no data","more":[]})");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(*report, (ErrorReport{OutcomeClass::kUserConfig, Advice::kPermanent, "no data"}));
}

TEST(ErrorReportTest, AnErrorReportWithOnlyAClassOrAdviceOrAMessageIsAccepted) {
  EXPECT_EQ(*ParseErrorReport(R"({"class":"hung"})"), (ErrorReport{OutcomeClass::kHung, Advice::kNone, ""}));
  EXPECT_EQ(*ParseErrorReport(R"({"advice":"transient"})"), (ErrorReport{{}, Advice::kTransient, ""}));
  EXPECT_EQ(*ParseErrorReport(R"({"message":"m"})"), (ErrorReport{{}, Advice::kNone, "m"}));
}

TEST(ErrorReportTest, TheMessageOfATorchElasticErrorFileIsParsed) {
  const auto report = ParseErrorReport(
      R"({"message":{"message":"ValueError: bad\nshape","errorCode":1,)"
      R"("extraInfo":{"py_callstack":"Traceback (most recent call last):\n","timestamp":"1763730000"}}})");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(*report, (ErrorReport{{}, Advice::kNone, "ValueError: bad\nshape"}));
}

TEST(ErrorReportTest, AMessageIsCutTo4096Bytes) {
  EXPECT_EQ(ParseErrorReport("{\"message\":\"" + std::string(100'000, 'x') + "\"}")->message.size(), 4096u);
}

TEST(ErrorReportTest, AnInvalidErrorReportIsRejectedWithTheReason) {
  EXPECT_TRUE(ReportError("").starts_with("error file: not JSON: ")) << ReportError("");
  EXPECT_TRUE(ReportError("{\"class\":").starts_with("error file: not JSON: "));
  EXPECT_TRUE(ReportError(std::string(1000, '[')).starts_with("error file: not JSON: "));
  EXPECT_EQ(ReportError("[]"), "error file: expected a JSON object");
  EXPECT_EQ(ReportError("{}"), "error file: expected class, advice or message");
  EXPECT_EQ(
      ReportError(R"({"class":"bad"})"),
      "error file: field class: expected user_error, user_config, oom, node_lost, preempted, infra, hung or timeout");
  EXPECT_EQ(ReportError(R"({"advice":"maybe"})"), "error file: field advice: expected transient or permanent");
  EXPECT_EQ(ReportError(R"({"message":7})"), "error file: field message: expected a string");
  EXPECT_EQ(ReportError(R"({"message":{"extraInfo":{}}})"),
            "error file: field message.message: expected a string, but the field is missing");
}

TEST(ErrorReportTest, AProgramCannotReportTheClassSuccessOrKilledOrAbandoned) {
  for (const char* cls : {"success", "killed", "abandoned", "", "OOM"}) EXPECT_FALSE(UserClassFromString(cls)) << cls;
}

}  // namespace
}  // namespace tony
