// A fixture for tests with other users. They are skipped if this process cannot become another user.
#pragma once

#include "tests/e2e/tony_test.h"
#include "tests/support/other_user.h"

namespace tony {

class StrangersTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = CannotBeOthers();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
  // The arguments of a submit of a job with one task.
  static Words One(const std::string& command, const Words& keys = {}) {
    return Words{"submit", "-executes", command} +
           Confs({"tony.application.framework=standalone", "tony.worker.instances=1"}) + Confs(keys);
  }
};

}  // namespace tony
