#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "runtime/cli/output.h"

namespace tony {
namespace {

using enum ErrorCode;

TEST(ErrorJsonTest, EachErrorCodeHasItsDocumentedClassName) {
  const std::pair<ErrorCode, std::string_view> rows[] = {
      {kUsage, "usage"},       {kInvalid, "spec_invalid"},     {kNotFound, "not_found"}, {kUnavailable, "unavailable"},
      {kInternal, "internal"}, {kCannotWrite, "cannot_write"}, {kNotPermitted, "auth"}};
  for (const auto& [code, name] : rows) EXPECT_EQ(ClassName(code), name);
}

TEST(ErrorJsonTest, OnlyErrorsOfClassUnavailableAreRetryable) {
  for (const ErrorCode code : {kUsage, kInvalid, kNotFound, kUnavailable, kInternal, kCannotWrite, kNotPermitted}) {
    const auto error = boost::json::parse(ErrorJson({code, "open \"x\": no"}));
    EXPECT_EQ(error.at("code"), static_cast<int>(code));
    EXPECT_EQ(error.at("message"), "open \"x\": no");
    EXPECT_EQ(error.at("retryable"), code == kUnavailable);
  }
}

TEST(ErrorJsonTest, AFailedCommandPrintsJsonOnStandardOutputAndALineOnStandardError) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(FailWith({kCannotWrite, "not all"}, R"({"schema":1,"jobs":[]})"), 73);
  const auto answer = boost::json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tony: not all\n");
  EXPECT_TRUE(answer.at("jobs").is_array());
  EXPECT_EQ(answer.at("error").at("class"), "cannot_write");
}

TEST(ErrorJsonTest, AFailureWithoutTheJsonOptionPrintsNothingOnStandardOutput) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(Fail({kNotFound, "no job x"}, false), 66);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tony: no job x\n");
}

}  // namespace
}  // namespace tony
