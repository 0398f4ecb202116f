// Fuzzes the aggregated log of an application in HDFS: NodeManagers wrote it, or an attacker replaced it.
#include "runtime/hadoop/aggregated_log.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/tfile_writer.h"

namespace tony::fuzz {

void Read(std::string_view input) {
  constexpr int64_t kMost = 1000;
  const auto length = static_cast<int64_t>(input.size());
  const hadoop::ReadRange read = [&](int64_t offset, int64_t count) -> Result<std::string> {
    CHECK(offset >= 0 && count >= 0 && offset <= length && count <= length - offset);
    return std::string(input.substr(static_cast<size_t>(offset), static_cast<size_t>(count)));
  };
  for (const char* container : {"container_1", "container_2"}) {
    const auto log = hadoop::ReadAggregatedLog(read, length, container, "stdout", kMost);
    if (log.ok()) CHECK(static_cast<int64_t>(log->tail.size()) == std::min(log->size, log->is_log ? kMost : 0));
    if (!log.ok()) CHECK(!log.error().message.empty());
  }
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
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
