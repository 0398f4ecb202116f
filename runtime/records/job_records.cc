#include "runtime/records/job_records.h"

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"
#include "runtime/os/file_system.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

constexpr const char* kKills = "kill-requests";
constexpr const char* kKillOfFirstRelease = "kill-request.json";
constexpr const char* kSecrets = "secrets";
constexpr const char* kAcked = "acked.json";

// Splits a record of the form "NAME=value\0..." into its variables.
std::vector<std::string> SplitVariables(const std::string& content) {
  std::vector<std::string> variables = Split(content, '\0');
  if (!variables.empty()) variables.pop_back();  // each variable ends with a NUL
  return variables;
}

constexpr std::string_view kKillEnd = ".json";

std::string KillFile(const std::string& name) {
  return name == kKillOfFirstRelease ? name : StrCat(kKills, "/", name, kKillEnd);
}

Result<std::optional<KillRequest>> ReadKill(const RecordStore& store, const std::string& name) {
  TRY_ASSIGN(const auto record, store.Get(name));
  if (!record) return std::optional<KillRequest>();
  auto request = KillRequestFromJson(record->bytes);
  if (!request.ok()) return Annotate(request.error(), "read " + store.PlaceOf(name));
  request->asker = record->writer;
  return std::optional(*std::move(request));
}

Result<std::optional<std::string>> BytesOf(const RecordStore& store, const std::string& name) {
  TRY_ASSIGN(auto record, store.Get(name));
  return record ? std::optional(std::move(record->bytes)) : std::nullopt;
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

Result<JobSpec> JobRecords::ReadSpec() const { return ReadParsed(*store_, "spec.json", JobSpecFromJson); }

Result<Submission> JobRecords::ReadSubmission() const {
  return ReadParsed(*store_, "submission.json", SubmissionFromJson);
}

// Returns the job's token, and fails if its length is wrong. Callers prove their rights with this token. A short token
// could be guessed, and an empty token is known to everybody.
Result<std::string> JobRecords::ReadToken() const {
  constexpr size_t kDigits = 2 * kJobTokenBytes;
  TRY_ASSIGN(std::string token, ReadWhole(*store_, "token"));
  if (token.size() == kDigits && token.find_first_not_of("0123456789abcdef") == std::string::npos) return token;
  return InvalidError(store_->PlaceOf("token"), ": the job's token has ", token.size(), " bytes, expected ", kDigits,
                      " hexadecimal digits, so no caller of this job can be authenticated");
}

std::vector<std::string> NewJob::SecretNames() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : secrets) names.push_back(name);
  return names;
}

Result<std::vector<std::string>> JobRecords::ReadEnvironment() const {
  TRY_ASSIGN(const std::string content, ReadWhole(*store_, "environment"));
  return SplitVariables(content);
}

Result<std::vector<std::string>> JobRecords::ReadSecrets() const {
  TRY_ASSIGN(const auto content, BytesOf(*store_, kSecrets));
  return content ? SplitVariables(*content) : std::vector<std::string>();
}

void JobRecords::FreeReserve() const { (void)store_->Remove("reserve"); }

void JobRecords::RemoveSecrets() const { (void)store_->Remove(kSecrets); }

Result<std::optional<StagedFiles>> JobRecords::ReadStaged() const {
  return ReadOptional(*store_, "staged.json", StagedFilesFromJson);
}

Result<std::optional<std::string>> JobRecords::ReadConfiguration() const { return BytesOf(*store_, "conf.json"); }

Result<std::optional<std::string>> JobRecords::ReadJournal() const {
  return journal_ ? tony::ReadJournal(*journal_) : BytesOf(*store_, "journal");
}

Status JobRecords::WriteClock(const KeptClock& clock) const {
  return store_->Replace("clock", StrCat(clock.boot, " ", clock.ahead.count(), "\n"), Durability::kLostWithPower);
}

Result<std::optional<KeptClock>> JobRecords::ReadClock() const {
  const auto read = +[](std::string_view text) -> Result<KeptClock> {
    const auto words = Split(Trim(text), ' ');
    const auto ahead = words.size() == 2 ? ParseInt(words[1]) : std::nullopt;
    if (!ahead) return InvalidError("expected a boot id and a number of milliseconds");
    return KeptClock{words[0], Duration(*ahead)};
  };
  return ReadOptional(*store_, "clock", read);
}

Status JobRecords::WriteLease(const LeaseRecord& record) const {
  return store_->Replace(kLeaseName, ToJson(record), Durability::kLostWithPower);
}

Result<std::optional<LeaseRecord>> JobRecords::ReadLease() const {
  return ReadOptional(*store_, kLeaseName, LeaseRecordFromJson);
}

Result<RecordedKill> JobRecords::WriteKill(const KillRequest& request) const {
  constexpr int kNameBytes = 8;
  RecordedKill kill{RandomHex(kNameBytes), request};
  TRY(store_->Replace(KillFile(kill.name), ToJson(request), Durability::kLostWithPower));
  return kill;
}

Result<std::vector<RecordedKill>> JobRecords::ReadKills() const {
  TRY_ASSIGN(auto names, store_->List(kKills));
  std::erase_if(names, [&](const std::string& file) { return !file.ends_with(kKillEnd); });
  for (std::string& name : names) name.resize(name.size() - kKillEnd.size());
  names.emplace_back(kKillOfFirstRelease);
  std::vector<RecordedKill> kills;
  for (const std::string& name : names) {
    const auto request = ReadKill(*store_, KillFile(name));
    if (!request.ok()) LogWarn(request.error().message);
    if (request.ok() && *request) kills.push_back({name, **request});
  }
  return kills;
}

Result<bool> JobRecords::HasPlainKill() const {
  TRY_ASSIGN(const auto kills, ReadKills());
  return std::ranges::any_of(kills, [](const RecordedKill& kill) { return kill.request.IsPlain(); });
}

Status JobRecords::RemoveKill(const std::string& name) const { return store_->Remove(KillFile(name)); }

Status JobRecords::WriteStatus(const JobStatus& status, Durability durability) const {
  return store_->Replace("status.json", ToJson(status), durability);
}

Result<std::optional<JobStatus>> JobRecords::ReadStatus() const {
  return ReadOptional(*store_, "status.json", JobStatusFromJson);
}

bool JobRecords::HasVerdict() const {
  const auto status = ReadStatus();
  return status.ok() && *status && (*status)->verdict;
}

Status JobRecords::WriteAcked(const OwnerToken& owner, Instant now) const {
  const std::string document = WriteJsonObject([&](JsonWriter& io) {
    Schema(io, 1);
    io.Field("owner", owner);
    io.Field("time", now, kIso);
  });
  return store_->PutNew(kAcked, document, Durability::kSurvivesPowerCut).status();
}

Result<bool> JobRecords::IsAcked() const {
  TRY_ASSIGN(const auto record, store_->Get(kAcked));
  return record.has_value();
}

JobRecords LocalJobRecords(const std::filesystem::path& folder) {
  return {{folder.filename().string()}, folder, std::make_shared<LocalRecordStore>(folder)};
}

std::string JoinVariables(const std::vector<std::string>& variables) {
  std::string text;
  for (const auto& variable : variables) text.append(variable).push_back('\0');
  return text;
}

// The field lists of leases, submissions and kills. In earlier releases, leases had an endpoint and no socket (before
// Unix sockets were used). Submissions may lack `boot` and `open_files` (release 0.1), the request, or `programs`.

namespace {

constexpr int kFolderSchema = 1;  // readers ignore this number

bool IsSocketOfAJob(const std::string& name) {
  using std::string_view_literals::operator""sv;
  constexpr size_t kLongest = 80;
  return !name.empty() && name.size() <= kLongest && name[0] != '.' && name.find_first_of("/\0"sv) == std::string::npos;
}

}  // namespace

void Fields(auto& io, Is<LeaseRecord> auto& lease) {
  io.Derived("schema", kFolderSchema);
  io.Field("epoch", lease.epoch, kAnyNumber);
  io.Field("renewal", lease.renewal, kAnyNumber);
  if (!io.Present("socket", std::holds_alternative<SocketName>(lease.am.own)))
    return Fields(io, Alternative<Endpoint>(lease.am.own));
  auto& socket = Alternative<SocketName>(lease.am.own);
  io.Field("socket", socket.value);
  io.Check("socket", IsSocketOfAJob(socket.value), "the name of a socket in the job's folder");
  if (io.Present("port", lease.am.for_old_executors.has_value())) Fields(io, Value(lease.am.for_old_executors));
}

void Fields(auto& io, Is<Submission> auto& submission) {
  io.Derived("schema", kFolderSchema);
  io.Field("job", submission.job);
  io.Field("user", submission.user);
  io.Field("host", submission.host);
  io.Field("time", submission.time, kAnyNumber);
  io.Later("boot", submission.boot);
  io.Later("open_files", submission.open_files, kAnyNumber);
  if (io.Present("request_id", true)) {
    io.Field("request_id", submission.request);
    io.Field("submission", submission.number, kAnyNumber);
    io.Field("owner", submission.claim.owner);
    io.Field("watch_timeout", submission.claim.watch_timeout, kAnyNumber);
  }
  io.IfSet("programs", submission.programs);
  io.IfSet("secrets", submission.secrets);
}

// The time at which a delay was requested, measured by several clocks. A reader computes from it how much of the delay
// is left.
struct DelayedFrom {
  Duration delay{0};
  Instant asked = WallNow();
  std::string boot = BootId();
  Duration since_boot = SinceBoot();

  Duration Left() const {
    const bool same_boot = !boot.empty() && boot == BootId();
    const Duration passed = same_boot ? SinceBoot() - since_boot : WallNow() - asked;
    const Duration whole = std::max(Duration(0), delay);
    return std::max(Duration(1), whole - std::clamp(passed, Duration(0), whole));
  }
};

void Fields(auto& io, Is<DelayedFrom> auto& from) {
  constexpr Between kNoOverflow{-(int64_t{1} << 60), int64_t{1} << 60};
  io.Field("delay_ms", from.delay, kAnyNumber);
  io.Field("asked", from.asked, kNoOverflow);
  io.Field("asked_boot", from.boot);
  io.Field("asked_since_boot", from.since_boot, kNoOverflow);
}

template <class Io>
void Fields(Io& io, Is<KillRequest> auto& request) {
  io.Derived("schema", kFolderSchema);
  io.Field("reason", request.reason);
  io.Field("grace", request.grace, kAnyNumber);
  io.IfSet("if_owner", request.if_owner);
  io.IfSet("if_watcher", request.if_watcher);
  io.IfSet("due", request.due, kAnyNumber);
  if (!io.Present("delay_ms", request.delay > Duration(0))) return;
  DelayedFrom from{.delay = request.delay};
  Fields(io, from);
  if constexpr (Io::kReads) request.delay = from.Left();
}

std::string ToJson(const LeaseRecord& record) { return WriteJson(record); }
std::string ToJson(const Submission& submission) { return WriteJson(submission); }
std::string ToJson(const KillRequest& request) { return WriteJson(request); }

Result<LeaseRecord> LeaseRecordFromJson(std::string_view text) { return ReadJson<LeaseRecord>(text, "lease"); }
Result<Submission> SubmissionFromJson(std::string_view text) { return ReadJson<Submission>(text, "submission"); }
Result<KillRequest> KillRequestFromJson(std::string_view text) { return ReadJson<KillRequest>(text, "kill request"); }

Result<std::optional<StoredRecord>> CachedRecords::Get(const std::string& name) const {
  const auto known = known_.find(name);
  if (known == known_.end()) return store_->Get(name);
  if (!known->second) return std::optional<StoredRecord>();
  return std::optional(StoredRecord{*known->second, ""});
}

}  // namespace tony
