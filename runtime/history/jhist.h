// CRC-32 as in gzip, an encoder for Avro files, and a job's history in TonY's format (.jhist).
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

// Avro's binary encoding and object container file, as far as writing needs them: no compression, one block per 64 KiB.
// The code follows the specification of Avro 1.11, and is pure.
//
// Avro's C library is not used, because it keeps only the parts of a schema that it understands. The schema in its
// files would lack the default values, and the property avro.java.string that TonY's strings have. The library would
// also bring jansson, snappy, lzma and zlib into the programs.

// Encodes values one after the other, in the order of the schema.
class AvroRecord {
 public:
  // Appends a long. Avro encodes an int, the branch of a union and the number of an enum's symbol in the same way.
  AvroRecord& Long(int64_t value);
  AvroRecord& Double(double value);
  AvroRecord& String(std::string_view value);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class AvroContainer {
 public:
  // `schema` is JSON. `sync` is 16 bytes that the content is unlikely to contain.
  AvroContainer(std::string_view schema, std::string sync);
  void Add(const AvroRecord& record);
  std::string Finish() &&;  // returns the file's content

 private:
  void EndBlock();

  const std::string sync_;
  std::string file_;
  std::string block_;
  int64_t in_block_ = 0;
};

// A job's history in the format of TonY (.jhist), which TonY's portal and Dr. Elephant read. The functions are pure.
//
// TonY's history had one start and one end for each task. Our history has a start and an end for every attempt, in the
// order of time. A reader that uses the last start and the last end of a task gets the newest attempt.

// The records of TonY's schema, with their fields in the order of the schema.
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
  int finished_tasks = 0;  // includes failed tasks
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
  // The value is "SUCCEEDED", "FAILED", or "FINISHED" for a task that we stopped.
  std::string status;
  std::vector<JhistMetric> metrics;
  std::string diagnostic;  // "NA" for a success
  bool operator==(const JhistTaskFinished&) const = default;
};
struct JhistEvent {
  Instant time;
  std::variant<JhistApplicationInited, JhistApplicationFinished, JhistTaskStarted, JhistTaskFinished> body;
  bool operator==(const JhistEvent&) const = default;
};

struct JhistJob {
  std::string application;  // application id
  Instant submitted;
  std::string host;  // host of the application master
  int tasks = 0;
};

// Returns the events of the job. `end` is the final status. Without `end`, or if `end` has no verdict, the job still
// runs.
std::vector<JhistEvent> JhistEvents(const JhistJob& job, const std::vector<Decision>& decisions,
                                    const std::optional<JobStatus>& end);

// Returns the content of the file. `sync`: 16 random bytes.
std::string EncodeJhist(const std::vector<JhistEvent>& events, const std::string& sync);

std::string JhistSchema();  // Avro's JSON, namespace com.linkedin.tony.events

}  // namespace tony
