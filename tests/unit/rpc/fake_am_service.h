// An AM that records its calls and answers at once, except Await and Watch, which it parks.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/secret.h"
#include "runtime/rpc/rpc_server.h"

namespace tony {

class FakeAmService : public AmService {
 public:
  bool Knows(const std::string& given) const override { return SameSecret(given, token); }
  void Register(const Caller& caller, const Registration& what, Reply<Epoch> reply) override;
  void Await(const Caller& caller, int64_t since, Reply<Command> reply) override;
  void Heartbeat(const Caller& caller, const Progress& progress, Reply<std::monostate> reply) override;
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

  StatusAnswer Status() const;

  std::string token = "secret";  // other tokens are refused
  JobStatus job;                 // the answer to GetStatus
  Epoch epoch{7};
  std::vector<std::string> calls;  // method names in order of arrival
  std::vector<std::pair<Caller, Registration>> registered;
  std::vector<PublishedValues> published;
  std::vector<Outcome> outcomes;
  std::optional<KeptOutputs> outputs;  // reported with the last outcome
  std::vector<LogExcerpt> logs;        // reported with the last outcome
  std::vector<Duration> watch_limits;
  std::vector<WatcherToken> watchers;
  std::vector<KillRequest> kills;
  KillAnswer kill_answer = KillAnswer::kFenced;
  std::vector<Claim> claims;
  std::vector<std::pair<int64_t, std::vector<LogNews>>> sent_logs;
  std::vector<LogQuery> log_queries;
  std::vector<ClusterTokens> pushed;
  LogAnswer log_answer;  // the answer to each log query
  bool attaches = true;  // the answer to Attach
  std::deque<Reply<Command>> parked;
  std::deque<Reply<StatusAnswer>> watching;
  int abandoned = 0;
  std::function<void()> before_heartbeat;                       // may throw
  std::function<void(Reply<Epoch>)> on_register;                // called instead of answering
  std::function<void(const Caller&, Reply<Command>)> on_await;  // called instead of parking
};

Caller SomeCaller();  // worker:3#2, with the service's token
Registration SomeRegistration();

}  // namespace tony
