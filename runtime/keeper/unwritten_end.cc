#include "runtime/keeper/unwritten_end.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/ledger/ledger_files.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

std::string BeginningOf(const JobId& job) { return StrCat(".end-", job.value, "."); }

std::vector<fs::path> FilesOf(const fs::path& ledger, const JobId& job) {
  std::vector<fs::path> files;
  const auto names = NamesIn(ledger);
  if (!names.ok()) return files;
  const std::string beginning = BeginningOf(job);
  for (const std::string& name : *names)
    if (name.starts_with(beginning)) files.push_back(ledger / name);
  return files;
}

std::optional<JobStatus> ReadEnd(const fs::path& path, const JobId& job) {
  const auto file = OpenFile(path, O_RDONLY);
  if (!file.ok() || !*file || (*file)->owner != geteuid()) return std::nullopt;
  const auto content = ReadSmall(**file);
  if (!content.ok()) return std::nullopt;
  auto status = JobStatusFromJson(*content);
  if (!status.ok() || status->job != job || !status->verdict || !status->ended) return std::nullopt;
  return *std::move(status);
}

}  // namespace

Result<fs::path> KeepUnwrittenEnd(const fs::path& ledger, JobStatus status) {
  status.tasks.clear();
  status.restarts.clear();
  fs::path file = ledger / StrCat(BeginningOf(status.job), RandomHex(8));
  const Status written = WriteNewFile(file, ToJson(status), /*durable=*/true);
  if (written.ok()) return file;
  unlink(file.c_str());
  return written.error();
}

std::optional<JobStatus> FindUnwrittenEnd(const fs::path& ledger, const JobId& job) {
  for (const fs::path& file : FilesOf(ledger, job))
    if (auto status = ReadEnd(file, job)) return status;
  return std::nullopt;
}

void ForgetUnwrittenEnd(const fs::path& ledger, const JobId& job) {
  for (const fs::path& file : FilesOf(ledger, job))
    if (ReadEnd(file, job)) unlink(file.c_str());
}

}  // namespace tony
