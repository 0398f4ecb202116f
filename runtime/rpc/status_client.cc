#include "runtime/rpc/status_client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <thrift/TApplicationException.h>
#include <thrift/TConfiguration.h>
#include <thrift/TOutput.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <thread>
#include <utility>

#include "ClientService.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/rpc/convert.h"
#include "runtime/rpc/reach.h"

namespace tony {
namespace {

using apache::thrift::TApplicationException;
using apache::thrift::TConfiguration;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TSocket;

// The status of ten thousand tasks is some megabytes.
constexpr int kMaxAnswer = 64 << 20;

int Millis(Duration duration) {
  return static_cast<int>(std::clamp<int64_t>(duration.count(), 1, std::numeric_limits<int>::max()));
}

Error ErrorFor(const Refusal& refusal) {
  const std::string message =
      StrCat("the application master refuses: ", ToString(refusal.reason), ": ", refusal.message);
  const bool token = refusal.reason == RefusalReason::kBadToken;
  const bool request = refusal.reason == RefusalReason::kBadRequest;
  return {token ? ErrorCode::kNotPermitted : request ? ErrorCode::kInvalid : ErrorCode::kUnavailable, message};
}

// An AM takes no larger first call of somebody whom it does not know yet: RpcServerOptions::stranger_frame, less names.
constexpr size_t kLongestFirstReason = 2048;

// Blocks.
Result<UniqueFd> Connect(const std::filesystem::path& folder, const Address& am, Duration limit,
                         const std::stop_token& stop) {
  const RealClock clock;
  const Instant until = clock.Now() + limit;
  for (QueuePause pause;;) {
    TRY_ASSIGN(auto socket, ReachAm(folder, am));
    if (socket) return *std::move(socket);
    if (stop.stop_requested() || clock.Now() >= until)
      return Error{ErrorCode::kUnavailable, StrCat("connect to ", ToString(am), ": its queue is full")};
    std::this_thread::sleep_for(pause.Next());
  }
}

class ThriftStatusClient : public StatusClient {
 public:
  ThriftStatusClient(const Address& am, UniqueFd connected, const std::string& token, Duration limit)
      : am_(am), token_(token), limit_(limit), interrupt_(::fcntl(connected.get(), F_DUPFD_CLOEXEC, 0)) {
    // Thrift's own calls block, each within its limit.
    (void)::fcntl(connected.get(), F_SETFL, ::fcntl(connected.get(), F_GETFL) & ~O_NONBLOCK);
    const auto bounds = std::make_shared<TConfiguration>(kMaxAnswer, kMaxAnswer);
    socket_ = std::make_shared<TSocket>(connected.Release(), bounds);
    socket_->setSendTimeout(Millis(limit_));
    const auto framed = std::make_shared<TFramedTransport>(socket_, bounds);
    const auto protocol = std::make_shared<TBinaryProtocol>(framed, kMaxAnswer, kMaxAnswer, true, true);
    client_ = std::make_unique<rpc::ClientServiceClient>(protocol);
  }

  Result<JobStatus> GetStatus() override {
    return Ask(limit_, [this](rpc::StatusReply& reply) { client_->GetStatus(reply, token_); });
  }
  Result<JobStatus> Watch(int64_t since, Duration limit, const WatcherToken& watcher) override {
    const auto ask = [&](rpc::StatusReply& reply) {
      client_->Watch(reply, token_, since, limit.count(), watcher.value);
    };
    return Ask(limit_ + limit, ask);
  }
  // A plain one in the words of 0.1, whose AMs may still rule.
  Result<Killed> Kill(const KillRequest& request) override {
    if (request.reason.size() > kLongestFirstReason) TRY(Introduce());
    if (request.IsPlain()) {
      TRY_ASSIGN(JobStatus status, Ask(limit_, [&](rpc::StatusReply& reply) {
                   client_->Kill(reply, token_, request.reason, request.grace.count());
                 }));
      return Killed{KillAnswer::kTaken, std::move(status)};
    }
    KillAnswer answer{};
    TRY_ASSIGN(JobStatus status, Ask(limit_, [&](rpc::StatusReply& reply) {
                 rpc::KillReply whole;
                 client_->KillIf(whole, token_, ToThrift(request));
                 const auto known = AnswerOf(whole);
                 if (!known.ok())
                   throw TApplicationException(TApplicationException::PROTOCOL_ERROR, known.error().message);
                 answer = *known;
                 reply = std::move(whole.status);
               }));
    return Killed{answer, std::move(status)};
  }
  Result<Attached> Attach(const Claim& claim) override {
    bool attached = false;
    TRY_ASSIGN(JobStatus status, Ask(limit_, [&](rpc::StatusReply& reply) {
                 rpc::AttachReply whole;
                 client_->Attach(whole, token_, claim.owner.value, claim.watch_timeout.count());
                 attached = whole.attached;
                 reply = std::move(whole.status);
               }));
    return Attached{attached, std::move(status)};
  }
  // Through a descriptor of its own: the socket's may be closed, and its number reused, at any moment.
  void Interrupt() override { (void)::shutdown(interrupt_.get(), SHUT_RDWR); }

 private:
  Status Introduce() {
    const auto status = GetStatus();
    return status.ok() ? Ok() : Status(status.error());
  }

  Result<JobStatus> Ask(Duration limit, const std::function<void(rpc::StatusReply&)>& ask) {
    if (!socket_->isOpen()) return Error{ErrorCode::kUnavailable, StrCat("ask ", ToString(am_), ": closed")};
    rpc::StatusReply reply;
    TRY(Guard("ask", [&] {
      socket_->setRecvTimeout(Millis(limit));
      ask(reply);
    }));
    return JobStatusFromJson(reply.status);
  }

  // Whatever goes wrong, the connection cannot be used again: an answer may still be on its way.
  Status Guard(const char* what, const std::function<void()>& act) {
    try {
      act();
      return Ok();
    } catch (const rpc::Refused& refused) {
      socket_->close();
      return ErrorFor(FromThrift(refused));
    } catch (const TApplicationException& failure) {
      socket_->close();
      return Error{ErrorCode::kInternal, StrCat("the application master failed: ", failure.what())};
    } catch (const std::exception& failure) {
      socket_->close();
      return Error{ErrorCode::kUnavailable, StrCat(what, " ", ToString(am_), ": ", failure.what())};
    }
  }

  Address am_;
  std::string token_;
  Duration limit_;
  UniqueFd interrupt_;
  std::shared_ptr<TSocket> socket_;
  std::unique_ptr<rpc::ClientServiceClient> client_;
};

}  // namespace

Result<std::unique_ptr<StatusClient>> ConnectStatusClient(const std::filesystem::path& folder, const Address& am,
                                                          const std::string& token, Duration limit,
                                                          const std::stop_token& stop) {
  // Otherwise Thrift writes its own words to standard error beside every error that it returns.
  apache::thrift::GlobalOutput.setOutputFunction([](const char*) {});
  TRY_ASSIGN(UniqueFd connected, Connect(folder, am, limit, stop));
  return std::unique_ptr<StatusClient>(std::make_unique<ThriftStatusClient>(am, std::move(connected), token, limit));
}

}  // namespace tony
