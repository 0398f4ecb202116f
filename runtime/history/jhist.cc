#include "runtime/history/jhist.h"

#include <zlib.h>

#include <bit>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/records/decisions.h"

namespace tony {
namespace {

constexpr size_t kBlockBytes = 64 * 1024;
constexpr size_t kSyncBytes = 16;

// The numbers of the enum's symbols and of the unions' branches, in the order of the schema.
enum EventType : int64_t { kApplicationInited, kApplicationFinished, kTaskStarted, kTaskFinished };
enum EventBranch : int64_t { kInitedBranch, kFinishedBranch, kTaskStartedBranch, kTaskFinishedBranch };
enum OptionalBranch : int64_t { kNull, kPresent };

void Write(AvroRecord& record, const JhistApplicationInited& e) {
  record.Long(kApplicationInited).Long(kInitedBranch).String(e.application).Long(e.tasks).String(e.host).Long(kNull);
}

// In Avro, a non-empty array is written as the number of its items, the items, and a 0. An empty array is only the 0.
void WriteMetrics(AvroRecord& record, const std::vector<JhistMetric>& metrics) {
  if (!metrics.empty()) record.Long(static_cast<int64_t>(metrics.size()));
  for (const JhistMetric& metric : metrics) record.String(metric.name).Double(metric.value);
  record.Long(0);
}

void Write(AvroRecord& record, const JhistApplicationFinished& e) {
  record.Long(kApplicationFinished).Long(kFinishedBranch).String(e.application).Long(e.finished_tasks);
  record.Long(e.failed_tasks);
  WriteMetrics(record, {});
}

void Write(AvroRecord& record, const JhistTaskStarted& e) {
  record.Long(kTaskStarted).Long(kTaskStartedBranch).String(e.task.role).Long(e.task.index).String(e.host);
  record.Long(kPresent).String(e.container);
}

void Write(AvroRecord& record, const JhistTaskFinished& e) {
  record.Long(kTaskFinished).Long(kTaskFinishedBranch).String(e.task.role).Long(e.task.index).String(e.status);
  WriteMetrics(record, e.metrics);
  record.Long(kPresent).String(ReplaceInvalidUtf8(e.diagnostic));
}

std::vector<JhistMetric> Metrics(const std::optional<Usage>& usage) {
  std::vector<JhistMetric> metrics;
  if (!usage) return metrics;
  metrics.push_back({"MAX_MEMORY_BYTES", static_cast<double>(usage->most_memory_bytes)});
  metrics.push_back({"AVG_MEMORY_BYTES", static_cast<double>(usage->mean_memory_bytes)});
  if (!usage->gpu) return metrics;
  metrics.push_back({"MAX_GPU_UTILIZATION", static_cast<double>(usage->gpu->most_percent)});
  metrics.push_back({"AVG_GPU_UTILIZATION", static_cast<double>(usage->gpu->mean_percent)});
  return metrics;
}

// Returns TonY's word for the outcome. The word is FINISHED if TonY itself stopped the task, because such a task has
// not failed.
std::string StatusWord(const Outcome& outcome) {
  if (outcome.Succeeded()) return "SUCCEEDED";
  return outcome.cls == OutcomeClass::kKilled ? "FINISHED" : "FAILED";
}

class Teller {
 public:
  explicit Teller(const JhistJob& job) {
    events_.push_back({job.submitted, JhistApplicationInited{job.application, job.tasks, job.host}});
  }

  void Tell(const Decision& decision) {
    std::visit([&](const auto& body) { On(body, decision.time); }, decision.body);
  }

  // Returns the events. If no AM saw the exit of a task, the journal does not contain the exit. The task then counts as
  // ended together with the job.
  std::vector<JhistEvent> Finish(const JhistJob& job, const std::optional<JobStatus>& end) && {
    if (!end || !end->verdict || !end->ended) return std::move(events_);
    JhistApplicationFinished finished{job.application};
    for (const TaskStatus& task : end->tasks) {
      if (!task.outcome) continue;
      if (Starts({task.id, task.attempt}) && !ended_.contains({task.id, task.attempt}))
        End({task.id, task.attempt}, *task.outcome, *end->ended);
      ++finished.finished_tasks;
      if (StatusWord(*task.outcome) == "FAILED") ++finished.failed_tasks;
    }
    events_.push_back({*end->ended, finished});
    return std::move(events_);
  }

 private:
  void On(const ContainerAssigned& d, Instant) {
    containers_[d.attempt] = d.container;
    hosts_[d.container] = d.host;
  }
  void On(const AttemptLaunched& d, Instant time) { Start(d.attempt, time); }
  // The journal may contain an executor's registration before its launch. The first of these two events is the start.
  void On(const AttemptRegistered& d, Instant time) { Start(d.attempt, time); }
  // A renewed attempt starts here. No launch is recorded for it, because it runs in the executor of the previous
  // attempt.
  void On(const RestartBegan& d, Instant time) {
    for (const RenewedAttempt& renewed : d.renewed) {
      containers_[renewed.attempt] = renewed.container;
      Start(renewed.attempt, time);
    }
  }
  void On(const AttemptEnded& d, Instant time) {
    if (Starts(d.attempt) && !ended_.contains(d.attempt)) End(d.attempt, d.outcome, time);
  }
  template <class Other>
  void On(const Other&, Instant) {}  // TonY has no such event

  bool Starts(const AttemptId& attempt) const { return started_.contains(attempt); }
  void Start(const AttemptId& attempt, Instant time) {
    if (!started_.insert(attempt).second) return;
    const ContainerId& container = containers_[attempt];
    events_.push_back({time, JhistTaskStarted{attempt.task, hosts_[container], container.value}});
  }
  // Must be called only for an attempt that has started. Dr. Elephant would show an attempt without a start as running
  // since 1970.
  void End(const AttemptId& attempt, const Outcome& outcome, Instant time) {
    ended_.insert(attempt);
    events_.push_back({time, JhistTaskFinished{attempt.task, StatusWord(outcome), Metrics(outcome.usage),
                                               outcome.Succeeded() ? "NA" : Describe(outcome)}});
  }

  std::vector<JhistEvent> events_;
  std::map<AttemptId, ContainerId> containers_;
  std::map<ContainerId, std::string> hosts_;
  std::set<AttemptId> started_, ended_;
};

}  // namespace

uint32_t Crc32(std::string_view bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Avro's zig-zag encoding has seven bits per byte, the lowest bits first.
AvroRecord& AvroRecord::Long(int64_t value) {
  uint64_t rest = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  for (; rest >= 0x80; rest >>= 7) bytes_.push_back(static_cast<char>(rest | 0x80));
  bytes_.push_back(static_cast<char>(rest));
  return *this;
}

AvroRecord& AvroRecord::Double(double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  for (int i = 0; i < 8; ++i, bits >>= 8) bytes_.push_back(static_cast<char>(bits));
  return *this;
}

AvroRecord& AvroRecord::String(std::string_view value) {
  Long(static_cast<int64_t>(value.size()));
  bytes_.append(value);
  return *this;
}

AvroContainer::AvroContainer(std::string_view schema, std::string sync) : sync_(std::move(sync)) {
  CHECK(sync_.size() == kSyncBytes);
  // The metadata is a map of two entries, which ends with a 0.
  AvroRecord metadata;
  metadata.Long(2).String("avro.schema").String(schema).String("avro.codec").String("null").Long(0);
  file_ = "Obj\1" + metadata.bytes() + sync_;
}

void AvroContainer::Add(const AvroRecord& record) {
  block_ += record.bytes();
  ++in_block_;
  if (block_.size() >= kBlockBytes) EndBlock();
}

std::string AvroContainer::Finish() && {
  EndBlock();
  return std::move(file_);
}

void AvroContainer::EndBlock() {
  if (in_block_ == 0) return;
  AvroRecord block;
  block.Long(in_block_).String(block_);  // length, then bytes
  file_ += block.bytes() + sync_;
  block_.clear();
  in_block_ = 0;
}

std::string EncodeJhist(const std::vector<JhistEvent>& events, const std::string& sync) {
  AvroContainer container(JhistSchema(), sync);
  for (const JhistEvent& event : events) {
    AvroRecord record;
    std::visit([&](const auto& body) { Write(record, body); }, event.body);
    container.Add(record.Long(ToMillis(event.time)));
  }
  return std::move(container).Finish();
}

std::string JhistSchema() {
  const std::string_view text = R"({"type":"string","avro.java.string":"String"})";
  const std::string optional = StrCat(R"({"type":["null",)", text, R"(],"default":null)");
  return StrCat(
      R"({"type":"record","name":"Event","namespace":"com.linkedin.tony.events","fields":[)",
      R"({"name":"type","type":{"type":"enum","name":"EventType",)",
      R"("symbols":["APPLICATION_INITED","APPLICATION_FINISHED","TASK_STARTED","TASK_FINISHED"]}},)",
      R"({"name":"event","type":[)",
      R"({"type":"record","name":"ApplicationInited","fields":[{"name":"applicationId","type":)", text,
      R"(},{"name":"numTasks","type":"int"},{"name":"host","type":)", text, "},", optional,
      R"(,"name":"containerID"}]},)",
      R"({"type":"record","name":"ApplicationFinished","fields":[{"name":"applicationId","type":)", text,
      R"(},{"name":"finishedTasks","type":"int"},{"name":"failedTasks","type":"int"},{"name":"metrics","type":)",
      R"({"type":"array","items":{"type":"record","name":"Metric","fields":[{"name":"name","type":)", text,
      R"(},{"name":"value","type":"double"}]}}}]},)",
      R"({"type":"record","name":"TaskStarted","fields":[{"name":"taskType","type":)", text,
      R"(},{"name":"taskIndex","type":"int"},{"name":"host","type":)", text, "},", optional,
      R"(,"name":"containerID"}]},)", R"({"type":"record","name":"TaskFinished","fields":[{"name":"taskType","type":)",
      text, R"(},{"name":"taskIndex","type":"int"},{"name":"status","type":)", text,
      R"(},{"name":"metrics","type":{"type":"array","items":"Metric"}},)", optional,
      R"(,"name":"containerDiagnostic"}]}]},{"name":"timestamp","type":"long"}]})");
}

std::vector<JhistEvent> JhistEvents(const JhistJob& job, const std::vector<Decision>& decisions,
                                    const std::optional<JobStatus>& end) {
  Teller teller(job);
  for (const Decision& decision : decisions) teller.Tell(decision);
  return std::move(teller).Finish(job, end);
}

}  // namespace tony
