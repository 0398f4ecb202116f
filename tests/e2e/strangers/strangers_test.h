// What the tests with other users have in common: they are skipped where nobody can become another user.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/other_user.h"

namespace tony {

class StrangersTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = CannotBeOthers();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

}  // namespace tony
