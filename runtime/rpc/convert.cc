#include "runtime/rpc/convert.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"
#include "tony_constants.h"
#include "tony_types.h"

namespace tony {
namespace {

constexpr size_t kLongestName = 255;  // job, container, token, and a host (a DNS name is no longer)
constexpr size_t kLongestRole = 64;
constexpr size_t kLongestText = 64 << 10;
constexpr int64_t kHighestIndex = 1'000'000;  // as ParseTaskId has it
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr int64_t kHighestInt = std::numeric_limits<int32_t>::max();
constexpr Duration kLongestWatch = std::chrono::seconds(60);
constexpr Duration kLongestGrace = std::chrono::hours(24);
constexpr Duration kLongestWatchTimeout = std::chrono::hours(24 * 366);
constexpr int64_t kLatestDue = int64_t{1} << 50;  // sums with it do not overflow

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
    {rpc::NOT_RULING, RefusalReason::kNotRuling},
}};

Error Bad(std::string_view field, const std::string& what) {
  return Error{ErrorCode::kInvalid, StrCat(field, ": ", what)};
}

// The generated enums hold whatever number came; looking at one as an enum would be undefined.
template <class WireEnum>
int NumberOf(const WireEnum& value) {
  static_assert(sizeof(WireEnum) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

template <class WireEnum, class Ours, size_t N>
Result<Ours> Known(std::string_view field, const WireEnum& value, const std::array<std::pair<int, Ours>, N>& table) {
  const int number = NumberOf(value);
  for (const auto& row : table) {
    if (row.first == number) return row.second;
  }
  return Bad(field, StrCat("unknown value ", number));
}

template <class WireEnum, class Ours, size_t N>
WireEnum WireOf(Ours value, const std::array<std::pair<int, Ours>, N>& table) {
  const auto row = std::ranges::find(table, value, &std::pair<int, Ours>::second);
  CHECK(row != table.end());
  return static_cast<WireEnum>(row->first);
}

Result<int64_t> Within(std::string_view field, int64_t value, int64_t lowest, int64_t highest) {
  if (value >= lowest && value <= highest) return value;
  if (highest == kNoLimit) return Bad(field, StrCat(value, ", expected ", lowest, " or more"));
  return Bad(field, StrCat(value, ", expected ", lowest, " to ", highest));
}

Result<int> IntWithin(std::string_view field, int64_t value, int64_t lowest, int64_t highest) {
  TRY_ASSIGN(const int64_t checked, Within(field, value, lowest, highest));
  return static_cast<int>(checked);
}

Status NoLonger(std::string_view field, const std::string& text, size_t longest) {
  if (text.size() <= longest) return Ok();
  return Bad(field, StrCat(text.size(), " bytes, expected at most ", longest));
}

// A name goes into logs and messages as it is.
Result<std::string> Name(std::string_view field, const std::string& text, size_t longest) {
  TRY(NoLonger(field, text, longest));
  if (text.empty()) return Bad(field, "missing");
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!printable) return Bad(field, "not printable ASCII");
  return text;
}

Result<std::string> Text(std::string_view field, const std::string& text) {
  TRY(NoLonger(field, text, kLongestText));
  return ReplaceInvalidUtf8(text);
}

Result<Phase> CheckedPhase(const rpc::Phase& phase) { return Known("phase", phase, kPhases); }
Result<int64_t> CheckedPid(int64_t pid) { return Within("pid", pid, 0, kHighestInt); }

Result<std::optional<ExitStatus>> CheckedExit(const rpc::TaskOutcome& wire) {
  std::optional<ExitStatus> exit;
  if (wire.__isset.exit_code && wire.__isset.signal) return Bad("signal", "given together with exit_code");
  if (wire.__isset.exit_code) {
    TRY_ASSIGN(const int code, IntWithin("exit_code", wire.exit_code, 0, 255));
    exit = ExitStatus{ExitStatus::Kind::kExited, code};
  }
  if (wire.__isset.signal) {
    TRY_ASSIGN(const int signal, IntWithin("signal", wire.signal, 1, 64));
    exit = ExitStatus{ExitStatus::Kind::kSignaled, signal};
  }
  return exit;
}

std::string EndOf(const std::string& tail) {
  return tail.size() <= kLongestText ? tail : tail.substr(tail.size() - kLongestText);
}

// As many of them as fit, and how many there are beside them.
std::string LeftOutJson(const std::vector<OutputProblem>& left_out) {
  constexpr size_t kRoom = kLongestText - 256;  // for what is around them, and the last one
  std::vector<OutputProblem> told;
  size_t size = 0;
  for (const OutputProblem& problem : left_out) {
    size += ToJson(std::vector<OutputProblem>{problem}).size();
    if (size > kRoom) break;
    told.push_back(problem);
  }
  if (told.size() < left_out.size())
    told.push_back({"", StrCat(left_out.size() - told.size(), " more are not in it: see output.left-out")});
  return StrCat(R"({"problems":)", ToJson(told), "}");
}

}  // namespace

Result<Caller> FromThrift(const rpc::Caller& wire) {
  Caller caller;
  TRY_ASSIGN(caller.job.value, Name("job", wire.job, kLongestName));
  TRY_ASSIGN(caller.attempt.task.role, Name("role", wire.role, kLongestRole));
  TRY_ASSIGN(caller.attempt.task.index, IntWithin("index", wire.index, 0, kHighestIndex));
  TRY_ASSIGN(caller.attempt.number, IntWithin("attempt", wire.attempt, 1, kHighestInt));
  TRY_ASSIGN(caller.container.value, Name("container", wire.container, kLongestName));
  TRY_ASSIGN(caller.generation.value, Within("generation", wire.generation, 0, kNoLimit));
  TRY_ASSIGN(caller.epoch.value, Within("epoch", wire.epoch, 0, kNoLimit));
  TRY_ASSIGN(caller.token, CheckedToken(wire.token));
  return caller;
}

Result<Registration> FromThrift(const rpc::Registration& wire) {
  Registration what;
  TRY_ASSIGN(what.endpoint.host, Name("host", wire.host, kLongestName));
  TRY_ASSIGN(what.endpoint.port, IntWithin("port", wire.port, 1, 65535));
  TRY_ASSIGN(what.phase, CheckedPhase(wire.phase));
  TRY_ASSIGN(what.pid, CheckedPid(wire.pid));
  if (wire.ports.size() > kMostNamedPorts)
    return Bad("ports", StrCat(wire.ports.size(), ", expected at most ", kMostNamedPorts));
  for (const auto& [name, port] : wire.ports) {
    if (!IsPortName(name)) return Bad("ports", "a name that is none");
    TRY_ASSIGN(what.ports[name], IntWithin("ports." + name, port, 1, 65535));
  }
  return what;
}

Result<Progress> FromThrift(const rpc::Progress& wire) {
  Progress progress;
  TRY_ASSIGN(progress.phase, CheckedPhase(wire.phase));
  TRY_ASSIGN(progress.pid, CheckedPid(wire.pid));
  if (wire.__isset.usage) {
    TRY_ASSIGN(progress.usage, FromThrift(wire.usage));
  }
  return progress;
}

Result<Outcome> FromThrift(const rpc::TaskOutcome& wire) {
  const auto cls = OutcomeClassFromString(wire.outcome_class);
  if (!cls) return Bad("outcome_class", "unknown value");
  Outcome outcome;
  outcome.cls = *cls;
  TRY_ASSIGN(outcome.exit, CheckedExit(wire));
  TRY_ASSIGN(outcome.message, Text("message", wire.message));
  TRY_ASSIGN(outcome.stderr_tail, Text("stderr_tail", wire.stderr_tail));
  TRY_ASSIGN(outcome.stdout_tail, Text("stdout_tail", wire.stdout_tail));
  if (!wire.source.empty()) {
    const auto source = SourceFromString(wire.source);
    if (!source) return Bad("source", "unknown value");
    outcome.source = *source;
  }
  if (!wire.advice.empty()) {
    const auto advice = AdviceFromString(wire.advice);
    if (!advice) return Bad("advice", "unknown value");
    outcome.advice = *advice;
  }
  if (wire.__isset.usage) {
    TRY_ASSIGN(outcome.usage, FromThrift(wire.usage));
  }
  if (wire.__isset.process) {
    TRY_ASSIGN(outcome.process, IntWithin("process", wire.process, 0, kMostProcesses - 1));
  }
  return outcome;
}

Result<std::optional<KeptOutputs>> OutputsFromThrift(const rpc::TaskOutcome& wire) {
  if (!wire.__isset.outputs) return std::optional<KeptOutputs>();
  KeptOutputs outputs;
  TRY(NoLonger("outputs.text", wire.outputs.text, static_cast<size_t>(kLongestOutputs)));
  outputs.text = wire.outputs.text;
  TRY_ASSIGN(outputs.problem, Text("outputs.problem", wire.outputs.problem));
  TRY(NoLonger("outputs.left_out", wire.outputs.left_out, kLongestText));
  if (!wire.outputs.left_out.empty()) {
    auto left_out = OutputProblemsFromJson(wire.outputs.left_out);
    if (!left_out.ok()) return Bad("outputs.left_out", left_out.error().message);
    outputs.left_out = *std::move(left_out);
  }
  return std::optional(std::move(outputs));
}

Result<Command> FromThrift(const rpc::Command& wire) {
  Command command;
  TRY_ASSIGN(command.number, Within("number", wire.number, 0, kNoLimit));
  TRY_ASSIGN(command.kind, Known("kind", wire.kind, kCommandKinds));
  TRY_ASSIGN(command.generation.value, Within("generation", wire.generation, 0, kNoLimit));
  command.cluster_spec = wire.cluster_spec;
  TRY_ASSIGN(const int64_t grace, Within("grace_ms", wire.grace_ms, 0, kLongestGrace.count()));
  command.grace = Duration(grace);
  TRY_ASSIGN(command.attempt, IntWithin("attempt", wire.attempt, 0, kHighestInt));
  command.resume_from = wire.resume_from;
  command.reason = wire.reason;
  TRY_ASSIGN(command.logs, LogAsksFromThrift(wire));
  return command;
}

Result<Epoch> FromThrift(const rpc::Registered& wire) {
  TRY_ASSIGN(const int64_t epoch, Within("epoch", wire.epoch, 1, kNoLimit));
  return Epoch{epoch};
}

Refusal FromThrift(const rpc::Refused& wire) {
  const auto reason = Known("reason", wire.reason, kRefusalReasons);
  if (reason.ok()) return {*reason, wire.message};
  return {RefusalReason::kBadRequest, StrCat(reason.error().message, ": ", wire.message)};
}

Result<KillRequest> FromThrift(const rpc::KillOrder& wire) {
  KillRequest request;
  TRY_ASSIGN(request.reason, CheckedReason(wire.reason));
  TRY_ASSIGN(request.grace, CheckedGrace(wire.grace_ms));
  TRY_ASSIGN(request.if_owner.value, CheckedToken(wire.if_owner));
  TRY_ASSIGN(request.if_watcher.value, CheckedToken(wire.if_watcher));
  TRY_ASSIGN(const int64_t due, Within("due_ms", wire.due_ms, 0, kLatestDue));
  if (due > 0) request.due = FromMillis(due);
  TRY_ASSIGN(const int64_t delay, Within("delay_ms", wire.delay_ms, 0, kLatestDue));
  request.delay = Duration(delay);
  return request;
}

Result<KillAnswer> AnswerOf(const rpc::KillReply& wire) { return Known("answer", wire.answer, kKillAnswers); }

rpc::Caller ToThrift(const Caller& caller) {
  rpc::Caller wire;
  wire.__set_job(caller.job.value);
  wire.__set_role(caller.attempt.task.role);
  wire.__set_index(caller.attempt.task.index);
  wire.__set_attempt(caller.attempt.number);
  wire.__set_container(caller.container.value);
  wire.__set_generation(caller.generation.value);
  wire.__set_epoch(caller.epoch.value);
  wire.__set_token(caller.token);
  return wire;
}

rpc::Registration ToThrift(const Registration& what) {
  rpc::Registration wire;
  wire.__set_protocol(rpc::g_tony_constants.PROTOCOL_VERSION);
  wire.__set_host(what.endpoint.host);
  wire.__set_port(what.endpoint.port);
  wire.__set_phase(WireOf<rpc::Phase>(what.phase, kPhases));
  wire.__set_pid(what.pid);
  if (!what.ports.empty()) wire.__set_ports({what.ports.begin(), what.ports.end()});
  return wire;
}

rpc::Progress ToThrift(const Progress& progress) {
  rpc::Progress wire;
  wire.__set_phase(WireOf<rpc::Phase>(progress.phase, kPhases));
  wire.__set_pid(progress.pid);
  if (progress.usage) wire.__set_usage(ToThrift(*progress.usage));
  return wire;
}

rpc::TaskOutcome ToThrift(const Outcome& outcome) {
  rpc::TaskOutcome wire;
  wire.__set_outcome_class(std::string(ToString(outcome.cls)));
  if (outcome.exit && outcome.exit->kind == ExitStatus::Kind::kExited) wire.__set_exit_code(outcome.exit->value);
  if (outcome.exit && outcome.exit->kind == ExitStatus::Kind::kSignaled) wire.__set_signal(outcome.exit->value);
  wire.__set_message(outcome.message.substr(0, kLongestText));
  wire.__set_stderr_tail(EndOf(outcome.stderr_tail));
  wire.__set_stdout_tail(EndOf(outcome.stdout_tail));
  wire.__set_source(std::string(ToString(outcome.source)));
  wire.__set_advice(std::string(ToString(outcome.advice)));
  if (outcome.usage) wire.__set_usage(ToThrift(*outcome.usage));
  if (outcome.process) wire.__set_process(*outcome.process);
  return wire;
}

void AddOutputs(rpc::TaskOutcome& wire, const KeptOutputs& outputs) {
  rpc::KeptOutputs kept;
  kept.__set_text(outputs.text);
  kept.__set_problem(outputs.problem.substr(0, kLongestText));
  if (!outputs.left_out.empty()) kept.__set_left_out(LeftOutJson(outputs.left_out));
  wire.__set_outputs(kept);
}

rpc::Command ToThrift(const Command& command) {
  rpc::Command wire;
  wire.__set_number(command.number);
  wire.__set_kind(WireOf<rpc::CommandKind>(command.kind, kCommandKinds));
  wire.__set_generation(command.generation.value);
  wire.__set_cluster_spec(command.cluster_spec);
  wire.__set_grace_ms(command.grace.count());
  wire.__set_attempt(command.attempt);
  wire.__set_resume_from(command.resume_from);
  wire.__set_reason(command.reason);
  if (!command.logs.empty()) AddLogAsks(wire, command.logs);
  return wire;
}

rpc::Registered ToThrift(const Epoch& epoch) {
  rpc::Registered wire;
  wire.__set_epoch(epoch.value);
  return wire;
}

rpc::Refused ToThrift(const Refusal& refusal) {
  rpc::Refused wire;
  wire.__set_reason(WireOf<rpc::RefusalReason>(refusal.reason, kRefusalReasons));
  wire.__set_message(refusal.message);
  return wire;
}

rpc::StatusReply ToThrift(const StatusAnswer& answer) {
  rpc::StatusReply wire;
  wire.__set_seq(answer.seq);
  wire.__set_epoch(answer.epoch.value);
  wire.__set_ended(answer.ended);
  wire.__set_status(answer.status_json);
  return wire;
}

rpc::KillOrder ToThrift(const KillRequest& request) {
  rpc::KillOrder wire;
  wire.__set_reason(request.reason.substr(0, kLongestText));
  wire.__set_grace_ms(request.grace.count());
  wire.__set_if_owner(request.if_owner.value);
  wire.__set_if_watcher(request.if_watcher.value);
  wire.__set_due_ms(request.due == Instant{} ? 0 : ToMillis(request.due));
  wire.__set_delay_ms(request.delay.count());
  return wire;
}

rpc::KillReply ToThrift(const KillReply& reply) {
  rpc::KillReply wire;
  wire.__set_answer(WireOf<rpc::KillAnswer>(reply.answer, kKillAnswers));
  wire.__set_status(ToThrift(reply.status));
  return wire;
}

rpc::AttachReply ToThrift(const AttachReply& reply) {
  rpc::AttachReply wire;
  wire.__set_attached(reply.attached);
  wire.__set_status(ToThrift(reply.status));
  return wire;
}

Result<PublishedValues> CheckedValues(const std::map<std::string, std::string>& values) {
  if (values.size() > kMostPublishedValues)
    return Bad("values", StrCat(values.size(), ", expected at most ", kMostPublishedValues));
  for (const auto& [name, value] : values) {
    if (!IsValueName(name)) return Bad("values", "a name that is none");
    if (!IsPublishable(name, value)) return Bad("values." + name, "too long, or not plain text");
  }
  return values;
}

Result<int64_t> CheckedSince(int64_t since) { return Within("since", since, 0, kNoLimit); }

Result<std::string> CheckedToken(const std::string& token) {
  TRY(NoLonger("token", token, kLongestName));
  return token;
}

Result<std::string> CheckedReason(const std::string& reason) { return Text("reason", reason); }

Result<Duration> CheckedTimeout(int64_t timeout_ms) {
  TRY_ASSIGN(const int64_t timeout, Within("timeout_ms", timeout_ms, 0, kNoLimit));
  return std::min(Duration(timeout), kLongestWatch);
}

Result<Duration> CheckedWatchTimeout(int64_t timeout_ms) {
  TRY_ASSIGN(const int64_t timeout, Within("watch_timeout_ms", timeout_ms, 0, kLongestWatchTimeout.count()));
  return Duration(timeout);
}

Result<Duration> CheckedGrace(int64_t grace_ms) {
  TRY_ASSIGN(const int64_t grace, Within("grace_ms", std::max<int64_t>(grace_ms, -1), -1, kLongestGrace.count()));
  return Duration(grace);
}

}  // namespace tony
