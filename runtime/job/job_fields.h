// Lists of fields (fields.h) of values that several documents contain: ids, addresses, outcomes and verdicts, usage,
// checkpoints, failure rules.
//
// Documents of earlier releases lack an outcome's `source` and `usage`, a usage's `quiet_ms`, and a checkpoint's
// `writer`.
#pragma once

#include "runtime/base/endpoint.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/failure_rules.h"
#include "runtime/job/fields.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony {

constexpr auto FormOf(const OutcomeClass& /*cls*/) {
  return TextForm{ToString<OutcomeClass>, FromName<OutcomeClass>, "an outcome class"};
}
constexpr auto FormOf(const TaskId& /*task*/) {
  constexpr auto from = [](std::string_view text) {
    auto task = ParseTaskId(text);
    return task.ok() ? std::optional(*std::move(task)) : std::nullopt;
  };
  return TextForm{[](const TaskId& task) { return ToString(task); }, from, "a task such as worker:0"};
}

constexpr auto FormOf(const Amount& /*amount*/) {
  return TextForm{[](const Amount& amount) { return ToString(amount); }, ParseAmount, "an amount such as 2 or 500M"};
}

void Fields(auto& io, Is<AttemptId> auto& attempt, int64_t least = 1) {
  io.Field("task", attempt.task);
  io.Field("attempt", attempt.number, Between{least, kMostCount});
}

void Fields(auto& io, Is<Endpoint> auto& endpoint) {
  io.Field("host", endpoint.host);
  io.Field("port", endpoint.port, Between{0, 65535});
}

void Fields(auto& io, Is<Resources> auto& resources) {
  io.Field("memory_mb", resources.memory_mb, AtLeast(1));
  io.Field("vcores", resources.vcores, Between{1, kMostCount});
  io.Field("gpus", resources.gpus);
}

void Fields(auto& io, Is<GpuUsage> auto& gpu) {
  io.Field("memory_bytes", gpu.memory_bytes);
  io.Field("most_memory_bytes", gpu.most_memory_bytes);
  io.Field("percent", gpu.percent, Between{0, 100});
  io.Field("mean_percent", gpu.mean_percent, Between{0, 100});
  io.Field("most_percent", gpu.most_percent, Between{0, 100});
}

void Fields(auto& io, Is<Usage> auto& usage) {
  io.Field("samples", usage.samples, Between{0, std::numeric_limits<int>::max()});
  io.Field("memory_bytes", usage.memory_bytes);
  io.Field("mean_memory_bytes", usage.mean_memory_bytes);
  io.Field("most_memory_bytes", usage.most_memory_bytes);
  io.Field("cpu_ms", usage.cpu);
  io.Field("millicores", usage.millicores);
  io.Field("most_millicores", usage.most_millicores);
  io.Field("elapsed_ms", usage.elapsed);
  io.Later("quiet_ms", usage.quiet);
  io.IfSet("gpu", usage.gpu);
}

// The exit of a process is the member "exit_code" or the member "signal". Both are missing if the exit was not
// observed.
void ExitFields(auto& io, auto& exit) {
  constexpr std::pair<const char*, ExitStatus::Kind> kKinds[] = {{"exit_code", ExitStatus::Kind::kExited},
                                                                 {"signal", ExitStatus::Kind::kSignaled}};
  for (const auto& [name, kind] : kKinds) {
    if (!io.Present(name, exit && exit->kind == kind)) continue;
    if constexpr (std::remove_reference_t<decltype(io)>::kReads) exit = ExitStatus{kind, 0};
    return io.Field(name, exit->value);
  }
}

void FieldsWithoutUsage(auto& io, Is<Outcome> auto& outcome) {
  io.Field("class", outcome.cls);
  io.Field("message", outcome.message);
  ExitFields(io, outcome.exit);
  io.IfSet("process", outcome.process, Between{0, kMostProcesses - 1});
  io.Field("stderr_tail", outcome.stderr_tail);
  io.IfSet("stdout_tail", outcome.stdout_tail);
  io.IfSet("source", outcome.source);
  io.IfSet("advice", outcome.advice);
  io.IfSet("outputs", outcome.outputs);
}

void Fields(auto& io, Is<Outcome> auto& outcome) {
  FieldsWithoutUsage(io, outcome);
  io.IfSet("usage", outcome.usage);
}

void Fields(auto& io, Is<Verdict> auto& verdict) {
  io.Field("state", verdict.state);
  io.Field("class", verdict.cls);
  io.Derived("retryable", IsRetryable(verdict.cls, verdict.advice));
  io.Field("message", verdict.message);
  if (io.Present("task", verdict.attempt.has_value())) Fields(io, Value(verdict.attempt), 0);
  io.Field("host", verdict.host);
  ExitFields(io, verdict.exit);
  io.Field("stderr_tail", verdict.stderr_tail);
  io.IfSet("stdout_tail", verdict.stdout_tail);
  io.IfSet("advice", verdict.advice);
}

void Fields(auto& io, Is<Checkpoint> auto& checkpoint) {
  io.Field("path", checkpoint.path);
  io.Field("step", checkpoint.step, AtLeast(-1));
  io.Field("modified", checkpoint.modified, kAnyNumber);
  io.Later("writer", checkpoint.writer, Plain{}, CheckpointWriter::kUnknown);
}

void Fields(auto& io, Is<ListedCheckpoint> auto& entry) {
  io.Field("name", entry.name);
  io.Field("inode", entry.inode, kAnyNumber);
  io.Field("bytes", entry.bytes);
  io.Field("modified_ns", entry.modified_ns, kAnyNumber);
  io.IfSet("earlier_job", entry.earlier_job);
}

void Fields(auto& io, Is<CheckpointListing> auto& listing) {
  io.Field("folder", listing.folder);
  io.IfSet("unknown", listing.unknown);
  io.IfSet("earlier_job", listing.earlier_job);
  io.IfSet("newest", listing.newest);
  io.Field("there", listing.there);
}

// `full_disk` and `source` are written and never read. Only built-in rules have them, and built-in rules are not read
// from documents.
void Fields(auto& io, Is<FailureRule> auto& rule) {
  io.Field("name", rule.name);
  io.IfSet("exit_code", rule.exit_code, Between{0, 255});
  io.IfSet("signal", rule.signal, Between{1, 64});
  io.IfSet("scheduler_status", rule.scheduler_status, Between{-1'000'000, 1'000'000});
  io.IfSet("oom", rule.oom);
  if (rule.full_disk) io.Derived("full_disk", true);
  io.IfSet("pattern", rule.pattern);
  io.Field("class", rule.cls);
  io.Field("advice", rule.advice);
  if (rule.source != Source::kItself) io.Derived("source", rule.source);
  io.Field("meaning", rule.meaning);
  io.Field("remedy", rule.remedy);
}

}  // namespace tony
