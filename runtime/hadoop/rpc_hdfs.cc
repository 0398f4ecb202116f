#include "runtime/hadoop/rpc_hdfs.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_hdfs_calls.h"
#include "runtime/hadoop/wire/client.pb.h"
#include "runtime/hadoop/wire/hdfs.pb.h"
#include "runtime/hadoop/wire_records.h"

namespace tony::hadoop {
namespace {

namespace hdfs = wire::hdfs;

constexpr char kProtocol[] = "org.apache.hadoop.hdfs.protocol.ClientProtocol";
constexpr uint32_t kPermissionBits = 01777;
// A call without effect that only the active NameNode executes.
constexpr char kActiveCall[] = "msync";
constexpr Duration kCountsAsActive{10'000};

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

std::optional<HdfsRefusal> RefusalOf(const Result<RpcConnection::Reply>& reply) {
  const auto* failure = reply.ok() ? std::get_if<RpcFailure>(&*reply) : nullptr;
  if (failure == nullptr || failure->kind != RpcFailure::Kind::kAnswered) return std::nullopt;
  return HdfsRefusal{0, std::string(ShortName(failure->exception_class)), failure->message};
}

RpcHdfs::RpcHdfs(EventLoop& loop, Options options, HostResolver::Lookup lookup, DecryptFileKey decrypt_key)
    : loop_(loop),
      options_(std::move(options)),
      names_(loop, std::move(lookup)),
      name_node_(MakeConnection(SimpleUser{options_.user})),
      decrypt_key_(std::move(decrypt_key)) {}

RpcConnection RpcHdfs::MakeConnection(RpcIdentity identity) {
  return {loop_, names_, RpcServer{ActiveFirst(options_.rpc.name_nodes), kProtocol}, std::move(identity),
          LimitsOf(options_)};
}

// An observer also answers calls that only read, minutes behind, unless it demands the state of the client
// (dfs.namenode.state.context.enabled). Before such a call, the NameNode must have shown that it is active.
void RpcHdfs::Send(Steps& steps, const Call& call, const std::string& request, size_t tries, Done<Result<Reply>> done) {
  const auto is_known = [this] { return shown_active_ == name_node_.address() && SinceBoot() < active_until_; };
  if (call.writes || options_.rpc.name_nodes.size() == 1 || is_known())
    return SendNow(steps, call, request, tries, std::move(done));
  SendNow(steps, {kActiveCall, call.path, true}, "", tries, [=, this, &steps](const Result<Reply>& reply) {
    if (!is_known()) return done(reply);
    SendNow(steps, call, request, 1, done);
  });
}

void RpcHdfs::SendNow(Steps& steps, const Call& call, const std::string& request, size_t tries,
                      Done<Result<Reply>> done) {
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
  const bool is_executed = failure == nullptr || (failure->kind == RpcFailure::Kind::kAnswered && !IsStandby(*failure));
  if (is_executed && call.method == kActiveCall) {
    shown_active_ = name_node_.address();
    active_until_ = SinceBoot() + kCountsAsActive;
  }
  if (failure == nullptr) {
    const auto& all = options_.rpc.name_nodes;
    active_name_node = static_cast<size_t>(std::ranges::find(all, name_node_.address()) - all.begin());
    return done(reply);
  }
  const bool is_of_token = IsException(*failure, "InvalidToken");
  if (is_of_token && !steps.token_refusal) steps.token_refusal = reply;
  if (is_of_token && steps.refused.empty() && !steps.token.empty()) {
    steps.refused = steps.token;
    const auto other = options_.token(steps.refused);
    if (other.ok() && *other != steps.refused) return Send(steps, call, request, tries, done);
  }
  if (tries > 1 && (failure->is_unsent || IsStandby(*failure))) return Send(steps, call, request, tries - 1, done);
  done(steps.token_refusal && IsStandby(*failure) ? *steps.token_refusal : reply);
}

// Returns the bytes of the answer, or the error.
Result<std::string> RpcHdfs::Checked(const Call& call, const Result<Reply>& reply) {
  const std::string subject = StrCat(call.method, " ", call.path);
  if (!reply.ok()) return Annotate(reply.error(), subject);
  if (const auto refusal = RefusalOf(reply)) return refusal->ToError(subject, call.writes);
  const auto* failure = std::get_if<RpcFailure>(&*reply);
  if (failure == nullptr) return std::get<std::string>(*reply);
  Error error = ErrorOf(*failure, subject);
  if (error.code == ErrorCode::kInternal) error.code = ErrorCode::kInvalid;
  return error;
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
    const auto refusal = RefusalOf(reply);
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

Hdfs::Handle RpcHdfs::GetKeyProvider(Done<Result<std::string>> done) {
  const auto convert = [](const hdfs::GetServerDefaultsResponse& response) -> Result<std::string> {
    return response.serverdefaults().keyprovideruri();
  };
  return Ask<hdfs::GetServerDefaultsResponse, std::string>({"getServerDefaults", "/"},
                                                           hdfs::GetServerDefaultsRequest(), convert, std::move(done));
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

}  // namespace tony::hadoop
