#include "runtime/records/kept_outputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <cerrno>
#include <limits>

#include "runtime/base/strings.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/files.h"
#include "runtime/job/outputs_parser.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOutputs = "outputs";  // of the job

fs::path LeftOutFile(const fs::path& log_folder) { return log_folder / "output.left-out"; }
fs::path ProblemFile(const fs::path& log_folder) { return log_folder / "output.problem"; }

Error Problem(std::string text) { return {ErrorCode::kInvalid, std::move(text)}; }

Error TooLong(int64_t bytes) {
  return Problem(StrCat("it has ", bytes, " bytes, and at most ", kLongestOutputs, " are kept"));
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
  std::string bytes;  // at most `most` of them
  int64_t size = 0;   // of the file
};

// Nothing: there is none. kInvalid: it cannot be read.
Result<std::optional<SmallFile>> ReadSmallFile(const fs::path& file, int64_t most) {
  const auto opened = OpenRegularFile(file, O_RDONLY);
  if (!opened.ok() && opened.error().code == ErrorCode::kNotFound) return std::optional<SmallFile>();
  if (!opened.ok()) return Problem(opened.error().message);
  TRY_ASSIGN(std::string bytes, ReadBounded(opened->fd.get(), std::min(opened->size, most)));
  return std::optional(SmallFile{std::move(bytes), opened->size});
}

// Of a file of ours.
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
    outputs->Add({"", StrCat("it has ", text.size, " bytes, and ", kMostOutputsRead, " of them were read")});
  FitOutputs(*outputs, kLongestOutputs);
  return outputs;
}

// What of the file is kept.
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
  // Where the disk is full there may still be room for a line.
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

// A line that says whose they are and what is not in them, then their bytes.
Status WriteJobOutputs(const JobRecords& records, const RecordedOutputs& recorded) {
  const KeptOutputs& outputs = recorded.outputs;
  boost::json::object about{{"task", ToString(recorded.attempt.task)}, {"attempt", recorded.attempt.number}};
  if (!outputs.problem.empty()) about["problem"] = outputs.problem;
  const std::string left_out = outputs.left_out.empty() ? "" : StrCat(R"({"problems":)", ToJson(outputs.left_out), "}");
  about["left_out"] = left_out;
  return records.store().Replace(kOutputs, StrCat(SerializeJson(about), "\n", outputs.text),
                                 Durability::kLostWithPower);  // the executor's are kept
}

Result<std::optional<RecordedOutputs>> ReadJobOutputs(const JobRecords& records) {
  TRY_ASSIGN(const auto record, records.store().Get(kOutputs));
  if (!record) return std::optional<RecordedOutputs>();
  const std::string& bytes = record->bytes;
  const size_t line = std::min(bytes.find('\n'), bytes.size());
  TRY_ASSIGN(const auto json, ParseJson(std::string_view(bytes).substr(0, line), "outputs"));
  JsonReader fields(json);
  RecordedOutputs recorded;
  const auto task = ParseTaskId(fields.String("task"));
  if (!task.ok()) fields.Fail("task", "ROLE:INDEX");
  const int64_t number = fields.Int("attempt", 1, std::numeric_limits<int>::max());
  const std::string left_out = fields.String("left_out");
  if (fields.Has("problem")) recorded.outputs.problem = fields.String("problem");
  TRY(fields.status());
  recorded.attempt = {*task, static_cast<int>(number)};
  if (!left_out.empty()) {
    TRY_ASSIGN(recorded.outputs.left_out, OutputProblemsFromJson(left_out));
  }
  recorded.outputs.text = bytes.substr(std::min(line + 1, bytes.size()));
  return std::optional(std::move(recorded));
}

}  // namespace tony
