#include "runtime/job/outcome_json.h"

#include <boost/json.hpp>

#include "runtime/job/usage_json.h"

namespace tony {

namespace json = boost::json;

namespace {

void WriteExit(json::object& out, const std::optional<ExitStatus>& exit) {
  if (exit) out[exit->kind == ExitStatus::Kind::kExited ? "exit_code" : "signal"] = exit->value;
}

std::optional<ExitStatus> ReadExit(JsonFields& fields) {
  if (fields.Has("exit_code")) {
    return ExitStatus{ExitStatus::Kind::kExited, static_cast<int>(fields.Int("exit_code", 0, kMaxCount))};
  }
  if (fields.Has("signal")) {
    return ExitStatus{ExitStatus::Kind::kSignaled, static_cast<int>(fields.Int("signal", 0, kMaxCount))};
  }
  return std::nullopt;
}

OutcomeClass ReadClass(JsonFields& fields) {
  const auto cls = OutcomeClassFromString(fields.String("class"));
  if (!cls) fields.Fail("class", "an outcome class");
  return cls.value_or(OutcomeClass::kInfra);
}

Advice ReadAdvice(JsonFields& fields) {
  const auto advice = AdviceFromString(fields.String("advice"));
  if (!advice) fields.Fail("advice", "none, transient or permanent");
  return advice.value_or(Advice::kNone);
}

// Absent: itself, or written by an earlier release.
Source ReadSource(JsonFields& fields) {
  if (!fields.Has("source")) return Source::kItself;
  const auto source = SourceFromString(fields.String("source"));
  if (!source) fields.Fail("source", "itself, peer or signal");
  return source.value_or(Source::kItself);
}

}  // namespace

TaskId ReadTask(JsonFields& fields) {
  const auto task = ParseTaskId(fields.String("task"));
  if (!task.ok()) fields.Fail("task", "a task such as worker:0");
  return task.ok() ? *task : TaskId{};
}

json::object OutcomeJson(const Outcome& outcome) {
  json::object out;
  out["class"] = ToString(outcome.cls);
  out["message"] = outcome.message;
  WriteExit(out, outcome.exit);
  if (outcome.process) out["process"] = *outcome.process;
  out["stderr_tail"] = outcome.stderr_tail;
  if (!outcome.stdout_tail.empty()) out["stdout_tail"] = outcome.stdout_tail;
  if (outcome.source != Source::kItself) out["source"] = ToString(outcome.source);
  if (outcome.advice != Advice::kNone) out["advice"] = ToString(outcome.advice);
  if (outcome.usage) out["usage"] = UsageJson(*outcome.usage);
  return out;
}

json::object VerdictJson(const Verdict& verdict) {
  json::object out;
  out["state"] = ToString(verdict.state);
  out["class"] = ToString(verdict.cls);
  out["retryable"] = IsRetryable(verdict.cls, verdict.advice);
  out["message"] = verdict.message;
  if (verdict.attempt) {
    out["task"] = ToString(verdict.attempt->task);
    out["attempt"] = verdict.attempt->number;
  }
  out["host"] = verdict.host;
  WriteExit(out, verdict.exit);
  out["stderr_tail"] = verdict.stderr_tail;
  if (!verdict.stdout_tail.empty()) out["stdout_tail"] = verdict.stdout_tail;
  if (verdict.advice != Advice::kNone) out["advice"] = ToString(verdict.advice);
  return out;
}

Result<Outcome> ReadOutcome(JsonFields fields) {
  Outcome outcome;
  outcome.cls = ReadClass(fields);
  outcome.message = fields.String("message");
  outcome.exit = ReadExit(fields);
  if (fields.Has("process")) outcome.process = static_cast<int>(fields.Int("process", 0, kMostProcesses - 1));
  outcome.stderr_tail = fields.String("stderr_tail");
  if (fields.Has("stdout_tail")) outcome.stdout_tail = fields.String("stdout_tail");
  outcome.source = ReadSource(fields);
  if (fields.Has("advice")) outcome.advice = ReadAdvice(fields);
  TRY(fields.status());
  if (fields.Has("usage")) {  // not measured, or written by an earlier release
    TRY_ASSIGN(outcome.usage, ReadUsage(fields.Fields("usage")));
  }
  return outcome;
}

Result<Verdict> ReadVerdict(JsonFields fields) {
  Verdict verdict;
  const auto state = FinalStateFromString(fields.String("state"));
  if (!state) fields.Fail("state", "SUCCEEDED, FAILED or KILLED");
  verdict.state = state.value_or(FinalState::kFailed);
  verdict.cls = ReadClass(fields);
  verdict.message = fields.String("message");
  if (fields.Has("task")) {
    verdict.attempt = AttemptId{ReadTask(fields), static_cast<int>(fields.Int("attempt", 0, kMaxCount))};
  }
  verdict.host = fields.String("host");
  verdict.exit = ReadExit(fields);
  verdict.stderr_tail = fields.String("stderr_tail");
  if (fields.Has("stdout_tail")) verdict.stdout_tail = fields.String("stdout_tail");
  if (fields.Has("advice")) verdict.advice = ReadAdvice(fields);
  TRY(fields.status());
  return verdict;
}

std::string ToJson(const Outcome& outcome) { return SerializeJson(OutcomeJson(outcome)); }

Result<Outcome> OutcomeFromJson(std::string_view text) {
  TRY_ASSIGN(const json::value document, ParseJson(text, "outcome"));
  auto outcome = ReadOutcome(JsonFields(document));
  if (!outcome.ok()) return Annotate(outcome.error(), "outcome");
  return outcome;
}

}  // namespace tony
