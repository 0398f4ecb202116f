#include "runtime/base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace tony {
namespace {

Status StatusOf(bool ok) {
  if (ok) return Ok();
  return Error{ErrorCode::kNotFound, "no such file"};
}

Result<std::unique_ptr<int>> Boxed(int value) {
  if (value < 0) return Error{ErrorCode::kInvalid, "negative"};
  return std::make_unique<int>(value);
}

Result<int> Sum(bool first_ok, int a, int b) {
  TRY(StatusOf(first_ok));
  TRY(Boxed(a));
  TRY_ASSIGN(const auto left, Boxed(a));
  TRY_ASSIGN(const auto right, Boxed(b));
  return *left + *right;
}

TEST(ResultTest, TryAssignReturnsTheValueOfASuccessfulResult) {
  const auto sum = Sum(true, 2, 3);
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(*sum, 5);
}

TEST(ResultTest, TryReturnsTheErrorOfAFailedStatusOrResult) {
  EXPECT_EQ(Sum(false, 2, 3).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Sum(true, -1, 3).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(Sum(true, 1, -3).error().message, "negative");
}

TEST(ResultTest, TryEvaluatesItsExpressionOnce) {
  int evaluated = 0;
  const auto run = [&]() -> Status {
    TRY((++evaluated, StatusOf(true)));
    TRY_ASSIGN(int value, (++evaluated, Result<int>(1)));
    return value == 1 ? Ok() : Status(Error{});
  };
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(evaluated, 2);
}

TEST(ResultTest, TryMayBeTheOnlyStatementOfAnIfBranch) {
  const auto run = [](bool first) -> Status {
    if (first)
      TRY(StatusOf(false));
    else
      TRY(StatusOf(true));
    return Ok();
  };
  EXPECT_FALSE(run(true).ok());
  EXPECT_TRUE(run(false).ok());
}

TEST(ResultTest, AMoveOnlyValueCanBeMovedOutOfAResult) {
  std::unique_ptr<int> box = *Boxed(7);
  EXPECT_EQ(*box, 7);
  auto result = Boxed(8);
  **result += 1;
  EXPECT_EQ(**result, 9);
  EXPECT_EQ(*result->get(), 9);
}

TEST(ResultTest, AnnotateAddsContextToTheMessageAndKeepsTheErrorCode) {
  const Error error = Annotate({ErrorCode::kCannotWrite, "disk full"}, "write /x/journal");
  EXPECT_EQ(error.code, ErrorCode::kCannotWrite);
  EXPECT_EQ(error.message, "write /x/journal: disk full");
}

}  // namespace
}  // namespace tony
