#include "runtime/yarn/node_logs.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/base/strings.h"
#include "runtime/hadoop/aggregated_log.h"
#include "runtime/hadoop/indexed_log.h"
#include "runtime/net/http_client.h"
#include "runtime/yarn/cluster_login.h"
#include "runtime/yarn/hdfs_location.h"
#include "runtime/yarn/yarn_ends.h"

namespace tony {
namespace {

constexpr std::string_view kLength = "\nLogLength:";
constexpr std::string_view kContents = "\nLogContents:\n";
// The limit of a call to the AM. It is longer than the time that the AM waits for an executor (LogRelay,
// am/parked_calls.h).
constexpr Duration kCallLimit{6000};
constexpr HttpCallLimits kLimits{.connect = Duration(3000),
                                 .stalled = Duration(5000),
                                 .whole = Duration(30'000),
                                 .answer = static_cast<size_t>(kMostOfNodeLog) + (64 << 10)};

}  // namespace

Result<LogExcerpt> FetchNodeLog(const std::string& link, const std::string& stream, const FindTrust& find_trust) {
  const auto [node, container] = ParseLogLink(link);
  if (node.empty()) return InvalidError("\"", link, "\" is not a link to a node's logs");
  const std::string url =
      StrCat(node, "/ws/v1/node/containers/", container, "/logs/", stream, "?size=-", kMostOfNodeLog);
  HttpCall call{.url = url, .limits = kLimits};
  if (find_trust && url.starts_with("https:")) {
    TRY_ASSIGN(call.trust, find_trust());
  }
  TRY_ASSIGN(const HttpResponse response, hadoop::GetFromDaemon(call));
  if (response.status == 404) return NotFoundError(url, ": the node no longer has this log");
  if (response.status != 200) return UnavailableError(url, ": HTTP ", response.status);
  return Annotate(NodeLogIn(response.body, stream), url);
}

Result<LogExcerpt> NodeLogIn(const std::string& body, const std::string& stream) {
  const size_t length = body.find(kLength), contents = body.find(kContents);
  if (length == std::string::npos || contents == std::string::npos || contents < length)
    return InvalidError("the answer is not a NodeManager's log");
  const size_t digits = length + kLength.size();
  const auto size = ParseInt(body.substr(digits, body.find('\n', digits) - digits));
  if (!size || *size < 0) return InvalidError("the node did not report the length of the log");
  LogExcerpt log{.stream = stream, .size = *size};
  std::string text = body.substr(contents + kContents.size());
  text.resize(std::min(text.size(), static_cast<size_t>(std::min(*size, kMostOfNodeLog))));
  if (!text.empty()) log.parts.push_back({*size - static_cast<int64_t>(text.size()), std::move(text)});
  return log;
}

std::unique_ptr<AmConnection> ConnectTo(const AmAccess& way, EventLoop& loop, const JobRecords& records) {
  auto am = MakeAmConnection(loop, records.place(), kCallLimit, way.tls);
  am->Use(way.am);
  return am;
}

template <class T>
Result<T> AmLogs::Ask(const std::function<void(AmConnection&, const std::string&, OnAnswer<T>)>& ask) {
  auto answer = RunUntilAnswer<Answer<T>>(loop_, [&](auto done) {
    ask(*am_, token_, std::move(done));
    return 0;
  });
  if (T* value = std::get_if<T>(&answer)) return std::move(*value);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return ErrorOf(*refusal);
  am_ = nullptr;
  return ErrorOf(std::get<Disconnected>(answer));
}

// The first call over a connection should be small, for the reason that ClientCalls gives. A connection therefore
// begins with a status request.
tony::Status AmLogs::Connect() {
  if (am_) return Ok();
  TRY_ASSIGN(const AmAccess way, find_());
  token_ = way.token;
  am_ = ConnectTo(way, loop_, records_);
  return Status().status();
}

Result<JobStatus> AmLogs::Status() {
  TRY(Connect());
  return Ask<JobStatus>(
      [](AmConnection& am, const std::string& token, auto done) { am.GetStatus(token, std::move(done)); });
}

Result<LogAnswer> AmLogs::Read(const LogQuery& query) {
  TRY(Connect());
  return Ask<LogAnswer>(
      [&query](AmConnection& am, const std::string& token, auto done) { am.ReadLogs(token, query, std::move(done)); });
}

namespace {

constexpr Duration kSettingLimit{2000};
// Limit of an answer in bytes. It is larger than any part of a log or of a file's index that is read at once.
constexpr size_t kLargestRead = 17 << 20;
constexpr int64_t kLargestUploadMark = 4 << 10;

// Returns the folders to which the cluster moves logs. Each file format of moved logs may have its own folder.
std::vector<std::string> Roots(const YarnCluster& cluster) {
  const auto setting = [&](const std::string& key) {
    return hadoop::RmSetting(cluster.rm_web, cluster.trust, key, kSettingLimit);
  };
  const std::string usual = setting("yarn.nodemanager.remote-app-log-dir").value_or("/tmp/logs");
  std::vector<std::string> roots = {usual};
  for (const std::string& format : Split(setting("yarn.log-aggregation.file-formats").value_or(""), ',')) {
    const auto own = setting(StrCat("yarn.log-aggregation.", format, ".remote-app-log-dir"));
    if (own && std::ranges::find(roots, *own) == roots.end()) roots.push_back(*own);
  }
  return roots;
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

AggregatedLogs::AggregatedLogs(const YarnCluster& cluster, JobId job) : cluster_(cluster), job_(std::move(job)) {}

Result<std::vector<AggregatedLogs::Folder>> AggregatedLogs::LookIn(const std::shared_ptr<BlockingHdfs>& hdfs,
                                                                   const std::string& of_user) {
  std::vector<Folder> folders;
  const auto suffixes = hdfs->List(of_user);
  if (!suffixes.ok() && suffixes.error().code == ErrorCode::kNotFound) return folders;
  TRY(suffixes);
  const std::string number = job_.value.substr(job_.value.rfind('_') + 1);
  for (const hadoop::HdfsEntry& suffix : *suffixes) {
    const std::string last_four = number.size() > 4 ? number.substr(number.size() - 4) : number;
    const std::string bucket = suffix.name.starts_with("bucket-") ? last_four + "/" : "";
    const std::string path = StrCat(of_user, "/", suffix.name, "/", bucket, job_.value);
    auto files = hdfs->List(path);
    if (!files.ok() && files.error().code == ErrorCode::kNotFound) continue;
    TRY(files);
    CutToValidLengths(folders.emplace_back(Folder{hdfs, path, *std::move(files)}));
  }
  return folders;
}

Result<std::vector<AggregatedLogs::Folder>> AggregatedLogs::FindFolders() {
  std::vector<std::string> looked;
  std::vector<Folder> folders;
  for (const std::string& root : Roots(cluster_)) {
    const auto location = Locate(cluster_, root.starts_with('/') ? "hdfs://" + root : root);
    if (!location.ok())
      return InvalidError(root, ": nodes move logs to this folder, which is not in HDFS: ", location.error().message);
    looked.push_back(StrCat(location->path, "/", cluster_.user));
    const auto hdfs = std::make_shared<BlockingHdfs>(HdfsOptionsOf(location->hdfs, {.answer = kLargestRead}));
    TRY_ASSIGN(auto found, LookIn(hdfs, looked.back()));
    std::ranges::move(found, std::back_inserter(folders));
  }
  if (folders.empty())
    return NotFoundError(Join(looked, ", "), ": no node has moved logs of the job there yet");
  return folders;
}

// Cuts the bytes that a node was appending (hadoop/indexed_log.h). A mark that cannot be read is ignored, because the
// file itself then shows whether it is complete.
void AggregatedLogs::CutToValidLengths(Folder& folder) {
  for (const hadoop::HdfsEntry& entry : folder.files) {
    if (!entry.name.ends_with(hadoop::kUploadMarkEnd) || entry.length > kLargestUploadMark) continue;
    const auto content = folder.hdfs->ReadPart(StrCat(folder.path, "/", entry.name), 0, entry.length);
    if (!content.ok()) continue;
    const auto mark = hadoop::ReadUploadMark(*content);
    for (hadoop::HdfsEntry& file : folder.files)
      if (mark.ok() && file.name == mark->file) file.length = std::min(file.length, mark->valid);
  }
}

// Returns the files in the order of reading: the files of `host` come first. Names are "host_port", or "host_port_time"
// if the node moved logs while the application ran. A file without content has just been created.
std::vector<AggregatedLogs::File> AggregatedLogs::InOrder(const std::vector<Folder>& folders, const std::string& host) {
  std::vector<File> files;
  for (const Folder& folder : folders)
    for (const hadoop::HdfsEntry& file : folder.files)
      if (!file.is_folder && file.length > 0 && !file.name.ends_with(".tmp") &&
          !file.name.ends_with(hadoop::kUploadMarkEnd))
        files.push_back(
            {folder.hdfs, StrCat(folder.path, "/", file.name), file.length, file.name.starts_with(host + "_")});
  std::stable_partition(files.begin(), files.end(), [](const File& file) { return file.is_of_host; });
  return files;
}

Result<hadoop::AggregatedLog> AggregatedLogs::ReadFrom(const File& file, const std::string& container,
                                                       const std::string& stream) {
  const auto read = [&](int64_t offset, int64_t count) { return file.hdfs->ReadPart(file.path, offset, count); };
  return Annotate(hadoop::ReadAggregatedLog(read, file.length, container, stream, kMostOfNodeLog), file.path);
}

Result<LogExcerpt> AggregatedLogs::Fetch(const std::string& link, const std::string& stream) {
  const auto [node, container] = ParseLogLink(link);
  TRY_ASSIGN(const std::vector<Folder> folders, FindFolders());
  LogExcerpt excerpt{.stream = stream};
  std::optional<Error> failure;
  bool is_found = false, is_log = false;
  for (const File& file : InOrder(folders, hadoop::HostOfUrl(node))) {
    if (is_found && !file.is_of_host) break;
    const auto log = ReadFrom(file, container, stream);
    if (log.ok()) {
      is_found = true;
      is_log = is_log || log->is_log;
      if (log->is_log) Append(*log, excerpt);
    } else if (log.error().code != ErrorCode::kNotFound) {
      failure = log.error();
    }
  }
  if (is_log) return excerpt;
  if (failure) return *std::move(failure);
  std::vector<std::string> paths;
  for (const Folder& folder : folders) paths.push_back(folder.path);
  const std::string place = Join(paths, ", ");
  if (is_found)
    return NotFoundError(place, ": the node has moved the container's logs to this folder, and ", stream,
                         " is not among them");
  return NotFoundError(place, ": the node has not moved the container's logs to this folder yet");
}

}  // namespace tony
