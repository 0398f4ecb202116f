#include "tests/unit/rpc/fake_am_service.h"

namespace tony {

void FakeAmService::Register(const Caller& caller, const Registration& what, Reply<Epoch> reply) {
  calls.push_back("Register");
  registered.emplace_back(caller, what);
  if (!Knows(caller.token)) return reply.Refuse(RefusalReason::kBadToken, "not this job's");
  if (on_register) return on_register(reply);
  reply.Success(epoch);
}

void FakeAmService::Await(const Caller& caller, int64_t, Reply<Command> reply) {
  calls.push_back("Await");
  if (on_await) return on_await(caller, reply);
  reply.OnAbandoned([this] { ++abandoned; });
  parked.push_back(reply);
}

void FakeAmService::Heartbeat(const Caller&, const Progress&, Reply<std::monostate> reply) {
  calls.push_back("Heartbeat");
  if (before_heartbeat) before_heartbeat();
  reply.Success({});
}

void FakeAmService::Publish(const Caller&, const PublishedValues& values, Reply<std::monostate> reply) {
  calls.push_back("Publish");
  published.push_back(values);
  reply.Success({});
}

void FakeAmService::ReportOutcome(const Caller&, const AttemptReport& report, Reply<std::monostate> reply) {
  calls.push_back("ReportOutcome");
  outcomes.push_back(report.outcome);
  outputs = report.outputs;
  logs = report.logs;
  reply.Success({});
}

void FakeAmService::SendLog(const Caller&, int64_t id, std::vector<LogNews> news, Reply<std::monostate> reply) {
  calls.push_back("SendLog");
  sent_logs.emplace_back(id, std::move(news));
  reply.Success({});
}

void FakeAmService::GetStatus(const std::string& given, Reply<StatusAnswer> reply) {
  calls.push_back("GetStatus");
  if (!Knows(given)) return reply.Refuse(RefusalReason::kBadToken, "not this job's");
  reply.Success(Status());
}

void FakeAmService::Watch(const std::string&, int64_t, Duration limit, const WatcherToken& watcher,
                          Reply<StatusAnswer> reply) {
  calls.push_back("Watch");
  watchers.push_back(watcher);
  watch_limits.push_back(limit);
  watching.push_back(reply);
}

void FakeAmService::Kill(const std::string&, const KillRequest& request, Reply<KillReply> reply) {
  calls.push_back("Kill");
  kills.push_back(request);
  reply.Success({kill_answer, Status()});
}

void FakeAmService::Attach(const std::string&, const Claim& claim, Reply<AttachReply> reply) {
  calls.push_back("Attach");
  claims.push_back(claim);
  reply.Success({attaches, Status()});
}

void FakeAmService::ReadLogs(const std::string&, const LogQuery& query, Reply<LogAnswer> reply) {
  calls.push_back("ReadLogs");
  log_queries.push_back(query);
  reply.Success(log_answer);
}

void FakeAmService::PushTokens(const std::string&, const ClusterTokens& tokens, Reply<TokensReply> reply) {
  calls.push_back("PushTokens");
  pushed.push_back(tokens);
  reply.Success({true, tokens.until});
}

StatusAnswer FakeAmService::Status() const { return {job.seq, epoch, job.verdict.has_value(), ToJson(job)}; }

Caller SomeCaller() {
  Caller caller;
  caller.job = {"local-1"};
  caller.attempt = {{"worker", 3}, 2};
  caller.container = {"c-17"};
  caller.generation = {4};
  caller.epoch = {7};
  caller.token = "secret";
  return caller;
}

Registration SomeRegistration() { return {{"127.0.0.1", 4711}, Phase::kRunning, 1234}; }

}  // namespace tony
