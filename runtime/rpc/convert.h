// Conversions between the wire's types and TonY's types. Data from the wire is not trusted. An invalid value results in
// kInvalid, with the field's name at the start of the message ("port: 70000, expected 1 to 65535").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/outcome.h"
#include "runtime/rpc/rpc_server.h"

namespace tony {

namespace rpc {  // generated from tony.thrift
class AttachReply;
class Caller;
class ClusterTokens;
class Command;
class KillOrder;
class KillReply;
class LogNews;
class LogReply;
class LogWant;
class Progress;
class Refused;
class Registered;
class Registration;
class StatusReply;
class TaskOutcome;
class TokensReply;
}  // namespace rpc

Result<Caller> FromThrift(const rpc::Caller& wire);
Result<Registration> FromThrift(const rpc::Registration& wire);  // the caller checks `protocol`
Result<Progress> FromThrift(const rpc::Progress& wire);
// Bytes in the texts of an outcome that are not UTF-8 become '?', because the texts go into JSON. Whatever a user's
// program prints, its outcome stays valid.
Result<Outcome> FromThrift(const rpc::TaskOutcome& wire);
Result<std::optional<KeptOutputs>> OutputsFromThrift(const rpc::TaskOutcome& wire);
Result<Command> FromThrift(const rpc::Command& wire);
Result<Epoch> FromThrift(const rpc::Registered& wire);
Result<ClusterTokens> FromThrift(const rpc::ClusterTokens& wire);
Result<TokensReply> FromThrift(const rpc::TokensReply& wire);
Result<KillRequest> FromThrift(const rpc::KillOrder& wire);
Result<KillAnswer> AnswerOf(const rpc::KillReply& wire);
Result<LogAnswer> FromThrift(const rpc::LogReply& wire);
Result<std::vector<LogExcerpt>> ExcerptsFromThrift(const rpc::TaskOutcome& wire);
// Converts a refusal. An unknown reason becomes kBadRequest, and the message contains the reason's number.
Refusal FromThrift(const rpc::Refused& wire);

rpc::Caller ToThrift(const Caller& caller);
rpc::Registration ToThrift(const Registration& what);  // sets this release's PROTOCOL_VERSION
rpc::Progress ToThrift(const Progress& progress);
// Converts an outcome. The texts are cut to the sizes that FromThrift() accepts, so that the AM never rejects an
// outcome.
rpc::TaskOutcome ToThrift(const Outcome& outcome);
void AddOutputs(rpc::TaskOutcome& wire, const KeptOutputs& outputs);
void AddExcerpts(rpc::TaskOutcome& wire, const std::vector<LogExcerpt>& excerpts);
rpc::Command ToThrift(const Command& command);
std::vector<rpc::LogWant> WantsToThrift(const std::vector<LogWant>& wants);
std::vector<rpc::LogNews> NewsToThrift(const std::vector<LogNews>& news);
rpc::Registered ToThrift(const Epoch& epoch);
rpc::Refused ToThrift(const Refusal& refusal);
rpc::StatusReply ToThrift(const StatusAnswer& answer);
rpc::KillOrder ToThrift(const KillRequest& request);
rpc::KillReply ToThrift(const KillReply& reply);
rpc::AttachReply ToThrift(const AttachReply& reply);
rpc::LogReply ToThrift(const LogAnswer& answer);
rpc::ClusterTokens ToThrift(const ClusterTokens& tokens);
rpc::TokensReply ToThrift(const TokensReply& reply);

// ---- fields that are plain numbers and strings on the wire
Result<PublishedValues> CheckedValues(const std::map<std::string, std::string>& values);
Result<int64_t> CheckedSince(int64_t since);
Result<std::string> CheckedToken(const std::string& token);
Result<std::string> CheckedReason(const std::string& reason);
Result<Duration> CheckedTimeout(int64_t timeout_ms);  // cut to 60 s
Result<Duration> CheckedWatchTimeout(int64_t timeout_ms);
Result<LogQuery> CheckedQuery(const std::vector<rpc::LogWant>& wants, int64_t most, int64_t wait_ms);
Result<std::vector<LogNews>> CheckedNews(const std::vector<rpc::LogNews>& wire);
// Checks a grace period. A negative value becomes -1 ms, which means the job's own grace.
Result<Duration> CheckedGrace(int64_t grace_ms);

}  // namespace tony
