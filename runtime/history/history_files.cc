#include "runtime/history/history_files.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/history/jhist.h"
#include "runtime/os/files.h"
#include "runtime/records/journal_format.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

std::string TonyFinalXml(const Configuration& configuration, const JobSpec& spec, const JobId& job) {
  Configuration final;
  for (const ConfiguredValue& value : configuration) {
    if (value.key.starts_with("tony.")) final.push_back(value);
  }
  const auto add = [&](const std::string& key, const std::string& value) {
    if (std::ranges::find(final, key, &ConfiguredValue::key) == final.end()) final.push_back({key, value, "job spec"});
  };
  for (const RoleSpec& role : spec.roles) {
    const std::string prefix = StrCat("tony.", role.name, ".");
    add(prefix + "gpus", StrCat(role.resources.gpus));
    add(prefix + "instances", StrCat(role.instances));
    add(prefix + "memory", StrCat(role.resources.memory_mb, "m"));
    add(prefix + "vcores", StrCat(role.resources.vcores));
  }
  add("tony.job.id", job.value);
  std::ranges::sort(final, {}, &ConfiguredValue::key);
  return ToHadoopXml(final);
}

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostHexDigits = 7;  // fits into a Java int
constexpr int kSyncHexBytes = 8;      // gives 16 hex digits
constexpr std::string_view kInProgress = ".inprogress";

bool IsDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string Prefix(const JobId& job, Instant submitted) { return StrCat(ApplicationId(job), "-", ToMillis(submitted)); }

// The data of one job from which its history files are made.
struct Story {
  JobSpec spec;
  Submission submission;
  std::optional<JobStatus> end;
  std::vector<Decision> decisions;
  fs::path folder;
};

Result<Story> ReadStory(const JobRecords& records, JobSpec spec) {
  Story story;
  story.spec = std::move(spec);
  TRY_ASSIGN(story.submission, records.ReadSubmission());
  story.folder = fs::path(story.spec.history_folder) / ApplicationId(records.job());
  TRY_ASSIGN(const auto bytes, records.ReadJournal());
  if (!bytes) return story;  // no AM has become leader yet
  auto journal = DecodeJournal(*bytes);
  // A damaged journal is ignored, because it may be the reason why the job failed.
  if (journal.ok()) story.decisions = std::move(journal->decisions);
  return story;
}

Result<Configuration> ReadConfiguration(const JobRecords& records) {
  TRY_ASSIGN(const auto text, records.ReadConfiguration());
  return text ? ConfigurationFromJson(*text) : Configuration();
}

Status WriteTonyFinal(const JobRecords& records, const Story& story, const FilesForOthers& files) {
  TRY(files.MakeFolder(story.folder));
  TRY_ASSIGN(const Configuration configuration, ReadConfiguration(records));
  return files.Write(story.folder / "tony-final.xml", TonyFinalXml(configuration, story.spec, records.job()));
}

Status WriteJhist(const JobRecords& records, const Story& story, const std::string& name, const FilesForOthers& files) {
  const JhistJob job{.application = ApplicationId(records.job()),
                     .submitted = story.submission.time,
                     .host = story.submission.host,
                     .tasks = story.spec.TotalTasks()};
  const auto events = JhistEvents(job, story.decisions, story.end);
  return files.Write(story.folder / name, EncodeJhist(events, RandomHex(kSyncHexBytes)));
}

Result<JobStatus> FinalStatus(const JobRecords& records) {
  TRY_ASSIGN(std::optional<JobStatus> status, records.ReadStatus());
  if (status && status->verdict && status->ended) return *std::move(status);
  return Error{ErrorCode::kInvalid, StrCat("job ", records.job().value, " has not ended")};
}

}  // namespace

Status BeginHistory(const JobRecords& records, const FilesForOthers& files) {
  TRY_ASSIGN(JobSpec spec, records.ReadSpec());
  if (spec.history_folder.empty()) return Ok();
  TRY_ASSIGN(const Story story, ReadStory(records, std::move(spec)));
  TRY(WriteTonyFinal(records, story, files));
  return WriteJhist(records, story, JhistName(records.job(), story.submission.user, story.submission.time), files);
}

Status FinishHistory(const JobRecords& records, const FilesForOthers& files) {
  TRY_ASSIGN(JobSpec spec, records.ReadSpec());
  if (spec.history_folder.empty()) return Ok();
  TRY_ASSIGN(Story story, ReadStory(records, std::move(spec)));
  TRY_ASSIGN(story.end, FinalStatus(records));
  TRY(WriteTonyFinal(records, story, files));
  const Submission& submission = story.submission;
  TRY(WriteJhist(
      records, story,
      JhistName(records.job(), submission.user, submission.time, *story.end->ended, story.end->verdict->state), files));
  return files.Remove(story.folder / JhistName(records.job(), submission.user, submission.time));
}

Result<std::optional<fs::path>> HistoryFolder(const JobRecords& records) {
  TRY_ASSIGN(const JobSpec spec, records.ReadSpec());
  if (spec.history_folder.empty()) return std::optional<fs::path>();
  return std::optional(fs::path(spec.history_folder) / ApplicationId(records.job()));
}

std::string ApplicationId(const JobId& job) {
  const std::vector<std::string> yarn = Split(job.value, '_');
  if (yarn.size() == 3 && yarn[0] == "application" && IsDigits(yarn[1]) && IsDigits(yarn[2])) return job.value;
  const std::vector<std::string> ours = Split(job.value, '-');
  uint32_t number = 0;
  if (ours.size() == 4 && ours[0] == "local" && IsDigits(ours[1]) && IsDigits(ours[2]) &&
      ours[1].size() + ours[2].size() == 14 && ours[3].size() <= kMostHexDigits) {
    const char* end = ours[3].data() + ours[3].size();
    const auto read = std::from_chars(ours[3].data(), end, number, 16);
    if (read.ec == std::errc() && read.ptr == end) return StrCat("application_", ours[1], ours[2], "_", number);
  }
  return StrCat("application_0_", Crc32(job.value) >> 1);
}

std::string UserInFileName(std::string_view user) {
  std::string name = ToLower(user);
  std::erase_if(name, [](char c) { return !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_'; });
  return name.empty() ? "unknown" : name;
}

std::string JhistName(const JobId& job, std::string_view user, Instant submitted) {
  return StrCat(Prefix(job, submitted), "-", UserInFileName(user), ".jhist", kInProgress);
}

std::string JhistName(const JobId& job, std::string_view user, Instant submitted, Instant ended, FinalState state) {
  return StrCat(Prefix(job, submitted), "-", ToMillis(ended), "-", UserInFileName(user), "-", ToString(state),
                ".jhist");
}

}  // namespace tony
