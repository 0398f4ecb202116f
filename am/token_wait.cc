#include "am/token_wait.h"

namespace tony::am {
namespace {

// The time in which the answer to the push reaches the client before this AM exits.
constexpr Duration kAnswerTime{100};

}  // namespace

void TokenRenewal::Begin(Instant until) {
  until_ = until;
  RenewAfter(UntilFreshTokens(until, RealClock().Now()));
}

void TokenRenewal::RenewAfter(Duration pause) {
  timer_ = loop_.After(pause, [this] {
    thread_.Do([this]() -> SideThread::Then {
      return [this, fresh = fetch_()] {
        const Status taken = fresh.ok() ? take_(*fresh) : fresh.status();
        if (taken.ok()) return Begin(fresh->until);
        LogWarn(StrCat("no fresh tokens of the cluster: ", taken.error().message));
        RenewAfter(UntilRetry(until_, RealClock().Now()));
      };
    });
  });
}

// The class of the exception follows the operation and its path. A DataNode puts it into another exception's message.
bool IsTokenRefused(const Error& error) {
  const auto is_said = [&](const char* text) { return error.message.find(text) != std::string::npos; };
  return error.code == ErrorCode::kNotPermitted &&
         (is_said(": InvalidToken: ") || is_said("SecretManager$InvalidToken: "));
}

template <class T>
bool TokenWait::Admit(const std::string& token, const Reply<T>& reply) const {
  if (Knows(token)) return true;
  reply.Refuse(RefusalReason::kBadToken, "the token does not belong to this job");
  return false;
}

template <class T>
void TokenWait::Refuse(const std::string& token, const Reply<T>& reply) const {
  if (Admit(token, reply)) reply.Refuse(RefusalReason::kNotLeader, inputs_.reason);
}

void TokenWait::Register(const Caller& caller, const Registration&, Reply<Epoch> reply) {
  if (Admit(caller.token, reply)) reply.Success(inputs_.epoch);
}
void TokenWait::Await(const Caller& caller, int64_t since, Reply<Command> reply) {
  if (Admit(caller.token, reply)) parked_.ParkAwait(caller.attempt, since, reply);
}
void TokenWait::Heartbeat(const Caller& caller, const Progress&, Reply<std::monostate> reply) {
  if (Admit(caller.token, reply)) reply.Success({});
}
void TokenWait::Publish(const Caller& caller, const PublishedValues&, Reply<std::monostate> reply) {
  Refuse(caller.token, reply);
}
void TokenWait::ReportOutcome(const Caller& caller, const AttemptReport&, Reply<std::monostate> reply) {
  Refuse(caller.token, reply);
}
void TokenWait::SendLog(const Caller& caller, int64_t, std::vector<LogNews>, Reply<std::monostate> reply) {
  Refuse(caller.token, reply);
}
void TokenWait::GetStatus(const std::string& token, Reply<StatusAnswer> reply) { Refuse(token, reply); }
void TokenWait::Watch(const std::string& token, int64_t, Duration, const WatcherToken&, Reply<StatusAnswer> reply) {
  Refuse(token, reply);
}
void TokenWait::Kill(const std::string& token, const KillRequest&, Reply<KillReply> reply) { Refuse(token, reply); }
void TokenWait::Attach(const std::string& token, const Claim&, Reply<AttachReply> reply) { Refuse(token, reply); }
void TokenWait::ReadLogs(const std::string& token, const LogQuery&, Reply<LogAnswer> reply) { Refuse(token, reply); }

void TokenWait::PushTokens(const std::string& token, const ClusterTokens& tokens, Reply<TokensReply> reply) {
  if (!Admit(token, reply)) return;
  if (tokens.number <= inputs_.tokens.number) return reply.Success({false, inputs_.tokens.until});
  const Status stored = inputs_.store(tokens);
  if (!stored.ok()) return reply.Refuse(RefusalReason::kBadRequest, stored.error().message);
  reply.Success({true, tokens.until});
  done_timer_ = loop_.After(kAnswerTime, inputs_.on_tokens);
}

}  // namespace tony::am
