#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cli/commands.h"
#include "runtime/cli/options.h"
#include "runtime/client/submit_job.h"
#include "runtime/client/submit_steps.h"

namespace tony {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using Words = std::vector<std::string>;

CommandLine LineOf(const std::string& verb, const Words& arguments) {
  for (const Verb& command : Verbs()) {
    if (command.verb.name != verb) continue;
    const auto line = CommandLine::Parse(command.verb, arguments);
    EXPECT_TRUE(line.ok()) << line.error().message;
    return line.ok() ? *line : CommandLine();
  }
  ADD_FAILURE() << "no verb " << verb;
  return {};
}

SubmitOrder Order(const Words& arguments) {
  const auto order = ReadSubmitOrder(LineOf("submit", arguments));
  EXPECT_TRUE(order.ok()) << order.error().message;
  return order.ok() ? *order : SubmitOrder();
}

std::string RefusedOrder(const Words& arguments) {
  const auto order = ReadSubmitOrder(LineOf("submit", arguments));
  if (order.ok()) return "(accepted)";
  EXPECT_EQ(order.error().code, ErrorCode::kUsage);
  return order.error().message;
}

TEST(ContractOptionsTest, ASubmitWithoutOptionsHasNoRequestIdAndNoOwner) {
  const SubmitOrder order = Order({});
  EXPECT_EQ(order.request, RequestId());
  EXPECT_EQ(order.claim, Claim());
}

TEST(ContractOptionsTest, SubmitOptionsSetTheRequestIdOwnerSubmissionNumberAndWatchTimeout) {
  const SubmitOrder order = Order({"--request-id", "airflow://dag/run 1/t\u00e4sk/-1", "--owner", "o1", "--submission",
                                   "3", "--on-existing=attach", "--watch-timeout", "1.5"});
  EXPECT_EQ(order.request.value, "airflow://dag/run 1/t\u00e4sk/-1");
  EXPECT_EQ(order.ask.number, 3);
  EXPECT_EQ(order.ask.on_existing, OnExisting::kAttach);
  EXPECT_EQ(order.claim, (Claim{{"o1"}, Duration(1500)}));
}

TEST(ContractOptionsTest, TheSubmissionOptionAndTheOnExistingOptionRequireARequestId) {
  EXPECT_EQ(Order({"--owner", "o1"}).claim.owner.value, "o1");
  EXPECT_THAT(RefusedOrder({"--submission", "1"}), HasSubstr("--submission needs --request-id"));
  EXPECT_THAT(RefusedOrder({"--on-existing", "never"}), HasSubstr("--on-existing needs --request-id"));
}

TEST(ContractOptionsTest, InvalidOptionValuesAreRefusedWithTheNameOfTheOption) {
  const Words request = {"--request-id", "k"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), request.begin(), request.end());
    return RefusedOrder(more);
  };
  EXPECT_THAT(with({"--submission", "-1"}), AllOf(HasSubstr("--submission \"-1\""), HasSubstr("0 or more")));
  EXPECT_THAT(with({"--submission", "1.5"}), HasSubstr("--submission \"1.5\""));
  EXPECT_THAT(with({"--watch-timeout", "0.5"}),
              HasSubstr("--watch-timeout \"0.5\": expected a time from 1 second to 366 days"));
  EXPECT_THAT(with({"--on-existing", "maybe"}), HasSubstr("--on-existing \"maybe\": expected adopt, attach or never"));
  EXPECT_THAT(with({"--owner", "two words"}), HasSubstr("--owner \"two words\": expected 1 to 255"));
  EXPECT_THAT(with({"--owner", ""}), HasSubstr("--owner \"\""));
  EXPECT_THAT(with({"--owner", std::string(256, 'x')}), EndsWith("x...\": expected 1 to 255 printable ASCII characters "
                                                                 "without blanks"));
  EXPECT_EQ(Order({"--owner", std::string(255, 'x')}).claim.owner.value.size(), 255u);
}

TEST(ContractOptionsTest, ARequestIdIsALineOfTextOfUpTo4096Bytes) {
  EXPECT_EQ(Order({"--request-id", std::string(4096, 'k')}).request.value.size(), 4096u);
  for (const std::string& bad : {std::string(), std::string(4097, 'k'), std::string("a\nb"), std::string("a\xff")})
    EXPECT_THAT(RefusedOrder({"--request-id", bad}), HasSubstr("expected 1 to 4096 bytes of UTF-8 without a line end"));
}

TEST(ContractOptionsTest, KillOptionsSetTheOwnerTheWatcherTheDelayAndTheReasonOfTheKillRequest) {
  const auto read = [](const Words& words) { return *ReadKillRequest(LineOf("kill", words), FromMillis(1000)); };
  EXPECT_TRUE(read({"job"}).IsPlain());
  EXPECT_TRUE(read({"job", "--delay", "0"}).IsPlain());
  EXPECT_EQ(read({"job"}).reason, "tony kill");
  const KillRequest request =
      read({"job", "--if-owner", "o", "--if-watcher", "w", "--delay", "15", "--reason", "task marked failed"});
  EXPECT_EQ(request, (KillRequest{.reason = "task marked failed",
                                  .if_owner = {"o"},
                                  .if_watcher = {"w"},
                                  .due = FromMillis(16'000),
                                  .delay = Duration(15'000)}));
}

TEST(ContractOptionsTest, AKillWithAnInvalidOwnerWatcherOrDelayIsRefused) {
  for (const Words& words : {Words{"job", "--if-owner", "\x01"}, {"job", "--if-watcher", ""}, {"job", "--delay", "-1"}})
    EXPECT_EQ(ReadKillRequest(LineOf("kill", words), FromMillis(0)).error().code, ErrorCode::kUsage) << words[1];
}

TEST(ContractOptionsTest, AnOwnerWithoutTheFirstTryOptionMarksTheSubmitAsARetry) {
  const auto asker = [](Words words) {
    words.insert(words.begin(), {"--request-id", "r"});
    return ReadSubmitOrder(LineOf("submit", words))->ask.asker;
  };
  EXPECT_EQ(asker({}), SubmitterKind::kPerson);
  EXPECT_EQ(asker({"--owner", "o"}), SubmitterKind::kLaterTry);
  EXPECT_EQ(asker({"--owner", "o", "--first-try"}), SubmitterKind::kFirstTry);
  EXPECT_EQ(asker({"--first-try"}), SubmitterKind::kFirstTry);
  EXPECT_EQ(ReadSubmitOrder(LineOf("submit", {"--first-try"})).error().code, ErrorCode::kUsage) << "without a request";
}

TEST(SubmitStepsTest, AFailedJobAndAJobThatIsBeingKilledAreBothClassifiedAsEnding) {
  JobStatus status;
  EXPECT_EQ(ToExisting(status, false), ExistingJob::kActive);
  EXPECT_EQ(ToExisting(status, true), ExistingJob::kEnding);
  status.verdict = Verdict{.state = FinalState::kSucceeded};
  EXPECT_EQ(ToExisting(status, true), ExistingJob::kSucceeded) << "the kill came too late";
  for (const FinalState ended : {FinalState::kFailed, FinalState::kKilled}) {
    status.verdict->state = ended;
    EXPECT_EQ(ToExisting(status, false), ExistingJob::kEnding);
  }
}

TEST(SubmitRequestTest, TheJsonAnswerOfASubmitHasTheDecisionTheSpecDifferencesAndTheWarnings) {
  const SubmittedJob job = {.end = SubmitEnd::kAttached, .spec_differs = true, .differs_in = {"files", "roles"}};
  const auto fields = DecisionFields(job, {"say \"no\"", "b"});
  EXPECT_EQ(fields.at("decision"), "\"attached\"");
  EXPECT_EQ(fields.at("spec_differs"), "true");
  EXPECT_EQ(fields.at("differs_in"), R"(["files","roles"])");
  EXPECT_EQ(fields.at("warnings"), R"(["say \"no\"","b"])");
}

}  // namespace
}  // namespace tony
