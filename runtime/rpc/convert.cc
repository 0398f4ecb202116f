#include "runtime/rpc/convert.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/rpc/wire_fields.h"
#include "tony_constants.h"
#include "tony_types.h"

namespace tony {

// The rows are in the order of the enums' values on the wire.
constexpr std::array<std::pair<int, Phase>, 4> kPhases = {{
    {rpc::WAITING, Phase::kWaiting},
    {rpc::RUNNING, Phase::kRunning},
    {rpc::STOPPING, Phase::kStopping},
    {rpc::ENDED, Phase::kEnded},
}};
constexpr std::array<std::pair<int, Command::Kind>, 5> kCommandKinds = {{
    {rpc::NONE, Command::Kind::kNone},
    {rpc::START, Command::Kind::kStart},
    {rpc::STOP, Command::Kind::kStop},
    {rpc::RELEASE, Command::Kind::kRelease},
    {rpc::NEXT, Command::Kind::kNext},
}};
constexpr std::array<std::pair<int, KillAnswer>, 4> kKillAnswers = {{
    {rpc::TAKEN, KillAnswer::kTaken},
    {rpc::PLANNED, KillAnswer::kPlanned},
    {rpc::FENCED, KillAnswer::kFenced},
    {rpc::TOO_LATE, KillAnswer::kEnded},
}};
constexpr std::array<std::pair<int, RefusalReason>, 8> kRefusalReasons = {{
    {rpc::BAD_TOKEN, RefusalReason::kBadToken},
    {rpc::WRONG_JOB, RefusalReason::kWrongJob},
    {rpc::UNKNOWN_ATTEMPT, RefusalReason::kUnknownAttempt},
    {rpc::STALE_ATTEMPT, RefusalReason::kStaleAttempt},
    {rpc::STALE_EPOCH, RefusalReason::kStaleEpoch},
    {rpc::BAD_PROTOCOL, RefusalReason::kBadProtocol},
    {rpc::BAD_REQUEST, RefusalReason::kBadRequest},
    {rpc::NOT_RULING, RefusalReason::kNotLeader},
}};

constexpr const auto& RowsOf(Phase /*phase*/) { return kPhases; }
constexpr const auto& RowsOf(Command::Kind /*kind*/) { return kCommandKinds; }
constexpr const auto& RowsOf(KillAnswer /*answer*/) { return kKillAnswers; }
constexpr const auto& RowsOf(RefusalReason /*reason*/) { return kRefusalReasons; }

namespace {

constexpr size_t kLongestRole = 64;
constexpr size_t kMostAsks = 64;  // an AM sends far fewer
constexpr size_t kMostParts = 64;
constexpr size_t kMostAttempts = 1024;
constexpr size_t kMostExcerpts = 4;
constexpr size_t kMostTokenBytes = 256 << 10;
constexpr size_t kLongestProblem = 1024;
constexpr int64_t kHighestIndex = 1'000'000;  // limit of ParseTaskId()
constexpr int64_t kHighestInt = std::numeric_limits<int32_t>::max();
constexpr int64_t kLargestLog = int64_t{1} << 56;  // sums with it do not overflow
constexpr int64_t kLatestDue = int64_t{1} << 50;   // sums with it do not overflow
constexpr Duration kLongestWatch = std::chrono::seconds(60);
constexpr Duration kLongestGrace = std::chrono::hours(24);
constexpr Duration kLongestWatchTimeout = std::chrono::hours(24 * 366);
constexpr Between kAnyInt{0, kHighestInt};

// Returns the JSON of `left_out`, shortened to kLongestText bytes. If some of the problems do not fit, a last entry has
// the number of the problems that are left out.
std::string LeftOutJson(const std::vector<OutputProblem>& left_out) {
  // 256 bytes are reserved for the JSON around the problems, and for the entry with the number of further problems.
  constexpr size_t kRoom = kLongestText - 256;
  std::vector<OutputProblem> told;
  size_t size = 0;
  for (const OutputProblem& problem : left_out) {
    size += ToJson(std::vector<OutputProblem>{problem}).size();
    if (size > kRoom) break;
    told.push_back(problem);
  }
  if (told.size() < left_out.size())
    told.push_back({"", StrCat(left_out.size() - told.size(), " more are not listed here: see output.left-out")});
  return StrCat(R"({"problems":)", ToJson(told), "}");
}

}  // namespace

// ---- the lists of field pairs, one for each type

void Fields(auto& io, auto& wire, Is<Caller> auto& caller) {
  io.Field("job", wire.job, caller.job, Name{});
  io.Field("role", wire.role, caller.attempt.task.role, Name{kLongestRole});
  io.Field("index", wire.index, caller.attempt.task.index, Between{0, kHighestIndex});
  io.Field("attempt", wire.attempt, caller.attempt.number, Between{1, kHighestInt});
  io.Field("container", wire.container, caller.container, Name{});
  io.Field("generation", wire.generation, caller.generation);
  io.Field("epoch", wire.epoch, caller.epoch);
  io.Field("token", wire.token, caller.token, Longest{});
  io.Field("tokens", wire.tokens, caller.tokens, Floored{0});
}

void Fields(auto& io, auto& wire, Is<ClusterTokens> auto& tokens) {
  io.Field("tokens.number", wire.number, tokens.number, Between{1, kNoLimit});
  io.Field("tokens.until_ms", wire.until_ms, tokens.until, Between{0, kLatestDue});
  io.Field("tokens.bytes", wire.bytes, tokens.bytes, Longest{kMostTokenBytes});
}

void Fields(auto& io, auto& wire, Is<TokensReply> auto& reply) {
  io.Field("taken", wire.taken, reply.taken);
  io.Field("until_ms", wire.until_ms, reply.until);
}

template <class Io>
void Fields(Io& io, auto& wire, Is<Registration> auto& what) {
  io.Field("host", wire.host, what.endpoint.host, Name{});
  io.Field("port", wire.port, what.endpoint.port, Between{1, 65535});
  io.Field("phase", wire.phase, what.phase);
  io.Field("pid", wire.pid, what.pid, kAnyInt);
  if constexpr (Io::kReads) {
    io.Accept(NoMore("ports", wire.ports.size(), kMostNamedPorts));
    for (const auto& [name, port] : wire.ports) {
      if (!IsPortName(name)) return io.Accept(Bad("ports", "a name is not valid"));
      io.Field("ports." + name, port, what.ports[name], Between{1, 65535});
    }
  } else {
    wire.protocol = rpc::g_tony_constants.PROTOCOL_VERSION;
    if (!what.ports.empty()) wire.__set_ports({what.ports.begin(), what.ports.end()});
  }
}

void Fields(auto& io, auto& wire, Is<GpuUsage> auto& gpu) {
  io.Field("memory_bytes", wire.memory_bytes, gpu.memory_bytes);
  io.Field("most_memory_bytes", wire.most_memory_bytes, gpu.most_memory_bytes);
  io.Field("percent", wire.percent, gpu.percent, Between{0, 100});
  io.Field("mean_percent", wire.mean_percent, gpu.mean_percent, Between{0, 100});
  io.Field("most_percent", wire.most_percent, gpu.most_percent, Between{0, 100});
}

template <class Io>
void Fields(Io& io, auto& wire, Is<Usage> auto& usage) {
  io.Field("samples", wire.samples, usage.samples);
  io.Field("memory_bytes", wire.memory_bytes, usage.memory_bytes);
  io.Field("mean_memory_bytes", wire.mean_memory_bytes, usage.mean_memory_bytes);
  io.Field("most_memory_bytes", wire.most_memory_bytes, usage.most_memory_bytes);
  io.Field("cpu_ms", wire.cpu_ms, usage.cpu);
  io.Field("millicores", wire.millicores, usage.millicores);
  io.Field("most_millicores", wire.most_millicores, usage.most_millicores);
  io.Field("elapsed_ms", wire.elapsed_ms, usage.elapsed);
  io.Field("quiet_ms", wire.quiet_ms, usage.quiet);
  io.IfSet("gpu", wire.gpu, wire.__isset.gpu, usage.gpu);
  if constexpr (!Io::kReads) wire.__isset.gpu = usage.gpu.has_value();
}

template <class Io>
void Fields(Io& io, auto& wire, Is<Progress> auto& progress) {
  io.Field("phase", wire.phase, progress.phase);
  io.Field("pid", wire.pid, progress.pid, kAnyInt);
  io.IfSet("usage", wire.usage, wire.__isset.usage, progress.usage);
  if constexpr (!Io::kReads) wire.__isset.usage = progress.usage.has_value();
}

template <class Io>
void Fields(Io& io, auto& wire, Is<Outcome> auto& outcome) {
  constexpr auto exited = ExitStatus::Kind::kExited, signaled = ExitStatus::Kind::kSignaled;
  std::optional<int> code, signal;
  if (outcome.exit) (outcome.exit->kind == exited ? code : signal) = outcome.exit->value;
  io.Field("outcome_class", wire.outcome_class, outcome.cls);
  io.IfSet("exit_code", wire.exit_code, wire.__isset.exit_code, code, Between{0, 255});
  io.IfSet("signal", wire.signal, wire.__isset.signal, signal, Between{1, 64});
  io.Field("message", wire.message, outcome.message, Head{});
  io.Field("stderr_tail", wire.stderr_tail, outcome.stderr_tail, Tail{});
  io.Field("stdout_tail", wire.stdout_tail, outcome.stdout_tail, Tail{});
  io.Newer("source", wire.source, outcome.source);
  io.Newer("advice", wire.advice, outcome.advice);
  io.IfSet("usage", wire.usage, wire.__isset.usage, outcome.usage);
  io.IfSet("process", wire.process, wire.__isset.process, outcome.process, Between{0, kMostProcesses - 1});
  io.Field("trial_outputs", wire.trial_outputs, outcome.outputs);
  if constexpr (Io::kReads) {
    if (code) outcome.exit = ExitStatus{exited, *code};
    if (signal) outcome.exit = ExitStatus{signaled, *signal};
    if (code && signal) io.Accept(Bad("signal", "given together with exit_code"));
  } else {
    wire.__isset.exit_code = code.has_value();
    wire.__isset.signal = signal.has_value();
    wire.__isset.usage = outcome.usage.has_value();
    wire.__isset.process = outcome.process.has_value();
  }
}

template <class Io>
void Fields(Io& io, auto& wire, Is<LogWant> auto& want) {
  if constexpr (Io::kReads) {
    auto task = ParseTaskId(StrCat(wire.role, ":", wire.index));
    if (!task.ok()) return io.Accept(task.error());
    want.attempt.task = *std::move(task);
  } else {
    wire.role = want.attempt.task.role;
    wire.index = want.attempt.task.index;
  }
  io.Field("attempt", wire.attempt, want.attempt.number, Between{1, kHighestInt});
  io.Field("offset", wire.offset, want.offset, Floored{-1, kLargestLog});
  io.Field("stream", wire.stream, want.stream, StreamName{});
}

void Fields(auto& io, auto& wire, Is<LogAsk> auto& ask) {
  io.Field("id", wire.id, ask.id, kAnyNumber);
  io.Field("most", wire.most, ask.most, Between{0, kMostLogBytes});
  io.Field("wait_ms", wire.wait_ms, ask.wait, Between{0, kLongestLogWait.count()});
  io.List("wants", wire.wants, ask.wants, kMostLogWants);
}

void Fields(auto& io, auto& wire, Is<LogSpan> auto& span) {
  io.Field("parts.first", wire.first, span.begin, Between{0, kLargestLog});
  io.Field("parts.behind", wire.behind, span.end, Between{span.begin, kLargestLog});
}

template <class Io>
void Fields(Io& io, auto& wire, Is<LogNews> auto& news) {
  io.Field("there", wire.there, news.is_there);
  io.Field("cut", wire.cut, news.cut, Between{0, kLargestLog});
  io.Field("text", wire.text, news.text);
  io.Field("size", wire.size, news.size, Between{0, kLargestLog});
  io.Field("ended", wire.ended, news.ended);
  io.Field("changed_ms", wire.changed_ms, news.changed, Between{0, kLargestLog});
  io.List("parts", wire.parts, news.parts, kMostParts);
  io.List("attempts", wire.attempts, news.attempts, kMostAttempts, Between{1, kHighestInt});
  io.Field("problem", wire.problem, news.problem);
  if constexpr (Io::kReads) news.problem.resize(std::min(news.problem.size(), kLongestProblem));
}

void Fields(auto& io, auto& wire, Is<Command> auto& command) {
  io.Field("number", wire.number, command.number);
  io.Field("kind", wire.kind, command.kind);
  io.Field("generation", wire.generation, command.generation);
  io.Field("cluster_spec", wire.cluster_spec, command.cluster_spec);
  io.Field("grace_ms", wire.grace_ms, command.grace, Between{0, kLongestGrace.count()});
  io.Field("attempt", wire.attempt, command.attempt, kAnyInt);
  io.Field("resume_from", wire.resume_from, command.resume_from);
  io.Field("reason", wire.reason, command.reason);
  io.List("logs", wire.logs, command.logs, kMostAsks);
  io.IfSet("tokens", wire.tokens, wire.__isset.tokens, command.tokens);
}

void Fields(auto& io, auto& wire, Is<KillRequest> auto& request) {
  io.Field("reason", wire.reason, request.reason, Head{});
  io.Field("grace_ms", wire.grace_ms, request.grace, Floored{-1, kLongestGrace.count()});
  io.Field("token", wire.if_owner, request.if_owner, Longest{});
  io.Field("token", wire.if_watcher, request.if_watcher, Longest{});
  io.Field("due_ms", wire.due_ms, request.due, Between{0, kLatestDue});
  io.Field("delay_ms", wire.delay_ms, request.delay, Between{0, kLatestDue});
}

void Fields(auto& io, auto& wire, Is<Refusal> auto& refusal) {
  io.Field("reason", wire.reason, refusal.reason);
  io.Field("message", wire.message, refusal.message);
}

void Fields(auto& io, auto& wire, Is<StatusAnswer> auto& answer) {
  io.Field("seq", wire.seq, answer.seq);
  io.Field("epoch", wire.epoch, answer.epoch);
  io.Field("ended", wire.ended, answer.ended);
  io.Field("status", wire.status, answer.status_json);
}

void Fields(auto& io, auto& wire, Is<KillReply> auto& reply) {
  io.Field("answer", wire.answer, reply.answer);
  io.Field("status", wire.status, reply.status);
}

void Fields(auto& io, auto& wire, Is<AttachReply> auto& reply) {
  io.Field("attached", wire.attached, reply.attached);
  io.Field("status", wire.status, reply.status);
}

// ---- conversions from the wire

Result<Caller> FromThrift(const rpc::Caller& wire) { return Read<Caller>(wire); }
Result<Registration> FromThrift(const rpc::Registration& wire) { return Read<Registration>(wire); }
Result<Progress> FromThrift(const rpc::Progress& wire) { return Read<Progress>(wire); }
Result<Outcome> FromThrift(const rpc::TaskOutcome& wire) { return Read<Outcome>(wire); }
Result<Command> FromThrift(const rpc::Command& wire) { return Read<Command>(wire); }
Result<ClusterTokens> FromThrift(const rpc::ClusterTokens& wire) { return Read<ClusterTokens>(wire); }
Result<TokensReply> FromThrift(const rpc::TokensReply& wire) { return Read<TokensReply>(wire); }
Result<KillRequest> FromThrift(const rpc::KillOrder& wire) { return Read<KillRequest>(wire); }

Result<Epoch> FromThrift(const rpc::Registered& wire) { return Read<Epoch>(wire.epoch, "epoch", AtLeast(1)); }

Refusal FromThrift(const rpc::Refused& wire) {
  const auto refusal = Read<Refusal>(wire);
  if (refusal.ok()) return *refusal;
  return {RefusalReason::kBadRequest, StrCat(refusal.error().message, ": ", wire.message)};
}

Result<KillAnswer> AnswerOf(const rpc::KillReply& wire) { return Read<KillAnswer>(wire.answer, "answer"); }

Result<LogAnswer> FromThrift(const rpc::LogReply& wire) {
  LogAnswer answer;
  for (const auto& [index, one] : wire.news) {
    TRY(Within("news", index, 0, static_cast<int64_t>(kMostLogWants) - 1));
    TRY_ASSIGN(LogNews news, Read<LogNews>(one));
    answer.emplace_back(index, std::move(news));
  }
  return answer;
}

Result<std::optional<KeptOutputs>> OutputsFromThrift(const rpc::TaskOutcome& wire) {
  if (!wire.__isset.outputs) return std::optional<KeptOutputs>();
  KeptOutputs outputs;
  TRY(NoLonger("outputs.text", wire.outputs.text, static_cast<size_t>(kLongestOutputs)));
  outputs.text = wire.outputs.text;
  TRY(NoLonger("outputs.problem", wire.outputs.problem, kLongestText));
  outputs.problem = ReplaceInvalidUtf8(wire.outputs.problem);
  TRY(NoLonger("outputs.left_out", wire.outputs.left_out, kLongestText));
  if (!wire.outputs.left_out.empty()) {
    auto left_out = OutputProblemsFromJson(wire.outputs.left_out);
    if (!left_out.ok()) return Bad("outputs.left_out", left_out.error().message);
    outputs.left_out = *std::move(left_out);
  }
  return std::optional(std::move(outputs));
}

Result<std::vector<LogExcerpt>> ExcerptsFromThrift(const rpc::TaskOutcome& wire) {
  std::vector<LogExcerpt> excerpts;
  if (!wire.__isset.logs) return excerpts;
  TRY(NoMore("logs", wire.logs.size(), kMostExcerpts));
  size_t bytes = 0;
  for (const rpc::LogExcerpt& one : wire.logs) {
    TRY(CheckText("stream", one.stream, StreamName{}));
    LogExcerpt& excerpt = excerpts.emplace_back(LogExcerpt{.stream = one.stream, .size = one.size});
    TRY(Within("logs.size", one.size, 0, kLargestLog));
    TRY(NoMore("logs.parts", one.parts.size(), kMostParts));
    int64_t end = 0;
    for (const rpc::LogPart& part : one.parts) {
      TRY(Within("logs.first", part.first, end, one.size));
      end = part.first + static_cast<int64_t>(part.text.size());
      TRY(Within("logs.text", end, part.first, one.size));
      bytes += part.text.size();
      excerpt.parts.push_back({part.first, part.text});
    }
  }
  TRY(NoMore("logs.text", bytes, static_cast<size_t>(2 * (kExcerptHead + kExcerptTail))));
  return excerpts;
}

// ---- conversions to the wire

rpc::Caller ToThrift(const Caller& caller) {
  auto wire = Written<rpc::Caller>(caller);
  wire.__isset.tokens = caller.tokens > 0;
  return wire;
}
rpc::ClusterTokens ToThrift(const ClusterTokens& tokens) { return Written<rpc::ClusterTokens>(tokens); }
rpc::TokensReply ToThrift(const TokensReply& reply) { return Written<rpc::TokensReply>(reply); }
rpc::Registration ToThrift(const Registration& what) { return Written<rpc::Registration>(what); }
rpc::Progress ToThrift(const Progress& progress) { return Written<rpc::Progress>(progress); }
rpc::TaskOutcome ToThrift(const Outcome& outcome) { return Written<rpc::TaskOutcome>(outcome); }
rpc::Refused ToThrift(const Refusal& refusal) { return Written<rpc::Refused>(refusal); }
rpc::StatusReply ToThrift(const StatusAnswer& answer) { return Written<rpc::StatusReply>(answer); }
rpc::KillOrder ToThrift(const KillRequest& request) { return Written<rpc::KillOrder>(request); }
rpc::KillReply ToThrift(const KillReply& reply) { return Written<rpc::KillReply>(reply); }
rpc::AttachReply ToThrift(const AttachReply& reply) { return Written<rpc::AttachReply>(reply); }

rpc::Command ToThrift(const Command& command) {
  auto wire = Written<rpc::Command>(command);
  wire.__isset.logs = !command.logs.empty();
  wire.__isset.tokens = command.tokens.has_value();
  return wire;
}

rpc::Registered ToThrift(const Epoch& epoch) {
  rpc::Registered wire;
  wire.__set_epoch(epoch.value);
  return wire;
}

rpc::LogReply ToThrift(const LogAnswer& answer) {
  rpc::LogReply wire;
  for (const auto& [index, news] : answer) wire.news[index] = Written<rpc::LogNews>(news);
  wire.__isset.news = true;
  return wire;
}

std::vector<rpc::LogWant> WantsToThrift(const std::vector<LogWant>& wants) { return AllWritten<rpc::LogWant>(wants); }
std::vector<rpc::LogNews> NewsToThrift(const std::vector<LogNews>& news) { return AllWritten<rpc::LogNews>(news); }

void AddOutputs(rpc::TaskOutcome& wire, const KeptOutputs& outputs) {
  rpc::KeptOutputs kept;
  kept.__set_text(outputs.text);
  kept.__set_problem(outputs.problem.substr(0, kLongestText));
  if (!outputs.left_out.empty()) kept.__set_left_out(LeftOutJson(outputs.left_out));
  wire.__set_outputs(kept);
}

void AddExcerpts(rpc::TaskOutcome& wire, const std::vector<LogExcerpt>& excerpts) {
  std::vector<rpc::LogExcerpt> logs;
  for (const LogExcerpt& excerpt : excerpts) {
    rpc::LogExcerpt& one = logs.emplace_back();
    one.__set_stream(excerpt.stream);
    one.__set_size(excerpt.size);
    for (const LogExcerpt::Part& part : excerpt.parts) {
      one.parts.emplace_back();
      one.parts.back().__set_first(part.begin);
      one.parts.back().__set_text(part.text);
    }
  }
  wire.__set_logs(logs);
}

// ---- fields that are plain numbers and strings on the wire

Result<PublishedValues> CheckedValues(const std::map<std::string, std::string>& values) {
  if (values.size() > kMostPublishedValues)
    return Bad("values", StrCat(values.size(), ", expected at most ", kMostPublishedValues));
  for (const auto& [name, value] : values) {
    if (!IsValueName(name)) return Bad("values", "a name is not valid");
    if (!IsPublishable(name, value)) return Bad("values." + name, "too long, or not plain text");
  }
  return values;
}

Result<int64_t> CheckedSince(int64_t since) { return Read<int64_t>(since, "since"); }
Result<std::string> CheckedToken(const std::string& token) { return Read<std::string>(token, "token", Longest{}); }
Result<std::string> CheckedReason(const std::string& reason) { return Read<std::string>(reason, "reason", Head{}); }

Result<Duration> CheckedTimeout(int64_t timeout_ms) {
  TRY_ASSIGN(const Duration timeout, Read<Duration>(timeout_ms, "timeout_ms"));
  return std::min(timeout, kLongestWatch);
}

Result<Duration> CheckedWatchTimeout(int64_t timeout_ms) {
  return Read<Duration>(timeout_ms, "watch_timeout_ms", Between{0, kLongestWatchTimeout.count()});
}

Result<Duration> CheckedGrace(int64_t grace_ms) {
  return Read<Duration>(grace_ms, "grace_ms", Floored{-1, kLongestGrace.count()});
}

Result<LogQuery> CheckedQuery(const std::vector<rpc::LogWant>& wants, int64_t most, int64_t wait_ms) {
  LogQuery query;
  FromWire io;
  io.List("wants", wants, query.wants, kMostLogWants);
  io.Accept(Within("most", most, 0, kNoLimit));
  io.Accept(Within("wait_ms", wait_ms, 0, kNoLimit));
  TRY(io.status());
  query.most = std::min(most, kMostLogBytes);
  query.wait = Duration(std::min<int64_t>(wait_ms, kLongestLogWait.count()));
  return query;
}

Result<std::vector<LogNews>> CheckedNews(const std::vector<rpc::LogNews>& wire) {
  std::vector<LogNews> news;
  FromWire io;
  io.List("news", wire, news, kMostLogWants);
  TRY(io.status());
  return news;
}

}  // namespace tony
