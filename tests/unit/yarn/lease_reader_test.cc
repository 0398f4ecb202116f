#include "runtime/yarn/lease_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <optional>

#include "runtime/hadoop/webhdfs_answer.h"
#include "runtime/hadoop/wire/hdfs.pb.h"
#include "runtime/os/files.h"
#include "tests/support/https_end.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/hadoop/fake_name_node.h"
#include "tests/unit/hadoop/fake_rpc_server.h"

namespace tony {
namespace {

using hadoop::FakeNameNode;
using testing::HasSubstr;
using testing::SizeIs;

constexpr char kFolder[] = "/user/eve/.tony/jobs/application_1700000000000_0001";

LeaseRecord LeaseOf(int64_t epoch) { return {{epoch}, {Endpoint{"10.0.0.1", 4711}}, 12}; }

class LeaseReaderTest : public testing::Test {
 protected:
  LeaseReaderTest() {
    for (FakeNameNode* node : {&first_, &second_}) node->folders[kFolder] = "700";
    Write(first_, ToJson(LeaseOf(2)));
    // The first answer is the record that came with the container.
    EXPECT_EQ(Read()->epoch.value, 1);
  }

  static void Write(FakeNameNode& node, const std::string& bytes) {
    const std::string path = StrCat(kFolder, "/am.lease");
    node.files[path] = "";
    node.xattrs[path] = {{"user.tony.bytes", hadoop::ToHexText(bytes)}};
  }
  static void Remove(FakeNameNode& node) { node.files.erase(StrCat(kFolder, "/am.lease")); }

  Result<std::optional<LeaseRecord>> Ask() {
    std::optional<Result<std::optional<LeaseRecord>>> answer;
    reader_.Read([&](const Result<std::optional<LeaseRecord>>& lease) { answer = lease; });
    EXPECT_FALSE(answer.has_value()) << "told inside the call";
    EXPECT_TRUE(RunUntil(loop_, [&] { return answer.has_value(); }));
    return answer ? *answer : Error{ErrorCode::kInternal, "never answered"};
  }
  std::optional<LeaseRecord> Read() { return Must(Ask()); }

  EventLoop loop_;
  FakeNameNode first_{loop_}, second_{loop_};
  LeaseReader reader_{loop_,
                      {{{kLoopback, first_.server().port()}, {kLoopback, second_.server().port()}}, kFolder, "eve"},
                      LeaseOf(1),
                      Duration(40'000)};
};

TEST_F(LeaseReaderTest, TheLeaseIsReadFromANameNodeThatHasShownThatItIsActive) {
  EXPECT_EQ(Read(), LeaseOf(2));
  ASSERT_THAT(first_.server().requests(), SizeIs(2));
  EXPECT_EQ(first_.server().requests()[0].target, "/webhdfs/v1/?op=GETDELEGATIONTOKEN&user.name=eve");
  EXPECT_EQ(first_.server().requests()[1].method, "GET");
  EXPECT_EQ(first_.server().requests()[1].target,
            StrCat("/webhdfs/v1", kFolder, "/am.lease?op=GETXATTRS&encoding=hex&user.name=eve"));
  EXPECT_THAT(second_.server().requests(), SizeIs(0));
}

TEST_F(LeaseReaderTest, TheLeaseIsReadWithTheNewestTokenOfTheContainer) {
  const TempFolder folder;
  setenv("HADOOP_TOKEN_FILE_LOCATION", (folder.path() / "tokens").c_str(), 1);
  LeaseReader reader(loop_, {{{kLoopback, first_.server().port()}}, kFolder, "eve", "nn:8020"}, LeaseOf(1), Duration(40'000));
  const auto read = [&] {
    std::optional<Result<std::optional<LeaseRecord>>> answer;
    reader.Read([&](const auto& lease) { answer = lease; });
    EXPECT_TRUE(RunUntil(loop_, [&] { return answer.has_value(); }));
    return answer.value_or(Error{ErrorCode::kInternal, "never answered"});
  };
  EXPECT_EQ(Must(read()), LeaseOf(1));
  EXPECT_THAT(read().error().message, HasSubstr("tokens: no such file"));
  for (const char* identifier : {"old", "new"}) {
    const hadoop::Token token{identifier, "password", hadoop::kHdfsTokenKind, "nn:8020"};
    ASSERT_TRUE(WriteNewFile(folder.path() / identifier, hadoop::EncodeCredentials({{{"", token}}, {}}), false).ok());
    std::filesystem::rename(folder.path() / identifier, folder.path() / "tokens");
    EXPECT_EQ(Must(read()), LeaseOf(2));
    EXPECT_THAT(first_.server().requests().back().target, HasSubstr("&delegation=" + hadoop::TextOf(token)));
  }
  unsetenv("HADOOP_TOKEN_FILE_LOCATION");
}

TEST_F(LeaseReaderTest, TheLeaseIsReadByRpcIfTheClusterHasNoWebHdfs) {
  namespace hdfs = hadoop::wire::hdfs;
  hadoop::FakeRpcServer node(loop_, std::nullopt);
  bool is_there = true;
  node.on_call = [&](const hadoop::FakeRpcServer::Call& call) {
    if (call.method == "msync") return node.Succeed(call, hdfs::GetXAttrsResponse());
    hdfs::GetXAttrsRequest request;
    EXPECT_TRUE(request.ParseFromString(call.request));
    const bool is_lease = request.src() == StrCat(kFolder, "/am.lease");
    if (is_lease && !is_there) return node.Fail(call, "java.io.FileNotFoundException", "missing");
    hdfs::GetXAttrsResponse response;
    if (is_lease) {
      hdfs::XAttr& attribute = *response.add_xattrs();
      attribute.set_namespace_(hdfs::XAttr::USER);
      attribute.set_name("tony.bytes");
      attribute.set_value(ToJson(LeaseOf(2)));
    }
    node.Succeed(call, response);
  };
  LeasePlace place{{{kLoopback, 1}, {kLoopback, node.port()}}, kFolder, "eve"};
  place.uses_rpc = true;
  LeaseReader reader(loop_, place, LeaseOf(1), Duration(40'000));
  const auto read = [&] {
    std::optional<Result<std::optional<LeaseRecord>>> answer;
    reader.Read([&](const auto& lease) { answer = lease; });
    EXPECT_TRUE(RunUntil(loop_, [&] { return answer.has_value(); }));
    return Must(answer.value_or(Error{ErrorCode::kInternal, "never answered"}));
  };
  EXPECT_EQ(read(), LeaseOf(1));
  EXPECT_EQ(read(), LeaseOf(2));
  is_there = false;
  EXPECT_EQ(read(), std::nullopt);
  EXPECT_EQ(read(), std::nullopt) << "the folder is there";
  EXPECT_EQ(node.contexts.at(0).userinfo().effectiveuser(), "eve");
}

TEST_F(LeaseReaderTest, EveryReadReturnsTheNewestLease) {
  EXPECT_EQ(Read(), LeaseOf(2));
  Write(first_, ToJson(LeaseOf(3)));
  EXPECT_EQ(Read(), LeaseOf(3));
}

TEST_F(LeaseReaderTest, ASecondReadOfTheLeaseIsIgnoredWhileTheFirstReadIsUnderWay) {
  int answers = 0;
  reader_.Read([&](const auto&) { ++answers; });
  reader_.Read([](const auto&) { FAIL(); });
  ASSERT_TRUE(RunUntil(loop_, [&] { return answers == 1; }));
  EXPECT_THAT(first_.server().requests(), SizeIs(2));
}

TEST_F(LeaseReaderTest, TheLeaseReaderCanBeDestroyedInItsOwnCallback) {
  auto reader = std::make_unique<LeaseReader>(loop_, LeasePlace{{{kLoopback, first_.server().port()}}, kFolder, "eve"},
                                              LeaseOf(1), Duration(20'000));
  for (int reads = 0; reads < 2; ++reads) {
    bool is_read = false;
    reader->Read([&](const auto&) {
      is_read = true;
      if (reads == 1) reader.reset();
    });
    ASSERT_TRUE(RunUntil(loop_, [&] { return is_read; }));
  }
}

// The reader connects to a numeric address, and checks the certificate for the name.
TEST_F(LeaseReaderTest, TheLeaseIsReadByHttpsUnderTheNameOfTheNameNode) {
  FakeNameNode node(loop_, HttpsEnd());
  node.folders[kFolder] = "700";
  Write(node, ToJson(LeaseOf(2)));
  LeasePlace place{{{kLoopback, node.server().port()}}, kFolder, "eve"};
  place.trust.authorities = kSiteAuthority;
  const auto read = [&](const std::string& host) {
    place.hosts = {host};
    LeaseReader reader(loop_, place, LeaseOf(1), Duration(40'000));
    std::optional<Result<std::optional<LeaseRecord>>> answer;
    for (int reads = 0; reads < 2; ++reads) {
      answer.reset();
      reader.Read([&](const auto& lease) { answer = lease; });
      EXPECT_TRUE(RunUntil(loop_, [&] { return answer.has_value(); }));
    }
    return answer.value_or(Error{ErrorCode::kInternal, "never answered"});
  };
  EXPECT_EQ(Must(read("nn.example.org")), LeaseOf(2));
  EXPECT_EQ(node.server().requests().at(0).headers.at("host"), StrCat("nn.example.org:", node.server().port()));
  ExpectError(read("other.example.org"), ErrorCode::kNotPermitted, "~is for other hosts");
  place.trust.authorities = "x";
  ExpectError(read("nn.example.org"), ErrorCode::kInvalid, "~not certificates in PEM");
}

// ---- NameNodes that do not answer

TEST_F(LeaseReaderTest, TheLeaseIsReadFromTheSecondNameNodeIfTheFirstIsOnStandby) {
  first_.answers_all = FakeNameNode::Refused(403, "StandbyException", "READ is not supported in state standby");
  Write(second_, ToJson(LeaseOf(3)));
  EXPECT_EQ(Read(), LeaseOf(3));
  EXPECT_EQ(Read(), LeaseOf(3));
  EXPECT_THAT(first_.server().requests(), SizeIs(1)) << "the next read asks the NameNode that answered";
}

TEST_F(LeaseReaderTest, AnObserverThatIsBehindIsNotBelieved) {
  first_.is_observer = true;
  Write(second_, ToJson(LeaseOf(3)));
  EXPECT_EQ(Read(), LeaseOf(3));
}

TEST_F(LeaseReaderTest, AnObserverThatDoesNotHaveTheJobsFolderYetEndsNoExecutor) {
  Remove(first_);
  first_.folders.clear();
  first_.is_observer = true;
  second_.does_not_do = "GETXATTRS";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Ask().error().code, ErrorCode::kUnavailable);
}

TEST_F(LeaseReaderTest, TheLeaseIsReadFromTheSecondNameNodeIfTheFirstClosesTheConnection) {
  first_.does_not_do = "GETXATTRS";
  Write(second_, ToJson(LeaseOf(3)));
  EXPECT_EQ(Read(), LeaseOf(3));
}

TEST_F(LeaseReaderTest, ReadingTheLeaseReturnsUnavailableIfNoNameNodeAnswers) {
  first_.does_not_do = second_.does_not_do = "GETXATTRS";
  ExpectError(Ask(), ErrorCode::kUnavailable, "~closed the connection");
  EXPECT_THAT(first_.server().requests(), SizeIs(2));
  EXPECT_THAT(second_.server().requests(), SizeIs(2));
  first_.does_not_do = "";
  EXPECT_EQ(Read(), LeaseOf(2));
}

// ---- answers without a record

TEST_F(LeaseReaderTest, AMissingLeaseInAnExistingJobFolderIsNotAnError) {
  Remove(first_);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Read(), std::nullopt);
  EXPECT_THAT(first_.server().requests(), SizeIs(8)) << "a read is two requests";
  Write(first_, ToJson(LeaseOf(3)));
  EXPECT_EQ(Read(), LeaseOf(3));
}

TEST_F(LeaseReaderTest, AMissingJobFolderIsReportedAsRemovedAtTheSecondRead) {
  Remove(first_);
  first_.folders.clear();
  EXPECT_EQ(Read(), std::nullopt) << "only the record is known to be missing";
  ExpectError(Ask(), ErrorCode::kNotFound, StrCat(kFolder, ": the job's folder was removed"));
}

TEST_F(LeaseReaderTest, ReadingTheLeaseFailsIfTheLeaseIsNotInAnExtendedAttribute) {
  Write(second_, ToJson(LeaseOf(2)));
  first_.xattrs.clear();
  second_.xattrs.clear();
  ExpectError(Ask(), ErrorCode::kUnavailable,
              "~the file has no attribute user.tony.bytes, which should contain the record");
}

TEST_F(LeaseReaderTest, A404FromAServerOtherThanWebHdfsIsReportedAsUnavailable) {
  first_.answers_all = second_.answers_all = Answered(404, "<html>not here</html>");
  for (int i = 0; i < 3; ++i) ExpectError(Ask(), ErrorCode::kUnavailable, "~HTTP status 404");
}

struct BadAnswer {
  const char* name;
  ServedAnswer answer;
};
const BadAnswer kBadAnswers[] = {
    {"DeniedAccessFailsTheRead", FakeNameNode::Refused(403, "AccessControlException", "Permission denied: user=eve")},
    {"ANameNodeInSafeModeFailsTheRead", FakeNameNode::Refused(403, "RetriableException", "SafeModeException")},
    {"TruncatedJsonFailsTheRead", Answered(200, "{\"XAttrs\":[{\"name\":\"user.tony.bytes\",\"value\":")},
    {"JsonWithoutAttributesFailsTheRead", Answered(200, "{\"boolean\":true}")},
    {"AnAttributeThatIsNotHexFailsTheRead", Answered(200, R"({"XAttrs":[{"name":"user.tony.bytes","value":"0x0g"}]})")},
    {"AnInvalidLeaseFailsTheRead", Answered(200, R"({"XAttrs":[{"name":"user.tony.bytes","value":"0x7b7d"}]})")},
    {"ARedirectFailsTheRead", Answered(307, "", "Location: http://10.0.0.9/x\r\n")},
    {"AnAnswerOf100000BytesFailsTheRead", Answered(200, std::string(100'000, ' '))},
    {"AnSshBannerFailsTheRead", {"SSH-2.0-OpenSSH_9.2\r\n"}},
};
TABLE_TEST(LeaseReaderAnswerTest, kBadAnswers, [](const BadAnswer& row) {
  EventLoop loop;
  FakeNameNode node{loop};
  node.answers_all = row.answer;
  LeaseReader reader(loop, {{{kLoopback, node.server().port()}}, kFolder, "eve"}, LeaseOf(1), Duration(20'000));
  std::vector<bool> readable;
  for (size_t reads = 1; reads <= 3; ++reads) {
    reader.Read([&](const auto& lease) { readable.push_back(lease.ok()); });
    ASSERT_TRUE(RunUntil(loop, [&] { return readable.size() == reads; }));
  }
  EXPECT_EQ(readable, (std::vector<bool>{true, false, false}));
});

}  // namespace
}  // namespace tony
