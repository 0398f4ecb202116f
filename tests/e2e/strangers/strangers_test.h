// What the tests with other users have in common: they are skipped where nobody can become another user.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/other_user.h"

namespace tony {

using Words = OtherUser::Words;

class StrangersTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = CannotBeOthers();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
  // Arguments of a submit of a job of one task.
  static OtherUser::Words One(const std::string& command) {
    return {"submit",
            "-executes",
            command,
            "-conf",
            "tony.application.framework=standalone",
            "-conf",
            "tony.worker.instances=1"};
  }
};

}  // namespace tony
