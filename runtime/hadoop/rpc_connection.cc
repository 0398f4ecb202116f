#include "runtime/hadoop/rpc_connection.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/digest_md5.h"
#include "runtime/hadoop/gss_mechanism.h"
#include "runtime/hadoop/rpc_frames.h"
#include "runtime/hadoop/sasl.h"
#include "runtime/net/sockets.h"

namespace tony::hadoop {
namespace {

struct Meaning {
  std::string_view exception;
  ErrorCode code;
};
constexpr Meaning kMeanings[] = {
    {"ApplicationNotFoundException", ErrorCode::kNotFound},
    {"ApplicationAttemptNotFoundException", ErrorCode::kNotFound},
    {"ContainerNotFoundException", ErrorCode::kNotFound},
    {"InvalidToken", ErrorCode::kNotPermitted},
    {"SaslException", ErrorCode::kNotPermitted},
    {"AccessControlException", ErrorCode::kNotPermitted},
    {"AuthorizationException", ErrorCode::kNotPermitted},
    {"YarnException", ErrorCode::kInvalid},
    {"InvalidApplicationMasterRequestException", ErrorCode::kInvalid},
    {"InvalidResourceRequestException", ErrorCode::kInvalid},
    {"InvalidLabelResourceRequestException", ErrorCode::kInvalid},
    {"InvalidResourceBlacklistRequestException", ErrorCode::kInvalid},
    {"InvalidContainerReleaseException", ErrorCode::kInvalid},
    {"InvalidContainerException", ErrorCode::kInvalid},
    {"YARNFeatureNotEnabledException", ErrorCode::kInvalid},
    {"RpcServerException", ErrorCode::kInternal},
    {"RpcNoSuchMethodException", ErrorCode::kInternal},
    {"RpcNoSuchProtocolException", ErrorCode::kInternal},
    {"VersionMismatch", ErrorCode::kInternal},
};

ErrorCode CodeOf(const RpcFailure& failure) {
  using Kind = RpcFailure::Kind;
  switch (failure.kind) {
    case Kind::kLost:
      return ErrorCode::kUnavailable;
    case Kind::kProtocolError:
      return ErrorCode::kInternal;
    case Kind::kNotPermitted:
      return ErrorCode::kNotPermitted;
    case Kind::kAnswered:
    case Kind::kRefused:
      break;
  }
  std::string_view name = ShortName(failure.exception_class);
  // The ResourceManager puts the exception of a missing permission into this general one.
  constexpr std::string_view kNoAccess = "AccessControlException";
  const std::string_view cause = std::string_view(failure.message).substr(0, failure.message.find(':'));
  if (name == "YarnException" && cause.ends_with(kNoAccess)) name = kNoAccess;
  const auto found = std::ranges::find_if(kMeanings, [name](const Meaning& one) { return one.exception == name; });
  // Other exceptions count as temporary, e.g. an IOException, a refusal by a standby, or a request to try again.
  return found == std::end(kMeanings) ? ErrorCode::kUnavailable : found->code;
}

}  // namespace

std::string_view ShortName(std::string_view exception_class) {
  const size_t end = exception_class.find_last_of(".$");
  return end == std::string_view::npos ? exception_class : exception_class.substr(end + 1);
}

bool IsException(const RpcFailure& failure, std::string_view name) {
  return ShortName(failure.exception_class) == name;
}

bool IsStandby(const RpcFailure& failure) {
  return IsException(failure, "StandbyException") || IsException(failure, "RetriableException") ||
         IsException(failure, "ObserverRetryOnActiveException");
}

bool IsFinal(const RpcFailure& failure) {
  const ErrorCode code = CodeOf(failure);
  return code == ErrorCode::kNotPermitted || code == ErrorCode::kInternal;
}

Error ErrorOf(const RpcFailure& failure, std::string_view context) {
  const std::string name = FirstLine(ShortName(failure.exception_class));
  return {CodeOf(failure), StrCat(context, ": ", name, name.empty() ? "" : ": ", failure.message)};
}

std::string OneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return FirstLine(text);
}

namespace {

constexpr size_t kNonceSize = 16;
// Four requests of the largest size may wait for a server that reads slowly.
constexpr FrameConnection::Limits kFrameLimits{.max_frame = kLongestAnswer, .max_unsent = 4 * kLongestRequest};

std::string RandomBytes() {
  std::string bytes(kNonceSize, '\0');
  CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return bytes;
}

RpcFailure Lost(std::string message) { return {RpcFailure::Kind::kLost, "", std::move(message)}; }
RpcFailure ProtocolFailure(std::string message) { return {RpcFailure::Kind::kProtocolError, "", std::move(message)}; }

// Converts an error of the SASL exchange or its layer, or an error in decoding their messages.
RpcFailure FailureOf(const Error& error) {
  if (error.code == ErrorCode::kUnavailable) return Lost(error.message);
  if (error.code != ErrorCode::kNotPermitted) return ProtocolFailure(error.message);
  return {RpcFailure::Kind::kNotPermitted, "", error.message};
}

// Returns the proof of an identity for one connection. Null: the server believes the name.
std::unique_ptr<SaslMechanism> MechanismFor(const RpcIdentity& identity, const std::string& host, Duration limit) {
  if (const auto* user = std::get_if<KerberosUser>(&identity)) return MakeGssMechanism(user->server, host, limit);
  if (const auto* token = std::get_if<Token>(&identity)) return MakeDigestMechanism(LoginOf(*token), NewClientNonce());
  return nullptr;
}

// Returns the message of the SASL exchange or its layer in an answer. nullopt: the answer is another one.
Result<std::optional<wire::RpcSasl>> ReadSasl(const RpcResponse& response) {
  std::optional<wire::RpcSasl> message;
  if (response.call_id != kSaslCallId || response.header.status() != wire::RpcResponseHeader::SUCCESS) return message;
  message.emplace();
  if (message->ParsePartialFromArray(response.body.data(), static_cast<int>(response.body.size())) &&
      message->IsInitialized())
    return message;
  return InvalidError("the server's answer is not a SASL message");
}

RpcFailure ExceptionIn(const wire::RpcResponseHeader& header) {
  const bool fatal = header.status() == wire::RpcResponseHeader::FATAL;
  return {fatal ? RpcFailure::Kind::kRefused : RpcFailure::Kind::kAnswered, header.exceptionclassname(),
          FirstLine(header.errormsg())};
}

}  // namespace

struct RpcConnection::Protection {
  std::unique_ptr<SaslLayer> layer;
  // A token may have several answers, or a part of one.
  FrameCutter answers{kLongestAnswer};
};

RpcConnection::RpcConnection(EventLoop& loop, HostResolver& names, RpcServer server, RpcIdentity identity,
                             RpcLimits limits)
    : loop_(loop),
      names_(names),
      server_(std::move(server)),
      identity_(std::move(identity)),
      limits_(limits),
      client_id_(RandomBytes()) {
  CHECK(!server_.addresses.empty());
}

RpcConnection::~RpcConnection() {
  if (frames_) frames_->Close();
}

void RpcConnection::Use(std::vector<Endpoint> addresses) {
  CHECK(stage_ == Stage::kIdle && !addresses.empty());
  server_.addresses = std::move(addresses);
  current_ = 0;
}

void RpcConnection::Call(const std::string& method, std::string request, OnReply done) {
  if (request.size() > kLongestRequest) {
    return PostReply(std::move(done), RpcFailure{RpcFailure::Kind::kProtocolError, "",
                                                 StrCat("a request of ", request.size(), " bytes is too long")});
  }
  // The loop may have been idle, so that it has not noticed the end of the connection.
  if (stage_ == Stage::kOpen && open_calls_.empty() && frames_->IsClosedByPeer())
    Drop(Lost("the server closed the connection"));
  last_call_ = (last_call_ + 1) & INT32_MAX;
  const auto late = [this, method] { Drop(Late(StrCat("no answer to ", method), limits_.call)); };
  open_calls_[last_call_] = {std::move(done), loop_.After(limits_.call, late)};
  Send(CallFrame(client_id_, {.id = last_call_, .method = method, .protocol = server_.protocol}, request));
  if (!ping_) ArmPing();
}

void RpcConnection::Send(std::string bytes) {
  if (stage_ != Stage::kOpen) {
    unsent_ += bytes;
    if (stage_ == Stage::kIdle) Establish();
    return;
  }
  last_traffic_ = loop_.Now();
  if (protection_) {
    auto wrapped = Wrap(bytes);
    if (!wrapped.ok()) return Drop(FailureOf(wrapped.error()));
    bytes = *std::move(wrapped);
  }
  frames_->Send(std::move(bytes));
}

Result<std::string> RpcConnection::Wrap(std::string_view bytes) {
  std::string frames;
  for (const size_t most = protection_->layer->LongestWrap(); !bytes.empty();
       bytes.remove_prefix(std::min(most, bytes.size()))) {
    TRY_ASSIGN(std::string token, protection_->layer->Wrap(bytes.substr(0, most)));
    frames += SaslFrame(SaslMessage(wire::RpcSasl::WRAP, std::move(token)));
  }
  return frames;
}

// Returns the failure for a missing answer. If the host's name is not resolved yet, the message names that step
// instead, because the Hadoop server did not cause the delay.
RpcFailure RpcConnection::Late(const std::string& what, Duration limit) const {
  const std::string missing = stage_ == Stage::kResolving ? StrCat("resolve ", address().host, ": no answer") : what;
  return Lost(StrCat(missing, " within ", limit.count(), " ms"));
}

void RpcConnection::Establish() {
  stage_ = Stage::kResolving;
  establish_limit_ = loop_.After(limits_.establish, [this] { Drop(Late("no connection", limits_.establish)); });
  resolving_ = names_.Resolve(address().host, [this](const Result<std::string>& address) {
    if (!address.ok()) return Drop(Lost(address.error().message));
    Connect(*address);
  });
}

void RpcConnection::Connect(const std::string& address) {
  stage_ = Stage::kConnecting;
  auto socket = StartConnect({address, this->address().port});
  if (!socket.ok()) return Drop(Lost(socket.error().message));
  socket_ = *std::move(socket);
  connected_ = loop_.WhenWritable(socket_.get(), [this] { OnConnected(); });
}

void RpcConnection::OnConnected() {
  connected_.reset();
  if (const int error = ConnectError(socket_); error != 0) return Drop(Lost(StrCat("connect: ", ErrnoText(error))));
  ConfigureConnected(socket_);
  frames_ = std::make_shared<FrameConnection>(
      loop_, MakePlainChannel(std::move(socket_)), kFrameLimits,
      FrameConnection::Callbacks{[this](std::string_view frame) { OnFrame(frame); },
                                 [this](const std::string& reason) { Drop(Lost(reason)); }});
  auto mechanism = MechanismFor(identity_, address().host, limits_.establish);
  frames_->Send(ConnectionHeader(mechanism ? RpcAuth::kSasl : RpcAuth::kNone));
  if (!mechanism) return Open();
  stage_ = Stage::kProving;
  proof_ = std::make_unique<SaslExchange>(std::move(mechanism));
  frames_->Send(SaslFrame(proof_->Start()));
}

// Sends the context and the calls that waited for the connection. The server answers only the calls.
void RpcConnection::Open() {
  stage_ = Stage::kOpen;
  establish_limit_.reset();
  if (auto layer = proof_ ? proof_->TakeLayer() : nullptr)
    protection_ = std::make_shared<Protection>(Protection{std::move(layer)});
  proof_.reset();
  // A proof of identity names the user, unless the user impersonates another one.
  std::string name;
  if (const auto* user = std::get_if<SimpleUser>(&identity_)) name = user->name;
  if (const auto* user = std::get_if<KerberosUser>(&identity_)) name = user->proxied;
  Send(ContextFrame(client_id_, name, server_.protocol) + std::exchange(unsent_, {}));
}

void RpcConnection::OnFrame(std::string_view frame) {
  last_traffic_ = loop_.Now();
  if (!protection_) return TakeFrame(frame);
  const auto bytes = Unwrap(frame);
  if (!bytes.ok()) return Drop(FailureOf(bytes.error()));
  const std::shared_ptr<Protection> protection = protection_;
  protection->answers.Add(*bytes);
  // A callback may end the connection or destroy this object. Then nothing else holds the protection.
  while (protection.use_count() > 1) {
    const auto answer = protection->answers.Next();
    if (!answer.ok()) return Drop(ProtocolFailure(answer.error().message));
    if (!*answer) return;
    TakeFrame(**answer);
  }
}

// Returns the bytes of the stream that a frame of a protected connection carries.
Result<std::string> RpcConnection::Unwrap(std::string_view frame) {
  TRY_ASSIGN(const RpcResponse response, ReadResponse(frame));
  TRY_ASSIGN(const auto message, ReadSasl(response));
  if (!message || message->state() != wire::RpcSasl::WRAP)
    return InvalidError("the server answered without the protection of messages that it demanded");
  return protection_->layer->Unwrap(message->token());
}

void RpcConnection::TakeFrame(std::string_view frame) {
  const auto response = ReadResponse(frame);
  if (!response.ok()) return Drop(ProtocolFailure(response.error().message));
  if (response->header.status() == wire::RpcResponseHeader::FATAL) return Drop(ExceptionIn(response->header));
  if (stage_ == Stage::kOpen) return TakeAnswer(*response);
  if (const Status proved = Prove(*response); !proved.ok()) Drop(FailureOf(proved.error()));
}

Status RpcConnection::Prove(const RpcResponse& response) {
  TRY_ASSIGN(const auto message, ReadSasl(response));
  if (!message) return InvalidError("the server answered before the authentication was complete");
  TRY_ASSIGN(const auto next, proof_->Next(*message));
  if (next) {
    frames_->Send(SaslFrame(*next));
  } else {
    Open();
  }
  return Ok();
}

void RpcConnection::TakeAnswer(const RpcResponse& response) {
  const auto call = open_calls_.find(response.call_id);
  if (call == open_calls_.end())
    return Drop(
        ProtocolFailure(StrCat("the server answered call ", response.call_id, ", which this client did not make")));
  OnReply done = std::move(call->second.done);
  open_calls_.erase(call);
  // Later calls would fail, too. A server may have executed the other open calls before it went into standby.
  if (response.header.status() != wire::RpcResponseHeader::SUCCESS && IsStandby(ExceptionIn(response.header))) {
    Drop(Lost("the server is in standby"), true);
    return PostReply(std::move(done), ExceptionIn(response.header));
  }
  if (response.header.status() == wire::RpcResponseHeader::SUCCESS) {
    done(std::string(response.body));  // may destroy this object
  } else {
    done(ExceptionIn(response.header));
  }
}

// The server does not answer a ping. Pings detect that the other host has failed, and keep the server from closing an
// idle connection.
void RpcConnection::ArmPing() {
  ping_ = loop_.After(limits_.ping, [this] {
    if (open_calls_.empty()) return ping_.reset();
    if (stage_ == Stage::kOpen && loop_.Now() - last_traffic_ >= limits_.ping) Send(PingFrame(client_id_));
    ArmPing();
  });
}

void RpcConnection::Drop(const RpcFailure& why, bool is_standby) {
  // This is a copy, because `why` may belong to a call, and all calls are destroyed below.
  RpcFailure last = why;
  last.is_unsent = stage_ != Stage::kOpen;
  // The server counts as failed, unless it has only closed an open connection that had no open calls.
  if (stage_ != Stage::kOpen || !open_calls_.empty() || is_standby)
    current_ = (current_ + 1) % server_.addresses.size();
  stage_ = Stage::kIdle;
  resolving_.reset();
  connected_.reset();
  socket_.Reset();
  establish_limit_.reset();
  proof_.reset();
  protection_.reset();
  unsent_.clear();
  if (frames_) frames_->Close();
  frames_.reset();
  for (auto& [id, call] : std::exchange(open_calls_, {})) PostReply(std::move(call.done), last);
}

void RpcConnection::PostReply(OnReply done, Reply reply) {
  loop_.Post([alive = std::weak_ptr<int>(alive_), done = std::move(done), reply = std::move(reply)] {
    if (!alive.expired()) done(reply);
  });
}

}  // namespace tony::hadoop
