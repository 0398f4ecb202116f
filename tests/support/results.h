// Checks of a Result or a Status, for tests.
#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "tests/support/table_test.h"

namespace tony {

// Returns the value. An error ends the test with an exception that names the line.
template <class T>
T Must(Result<T> result, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!result.ok()) throw std::runtime_error(StrCat(file, ":", line, ": ", result.error().message));
  return *std::move(result);
}
inline void Must(const Status& status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!status.ok()) throw std::runtime_error(StrCat(file, ":", line, ": ", status.error().message));
}

// Compares the message with ExpectText: "~" stands before a part of it, "^" before its beginning.
inline void ExpectError(const auto& result, ErrorCode code, std::string_view message,
                        const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const testing::ScopedTrace trace(file, line, "");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code);
  ExpectText(message, result.error().message);
}
inline void ExpectError(const auto& result, std::string_view message, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  const testing::ScopedTrace trace(file, line, "");
  ASSERT_FALSE(result.ok());
  ExpectText(message, result.error().message);
}

}  // namespace tony
