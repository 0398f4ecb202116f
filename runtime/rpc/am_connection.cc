#include "runtime/rpc/am_connection.h"

#include <sys/stat.h>
#include <thrift/TApplicationException.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <type_traits>
#include <utility>

#include "ClientService.h"
#include "ExecutorService.h"
#include "runtime/base/strings.h"
#include "runtime/net/sockets.h"
#include "runtime/rpc/call.h"
#include "runtime/rpc/convert.h"

namespace tony {
namespace {

constexpr Duration kFirstPause{10};
constexpr Duration kLongestPause{160};

Result<std::unique_ptr<Channel>> Reach(const std::filesystem::path& folder, const Endpoint& am,
                                       const MakeChannel& tls) {
  if (tls) {
    TRY_ASSIGN(UniqueFd socket, StartConnect(am));
    ConfigureConnected(socket);
    return tls(std::move(socket));
  }
  return NotPermittedError("the application master of ", folder.filename().string(), " listens on TCP, at ",
                           ToString(am), ", as in earlier releases: a job's token is not sent over TCP");
}

// Returns the users whose process may listen at the AM's socket. Root also accepts the owner of the folder, because
// root may manage another user's job.
std::vector<uid_t> OwnUsers(const std::filesystem::path& folder) {
  std::vector<uid_t> users = {::geteuid()};
  struct stat file = {};
  if (::geteuid() == 0 && ::stat(folder.c_str(), &file) == 0) users.push_back(file.st_uid);
  return users;
}

Result<std::unique_ptr<Channel>> Reach(const std::filesystem::path& folder, const SocketName& am, const MakeChannel&) {
  const SocketPlace place{folder, am.value};
  TRY_ASSIGN(auto socket, ConnectTo(place, SocketKind::kStream));
  if (!socket) return std::unique_ptr<Channel>();
  TRY_ASSIGN(const Peer listener, PeerOf(*socket));
  if (IsOneOf(listener.uid, OwnUsers(folder), ReadUserNames())) return MakePlainChannel(*std::move(socket));
  return NotPermittedError("cannot connect to ", ToString(place), ": the process that listens there has uid ",
                           listener.uid, ", expected ", ::geteuid(), " or root, mapped in this user namespace");
}

}  // namespace

Result<std::unique_ptr<Channel>> ReachAm(const std::filesystem::path& folder, const Address& am,
                                         const MakeChannel& tls) {
  return std::visit([&](const auto& where) { return Reach(folder, where, tls); }, am);
}

QueuePause::QueuePause() : longest_(kFirstPause), random_(std::random_device()()) {}

Duration QueuePause::Next() {
  std::minstd_rand random(random_);
  const auto most = static_cast<unsigned>(longest_.count());
  random_ = static_cast<unsigned>(random());
  longest_ = std::min(longest_ * 2, kLongestPause);
  return Duration(most / 2 + random_ % most);  // 0.5 to 1.5 times `most`
}

namespace {

// These limits allow frames of 64 MiB and 16 MiB of unsent bytes. A job of ten thousand tasks needs about 300 KiB for
// its cluster spec, and a few megabytes for its status.
constexpr FrameConnection::Limits kLimits{64 << 20, 16 << 20};
// The time limit of an Await call is longer by this time, because the AM keeps the call open while it has no new
// command. The AM answers within a shorter time even if it has none.
constexpr Duration kParked = std::chrono::seconds(60);

// The longest reason of a kill that may be the first call of a connection. The limit is
// RpcServerOptions::stranger_frame, less the names in the call.
constexpr size_t kLongestFirstReason = 2048;

using tony::FromThrift;

Result<JobStatus> FromThrift(const rpc::StatusReply& reply) { return JobStatusFromJson(reply.status); }
Result<KilledAnswer> FromThrift(const rpc::KillReply& reply) {
  TRY_ASSIGN(const KillAnswer answer, AnswerOf(reply));
  TRY_ASSIGN(JobStatus status, FromThrift(reply.status));
  return KilledAnswer{answer, std::move(status)};
}
Result<AttachedAnswer> FromThrift(const rpc::AttachReply& reply) {
  TRY_ASSIGN(JobStatus status, FromThrift(reply.status));
  return AttachedAnswer{reply.attached, std::move(status)};
}

// Passes a received answer to the caller's callback.
using Delivery = std::function<void()>;

// Returns the answer in a generated result struct; kInvalid if the answer does not fit this protocol.
template <class T, class ResultStruct>
Result<Answer<T>> AnswerIn(MessageReader& message) {
  ResultStruct result;
  TRY(message.ReadBody(result));
  if (result.__isset.refused) return Answer<T>(FromThrift(result.refused));
  if constexpr (std::is_same_v<T, Acknowledged>) {
    return Answer<T>(Acknowledged{});
  } else {
    if (!result.__isset.success) return InvalidError("the answer has neither a result nor a refusal");
    TRY_ASSIGN(T value, FromThrift(result.success));
    return Answer<T>(std::move(value));
  }
}

class ThriftConnection : public AmConnection {
 public:
  ThriftConnection(EventLoop& loop, std::filesystem::path folder, Duration call_limit, MakeChannel tls)
      : loop_(loop), folder_(std::move(folder)), call_limit_(call_limit), tls_(std::move(tls)) {}
  ~ThriftConnection() override {
    if (connection_) connection_->Close();
  }

  void Use(const Address& am) override {
    Drop({StrCat("the AM is at ", ToString(am), " now")});
    am_ = am;
  }

  void Register(const Caller& caller, const Registration& what, OnAnswer<Epoch> done) override {
    rpc::ExecutorService_Register_args args;
    args.caller = ToThrift(caller);
    args.registration = ToThrift(what);
    Start<rpc::ExecutorService_Register_result>("Register", args, call_limit_, std::move(done));
  }

  void Await(const Caller& caller, int64_t since, OnAnswer<Command> done) override {
    rpc::ExecutorService_Await_args args;
    args.caller = ToThrift(caller);
    args.since = since;
    Start<rpc::ExecutorService_Await_result>("Await", args, call_limit_ + kParked, std::move(done));
  }

  void Heartbeat(const Caller& caller, const Progress& progress, OnAnswer<Acknowledged> done) override {
    rpc::ExecutorService_Heartbeat_args args;
    args.caller = ToThrift(caller);
    args.progress = ToThrift(progress);
    Start<rpc::ExecutorService_Heartbeat_result>("Heartbeat", args, call_limit_, std::move(done));
  }

  void Publish(const Caller& caller, const PublishedValues& values, OnAnswer<Acknowledged> done) override {
    rpc::ExecutorService_Publish_args args;
    args.caller = ToThrift(caller);
    args.values = values;
    Start<rpc::ExecutorService_Publish_result>("Publish", args, call_limit_, std::move(done));
  }

  void ReportOutcome(const Caller& caller, const AttemptReport& report, OnAnswer<Acknowledged> done) override {
    rpc::ExecutorService_ReportOutcome_args args;
    args.caller = ToThrift(caller);
    args.outcome = ToThrift(report.outcome);
    if (report.outputs) AddOutputs(args.outcome, *report.outputs);
    if (!report.logs.empty()) AddExcerpts(args.outcome, report.logs);
    Start<rpc::ExecutorService_ReportOutcome_result>("ReportOutcome", args, call_limit_, std::move(done));
  }

  void SendLog(const Caller& caller, int64_t id, const std::vector<LogNews>& news,
               OnAnswer<Acknowledged> done) override {
    rpc::ExecutorService_SendLog_args args;
    args.caller = ToThrift(caller);
    args.id = id;
    args.news = NewsToThrift(news);
    Start<rpc::ExecutorService_SendLog_result>("SendLog", args, call_limit_, std::move(done));
  }

  void GetStatus(const std::string& token, OnAnswer<JobStatus> done) override {
    rpc::ClientService_GetStatus_args args;
    args.token = token;
    Start<rpc::ClientService_GetStatus_result>("GetStatus", args, call_limit_, std::move(done));
  }

  void Watch(const std::string& token, int64_t since, Duration limit, const WatcherToken& watcher,
             OnAnswer<JobStatus> done) override {
    rpc::ClientService_Watch_args args;
    args.token = token;
    args.since = since;
    args.timeout_ms = limit.count();
    args.watcher = watcher.value;
    Start<rpc::ClientService_Watch_result>("Watch", args, call_limit_ + limit, std::move(done));
  }

  void Kill(const std::string& token, const KillRequest& request, OnAnswer<KilledAnswer> done) override {
    if (request.reason.size() <= kLongestFirstReason) return KillNow(token, request, std::move(done));
    GetStatus(token, [this, token, request, done = std::move(done)](const Answer<JobStatus>& known) {
      if (const auto* refusal = std::get_if<Refusal>(&known)) return done(*refusal);
      if (const auto* disconnected = std::get_if<Disconnected>(&known)) return done(*disconnected);
      KillNow(token, request, done);
    });
  }

  void Attach(const std::string& token, const Claim& claim, OnAnswer<AttachedAnswer> done) override {
    rpc::ClientService_Attach_args args;
    args.token = token;
    args.owner = claim.owner.value;
    args.watch_timeout_ms = claim.watch_timeout.count();
    Start<rpc::ClientService_Attach_result>("Attach", args, call_limit_, std::move(done));
  }

  void ReadLogs(const std::string& token, const LogQuery& query, OnAnswer<LogAnswer> done) override {
    rpc::ClientService_ReadLogs_args args;
    args.token = token;
    args.wants = WantsToThrift(query.wants);
    args.most = query.most;
    args.wait_ms = query.wait.count();
    Start<rpc::ClientService_ReadLogs_result>("ReadLogs", args, call_limit_ + query.wait, std::move(done));
  }

  void PushTokens(const std::string& token, const ClusterTokens& tokens, OnAnswer<TokensReply> done) override {
    rpc::ClientService_PushTokens_args args;
    args.token = token;
    args.tokens = ToThrift(tokens);
    Start<rpc::ClientService_PushTokens_result>("PushTokens", args, call_limit_, std::move(done));
  }

 private:
  void KillNow(const std::string& token, const KillRequest& request, OnAnswer<KilledAnswer> done) {
    rpc::ClientService_KillIf_args args;
    args.token = token;
    args.order = ToThrift(request);
    Start<rpc::ClientService_KillIf_result>("KillIf", args, call_limit_, std::move(done));
  }

  struct OpenCall {
    std::string method;
    std::function<Result<Delivery>(MessageReader&)> answered;
    std::function<void(const Disconnected&)> disconnected;
    EventLoop::Timer limit;
  };

  template <class ResultStruct, class Args, class T>
  void Start(const std::string& method, const Args& args, Duration limit, OnAnswer<T> done) {
    OpenCall call;
    call.method = method;
    call.answered = [done](MessageReader& message) -> Result<Delivery> {
      TRY_ASSIGN(Answer<T> answer, (AnswerIn<T, ResultStruct>(message)));
      return Delivery([done, answer = std::move(answer)] { done(answer); });
    };
    call.disconnected = [done](const Disconnected& why) { done(why); };
    call.limit = loop_.After(
        limit, [this, method, limit] { Drop({StrCat("no answer to ", method, " within ", limit.count(), " ms")}); });
    const int32_t seq = ++last_seq_;
    open_calls_[seq] = std::move(call);
    unsent_ += WriteMessage({method, apache::thrift::protocol::T_CALL, seq}, args);
    if (!waiting_) Send();
  }

  void Send() {
    waiting_.reset();
    if (const Status connected = Connect(); !connected.ok())
      return Drop({.reason = connected.error().message,
                   .untrusted_listener = connected.error().code == ErrorCode::kNotPermitted});
    if (connection_) return connection_->Send(std::exchange(unsent_, {}));
    waiting_ = loop_.After(pause_.Next(), [this] { Send(); });
  }

  // Connects if necessary. If the AM's queue of connections is full, `connection_` stays null and no error is returned.
  Status Connect() {
    if (connection_) return Ok();
    TRY_ASSIGN(auto channel, ReachAm(folder_, am_, tls_));
    if (!channel) return Ok();
    pause_ = {};
    FrameConnection::Callbacks callbacks{[this](std::string_view frame) { OnFrame(frame); },
                                         [this](const std::string& reason) { OnClosed(reason); }};
    connection_ = std::make_shared<FrameConnection>(loop_, std::move(channel), kLimits, std::move(callbacks));
    return Ok();
  }

  void OnClosed(const std::string& reason) {
    Drop({.reason = reason, .untrusted_listener = connection_->untrusted_listener()});
  }

  void OnFrame(std::string_view frame) {
    const auto delivery = TakeAnswer(frame);
    if (!delivery.ok())
      return Drop({.reason = StrCat("bad answer: ", delivery.error().message), .misunderstood = true});
    (*delivery)();  // may destroy this object
  }

  Result<Delivery> TakeAnswer(std::string_view frame) {
    MessageReader message(frame);
    TRY_ASSIGN(const MessageHeader header, message.ReadHeader());
    const auto call = open_calls_.find(header.seq);
    if (call == open_calls_.end() || call->second.method != header.method)
      return InvalidError(header.method, " was not called");
    if (header.type == apache::thrift::protocol::T_EXCEPTION) {
      apache::thrift::TApplicationException failure;
      TRY(message.ReadBody(failure));
      return InvalidError(header.method, ": ", failure.what());
    }
    TRY_ASSIGN(Delivery delivery, call->second.answered(message));
    open_calls_.erase(call);
    return delivery;
  }

  // Closes the connection and ends all open calls, because a Disconnected answer means that the connection is closed.
  // The callbacks run later, unless this object is destroyed first.
  void Drop(Disconnected why) {
    why.crowded = waiting_ != nullptr;
    waiting_.reset();
    unsent_.clear();
    if (connection_) connection_->Close();
    connection_.reset();
    for (auto& [seq, call] : std::exchange(open_calls_, {})) {
      loop_.Post([alive = std::weak_ptr<int>(alive_), disconnected = std::move(call.disconnected), why] {
        if (!alive.expired()) disconnected(why);
      });
    }
  }

  EventLoop& loop_;
  const std::filesystem::path folder_;
  const Duration call_limit_;
  const MakeChannel tls_;
  Address am_;
  std::string unsent_;  // calls that wait for the connection
  // Runs while the AM's queue of connections is full.
  EventLoop::Timer waiting_;
  QueuePause pause_;
  std::shared_ptr<FrameConnection> connection_;  // null: the next call connects
  int32_t last_seq_ = 0;
  std::map<int32_t, OpenCall> open_calls_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace

std::unique_ptr<AmConnection> MakeAmConnection(EventLoop& loop, std::filesystem::path folder, Duration call_limit,
                                               MakeChannel tls) {
  return std::make_unique<ThriftConnection>(loop, std::move(folder), call_limit, std::move(tls));
}

Error ErrorOf(const Refusal& refusal) {
  const bool token = refusal.reason == RefusalReason::kBadToken;
  const bool request = refusal.reason == RefusalReason::kBadRequest;
  return {token     ? ErrorCode::kNotPermitted
          : request ? ErrorCode::kInvalid
                    : ErrorCode::kUnavailable,
          StrCat("the application master refuses: ", ToString(refusal.reason), ": ", refusal.message)};
}

Error ErrorOf(const Disconnected& disconnected) {
  return {disconnected.untrusted_listener ? ErrorCode::kNotPermitted
          : disconnected.misunderstood    ? ErrorCode::kInternal
                                          : ErrorCode::kUnavailable,
          StrCat(disconnected.reason, disconnected.crowded ? ": the queue of the socket is full" : "")};
}

}  // namespace tony
