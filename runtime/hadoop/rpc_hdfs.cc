#include "runtime/hadoop/rpc_hdfs.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/data_node.h"
#include "runtime/hadoop/data_packets.h"
#include "runtime/hadoop/hdfs_answer.h"
#include "runtime/hadoop/rpc_frames.h"
#include "runtime/hadoop/wire/client.pb.h"
#include "runtime/hadoop/wire/hdfs.pb.h"
#include "runtime/hadoop/wire_records.h"
#include "runtime/os/files.h"

namespace tony::hadoop {
namespace {

namespace hdfs = wire::hdfs;

constexpr char kProtocol[] = "org.apache.hadoop.hdfs.protocol.ClientProtocol";
constexpr uint32_t kPermissionBits = 01777;
// The tries to write a block, each to other DataNodes.
constexpr int kMostBlockTries = 4;
// HDFS takes some milliseconds until it knows that a DataNode has the last block.
constexpr Duration kFirstPause{4}, kLongestPause{400};
// The lease of a writer, without which HDFS closes the file, lasts a minute at least.
constexpr Duration kRenewLease{20'000};
constexpr Duration kProgress{100};

struct Namespace {
  hdfs::XAttr::XAttrNamespaceProto value;
  std::string_view prefix;
};
constexpr Namespace kNamespaces[] = {{hdfs::XAttr::USER, "user."},
                                     {hdfs::XAttr::TRUSTED, "trusted."},
                                     {hdfs::XAttr::SECURITY, "security."},
                                     {hdfs::XAttr::SYSTEM, "system."},
                                     {hdfs::XAttr::RAW, "raw."}};

// The index of the NameNode that answered last. All clients of this process begin with it.
std::atomic<size_t> active_name_node = 0;

std::vector<Endpoint> ActiveFirst(std::vector<Endpoint> name_nodes) {
  const auto shift = static_cast<std::ptrdiff_t>(active_name_node % name_nodes.size());
  std::rotate(name_nodes.begin(), name_nodes.begin() + shift, name_nodes.end());
  return name_nodes;
}

RpcLimits LimitsOf(const Hdfs::Options& options) {
  const HttpCallLimits& limits = options.limits;
  return {.establish = limits.connect / static_cast<int>(options.rpc.name_nodes.size()),
          .call = std::min(limits.stalled, limits.whole)};
}

HdfsEntry EntryOf(const hdfs::HdfsFileStatus& status) {
  return {.name = status.path(),
          .is_folder = status.filetype() == hdfs::HdfsFileStatus::IS_DIR,
          .length = static_cast<int64_t>(status.length()),
          .modified = FromMillis(static_cast<int64_t>(status.modification_time())),
          .permission = static_cast<int>(status.permission().perm() & kPermissionBits),
          .owner = status.owner(),
          .group = status.group(),
          .id = static_cast<int64_t>(status.fileid())};
}

// Returns an exception that the server answered for the call; nullopt for an answer or for another failure.
std::optional<HdfsRefusal> RefusalIn(const Result<RpcConnection::Reply>& reply) {
  const auto* failure = reply.ok() ? std::get_if<RpcFailure>(&*reply) : nullptr;
  if (failure == nullptr || failure->kind != RpcFailure::Kind::kAnswered) return std::nullopt;
  return HdfsRefusal{0, std::string(ShortName(failure->exception_class)), failure->message};
}

// Calls a NameNode. The reason of a call that got no answer names the NameNode.
void CallNameNode(RpcConnection& connection, const std::string& method, const std::string& request,
                  RpcConnection::OnReply done) {
  const std::string at = ToString(connection.address());
  connection.Call(method, request, [at, done = std::move(done)](RpcConnection::Reply reply) {
    auto* failure = std::get_if<RpcFailure>(&reply);
    if (failure != nullptr && failure->kind != RpcFailure::Kind::kAnswered)
      failure->message = StrCat("NameNode ", at, ": ", failure->message);
    done(std::move(reply));
  });
}

}  // namespace

// The handle of a call or of several calls that follow each other.
class RpcHdfs::Steps : public EventLoop::Handle {
 public:
  // A call to a DataNode, a timer, or null.
  Hdfs::Handle running;
  // The token of the call that is running, and the token that a NameNode has refused. Empty: none.
  std::string token, refused;
  // Answers that come after this object was destroyed are ignored. Null: no answer counts any more.
  std::shared_ptr<int> alive = std::make_shared<int>();
};

RpcHdfs::RpcHdfs(EventLoop& loop, Options options, HostResolver::Lookup lookup)
    : loop_(loop),
      options_(std::move(options)),
      names_(loop, std::move(lookup)),
      name_node_(MakeConnection(SimpleUser{options_.user})) {}

RpcConnection RpcHdfs::MakeConnection(RpcIdentity identity) {
  return {loop_, names_, RpcServer{ActiveFirst(options_.rpc.name_nodes), kProtocol}, std::move(identity),
          LimitsOf(options_)};
}

void RpcHdfs::Send(Steps& steps, const Call& call, const std::string& request, size_t tries, Done<Result<Reply>> done) {
  if (options_.token) {
    const auto identify = [&]() -> Status {
      TRY_ASSIGN(steps.token, options_.token(steps.refused));
      TRY_ASSIGN(Token token, TokenFromText(steps.token));
      name_node_.Use(std::move(token));
      return Ok();
    };
    if (const Status identified = identify(); !identified.ok()) {
      steps.running = loop_.After(Duration(0), [done, error = identified.error()] { done(error); });
      return;
    }
  }
  CallNameNode(name_node_, call.method, request,
               [=, this, &steps, alive = std::weak_ptr<int>(steps.alive)](const Reply& reply) {
                 if (!alive.expired()) TakeReply(steps, call, request, tries, reply, done);
               });
}

// Sends the call to the next NameNode if this one has certainly not executed it. A NameNode that refuses the token gets
// the call once more if there is another token.
void RpcHdfs::TakeReply(Steps& steps, const Call& call, const std::string& request, size_t tries, const Reply& reply,
                        const Done<Result<Reply>>& done) {
  const auto* failure = std::get_if<RpcFailure>(&reply);
  if (failure == nullptr) {
    const auto& all = options_.rpc.name_nodes;
    active_name_node = static_cast<size_t>(std::ranges::find(all, name_node_.address()) - all.begin());
    return done(reply);
  }
  if (IsException(*failure, "InvalidToken") && steps.refused.empty() && !steps.token.empty()) {
    steps.refused = steps.token;
    const auto other = options_.token(steps.refused);
    if (other.ok() && *other != steps.refused) return Send(steps, call, request, tries, done);
  }
  if (tries > 1 && (failure->is_unsent || IsStandby(*failure))) return Send(steps, call, request, tries - 1, done);
  done(reply);
}

// Returns the bytes of the answer, or the error.
Result<std::string> RpcHdfs::Checked(const Call& call, const Result<Reply>& reply) {
  const std::string subject = StrCat(call.method, " ", call.path);
  if (!reply.ok()) return Annotate(reply.error(), subject);
  if (const auto refusal = RefusalIn(reply)) return refusal->ToError(subject, call.writes);
  const auto* failure = std::get_if<RpcFailure>(&*reply);
  if (failure == nullptr) return std::get<std::string>(*reply);
  Error error = ErrorOf(*failure, subject);
  if (error.code == ErrorCode::kInternal) error.code = ErrorCode::kInvalid;
  return error;
}

// Returns a callback that calls `done` with the value that `convert` makes of the answer, or with an error.
template <class Response, class T, class Convert>
Hdfs::Done<Result<RpcConnection::Reply>> RpcHdfs::Parsing(const Call& call, Convert convert, Done<Result<T>> done) {
  return [=, done = std::move(done)](const Result<Reply>& reply) {
    const auto bytes = Checked(call, reply);
    if (!bytes.ok()) return done(bytes.error());
    const auto response = ReadReply<Response>(Reply(*bytes));
    const std::string subject = StrCat(call.method, " ", call.path);
    if (const auto* failure = std::get_if<RpcFailure>(&response))
      return done(InvalidError(subject, ": ", failure->message));
    done(Annotate<T>(convert(std::get<Response>(response)), subject));
  };
}

template <class Response, class T, class Request, class Convert>
Hdfs::Handle RpcHdfs::Ask(const Call& call, const Request& request, Convert convert, Done<Result<T>> done) {
  auto steps = std::make_unique<Steps>();
  Send(*steps, call, request.SerializeAsString(), options_.rpc.name_nodes.size(),
       Parsing<Response, T>(call, convert, std::move(done)));
  return steps;
}

template <class Response, class Request>
Hdfs::Handle RpcHdfs::AskStatus(const Call& call, const Request& request, Done<Status> done) {
  return Ask<Response, bool>(
      call, request, [](const Response&) -> Result<bool> { return true; },
      [done = std::move(done)](const Result<bool>& result) { done(result.status()); });
}

// `done` receives false if the target already exists.
template <class Response, class Request>
Hdfs::Handle RpcHdfs::AskNew(const Call& call, const Request& request, Done<Result<bool>> done) {
  auto steps = std::make_unique<Steps>();
  const auto on_reply = [=, done = std::move(done)](const Result<Reply>& reply) {
    const auto refusal = RefusalIn(reply);
    if (refusal && refusal->IsAlreadyThere()) return done(false);
    const auto bytes = Checked(call, reply);
    done(bytes.ok() ? Result<bool>(true) : bytes.error());
  };
  Send(*steps, call, request.SerializeAsString(), options_.rpc.name_nodes.size(), on_reply);
  return steps;
}

Hdfs::Handle RpcHdfs::MakeFolders(const std::string& path, int permission, Done<Status> done) {
  hdfs::MkdirsRequest request;
  request.set_src(path);
  request.mutable_masked()->set_perm(static_cast<uint32_t>(permission));
  request.set_createparent(true);
  const auto convert = [](const hdfs::MkdirsResponse& response) -> Result<bool> {
    if (!response.result()) return Error{ErrorCode::kCannotWrite, "the folder was not created"};
    return true;
  };
  return Ask<hdfs::MkdirsResponse, bool>({"mkdirs", path, true}, request, convert,
                                         [done = std::move(done)](const Result<bool>& made) { done(made.status()); });
}

Hdfs::Handle RpcHdfs::GetEntry(const std::string& path, Done<Result<HdfsEntry>> done) {
  hdfs::GetFileInfoRequest request;
  request.set_src(path);
  const auto convert = [](const hdfs::GetFileInfoResponse& response) -> Result<HdfsEntry> {
    if (!response.has_fs()) return NotFoundError("FileNotFoundException: the path does not exist");
    HdfsEntry entry = EntryOf(response.fs());
    entry.name.clear();
    return entry;
  };
  return Ask<hdfs::GetFileInfoResponse, HdfsEntry>({"getFileInfo", path}, request, convert, std::move(done));
}

Hdfs::Handle RpcHdfs::List(const std::string& path, Done<Result<std::vector<HdfsEntry>>> done) {
  const auto ask = [this, path](const std::string& after, Done<Result<HdfsListing>> on_some) {
    hdfs::GetListingRequest request;
    request.set_src(path);
    request.set_startafter(after);
    request.set_needlocation(false);
    const auto convert = [](const hdfs::GetListingResponse& response) -> Result<HdfsListing> {
      if (!response.has_dirlist()) return NotFoundError("FileNotFoundException: the path does not exist");
      HdfsListing listing{.entries = {}, .remaining = response.dirlist().remainingentries()};
      for (const auto& status : response.dirlist().partiallisting()) listing.entries.push_back(EntryOf(status));
      return listing;
    };
    return Ask<hdfs::GetListingResponse, HdfsListing>({"getListing", path}, request, convert, std::move(on_some));
  };
  return ListAll(path, ask, std::move(done));
}

Hdfs::Handle RpcHdfs::CheckAccess(const std::string& path, const std::string& action, Done<Status> done) {
  int mode = 0;
  for (const auto& [letter, bit] : {std::pair('r', 4), std::pair('w', 2), std::pair('x', 1)})
    if (action.find(letter) != std::string::npos) mode |= bit;
  hdfs::CheckAccessRequest request;
  request.set_path(path);
  request.set_mode(static_cast<hdfs::AclEntry::FsActionProto>(mode));
  return AskStatus<hdfs::CheckAccessResponse>({"checkAccess", path}, request, std::move(done));
}

Hdfs::Handle RpcHdfs::Rename(const std::string& from, const std::string& to, HdfsRename how, Done<Result<bool>> done) {
  hdfs::Rename2Request request;
  request.set_src(from);
  request.set_dst(to);
  request.set_overwritedest(how == HdfsRename::kOverwrite);
  const Call call{"rename2", from, true};
  if (how == HdfsRename::kIfNew) return AskNew<hdfs::Rename2Response>(call, request, std::move(done));
  return Ask<hdfs::Rename2Response, bool>(
      call, request, [](const hdfs::Rename2Response&) -> Result<bool> { return true; }, std::move(done));
}

Hdfs::Handle RpcHdfs::Remove(const std::string& path, Done<Result<bool>> done) {
  hdfs::DeleteRequest request;
  request.set_src(path);
  request.set_recursive(true);
  return Ask<hdfs::DeleteResponse, bool>(
      {"delete", path, true}, request,
      [](const hdfs::DeleteResponse& response) -> Result<bool> { return response.result(); }, std::move(done));
}

Hdfs::Handle RpcHdfs::SetPermission(const std::string& path, int permission, Done<Status> done) {
  hdfs::SetPermissionRequest request;
  request.set_src(path);
  request.mutable_permission()->set_perm(static_cast<uint32_t>(permission));
  return AskStatus<hdfs::SetPermissionResponse>({"setPermission", path, true}, request, std::move(done));
}

Hdfs::Handle RpcHdfs::SetXattr(const std::string& path, const std::string& name, std::string_view value, HdfsXattr how,
                               Done<Result<bool>> done) {
  hdfs::SetXAttrRequest request;
  request.set_src(path);
  hdfs::XAttr& attribute = *request.mutable_xattr();
  attribute.set_namespace_(hdfs::XAttr::USER);
  attribute.set_name(name);
  for (const auto& [value_of, prefix] : kNamespaces) {
    if (!name.starts_with(prefix)) continue;
    attribute.set_namespace_(value_of);
    attribute.set_name(name.substr(prefix.size()));
  }
  attribute.set_value(value.data(), value.size());
  request.set_flag(hdfs::XATTR_CREATE | (how == HdfsXattr::kOverwrite ? hdfs::XATTR_REPLACE : 0));
  return AskNew<hdfs::SetXAttrResponse>({"setXAttr", path, true}, request, std::move(done));
}

Hdfs::Handle RpcHdfs::GetXattrs(const std::string& path, Done<Result<std::map<std::string, std::string>>> done) {
  using Xattrs = std::map<std::string, std::string>;
  hdfs::GetXAttrsRequest request;
  request.set_src(path);
  const auto convert = [](const hdfs::GetXAttrsResponse& response) -> Result<Xattrs> {
    Xattrs xattrs;
    for (const hdfs::XAttr& attribute : response.xattrs())
      for (const auto& [value_of, prefix] : kNamespaces)
        if (value_of == attribute.namespace_()) xattrs[StrCat(prefix, attribute.name())] = attribute.value();
    return xattrs;
  };
  return Ask<hdfs::GetXAttrsResponse, Xattrs>({"getXAttrs", path}, request, convert, std::move(done));
}

namespace {

// A call over a connection of its own, on which the owner of a Kerberos ticket proves the identity.
class TicketCall : public EventLoop::Handle {
 public:
  using OnReply = Hdfs::Done<Result<RpcConnection::Reply>>;

  template <class MakeConnection>
  TicketCall(const MakeConnection& make, size_t name_nodes) : connection_(make()), tries_(name_nodes) {}
  void Send(const std::string& method, const std::string& request, const OnReply& done) {
    CallNameNode(connection_, method, request, [=, this](const RpcConnection::Reply& reply) {
      const auto* failure = std::get_if<RpcFailure>(&reply);
      if (failure != nullptr && --tries_ > 0 && (failure->is_unsent || IsStandby(*failure)))
        return Send(method, request, done);
      done(reply);
    });
  }

 private:
  RpcConnection connection_;
  size_t tries_;
};

}  // namespace

template <class Response, class T, class Request, class Convert>
Hdfs::Handle RpcHdfs::AskWithTicket(const Call& call, const std::string& proxied, const Request& request,
                                    Convert convert, Done<Result<T>> done) {
  const auto make = [&] { return MakeConnection(KerberosUser{options_.rpc.principal, proxied}); };
  auto sent = std::make_unique<TicketCall>(make, options_.rpc.name_nodes.size());
  sent->Send(call.method, request.SerializeAsString(), Parsing<Response, T>(call, convert, std::move(done)));
  return sent;
}

Hdfs::Handle RpcHdfs::GetToken(const std::string& renewer, const std::string& proxied, Done<Result<Token>> done) {
  wire::GetDelegationTokenRequest request;
  request.set_renewer(renewer);
  const auto convert = [](const wire::GetDelegationTokenResponse& response) -> Result<Token> {
    if (!response.has_token()) return InvalidError("the NameNode gives no tokens");
    Token token = FromWire(response.token());
    token.kind = kHdfsTokenKind;
    return token;
  };
  return AskWithTicket<wire::GetDelegationTokenResponse, Token>({"getDelegationToken", "/"}, proxied, request, convert,
                                                                std::move(done));
}

Hdfs::Handle RpcHdfs::RenewToken(const Token& token, Done<Result<Instant>> done) {
  hdfs::RenewDelegationTokenRequest request;
  *request.mutable_token() = ToWire(token);
  const auto convert = [](const hdfs::RenewDelegationTokenResponse& response) -> Result<Instant> {
    constexpr uint64_t kLatest = uint64_t{1} << 50;
    if (response.newexpirytime() > kLatest) return InvalidError("the new end of the token is not a time");
    return FromMillis(static_cast<int64_t>(response.newexpirytime()));
  };
  return AskWithTicket<hdfs::RenewDelegationTokenResponse, Instant>({"renewDelegationToken", "/", true}, "", request,
                                                                    convert, std::move(done));
}

// ---- Bytes of files

// Calls that read or write bytes. They end with Finish().
class RpcHdfs::DataSteps : public Steps {
 protected:
  DataSteps(RpcHdfs& owner, std::string path, bool writes)
      : owner_(owner), path_(std::move(path)), writes_(writes), client_name_("tony-" + RandomHex(8)) {}

  // Called once. May destroy this object.
  virtual void OnFinish(const Status& status) = 0;

  void Finish(const Status& status) {
    if (!alive) return;
    alive.reset();
    running.reset();
    OnFinish(status);
  }

  // Calls the NameNode, then `then` with the response. An error ends all calls.
  template <class Response, class Request, class Then>
  void Ask(const char* method, const Request& request, Then then) {
    const Call call = CallOf(method);
    Send(call, request, Parse<Response>(call, std::move(then)));
  }
  template <class Request>
  void Send(const Call& call, const Request& request, Done<Result<Reply>> done) {
    owner_.Send(*this, call, request.SerializeAsString(), owner_.options_.rpc.name_nodes.size(), std::move(done));
  }
  template <class Response, class Then>
  Done<Result<Reply>> Parse(const Call& call, Then then) {
    return owner_.Parsing<Response, Response>(
        call, [](const Response& response) -> Result<Response> { return response; },
        [this, then = std::move(then)](const Result<Response>& response) {
          if (!response.ok()) return Finish(response.error());
          then(*response);
        });
  }
  Call CallOf(const char* method) const { return {method, path_, writes_}; }

  // Finds out how the cluster stores bytes, then calls `then`.
  void Prepare(const std::function<void()>& then) {
    if (owner_.defaults_) return PrepareKey(then);
    Ask<hdfs::GetServerDefaultsResponse>(
        "getServerDefaults", hdfs::GetServerDefaultsRequest(), [=, this](auto& response) {
          const hdfs::FsServerDefaults& found = response.serverdefaults();
          hdfs::Checksum checksum;
          checksum.set_type(hdfs::CHECKSUM_CRC32C);
          checksum.set_bytesperchecksum(found.bytesperchecksum());
          if (const Status status = CheckChecksum(checksum); !status.ok()) return Finish(status);
          if (found.blocksize() == 0 || found.blocksize() > INT64_MAX)
            return Finish(InvalidError("the NameNode's default block size is ", found.blocksize()));
          owner_.defaults_ =
              Defaults{found.blocksize(), found.bytesperchecksum(), found.replication(), found.encryptdatatransfer()};
          PrepareKey(then);
        });
  }
  void PrepareKey(const std::function<void()>& then) {
    if (!owner_.defaults_->encrypts_data) return then();
    Ask<hdfs::GetDataEncryptionKeyResponse>(
        "getDataEncryptionKey", hdfs::GetDataEncryptionKeyRequest(), [=, this](auto& response) {
          const hdfs::DataEncryptionKey& key = response.dataencryptionkey();
          if (response.has_dataencryptionkey())
            key_ = {StrCat(key.keyid(), " ", key.blockpoolid(), " ", Base64(key.nonce())), Base64(key.encryptionkey())};
          then();
        });
  }
  DataNodeContext Context() const {
    return {owner_.loop_, owner_.options_.limits, client_name_, owner_.options_.rpc.proves_data_transfer, key_};
  }

  RpcHdfs& owner_;
  const std::string path_;
  const bool writes_;
  const std::string client_name_;
  std::optional<DigestLogin> key_;
};

class RpcHdfs::Reading : public DataSteps {
 public:
  Reading(RpcHdfs& owner, const std::string& path, int64_t offset, int64_t length, Done<Result<std::string>> done)
      : DataSteps(owner, path, false), next_(offset), end_(offset + length), done_(std::move(done)) {
    hdfs::GetBlockLocationsRequest request;
    request.set_src(path);
    request.set_offset(static_cast<uint64_t>(offset));
    request.set_length(static_cast<uint64_t>(length));
    Ask<hdfs::GetBlockLocationsResponse>("getBlockLocations", request,
                                         [this](auto& response) { TakePlaces(response); });
  }

 private:
  void TakePlaces(const hdfs::GetBlockLocationsResponse& response) {
    if (!response.has_locations())
      return Finish(NotFoundError(path_, ": FileNotFoundException: the path does not exist"));
    const hdfs::LocatedBlocks& found = response.locations();
    if (found.has_fileencryptioninfo() || found.has_ecpolicy())
      return Finish(InvalidError(path_, ": the file is ", found.has_ecpolicy() ? "erasure coded" : "encrypted",
                                 ", and TonY reads such files only by WebHDFS (dfs.webhdfs.enabled=true)"));
    end_ = std::min(end_, static_cast<int64_t>(found.filelength()));
    if (end_ - next_ > static_cast<int64_t>(owner_.options_.limits.answer))
      return Finish(InvalidError(path_, ": the answer has more than ", owner_.options_.limits.answer, " bytes"));
    blocks_ = {found.blocks().begin(), found.blocks().end()};
    if (next_ >= end_) return Finish(Ok());
    Prepare([this] { ReadNext(); });
  }

  void ReadNext() {
    if (next_ >= end_) return Finish(Ok());
    const auto at = static_cast<uint64_t>(next_);
    const auto block = std::ranges::find_if(blocks_, [&](const hdfs::LocatedBlock& one) {
      return one.offset() <= at && at - one.offset() < one.b().numbytes();
    });
    if (block == blocks_.end()) return Finish(UnavailableError(path_, ": no block has byte ", next_));
    const uint64_t offset = at - block->offset();
    part_ = {*block, 0, offset, std::min(block->b().numbytes() - offset, static_cast<uint64_t>(end_) - at)};
    ReadFrom(UnavailableError("no DataNode has the block at byte ", next_));
  }

  // Reads from the next DataNode that has the block. `last` is the error if all have failed.
  void ReadFrom(const Error& last) {
    if (part_.location == part_.block.locs_size()) return Finish(Annotate(last, "read " + path_));
    running = ReadBlock(Context(), part_, [this](Result<std::string> bytes) {
      if (!bytes.ok()) {
        ++part_.location;
        return ReadFrom(bytes.error());
      }
      next_ += static_cast<int64_t>(bytes->size());
      read_ += *bytes;
      ReadNext();
    });
  }

  void OnFinish(const Status& status) override {
    const auto done = std::move(done_);
    if (!status.ok()) return done(status.error());
    done(std::move(read_));
  }

  int64_t next_, end_;  // in the file
  Done<Result<std::string>> done_;
  std::vector<hdfs::LocatedBlock> blocks_;
  BlockPart part_;
  std::string read_;
};

Hdfs::Handle RpcHdfs::Read(const std::string& path, int64_t offset, int64_t length, Done<Result<std::string>> done) {
  return std::make_unique<Reading>(*this, path, offset, length, std::move(done));
}

class RpcHdfs::Writing : public DataSteps {
 public:
  Writing(RpcHdfs& owner, const std::string& path, HdfsBody body, Done<Result<bool>> done)
      : DataSteps(owner, path, true), body_(std::move(body)), done_(std::move(done)) {
    const Duration limit = owner.options_.limits.whole + Duration(body_.length() / kLeastBytesPerMillisecond);
    limit_ = owner.loop_.After(limit, [this, limit] {
      Finish(UnavailableError("write ", path_, ": not done within ", limit.count(), " ms"));
    });
    if (body_.file && body_.on_moved) ArmProgress();
    ArmLease();
  }

  void Create(const HdfsCreation& how) {
    Prepare([this, how] {
      hdfs::CreateRequest request;
      request.set_src(path_);
      request.mutable_masked()->set_perm(static_cast<uint32_t>(how.permission));
      request.set_clientname(client_name_);
      request.set_createflag(hdfs::CREATE | hdfs::SHOULD_REPLICATE | (how.overwrite ? hdfs::OVERWRITE : 0));
      request.set_createparent(how.make_parents);
      request.set_replication(owner_.defaults_->replication);
      request.set_blocksize(owner_.defaults_->block_size);
      const Call call = CallOf("create");
      const auto on_created = Parse<hdfs::CreateResponse>(call, [this](const hdfs::CreateResponse& response) {
        file_id_ = response.fs().fileid();
        WriteNext();
      });
      Send(call, request, [this, on_created](const Result<Reply>& reply) {
        // The second exception means that another client is writing this file.
        const auto refusal = RefusalIn(reply);
        const bool is_there =
            refusal && (refusal->IsAlreadyThere() || refusal->exception == "AlreadyBeingCreatedException");
        if (!is_there) return on_created(reply);
        is_new_ = false;
        Finish(Ok());
      });
    });
  }

  void Append() {
    Prepare([this] {
      hdfs::AppendRequest request;
      request.set_src(path_);
      request.set_clientname(client_name_);
      request.set_flag(hdfs::APPEND | hdfs::NEW_BLOCK);
      Ask<hdfs::AppendResponse>("append", request, [this](const hdfs::AppendResponse& response) {
        file_id_ = response.stat().fileid();
        previous_ = response.block().b();
        WriteNext();
      });
    });
  }

 private:
  void WriteNext() {
    if (written_ == body_.length()) return Complete();
    length_ = std::min(body_.length() - written_, static_cast<int64_t>(owner_.defaults_->block_size));
    tries_ = 0;
    excluded_.clear();
    pause_ = kFirstPause;
    AddBlock();
  }

  void AddBlock() {
    hdfs::AddBlockRequest request;
    request.set_src(path_);
    request.set_clientname(client_name_);
    if (previous_.has_poolid()) *request.mutable_previous() = previous_;
    for (const hdfs::DatanodeInfo& node : excluded_) *request.add_excludenodes() = node;
    request.set_fileid(file_id_);
    const Call call = CallOf("addBlock");
    const auto on_added = Parse<hdfs::AddBlockResponse>(
        call, [this](const hdfs::AddBlockResponse& response) { Write(response.block()); });
    Send(call, request, [this, on_added](const Result<Reply>& reply) {
      const auto refusal = RefusalIn(reply);
      if (refusal && refusal->exception == "NotReplicatedYetException") return Again([this] { AddBlock(); });
      // Without other DataNodes the reason of the first failure says more.
      if (refusal && !excluded_.empty() && refusal->exception == "IOException") return Finish(*failure_);
      on_added(reply);
    });
  }

  void Write(const hdfs::LocatedBlock& block) {
    block_ = block;
    if (block.locs_size() == 0) return Finish(UnavailableError("write ", path_, ": the NameNode names no DataNode"));
    const BlockContent content{.block = block,
                               .body = &body_,
                               .offset = written_,
                               .length = length_,
                               .chunk = owner_.defaults_->chunk,
                               .on_moved = [this](int64_t moved) { moved_ = written_ + moved; }};
    running = WriteBlock(Context(), content, [this](const std::optional<BlockFailure>& failure) {
      if (failure) return Abandon(*failure);
      written_ += length_;
      previous_ = block_.b();
      previous_.set_numbytes(static_cast<uint64_t>(length_));
      WriteNext();
    });
  }

  // Gives the block up, and writes its bytes into another one, without the DataNode that has failed.
  void Abandon(const BlockFailure& failure) {
    failure_ = Annotate(failure.why, "write " + path_);
    if (failure.why.code != ErrorCode::kUnavailable || ++tries_ == kMostBlockTries) return Finish(*failure_);
    excluded_.push_back(block_.locs(failure.location));
    hdfs::AbandonBlockRequest request;
    *request.mutable_b() = block_.b();
    request.set_src(path_);
    request.set_holder(client_name_);
    request.set_fileid(file_id_);
    Ask<hdfs::AbandonBlockResponse>("abandonBlock", request, [this](const auto&) { AddBlock(); });
  }

  void Complete() {
    pause_ = kFirstPause;
    AskComplete();
  }
  void AskComplete() {
    hdfs::CompleteRequest request;
    request.set_src(path_);
    request.set_clientname(client_name_);
    if (previous_.has_poolid()) *request.mutable_last() = previous_;
    request.set_fileid(file_id_);
    Ask<hdfs::CompleteResponse>("complete", request, [this](const hdfs::CompleteResponse& response) {
      if (response.result()) return Finish(Ok());
      Again([this] { AskComplete(); });
    });
  }

  // Calls `step` after a pause, which doubles each time.
  void Again(const std::function<void()>& step) {
    running = owner_.loop_.After(std::exchange(pause_, std::min(pause_ * 2, kLongestPause)), step);
  }

  void ArmProgress() {
    progress_ = owner_.loop_.After(kProgress, [this] {
      const auto on_moved = body_.on_moved;
      const int64_t moved = moved_;
      ArmProgress();
      if (moved > 0) on_moved(moved);  // may destroy this object
    });
  }

  // Keeps the file open for this writer.
  void ArmLease() {
    lease_timer_ = owner_.loop_.After(kRenewLease, [this] {
      hdfs::RenewLeaseRequest request;
      request.set_clientname(client_name_);
      owner_.Send(lease_, CallOf("renewLease"), request.SerializeAsString(), owner_.options_.rpc.name_nodes.size(),
                  [](const Result<Reply>&) {});
      ArmLease();
    });
  }

  void OnFinish(const Status& status) override {
    limit_.reset();
    progress_.reset();
    lease_timer_.reset();
    const auto done = std::move(done_);
    done(status.ok() ? Result<bool>(is_new_) : status.error());
  }

  const HdfsBody body_;
  Done<Result<bool>> done_;
  EventLoop::Timer limit_, progress_, lease_timer_;
  Steps lease_;
  uint64_t file_id_ = 0;
  bool is_new_ = true;
  int64_t written_ = 0, moved_ = 0;  // bytes of the body
  hdfs::ExtendedBlock previous_;     // the last block that was written
  // The block that is being written, the bytes that it gets, and the DataNodes that have failed.
  hdfs::LocatedBlock block_;
  int64_t length_ = 0;
  std::vector<hdfs::DatanodeInfo> excluded_;
  std::optional<Error> failure_;
  int tries_ = 0;
  Duration pause_ = kFirstPause;
};

Hdfs::Handle RpcHdfs::Create(const std::string& path, HdfsBody body, const HdfsCreation& how, Done<Result<bool>> done) {
  auto writing = std::make_unique<Writing>(*this, path, std::move(body), std::move(done));
  writing->Create(how);
  return writing;
}

Hdfs::Handle RpcHdfs::Append(const std::string& path, HdfsBody body, Done<Status> done) {
  auto writing = std::make_unique<Writing>(
      *this, path, std::move(body), [done = std::move(done)](const Result<bool>& result) { done(result.status()); });
  writing->Append();
  return writing;
}

}  // namespace tony::hadoop
