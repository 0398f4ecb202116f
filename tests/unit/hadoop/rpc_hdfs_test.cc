#include "runtime/hadoop/rpc_hdfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "runtime/base/strings.h"
#include "runtime/hadoop/file_coding.h"
#include "runtime/hadoop/wire/hdfs.pb.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"
#include "tests/unit/base/event_loop_fixture.h"
#include "tests/unit/hadoop/fake_rpc_server.h"
#include "tests/unit/hadoop/scripted_data_node.h"

namespace tony::hadoop {
namespace {

namespace hdfs = wire::hdfs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr char kStandby[] = "org.apache.hadoop.ipc.StandbyException";
constexpr uint64_t kBlockSize = 1000;
constexpr uint64_t kGroup = 0x8000'0000'0000'0010;

Result<std::string> NoNames(const std::string& host) { return UnavailableError("resolve ", host); }

hdfs::HdfsFileStatus SomeFile() {
  hdfs::HdfsFileStatus file;
  file.set_filetype(hdfs::HdfsFileStatus::IS_FILE);
  file.set_path("");
  file.set_length(7);
  file.mutable_permission()->set_perm(0640);
  file.set_owner("eve");
  file.set_group("staff");
  file.set_modification_time(1'700'000'000'000);
  file.set_access_time(0);
  file.set_fileid(16'390);
  return file;
}

class RpcHdfsTest : public EventLoopTest {
 protected:
  RpcHdfsTest() {
    node.on_call = [this](const FakeRpcServer::Call& call) { Answer(node, call); };
  }

  static Hdfs::Options At(std::vector<int> ports) {
    Hdfs::Options options{.user = "eve"};
    for (const int port : ports) options.rpc.name_nodes.push_back({kLoopback, port});
    return options;
  }
  std::unique_ptr<RpcHdfs> Client(Hdfs::Options options) {
    return std::make_unique<RpcHdfs>(loop, std::move(options), NoNames);
  }
  template <class T, class Start>
  T Run(Start start) {
    std::optional<T> result;
    const Hdfs::Handle handle = start([&](T value) { result = std::move(value); });
    EXPECT_FALSE(result.has_value()) << "called from inside";
    EXPECT_TRUE(RunUntil(loop, [&] { return result.has_value(); }));
    return result ? *std::move(result) : T(Error{ErrorCode::kInternal, "never answered"});
  }
  Result<HdfsEntry> GetEntry(Hdfs& of) {
    return Run<Result<HdfsEntry>>([&](auto done) { return of.GetEntry("/a", done); });
  }
  Result<std::string> Read(int64_t offset = 0, int64_t length = 100) {
    return Run<Result<std::string>>([&](auto done) { return client->Read("/a", offset, length, done); });
  }
  Result<bool> Create(const std::string& bytes) {
    return Run<Result<bool>>([&](auto done) { return client->Create("/a", {bytes, {}, {}}, {}, done); });
  }

  hdfs::LocatedBlock Block(uint64_t id, uint64_t bytes) const {
    hdfs::LocatedBlock block;
    block.mutable_b()->set_poolid("pool");
    block.mutable_b()->set_blockid(id);
    block.mutable_b()->set_generationstamp(1);
    block.mutable_b()->set_numbytes(bytes);
    block.set_offset(0);
    block.set_corrupt(false);
    block.mutable_blocktoken()->set_identifier("i");
    block.mutable_blocktoken()->set_password("p");
    block.mutable_blocktoken()->set_kind("HDFS_BLOCK_TOKEN");
    block.mutable_blocktoken()->set_service("");
    for (const ScriptedDataNode* one : {&first, &second}) *block.add_locs() = one->info();
    return block;
  }

  // Answers as a NameNode with one file.
  void Answer(FakeRpcServer& server, const FakeRpcServer::Call& call) {
    const auto succeed = [&](const google::protobuf::MessageLite& response) { server.Succeed(call, response); };
    if (call.method == "getServerDefaults") {
      hdfs::GetServerDefaultsResponse response;
      response.mutable_serverdefaults()->set_blocksize(kBlockSize);
      response.mutable_serverdefaults()->set_bytesperchecksum(4);
      response.mutable_serverdefaults()->set_writepacketsize(65536);
      response.mutable_serverdefaults()->set_replication(2);
      response.mutable_serverdefaults()->set_filebuffersize(4096);
      response.mutable_serverdefaults()->set_keyprovideruri(key_provider);
      return succeed(response);
    }
    if (call.method == "getBlockLocations") {
      hdfs::GetBlockLocationsResponse response;
      *response.mutable_locations() = places;
      return succeed(response);
    }
    if (call.method == "create") {
      hdfs::CreateResponse response;
      *response.mutable_fs() = created;
      return succeed(response);
    }
    if (call.method == "append") {
      hdfs::AppendResponse response;
      *response.mutable_stat() = created;
      return succeed(response);
    }
    if (call.method == "addBlock") {
      hdfs::AddBlockRequest request;
      request.ParseFromString(call.request);
      hdfs::AddBlockResponse response;
      *response.mutable_block() = Block(100 + blocks.size(), 0);
      blocks.push_back(request);
      if (request.excludenodes_size() > 0) response.mutable_block()->mutable_locs()->DeleteSubrange(0, 1);
      return succeed(response);
    }
    if (call.method == "complete") {
      hdfs::CompleteResponse response;
      response.set_result(++completes > 1);
      return succeed(response);
    }
    if (call.method == "abandonBlock") return succeed(hdfs::AbandonBlockResponse());
    hdfs::GetFileInfoResponse response;
    *response.mutable_fs() = SomeFile();
    succeed(response);
  }

  // Sets the file that the NameNode has.
  void HasFile(const std::string& bytes) {
    places.set_filelength(bytes.size());
    places.set_underconstruction(false);
    places.set_islastblockcomplete(true);
    *places.add_blocks() = Block(1, bytes.size());
    first.answer = second.answer = Served(bytes);
  }
  // Returns the answer of a DataNode to the read of a whole block.
  static std::string Served(const std::string& bytes) {
    hdfs::BlockOpResponse response;
    response.set_status(hdfs::SUCCESS);
    hdfs::ReadOpChecksumInfo& info = *response.mutable_readopchecksuminfo();
    info.mutable_checksum()->set_type(hdfs::CHECKSUM_CRC32C);
    info.mutable_checksum()->set_bytesperchecksum(4);
    info.set_chunkoffset(0);
    hdfs::PacketHeader header;
    header.set_offsetinblock(0);
    header.set_seqno(0);
    header.set_lastpacketinblock(false);
    header.set_datalen(static_cast<int32_t>(bytes.size()));
    hdfs::PacketHeader last = header;
    last.set_lastpacketinblock(true);
    last.set_datalen(0);
    return StrCat(DelimitedBytes(response), PacketBytes(header, bytes, 4), PacketBytes(last, "", 4));
  }
  // Sets a file of two cells of four bytes and their parity, each on a DataNode.
  void HasErasureCodedFile() {
    HasFile("01234567");
    hdfs::LocatedBlock& group = *places.mutable_blocks(0);
    group.mutable_b()->set_blockid(kGroup);
    *group.add_locs() = third.info();
    group.set_blockindices(std::string("\0\1\2", 3));
    for (const char* password : {"p0", "p1", "p2"}) {
      *group.add_blocktokens() = group.blocktoken();
      group.mutable_blocktokens()->rbegin()->set_password(password);
    }
    hdfs::ErasureCodingPolicy& policy = *places.mutable_ecpolicy();
    policy.set_id(64);
    policy.set_cellsize(4);
    policy.mutable_schema()->set_codecname("xor");
    policy.mutable_schema()->set_dataunits(2);
    policy.mutable_schema()->set_parityunits(1);
    std::string parity = "0123";
    for (size_t i = 0; i < 4; ++i) parity[i] = static_cast<char>(parity[i] ^ "4567"[i]);
    first.answer = Served("0123");
    second.answer = Served("4567");
    third.answer = Served(parity);
  }
  // The file's key and first counter in these tests.
  static FileCipher Cipher() { return Must(FileCipher::Make("decrypted key 16", "first counter 16")); }
  static std::string Encrypted(std::string bytes, uint64_t offset) {
    EXPECT_TRUE(Cipher().Apply(bytes, offset).ok());
    return bytes;
  }
  static hdfs::FileEncryptionInfo ZoneFile() {
    hdfs::FileEncryptionInfo info;
    info.set_suite(hdfs::AES_CTR_NOPADDING);
    info.set_cryptoprotocolversion(hdfs::ENCRYPTION_ZONES);
    info.set_key("encrypted key");
    info.set_iv("first counter 16");
    info.set_keyname("key");
    info.set_ezkeyversionname("key@0");
    return info;
  }
  // Returns a client whose KMS answers at once with the file's key.
  std::unique_ptr<RpcHdfs> ZoneClient() {
    const auto decrypt = [this](const std::string& provider, const EncryptedFileKey& key,
                                const Hdfs::Done<Result<std::string>>& done) -> Hdfs::Handle {
      decrypted.push_back(StrCat(provider, " ", key.zone_key, " ", key.version, " ", key.iv, " ", key.bytes));
      return loop.After(Duration(0), [done] { done(std::string("decrypted key 16")); });
    };
    return std::make_unique<RpcHdfs>(loop, At({node.port()}), NoNames, decrypt);
  }
  static std::string Refused(hdfs::Status status, const std::string& message) {
    hdfs::BlockOpResponse response;
    response.set_status(status);
    response.set_message(message);
    return DelimitedBytes(response);
  }
  static std::string Accepts() { return Refused(hdfs::SUCCESS, ""); }

  std::vector<std::string> Methods() const {
    std::vector<std::string> methods;
    for (const auto& call : node.calls) methods.push_back(call.method);
    return methods;
  }

  FakeRpcServer node{loop, std::nullopt};
  ScriptedDataNode first{loop}, second{loop}, third{loop};
  hdfs::HdfsFileStatus created = SomeFile();
  std::string key_provider;
  std::vector<std::string> decrypted;
  hdfs::LocatedBlocks places;
  std::vector<hdfs::AddBlockRequest> blocks;
  int completes = 0;
  std::unique_ptr<RpcHdfs> client = Client(At({node.port()}));
};

TEST_F(RpcHdfsTest, AnEntryHasTheValuesOfTheNameNode) {
  const HdfsEntry entry = Must(GetEntry(*client));
  EXPECT_EQ(entry.name, "");
  EXPECT_FALSE(entry.is_folder);
  EXPECT_EQ(entry.length, 7);
  EXPECT_EQ(entry.permission, 0640);
  EXPECT_EQ(entry.owner, "eve");
  EXPECT_EQ(entry.modified, FromMillis(1'700'000'000'000));
  EXPECT_EQ(entry.id, 16'390);
  EXPECT_EQ(node.contexts.at(0).userinfo().effectiveuser(), "eve");
  EXPECT_EQ(node.calls.at(0).protocol, "org.apache.hadoop.hdfs.protocol.ClientProtocol");
}

TEST_F(RpcHdfsTest, ACallGoesToTheNextNameNodeIfOneIsInStandbyAndLaterClientsBeginThere) {
  FakeRpcServer standby(loop, std::nullopt);
  standby.on_call = [&](const FakeRpcServer::Call& call) { standby.Fail(call, kStandby, "not active"); };
  EXPECT_TRUE(GetEntry(*Client(At({standby.port(), node.port()}))).ok());
  // This client begins with the second address, because the last answer came from there.
  const size_t asked = standby.calls.size();
  EXPECT_TRUE(GetEntry(*Client(At({node.port(), standby.port()}))).ok());
  EXPECT_EQ(standby.calls.size(), asked + 1);
  EXPECT_TRUE(GetEntry(*Client(At({node.port(), standby.port()}))).ok());
  EXPECT_EQ(standby.calls.size(), asked + 1);
}

TEST_F(RpcHdfsTest, ACallGoesToTheNextNameNodeIfOneDoesNotListen) {
  // The second client begins with its second address.
  for (const auto& ports : {std::vector<int>{1, node.port()}, {node.port(), 1}})
    EXPECT_TRUE(GetEntry(*Client(At(ports))).ok());
  const auto gone = GetEntry(*Client(At({1})));
  EXPECT_EQ(gone.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(gone.error().message, "getFileInfo /a: NameNode 127.0.0.1:1: connect: connection refused");
}

TEST_F(RpcHdfsTest, ACallWithoutAnAnswerIsNotRepeated) {
  FakeRpcServer other(loop, std::nullopt);
  for (FakeRpcServer* each : {&node, &other}) each->on_call = [each](const auto&) { each->CloseAll(); };
  EXPECT_EQ(GetEntry(*Client(At({node.port(), other.port()}))).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(node.calls.size() + other.calls.size(), 1u);
}

TEST_F(RpcHdfsTest, AConnectionThatWasClosedWhileItWasIdleIsMadeAgain) {
  EXPECT_TRUE(GetEntry(*client).ok());
  // The client's loop does not run after this.
  node.CloseAll();
  EXPECT_TRUE(GetEntry(*client).ok());
  EXPECT_EQ(node.connections, 2);
}

TEST_F(RpcHdfsTest, ARefusedTokenIsReplacedOnce) {
  const Token old{"old", "1", kHdfsTokenKind, ""}, fresh{"fresh", "2", kHdfsTokenKind, ""};
  FakeRpcServer strict(loop, fresh);
  strict.on_call = [&](const FakeRpcServer::Call& call) { Answer(strict, call); };
  Hdfs::Options options = At({strict.port()});
  std::vector<std::string> refused;
  options.token = [&](const std::string& had) -> Result<std::string> {
    refused.push_back(had);
    return TextOf(had.empty() ? old : fresh);
  };
  EXPECT_TRUE(GetEntry(*Client(options)).ok());
  EXPECT_EQ(refused.at(1), TextOf(old));
}

TEST_F(RpcHdfsTest, ARefusedTokenIsReportedIfTheOtherNameNodeIsInStandby) {
  FakeRpcServer strict(loop, Token{"fresh", "2", kHdfsTokenKind, ""});
  FakeRpcServer standby(loop, Token{"old", "1", kHdfsTokenKind, ""});
  standby.on_call = [&](const FakeRpcServer::Call& call) { standby.Fail(call, kStandby, "not active"); };
  for (const auto& ports : {std::vector<int>{strict.port(), standby.port()}, {standby.port(), strict.port()}}) {
    Hdfs::Options options = At(ports);
    options.token = [](const std::string&) -> Result<std::string> {
      return TextOf(Token{"old", "1", kHdfsTokenKind, ""});
    };
    const auto entry = GetEntry(*Client(options));
    EXPECT_EQ(entry.error().code, ErrorCode::kNotPermitted) << entry.error().message;
    EXPECT_THAT(entry.error().message, HasSubstr(": InvalidToken: "));
  }
}

TEST_F(RpcHdfsTest, AnObserverIsAskedLikeAStandby) {
  FakeRpcServer observer(loop, std::nullopt);
  observer.on_call = [&](const FakeRpcServer::Call& call) {
    observer.Fail(call, "org.apache.hadoop.ipc.ObserverRetryOnActiveException", "not active");
  };
  for (const auto& ports : {std::vector<int>{observer.port(), node.port()}, {node.port(), observer.port()}})
    EXPECT_TRUE(GetEntry(*Client(At(ports))).ok());
}

TEST_F(RpcHdfsTest, AnObserverThatAnswersReadsIsNotBelieved) {
  FakeRpcServer observer(loop, std::nullopt);
  observer.on_call = [&](const FakeRpcServer::Call& call) {
    if (call.method == "msync") return observer.Fail(call, "org.apache.hadoop.ipc.ObserverRetryOnActiveException", "x");
    hdfs::GetFileInfoResponse response;
    *response.mutable_fs() = SomeFile();
    response.mutable_fs()->set_length(1);
    observer.Succeed(call, response);
  };
  for (const auto& ports : {std::vector<int>{observer.port(), node.port()}, {node.port(), observer.port()}}) {
    const auto both = Client(At(ports));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Must(GetEntry(*both)).length, 7);
  }
  EXPECT_THAT(Methods(), testing::Contains("msync").Times(2));
}

TEST_F(RpcHdfsTest, RefusalsHaveTheCodesOfWebHdfs) {
  const auto code_of = [&](const std::string& exception, const std::string& message, bool writes) {
    node.on_call = [=, this](const FakeRpcServer::Call& call) { node.Fail(call, exception, message); };
    const auto status = writes ? Run<Status>([&](auto done) { return client->MakeFolders("/a", 0700, done); })
                               : GetEntry(*client).status();
    EXPECT_THAT(status.error().message, HasSubstr(message));
    return status.error().code;
  };
  EXPECT_EQ(code_of("java.io.FileNotFoundException", "x", true), ErrorCode::kNotFound);
  EXPECT_EQ(code_of("org.apache.hadoop.security.AccessControlException", "x", false), ErrorCode::kNotPermitted);
  EXPECT_EQ(code_of("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "x", true), ErrorCode::kCannotWrite);
  EXPECT_EQ(code_of("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "x", true), ErrorCode::kUnavailable);
  EXPECT_EQ(code_of("java.io.IOException", "There are 0 datanode(s) running", true), ErrorCode::kUnavailable);
  EXPECT_EQ(code_of("java.io.IOException", "x", false), ErrorCode::kUnavailable);
}

TEST_F(RpcHdfsTest, AMalformedAnswerOfTheNameNodeIsRejected) {
  node.on_call = [this](const FakeRpcServer::Call& call) { node.Succeed(call, hdfs::GetFileInfoResponse()); };
  EXPECT_TRUE(GetEntry(*client).error().code == ErrorCode::kNotFound);
  const auto removed = Run<Result<bool>>([&](auto done) { return client->Remove("/a", done); });
  EXPECT_EQ(removed.error().code, ErrorCode::kInvalid);
}

// ---- DataNodes

TEST_F(RpcHdfsTest, APartOfAFileIsRead) {
  HasFile("0123456789");
  EXPECT_EQ(Must(Read(0, 10)), "0123456789");
  ASSERT_THAT(first.reads, SizeIs(1));
  EXPECT_EQ(first.reads[0].header().baseheader().token().password(), "p");
  EXPECT_EQ(Must(Read(10, 10)), "");
}

TEST_F(RpcHdfsTest, ABlockIsReadFromTheNextDataNodeIfItsBytesAreDamaged) {
  HasFile("0123456789");
  first.answer[first.answer.find("345")] ^= 1;
  EXPECT_EQ(Must(Read()), "0123456789");
  EXPECT_THAT(second.reads, SizeIs(1));
}

TEST_F(RpcHdfsTest, AReadFailsIfNoDataNodeHasTheRightBytes) {
  HasFile("0123456789");
  const std::string whole = first.answer;
  const auto reason_of = [&](const std::string& answer) {
    first.answer = second.answer = answer;
    first.closes = second.closes = true;
    const auto read = Read();
    EXPECT_EQ(read.ok() ? ErrorCode::kInternal : read.error().code, ErrorCode::kUnavailable);
    return read.ok() ? "read" : read.error().message;
  };
  std::string damaged = whole;
  damaged[damaged.find("345")] ^= 1;
  EXPECT_THAT(reason_of(damaged), HasSubstr("do not match their checksums"));
  EXPECT_THAT(reason_of(Refused(hdfs::ERROR_ACCESS_TOKEN, "bad token")), HasSubstr("bad token"));
  EXPECT_THAT(reason_of(whole.substr(0, whole.size() - 3)), HasSubstr("the peer closed the connection"));
  EXPECT_THAT(reason_of(""), HasSubstr("dfs.data.transfer.protection"));
}

TEST_F(RpcHdfsTest, AnswersAboveTheLimitAreRefused) {
  HasFile("0123456789");
  Hdfs::Options options = At({node.port()});
  options.limits.answer = 9;
  client = Client(options);
  EXPECT_THAT(Read().error().message, HasSubstr("more than 9 bytes"));
}

TEST_F(RpcHdfsTest, AnErasureCodedFileIsReadCellByCell) {
  HasErasureCodedFile();
  EXPECT_EQ(Must(Read()), "01234567");
  ASSERT_THAT(first.reads, SizeIs(1));
  EXPECT_EQ(first.reads[0].header().baseheader().block().blockid(), kGroup);
  EXPECT_EQ(second.reads.at(0).header().baseheader().block().blockid(), kGroup + 1);
  EXPECT_EQ(second.reads.at(0).header().baseheader().token().password(), "p1");
  EXPECT_THAT(third.reads, SizeIs(0));
}

TEST_F(RpcHdfsTest, ALostCellOfAnErasureCodedFileIsRestored) {
  HasErasureCodedFile();
  first.answer = Refused(hdfs::ERROR, "disk is full");
  EXPECT_EQ(Must(Read()), "01234567");
  EXPECT_EQ(third.reads.at(0).header().baseheader().block().blockid(), kGroup + 2);
  // The NameNode names no DataNode for the first cell.
  hdfs::LocatedBlock& group = *places.mutable_blocks(0);
  group.set_blockindices(std::string("\1\2", 2));
  group.mutable_locs()->DeleteSubrange(0, 1);
  group.mutable_blocktokens()->DeleteSubrange(0, 1);
  EXPECT_EQ(Must(Read(2, 3)), "234");
  second.answer = Refused(hdfs::ERROR, "broken");
  const auto lost = Read();
  EXPECT_EQ(lost.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(lost.error().message, HasSubstr("read /a: DataNode 127.0.0.1"));
  EXPECT_THAT(lost.error().message, HasSubstr("broken"));
}

TEST_F(RpcHdfsTest, AnErasureCodingThatIsNotKnownIsRefused) {
  HasErasureCodedFile();
  places.mutable_ecpolicy()->mutable_schema()->set_dataunits(100);
  EXPECT_EQ(Read().error().code, ErrorCode::kInvalid);
  places.mutable_ecpolicy()->clear_schema();
  EXPECT_THAT(Read().error().message, HasSubstr("policy 64 is not known"));
}

TEST_F(RpcHdfsTest, AFileInAnEncryptionZoneIsDecryptedFromAnyByteOn) {
  HasFile(Encrypted("0123456789", 0));
  *places.mutable_fileencryptioninfo() = ZoneFile();
  EXPECT_THAT(Read().error().message, HasSubstr("the file is in an encryption zone, and the NameNode names no KMS"));
  key_provider = "kms://http@kms:9600/kms";
  client = std::make_unique<RpcHdfs>(loop, At({node.port()}), NoNames);
  EXPECT_THAT(Read().error().message, HasSubstr("this program calls no KMS"));
  client = ZoneClient();
  EXPECT_EQ(Must(Read()), "0123456789");
  EXPECT_EQ(Must(Read()), "0123456789");
  EXPECT_THAT(decrypted, ElementsAre("kms://http@kms:9600/kms key key@0 first counter 16 encrypted key"));
  places.mutable_fileencryptioninfo()->set_suite(hdfs::SM4_CTR_NOPADDING);
  EXPECT_THAT(Read().error().message, HasSubstr("only AES/CTR/NoPadding is supported"));
}

TEST_F(RpcHdfsTest, BytesForAnEncryptionZoneAreEncryptedAtTheirPlaceInTheFile) {
  key_provider = "kms://http@kms:9600/kms";
  client = ZoneClient();
  created.mutable_fileencryptioninfo()->CopyFrom(ZoneFile());
  first.answer = Accepts();
  const std::string bytes = std::string(kBlockSize, 'a') + "bc";
  EXPECT_TRUE(Must(Create(bytes)));
  EXPECT_THAT(first.written, ElementsAre(Encrypted(std::string(kBlockSize, 'a'), 0), Encrypted("bc", kBlockSize)));
  created.set_length(7);
  EXPECT_TRUE(Run<Status>([&](auto done) { return client->Append("/a", {"more", {}, {}}, done); }).ok());
  EXPECT_EQ(first.written.back(), Encrypted("more", 7));
  // An empty file needs no key.
  created.mutable_fileencryptioninfo()->set_key("another");
  EXPECT_TRUE(Must(Create("")));
  EXPECT_THAT(decrypted, SizeIs(1));
}

TEST_F(RpcHdfsTest, AFileOfTwoBlocksIsWritten) {
  first.answer = Accepts();
  const std::string bytes = std::string(kBlockSize, 'a') + "bc";
  EXPECT_TRUE(Must(Create(bytes)));
  EXPECT_THAT(first.written, ElementsAre(std::string(kBlockSize, 'a'), "bc"));
  EXPECT_EQ(first.writes[0].targets_size(), 1);
  EXPECT_EQ(first.writes[0].pipelinesize(), 2u);
  EXPECT_FALSE(blocks[0].has_previous());
  EXPECT_EQ(blocks[1].previous().numbytes(), kBlockSize);
  EXPECT_THAT(Methods(), ElementsAre("getServerDefaults", "create", "addBlock", "addBlock", "complete", "complete"));
}

TEST_F(RpcHdfsTest, ABlockIsWrittenAgainWithoutTheDataNodeThatFailed) {
  first.answer = Refused(hdfs::ERROR, "disk is full");
  second.answer = Accepts();
  EXPECT_TRUE(Must(Create("bytes")));
  EXPECT_THAT(second.written, ElementsAre("bytes"));
  ASSERT_THAT(blocks, SizeIs(2));
  EXPECT_EQ(blocks[1].excludenodes(0).id().xferport(), first.info().id().xferport());
  EXPECT_THAT(Methods(), testing::Contains("abandonBlock"));
}

TEST_F(RpcHdfsTest, AWriteFailsIfNoDataNodeStoresTheBytes) {
  first.answer = second.answer = Accepts();
  first.refuses_packets = second.refuses_packets = true;
  const auto created = Create("bytes");
  EXPECT_EQ(created.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(created.error().message, HasSubstr("did not store a packet"));
}

TEST_F(RpcHdfsTest, AnExistingFileIsNotCreated) {
  for (const char* exception : {"org.apache.hadoop.fs.FileAlreadyExistsException",
                                "org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException"}) {
    node.on_call = [&](const FakeRpcServer::Call& call) {
      if (call.method != "create") return Answer(node, call);
      node.Fail(call, exception, "exists");
    };
    EXPECT_FALSE(Must(Create("bytes")));
  }
  EXPECT_THAT(first.writes, SizeIs(0));
}

}  // namespace
}  // namespace tony::hadoop
