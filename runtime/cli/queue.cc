#include "runtime/cli/queue.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/cli/error_json.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/choose_backend.h"
#include "runtime/job/json_fields.h"

namespace tony {
namespace {

namespace json = boost::json;

constexpr size_t kLeastName = 8, kLeastWhy = 12;  // columns

std::string Numbers(const std::vector<int>& numbers) {
  std::vector<std::string> texts;
  for (const int number : numbers) texts.push_back(StrCat(number));
  return Join(texts, ",");
}

std::string_view State(const QueuedJob& job) { return job.runs ? "running" : "waiting"; }

std::string ProcessCell(const QueuedJob& job) { return job.process > 0 ? StrCat(job.process) : std::string("-"); }

// Which GPUs a job has, or how many it asks for.
std::string GpuCell(const QueuedJob& job) {
  return job.held_gpus.empty() ? StrCat(job.gpus) : StrCat(job.gpus, " (", Numbers(job.held_gpus), ")");
}

std::string Percent(double share) { return StrCat(static_cast<int64_t>(share * 100 + 0.5), " %"); }

std::string_view State(const QueueShare& queue) {
  return !queue.takes_jobs ? "-" : queue.is_open ? "open" : "closed to you";
}

// A cluster's queues, and the jobs in them.
std::string ClusterTable(const QueueView& cluster, Instant now, const TableRoom& room) {
  std::string text = Fitted(StrCat("cluster ", SafeLine(cluster.place), ": ", cluster.free_memory_mb, " of ",
                                   cluster.memory_mb, " MB of memory and ", cluster.free_cores, " of ", cluster.cores,
                                   " vcores are free on ", Counted(cluster.nodes, "node"), "\n"),
                            room);
  TextTable queues({{"QUEUE", 0, false, kLeastName},
                    {"STATE", 2},
                    {"SHARE", 4, true},
                    {"MOST", 4, true},
                    {"USED", 3, true},
                    {"RUNNING", 1, true},
                    {"WAITING", 1, true}});
  for (const QueueShare& queue : cluster.queues) {
    queues.Add({SafeLine(queue.name), std::string(State(queue)), Percent(queue.guaranteed), Percent(queue.most),
                Percent(queue.used), StrCat(queue.running), StrCat(queue.waiting)});
  }
  text += queues.Text(room);
  if (cluster.jobs.empty()) return text + "no jobs\n";
  TextTable jobs({{"POS", 0, true},
                  {"JOB"},
                  {"USER", 2, false, kLeastName},
                  {"QUEUE", 3, false, kLeastName},
                  {"STATE"},
                  {"SINCE", 4},
                  {"MEMORY", 5, true},
                  {"CORES", 6, true},
                  {"GPUS", 6, true},
                  {"WHY", 1, false, kLeastWhy}});
  int64_t position = 0;
  for (const QueuedJob& job : cluster.jobs) {
    jobs.Add({StrCat(++position), job.job.value, SafeLine(job.user), SafeLine(job.queue), std::string(State(job)),
              HumanDuration(now - job.since), StrCat(job.memory_mb, " MB"), StrCat(job.vcores), StrCat(job.gpus),
              job.runs ? "-" : SafeLine(job.why)});
  }
  return text + jobs.Text(room);
}

std::string Table(const QueueView& queue, Instant now, const TableRoom& room) {
  std::string text = Fitted(StrCat(queue.free_memory_mb, " of ", queue.memory_mb, " MB of memory and ",
                                   queue.free_gpus.size(), " of ", queue.gpus.size(), " GPUs are free\n"),
                            room);
  if (queue.jobs.empty()) return text + "no jobs\n";
  TextTable jobs({{"POS", 0, true},
                  {"JOB"},
                  {"USER", 2, false, kLeastName},
                  {"PROCESS", 6, true},
                  {"STATE"},
                  {"SINCE", 3},
                  {"MEMORY", 4, true},
                  {"CORES", 5, true},
                  {"GPUS", 5},
                  {"WHY", 1, false, kLeastWhy}});
  int64_t position = 0;
  for (const QueuedJob& job : queue.jobs) {
    jobs.Add({StrCat(++position), job.job.value, SafeLine(job.user), ProcessCell(job), std::string(State(job)),
              HumanDuration(now - job.since), StrCat(job.memory_mb, " MB"), StrCat(job.vcores), GpuCell(job),
              job.runs ? "-" : SafeLine(job.why)});
  }
  return text + jobs.Text(room);
}

json::array ToJson(const std::vector<int>& numbers) { return json::array(numbers.begin(), numbers.end()); }

json::array JobsJson(const std::vector<QueuedJob>& queued) {
  json::array jobs;
  for (const QueuedJob& job : queued) {
    const std::string_view state = State(job);
    jobs.push_back(json::object{{"position", jobs.size() + 1},
                                {"job", job.job.value},
                                {"user", job.user},
                                {"process", job.process},
                                {"state", json::string_view(state.data(), state.size())},
                                {"priority", job.priority},
                                {"memory_mb", job.memory_mb},
                                {"vcores", job.vcores},
                                {"gpus", job.gpus},
                                {"held_gpus", ToJson(job.held_gpus)},
                                {"since", ToIso8601(job.since)},
                                {"why", job.why}});
  }
  return jobs;
}

json::object ClusterJson(const QueueView& cluster) {
  json::array queues, jobs;
  for (const QueueShare& queue : cluster.queues) {
    queues.push_back(json::object{{"name", queue.name},
                                  {"takes_jobs", queue.takes_jobs},
                                  {"open", queue.is_open},
                                  {"share", queue.guaranteed},
                                  {"most", queue.most},
                                  {"used", queue.used},
                                  {"running", queue.running},
                                  {"waiting", queue.waiting}});
  }
  for (const QueuedJob& job : cluster.jobs) {
    const std::string_view state = State(job);
    jobs.push_back(json::object{{"position", jobs.size() + 1},
                                {"job", job.job.value},
                                {"user", job.user},
                                {"queue", job.queue},
                                {"state", json::string_view(state.data(), state.size())},
                                {"priority", job.priority},
                                {"memory_mb", job.memory_mb},
                                {"vcores", job.vcores},
                                {"gpus", job.gpus},
                                {"since", ToIso8601(job.since)},
                                {"why", job.why}});
  }
  return {{"resourcemanager", cluster.place},
          {"nodes", cluster.nodes},
          {"memory_mb", cluster.memory_mb},
          {"free_memory_mb", cluster.free_memory_mb},
          {"vcores", cluster.cores},
          {"free_vcores", cluster.free_cores},
          {"queues", queues},
          {"jobs", jobs}};
}

std::string ToJson(const QueueView& queue, const std::vector<QueueView>& clusters) {
  const json::object machine = {{"memory_mb", queue.memory_mb}, {"cores", queue.cores}, {"gpus", ToJson(queue.gpus)}};
  const json::object free = {{"memory_mb", queue.free_memory_mb}, {"gpus", ToJson(queue.free_gpus)}};
  json::array doubts, blockers, warnings;
  for (const DoubtedJob& doubted : queue.doubted)
    doubts.push_back(json::object{{"file", doubted.file}, {"user", doubted.user}, {"why", doubted.why}});
  for (const QueueBlocker& blocker : queue.blockers)
    blockers.push_back(json::object{{"process", blocker.process}, {"user", blocker.user}, {"name", blocker.name}});
  for (const std::string& warning : queue.warnings) warnings.emplace_back(warning);
  json::array others;
  for (const QueueView& cluster : clusters) others.push_back(ClusterJson(cluster));
  return SerializeJson(json::object{{"schema", 1},
                                    {"clusters", others},
                                    {"ledger", queue.place},
                                    {"private", queue.is_private},
                                    {"machine", machine},
                                    {"free", free},
                                    {"jobs", JobsJson(queue.jobs)},
                                    {"dead", queue.dead},
                                    {"not_believed", doubts},
                                    {"lock_holders", blockers},
                                    {"warnings", warnings}});
}

}  // namespace

Result<int> RunQueue(const CommandLine& line) {
  TRY_ASSIGN(const TableRoom room, RoomOnStandardOutput(line));
  std::vector<QueueView> views;  // this machine's first
  const auto add = [&](const Backend& backend) -> Status {
    TRY_ASSIGN(QueueView view, backend.operations().Queue());
    views.push_back(std::move(view));
    return Ok();
  };
  TRY_ASSIGN(const auto failure, VisitConfigured(add));
  const QueueView& machine = views.front();
  const std::vector<QueueView> clusters(views.begin() + 1, views.end());
  if (line.Has("json")) {
    const std::string document = ToJson(machine, clusters);
    if (failure) return FailWith(*failure, document);
    PrintLine(document);
    return 0;
  }
  for (const std::string& warning : machine.warnings) Say(StrCat("tony: warning: ", warning));
  const Instant now = RealClock().Now();
  PrintAsIs(Table(machine, now, room));
  for (const QueueView& cluster : clusters) PrintAsIs(ClusterTable(cluster, now, room));
  if (failure) return *failure;
  return 0;
}

}  // namespace tony
