#include "runtime/history/jhist.h"

#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"
#include "runtime/history/avro.h"

namespace tony {
namespace {

// The numbers of the enum's symbols and of the unions' branches, in the order of the schema.
enum EventType : int64_t { kApplicationInited, kApplicationFinished, kTaskStarted, kTaskFinished };
enum EventBranch : int64_t { kInitedBranch, kFinishedBranch, kTaskStartedBranch, kTaskFinishedBranch };
enum OptionalBranch : int64_t { kNull, kPresent };

void Write(AvroRecord& record, const JhistApplicationInited& e) {
  record.Long(kApplicationInited).Long(kInitedBranch).String(e.application).Long(e.tasks).String(e.host).Long(kNull);
}

// An array is a block of so many items, unless it is empty, and a 0.
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

}  // namespace

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

}  // namespace tony
