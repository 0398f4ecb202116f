#include "runtime/keeper/keeper_protocol.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/job/fields.h"
#include "runtime/job/json_fields.h"
#include "runtime/keeper/message_channel.h"
#include "runtime/keeper/message_fields.h"
#include "runtime/records/journal_format.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"

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

TEST(KeeperProtocolTest, RequestsAreDecodedAsTheyWereEncoded) {
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

TEST(KeeperProtocolTest, ReportsAreDecodedAsTheyWereEncoded) {
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

TEST(KeeperProtocolTest, MessagesOfAnUnknownProtocolVersionAreRefused) {
  std::string message = Encode(KeeperRequest(FinishJob{}));
  message[0] = 3;
  ExpectError(DecodeRequest(message), ErrorCode::kInvalid, "~version");
  EXPECT_FALSE(DecodeRequest("").ok());
  EXPECT_FALSE(DecodeRequest(std::string("\x02", 1)).ok());
}

TEST(KeeperProtocolTest, MessagesHaveProtocolVersion2OnlyIfTheyContainNewFields) {
  EXPECT_EQ(Encode(KeeperRequest(FinishJob{}))[0], 1);
  EXPECT_EQ(Encode(KeeperRequest(FinishJob{"{}"}))[0], 2);
  ContainerExited exited;
  EXPECT_EQ(Encode(KeeperReport(exited))[0], 1);
  exited.left = true;
  EXPECT_EQ(Encode(KeeperReport(exited))[0], 2);
  EXPECT_EQ(Encode(KeeperReport(KeeperInventory{{}, {exited}, true}))[0], 2);
  EXPECT_TRUE(std::get<ContainerExited>(*DecodeReport(Encode(KeeperReport(exited)))).left);
}

TEST(KeeperProtocolTest, AMessageOfAnUnknownTypeIsRefused) {
  EXPECT_THAT(DecodeRequest(std::string("\x02\x05", 2)).error().message, HasSubstr("unknown type 5"));
  EXPECT_THAT(DecodeReport(std::string("\x02\xff", 2)).error().message, HasSubstr("unknown type 255"));
}

TEST(KeeperProtocolTest, ATruncatedOrExtendedMessageIsRefused) {
  const std::string whole = Encode(KeeperRequest(LaunchContainer{{"1-7"}, {{"/bin/x", "arg"}, {"A=1"}, "/log"}}));
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(DecodeRequest(whole.substr(0, size)).ok()) << size;
  EXPECT_FALSE(DecodeRequest(whole + 'x').ok());
}

TEST(KeeperProtocolTest, ATextLengthBeyondTheEndOfTheMessageIsRefused) {
  const auto with_length = [](int64_t length) {
    // A launch message whose first text claims to have `length` bytes.
    std::string message("\x01\x02", 2);
    for (int i = 0; i < 8; ++i) message.push_back(static_cast<char>(length >> (8 * i)));
    return message;
  };
  for (const int64_t length : {int64_t{1}, int64_t{1} << 31, int64_t{1} << 62, int64_t{-1}})
    EXPECT_FALSE(DecodeRequest(with_length(length)).ok()) << length;
}

TEST(KeeperProtocolTest, ARandomlyDamagedMessageIsRefusedOrCanBeEncodedAgain) {
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

TEST(KeeperProtocolTest, ALargeContainerInventoryIsSplitIntoPartsBelowTheMessageSizeLimit) {
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

TEST(KeeperProtocolTest, AnEmptyContainerInventoryHasOnePartThatIsMarkedAsLast) {
  const auto parts = InParts({});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts[0].last);
}

// ---- A single list of fields is enough for all encodings of a value: documents, journal records, ledger entries and
// messages.

struct Wheel {
  int spokes = 0;
  bool operator==(const Wheel&) const = default;
};
void Fields(auto& io, Is<Wheel> auto& wheel) { io.Field("spokes", wheel.spokes); }

// A value as an earlier release has it.
struct OldBicycle {
  std::string name;
  std::vector<Wheel> wheels;
  bool operator==(const OldBicycle&) const = default;
};
void Fields(auto& io, Is<OldBicycle> auto& bicycle) {
  io.Field("name", bicycle.name);
  io.Field("wheels", bicycle.wheels);
}

// The same value with one more field: it takes one more member, and one more line in the list of fields.
struct Bicycle {
  std::string name;
  std::vector<Wheel> wheels;
  int64_t bells = 1;
  bool operator==(const Bicycle&) const = default;
};
void Fields(auto& io, Is<Bicycle> auto& bicycle) {
  io.Field("name", bicycle.name);
  io.Field("wheels", bicycle.wheels);
  io.Later("bells", bicycle.bells, Between{0, 9});
}
template <class T>
T DocumentBack(const std::string& text) {
  const auto read = ReadJson<T>(text, "bicycle");
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read.ok() ? *read : T{};
}

template <class T>
struct Seen {
  std::variant<T> body;
};
constexpr std::array<std::string_view, 1> kKinds = {"bicycle_seen"};
template <class T>
void Fields(auto& io, Seen<T>& seen) {
  OneOf(io, "decision", seen.body, kKinds);
}

template <class T>
std::string MessageOf(const T& value, char version) {
  return EncodeMessage(std::variant<T>(value), version);
}

template <class T>
T MessageBack(const std::string& bytes) {
  const auto read = DecodeMessage<std::variant<T>>(bytes, "bicycle");
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read.ok() ? std::get<T>(*read) : T{};
}

const OldBicycle kOld{"red \"one\"", {{28}, {36}}};
const Bicycle kNew{"red \"one\"", {{28}, {36}}, 3};
const Bicycle kDefault{"red \"one\"", {{28}, {36}}, 1};

TEST(FieldsTest, ASingleFieldDeclarationServesDocumentsAndJournalRecordsAndMessages) {
  const std::string document = WriteJson(kNew);
  EXPECT_EQ(document, R"({"name":"red \"one\"","wheels":[{"spokes":28},{"spokes":36}],"bells":3})");
  EXPECT_EQ(DocumentBack<Bicycle>(document), kNew);

  const std::string line = WriteJsonObject([](JsonWriter& io) {
    const std::variant<Bicycle> body = kNew;
    OneOf(io, "decision", body, kKinds);
  });
  const std::string record = EncodeRecord(line);
  EXPECT_THAT(record, HasSubstr(R"({"decision":"bicycle_seen","name":)"));
  EXPECT_EQ(std::get<Bicycle>(DocumentBack<Seen<Bicycle>>(record.substr(12)).body), kNew);

  const std::string entry = WriteJson(kNew) + "\n";
  EXPECT_EQ(DocumentBack<Bicycle>(entry), kNew);

  const std::string message = MessageOf(kNew, kMessageVersion);
  EXPECT_EQ(message, MessageOf(kOld, kMessageVersion) + std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(MessageBack<Bicycle>(message), kNew);
}

TEST(FieldsTest, DocumentsAndMessagesAreReadableByEarlierAndLaterReleases) {
  EXPECT_EQ(DocumentBack<Bicycle>(WriteJson(kOld)), kDefault);
  EXPECT_EQ(DocumentBack<OldBicycle>(WriteJson(kNew)), kOld);
  EXPECT_EQ(MessageBack<Bicycle>(MessageOf(kOld, kFirstMessageVersion)), kDefault);
  EXPECT_EQ(MessageBack<OldBicycle>(MessageOf(kNew, kFirstMessageVersion)), kOld);
}

TEST(FieldsTest, AnInvalidJsonFieldIsNamedByItsPathInTheError) {
  const auto error = [](const std::string& text) {
    const auto read = ReadJson<Bicycle>(text, "bicycle");
    return read.ok() ? "accepted" : read.error().message;
  };
  EXPECT_EQ(error(R"({"name":"x","wheels":[{"spokes":1},{}]})"),
            "bicycle: field wheels[1].spokes: expected a whole number, but the field is missing");
  EXPECT_EQ(error(R"({"name":"x","wheels":[7]})"), "bicycle: field wheels[0]: expected an object");
  EXPECT_EQ(error(R"({"name":"x","wheels":[],"bells":10})"),
            "bicycle: field bells: expected a whole number from 0 to 9");
  EXPECT_EQ(error(R"({"name":1,"wheels":1})"), "bicycle: field name: expected a string");
}

// A field of every kind.
struct Everything {
  bool flag = false;
  int64_t number = 0;
  Duration length{0};
  Instant time{}, when{};
  JobId job;
  Epoch epoch;
  std::optional<int> perhaps, nothing;
  std::map<std::string, int> ports;
  std::string text, empty;
  int usual = 7;
  bool operator==(const Everything&) const = default;
};
void Fields(auto& io, Is<Everything> auto& all) {
  Schema(io, 2);
  io.Field("flag", all.flag);
  io.Field("number", all.number, kAnyNumber);
  io.Field("length_ms", all.length);
  io.Field("time", all.time);
  io.Field("when", all.when, kIso);
  io.Field("job", all.job);
  io.Field("epoch", all.epoch);
  io.IfSet("perhaps", all.perhaps);
  io.Later("nothing", all.nothing);
  io.Field("ports", all.ports, Between{1, 65535});
  io.IfSet("text", all.text);
  io.IfSet("empty", all.empty);
  io.Unless("usual", all.usual, 7);
  io.Derived("sum", all.number + 1);
  io.Object("inner", [&](auto& inner) { inner.Field("text", all.text); });
}

TEST(FieldsTest, FieldsOfEveryTypeAreReadBackFromJson) {
  const Everything all{true, -5, Duration(6),          FromMillis(7), FromMillis(1'800'000'000'123), {"j"}, {8},
                       9,    {}, {{"a", 1}, {"b", 2}}, "\xff\n"};
  const std::string text = WriteJson(all);
  EXPECT_EQ(text, R"({"schema":2,"flag":true,"number":-5,"length_ms":6,"time":7,"when":"2027-01-15T08:00:00.123Z",)"
                  R"("job":"j","epoch":8,"perhaps":9,"nothing":null,"ports":{"a":1,"b":2},)"
                  "\"text\":\"\xEF\xBF\xBD\\n\",\"sum\":-4,\"inner\":{\"text\":\"\xEF\xBF\xBD\\n\"}}");
  Everything expected = all;
  expected.text = "\xEF\xBF\xBD\n";
  EXPECT_EQ(DocumentBack<Everything>(text), expected);
}

// ---- message channel

constexpr uid_t kAnotherUser = 54321;  // no user has this number

class MessageChannelTest : public ::testing::Test {
 protected:
  MessageChannelTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    here_ = Channel(ends[0]);
    there_.Reset(ends[1]);
  }
  std::unique_ptr<MessageChannel> Channel(int fd) {
    return std::make_unique<MessageChannel>(
        loop_, UniqueFd(fd), [this](std::string_view message) { got_.emplace_back(message); }, [this] { ++closed_; });
  }

  EventLoop loop_;
  std::unique_ptr<MessageChannel> here_;
  UniqueFd there_;
  std::vector<std::string> got_;
  int closed_ = 0;
};

TEST_F(MessageChannelTest, MessagesArriveWholeAndInOrderEvenIfThePeerReadsLate) {
  std::vector<std::string> sent;
  for (int i = 0; i < 300; ++i) sent.push_back(StrCat(i, std::string(5000, 'x')));
  for (const auto& message : sent) here_->Send(message);
  EXPECT_TRUE(got_.empty());
  auto there = Channel(there_.Release());
  ASSERT_TRUE(RunUntil(loop_, [&] { return got_.size() == sent.size(); }));
  EXPECT_EQ(got_, sent);
}

TEST_F(MessageChannelTest, AMessageOfTheMaximumLengthIsDelivered) {
  const std::string longest(kMaxKeeperMessage, 'x');
  here_->Send(longest);
  auto there = Channel(there_.Release());
  ASSERT_TRUE(RunUntil(loop_, [&] { return !got_.empty(); }));
  EXPECT_EQ(got_[0], longest);
}

TEST_F(MessageChannelTest, AFileDescriptorArrivesTogetherWithItsOwnMessage) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  here_->Send("before");
  here_->Send("with", UniqueFd(ends[1]));
  here_->Send("after");
  std::vector<std::pair<std::string, bool>> got;
  UniqueFd received;
  MessageChannel* channel = nullptr;
  MessageChannel there(
      loop_, UniqueFd(there_.Release()),
      [&](std::string_view message) {
        UniqueFd fd = channel->TakeDescriptor();
        got.emplace_back(message, fd.valid());
        if (fd.valid()) received = std::move(fd);
      },
      [] {});
  channel = &there;
  ASSERT_TRUE(RunUntil(loop_, [&] { return got.size() == 3; }));
  const std::vector<std::pair<std::string, bool>> expected = {{"before", false}, {"with", true}, {"after", false}};
  EXPECT_EQ(got, expected);
  EXPECT_EQ(fcntl(received.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(write(received.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(read_end.get(), &byte, 1), 1);
  received.Reset();
  EXPECT_EQ(read(read_end.get(), &byte, 1), 0) << "the sender's is closed";
}

TEST_F(MessageChannelTest, AReceivedFileDescriptorIsClosedUnlessTheReceiverTakesTheDescriptor) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  auto there = Channel(there_.Release());
  here_->Send("with", UniqueFd(ends[1]));
  here_->Send("after");
  ASSERT_TRUE(RunUntil(loop_, [&] { return got_.size() == 2; }));
  char byte = 0;
  EXPECT_EQ(read(read_end.get(), &byte, 1), 0);
}

TEST_F(MessageChannelTest, AMessageAboveTheMaximumLengthClosesTheConnection) {
  const std::string too_long(kMaxKeeperMessage + 1, 'x');
  const int room = 2 * static_cast<int>(too_long.size());
  setsockopt(there_.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  ASSERT_EQ(send(there_.get(), too_long.data(), too_long.size(), 0), static_cast<ssize_t>(too_long.size()));
  ASSERT_TRUE(RunUntil(loop_, [&] { return closed_ > 0; }));
  EXPECT_TRUE(got_.empty());
}

TEST_F(MessageChannelTest, AVanishedPeerIsReportedOnceAfterItsLastMessage) {
  ASSERT_EQ(send(there_.get(), "bye", 3, 0), 3);
  there_.Reset();
  ASSERT_TRUE(RunUntil(loop_, [&] { return closed_ > 0; }));
  EXPECT_EQ(got_, std::vector<std::string>{"bye"});
  here_->Send("into the void");
  here_->ReadNow();
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return closed_ > 1; }, Duration(20)));
}

TEST_F(MessageChannelTest, ReadNowDeliversAMessageWithoutRunningTheEventLoop) {
  ASSERT_EQ(send(there_.get(), "x", 1, 0), 1);
  here_->ReadNow();
  EXPECT_EQ(got_.size(), 1u);
}

TEST_F(MessageChannelTest, AChannelMayBeDestroyedInItsOwnMessageCallback) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const UniqueFd peer(ends[1]);
  std::unique_ptr<MessageChannel> channel;
  int messages = 0;
  channel = std::make_unique<MessageChannel>(
      loop_, UniqueFd(ends[0]),
      [&](std::string_view) {
        ++messages;
        channel.reset();
      },
      [] { FAIL(); });
  ASSERT_EQ(send(peer.get(), "x", 1, 0), 1);
  ASSERT_EQ(send(peer.get(), "y", 1, 0), 1);
  ASSERT_TRUE(RunUntil(loop_, [&] { return messages > 0; }));
  EXPECT_EQ(messages, 1);
}

TEST_F(MessageChannelTest, AChannelReportsThePeersPidAndRecognizesTheSameUser) {
  EXPECT_EQ(here_->PeerProcess(), getpid());
  EXPECT_TRUE(here_->PeerIsOurUser());
}

TEST_F(MessageChannelTest, APeerThatRunsAsAnotherUserIsNotReportedAsTheSameUser_NeedsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  int ends[2];
  ASSERT_EQ(seteuid(kAnotherUser), 0);
  const int made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(made, 0);
  const UniqueFd other_end(ends[1]);
  EXPECT_FALSE(Channel(ends[0])->PeerIsOurUser());
}

}  // namespace
}  // namespace tony
