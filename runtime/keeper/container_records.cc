#include "runtime/keeper/container_records.h"

#include <algorithm>
#include <cctype>

#include "runtime/base/strings.h"
#include "runtime/keeper/containers.h"
#include "runtime/os/files.h"

namespace tony::keeper {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 64;

// "exited 3", "signaled 9", "unknown"; then the error, if any, to the end of the line.
std::string ExitLine(const ContainerExited& exited) {
  std::string error = exited.error;
  std::ranges::replace(error, '\n', ' ');
  if (!exited.status) return StrCat("unknown 0 ", error);
  return StrCat(exited.status->kind == ExitStatus::Kind::kExited ? "exited " : "signaled ", exited.status->value, " ",
                error);
}

std::optional<ContainerExited> ParseExit(const ContainerId& id, const std::vector<std::string>& words) {
  const auto value = words.size() > 1 ? ParseInt(words[1]) : std::nullopt;
  if (!value) return std::nullopt;
  ContainerExited exited{id, std::nullopt, Join({words.begin() + 2, words.end()}, " ")};
  if (words[0] == "exited") exited.status = ExitStatus{ExitStatus::Kind::kExited, static_cast<int>(*value)};
  if (words[0] == "signaled") exited.status = ExitStatus{ExitStatus::Kind::kSignaled, static_cast<int>(*value)};
  return exited;
}

// "launching 0,1 /sys/fs/cgroup/x"; "-" is none. A path may have blanks.
std::string LaunchingLine(const std::vector<int>& gpus, const fs::path& cgroup) {
  return StrCat("launching ", gpus.empty() ? "-" : NumberList(gpus), " ", cgroup.empty() ? "-" : cgroup.string());
}

void ParseLaunching(const std::vector<std::string>& words, ContainerRecord& record) {
  record.gpus.clear();
  for (const auto& number : Split(words[1], ','))
    if (const auto gpu = ParseInt(number)) record.gpus.push_back(static_cast<int>(*gpu));
  const std::string path = Join({words.begin() + 2, words.end()}, " ");
  record.cgroup = path.starts_with('/') ? path : "";
}

ContainerRecord ParseRecord(const ContainerId& id, const std::string& content) {
  ContainerRecord record{id};
  auto lines = Split(content, '\n');
  if (!lines.empty()) lines.pop_back();  // each whole line ends with a line end
  for (const auto& line : lines) {
    const auto words = Split(line, ' ');
    if (words.size() == 3 && words[0] == "started") {
      record.pid = static_cast<pid_t>(ParseInt(words[1]).value_or(0));
      record.start_time = words[2];
    } else if (words.size() >= 3 && words[0] == "launching") {
      ParseLaunching(words, record);
    } else if (words.size() >= 3) {
      record.exited = ParseExit(id, words);
    }
  }
  return record;
}

}  // namespace

Status ContainerRecords::Launching(const ContainerId& id, const std::vector<int>& gpus, const fs::path& cgroup) const {
  return Append(id, LaunchingLine(gpus, cgroup));
}

Status ContainerRecords::Started(const ContainerId& id, pid_t pid, const std::string& start_time) const {
  return Append(id, StrCat("started ", pid, " ", start_time));
}

Status ContainerRecords::Exited(const ContainerExited& exited) const {
  return Append(exited.container, ExitLine(exited));
}

Status ContainerRecords::Append(const ContainerId& id, const std::string& line) const {
  return AppendLine(folder_ / id.value, line);
}

Result<std::vector<ContainerRecord>> ContainerRecords::ReadAll() const {
  std::vector<ContainerRecord> records;
  std::error_code error;
  fs::directory_iterator entry(folder_, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const ContainerId id{entry->path().filename().string()};
    if (!IsContainerName(id)) continue;
    TRY_ASSIGN(const std::string content, ReadFile(entry->path()));
    records.push_back(ParseRecord(id, content));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return FileError(ErrorCode::kUnavailable, "read", folder_, error.value());
  return records;
}

bool IsContainerName(const ContainerId& id) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
  return !id.value.empty() && id.value.size() <= kLongestName && std::ranges::all_of(id.value, allowed);
}

}  // namespace tony::keeper
