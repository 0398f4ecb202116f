// Between the wire's types and ours. What comes from the wire is not trusted: a value that makes no sense is kInvalid
// with the field's name in front ("port: 70000, expected 1 to 65535").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/outcome.h"
#include "runtime/rpc/rpc_server.h"

namespace tony {

namespace rpc {  // generated; see tony.thrift
class AttachReply;
class Caller;
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
}  // namespace rpc

Result<Caller> FromThrift(const rpc::Caller& wire);
Result<Registration> FromThrift(const rpc::Registration& wire);  // `protocol` is for the caller to judge
Result<Progress> FromThrift(const rpc::Progress& wire);
// Bytes of the two texts that are not UTF-8 become '?': they go into JSON, and what a user's program printed is no
// reason to refuse an outcome.
Result<Outcome> FromThrift(const rpc::TaskOutcome& wire);
Result<std::optional<KeptOutputs>> OutputsFromThrift(const rpc::TaskOutcome& wire);
Result<Command> FromThrift(const rpc::Command& wire);
Result<Epoch> FromThrift(const rpc::Registered& wire);
Result<KillRequest> FromThrift(const rpc::KillOrder& wire);
Result<KillAnswer> AnswerOf(const rpc::KillReply& wire);
Result<LogAnswer> FromThrift(const rpc::LogReply& wire);
Result<std::vector<LogExcerpt>> ExcerptsFromThrift(const rpc::TaskOutcome& wire);
Refusal FromThrift(const rpc::Refused& wire);  // an unknown reason: kBadRequest, and the message says so

rpc::Caller ToThrift(const Caller& caller);
rpc::Registration ToThrift(const Registration& what);  // with our PROTOCOL_VERSION
rpc::Progress ToThrift(const Progress& progress);
rpc::TaskOutcome ToThrift(
    const Outcome& outcome);  // texts cut to what FromThrift accepts: an outcome always gets there
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

// Fields that are plain numbers and strings on the wire.
Result<PublishedValues> CheckedValues(const std::map<std::string, std::string>& values);
Result<int64_t> CheckedSince(int64_t since);
Result<std::string> CheckedToken(const std::string& token);
Result<std::string> CheckedReason(const std::string& reason);
Result<Duration> CheckedTimeout(int64_t timeout_ms);  // cut to 60 s
Result<Duration> CheckedWatchTimeout(int64_t timeout_ms);
Result<LogQuery> CheckedQuery(const std::vector<rpc::LogWant>& wants, int64_t most, int64_t wait_ms);
Result<std::vector<LogNews>> CheckedNews(const std::vector<rpc::LogNews>& wire);
Result<Duration> CheckedGrace(int64_t grace_ms);  // below 0: the job's own grace, as -1 ms

}  // namespace tony
