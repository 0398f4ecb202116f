#include "runtime/yarn/aggregated_logs.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/web_text.h"
#include "runtime/yarn/log_links.h"
#include "runtime/yarn/node_logs.h"

namespace tony {
namespace {

constexpr Duration kSettingLimit{2000};
// More than the part of a log, or of a file's index, that is read at once.
constexpr size_t kLargestRead = 17 << 20;

hadoop::WebHdfs::Options OptionsFor(const YarnCluster& cluster) {
  hadoop::WebHdfs::Options options{.base = cluster.webhdfs, .user = cluster.user};
  options.limits.answer = kLargestRead;
  return options;
}

// "hdfs://nn:8020/logs" and "/logs" alike. Nothing: it is in another file system.
std::optional<std::string> PathInHdfs(const std::string& place) {
  constexpr std::string_view kScheme = "hdfs://";
  if (place.starts_with('/')) return place;
  const size_t path = place.starts_with(kScheme) ? place.find('/', kScheme.size()) : std::string::npos;
  return path == std::string::npos ? std::nullopt : std::optional(place.substr(path));
}

// Where each of the formats that the cluster writes has its own, or all have the same.
std::vector<std::string> Roots(const std::string& rm_web) {
  const auto setting = [&](const std::string& key) { return hadoop::RmSetting(rm_web, key, kSettingLimit); };
  const std::string usual = setting("yarn.nodemanager.remote-app-log-dir").value_or("/tmp/logs");
  std::vector<std::string> roots = {usual};
  for (const std::string& format : Split(setting("yarn.log-aggregation.file-formats").value_or(""), ',')) {
    const auto own = setting(StrCat("yarn.log-aggregation.", format, ".remote-app-log-dir"));
    if (own && std::ranges::find(roots, *own) == roots.end()) roots.push_back(*own);
  }
  return roots;
}

// "application_1700000000000_0012" -> "0012"
std::string BucketOf(const JobId& job) {
  const std::string number = job.value.substr(job.value.rfind('_') + 1);
  return number.size() > 4 ? number.substr(number.size() - 4) : number;
}

// A node's files are named "host_port", and, where it moved logs while the application ran, "host_port_time".
std::vector<hadoop::HdfsEntry> InOrder(std::vector<hadoop::HdfsEntry> files, const std::string& node) {
  const std::string begin = StrCat(node, "_");
  std::erase_if(files, [](const hadoop::HdfsEntry& file) { return file.is_folder || file.name.ends_with(".tmp"); });
  std::stable_partition(files.begin(), files.end(),
                        [&](const hadoop::HdfsEntry& file) { return file.name.starts_with(begin); });
  return files;
}

void Append(const hadoop::AggregatedLog& log, LogExcerpt& excerpt) {
  excerpt.size += log.size;
  std::string text = excerpt.parts.empty() ? "" : std::move(excerpt.parts.front().text);
  text = static_cast<int64_t>(log.tail.size()) < log.size ? log.tail : text + log.tail;
  if (text.size() > static_cast<size_t>(kMostOfNodeLog))
    text.erase(0, text.size() - static_cast<size_t>(kMostOfNodeLog));
  if (text.empty()) return;
  excerpt.parts = {{excerpt.size - static_cast<int64_t>(text.size()), std::move(text)}};
}

}  // namespace

AggregatedLogs::AggregatedLogs(const YarnCluster& cluster, JobId job)
    : cluster_(cluster), job_(std::move(job)), hdfs_(OptionsFor(cluster)) {}

Result<std::optional<AggregatedLogs::Folder>> AggregatedLogs::LookIn(const std::string& of_user) {
  const auto suffixes = hdfs_.List(of_user);
  if (!suffixes.ok() && suffixes.error().code == ErrorCode::kNotFound) return std::optional<Folder>();
  TRY(suffixes);
  for (const hadoop::HdfsEntry& suffix : *suffixes) {
    const std::string bucket = suffix.name.starts_with("bucket-") ? StrCat(BucketOf(job_), "/") : "";
    const std::string path = StrCat(of_user, "/", suffix.name, "/", bucket, job_.value);
    auto files = hdfs_.List(path);
    if (files.ok()) return std::optional(Folder{path, *std::move(files)});
    if (files.error().code != ErrorCode::kNotFound) return files.error();
  }
  return std::optional<Folder>();
}

Result<AggregatedLogs::Folder> AggregatedLogs::FindFolder() {
  std::vector<std::string> looked;
  for (const std::string& root : Roots(cluster_.rm_web)) {
    const auto path = PathInHdfs(root);
    if (!path)
      return Error{ErrorCode::kInvalid, StrCat(root, ": nodes move logs there, which is not in this cluster's HDFS")};
    looked.push_back(StrCat(*path, "/", cluster_.user));
    TRY_ASSIGN(auto folder, LookIn(looked.back()));
    if (folder) return *std::move(folder);
  }
  return Error{ErrorCode::kNotFound, StrCat(Join(looked, ", "), ": no node has moved logs of the job there yet")};
}

Result<hadoop::AggregatedLog> AggregatedLogs::ReadFrom(const std::string& path, int64_t length,
                                                       const std::string& container, const std::string& stream) {
  const auto read = [&](int64_t offset, int64_t count) { return hdfs_.ReadPart(path, offset, count); };
  auto log = hadoop::ReadAggregatedLog(read, length, container, stream, kMostOfNodeLog);
  return log.ok() ? std::move(log) : Annotate(log.error(), path);
}

Result<LogExcerpt> AggregatedLogs::Fetch(const std::string& link, const std::string& stream) {
  const auto [node, container] = ParseLogLink(link);
  TRY_ASSIGN(const Folder folder, FindFolder());
  const std::string host = hadoop::HostOfUrl(node);
  LogExcerpt excerpt{.stream = stream};
  std::optional<Error> failure;
  bool is_found = false;
  for (const hadoop::HdfsEntry& file : InOrder(folder.files, host)) {
    if (is_found && !file.name.starts_with(StrCat(host, "_"))) break;
    const auto log = ReadFrom(StrCat(folder.path, "/", file.name), file.length, container, stream);
    if (log.ok()) {
      is_found = true;
      if (log->is_log) Append(*log, excerpt);
    } else if (log.error().code != ErrorCode::kNotFound) {
      failure = log.error();
    }
  }
  if (is_found) return excerpt;
  if (failure) return *std::move(failure);
  return Error{ErrorCode::kNotFound, StrCat(folder.path, ": its node has not moved logs there yet")};
}

}  // namespace tony
