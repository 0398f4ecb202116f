// `tony history`: what the journal of a job tells; needs no process of the job. With --json:
//
//   {"schema":1,"job":...,"name":...,"state":...,"epoch":2,"generation":1,"submitted":...,"ended":...,"verdict":{...},
//    "time":{"waiting_ms":...,"running_ms":...,"restarting_ms":...,"stopping_ms":...,"total_ms":...},
//    "attempts":[{"task":"worker:0","attempt":1,"host":...,"started":...,"ended":...,"outcome":{...}}],
//    "restarts":[{"restart":1,"time":...,"scope":"gang","task":...,"attempt":...,"reason":...,"charged":true,
//                 "tasks":[...],"began":...}],
//    "torn_bytes":0,
//    "events":[{"time":...,"decision":"epoch_began",...}]}    --events only; as in the journal, times in ms
//
// Verdicts are as in `tony status --json`, outcomes too, with what the attempt used in them: "usage". The table has its
// memory on average and at most, and its cores on average. The parts of "time" add up to "total_ms", which is from
// "submitted" to "ended", or to now.
#include "runtime/journal/history.h"

#include <boost/json.hpp>
#include <cstdio>

#include "runtime/base/strings.h"
#include "runtime/client/commands.h"
#include "runtime/client/job_access.h"
#include "runtime/client/output.h"
#include "runtime/client/progress.h"
#include "runtime/client/task_text.h"
#include "runtime/job/json_fields.h"
#include "runtime/job/outcome_json.h"
#include "runtime/journal/describe.h"
#include "runtime/journal/journal_format.h"
#include "runtime/store/files.h"

namespace tony {
namespace {

namespace json = boost::json;

struct Told {
  JobStatus status;
  std::vector<Decision> decisions;
  size_t torn_bytes = 0;
  JobHistory history;
};

std::string After(Instant time, Instant start) { return StrCat("+", HumanDuration(time - start)); }

std::string Cell(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text + "  ";
}

// Short jobs spend milliseconds in some of these.
std::string Exact(Duration length) {
  if (length >= std::chrono::minutes(1)) return HumanDuration(length);
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(length.count()) / 1000);
  return text;
}

std::string TimeText(const TimeLedger& time) {
  return StrCat("  time: waiting ", Exact(time.waiting), ", running ", Exact(time.running), ", restarting ",
                Exact(time.restarting), ", stopping ", Exact(time.stopping), "\n");
}

std::string RestartText(const RestartHistory& restart, Instant start) {
  const RestartDecided& d = restart.decided;
  const std::string began =
      restart.began ? StrCat(", began after ", HumanDuration(*restart.began - restart.time)) : ", never began";
  return StrCat("  restart ", d.number, " (", ToString(d.scope), d.charged ? "" : ", not charged", ") ",
                After(restart.time, start), began, ": ", d.reason, "\n");
}

// Of what an attempt used: memory on average and at most ("312/340 MB"), cores on average ("98%").
std::string UsageCells(const AttemptHistory& attempt) {
  TaskStatus memory, cpu;
  if (attempt.outcome) memory.usage = cpu.usage = attempt.outcome->usage;
  if (memory.usage) memory.usage->memory_bytes = memory.usage->mean_memory_bytes;
  cpu.ended = attempt.ended;
  return Cell(MemoryText(memory), 14) + Cell(CpuText(cpu), 5);
}

std::string AttemptTable(const JobHistory& history, Instant start) {
  std::string table = StrCat("  ", Cell("ATTEMPT", 12), Cell("STARTED", 12), Cell("RAN", 12), Cell("MEMORY", 14),
                             Cell("CPU", 5), Cell("HOST", 12), "OUTCOME\n");
  for (const AttemptHistory& attempt : history.attempts) {
    const bool ran = attempt.started && attempt.ended;
    table +=
        StrCat("  ", Cell(ToString(attempt.id), 12), Cell(attempt.started ? After(*attempt.started, start) : "-", 12),
               Cell(ran ? HumanDuration(*attempt.ended - *attempt.started) : "-", 12), UsageCells(attempt),
               Cell(attempt.host.empty() ? "-" : attempt.host, 12),
               attempt.outcome ? Describe(*attempt.outcome) : "not ended", "\n");
  }
  return table;
}

std::string EventText(const Told& told) {
  std::string text;
  const Instant start = told.decisions.empty() ? Instant() : told.decisions.front().time;
  for (const Decision& decision : told.decisions) text += EventLine(decision, start) + "\n";
  return text;
}

std::string Summary(const Told& told) {
  const JobStatus& status = told.status;
  const std::string length = HumanDuration(told.history.time.Total());
  std::string text = StrCat("job ", status.job.value, " ", status.state, HasEnded(status) ? " after " : " for ", length,
                            ": ", status.name, ", ", status.framework, "\n");
  if (HasEnded(status) && status.verdict->state != FinalState::kSucceeded)
    text += StrCat("  first cause: ", status.verdict->message, "\n");
  if (!status.trouble.empty()) text += StrCat("  trouble: ", status.trouble, "\n");
  text += StrCat("  application masters: ", told.history.epoch.value, ", generations: ", told.history.generation.value,
                 "\n", TimeText(told.history.time));
  for (const RestartHistory& restart : told.history.restarts) text += RestartText(restart, status.submitted);
  return text + AttemptTable(told.history, status.submitted);
}

void WriteTime(json::object& out, std::string_view name, const std::optional<Instant>& time) {
  if (time) out[name] = ToIso8601(*time);
}

json::object AttemptJson(const AttemptHistory& attempt) {
  json::object out;
  out["task"] = ToString(attempt.id.task);
  out["attempt"] = attempt.id.number;
  out["host"] = attempt.host;
  WriteTime(out, "started", attempt.started);
  WriteTime(out, "ended", attempt.ended);
  if (attempt.outcome) out["outcome"] = OutcomeJson(*attempt.outcome);
  return out;
}

json::object RestartJson(const RestartHistory& restart) {
  const RestartDecided& d = restart.decided;
  json::object out;
  out["restart"] = d.number;
  WriteTime(out, "time", restart.time);
  out["scope"] = ToString(d.scope);
  out["task"] = ToString(d.cause.task);
  out["attempt"] = d.cause.number;
  out["reason"] = d.reason;
  out["charged"] = d.charged;
  json::array tasks;
  for (const TaskId& task : d.tasks) tasks.emplace_back(ToString(task));
  out["tasks"] = std::move(tasks);
  WriteTime(out, "began", restart.began);
  return out;
}

json::object TimeJson(const TimeLedger& time) {
  json::object out;
  out["waiting_ms"] = time.waiting.count();
  out["running_ms"] = time.running.count();
  out["restarting_ms"] = time.restarting.count();
  out["stopping_ms"] = time.stopping.count();
  out["total_ms"] = time.Total().count();
  return out;
}

Result<json::array> EventsJson(const std::vector<Decision>& decisions) {
  json::array events;
  for (const Decision& decision : decisions) {
    TRY_ASSIGN(json::value event, ParseJson(ToJson(decision), "decision"));
    events.push_back(std::move(event));
  }
  return events;
}

Result<std::string> Document(const Told& told, bool with_events) {
  const JobStatus& status = told.status;
  json::object out;
  out["schema"] = 1;
  out["job"] = status.job.value;
  out["name"] = status.name;
  out["state"] = status.state;
  out["epoch"] = told.history.epoch.value;
  out["generation"] = told.history.generation.value;
  WriteTime(out, "submitted", status.submitted);
  WriteTime(out, "ended", status.ended);
  if (status.verdict) out["verdict"] = VerdictJson(*status.verdict);
  out["time"] = TimeJson(told.history.time);
  json::array attempts, restarts;
  for (const AttemptHistory& attempt : told.history.attempts) attempts.push_back(AttemptJson(attempt));
  for (const RestartHistory& restart : told.history.restarts) restarts.push_back(RestartJson(restart));
  out["attempts"] = std::move(attempts);
  out["restarts"] = std::move(restarts);
  out["torn_bytes"] = told.torn_bytes;
  if (with_events) {
    TRY_ASSIGN(out["events"], EventsJson(told.decisions));
  }
  return SerializeJson(out);
}

// The journal first: a job may end while we read, and its end must then be in the status.
Result<Told> Read(const JobFolder& folder) {
  Told told;
  auto bytes = ReadFile(folder.journal());
  if (!bytes.ok() && bytes.error().code != ErrorCode::kNotFound) return bytes.error();
  if (bytes.ok()) {  // else no AM has ruled yet
    Result<DecodedJournal> journal = DecodeJournal(*bytes);
    if (!journal.ok()) return Annotate(journal.error(), folder.journal().string());
    told.decisions = std::move(journal->decisions);
    told.torn_bytes = bytes->size() - journal->valid_bytes;
  }
  TRY_ASSIGN(told.status, StoredStatus(folder));
  const Instant until = told.status.ended.value_or(RealClock().Now());
  told.history = HistoryOf(told.decisions, told.status.submitted, until);
  return told;
}

}  // namespace

Result<int> RunHistory(const CommandLine& line) {
  TRY_ASSIGN(const JobFolder folder, FindJob(line.words().front()));
  TRY_ASSIGN(const Told told, Read(folder));
  const bool events = line.Has("events");
  if (line.Has("json")) {
    TRY_ASSIGN(const std::string document, Document(told, events));
    PrintLine(document);
    return 0;
  }
  Print(events ? EventText(told) : Summary(told));
  if (told.torn_bytes > 0)
    Say(StrCat("tony: the last ", told.torn_bytes, " bytes of the journal are an append that was not finished"));
  return 0;
}

}  // namespace tony
