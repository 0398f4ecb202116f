#include "executor/container_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_records.h"
#include "runtime/records/record_store.h"

namespace tony::executor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = ".tony-job";
constexpr const char* kLease = "am.lease";

Status LinkTo(const fs::path& target, const fs::path& link) {
  if (symlink(target.c_str(), link.c_str()) == 0 || errno == EEXIST) return Ok();
  return FileError(ErrorCode::kCannotWrite, "link", link, errno);
}

// Where the node's pages and its log aggregation look. They may run as another user, of the group that the node gave
// the folder: what they show must be readable to it.
Status LayLogs(const AttemptFolder& first, const fs::path& logs, int processes) {
  const fs::path attempts = logs / "attempts";
  TRY(MakeFolder(attempts));
  TRY(MakeFolder(first.logs.parent_path().parent_path()));
  TRY(LinkTo(attempts, first.logs.parent_path()));
  TRY(LinkTo("..", attempts / first.logs.filename()));
  for (int process = 0; process < processes; ++process)
    for (const char* stream : {"stdout", "stderr"}) {
      const fs::path log = logs / OfProcess(stream, process);
      const UniqueFd fd(open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
      if (!fd.valid() || fchmod(fd.get(), 0640) != 0) return FileError(ErrorCode::kCannotWrite, "make", log, errno);
    }
  return Ok();
}

// Nobody renews a lease here, so after its first look an executor cannot tell by it whether its master lives: it is the
// same as a store that cannot be reached. Else it would take its master for dead and go on with its task, while the
// master, who hears nothing, gives the task to another.
class LaidRecords : public LocalRecordStore {
 public:
  using LocalRecordStore::LocalRecordStore;
  Result<std::optional<StoredRecord>> Get(const std::string& name) const override {
    auto record = LocalRecordStore::Get(name);
    if (name != kLease || !record.ok() || !*record) return record;
    if (std::exchange(seen_, (*record)->bytes) != (*record)->bytes) return record;
    return Error{ErrorCode::kUnavailable, "nobody has renewed the lease in this container"};
  }

 private:
  mutable std::string seen_;  // the newest lease
};

void MakeAbsolute(std::vector<StagedEntry>& entries, const fs::path& folder) {
  for (StagedEntry& entry : entries) entry.path = folder / entry.path;
}

Status WriteRecords(const fs::path& place, const fs::path& container, ContainerLaunch launch) {
  MakeAbsolute(launch.staged.job, container);
  for (auto& [role, entries] : launch.staged.roles) MakeAbsolute(entries, container);
  if (launch.spec.empty()) {
    TRY_ASSIGN(launch.spec, ReadFile(container / kSpecFile));
  }
  TRY(MakeFolder(place));
  const std::pair<const char*, std::string> records[] = {{"spec.json", launch.spec},
                                                         {"token", launch.secrets.token},
                                                         {"secrets", JoinVariables(launch.secrets.of_tasks)},
                                                         {"staged.json", ToJson(launch.staged)},
                                                         {kLease, ToJson(launch.lease)}};
  for (const auto& [name, bytes] : records) TRY(WriteFileByRename(place / name, bytes, /*durable=*/false));
  return Ok();
}

}  // namespace

Result<ContainerPlace> LayContainerFolder(const fs::path& logs) {
  TRY_ASSIGN(const std::string credentials, VariableOfContainer("HADOOP_TOKEN_FILE_LOCATION"));
  TRY_ASSIGN(const std::string container, VariableOfContainer("CONTAINER_ID"));
  TRY_ASSIGN(const std::string host, VariableOfContainer("NM_HOST"));
  TRY_ASSIGN(const std::string bytes, ReadFile(credentials));
  TRY_ASSIGN(const ContainerLaunch launch, LaunchIn(bytes));
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error) return FileError(ErrorCode::kUnavailable, "find", "the container's folder", error.value());
  const fs::path place = here / kFolder;
  TRY(WriteRecords(place, here, launch));
  const JobRecords records(launch.job, place, std::make_shared<LaidRecords>(place));
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  TRY(LayLogs(AttemptFolder(place, launch.attempt), logs, spec.ProcessesOf(launch.attempt.task.role)));
  return ContainerPlace{records, launch.attempt, {container}, host, launch.secrets.tls};
}

}  // namespace tony::executor
