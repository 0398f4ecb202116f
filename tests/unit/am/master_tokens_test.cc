// Tests tokens of the cluster that clients push to the master, and that the master sends to executors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/token_wait.h"
#include "runtime/job/job_status.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ClusterTokens kOlder{5, FromMillis(50'000), "first"};
// Above the number of every command.
constexpr int64_t kNoCommand = int64_t{1} << 62;
const ClusterTokens kNewer{6, FromMillis(60'000), "second"};

template <class Service>
std::shared_ptr<Answered<TokensReply>> PushTo(Service& service, const ClusterTokens& tokens,
                                              const std::string& token = kToken) {
  auto answer = std::make_shared<Answered<TokensReply>>();
  service.PushTokens(token, tokens, Reply<TokensReply>(answer));
  return answer;
}

class MasterTokensTest : public ApplicationMasterTest {
 protected:
  explicit MasterTokensTest(const ClusterTokens& tokens = kOlder)
      : ApplicationMasterTest(JobBuilder().Role("worker", 2).Build(), std::nullopt, tokens) {
    GrantBothAndRegisterOne();
  }
  // Calls Await for an executor that has the tokens with this number.
  std::shared_ptr<Answered<Command>> AwaitWith(int64_t number, std::string_view task = "worker:0") {
    Caller caller = CallerOf(task);
    caller.tokens = number;
    auto answer = std::make_shared<Answered<Command>>();
    master_.Await(caller, /*since=*/kNoCommand, Reply<Command>(answer));
    journal_.WriteAll();
    return answer;
  }
};

TEST_F(MasterTokensTest, PushedTokensAreStoredAndSentToEveryConnectedExecutor) {
  Register("worker:1");
  journal_.WriteAll();
  const auto one = AwaitWith(5), other = AwaitWith(5, "worker:1");
  const auto push = PushTo(master_, kNewer);
  ASSERT_TRUE(push->value);
  EXPECT_TRUE(push->value->taken);
  EXPECT_EQ(push->value->until, kNewer.until);
  EXPECT_THAT(stored_tokens_, ElementsAre(kNewer));
  ASSERT_TRUE(one->value && other->value);
  EXPECT_EQ(one->value->tokens, kNewer);
  EXPECT_EQ(other->value->tokens, kNewer);
  EXPECT_EQ(one->value->kind, Command::Kind::kNone);
  EXPECT_TRUE(AwaitWith(6)->open());
}

TEST_F(MasterTokensTest, AnExecutorWithOlderTokensGetsTheNewestOnesWithItsNextAwait) {
  PushTo(master_, kNewer);
  const auto answer = AwaitWith(5);
  ASSERT_TRUE(answer->value);
  EXPECT_EQ(answer->value->tokens, kNewer);
}

TEST_F(MasterTokensTest, OlderTokensAreIgnored) {
  PushTo(master_, kNewer);
  const auto push = PushTo(master_, kOlder);
  ASSERT_TRUE(push->value);
  EXPECT_FALSE(push->value->taken);
  EXPECT_EQ(push->value->until, kNewer.until);
  EXPECT_THAT(stored_tokens_, ElementsAre(kNewer));
}

TEST_F(MasterTokensTest, ARepeatedPushGetsTheSameAnswerAndIsStoredOnce) {
  EXPECT_TRUE(PushTo(master_, kNewer)->value->taken);
  EXPECT_TRUE(PushTo(master_, kNewer)->value->taken);
  EXPECT_THAT(stored_tokens_, ElementsAre(kNewer));
}

TEST_F(MasterTokensTest, TokensAreTakenWhileTheJournalCannotBeWritten) {
  journal_.trouble("the token has expired");
  const auto awaiting = AwaitWith(5);
  EXPECT_TRUE(PushTo(master_, kNewer)->value->taken);
  ASSERT_TRUE(awaiting->value);
  EXPECT_EQ(awaiting->value->tokens, kNewer);
  EXPECT_EQ(AwaitWith(5)->value->tokens, kNewer);
}

TEST_F(MasterTokensTest, APushWithAWrongTokenOrWithTokensThatCannotBeStoredIsRefused) {
  EXPECT_EQ(PushTo(master_, kNewer, "wrong")->refusal->reason, RefusalReason::kBadToken);
  store_answer_ = Error{ErrorCode::kCannotWrite, "the disk is full"};
  EXPECT_EQ(PushTo(master_, kNewer)->refusal->message, "the disk is full");
  EXPECT_EQ(master_.ShowStatus().tokens_until, kOlder.until);
}

TEST_F(MasterTokensTest, TheStatusShowsTheEndOfTheNewestTokens) {
  EXPECT_EQ(master_.ShowStatus().tokens_until, kOlder.until);
  PushTo(master_, kNewer);
  EXPECT_EQ(master_.ShowStatus().tokens_until, kNewer.until);
  EXPECT_EQ(master_.ShowStatus().tokens_issued, FromMillis(6));
}

TEST_F(MasterTokensTest, TokensAreOverdueAfterHalfOfTheirLifeUntilFreshOnesArePushed) {
  EXPECT_TRUE(RunUntil(loop_, [this] { return master_.ShowStatus().tokens_are_overdue; }));
  const Instant now = RealClock().Now();
  PushTo(master_, {ToMillis(now), now + std::chrono::hours(1), "fresh"});
  EXPECT_FALSE(master_.ShowStatus().tokens_are_overdue);
}

class MasterWithoutTokensTest : public MasterTokensTest {
 protected:
  MasterWithoutTokensTest() : MasterTokensTest(ClusterTokens{}) {}
};

TEST_F(MasterWithoutTokensTest, AJobOfAClusterWithoutKerberosRefusesTokens) {
  EXPECT_THAT(PushTo(master_, kNewer)->refusal->message, HasSubstr("no Kerberos"));
  EXPECT_THAT(stored_tokens_, IsEmpty());
  EXPECT_FALSE(master_.ShowStatus().tokens_until);
}

// ---- Tokens that the master fetches with a keytab.

TEST(TokenRenewalTest, TokensAreFetchedAfterAQuarterOfTheirRestAndAgainAfterAFailure) {
  EventLoop loop;
  std::atomic<int> fetched = 0;
  std::vector<int64_t> taken;
  TokenRenewal renewal(
      loop,
      [&]() -> Result<ClusterTokens> {
        if (++fetched == 1) return UnavailableError("no KDC");
        return ClusterTokens{fetched, RealClock().Now() + Duration(100), "fresh"};
      },
      [&](const ClusterTokens& fresh) {
        taken.push_back(fresh.number);
        return Ok();
      });
  renewal.Begin(RealClock().Now() + Duration(800));
  EXPECT_TRUE(RunUntil(loop, [&] { return taken.size() == 2; }));
  EXPECT_THAT(taken, ElementsAre(2, 3));
}

// ---- A master that cannot lead because its tokens have ended.

class TokenWaitTest : public testing::Test {
 protected:
  EventLoop loop_;
  std::vector<ClusterTokens> stored_;
  bool over_ = false;
  TokenWait wait_{{.job_token = kToken,
                   .epoch = {7},
                   .reason = "waits for fresh tokens",
                   .tokens = kOlder,
                   .store =
                       [this](const ClusterTokens& tokens) {
                         stored_.push_back(tokens);
                         return Ok();
                       },
                   .on_tokens = [this] { over_ = true; }},
                  loop_};
  const Caller caller_{.job = {"job-1"}, .attempt = AttemptOf("worker:0"), .container = {"c"}, .token = kToken};
};

TEST_F(TokenWaitTest, ExecutorsStayConnectedAndGetNoCommand) {
  auto registered = std::make_shared<Answered<Epoch>>();
  wait_.Register(caller_, {}, Reply<Epoch>(registered));
  EXPECT_EQ(registered->value, Epoch{7});
  auto beat = std::make_shared<Answered<std::monostate>>();
  wait_.Heartbeat(caller_, {}, Reply<std::monostate>(beat));
  EXPECT_TRUE(beat->value);
  auto command = std::make_shared<Answered<Command>>();
  wait_.Await(caller_, 0, Reply<Command>(command));
  EXPECT_TRUE(command->open());
}

TEST_F(TokenWaitTest, CallsThatNeedTheJournalAreRefusedWithTheReason) {
  auto outcome = std::make_shared<Answered<std::monostate>>();
  wait_.ReportOutcome(caller_, {}, Reply<std::monostate>(outcome));
  EXPECT_EQ(outcome->refusal->reason, RefusalReason::kNotLeader);
  auto status = std::make_shared<Answered<StatusAnswer>>();
  wait_.GetStatus(kToken, Reply<StatusAnswer>(status));
  EXPECT_EQ(status->refusal->message, "waits for fresh tokens");
  status = std::make_shared<Answered<StatusAnswer>>();
  wait_.GetStatus("wrong", Reply<StatusAnswer>(status));
  EXPECT_EQ(status->refusal->reason, RefusalReason::kBadToken);
}

TEST_F(TokenWaitTest, TheWaitEndsWhenNewerTokensAreStored) {
  EXPECT_FALSE(PushTo(wait_, kOlder)->value->taken);
  EXPECT_EQ(PushTo(wait_, kNewer, "wrong")->refusal->reason, RefusalReason::kBadToken);
  EXPECT_THAT(stored_, IsEmpty());
  EXPECT_TRUE(PushTo(wait_, kNewer)->value->taken);
  EXPECT_THAT(stored_, ElementsAre(kNewer));
  EXPECT_TRUE(RunUntil(loop_, [this] { return over_; }));
}

TEST(TokenRefusalTest, OnlyARefusedTokenIsAReasonToWait) {
  const auto refused = [](ErrorCode code, const std::string& message) { return IsTokenRefused({code, message}); };
  EXPECT_TRUE(refused(ErrorCode::kNotPermitted, "GETFILESTATUS /a: InvalidToken: token has expired"));
  EXPECT_TRUE(refused(ErrorCode::kNotPermitted,
                      "GETFILESTATUS /a: SecurityException: Failed to obtain user group information: "
                      "org.apache.hadoop.security.token.SecretManager$InvalidToken: token can't be found in cache"));
  EXPECT_FALSE(refused(ErrorCode::kNotPermitted, "GETFILESTATUS /a: AccessControlException: Permission denied"));
  EXPECT_FALSE(refused(ErrorCode::kNotPermitted, "GETFILESTATUS /InvalidToken: AccessControlException: denied"));
  EXPECT_FALSE(refused(ErrorCode::kUnavailable, "GETFILESTATUS /a: InvalidToken: token has expired"));
}

}  // namespace
}  // namespace tony::am
