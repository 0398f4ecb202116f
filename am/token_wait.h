// An AM whose tokens of the cluster end: `TokenRenewal` fetches fresh tokens for an AM that has a keytab
// (tony.yarn.keytab). `TokenWait` answers the calls of an AM that cannot lead because the cluster refuses its tokens.
// Executors stay connected and continue their tasks. Clients learn the reason, and may push fresh tokens.
#pragma once

#include <functional>
#include <string>

#include "am/parked_calls.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/secret.h"
#include "runtime/rpc/rpc_server.h"

namespace tony::am {

// Loop thread only, except `fetch`, which blocks and runs on another thread.
class TokenRenewal {
 public:
  using Fetch = std::function<Result<ClusterTokens>()>;
  using Take = std::function<Status(const ClusterTokens&)>;

  TokenRenewal(EventLoop& loop, Fetch fetch, Take take)
      : loop_(loop), fetch_(std::move(fetch)), take_(std::move(take)), thread_(loop) {}

  // Renews tokens that end at `until`, again and again. A failure is logged and retried.
  void Begin(Instant until);

 private:
  void RenewAfter(Duration pause);

  EventLoop& loop_;
  const Fetch fetch_;
  const Take take_;
  Instant until_{};
  EventLoop::Timer timer_;
  // This member is the last, so that its thread ends before the other members are destroyed.
  SideThread thread_;
};

// Returns true for an error of HDFS that fresh tokens may cure: the token has ended, or the NameNode does not know it.
bool IsTokenRefused(const Error& error);

struct TokenWaitInputs {
  std::string job_token;
  Epoch epoch;
  std::string reason;    // for clients
  ClusterTokens tokens;  // the refused ones
  std::function<Status(const ClusterTokens&)> store;
  // Called once, when newer tokens are stored and the push is answered.
  std::function<void()> on_tokens;
};

// Loop thread only.
class TokenWait : public AmService {
 public:
  TokenWait(TokenWaitInputs inputs, EventLoop& loop) : inputs_(std::move(inputs)), loop_(loop), parked_(loop) {}

  bool Knows(const std::string& token) const override { return SameSecret(token, inputs_.job_token); }
  // Register and Heartbeat are accepted, and Await is answered without a command after its limit. The executor
  // registers again with the AM that leads next.
  void Register(const Caller& caller, const Registration& what, Reply<Epoch> reply) override;
  void Await(const Caller& caller, int64_t since, Reply<Command> reply) override;
  void Heartbeat(const Caller& caller, const Progress& progress, Reply<std::monostate> reply) override;
  // The other calls need the journal. They are refused, and their callers repeat them.
  void Publish(const Caller& caller, const PublishedValues& values, Reply<std::monostate> reply) override;
  void ReportOutcome(const Caller& caller, const AttemptReport& report, Reply<std::monostate> reply) override;
  void SendLog(const Caller& caller, int64_t id, std::vector<LogNews> news, Reply<std::monostate> reply) override;
  void GetStatus(const std::string& token, Reply<StatusAnswer> reply) override;
  void Watch(const std::string& token, int64_t since, Duration limit, const WatcherToken& watcher,
             Reply<StatusAnswer> reply) override;
  void Kill(const std::string& token, const KillRequest& request, Reply<KillReply> reply) override;
  void Attach(const std::string& token, const Claim& claim, Reply<AttachReply> reply) override;
  void ReadLogs(const std::string& token, const LogQuery& query, Reply<LogAnswer> reply) override;
  void PushTokens(const std::string& token, const ClusterTokens& tokens, Reply<TokensReply> reply) override;

 private:
  template <class T>
  bool Admit(const std::string& token, const Reply<T>& reply) const;
  template <class T>
  void Refuse(const std::string& token, const Reply<T>& reply) const;

  const TokenWaitInputs inputs_;
  EventLoop& loop_;
  ParkedCalls parked_;
  EventLoop::Timer done_timer_;
};

}  // namespace tony::am
