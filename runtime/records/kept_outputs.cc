#include "runtime/records/kept_outputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

constexpr const char* kLogsFolder = "logs";

std::string RecordOf(const AttemptId& attempt) { return StrCat(FolderName(attempt.task), ".", attempt.number); }

// Returns the attempt whose excerpts have this record name. Returns nullopt for any other name, such as that of a dead
// writer's temporary file.
std::optional<AttemptId> AttemptOf(const std::string& name) {
  const size_t dot = name.rfind('.');
  const size_t dash = name.rfind('-', dot);
  if (dot == std::string::npos || dash == std::string::npos) return std::nullopt;
  const auto task = ParseTaskId(StrCat(name.substr(0, dash), ":", name.substr(dash + 1, dot - dash - 1)));
  const auto number = ParseInt(name.substr(dot + 1));
  if (!task.ok() || !number || *number < 1 || *number > std::numeric_limits<int>::max()) return std::nullopt;
  const AttemptId attempt{*task, static_cast<int>(*number)};
  return RecordOf(attempt) == name ? std::optional(attempt) : std::nullopt;
}

// The fields of the JSON line before the text.
struct KeptPart {
  int64_t begin = 0, length = 0;
};
struct KeptLog {
  std::string stream;
  int64_t size = 0;
  std::vector<KeptPart> parts;
};
struct KeptLogs {
  std::vector<KeptLog> logs;
};

void Fields(auto& io, Is<KeptPart> auto& part) {
  io.Field("begin", part.begin);
  io.Field("length", part.length);
}
void Fields(auto& io, Is<KeptLog> auto& log) {
  io.Field("stream", log.stream);
  io.Field("size", log.size);
  io.Field("parts", log.parts);
}
void Fields(auto& io, Is<KeptLogs> auto& kept) { io.Field("logs", kept.logs); }

// The fields of the JSON line before the job's outputs.
struct OutputsHead {
  std::string task;
  int attempt = 1;
  std::string problem, left_out;
};

void Fields(auto& io, Is<OutputsHead> auto& head) {
  io.Field("task", head.task);
  io.Field("attempt", head.attempt, Between{1, std::numeric_limits<int>::max()});
  io.IfSet("problem", head.problem);
  io.Field("left_out", head.left_out);
}

// Returns the first line of a record and removes it from `bytes`.
std::string_view TakeLine(std::string_view& bytes) {
  const size_t end = std::min(bytes.find('\n'), bytes.size());
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  return line;
}

}  // namespace

bool ShouldKeepLogs(const JobSpec& spec, const TaskId& task, const Outcome& outcome) {
  return !outcome.Succeeded() || IsOutputTask(spec, task);
}

Status WriteKeptLogs(const JobRecords& records, const AttemptId& attempt, const std::vector<LogExcerpt>& logs) {
  KeptLogs kept;
  std::string text;
  for (const LogExcerpt& log : logs) {
    KeptLog& about = kept.logs.emplace_back(KeptLog{log.stream, log.size, {}});
    for (const LogExcerpt::Part& part : log.parts) {
      about.parts.push_back({part.begin, static_cast<int64_t>(part.text.size())});
      text += part.text;
    }
  }
  return records.store().Replace(StrCat(kLogsFolder, "/", RecordOf(attempt)), StrCat(WriteJson(kept), "\n", text),
                                 Durability::kLostWithPower);
}

Status RemoveKeptLogs(const JobRecords& records, const AttemptId& attempt) {
  return records.store().Remove(StrCat(kLogsFolder, "/", RecordOf(attempt)));
}

Result<std::vector<AttemptId>> ListKeptLogs(const JobRecords& records) {
  TRY_ASSIGN(const auto names, records.store().List(kLogsFolder));
  std::vector<AttemptId> attempts;
  for (const std::string& name : names)
    if (const auto attempt = AttemptOf(name)) attempts.push_back(*attempt);
  std::ranges::sort(attempts);
  return attempts;
}

Result<std::optional<std::vector<LogExcerpt>>> ReadKeptLogs(const JobRecords& records, const AttemptId& attempt) {
  TRY_ASSIGN(const auto record, records.store().Get(StrCat(kLogsFolder, "/", RecordOf(attempt))));
  if (!record) return std::optional<std::vector<LogExcerpt>>();
  std::string_view text = record->bytes;
  TRY_ASSIGN(const KeptLogs kept, ReadJson<KeptLogs>(TakeLine(text), "kept logs"));
  std::vector<LogExcerpt> excerpts;
  for (const KeptLog& log : kept.logs) {
    LogExcerpt& excerpt = excerpts.emplace_back(LogExcerpt{.stream = log.stream, .size = log.size});
    for (const auto& [begin, length] : log.parts) {
      if (static_cast<uint64_t>(length) > text.size()) return InvalidError("the stored log is cut off");
      excerpt.parts.push_back({begin, std::string(text.substr(0, static_cast<size_t>(length)))});
      text.remove_prefix(static_cast<size_t>(length));
    }
  }
  return std::optional(std::move(excerpts));
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kOutputs = "outputs";  // the record of the job's outputs

fs::path LeftOutFile(const fs::path& log_folder) { return log_folder / "output.left-out"; }
fs::path ProblemFile(const fs::path& log_folder) { return log_folder / "output.problem"; }

Error Problem(std::string text) { return InvalidError(std::move(text)); }

Error TooLong(int64_t bytes) {
  return Problem(StrCat("the outputs are not kept: they have ", bytes, " bytes, more than ", kLongestOutputs));
}

Result<std::string> ReadBounded(int fd, int64_t size) {
  std::string text(static_cast<size_t>(size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = read(fd, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Problem(ErrnoText(errno));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  text.resize(filled);
  return text;
}

struct SmallFile {
  std::string bytes;  // at most `most` bytes
  int64_t size = 0;   // size of the whole file
};

// Returns nullopt if the file does not exist. kInvalid: the file cannot be read.
Result<std::optional<SmallFile>> ReadSmallFile(const fs::path& file, int64_t most) {
  const auto opened = OpenRegularFile(file, O_RDONLY);
  if (!opened.ok() && opened.error().code == ErrorCode::kNotFound) return std::optional<SmallFile>();
  if (!opened.ok()) return Problem(opened.error().message);
  TRY_ASSIGN(std::string bytes, ReadBounded(opened->fd.get(), std::min(opened->size, most)));
  return std::optional(SmallFile{std::move(bytes), opened->size});
}

// Reads a file that TonY wrote. A file of more than kLongestOutputs bytes is an error.
Result<std::optional<std::string>> ReadWhole(const fs::path& file) {
  TRY_ASSIGN(auto text, ReadSmallFile(file, kLongestOutputs));
  if (!text) return std::optional<std::string>();
  if (text->size > kLongestOutputs) return TooLong(text->size);
  return std::optional(std::move(text->bytes));
}

Result<Outputs> WhatFits(const SmallFile& text) {
  auto outputs = ParseOutputs(text.bytes);
  if (!outputs.ok()) return TooLong(text.size);
  if (text.size > kMostOutputsRead)
    outputs->Add({"", StrCat("the file of the outputs has ", text.size, " bytes, and only the first ", kMostOutputsRead,
                             " were read")});
  TrimOutputs(*outputs, kLongestOutputs);
  return outputs;
}

// Writes the copy of the outputs, without the members that do not fit. Returns the problems in the outputs.
Result<std::vector<OutputProblem>> Keep(const SmallFile& text, const fs::path& log_folder) {
  const fs::path copy = KeptOutputsFile(log_folder);
  if (text.size <= kLongestOutputs) {
    TRY(WriteFileByRename(copy, text.bytes, /*durable=*/true));
    const auto outputs = ParseOutputs(text.bytes);
    return outputs.ok() ? outputs->problems : std::vector<OutputProblem>{{"", outputs.error().message}};
  }
  TRY_ASSIGN(const Outputs outputs, WhatFits(text));
  const std::string problems = StrCat(R"({"problems":)", ToJson(outputs.problems), "}");
  TRY(WriteFileByRename(LeftOutFile(log_folder), problems, /*durable=*/true));
  TRY(WriteFileByRename(copy, ObjectOf(outputs), /*durable=*/true));
  return outputs.problems;
}

}  // namespace

fs::path KeptOutputsFile(const fs::path& log_folder) { return log_folder / "output.json"; }

Result<std::vector<OutputProblem>> KeepOutputs(const fs::path& file, const fs::path& log_folder) {
  const auto text = ReadSmallFile(file, kMostOutputsRead);
  if (text.ok() && !*text) return std::vector<OutputProblem>();
  auto kept = text.ok() ? Keep(**text, log_folder) : text.error();
  if (kept.ok()) return kept;
  // The disk may be full. The reason is a single line, which may still fit.
  const std::string& why = kept.error().message;
  TRY(WriteFileByRename(ProblemFile(log_folder), why + "\n", /*durable=*/true));
  return std::vector<OutputProblem>{{"", why}};
}

Result<std::optional<KeptOutputs>> ReadKeptOutputs(const fs::path& log_folder) {
  TRY_ASSIGN(const auto problem, ReadWhole(ProblemFile(log_folder)));
  if (problem) return Problem(std::string(Trim(*problem)));
  TRY_ASSIGN(auto text, ReadWhole(KeptOutputsFile(log_folder)));
  if (!text) return std::optional<KeptOutputs>();
  KeptOutputs kept{.text = *std::move(text)};
  TRY_ASSIGN(const auto left_out, ReadWhole(LeftOutFile(log_folder)));
  if (left_out) {
    TRY_ASSIGN(kept.left_out, OutputProblemsFromJson(*left_out));
  }
  return std::optional(std::move(kept));
}

// The record is a JSON line with the attempt and the missing members, followed by the bytes of the outputs.
Status WriteJobOutputs(const JobRecords& records, const RecordedOutputs& recorded) {
  const KeptOutputs& outputs = recorded.outputs;
  const std::string left_out = outputs.left_out.empty() ? "" : StrCat(R"({"problems":)", ToJson(outputs.left_out), "}");
  const OutputsHead head{ToString(recorded.attempt.task), recorded.attempt.number, outputs.problem, left_out};
  return records.store().Replace(kOutputs, StrCat(WriteJson(head), "\n", outputs.text),
                                 Durability::kLostWithPower);  // the executor keeps a durable copy
}

Result<std::optional<RecordedOutputs>> ReadJobOutputs(const JobRecords& records) {
  TRY_ASSIGN(const auto record, records.store().Get(kOutputs));
  if (!record) return std::optional<RecordedOutputs>();
  std::string_view bytes = record->bytes;
  TRY_ASSIGN(const OutputsHead head, ReadJson<OutputsHead>(TakeLine(bytes), "outputs"));
  const auto task = ParseTaskId(head.task);
  if (!task.ok()) return InvalidError("outputs: field task: expected ROLE:INDEX");
  RecordedOutputs recorded{.attempt = {*task, head.attempt}, .outputs = {}};
  recorded.outputs.problem = head.problem;
  recorded.outputs.text = bytes;
  if (!head.left_out.empty()) {
    TRY_ASSIGN(recorded.outputs.left_out, OutputProblemsFromJson(head.left_out));
  }
  return std::optional(std::move(recorded));
}

}  // namespace tony
