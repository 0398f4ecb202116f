#include "runtime/keeper/keeper_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/base/strings.h"

namespace tony {
namespace {

using ::testing::HasSubstr;

template <class T>
T ThereAndBack(const T& request) {
  const auto decoded = DecodeRequest(Encode(KeeperRequest(request)));
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  return std::get<T>(*decoded);
}

template <class T>
T ReportedBack(const T& report) {
  const auto decoded = DecodeReport(Encode(KeeperReport(report)));
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  return std::get<T>(*decoded);
}

TEST(KeeperProtocolTest, RequestsArriveAsTheyWereSent) {
  EXPECT_EQ(ThereAndBack(AmHello{{3}}).epoch, Epoch{3});
  EXPECT_EQ(ThereAndBack(AmRenew{-5'000'000'000}).stamp, -5'000'000'000);
  const auto launch =
      ThereAndBack(LaunchContainer{{"1-7"}, {{"/bin/x", "", "a b"}, {"A=1", "B="}, "/log", {3000, 7, 2}}});
  EXPECT_EQ(launch.container.value, "1-7");
  EXPECT_EQ(launch.what.argv, (std::vector<std::string>{"/bin/x", "", "a b"}));
  EXPECT_EQ(launch.what.env, (std::vector<std::string>{"A=1", "B="}));
  EXPECT_EQ(launch.what.log_file, "/log");
  EXPECT_EQ(launch.what.resources, (Resources{3000, 7, 2}));
  EXPECT_EQ(ThereAndBack(StopContainer{{"1-7"}, StopMode::kKill}).mode, StopMode::kKill);
  EXPECT_EQ(ThereAndBack(StopContainer{{"1-7"}, StopMode::kTerm}).mode, StopMode::kTerm);
  ThereAndBack(FinishJob{});
}

TEST(KeeperProtocolTest, ReportsArriveAsTheyWereSent) {
  const ExitStatus killed{ExitStatus::Kind::kSignaled, 9};
  EXPECT_EQ(ReportedBack(ContainerExited{{"1-1"}, killed, ""}).status, killed);
  EXPECT_EQ(ReportedBack(ContainerExited{{"1-1"}, ExitStatus{}, ""}).status, ExitStatus{});
  const auto unseen = ReportedBack(ContainerExited{{"1-1"}, std::nullopt, "why"});
  EXPECT_FALSE(unseen.status);
  EXPECT_EQ(unseen.error, "why");
  EXPECT_EQ(ReportedBack(ContainerStarted{{"1-2"}}).container.value, "1-2");
  EXPECT_EQ(ReportedBack(KeeperRenewed{7}).stamp, 7);
  const auto inventory = ReportedBack(KeeperInventory{{{"a"}, {"b"}}, {{{"c"}, killed, ""}}, false});
  EXPECT_EQ(inventory.running, (std::vector<ContainerId>{{"a"}, {"b"}}));
  ASSERT_EQ(inventory.exited.size(), 1u);
  EXPECT_EQ(inventory.exited[0].status, killed);
  EXPECT_FALSE(inventory.last);
  ReportedBack(JobFinished{});
  ReportedBack(JobAdmitted{});
  EXPECT_EQ(ReportedBack(JobQueued{"waits for 8 MB"}).why, "waits for 8 MB");
}

TEST(KeeperProtocolTest, AnotherVersionIsRefused) {
  std::string message = Encode(KeeperRequest(FinishJob{}));
  message[0] = 3;
  const auto decoded = DecodeRequest(message);
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(decoded.error().message, HasSubstr("version"));
  EXPECT_FALSE(DecodeRequest("").ok());
  EXPECT_FALSE(DecodeRequest(std::string("\x02", 1)).ok());
}

TEST(KeeperProtocolTest, OnlyWhatVersion1CannotSayHasVersion2) {
  EXPECT_EQ(Encode(KeeperRequest(FinishJob{}))[0], 1);
  EXPECT_EQ(Encode(KeeperRequest(FinishJob{"{}"}))[0], 2);
  ContainerExited exited;
  EXPECT_EQ(Encode(KeeperReport(exited))[0], 1);
  exited.left = true;
  EXPECT_EQ(Encode(KeeperReport(exited))[0], 2);
  EXPECT_EQ(Encode(KeeperReport(KeeperInventory{{}, {exited}, true}))[0], 2);
  EXPECT_TRUE(std::get<ContainerExited>(*DecodeReport(Encode(KeeperReport(exited)))).left);
}

TEST(KeeperProtocolTest, UnknownTypeIsRefused) {
  EXPECT_THAT(DecodeRequest(std::string("\x02\x05", 2)).error().message, HasSubstr("unknown type 5"));
  EXPECT_THAT(DecodeReport(std::string("\x02\xff", 2)).error().message, HasSubstr("unknown type 255"));
}

TEST(KeeperProtocolTest, EveryCutAndEveryAdditionIsRefused) {
  const std::string whole = Encode(KeeperRequest(LaunchContainer{{"1-7"}, {{"/bin/x", "arg"}, {"A=1"}, "/log"}}));
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(DecodeRequest(whole.substr(0, size)).ok()) << size;
  EXPECT_FALSE(DecodeRequest(whole + 'x').ok());
}

TEST(KeeperProtocolTest, LengthsAboveWhatIsThereAllocateNothing) {
  const auto with_length = [](int64_t length) {
    std::string message("\x01\x02", 2);  // a launch whose name says it is this long
    for (int i = 0; i < 8; ++i) message.push_back(static_cast<char>(length >> (8 * i)));
    return message;
  };
  for (const int64_t length : {int64_t{1}, int64_t{1} << 31, int64_t{1} << 62, int64_t{-1}})
    EXPECT_FALSE(DecodeRequest(with_length(length)).ok()) << length;
}

TEST(KeeperProtocolTest, GarbageIsRefusedOrWellFormed) {
  std::mt19937 random(1);
  const std::string seeds[] = {
      Encode(KeeperRequest(LaunchContainer{{"1-7"}, {{"/bin/x", "arg"}, {"A=1"}, "/log"}})),
      Encode(KeeperReport(KeeperInventory{{{"a"}, {"b"}}, {{{"c"}, ExitStatus{}, "e"}}, true}))};
  for (int round = 0; round < 20'000; ++round) {
    std::string message = seeds[round % 2];
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; --changes)
      message[random() % message.size()] = static_cast<char>(random());
    message.resize(random() % (message.size() + 1));
    const auto request = DecodeRequest(message);
    EXPECT_TRUE(!request.ok() || Encode(*request) == message);
    const auto report = DecodeReport(message);
    EXPECT_TRUE(!report.ok() || DecodeReport(Encode(*report)).ok());
  }
}

TEST(KeeperProtocolTest, LargeInventoryIsSentInPartsThatFit) {
  KeeperInventory whole;
  for (int i = 0; i < 10'000; ++i) whole.running.push_back({StrCat("1-", i)});
  for (int i = 0; i < 150; ++i) whole.exited.push_back({{StrCat("0-", i)}, std::nullopt, std::string(5000, 'e')});
  KeeperInventory again;
  const auto parts = InParts(whole);
  for (const auto& part : parts) {
    EXPECT_LE(Encode(KeeperReport(part)).size(), kMaxKeeperMessage);
    EXPECT_EQ(part.last, &part == &parts.back());
    again.running.insert(again.running.end(), part.running.begin(), part.running.end());
    again.exited.insert(again.exited.end(), part.exited.begin(), part.exited.end());
  }
  EXPECT_EQ(again.running, whole.running);
  EXPECT_EQ(again.exited.size(), whole.exited.size());
}

TEST(KeeperProtocolTest, EmptyInventoryIsOneLastPart) {
  const auto parts = InParts({});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts[0].last);
}

}  // namespace
}  // namespace tony
