// An AM for one executor that runs as a real program.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runtime/job/cluster_spec.h"
#include "runtime/rpc/rpc_server.h"

namespace tony::executor {

// Answers each registration with START and each reported outcome with RELEASE.
class ScriptedAm : public AmService {
 public:
  explicit ScriptedAm(Epoch epoch) : epoch_(epoch) {}

  bool Knows(const std::string&) const override { return true; }
  void Register(const Caller&, const Registration& what, Reply<Epoch> reply) override {
    registered.push_back(what);
    reply.Success(epoch_);
  }
  void Await(const Caller&, int64_t since, Reply<Command> reply) override {
    if (since < 1) {
      const ClusterSpec cluster{{1}, {{"worker", {registered.back().endpoint}}}};
      reply.Success({.number = 1, .kind = Command::Kind::kStart, .generation = {1}, .cluster_spec = ToJson(cluster)});
    } else {
      parked_.push_back(reply);
      Release();
    }
  }
  void Heartbeat(const Caller&, const Progress& progress, Reply<std::monostate> reply) override {
    heartbeats.push_back(progress);
    reply.Success({});
  }
  void Publish(const Caller&, const PublishedValues&, Reply<std::monostate>) override {}
  void ReportOutcome(const Caller&, const AttemptReport& report, Reply<std::monostate> reply) override {
    outcomes.push_back(report.outcome);
    reply.Success({});
    Release();
  }
  void SendLog(const Caller&, int64_t, std::vector<LogNews>, Reply<std::monostate>) override {}
  void GetStatus(const std::string&, Reply<StatusAnswer>) override {}
  void Watch(const std::string&, int64_t, Duration, const WatcherToken&, Reply<StatusAnswer>) override {}
  void Kill(const std::string&, const KillRequest&, Reply<KillReply>) override {}
  void Attach(const std::string&, const Claim&, Reply<AttachReply>) override {}
  void ReadLogs(const std::string&, const LogQuery&, Reply<LogAnswer>) override {}
  void PushTokens(const std::string&, const ClusterTokens&, Reply<TokensReply>) override {}

  std::vector<Registration> registered;
  std::vector<Progress> heartbeats;
  std::vector<Outcome> outcomes;

 private:
  void Release() {
    if (outcomes.empty()) return;
    for (const auto& reply : parked_) reply.Success({.number = 2, .kind = Command::Kind::kRelease});
    parked_.clear();
  }

  Epoch epoch_;
  std::vector<Reply<Command>> parked_;
};

}  // namespace tony::executor
