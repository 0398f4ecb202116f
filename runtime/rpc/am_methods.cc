#include "runtime/rpc/am_methods.h"

#include <type_traits>
#include <utility>

#include "ClientService.h"
#include "ExecutorService.h"
#include "runtime/base/strings.h"
#include "runtime/rpc/convert.h"
#include "tony_constants.h"

namespace tony {
namespace {

// Puts a reply into a generated result struct. The fields are set directly, because Thrift 0.17 declares setters for
// result structs and never defines them.
template <class T, class ResultStruct>
class ThriftSink : public Reply<T>::Sink {
 public:
  explicit ThriftSink(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  void Success(const T& value) override {
    ResultStruct result;
    if constexpr (std::is_same_v<ResultStruct, rpc::ClientService_Kill_result>) {
      result.success = ToThrift(value.status);
    } else if constexpr (!std::is_same_v<T, std::monostate>) {
      result.success = ToThrift(value);
    }
    if constexpr (!std::is_same_v<T, std::monostate>) result.__isset.success = true;
    call_->Answer(result);
  }
  void Refuse(const Refusal& refusal) override {
    ResultStruct result;
    result.refused = ToThrift(refusal);
    result.__isset.refused = true;
    call_->Answer(result);
  }
  void OnAbandoned(std::function<void()> fn) override { call_->OnAbandoned(std::move(fn)); }

 private:
  std::shared_ptr<Call> call_;
};

template <class Args>
const std::string& TokenIn(const Args& args) {
  if constexpr (requires { args.caller; }) {
    return args.caller.token;
  } else {
    return args.token;
  }
}

// Adds a method to the dispatcher. `method` returns kInvalid for invalid arguments. In that case it has not passed
// `reply` to the service. A `method` with a fourth parameter also gets the call's origin, which shows the caller's
// user.
template <class Args, class ResultStruct, class T, class... Origin>
void Add(Dispatcher& dispatcher, const std::string& name, AmService& service,
         Status (*method)(AmService&, const Args&, const Reply<T>&, const Origin&...)) {
  dispatcher.On<Args>(name, [&service, method](Args& args, const std::shared_ptr<Call>& call) {
    if (service.Knows(TokenIn(args))) call->CallerKnown();
    const Reply<T> reply(std::make_shared<ThriftSink<T, ResultStruct>>(call));
    const Status accepted = method(service, args, reply, static_cast<const Origin&>(*call)...);
    if (!accepted.ok()) reply.Refuse(RefusalReason::kBadRequest, accepted.error().message);
  });
}

Status Register(AmService& service, const rpc::ExecutorService_Register_args& args, const Reply<Epoch>& reply) {
  const int ours = rpc::g_tony_constants.PROTOCOL_VERSION;
  if (args.registration.protocol != ours) {
    reply.Refuse(RefusalReason::kBadProtocol, StrCat("protocol ", args.registration.protocol, ", expected ", ours));
    return Ok();
  }
  TRY_ASSIGN(const Caller caller, FromThrift(args.caller));
  TRY_ASSIGN(const Registration what, FromThrift(args.registration));
  service.Register(caller, what, reply);
  return Ok();
}

Status Await(AmService& service, const rpc::ExecutorService_Await_args& args, const Reply<Command>& reply) {
  TRY_ASSIGN(const Caller caller, FromThrift(args.caller));
  TRY_ASSIGN(const int64_t since, CheckedSince(args.since));
  service.Await(caller, since, reply);
  return Ok();
}

Status Heartbeat(AmService& service, const rpc::ExecutorService_Heartbeat_args& args,
                 const Reply<std::monostate>& reply) {
  TRY_ASSIGN(const Caller caller, FromThrift(args.caller));
  TRY_ASSIGN(const Progress progress, FromThrift(args.progress));
  service.Heartbeat(caller, progress, reply);
  return Ok();
}

Status Publish(AmService& service, const rpc::ExecutorService_Publish_args& args, const Reply<std::monostate>& reply) {
  TRY_ASSIGN(const Caller caller, FromThrift(args.caller));
  TRY_ASSIGN(const PublishedValues values, CheckedValues(args.values));
  service.Publish(caller, values, reply);
  return Ok();
}

Status ReportOutcome(AmService& service, const rpc::ExecutorService_ReportOutcome_args& args,
                     const Reply<std::monostate>& reply) {
  TRY_ASSIGN(const Caller caller, FromThrift(args.caller));
  AttemptReport report;
  TRY_ASSIGN(report.outcome, FromThrift(args.outcome));
  TRY_ASSIGN(report.outputs, OutputsFromThrift(args.outcome));
  TRY_ASSIGN(report.logs, ExcerptsFromThrift(args.outcome));
  service.ReportOutcome(caller, report, reply);
  return Ok();
}

Status SendLog(AmService& service, const rpc::ExecutorService_SendLog_args& args, const Reply<std::monostate>& reply) {
  TRY_ASSIGN(const Caller caller, FromThrift(args.caller));
  TRY_ASSIGN(auto news, CheckedNews(args.news));
  service.SendLog(caller, args.id, std::move(news), reply);
  return Ok();
}

Status GetStatus(AmService& service, const rpc::ClientService_GetStatus_args& args, const Reply<StatusAnswer>& reply) {
  TRY_ASSIGN(const std::string token, CheckedToken(args.token));
  service.GetStatus(token, reply);
  return Ok();
}

Status Watch(AmService& service, const rpc::ClientService_Watch_args& args, const Reply<StatusAnswer>& reply) {
  TRY_ASSIGN(const std::string token, CheckedToken(args.token));
  TRY_ASSIGN(const int64_t since, CheckedSince(args.since));
  TRY_ASSIGN(const Duration limit, CheckedTimeout(args.timeout_ms));
  TRY_ASSIGN(const std::string watcher, CheckedToken(args.watcher));
  service.Watch(token, since, limit, {watcher}, reply);
  return Ok();
}

Status KillOfFirstRelease(AmService& service, const rpc::ClientService_Kill_args& args, const Reply<KillReply>& reply,
                          const Call& call) {
  TRY_ASSIGN(const std::string token, CheckedToken(args.token));
  KillRequest request = {.asker = call.PeerUserIfOther()};
  TRY_ASSIGN(request.reason, CheckedReason(args.reason));
  TRY_ASSIGN(request.grace, CheckedGrace(args.grace_ms));
  service.Kill(token, request, reply);
  return Ok();
}

Status Kill(AmService& service, const rpc::ClientService_KillIf_args& args, const Reply<KillReply>& reply,
            const Call& call) {
  TRY_ASSIGN(const std::string token, CheckedToken(args.token));
  TRY_ASSIGN(KillRequest request, FromThrift(args.order));
  request.asker = call.PeerUserIfOther();
  service.Kill(token, request, reply);
  return Ok();
}

Status Attach(AmService& service, const rpc::ClientService_Attach_args& args, const Reply<AttachReply>& reply) {
  TRY_ASSIGN(const std::string token, CheckedToken(args.token));
  TRY_ASSIGN(const std::string owner, CheckedToken(args.owner));
  TRY_ASSIGN(const Duration timeout, CheckedWatchTimeout(args.watch_timeout_ms));
  service.Attach(token, {{owner}, timeout}, reply);
  return Ok();
}

Status ReadLogs(AmService& service, const rpc::ClientService_ReadLogs_args& args, const Reply<LogAnswer>& reply) {
  TRY_ASSIGN(const std::string token, CheckedToken(args.token));
  TRY_ASSIGN(const LogQuery query, CheckedQuery(args.wants, args.most, args.wait_ms));
  service.ReadLogs(token, query, reply);
  return Ok();
}

Status PushTokens(AmService& service, const rpc::ClientService_PushTokens_args& args, const Reply<TokensReply>& reply) {
  TRY_ASSIGN(const std::string token, CheckedToken(args.token));
  TRY_ASSIGN(const ClusterTokens tokens, FromThrift(args.tokens));
  service.PushTokens(token, tokens, reply);
  return Ok();
}

}  // namespace

Dispatcher MakeAmDispatcher(AmService& service) {
  using rpc::ClientService_Attach_args, rpc::ClientService_Attach_result;
  using rpc::ClientService_GetStatus_args, rpc::ClientService_GetStatus_result;
  using rpc::ClientService_Kill_args, rpc::ClientService_Kill_result;
  using rpc::ClientService_KillIf_args, rpc::ClientService_KillIf_result;
  using rpc::ClientService_PushTokens_args, rpc::ClientService_PushTokens_result;
  using rpc::ClientService_ReadLogs_args, rpc::ClientService_ReadLogs_result;
  using rpc::ClientService_Watch_args, rpc::ClientService_Watch_result;
  using rpc::ExecutorService_Await_args, rpc::ExecutorService_Await_result;
  using rpc::ExecutorService_Heartbeat_args, rpc::ExecutorService_Heartbeat_result;
  using rpc::ExecutorService_Publish_args, rpc::ExecutorService_Publish_result;
  using rpc::ExecutorService_Register_args, rpc::ExecutorService_Register_result;
  using rpc::ExecutorService_ReportOutcome_args, rpc::ExecutorService_ReportOutcome_result;
  using rpc::ExecutorService_SendLog_args, rpc::ExecutorService_SendLog_result;
  Dispatcher all;
  Add<ExecutorService_Register_args, ExecutorService_Register_result>(all, "Register", service, Register);
  Add<ExecutorService_Await_args, ExecutorService_Await_result>(all, "Await", service, Await);
  Add<ExecutorService_Heartbeat_args, ExecutorService_Heartbeat_result>(all, "Heartbeat", service, Heartbeat);
  Add<ExecutorService_Publish_args, ExecutorService_Publish_result>(all, "Publish", service, Publish);
  Add<ExecutorService_ReportOutcome_args, ExecutorService_ReportOutcome_result>(all, "ReportOutcome", service,
                                                                                ReportOutcome);
  Add<ExecutorService_SendLog_args, ExecutorService_SendLog_result>(all, "SendLog", service, SendLog);
  Add<ClientService_GetStatus_args, ClientService_GetStatus_result>(all, "GetStatus", service, GetStatus);
  Add<ClientService_Watch_args, ClientService_Watch_result>(all, "Watch", service, Watch);
  Add<ClientService_Kill_args, ClientService_Kill_result>(all, "Kill", service, KillOfFirstRelease);
  Add<ClientService_KillIf_args, ClientService_KillIf_result>(all, "KillIf", service, Kill);
  Add<ClientService_Attach_args, ClientService_Attach_result>(all, "Attach", service, Attach);
  Add<ClientService_ReadLogs_args, ClientService_ReadLogs_result>(all, "ReadLogs", service, ReadLogs);
  Add<ClientService_PushTokens_args, ClientService_PushTokens_result>(all, "PushTokens", service, PushTokens);
  return all;
}

}  // namespace tony
