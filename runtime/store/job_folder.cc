#include "runtime/store/job_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/log.h"
#include "runtime/base/other_user.h"
#include "runtime/base/strings.h"
#include "runtime/job/outcome_json.h"
#include "runtime/store/files.h"
#include "runtime/store/job_folder_json.h"
#include "runtime/store/machine_boot.h"
#include "runtime/store/read_parsed.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConditionalKills = "kill-requests";

// Locks of the open file, not of the process: inherited by forks, not lost when another descriptor of the file is
// closed, and, other than flock's, to be asked about without being taken.
struct flock WholeFile() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Who has written it cannot say so in the file: whoever may write there could say anything.
std::string AskerOf(const fs::path& file) {
  struct stat info = {};
  if (stat(file.c_str(), &info) != 0) return "";
  return OtherUser(info.st_uid);
}

// "NAME=value\0..."
Result<std::vector<std::string>> ReadVariables(const fs::path& file) {
  TRY_ASSIGN(const std::string content, ReadFile(file));
  std::vector<std::string> variables = Split(content, '\0');
  if (!variables.empty()) variables.pop_back();  // each is followed by a NUL
  return variables;
}

fs::path AttemptFolder(const fs::path& parent, const AttemptId& attempt) {
  return parent / FolderName(attempt.task) / std::to_string(attempt.number);
}

}  // namespace

SocketName SocketOf(Epoch epoch) { return {StrCat("am.", epoch.value, ".sock")}; }

std::optional<Epoch> EpochOfSocket(const SocketName& socket) {
  const std::string_view name = socket.value;
  if (!name.starts_with("am.") || !name.ends_with(".sock") || name.size() <= 8) return std::nullopt;
  const auto epoch = ParseInt(name.substr(3, name.size() - 8));
  if (!epoch || *epoch < 1) return std::nullopt;
  return Epoch{*epoch};
}

fs::path JobFolder::LogFolder(const AttemptId& attempt) const { return AttemptFolder(path_ / "logs", attempt); }
fs::path JobFolder::WorkFolder(const AttemptId& attempt) const { return AttemptFolder(path_ / "work", attempt); }

Result<JobSpec> JobFolder::ReadSpec() const { return ReadParsed(path_ / "spec.json", JobSpecFromJson); }

Result<Submission> JobFolder::ReadSubmission() const {
  return ReadParsed(path_ / "submission.json", SubmissionFromJson);
}

// It is compared with what callers send: a shorter one would be guessed, an empty one known.
Result<std::string> JobFolder::ReadToken() const {
  constexpr size_t kDigits = 2 * kJobTokenBytes;
  TRY_ASSIGN(std::string token, ReadFile(path_ / "token"));
  if (token.size() == kDigits && token.find_first_not_of("0123456789abcdef") == std::string::npos) return token;
  return Error{ErrorCode::kInvalid, StrCat((path_ / "token").string(), ": ", token.size(), " bytes, expected ", kDigits,
                                           " hexadecimal digits: nobody can be told from a stranger")};
}

Result<std::vector<std::string>> JobFolder::ReadEnvironment() const { return ReadVariables(path_ / "environment"); }

Result<std::vector<std::string>> JobFolder::ReadSecrets() const {
  auto variables = ReadVariables(secrets());
  if (!variables.ok() && variables.error().code == ErrorCode::kNotFound) return std::vector<std::string>();
  return variables;
}

void JobFolder::RemoveSecrets() const { unlink(secrets().c_str()); }

Result<std::optional<StagedFiles>> JobFolder::ReadStaged() const {
  return ReadOptional(path_ / "staged.json", StagedFilesFromJson);
}

Status JobFolder::WriteClock(const KeptClock& clock) const {
  return WriteFileByRename(path_ / "clock", StrCat(clock.boot, " ", clock.ahead.count(), "\n"), /*durable=*/false);
}

Result<std::optional<KeptClock>> JobFolder::ReadClock() const {
  const auto read = +[](std::string_view text) -> Result<KeptClock> {
    const auto words = Split(Trim(text), ' ');
    const auto ahead = words.size() == 2 ? ParseInt(words[1]) : std::nullopt;
    if (!ahead) return Error{ErrorCode::kInvalid, "expected a boot and milliseconds"};
    return KeptClock{words[0], Duration(*ahead)};
  };
  return ReadOptional(path_ / "clock", read);
}

Status JobFolder::WriteBoot(const std::string& boot) const {
  return WriteFileByRename(path_ / "boot-id", boot + "\n", /*durable=*/false);
}

bool JobFolder::IsOfEarlierBoot() const {
  const auto submission = ReadSubmission();
  if (!submission.ok() || submission->host != HostName()) return false;
  const auto kept = ReadFile(path_ / "boot-id");
  std::string recorded = kept.ok() ? std::string(Trim(*kept)) : "";
  if (recorded.empty()) recorded = submission->boot;  // a power cut may have emptied the file
  const std::string present = BootId();
  return !recorded.empty() && !present.empty() && recorded != present;
}

Status JobFolder::WriteLease(const LeaseRecord& record) const {
  return WriteFileByRename(lease(), ToJson(record), /*durable=*/false);
}

Result<std::optional<LeaseRecord>> JobFolder::ReadLease() const { return ReadOptional(lease(), LeaseRecordFromJson); }

Status JobFolder::WriteKillRequest(const KillRequest& request) const {
  TRY_ASSIGN(const auto earlier, ReadKillRequest());
  if (earlier) {
    TRY_ASSIGN(const JobSpec spec, ReadSpec());
    const auto grace = [&](const KillRequest& r) { return r.grace < Duration(0) ? spec.timers.grace : r.grace; };
    if (grace(*earlier) <= grace(request)) return Ok();
  }
  return WriteFileByRename(path_ / "kill-request.json", ToJson(request), /*durable=*/false);
}

Result<std::optional<KillRequest>> JobFolder::ReadKillRequest() const {
  const fs::path file = path_ / "kill-request.json";
  TRY_ASSIGN(auto request, ReadOptional(file, KillRequestFromJson));
  if (request) request->asker = AskerOf(file);
  return request;
}

Status JobFolder::WriteConditionalKill(const std::string& name, const KillRequest& request) const {
  const fs::path folder = path_ / kConditionalKills;
  TRY(MakeFolder(folder));
  return WriteFileByRename(folder / (name + ".json"), ToJson(request), /*durable=*/false);
}

Result<std::vector<JobFolder::NamedKillRequest>> JobFolder::ReadConditionalKills() const {
  std::vector<NamedKillRequest> requests;
  std::error_code error;
  fs::directory_iterator entry(path_ / kConditionalKills, error);
  if (error == std::errc::no_such_file_or_directory) return requests;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path path = entry->path();
    if (path.extension() != ".json") continue;  // being written
    auto request = ReadOptional(path, KillRequestFromJson);
    if (!request.ok()) {
      LogWarn(request.error().message);
    } else if (*request) {
      (*request)->asker = AskerOf(path);
      requests.push_back({path.stem().string(), **std::move(request)});
    }
  }
  if (error) return FileError(ErrorCode::kUnavailable, "read", path_ / kConditionalKills, error.value());
  return requests;
}

Status JobFolder::RemoveConditionalKill(const std::string& name) const {
  const fs::path path = path_ / kConditionalKills / (name + ".json");
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return Ok();
  return FileError(ErrorCode::kCannotWrite, "remove", path, errno);
}

Status JobFolder::WriteStatus(const JobStatus& document, bool durable) const {
  return WriteFileByRename(status(), ToJson(document), durable);
}

Result<std::optional<JobStatus>> JobFolder::ReadStatus() const { return ReadOptional(status(), JobStatusFromJson); }

Status JobFolder::MakeReserve(int tasks) const {
  // The last decisions and the final status: some hundred bytes for each task, and its last words in the verdict.
  constexpr off_t kOfJob = 64 << 10, kOfTask = 2 << 10;
  const fs::path file = path_ / "reserve";
  const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "make", file, errno);
  if (const int error = posix_fallocate(fd.get(), 0, kOfJob + tasks * kOfTask); error != 0)
    return FileError(ErrorCode::kCannotWrite, "set room aside in", file, error);
  return Ok();
}

void JobFolder::GiveUpReserve() const { unlink((path_ / "reserve").c_str()); }

Status JobFolder::WriteOutcome(const AttemptId& attempt, const Outcome& outcome) const {
  return WriteFileByRename(LogFolder(attempt) / "outcome.json", ToJson(outcome), /*durable=*/false);
}

Result<std::optional<Outcome>> JobFolder::ReadOutcome(const AttemptId& attempt) const {
  return ReadOptional(LogFolder(attempt) / "outcome.json", OutcomeFromJson);
}

Result<UniqueFd> JobFolder::Lock(const std::string& name) const {
  const fs::path path = path_ / name;
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  struct flock lock = WholeFile();
  if (fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return fd;
  if (errno == EAGAIN || errno == EACCES)
    return Error{ErrorCode::kUnavailable, StrCat("lock ", path.string(), ": another process holds it")};
  return FileError(ErrorCode::kCannotWrite, "lock", path, errno);
}

bool JobFolder::IsLocked(const std::string& name) const {
  const UniqueFd fd(open((path_ / name).c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock = WholeFile();
  return fd.valid() && fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace tony
