#include "runtime/yarn/yarn_configured.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"
#include "runtime/records/user_home.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

Result<fs::path> NotesFolder() {
  TRY_ASSIGN(const fs::path home, TonyHome());
  return home / "yarn" / "clusters";
}

std::optional<fs::path> NewestIn(const fs::path& folder) {
  std::error_code error;
  std::optional<fs::path> newest;
  fs::file_time_type time{};
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with('.')) continue;  // file of a writer that died
    std::error_code gone;
    const auto written = entry->last_write_time(gone);
    if (gone || (newest && std::pair(written, entry->path()) < std::pair(time, *newest))) continue;
    newest = entry->path();
    time = written;
  }
  return newest;
}

}  // namespace

bool IsConfigurationSet() {
  return std::ranges::any_of(std::array{kConfigurationVariable, kYarnConfigurationVariable}, [](const char* name) {
    const char* folder = std::getenv(name);
    return folder && *folder;
  });
}

Error YarnNotConfigured() {
  return InvalidError(kConfigurationVariable,
                      " is not set: expected the folder with the cluster's "
                      "core-site.xml, hdfs-site.xml and yarn-site.xml");
}

Status CheckYarnConfigured(const JobId& job) {
  if (IsConfigurationSet()) return Ok();
  TRY_ASSIGN(const auto note, FindClusterNoteOrNewest(job));
  return note ? Ok() : Status(YarnNotConfigured());
}

Result<std::optional<ClusterNote>> FindClusterNote(const JobId& job) {
  const auto folder = NotesFolder();
  if (!folder.ok()) return std::optional<ClusterNote>();
  const auto file = job.value.empty() ? NewestIn(*folder) : std::optional(*folder / job.value);
  if (!file) return std::optional<ClusterNote>();
  auto text = ReadFile(*file);
  if (!text.ok() && text.error().code == ErrorCode::kNotFound) return std::optional<ClusterNote>();
  TRY(text);
  return std::optional(ClusterNote{*file, std::string(Trim(*text))});
}

Result<std::optional<ClusterNote>> FindClusterNoteOrNewest(const JobId& job) {
  TRY_ASSIGN(auto own, FindClusterNote(job));
  if (own || IsConfigurationSet()) return own;
  return FindClusterNote(JobId());
}

Status NoteCluster(const JobId& job, const std::string& text) {
  TRY_ASSIGN(const fs::path folder, NotesFolder());
  TRY(MakeFolder(folder));
  return WriteFileByRename(folder / job.value, text + "\n", /*durable=*/false);
}

void ForgetCluster(const JobId& job) {
  std::error_code error;
  if (const auto folder = NotesFolder(); folder.ok()) fs::remove(*folder / job.value, error);
}

Result<std::vector<JobId>> ClusterNotesBefore(Instant time, bool dry_run) {
  TRY_ASSIGN(const fs::path folder, NotesFolder());
  std::vector<std::pair<Instant, JobId>> notes;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat info {};
    if (lstat(entry->path().c_str(), &info) != 0) continue;
    const Instant written = FromMillis(info.st_mtim.tv_sec * 1000);
    if (written >= time) continue;
    const std::string name = entry->path().filename().string();
    std::error_code gone;
    if (!name.starts_with('.')) {
      notes.emplace_back(written, JobId{name});
    } else if (!dry_run) {
      fs::remove(entry->path(), gone);
    }
  }
  std::ranges::sort(notes, {}, [](const auto& note) { return std::pair(note.first, note.second.value); });
  std::vector<JobId> jobs;
  for (auto& [written, job] : notes) jobs.push_back(std::move(job));
  return jobs;
}

}  // namespace tony
