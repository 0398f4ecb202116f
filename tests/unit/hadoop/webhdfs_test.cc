#include "runtime/hadoop/webhdfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <optional>

#include "tests/support/https_end.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"
#include "tests/unit/hadoop/fake_name_node.h"

namespace tony::hadoop {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

// Nothing listens at this address.
constexpr char kNobody[] = "http://127.0.0.1:1";

class WebHdfsTest : public testing::Test {
 protected:
  // Calls `start` with a callback, and waits for the result that the callback gets.
  template <class T, class Start>
  T Run(Start start) {
    std::optional<T> result;
    const WebHdfs::Handle handle = start([&](T value) { result = std::move(value); });
    EXPECT_TRUE(RunUntil(loop, [&] { return result.has_value(); }));
    return result ? *std::move(result) : T(Error{ErrorCode::kInternal, "never answered"});
  }
  Result<bool> Create(const std::string& path, const std::string& bytes, const HdfsCreation& how = {}) {
    return Run<Result<bool>>([&](auto done) { return hdfs.Create(path, {bytes, {}, {}}, how, done); });
  }
  Result<bool> Put(const std::string& path, const std::string& bytes, HdfsRename how) {
    return Run<Result<bool>>([&](auto done) { return PutCompleteFile(hdfs, path, {bytes, {}, {}}, how, 0600, done); });
  }
  Result<HdfsEntry> GetEntry(const std::string& path) {
    return Run<Result<HdfsEntry>>([&](auto done) { return hdfs.GetEntry(path, done); });
  }
  Status MakeFolders(const std::string& path) {
    return Run<Status>([&](auto done) { return hdfs.MakeFolders(path, 0750, done); });
  }
  const std::string& LastTarget() { return node.server().requests().back().target; }

  EventLoop loop;
  FakeNameNode node{loop};
  WebHdfs hdfs{loop, {.bases = {node.url()}, .user = "eve"}};
};

TEST_F(WebHdfsTest, AFolderIsCreatedWithTheRequestedPermission) {
  ASSERT_TRUE(MakeFolders("/a/b").ok());
  EXPECT_EQ(LastTarget(), "/webhdfs/v1/a/b?op=MKDIRS&user.name=eve&permission=0750");
}

TEST_F(WebHdfsTest, TheNewestTokenIsSentInsteadOfTheUserName) {
  Result<std::string> token = std::string("first");
  WebHdfs proved(loop, {.bases = {node.url()}, .user = "eve", .token = [&](const std::string&) { return token; }});
  const auto make = [&] { return Run<Status>([&](auto done) { return proved.MakeFolders("/a", 0750, done); }); };
  ASSERT_TRUE(make().ok());
  EXPECT_EQ(LastTarget(), "/webhdfs/v1/a?op=MKDIRS&delegation=first&permission=0750");
  token = std::string("second");
  ASSERT_TRUE(make().ok());
  EXPECT_EQ(LastTarget(), "/webhdfs/v1/a?op=MKDIRS&delegation=second&permission=0750");
  token = NotPermittedError("no ticket");
  const size_t sent = node.server().requests().size();
  EXPECT_EQ(make().error().message, "no ticket");
  EXPECT_EQ(node.server().requests().size(), sent);
}

TEST_F(WebHdfsTest, ACallWhoseTokenHasEndedIsSentOnceMoreIfThereIsAnotherToken) {
  std::vector<std::string> refused;
  std::string other = "second";
  WebHdfs proved(loop, {.bases = {node.url()}, .user = "eve", .token = [&](const std::string& old) {
                          refused.push_back(old);
                          return Result<std::string>(old.empty() ? "first" : other);
                        }});
  const auto make = [&] { return Run<Status>([&](auto done) { return proved.MakeFolders("/a", 0750, done); }); };
  node.answers_all = FakeNameNode::Refused(403, "SecurityException",
                                           "Failed to obtain user group information: "
                                           "org.apache.hadoop.security.token.SecretManager$InvalidToken: has expired");
  EXPECT_EQ(make().error().code, ErrorCode::kNotPermitted);
  ASSERT_EQ(node.server().requests().size(), 2u) << "the second token is refused, too";
  EXPECT_THAT(LastTarget(), HasSubstr("delegation=second"));
  EXPECT_EQ(refused.at(1), "first");
  other = "first";
  EXPECT_FALSE(make().ok());
  EXPECT_EQ(node.server().requests().size(), 3u) << "there is no other token";
}

TEST_F(WebHdfsTest, ANameNodeThatCannotCheckATokenYetIsUnavailable) {
  const auto make = [&] { return Run<Status>([&](auto done) { return hdfs.MakeFolders("/a", 0750, done); }); };
  const auto answer = [&](const std::string& cause) {
    node.answers_all =
        FakeNameNode::Refused(403, "SecurityException", StrCat("Failed to obtain user group information: ", cause));
  };
  answer("org.apache.hadoop.ipc.RetriableException: Namenode is in startup mode");
  EXPECT_EQ(make().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(make().error().message, "MKDIRS /a: RetriableException: Namenode is in startup mode");
  answer("org.apache.hadoop.ipc.StandbyException");
  EXPECT_EQ(make().error().code, ErrorCode::kUnavailable);
  answer("java.io.IOException: Security enabled but user not authenticated by filter");
  EXPECT_EQ(make().error().code, ErrorCode::kNotPermitted);
}

TEST_F(WebHdfsTest, NameNodeAndDataNodeAreCalledByHttps) {
  FakeNameNode secure(loop, HttpsEnd());
  WebHdfs::Options options{.bases = {secure.url()}, .user = "eve"};
  options.trust = std::make_shared<const HttpTrust>(HttpTrust{kSiteAuthority, "trust.jks"});
  WebHdfs trusting(loop, options);
  secure.folders["/a"] = "700";
  const auto made = Run<Result<bool>>([&](auto done) { return trusting.Create("/a/b", {"bytes"}, {}, done); });
  EXPECT_TRUE(Must(made));
  EXPECT_EQ(Must(Run<Result<std::string>>([&](auto done) { return trusting.Read("/a/b", 0, 9, done); })), "bytes");
  const size_t sent = secure.server().requests().size();
  options.trust = std::make_shared<const HttpTrust>(HttpTrust{kOtherAuthority, "trust.jks"});
  WebHdfs refusing(loop, options);
  ExpectError(Run<Status>([&](auto done) { return refusing.MakeFolders("/c", 0700, done); }), ErrorCode::kNotPermitted,
              StrCat("^dfs.namenode.https-address: PUT ", secure.url(), "/webhdfs/v1/c: the certificate of "));
  EXPECT_EQ(secure.server().requests().size(), sent);
}

TEST_F(WebHdfsTest, AnyByteExceptNulInAPathOrParameterReachesTheServerUnchanged) {
  std::string bytes;
  for (int c = 1; c < 256; ++c) bytes.push_back(static_cast<char>(c));
  ASSERT_TRUE(MakeFolders("/x" + bytes).ok());
  EXPECT_EQ(FakeNameNode::PathOf(LastTarget()), "/x" + bytes);
  ASSERT_TRUE(Put("/a", "x", HdfsRename::kOverwrite).ok());
  ASSERT_TRUE(
      Run<Result<bool>>([&](auto done) { return hdfs.Rename("/a", "/" + bytes, HdfsRename::kIfNew, done); }).ok());
  EXPECT_EQ(FakeNameNode::QueryOf(LastTarget())["destination"], "/" + bytes);
}

TEST_F(WebHdfsTest, AFileStatusHasLengthPermissionOwnerAndTime) {
  node.files["/a/b"] = "12345";
  const auto entry = GetEntry("/a/b");
  ASSERT_TRUE(entry.ok()) << entry.error().message;
  EXPECT_EQ((*entry).length, 5);
  EXPECT_EQ((*entry).permission, 0640);
  EXPECT_EQ((*entry).owner, "eve");
  EXPECT_EQ((*entry).group, "supergroup");
  EXPECT_EQ((*entry).modified, FromMillis(1700000000123));
  EXPECT_FALSE((*entry).is_folder);
}

TEST_F(WebHdfsTest, TheStatusOfAMissingFileIsNotFound) {
  const auto entry = GetEntry("/a/b");
  EXPECT_EQ(entry.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(entry.error().message, "GETFILESTATUS /a/b: FileNotFoundException: File does not exist: /a/b");
}

TEST_F(WebHdfsTest, ALargeFolderIsListedInSeveralCalls) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) node.files[StrCat("/dir/", name)] = name;
  for (const char* start_after : {"startafter", "startAfter"}) {
    node.start_after = start_after;
    const size_t before = node.server().requests().size();
    const auto entries = Run<Result<std::vector<HdfsEntry>>>([&](auto done) { return hdfs.List("/dir", done); });
    ASSERT_TRUE(entries.ok()) << entries.error().message;
    std::string names;
    for (const HdfsEntry& entry : *entries) names += entry.name;
    EXPECT_EQ(names, "abcdefg");
    EXPECT_EQ(node.server().requests().size() - before, 3u);
  }
}

TEST_F(WebHdfsTest, ListingAFolderFailsIfTheServerRepeatsTheFirstPage) {
  for (const char* name : {"a", "b", "c", "d"}) node.files[StrCat("/dir/", name)] = name;
  node.start_after = "something else";
  const auto entries = Run<Result<std::vector<HdfsEntry>>>([&](auto done) { return hdfs.List("/dir", done); });
  EXPECT_EQ(entries.error().code, ErrorCode::kInvalid);
}

TEST_F(WebHdfsTest, AFileIsSentToTheDataNodeInOneRequest) {
  for (const bool by_status : {false, true}) {
    node.redirects_by_status = by_status;
    const std::string path = by_status ? "/one" : "/two";
    const auto created = Create(path, "content", {.permission = 0640});
    ASSERT_TRUE(created.ok() && *created);
    const auto& requests = node.server().requests();
    const ServedRequest& to_name_node = requests[requests.size() - 2];
    EXPECT_EQ(to_name_node.body, "");
    EXPECT_EQ(FakeNameNode::QueryOf(to_name_node.target)["createparent"], "false");
    EXPECT_EQ(FakeNameNode::QueryOf(to_name_node.target)["overwrite"], "false");
    EXPECT_EQ(FakeNameNode::QueryOf(to_name_node.target)["permission"], "0640");
    EXPECT_EQ(requests.back().body, "content");
    EXPECT_EQ(node.files[path], "content");
  }
}

TEST_F(WebHdfsTest, ASecondRedirectIsRejectedAndNotFollowed) {
  node.answers_all = Answered(307, "", StrCat("Location: ", node.server().Url("/elsewhere"), "\r\n"));
  const auto created = Create("/a", "secret");
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.error().message, "CREATE /a: the answer redirects to a second server");
  EXPECT_EQ(node.server().requests().size(), 2u);
  EXPECT_EQ(Run<Status>([&](auto done) { return hdfs.SetPermission("/a", 0600, done); }).error().code,
            ErrorCode::kInvalid);
}

TEST_F(WebHdfsTest, CreatingAnExistingFileReturnsFalseAndLeavesTheFileUnchanged) {
  node.files["/a"] = "before";
  const auto created = Create("/a", "after");
  ASSERT_TRUE(created.ok()) << created.error().message;
  EXPECT_FALSE(*created);
  EXPECT_EQ(node.files["/a"], "before");
}

TEST_F(WebHdfsTest, AByteRangeOfAFileIsRead) {
  node.files["/a"] = "0123456789";
  const auto bytes = Run<Result<std::string>>([&](auto done) { return hdfs.Read("/a", 3, 4, done); });
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  EXPECT_EQ(*bytes, "3456");
}

TEST_F(WebHdfsTest, BytesAreAppendedToAFile) {
  node.files["/a"] = "one ";
  EXPECT_TRUE(Run<Status>([&](auto done) { return hdfs.Append("/a", {"two", {}, {}}, done); }).ok());
  EXPECT_EQ(node.files["/a"], "one two");
  EXPECT_EQ(node.server().requests().back().method, "POST");
}

TEST_F(WebHdfsTest, ARenameWithoutOverwriteReturnsFalseIfTheTargetExists) {
  const auto rename = [&](HdfsRename how) {
    node.files["/from"] = "new";
    return Run<Result<bool>>([&](auto done) { return hdfs.Rename("/from", "/to", how, done); });
  };
  EXPECT_TRUE(*rename(HdfsRename::kIfNew));
  EXPECT_FALSE(*rename(HdfsRename::kIfNew));
  EXPECT_TRUE(*rename(HdfsRename::kOverwrite));
}

TEST_F(WebHdfsTest, AnExtendedAttributeIsReplacedOnlyIfOverwriteIsRequested) {
  const auto set = [&](std::string_view value, HdfsXattr how) {
    return Run<Result<bool>>([&](auto done) { return hdfs.SetXattr("/a", "user.x", value, how, done); });
  };
  EXPECT_TRUE(*set(std::string("\0\xff", 2), HdfsXattr::kIfNew));
  EXPECT_EQ(node.xattrs["/a"]["user.x"], "0x00FF");
  EXPECT_FALSE(*set("other", HdfsXattr::kIfNew));
  EXPECT_TRUE(*set("z", HdfsXattr::kOverwrite));
  EXPECT_EQ(node.xattrs["/a"]["user.x"], "0x7A");
}

TEST_F(WebHdfsTest, ExtendedAttributesAreRead) {
  node.answers_all = Answered(200,
                              "{\"XAttrs\":[{\"name\":\"user.a\",\"value\":\"0x00ff41\"},"
                              "{\"name\":\"user.b\",\"value\":null},{\"name\":\"user.c\",\"value\":\"0x\"}]}");
  const auto xattrs =
      Run<Result<std::map<std::string, std::string>>>([&](auto done) { return hdfs.GetXattrs("/a", done); });
  ASSERT_TRUE(xattrs.ok()) << xattrs.error().message;
  EXPECT_THAT(*xattrs, ElementsAre(Pair("user.a", std::string("\0\xff"
                                                              "A",
                                                              3)),
                                   Pair("user.b", ""), Pair("user.c", "")));
}

TEST_F(WebHdfsTest, EachHdfsExceptionIsMappedToAnErrorCodeAndKeepsItsMessage) {
  const std::vector<std::pair<const char*, ErrorCode>> kinds = {
      {"FileNotFoundException", ErrorCode::kNotFound},
      {"AccessControlException", ErrorCode::kNotPermitted},
      {"StandbyException", ErrorCode::kUnavailable},
      {"SafeModeException", ErrorCode::kUnavailable},
      {"RetriableException", ErrorCode::kUnavailable},
      {"NSQuotaExceededException", ErrorCode::kCannotWrite},
      {"DSQuotaExceededException", ErrorCode::kCannotWrite},
      {"IOException", ErrorCode::kCannotWrite},
      {"ParentNotDirectoryException", ErrorCode::kCannotWrite},
      {"IllegalArgumentException", ErrorCode::kInvalid}};
  for (const auto& [exception, code] : kinds) {
    node.answers_all = FakeNameNode::Refused(403, exception, "why\\nat org.apache");
    const Status status = MakeFolders("/a");
    EXPECT_EQ(status.error().code, code) << exception;
    EXPECT_EQ(status.error().message, StrCat("MKDIRS /a: ", exception, ": why"));
  }
}

TEST_F(WebHdfsTest, AMissingDataNodeIsReportedAsUnavailable) {
  node.answers_all = FakeNameNode::Refused(
      403, "IOException", "Failed to find datanode, suggest to check cluster health. excludeDatanodes=null");
  EXPECT_EQ(MakeFolders("/a").error().code, ErrorCode::kUnavailable) << "it is no fault of the file's";
}

TEST_F(WebHdfsTest, AnErrorWithoutAnHdfsExceptionIsMappedByItsHttpStatus) {
  for (const auto& [http, code] : std::vector<std::pair<int, ErrorCode>>{{401, ErrorCode::kNotPermitted},
                                                                         {403, ErrorCode::kNotPermitted},
                                                                         {404, ErrorCode::kUnavailable},
                                                                         {502, ErrorCode::kUnavailable},
                                                                         {302, ErrorCode::kCannotWrite}}) {
    node.answers_all = Answered(http, "<html>");
    const Status status = MakeFolders("/a");
    EXPECT_EQ(status.error().code, code);
    EXPECT_EQ(status.error().message, StrCat("MKDIRS /a: HTTP status ", http));
  }
}

TEST_F(WebHdfsTest, AMalformedAnswerOfTheNameNodeIsRejected) {
  for (const char* body : {"", "{", "[]", "{\"FileStatus\":7}", "{\"FileStatus\":{\"type\":\"FILE\"}}",
                           "{\"FileStatus\":{\"type\":\"FILE\",\"permission\":\"9\",\"length\":1}}",
                           "{\"FileStatus\":{\"type\":\"FILE\",\"permission\":\"644\",\"length\":-1}}"}) {
    node.answers_all = Answered(200, body);
    EXPECT_EQ(GetEntry("/a").error().code, ErrorCode::kInvalid) << body;
    EXPECT_THAT(GetEntry("/a").error().message, StartsWith("GETFILESTATUS /a: the answer is not from WebHDFS"));
  }
}

TEST_F(WebHdfsTest, ACallReturnsUnavailableIfNoNameNodeListens) {
  WebHdfs gone(loop, {.bases = {kNobody}, .user = "eve"});
  const Status status = Run<Status>([&](auto done) { return gone.MakeFolders("/a", 0700, done); });
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(status.error().message, "PUT http://127.0.0.1:1/webhdfs/v1/a: connect: connection refused");
}

// ---- several NameNodes, of which one is active

class NameNodesTest : public WebHdfsTest {
 protected:
  Status MakeFoldersAt(std::vector<std::string> bases) {
    WebHdfs both(loop, {.bases = std::move(bases), .user = "eve"});
    return Run<Status>([&](auto done) { return both.MakeFolders("/a", 0750, done); });
  }

  FakeNameNode other{loop};
};

TEST_F(NameNodesTest, ACallReachesTheActiveNameNodeInAnyOrder) {
  const std::vector<std::vector<std::string>> orders = {
      {node.url(), other.url()}, {other.url(), node.url()}, {other.url(), node.url()}, {kNobody, node.url()}};
  for (const auto& bases : orders) {
    const bool starts = &bases == &orders[2];
    other.answers_all = FakeNameNode::Refused(403, starts ? "RetriableException" : "StandbyException", "not active");
    node.folders.clear();
    const Status status = MakeFoldersAt(bases);
    EXPECT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(node.folders.size(), 1u);
  }
}

TEST_F(NameNodesTest, TheNameNodeThatWasActiveLastIsAskedFirst) {
  other.answers_all = FakeNameNode::Refused(403, "StandbyException", "not active");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(MakeFoldersAt({node.url(), other.url()}).ok());
  EXPECT_LE(other.server().requests().size(), 1u);
}

// The first NameNode may have executed the call.
TEST_F(NameNodesTest, ACallWithoutAnAnswerIsNotSentToAnotherNameNode) {
  node.loses_answer_of = other.loses_answer_of = "MKDIRS";
  const Status status = MakeFoldersAt({node.url(), other.url()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(node.server().requests().size() + other.server().requests().size(), 1u);
}

TEST_F(NameNodesTest, ACallReturnsUnavailableIfAllNameNodesAreInStandby) {
  node.answers_all = other.answers_all = FakeNameNode::Refused(403, "StandbyException", "not active");
  EXPECT_EQ(MakeFoldersAt({node.url(), other.url()}).error().code, ErrorCode::kUnavailable);
}

TEST_F(NameNodesTest, AnObserverThatIsBehindAnswersNeitherReadsNorWrites) {
  other.is_observer = true;
  other.files["/a"] = "old";
  node.files["/a"] = "newest";
  for (const std::string& first : {other.url(), node.url()}) {
    const std::string second = first == other.url() ? node.url() : other.url();
    WebHdfs both(loop, {.bases = {first, second}, .user = "eve"});
    EXPECT_EQ(Must(Run<Result<HdfsEntry>>([&](auto done) { return both.GetEntry("/a", done); })).length, 6);
    EXPECT_EQ(Must(Run<Result<std::string>>([&](auto done) { return both.Read("/a", 0, 9, done); })), "newest");
    EXPECT_TRUE(Run<Status>([&](auto done) { return both.MakeFolders("/b", 0750, done); }).ok());
  }
  // The active one dies.
  node.answers_all = FakeNameNode::Refused(403, "StandbyException", "not active");
  WebHdfs both(loop, {.bases = {node.url(), other.url()}, .user = "eve"});
  EXPECT_EQ(Run<Result<HdfsEntry>>([&](auto done) { return both.GetEntry("/a", done); }).error().code,
            ErrorCode::kUnavailable);
}

TEST_F(NameNodesTest, ATokenThatAnObserverDoesNotKnowYetIsSentToTheOtherNameNodes) {
  const auto refused = FakeNameNode::Refused(403, "InvalidToken", "token can't be found in cache");
  const auto entry_from = [&](const std::vector<std::string>& bases) {
    WebHdfs both(loop, {.bases = bases, .user = "eve", .token = [](const std::string&) {
                          return Result<std::string>("token");
                        }});
    return Run<Result<HdfsEntry>>([&](auto done) { return both.GetEntry("/a", done); });
  };
  node.files["/a"] = "newest";
  other.answers_all = refused;
  EXPECT_TRUE(entry_from({other.url(), node.url()}).ok());
  EXPECT_TRUE(entry_from({node.url(), other.url()}).ok());
  // The token has ended, and the other NameNode is in standby.
  other.answers_all = FakeNameNode::Refused(403, "StandbyException", "not active");
  node.answers_all = refused;
  for (const auto& bases : {std::vector{node.url(), other.url()}, {other.url(), node.url()}})
    EXPECT_THAT(entry_from(bases).error().message, HasSubstr("InvalidToken: token can't be found in cache"));
}

using PutWholeTest = WebHdfsTest;

TEST_F(PutWholeTest, ANewFileIsPublishedCompletelyAndNoTemporaryFileRemains) {
  const auto put = Put("/dir/a", "content", HdfsRename::kIfNew);
  ASSERT_TRUE(put.ok()) << put.error().message;
  EXPECT_TRUE(*put);
  EXPECT_THAT(node.files, ElementsAre(Pair("/dir/a", "content")));
}

TEST_F(PutWholeTest, ASecondPutWithoutOverwriteReturnsFalseAndLeavesNoTemporaryFile) {
  ASSERT_TRUE(*Put("/dir/a", "first", HdfsRename::kIfNew));
  EXPECT_FALSE(*Put("/dir/a", "second", HdfsRename::kIfNew));
  EXPECT_THAT(node.files, ElementsAre(Pair("/dir/a", "first")));
  EXPECT_TRUE(*Put("/dir/a", "third", HdfsRename::kOverwrite));
  EXPECT_THAT(node.files, ElementsAre(Pair("/dir/a", "third")));
}

TEST_F(PutWholeTest, APartialUploadFailsAndLeavesNoFile) {
  node.keeps_of_a_body = 4;
  const auto put = Put("/dir/a", "content", HdfsRename::kIfNew);
  EXPECT_EQ(put.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(put.error().message, "/dir/a: 4 of 7 bytes arrived");
  EXPECT_THAT(node.files, IsEmpty());
}

TEST_F(PutWholeTest, AFileThatFailsTheCheckAfterItsUploadIsRemoved) {
  const auto put_checked = [&](const Status& checked) {
    return Run<Result<bool>>([&](auto done) {
      return PutCompleteFile(hdfs, "/dir/a", {"content", {}, {}}, HdfsRename::kIfNew, 0600, done, [&] {
        EXPECT_EQ(node.files.begin()->second, "content");
        return checked;
      });
    });
  };
  EXPECT_EQ(put_checked(Error{ErrorCode::kUnavailable, "it changed"}).error().message, "it changed");
  EXPECT_THAT(node.files, IsEmpty());
  EXPECT_TRUE(put_checked(Ok()).ok());
  EXPECT_THAT(node.files, ElementsAre(Pair("/dir/a", "content")));
}

TEST_F(PutWholeTest, APutSucceedsIfOnlyTheAnswerToItsRenameIsLost) {
  node.loses_answer_of = "RENAME";
  const auto put = Put("/dir/a", "content", HdfsRename::kIfNew);
  ASSERT_TRUE(put.ok()) << put.error().message;
  EXPECT_TRUE(*put);
  EXPECT_THAT(node.files, ElementsAre(Pair("/dir/a", "content")));
}

TEST_F(PutWholeTest, APutWhoseRenameIsNotExecutedFailsAndLeavesNoFile) {
  node.does_not_do = "RENAME";
  EXPECT_EQ(Put("/dir/a", "content", HdfsRename::kOverwrite).error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(node.files, IsEmpty());
}

TEST_F(PutWholeTest, APutWhoseCreateAnswerIsLostFailsAndLeavesNoFile) {
  node.loses_answer_of = "CREATE";
  const auto put = Put("/dir/a", "content", HdfsRename::kIfNew);
  EXPECT_EQ(put.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(node.files, IsEmpty());
}

TEST_F(PutWholeTest, APutWithALostCallOrAnswerLeavesNoPartialFile) {
  for (const HdfsRename how : {HdfsRename::kIfNew, HdfsRename::kOverwrite}) {
    for (const char* operation : {"CREATE", "GETFILESTATUS", "RENAME", "DELETE"}) {
      for (const bool is_done : {false, true}) {
        for (const bool is_there : {false, true}) {
          node.files.clear();
          if (is_there) node.files["/dir/a"] = "before";
          (is_done ? node.loses_answer_of : node.does_not_do) = operation;
          const auto put = Put("/dir/a", "content", how);
          node.loses_answer_of = node.does_not_do = "";
          const std::string now = node.files.count("/dir/a") ? node.files["/dir/a"] : "";
          SCOPED_TRACE(
              StrCat(operation, is_done ? " is done, " : " is not done, ", put.ok() ? "ok" : "error", ", ", now));
          EXPECT_THAT(now, testing::AnyOf("content", is_there ? "before" : ""));
          if (put.ok()) {
            EXPECT_EQ(*put, now == "content");
          }
          if (how == HdfsRename::kIfNew && is_there) {
            EXPECT_EQ(now, "before");
          }
        }
      }
    }
  }
}

TEST_F(PutWholeTest, CancellingAPutAtAnyStepLeavesTheCompleteFileOrNoFile) {
  for (size_t requests = 0; requests < 4; ++requests) {
    node.files.clear();
    const size_t before = node.server().requests().size();
    bool told = false;
    auto handle = PutCompleteFile(hdfs, "/dir/a", {"content", {}, {}}, HdfsRename::kIfNew, 0600,
                                  [&](const Result<bool>&) { told = true; });
    ASSERT_TRUE(RunUntil(loop, [&] { return node.server().requests().size() >= before + requests; }));
    const bool was_told = told;
    handle.reset();
    RunUntil(
        loop, [] { return false; }, Duration(5));
    EXPECT_EQ(told, was_told);
    const auto file = node.files.find("/dir/a");
    EXPECT_TRUE(file == node.files.end() || file->second == "content");
  }
}

}  // namespace
}  // namespace tony::hadoop
