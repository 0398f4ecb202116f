// Frames of each call that executors and clients send.
#pragma once

#include <string>
#include <vector>

#include "ClientService.h"
#include "ExecutorService.h"
#include "runtime/rpc/call.h"
#include "runtime/rpc/convert.h"
#include "tests/unit/rpc/fake_am_service.h"

namespace tony::fuzz {

template <class Args>
std::string CallFrame(const std::string& method, const Args& args) {
  return WriteMessage({method, apache::thrift::protocol::T_CALL, 7}, args);
}

// The generated structs cannot be copied.
template <class Args>
std::string ExecutorFrame(const std::string& method, Args&& args) {
  args.caller = ToThrift(SomeCaller());
  return CallFrame(method, args);
}

template <class Args>
std::string ClientFrame(const std::string& method, Args&& args) {
  args.token = SomeCaller().token;
  return CallFrame(method, args);
}

inline std::vector<std::string> EveryCall() {
  rpc::ExecutorService_Register_args registration;
  registration.registration = ToThrift(SomeRegistration());
  rpc::ExecutorService_Heartbeat_args heartbeat;
  heartbeat.progress = ToThrift(Progress{Phase::kRunning, 1234});
  rpc::ExecutorService_Publish_args publish;
  publish.values = {{"ADDRESS", "here:1"}};
  rpc::ExecutorService_ReportOutcome_args outcome;
  outcome.outcome = ToThrift(Outcome{.cls = OutcomeClass::kOom, .message = "why", .stderr_tail = "last words"});
  rpc::ClientService_KillIf_args kill;
  kill.order = ToThrift(KillRequest{.reason = "late", .if_owner = {"o1"}, .if_watcher = {"w1"}});
  return {ExecutorFrame("Register", registration),
          ExecutorFrame("Await", rpc::ExecutorService_Await_args()),
          ExecutorFrame("Heartbeat", heartbeat),
          ExecutorFrame("Publish", publish),
          ExecutorFrame("ReportOutcome", outcome),
          ClientFrame("GetStatus", rpc::ClientService_GetStatus_args()),
          ClientFrame("Watch", rpc::ClientService_Watch_args()),
          ClientFrame("Kill", rpc::ClientService_Kill_args()),
          ClientFrame("KillIf", kill),
          ClientFrame("Attach", rpc::ClientService_Attach_args())};
}

}  // namespace tony::fuzz
