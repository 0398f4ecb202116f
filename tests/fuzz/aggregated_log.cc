// Fuzzes the aggregated log of an application in HDFS: NodeManagers wrote it, or an attacker replaced it. The input is
// also read as the index of a file in the indexed format, because few inputs have the length of their index.
#include "runtime/hadoop/aggregated_log.h"

#include "runtime/hadoop/indexed_log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/indexed_logs.h"
#include "tests/support/tfile_writer.h"

namespace tony::fuzz {

void Read(std::string_view input) {
  constexpr int64_t kMost = 1000;
  const auto length = static_cast<int64_t>(input.size());
  const hadoop::ReadRange read = [&](int64_t offset, int64_t count) -> Result<std::string> {
    CHECK(offset >= 0 && count >= 0 && offset <= length && count <= length - offset);
    return std::string(input.substr(static_cast<size_t>(offset), static_cast<size_t>(count)));
  };
  for (const char* container : {"container_1", "container_2", kIndexedContainer}) {
    const auto log = hadoop::ReadAggregatedLog(read, length, container, "stdout", kMost);
    if (log.ok()) CHECK(static_cast<int64_t>(log->tail.size()) == std::min(log->size, log->is_log ? kMost : 0));
    if (!log.ok()) CHECK(!log.error().message.empty());
  }
  const auto found = hadoop::FindInIndex(input, kRolledContainer, "app.log");
  if (found.ok())
    for (const hadoop::LogPiece& piece : found->pieces)
      CHECK(piece.size >= 0 && piece.stored.begin >= 0 && piece.stored.begin <= piece.stored.end);
}

std::vector<std::string> Seeds() {
  const std::string_view rolled = kRolledLogs.substr(0, kRolledLogs.size() - 36);  // without length and id
  std::vector<std::string> seeds = {std::string(kIndexedLogs), std::string(kRolledLogs),
                                    std::string(rolled.substr(rolled.rfind("\xac\xed")))};
  for (const char* compression : {"none", "gz"}) {
    for (const size_t chunk : {5, 1 << 20}) {
      TFileWriter writer(compression, chunk);
      writer.Add("VERSION", std::string("\0\0\0\1", 4));
      writer.AddContainer("container_1", {{"stderr", ""}, {"stdout", "one\n"}});
      writer.EndBlock();
      writer.AddContainer("container_2", {{"directory.info", std::string(200, 'x')}, {"stdout", "two\n"}});
      seeds.push_back(writer.Finish());
    }
  }
  return seeds;
}

}  // namespace tony::fuzz
