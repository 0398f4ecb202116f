// CRC-32 as gzip has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/records/decisions.h"

namespace tony {

uint32_t Crc32(std::string_view bytes);

// Avro's binary encoding and its object container file, as far as writing one needs them: no compression, a block for
// each 64 KiB. After the specification of Avro 1.11. Pure.
//
// Written here because Avro's C library keeps of a schema only what it understands: the avro.java.string that TonY's
// strings are tagged with, and the defaults, are not in the files it writes. It would have brought jansson, snappy,
// lzma and zlib into the programs, too.

// One value after the other, in the order of the schema.
class AvroRecord {
 public:
  AvroRecord& Long(int64_t value);  // also an int, the branch of a union, the number of an enum's symbol
  AvroRecord& Double(double value);
  AvroRecord& String(std::string_view value);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class AvroContainer {
 public:
  // `schema`: JSON. `sync`: 16 bytes that the content is unlikely to hold.
  AvroContainer(std::string_view schema, std::string sync);
  void Add(const AvroRecord& record);
  std::string Finish() &&;  // the file

 private:
  void EndBlock();

  const std::string sync_;
  std::string file_;
  std::string block_;
  int64_t in_block_ = 0;
};

// A job's history as TonY wrote it (.jhist): what its portal and Dr. Elephant read. Pure.
//
// TonY knew one start and one end of each task. Ours has one of each for every attempt, in the order of time: who takes
// the last of them for the task has the newest attempt.

// The records of TonY's schema, in the order of its fields.
struct JhistMetric {
  std::string name;
  double value = 0;
  bool operator==(const JhistMetric&) const = default;
};
struct JhistApplicationInited {
  std::string application;
  int tasks = 0;
  std::string host;
  bool operator==(const JhistApplicationInited&) const = default;
};
struct JhistApplicationFinished {
  std::string application;
  int finished_tasks = 0;  // failed ones, too
  int failed_tasks = 0;
  bool operator==(const JhistApplicationFinished&) const = default;
};
struct JhistTaskStarted {
  TaskId task;
  std::string host;
  std::string container;
  bool operator==(const JhistTaskStarted&) const = default;
};
struct JhistTaskFinished {
  TaskId task;
  std::string status;  // "SUCCEEDED", "FAILED" or "FINISHED": we stopped it
  std::vector<JhistMetric> metrics;
  std::string diagnostic;  // "NA" of a success
  bool operator==(const JhistTaskFinished&) const = default;
};
struct JhistEvent {
  Instant time;
  std::variant<JhistApplicationInited, JhistApplicationFinished, JhistTaskStarted, JhistTaskFinished> body;
  bool operator==(const JhistEvent&) const = default;
};

struct JhistJob {
  std::string application;  // its id
  Instant submitted;
  std::string host;  // where its application master ran
  int tasks = 0;
};

// `end`: the final status. Without one, or in a status without a verdict, the job still runs.
std::vector<JhistEvent> JhistEvents(const JhistJob& job, const std::vector<Decision>& decisions,
                                    const std::optional<JobStatus>& end);

// The file. `sync`: 16 random bytes.
std::string EncodeJhist(const std::vector<JhistEvent>& events, const std::string& sync);

std::string JhistSchema();  // Avro's JSON, namespace com.linkedin.tony.events

}  // namespace tony
