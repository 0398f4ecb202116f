#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/records/decisions.h"
#include "tests/unit/records/sample_decisions.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Instant kStart = Instant(Duration(1'700'000'000'000));

TEST(DescribeTest, AnEventIsTimeNameAndWhat) {
  const AttemptId worker{{"worker", 3}, 2};

  EXPECT_EQ(EventLine({kStart + Duration(1250), ContainerAssigned{worker, {"1-4"}, "node-7"}}, kStart),
            "     1.250  2023-11-14T22:13:21.250Z  container_assigned      worker:3#2 in 1-4 on node-7");
  EXPECT_EQ(EventLine({kStart, JobAccepted{}}, kStart), "     0.000  2023-11-14T22:13:20.000Z  job_accepted");
}

TEST(DescribeTest, EveryKindIsOneLineWithItsName) {
  for (const Decision& decision : OneOfEachKind()) {
    const std::string line = EventLine(decision, kStart);
    EXPECT_THAT(line, HasSubstr(std::string(Name(decision))));
    EXPECT_THAT(line, Not(HasSubstr("\n")));
  }
}

TEST(DescribeTest, ARestartSaysWhatStartsAgainAndWhy) {
  const RestartDecided restart{.number = 2,
                               .scope = RestartScope::kGang,
                               .cause = {{"worker", 1}, 1},
                               .reason = "worker:1 failed on node-3: exit code 3 (user_error)",
                               .charged = false,
                               .tasks = {{"ps", 0}, {"worker", 1}}};

  EXPECT_EQ(
      Describe(Decision{kStart, restart}),
      "restart 2 of gang, not charged: ps:0 worker:1; because worker:1 failed on node-3: exit code 3 (user_error)");
}

TEST(DescribeTest, AnOutcomeIsExitClassAndMessage) {
  EXPECT_EQ(Describe(Outcome{.cls = OutcomeClass::kOom, .exit = ExitStatus{ExitStatus::Kind::kSignaled, 9}}),
            "signal 9 (SIGKILL), oom");
  EXPECT_EQ(Describe(Outcome{.cls = OutcomeClass::kInfra, .message = "a\nb"}), "infra, a b");
}

TEST(DescribeTest, ALongListIsCutShort) {
  ContainersRequested request;
  for (int i = 0; i < 1000; ++i) request.attempts.push_back({{"worker", i}, 1});

  EXPECT_THAT(Describe(Decision{kStart, request}), testing::EndsWith("worker:7#1 and 992 more"));
}

}  // namespace
}  // namespace tony
