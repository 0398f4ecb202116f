#include "runtime/client/token_pusher.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/rpc/am_connection.h"

namespace tony {
namespace {

constexpr Duration kPushLimit{5000};
// The pause between pushes while no AM leads the job.
constexpr Duration kWithoutAm{60'000};

Result<TokensReply> PushToAm(const Arbiter& arbiter, const JobRecords& records, const Arbiter::TokenPush& push) {
  if (!push.am) return UnavailableError("job ", records.job().value, " has no application master now");
  TRY_ASSIGN(const std::string token, records.ReadToken());
  TRY_ASSIGN(MakeChannel tls, arbiter.WayToAm(records));
  EventLoop loop;
  const auto am = MakeAmConnection(loop, records.place(), kPushLimit, std::move(tls));
  am->Use(*push.am);
  // The status is requested first, because the first call of a connection must be small. An AM without valid tokens
  // refuses that call.
  const auto answer = RunUntilAnswer<Answer<TokensReply>>(loop, [&](auto done) {
    am->GetStatus(token, [&, done](const Answer<JobStatus>& status) {
      if (const auto* lost = std::get_if<Disconnected>(&status)) return done(*lost);
      am->PushTokens(token, push.tokens, done);
    });
    return nullptr;
  });
  if (const auto* reply = std::get_if<TokensReply>(&answer)) return *reply;
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return ErrorOf(*refusal);
  return ErrorOf(std::get<Disconnected>(answer));
}

}  // namespace

// The record is as private as the job's token and keys, which lie in the same folder.
Result<std::optional<TokenPushResult>> PushFreshTokens(const Arbiter& arbiter, const JobRecords& records) {
  TRY_ASSIGN(const auto push, arbiter.PrepareTokenPush(records));
  if (!push) return std::optional<TokenPushResult>();
  const auto reply = PushToAm(arbiter, records, *push);
  if (reply.ok()) return std::optional(TokenPushResult{*reply, ""});
  if (reply.error().code != ErrorCode::kUnavailable) return reply.error();
  TRY(records.store().Replace(kTokensRecord, push->tokens.bytes, Durability::kLostWithPower));
  return std::optional(TokenPushResult{{true, push->tokens.until}, reply.error().message});
}

void TokenPusher::See(const JobStatus& status, bool is_led) {
  is_over_ = status.verdict.has_value();
  if (is_over_ || !status.tokens_until) return timer_.reset();
  // The AM of an earlier release does not report when the tokens were issued. Newer tokens may end earlier, because the
  // ResourceManager renews those of the submit for a week.
  const bool are_newer = status.tokens_issued ? *status.tokens_issued > issued_ : *status.tokens_until > until_;
  if (!are_newer && is_led == is_led_) return;
  if (are_newer) {
    issued_ = status.tokens_issued.value_or(RealClock().Now());
    until_ = *status.tokens_until;
  }
  is_led_ = is_led;
  PushInTime(without_am_);
}

void TokenPusher::OnAmLost() {
  if (until_ == Instant{} || !std::exchange(is_led_, false)) return;
  PushInTime(without_am_);
}

void TokenPusher::PushInTime(Duration longest_without_am) {
  const Duration pause = std::max(issued_ + UntilFreshTokens(until_, issued_) - RealClock().Now(), Duration(0));
  PushAfter(is_led_ ? pause : std::min(pause, longest_without_am));
}

void TokenPusher::PushAfter(Duration pause) {
  if (is_over_) return;
  timer_ = loop_.After(pause, [this] { Push(); });
}

void TokenPusher::Push() {
  thread_.Do([this]() -> SideThread::Then {
    return [this, pushed = PushFreshTokens(arbiter_, records_)] { Take(pushed); };
  });
}

void TokenPusher::Take(const Result<std::optional<TokenPushResult>>& pushed) {
  if (pushed.ok() && *pushed) {
    is_told_ = false;
    issued_ = RealClock().Now();
    until_ = (*pushed)->reply.until;
    return PushInTime(kWithoutAm);
  }
  if (pushed.ok() || pushed.error().code == ErrorCode::kNotFound) return;
  if (!std::exchange(is_told_, true))
    on_note_(StrCat("job ", records_.job().value, " gets no fresh tokens, so it can use the cluster only until ",
                    ToIso8601(until_), ": ", pushed.error().message));
  PushAfter(UntilRetry(until_, RealClock().Now()));
}

}  // namespace tony
